package backend

import (
	"context"
	"maps"
	"slices"

	"tandem/agent/config"
	"tandem/agent/model"
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

// inputs are the present layers.
func (b *Backend) inputs() config.Inputs { return b.settings.inputs(b.layers()) }

// layers are those of the program and of the client's first message.
func (b *Backend) layers() config.Inputs {
	in := b.o.Inputs
	in.Client, in.OwnSection, in.OwnClient = b.client.Options, b.client.OwnSection, b.client.Own
	return in
}

// SetSection sets the client's section of settings; nil is an empty one.
func (b *Backend) SetSection(raw []byte) {
	if b.settings.setSection(raw) {
		b.reload()
	}
}

// ChangeFolders removes folders from the workspace and adds others.
func (b *Backend) ChangeFolders(out, in []string) {
	b.settings.changeFolders(out, in)
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
func (b *Backend) Folders() []string { return b.settings.workspace() }

// addFolders loads the configuration files of a session's folders, which may lie outside of the workspace.
func (b *Backend) addFolders(folders ...string) {
	if !b.settings.addOthers(folders) {
		return
	}
	if b.reload() {
		b.Later(b.TellProblems)
	}
	b.Later(func(context.Context) { b.watchSettings() })
}

// reload loads the configuration, and says whether it or its problems have changed. A change holds for the next call
// and the next prompt.
func (b *Backend) reload() bool {
	b.settings.loading.Lock()
	defer b.settings.loading.Unlock()
	l := b.settings.load(b.layers(), func(c config.Config) model.Opener { return b.o.Opener(c, b.client.Lend) })
	cfg := l.now.Config
	if l.changed {
		b.viewTools(viewsOf(cfg))
		b.plug(cfg)
	}
	for _, se := range b.sessions.all() {
		if l.changed {
			b.tellOpened(se.Folders(), cfg)
		}
		se.Configure(l.now) // the same rules may be written elsewhere
		if l.changed {
			b.tellSession(se)
		}
	}
	if !l.changed {
		return l.news
	}
	if b.ws != nil {
		b.ws.Configure(filetime.Apply(cfg.Apply), filetime.Apply(cfg.ClosedFiles))
	}
	if !l.first && b.o.Started != nil {
		b.o.Started(cfg)
	}
	return l.news
}

// watchSettings watches the configuration files, also those that do not exist yet.
func (b *Backend) watchSettings() {
	if b.watcher == nil {
		return
	}
	for _, p := range b.settings.watch(b.inputs().Files()) {
		b.watcher.Add(p)
	}
}

// Changed says that a file may have changed on disk.
func (b *Backend) Changed(path string) {
	b.settingsChanged(path)
	b.ws.Changed(real(path), false)
	b.programs.Changed(real(path))
}

// settingsChanged reloads the configuration if path is one of its files.
func (b *Backend) settingsChanged(path string) {
	if b.settings.isWatched(path) || slices.Contains(b.inputs().Files(), path) {
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
	all, texts := b.settings.report()
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
			p.Command, p.ByUser = s.Command, true
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
