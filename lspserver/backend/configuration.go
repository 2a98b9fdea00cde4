package backend

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/filetime"
	"tandem/lspserver/languages"
	"tandem/tools"
)

// Problem is a problem of the configuration.
type Problem struct {
	// Source is the file or the name of the layer; Line counts from 1 and is 0 outside files; Start and End are bytes.
	Source           string
	Line, Start, End int
	// Bad is a warning: a value has no effect as written. Otherwise the problem is a hint.
	Bad bool
	// New says that it has not been shown yet.
	New bool
	// Text is Message with the place.
	Message, Text string
}

// settings are the layers of the configuration.
type settings struct {
	// Set by watchSettings.
	watched map[string]string // the real path of each file, and its nearest existing folder

	loader config.Loader // under Backend.configuring
	texts  map[string][]byte

	sources map[string]config.Origin // see config.Loaded, under Backend.mu as the rest

	proposed []config.Proposal // see config.Loaded, under Backend.mu as the rest

	askAlways bool // see config.Loaded, under Backend.mu as the rest

	timed bool // a layer sets limits.bashTimeoutMs, under Backend.mu as the rest

	others []string        // folders of sessions outside of the workspace
	told   map[string]bool // the problems that were shown
}

// inputs are the present layers.
func (b *Backend) inputs() config.Inputs {
	in := b.o.Inputs
	b.mu.Lock()
	defer b.mu.Unlock()
	in.Section, in.Client = b.section, b.client.Options
	in.OwnSection, in.OwnClient = b.client.OwnSection, b.client.Own
	in.More = slices.Concat(in.More, b.folders, b.settings.others)
	return in
}

// SetSection sets the client's section of settings; nil is an empty one.
func (b *Backend) SetSection(raw []byte) {
	b.mu.Lock()
	same := bytes.Equal(b.section, raw)
	b.section = bytes.Clone(raw)
	b.mu.Unlock()
	if !same {
		b.reload()
	}
}

// ChangeFolders removes folders from the workspace and adds others.
func (b *Backend) ChangeFolders(out, in []string) {
	b.mu.Lock()
	b.folders = slices.DeleteFunc(slices.Clone(b.folders), func(f string) bool { return slices.Contains(out, f) })
	for _, f := range in {
		if !slices.Contains(b.folders, f) {
			b.folders = append(b.folders, f)
		}
	}
	b.mu.Unlock()
	b.addRoots(in)
	// What their configuration forbids holds before a session reaches them. Questions about wide ones wait for a person.
	news := b.reload()
	wide := slices.DeleteFunc(slices.Clone(in), func(f string) bool { return !b.roots.Wide(f) })
	b.addToSessions(slices.DeleteFunc(slices.Clone(in), b.roots.Wide)...)
	b.Later(func(ctx context.Context) {
		b.watchSettings()
		if news {
			b.log.Info("the configuration has changed")
			b.TellProblems(ctx)
		}
		for _, f := range wide {
			if err := b.allow(f); err == nil {
				b.addToSessions(f)
			}
		}
	})
}

// addToSessions adds folders to the open sessions, as they would have them if they began now.
func (b *Backend) addToSessions(folders ...string) {
	folders = slices.DeleteFunc(folders, func(f string) bool { return !isFolder(f) })
	for _, se := range b.All() {
		b.tellOpened(slices.Concat(se.Folders(), folders), b.config())
		se.AddFolders(folders...)
	}
}

// Folders are the workspace's folders.
func (b *Backend) Folders() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.folders)
}

// addFolders loads the configuration files of a session's folders, which may lie outside of the workspace.
func (b *Backend) addFolders(folders ...string) {
	b.mu.Lock()
	known := len(b.settings.others)
	for _, f := range folders {
		if !slices.Contains(b.folders, f) && !slices.Contains(b.settings.others, f) {
			b.settings.others = append(b.settings.others, f)
		}
	}
	news := len(b.settings.others) > known
	b.mu.Unlock()
	if news && b.reload() {
		b.Later(b.TellProblems)
	}
	if news {
		b.Later(func(context.Context) { b.watchSettings() })
	}
}

