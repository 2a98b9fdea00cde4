package backend

import (
	"bytes"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
)

// settings are the configuration and what it is loaded from: the layers of the program and the client, and the files of the folders.
type settings struct {
	// loading is held while a configuration is loaded and handed to the sessions, so that the one that was loaded last is the last that
	// each of them gets.
	loading sync.Mutex
	loader  config.Loader // under loading

	mu      sync.Mutex
	loaded  config.Loaded
	models  model.Opener      // of the configuration; nil before the first was loaded
	section []byte            // the client's
	folders []string          // of the workspace
	others  []string          // of sessions outside of it
	watched map[string]string // the real path of each file, and its nearest existing folder
	shown   map[string]bool   // the problems of the last report
}

// loading is what has come of a load.
type loading struct {
	first   bool
	changed bool // the configuration
	news    bool // it or its problems
	now     agent.Settings
}

// inputs are the present layers, on the program's and the client's.
func (s *settings) inputs(base config.Inputs) config.Inputs {
	s.mu.Lock()
	defer s.mu.Unlock()
	base.Section = s.section
	base.More = slices.Concat(base.More, s.folders, s.others)
	return base
}

// load loads the configuration. s.loading is held.
func (s *settings) load(base config.Inputs, opener func(config.Config) model.Opener) loading {
	loaded := s.loader.Load(s.inputs(base))
	s.mu.Lock()
	defer s.mu.Unlock()
	l := loading{first: s.models == nil}
	l.changed = l.first || !reflect.DeepEqual(s.loaded.Config, loaded.Config)
	l.news = l.changed || !slices.Equal(s.loaded.Problems, loaded.Problems)
	s.loaded = loaded
	if l.changed {
		s.models = opener(loaded.Config)
	}
	l.now = s.forSessions()
	return l
}

// forSessions are the settings of sessions. s.mu is held.
func (s *settings) forSessions() agent.Settings {
	return agent.Settings{
		Config: s.loaded.Config, Models: s.models, Sources: s.loaded.Sources, AskAlways: s.loaded.AskAlways,
		CommandTimeSet: len(s.loaded.Origins["limits.bashTimeoutMs"]) > 0,
	}
}

// current are the present settings of sessions.
func (s *settings) current() agent.Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forSessions()
}

// config is the present configuration.
func (s *settings) config() config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded.Config
}

// opener opens the models of the present configuration.
func (s *settings) opener() model.Opener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.models
}

// proposed are the MCP servers that files of folders name.
func (s *settings) proposed() []config.Proposal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.loaded.Proposed)
}

// setSection replaces the client's section, and reports whether it was another one.
func (s *settings) setSection(raw []byte) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = !bytes.Equal(s.section, raw)
	s.section = bytes.Clone(raw)
	return changed
}

// workspace are the folders of the workspace.
func (s *settings) workspace() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.folders)
}

// changeFolders removes folders from the workspace and adds others.
func (s *settings) changeFolders(out, in []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folders = slices.DeleteFunc(slices.Clone(s.folders), func(f string) bool { return slices.Contains(out, f) })
	for _, f := range in {
		if !slices.Contains(s.folders, f) {
			s.folders = append(s.folders, f)
		}
	}
}

// addOthers adds the folders of a session, and reports whether files of any are not loaded yet.
func (s *settings) addOthers(folders []string) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range folders {
		if !slices.Contains(s.folders, f) && !slices.Contains(s.others, f) {
			s.others, news = append(s.others, f), true
		}
	}
	return news
}

// watch gives the paths of files to watch, also of those that do not exist yet, and remembers their folders for above.
func (s *settings) watch(files []string) []string {
	paths := map[string]string{}
	for _, path := range files {
		// A file may be a symbolic link into a dotfiles folder: link and target are watched.
		for _, p := range []string{filepath.Join(real(filepath.Dir(path)), filepath.Base(path)), real(path)} {
			folder := filepath.Dir(p)
			for folder != "/" && !isFolder(folder) {
				folder = filepath.Dir(folder)
			}
			paths[p] = folder
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = paths
	return slices.Collect(maps.Keys(paths))
}

// isWatched says that a path is one of watch.
func (s *settings) isWatched(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.watched[path]
	return is
}

// above is the folder to watch for a path: the workspace folder that it lies in, or that of a configuration file; ""
// for other files.
func (s *settings) above(path string) string {
	for _, f := range s.workspace() {
		f = real(f)
		if rel, err := filepath.Rel(f, path); err == nil && filepath.IsLocal(rel) {
			return f
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[path]
}

// report gives the problems, of which those are new that the last report did not have, and the texts of the files.
func (s *settings) report() (all []Problem, texts map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.shown
	s.shown = map[string]bool{}
	for _, p := range s.loaded.Problems {
		text := p.String()
		s.shown[text] = true
		all = append(all, Problem{
			Source: p.Source, Line: p.Line, Start: p.Start, End: p.End, Bad: p.Bad, Message: p.Message, Text: text, New: !before[text],
		})
	}
	return all, s.loaded.Texts
}

// remarks are the problems, and what of the configuration a person should know besides, each a sentence.
func (s *settings) remarks() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.loaded.Problems {
		out = append(out, p.String())
	}
	if roots := s.loaded.Config.WriteRoots; roots != nil && len(roots) == 0 {
		out = append(out, `"writeRoots" is []: files may be changed anywhere`)
	}
	return out
}
