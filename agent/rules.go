package agent

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"tandem/agent/prompt"
	"tandem/filetime"
)

// rules reads the rules files of a session's folders lazily and once: when the model first sees a file below the
// folder.
type rules struct {
	files filetime.Files
	log   *slog.Logger
	// shows says that a path may be read without permission: a symbolic link in a repository may lead anywhere.
	shows func(path string) bool

	mu sync.Mutex
	// root is the workspace's folder, with symbolic links resolved once its own rules were read.
	root string
	read map[string]bool
	// given are the folders whose rules found has given.
	given []string
	// fresh are the folders of seen files that were not checked for rules yet.
	fresh map[string]bool
}

// see records a path that the model sees.
func (r *rules) see(path string) {
	folder := filepath.Dir(path)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read[folder] {
		r.fresh[folder] = true
	}
}

// found gives the new rules for the files seen since the last call, or "".
func (r *rules) found(ctx context.Context) string {
	r.mu.Lock()
	var paths []string
	for _, folder := range slices.Sorted(maps.Keys(r.fresh)) {
		paths = append(paths, filepath.Join(folder, prompt.RulesFile))
	}
	clear(r.fresh)
	root := r.root
	r.mu.Unlock()
	var out []prompt.Rule
	for _, folder := range prompt.Folders(root, paths) {
		if rule, ok := r.of(ctx, folder); ok {
			out = append(out, rule)
			r.mu.Lock()
			r.given = append(r.given, folder)
			r.mu.Unlock()
		}
	}
	return prompt.Rules(out)
}

// forget has found give again what it has given: the conversation no longer has it.
func (r *rules) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, folder := range r.given {
		delete(r.read, folder)
		r.fresh[folder] = true
	}
	r.given = nil
}

// of gives a folder's rules; ok is false if there are none or they were given before.
func (r *rules) of(ctx context.Context, folder string) (rule prompt.Rule, ok bool) {
	r.mu.Lock()
	known := r.read[folder]
	r.read[folder] = true
	r.mu.Unlock()
	if known {
		return rule, false
	}
	path := filepath.Join(folder, prompt.RulesFile)
	if !r.shows(path) {
		r.log.Warn("rules are passed over: they lie outside of the workspace, or where keys are kept", "path", path)
		return rule, false
	}
	s, err := r.files.Read(ctx, path)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.log.Warn("rules cannot be read", "path", path, "error", err)
		if ctx.Err() != nil {
			delete(r.read, folder)
		}
		return rule, false
	}
	if rel, err := filepath.Rel(r.root, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	if folder == r.root && s.Path != "" {
		r.root = filepath.Dir(s.Path)
	}
	return prompt.Rule{Path: path, Text: s.Text.String()}, s.Exists && s.Text.Len() > 0
}

// Shows says that the model may read a path without permission: it and the target of its symbolic links lie below the
// roots and are no files that usually hold keys or passwords.
func (s *Session) Shows(path string) bool { return s.reach.shows(path) }
