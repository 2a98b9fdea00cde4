package lspserver

import (
	"context"
	"encoding/json"
	"time"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"tandem/filetime/text"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
)

// fetchConfig asks the editor for its section.
func (s *server) fetchConfig(ctx context.Context) {
	if !s.client.config {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	section := "tandem"
	var answer []lsp.LSPAny
	err := call(ctx, s.conn, protocol.WorkspaceConfiguration, lsp.ConfigurationParams{
		Items: []lsp.ConfigurationItem{{Section: &section}},
	}, &answer)
	if err != nil || len(answer) == 0 {
		s.log.Debug("the editor gave no configuration", "error", err)
		return
	}
	s.setSection(answer[0], false)
}

// setSection sets the editor's section; null is an empty one. A pushed section is newer than the reply to any earlier
// request.
func (s *server) setSection(raw []byte, pushed bool) {
	s.mu.Lock()
	if s.pushed && !pushed {
		s.mu.Unlock()
		return
	}
	if string(raw) == "null" {
		raw = nil
	}
	s.pushed = pushed
	s.mu.Unlock()
	s.b.SetSection(raw)
}

func (s *server) didChangeConfiguration(_ context.Context, p lsp.DidChangeConfigurationParams) {
	var sections map[string]json.RawMessage
	err := json.Unmarshal(p.Settings, &sections)
	if section := sections["tandem"]; err == nil && (section != nil || sections != nil && !s.client.config) {
		s.setSection(section, true)
		s.b.Later(s.b.TellProblems)
		return
	}
	s.mu.Lock()
	s.pushed = false
	s.mu.Unlock()
	s.b.Later(func(ctx context.Context) {
		s.fetchConfig(ctx)
		s.b.TellProblems(ctx)
	})
}

func (s *server) didChangeWorkspaceFolders(_ context.Context, p lsp.DidChangeWorkspaceFoldersParams) {
	paths := func(folders []lsp.WorkspaceFolder) (out []string) {
		for _, f := range folders {
			if path, ok := pathOf(string(f.URI)); ok {
				out = append(out, path)
			}
		}
		return out
	}
	s.b.ChangeFolders(paths(p.Event.Removed), paths(p.Event.Added))
}

// Problems shows new problems as a message, and all of them as diagnostics.
func (f face) Problems(ctx context.Context, all []backend.Problem, text func(file string) string) {
	s := f.s
	s.markProblems(ctx, all, text)
	for _, p := range all {
		if !p.New {
			continue
		}
		s.log.Warn("configuration", "problem", p.Text)
		if said := "Tandem: " + p.Text; p.Bad {
			notify(s, protocol.WindowShowMessage, lsp.ShowMessageParams{Type: lsp.MessageTypeWarning, Message: said})
		} else {
			notify(s, protocol.WindowLogMessage, lsp.LogMessageParams{Type: lsp.MessageTypeInfo, Message: said})
		}
	}
}

// markProblems publishes diagnostics for the configuration files, and clears those of files without problems.
func (s *server) markProblems(ctx context.Context, problems []backend.Problem, says func(file string) string) {
	if d := s.client.TextDocument; d == nil || d.PublishDiagnostics == nil {
		return
	}
	s.mu.Lock()
	files := map[string][]lsp.Diagnostic{}
	for path := range s.marked {
		files[path] = []lsp.Diagnostic{}
	}
	s.marked = map[string]bool{}
	for _, p := range problems {
		if p.Line > 0 {
			s.marked[p.Source] = true
			files[p.Source] = append(files[p.Source], s.diagnostic(p, text.New(says(p.Source))))
		}
	}
	s.mu.Unlock()
	for path, list := range files {
		at := uri.URI(s.ws.URIOf(path))
		err := s.conn.Notify(ctx, protocol.TextDocumentPublishDiagnostics.Name, lsp.PublishDiagnosticsParams{URI: at, Diagnostics: list})
		if err != nil {
			return
		}
	}
}

func (s *server) diagnostic(p backend.Problem, t text.Text) lsp.Diagnostic {
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
