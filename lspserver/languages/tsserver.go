package languages

import (
	"context"
	"encoding/json"

	lsp "go.lsp.dev/protocol"

	"tandem/tools"
)

// tsDiagnostics requests the diagnostics of a file from TypeScript's own server, in the form of
// textDocument/diagnostic. The diagnostics that typescript-language-server pushes have no version,
// so they cannot be matched to a text.
func (s *process) tsDiagnostics(ctx context.Context, path string) (json.RawMessage, error) {
	type place struct{ Line, Offset uint32 } // from 1, in UTF-16
	items := []any{}
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		raw, err := s.call(ctx, "workspace/executeCommand", map[string]any{
			"command": "typescript.tsserverRequest", "arguments": []any{command, map[string]any{"file": path}},
		})
		if err != nil {
			return nil, err
		}
		var answer struct {
			Body []struct {
				Start, End     place
				Text, Category string
				Code           int
			}
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return nil, err
		}
		at := func(p place) map[string]any {
			return map[string]any{"line": max(p.Line, 1) - 1, "character": max(p.Offset, 1) - 1}
		}
		for _, d := range answer.Body {
			severity := map[string]tools.Severity{"error": tools.SeverityError, "warning": tools.SeverityWarning}[d.Category]
			if severity == 0 {
				severity = tools.SeverityHint
			}
			items = append(items, map[string]any{
				"range": map[string]any{"start": at(d.Start), "end": at(d.End)}, "severity": severity, "source": "typescript", "code": d.Code, "message": d.Text,
			})
		}
	}
	return json.Marshal(map[string]any{"kind": lsp.DocumentDiagnosticReportKindFull, "items": items})
}
