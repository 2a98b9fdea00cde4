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

// rules finds the rules files of a session's folders, each once, when the model first sees something below its folder.
type rules struct {
	files filetime.Files
	log   *slog.Logger
	// shows says that the model may be told of a path unasked: a link in a repository may lead anywhere.
	shows func(path string) bool

	mu sync.Mutex
	// root is where the workspace lies; after its own rules were read, without symbolic links.
	root string
	read map[string]bool
	// fresh are folders of files that the model has seen and that were not looked at.
	fresh map[string]bool
}

// see takes note of a path that the model sees.
func (r *rules) see(path string) {
	folder := filepath.Dir(path)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read[folder] {
		r.fresh[folder] = true
	}
}

// found gives what holds for the files seen since it was last asked, "" for nothing new.
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
		}
	}
	return prompt.Rules(out)
}

// of gives a folder's rules; ok is false where there are none, or where they were given before.
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

// Shows says that the session's model may be told of a path unasked: it lies below the roots and is of no kind that holds
// keys or passwords, also where a link leads to it.
func (s *Session) Shows(path string) bool {
	s.mu.Lock()
	paths := s.paths
	s.mu.Unlock()
	real, err := paths.Readable(path)
	return err == nil && !prompt.Private(path) && !prompt.Private(real.Path())
}