// reload loads the configuration, and says whether it or its problems have changed. A change holds for the next call
// and the next prompt.
func (b *Backend) reload() bool {
	b.configuring.Lock()
	defer b.configuring.Unlock()
	loaded := b.settings.loader.Load(b.inputs())
	b.mu.Lock()
	first := b.opener == nil
	changed := first || !reflect.DeepEqual(b.cfg, loaded.Config)
	news := changed || !slices.Equal(b.problems, loaded.Problems)
	b.cfg, b.problems, b.settings.texts = loaded.Config, loaded.Problems, loaded.Texts
	b.settings.askAlways, b.settings.sources, b.settings.proposed = loaded.AskAlways, loaded.Sources, loaded.Proposed
	timed := len(loaded.Origins["limits.bashTimeoutMs"]) > 0
	b.settings.timed = timed
	if changed {
		b.opener = b.o.Opener(b.cfg, b.client.Lend)
	}
	now := agent.Settings{
		Config: b.cfg, Models: b.opener, Sources: loaded.Sources, AskAlways: loaded.AskAlways, CommandTimeSet: timed,
	}
	sessions := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	if !changed { // the same rules may be written elsewhere
		for _, se := range sessions {
			se.Configure(now)
		}
		return news
	}
	cfg := loaded.Config
	b.viewTools(viewsOf(cfg))
	b.plug(cfg)
	for _, se := range sessions {
		b.tellOpened(se.Folders(), cfg)
		se.Configure(now)
		b.tellSession(se)
	}
	if b.ws != nil {
		b.ws.Configure(filetime.Apply(cfg.Apply), filetime.Apply(cfg.ClosedFiles))
	}
	if !first && b.o.Started != nil {
		b.o.Started(cfg)
	}
	return news
}

// watchSettings watches the configuration files, also those that do not exist yet.
func (b *Backend) watchSettings() {
	if b.watcher == nil {
		return
	}
	paths := map[string]string{}
	for _, path := range b.inputs().Files() {
		// A file may be a symbolic link into a dotfiles folder: link and target are watched.
		for _, p := range []string{filepath.Join(real(filepath.Dir(path)), filepath.Base(path)), real(path)} {
			folder := filepath.Dir(p)
			for folder != "/" && !isFolder(folder) {
				folder = filepath.Dir(folder)
			}
			paths[p] = folder
		}
	}
	b.mu.Lock()
	b.settings.watched = paths
	b.mu.Unlock()
	for p := range paths {
		b.watcher.Add(p)
	}
}

// above is the folder to watch for a path: the workspace folder that it lies in, or that of a configuration file; ""
// for other files.
func (b *Backend) above(path string) string {
	for _, f := range b.Folders() {
		f = real(f)
		if rel, err := filepath.Rel(f, path); err == nil && filepath.IsLocal(rel) {
			return f
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings.watched[path]
}

// Changed says that a file may have changed on disk.
func (b *Backend) Changed(path string) {
	b.settingsChanged(path)
	b.ws.Changed(real(path), false)
	b.programs.Changed(real(path))
}

// settingsChanged reloads the configuration if path is one of its files.
func (b *Backend) settingsChanged(path string) {
	b.mu.Lock()
	_, ours := b.settings.watched[path]
	b.mu.Unlock()
	if ours || slices.Contains(b.inputs().Files(), path) {
		b.Later(b.reconfigure)
	}
}

// reconfigure reloads the configuration and shows its problems.
func (b *Backend) reconfigure(ctx context.Context) {
	if b.reload() {
		b.log.Info("the configuration has changed")
		b.TellProblems(ctx)
	}
}

// TellProblems shows the problems of the configuration.
func (b *Backend) TellProblems(ctx context.Context) {
	b.mu.Lock()
	texts, told := b.settings.texts, b.settings.told
	b.settings.told = map[string]bool{}
	var all []Problem
	for _, p := range b.problems {
		text := p.String()
		b.settings.told[text] = true
		all = append(all, Problem{
			Source: p.Source, Line: p.Line, Start: p.Start, End: p.End, Bad: p.Bad, Message: p.Message, Text: text, New: !told[text],
		})
	}
	b.mu.Unlock()
	b.face.Problems(ctx, all, func(file string) string { return string(texts[file]) })
}

// languagePrograms are the language servers that may be started by a configuration.
func languagePrograms(c config.Config) []languages.Program {
	list := languages.Presets()
	for _, name := range slices.Sorted(maps.Keys(c.LanguageServers)) {
		s := c.LanguageServers[name]
		i := slices.IndexFunc(list, func(p languages.Program) bool { return p.Name == name })
		if i < 0 {
			i, list = len(list), append(list, languages.Program{Name: name, Install: s.Command})
		}
		p := &list[i]
		if s.Command != "" {
			p.Command, p.Named = s.Command, true
		}
		if s.Args != nil {
			p.Args = s.Args
		}
		if s.Extensions != nil {
			p.Languages = s.Extensions
		}
		if s.Roots != nil {
			p.Roots = s.Roots
		}
		if s.Use == "off" {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// viewsOf are the filters of the tools by a configuration.
func viewsOf(c config.Config) []tools.View {
	views := []tools.View{tools.Without("config", c.ToolsOff), tools.WithFlags(c.FeatureFlags)}
	if c.WebSearch.Provider == "" {
		views = append(views, tools.NeedsSetting("webSearch.provider", "web_search"))
	}
	if c.Toolset == "simple" {
		views = append(views, tools.Only("toolset", []string{"bash", "read_file", "edit_file"}))
	}
	return views
}
