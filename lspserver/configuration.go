package lspserver

import (
	"context"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tandem/agent/config"
	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/workspace"
	"tandem/tools"
)

// settings are the layers of the configuration and what has been said about them.
type settings struct {
	// Set by initialized and then read-only.
	watched map[string]string // the real paths of the files, with the folder that is there already

	loader config.Loader // under server.configuring
	texts  map[string][]byte

	careful bool // see config.Loaded, under server.mu

	others []string        // folders of sessions that are none of the workspace's
	told   map[string]bool // what the person has been told, under server.mu as the rest
	marked map[string]bool // files with diagnostics
}

// inputs are the layers as they are now.
func (s *server) inputs() config.Inputs {
	in := s.o.Inputs
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Section, in.Client = s.section, s.initOpts
	in.OwnSection, in.OwnClient = s.client.tandem.SettingsAreOwn, !s.client.plain
	in.More = slices.Concat(in.More, s.folders, s.settings.others)
	return in
}

// heed takes in what the files of a session's folders say, which may be others than the workspace's.
func (s *server) heed(folders ...string) {
	s.mu.Lock()
	known := len(s.settings.others)
	for _, f := range folders {
		if !slices.Contains(s.folders, f) && !slices.Contains(s.settings.others, f) {
			s.settings.others = append(s.settings.others, f)
		}
	}
	news := len(s.settings.others) > known
	s.mu.Unlock()
	if news && s.reload() {
		s.later(s.tellProblems)
	}
	if news {
		s.later(func(context.Context) { s.watchSettings() })
	}
}

// reload puts the configuration together anew, and says whether anything has come of it. What has changed holds from the
// next call and the next prompt on.
func (s *server) reload() bool {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	loaded := s.settings.loader.Load(s.inputs())
	s.mu.Lock()
	first := s.opener == nil
	changed := first || !reflect.DeepEqual(s.cfg, loaded.Config)
	news := changed || !slices.Equal(s.problems, loaded.Problems)
	s.cfg, s.problems, s.settings.texts = loaded.Config, loaded.Problems, loaded.Texts
	s.settings.careful = loaded.Careful
	if changed {
		s.opener = s.o.Opener(s.cfg, s.lender())
	}
	opener, sessions := s.opener, slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	for _, se := range sessions {
		se.SetCareful(loaded.Careful)
	}
	if !changed {
		return news
	}
	cfg := loaded.Config
	s.tools.Store(s.allTools.Narrow(viewsOf(cfg)...))
	for _, se := range sessions {
		se.SetConfig(cfg, opener)
	}
	if s.ws != nil {
		s.ws.Configure(filetime.Apply(cfg.Apply), filetime.Apply(cfg.ClosedFiles))
	}
	if !first && s.o.Started != nil {
		s.o.Started(cfg)
	}
	return news
}

// watchSettings begins to watch the files of the configuration, also those that are not there yet.
func (s *server) watchSettings() {
	if s.watcher == nil {
		return
	}
	paths := map[string]string{}
	for _, path := range s.inputs().Files() {
		// A file may be a link to where its person keeps such files: both places matter.
		for _, p := range []string{filepath.Join(s.real(filepath.Dir(path)), filepath.Base(path)), s.real(path)} {
			folder := filepath.Dir(p)
			for folder != "/" && !isFolder(folder) {
				folder = filepath.Dir(folder)
			}
			paths[p] = folder
		}
	}
	s.mu.Lock()
	s.settings.watched = paths
	s.mu.Unlock()
	for p := range paths {
		s.watcher.Add(p)
	}
}

// aboveSettings is the folder from which on a file of the configuration is watched, "" for other files.
func (s *server) aboveSettings(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.watched[path]
}

// settingsChanged reloads the configuration where path is one of its files.
func (s *server) settingsChanged(path string) {
	s.mu.Lock()
	_, ours := s.settings.watched[path]
	s.mu.Unlock()
	if ours || slices.Contains(s.inputs().Files(), path) {
		s.later(s.reconfigure)
	}
}

// reconfigure reloads and tells the person what is wrong by now.
func (s *server) reconfigure(ctx context.Context) {
	if s.reload() {
		s.log.Info("the configuration has changed")
		s.tellProblems(ctx)
	}
}

// tellProblems shows a person what is wrong with the configuration: each problem once for as long as it lasts, and all of
// them in the files where they are.
func (s *server) tellProblems(ctx context.Context) {
	s.mu.Lock()
	problems, told := s.problems, s.settings.told
	s.settings.told = map[string]bool{}
	for _, p := range problems {
		s.settings.told[p.String()] = true
	}
	s.mu.Unlock()
	s.markProblems(ctx, problems)
	for _, p := range problems {
		if told[p.String()] {
			continue
		}
		s.log.Warn("configuration", "problem", p.String())
		kind, method := lsp.MessageTypeInfo, "window/logMessage"
		if p.Bad {
			kind, method = lsp.MessageTypeWarning, "window/showMessage"
		}
		if err := s.conn.Notify(ctx, method, lsp.ShowMessageParams{Type: kind, Message: "Tandem: " + p.String()}); err != nil {
			return
		}
	}
}

// markProblems publishes diagnostics for the files of the configuration that have problems, and takes back those that have
// none any more.
func (s *server) markProblems(ctx context.Context, problems []config.Problem) {
	if d := s.client.TextDocument; d == nil || d.PublishDiagnostics == nil {
		return
	}
	s.mu.Lock()
	texts := s.settings.texts
	files := map[string][]lsp.Diagnostic{}
	for path := range s.settings.marked {
		files[path] = []lsp.Diagnostic{}
	}
	s.settings.marked = map[string]bool{}
	for _, p := range problems {
		if p.Line > 0 {
			s.settings.marked[p.Source] = true
			files[p.Source] = append(files[p.Source], s.diagnostic(p, text.New(string(texts[p.Source]))))
		}
	}
	s.mu.Unlock()
	for path, list := range files {
		at := uri.URI(workspace.URI(path))
		err := s.conn.Notify(ctx, "textDocument/publishDiagnostics", lsp.PublishDiagnosticsParams{URI: at, Diagnostics: list})
		if err != nil {
			return
		}
	}
}

func (s *server) diagnostic(p config.Problem, t text.Text) lsp.Diagnostic {
	severity, source := lsp.DiagnosticSeverityWarning, "tandem"
	if p.Bad {
		severity = lsp.DiagnosticSeverityError
	}
	start := min(p.Start, t.Len())
	return lsp.Diagnostic{
		Range: s.toRange(t, start, min(max(p.End, start), t.Len())), Severity: severity,
		Source: lsp.NewOptional(source), Message: lsp.String(p.Message),
	}
}

// viewsOf are what a configuration leaves out of the tools.
func viewsOf(c config.Config) []tools.View {
	views := []tools.View{tools.Without("config", c.ToolsOff), tools.WithFlags(c.FeatureFlags)}
	if c.Toolset == "simple" {
		views = append(views, tools.Only("config", []string{"bash", "read_file", "edit_file"}))
	}
	return views
}
