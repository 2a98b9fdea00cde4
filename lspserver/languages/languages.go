// Package languages asks language servers about code, and turns their answers into plain values:
// those that the person's editor runs, by one request to the editor, and those that run beside it.
// It knows LSP and no tool.
package languages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/fileuri"
	"tandem/lspserver/wire"
	"tandem/tools"
)

// Request is a request of LSP about a file.
type Request struct {
	// Path is absolute and selects the servers: those of the file, or for a folder all that work in
	// it.
	Path   string
	Method string
	// Running restricts the request to servers that already run and to documents that they have
	// open.
	Running bool
	// Open is set if the file is open in the editor.
	Open bool
	// Resolve is, for textDocument/codeAction, the title of the actions to resolve to an edit; ""
	// resolves none. The server adds the diagnostics of the range to the parameters.
	Resolve string
	// Params builds the parameters for a server, by its position encoding and its spelling of
	// Path's URI.
	Params func(e text.Encoding, uri string) any
}

// Reply is the answer of one server. Encoding is that of the positions in it.
type Reply struct {
	Server   string
	Encoding text.Encoding
	// Version is the version of the document that the answer is about. If it is older than the
	// document, an answer about the present text is still to come; nil means unknown.
	Version *int32
	Result  json.RawMessage
}

// Server sends requests to some language servers. Ask may be called concurrently. No reply means
// that none of them serves the file; an error means that one does but failed, or is a
// *tools.NoServerError that names the missing server.
type Server interface {
	// Serves reports whether a folder has a language server, so that tools which need one are
	// offered.
	Serves(folder string) bool
	Ask(ctx context.Context, r Request) ([]Reply, error)
}

// languageServers implements tools.Languages as a chain of responsibility: the first server with a
// reply answers.
type languageServers struct{ servers []Server }

// New returns a tools.Languages that asks the servers in turn until one replies; nil ones are
// skipped. Without servers it is nil.
func New(servers ...Server) tools.Languages {
	servers = slices.DeleteFunc(servers, func(s Server) bool { return s == nil })
	if len(servers) == 0 {
		return nil
	}
	return &languageServers{servers}
}

func (l *languageServers) Serves(folder string) bool {
	return slices.ContainsFunc(l.servers, func(s Server) bool { return s.Serves(folder) })
}

func (l *languageServers) Definition(ctx context.Context, at tools.Spot) ([]tools.Span, error) {
	return l.places(ctx, at, "textDocument/definition", nil)
}

func (l *languageServers) References(ctx context.Context, at tools.Spot) ([]tools.Span, error) {
	return l.places(ctx, at, "textDocument/references", map[string]any{"context": map[string]any{"includeDeclaration": true}})
}

func (l *languageServers) places(ctx context.Context, at tools.Spot, method string, more map[string]any) ([]tools.Span, error) {
	replies, err := l.ask(ctx, Request{Path: at.File.Path, Method: method, Params: func(e text.Encoding, uri string) any {
		p := textDocumentParams(uri)
		p["position"] = lspPosition(at.File.Text.Position(at.Offset, e))
		maps.Copy(p, more)
		return p
	}})
	if err != nil {
		return nil, err
	}
	var out []tools.Span
	for _, r := range replies {
		for _, raw := range elements(r.Result) {
			var loc location
			if wire.Unmarshal(raw, &loc) != nil {
				continue
			}
			if s, ok := loc.span(r.Encoding); ok {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, compareSpans)
	return slices.CompactFunc(out, func(a, b tools.Span) bool { return a.Path == b.Path && a.URI == b.URI && a.Start == b.Start }), nil
}

func compareSpans(a, b tools.Span) int {
	return cmp.Or(strings.Compare(a.URI, b.URI), strings.Compare(a.Path, b.Path), cmp.Compare(a.Start.Line, b.Start.Line), cmp.Compare(a.Start.Character, b.Start.Character))
}

func (l *languageServers) Outline(ctx context.Context, file filetime.Snapshot) ([]tools.Symbol, error) {
	replies, err := l.ask(ctx, Request{Path: file.Path, Method: "textDocument/documentSymbol", Params: func(_ text.Encoding, uri string) any { return textDocumentParams(uri) }})
	if err != nil {
		return nil, err
	}
	var out []tools.Symbol
	for _, r := range replies {
		out = symbols(out, elements(r.Result), r.Encoding, file.Path, 0)
		if len(out) > 0 {
			break // a second server repeats it
		}
	}
	return out, nil
}

func (l *languageServers) Find(ctx context.Context, file, query string, running bool) ([]tools.Symbol, error) {
	replies, err := l.ask(ctx, Request{Path: file, Method: "workspace/symbol", Running: running, Params: func(text.Encoding, string) any {
		return map[string]any{"query": query}
	}})
	if err != nil {
		return nil, err
	}
	var out []tools.Symbol
	for _, r := range replies {
		out = symbols(out, elements(r.Result), r.Encoding, "", 0)
	}
	slices.SortStableFunc(out, func(a, b tools.Symbol) int { // best matches first, then in the order of the servers
		return cmp.Compare(matchRank(a.Name, query), matchRank(b.Name, query))
	})
	return out, nil
}

// matchRank ranks a name against a query: 0 equal, 1 equal but for case, 2 contained, 3 other.
func matchRank(name, query string) int {
	bare := name[strings.LastIndexAny(name, ".:/")+1:]
	switch {
	case name == query || bare == query:
		return 0
	case strings.EqualFold(bare, query):
		return 1
	case strings.Contains(strings.ToLower(name), strings.ToLower(query)):
		return 2
	}
	return 3
}

// diagnoseBudget limits the wait of Diagnose for servers that still analyze a text.
const diagnoseBudget = 2 * time.Second

func (l *languageServers) Diagnose(ctx context.Context, file filetime.Snapshot) (tools.Diagnosis, error) {
	return l.diagnose(ctx, file, diagnoseBudget, false)
}

func (l *languageServers) Glance(ctx context.Context, file filetime.Snapshot, waitBudget time.Duration) (tools.Diagnosis, error) {
	return l.diagnose(ctx, file, waitBudget, true)
}

func (l *languageServers) diagnose(ctx context.Context, file filetime.Snapshot, waitBudget time.Duration, running bool) (tools.Diagnosis, error) {
	limit, cancel := context.WithTimeout(ctx, waitBudget)
	defer cancel()
	askCtx := ctx
	if running && waitBudget > 0 {
		askCtx = limit
	}
	d := tools.Diagnosis{Path: file.Path}
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 80*time.Millisecond) {
		replies, err := l.ask(askCtx, Request{
			Path: file.Path, Method: "textDocument/diagnostic", Running: running, Open: file.Open, Params: func(_ text.Encoding, uri string) any { return textDocumentParams(uri) },
		})
		switch {
		case err != nil && ctx.Err() == nil && askCtx.Err() != nil:
			return d, nil
		case err != nil:
			return tools.Diagnosis{Path: file.Path}, err
		}
		d.Findings = nil
		allFresh, someFresh, pending := true, false, false // a server without versions will not send one later
		for _, r := range replies {
			var report struct {
				Items json.RawMessage `json:"items"` // a list, or of some servers the one element
			}
			if wire.Unmarshal(r.Result, &report) != nil {
				continue
			}
			isFresh := r.Version != nil && *r.Version == file.Version
			allFresh, someFresh, pending = allFresh && isFresh, someFresh || isFresh, pending || r.Version != nil && !isFresh
			if isFresh || r.Version == nil && !running || waitBudget == 0 { // findings of an older text would have wrong positions
				d.Findings = findings(d.Findings, elements(report.Items), file.Path, r)
			}
		}
		d.Fresh = allFresh || running && someFresh && waitBudget > 0
		if allFresh || waitBudget == 0 || running && !pending {
			return d, nil
		}
		select {
		case <-time.After(pause):
		case <-limit.Done():
			return d, context.Cause(ctx)
		}
	}
}

func (l *languageServers) Known(ctx context.Context, folder string) ([]tools.Diagnosis, error) {
	replies, err := l.ask(ctx, Request{Path: folder, Method: "workspace/diagnostic", Params: func(text.Encoding, string) any {
		return map[string]any{"previousResultIds": []any{}}
	}})
	if err != nil {
		return nil, err
	}
	var out []tools.Diagnosis
	for _, r := range replies {
		var report struct {
			Items []struct {
				URI     string            `json:"uri"`
				Items   []json.RawMessage `json:"items"`
				Pending bool              `json:"pending"` // of servers beside the editor
			} `json:"items"`
		}
		if wire.Unmarshal(r.Result, &report) != nil {
			continue
		}
		for _, doc := range report.Items {
			path, ok := fileuri.Path(doc.URI)
			if !ok || len(doc.Items) == 0 && !doc.Pending {
				continue
			}
			i := slices.IndexFunc(out, func(d tools.Diagnosis) bool { return d.Path == path })
			if i < 0 {
				i, out = len(out), append(out, tools.Diagnosis{Path: path})
			}
			out[i].Findings = findings(out[i].Findings, doc.Items, path, r)
		}
	}
	slices.SortFunc(out, func(a, b tools.Diagnosis) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// ask asks the servers one after another until one has a reply.
func (l *languageServers) ask(ctx context.Context, r Request) ([]Reply, error) {
	none := &tools.NoServerError{}
	for _, s := range l.servers {
		replies, err := s.Ask(ctx, r)
		var missing *tools.NoServerError
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &missing):
			none = missing
		case err != nil:
			return nil, err
		case len(replies) > 0:
			return replies, nil
		}
	}
	return nil, none
}

func textDocumentParams(uri string) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}}
}

func lspPosition(p text.Position) lsp.Position {
	return lsp.Position{Line: uint32(p.Line), Character: uint32(p.Character)}
}

// elements are the elements of an array, or the value itself if it is none.
func elements(result json.RawMessage) []json.RawMessage {
	var many []json.RawMessage
	if json.Unmarshal(result, &many) == nil {
		return many
	}
	return []json.RawMessage{result}
}

// location is a Location or a LocationLink of LSP.
type location struct {
	URI                  string     `json:"uri"`
	Range                *lsp.Range `json:"range"`
	TargetURI            string     `json:"targetUri"`
	TargetSelectionRange *lsp.Range `json:"targetSelectionRange"`
}

func (l location) span(e text.Encoding) (tools.Span, bool) {
	u, r := cmp.Or(l.URI, l.TargetURI), cmp.Or(l.Range, l.TargetSelectionRange)
	path, ok := fileuri.Path(u)
	if r == nil || !ok && !isOpaque(u) {
		return tools.Span{}, false
	}
	s := spanOf(path, *r, e)
	if !ok {
		s.URI = u
	}
	return s, true
}

// isOpaque reports whether a URI has a scheme such as jdt: or zipfile:, whose documents are no
// files.
func isOpaque(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	return ok && scheme != "" && !strings.EqualFold(scheme, "file") && !strings.ContainsAny(scheme, "/?#% ")
}

func spanOf(path string, r lsp.Range, e text.Encoding) tools.Span {
	at := func(p lsp.Position) text.Position {
		return text.Position{Line: int(p.Line), Character: int(p.Character)}
	}
	return tools.Span{Path: path, Start: at(r.Start), End: at(r.End), Encoding: e}
}

// symbol is a DocumentSymbol, a SymbolInformation or a WorkspaceSymbol of LSP.
type symbol struct {
	Name           string            `json:"name"`
	Detail         string            `json:"detail"`
	Kind           int               `json:"kind"`
	Container      string            `json:"containerName"`
	SelectionRange *lsp.Range        `json:"selectionRange"`
	Location       *location         `json:"location"`
	Children       []json.RawMessage `json:"children"`
}

// maxSymbolDepth limits the recursion into nested symbols.
const maxSymbolDepth = 100

func symbols(out []tools.Symbol, list []json.RawMessage, e text.Encoding, path string, depth int) []tools.Symbol {
	for _, raw := range list {
		var s symbol
		if wire.Unmarshal(raw, &s) != nil || s.Name == "" || depth > maxSymbolDepth {
			continue
		}
		found := tools.Symbol{Name: s.Name, Detail: s.Detail, Kind: kind(s.Kind), In: s.Container, Depth: depth}
		switch {
		case s.SelectionRange != nil && path != "":
			found.Span = spanOf(path, *s.SelectionRange, e)
		case s.Location != nil:
			at, ok := s.Location.span(e)
			if !ok { // LSP 3.17 has symbols with a URI alone
				at.Unplaced = true
				if at.Path, ok = fileuri.Path(s.Location.URI); !ok {
					at.URI = s.Location.URI
				}
			}
			if !ok && !isOpaque(at.URI) {
				continue
			}
			found.Span = at
		default:
			continue
		}
		out = symbols(append(out, found), s.Children, e, path, depth+1)
	}
	return out
}

// kind is the name of a SymbolKind of LSP.
func kind(n int) string {
	names := [...]string{
		"file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface", "function",
		"variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct", "event", "operator",
		"type parameter",
	}
	if n < 1 || n > len(names) {
		return "symbol"
	}
	return names[n-1]
}

// diagnostic is a Diagnostic of LSP.
type diagnostic struct {
	Range    lenientRange    `json:"range"`
	Severity tools.Severity  `json:"severity"`
	Source   string          `json:"source"`
	Code     json.RawMessage `json:"code"`
	Message  string          `json:"message"`
}

// lenientRange is a range whose numbers may be negative or missing, which count as 0: some servers
// do not know where a fault ends.
type lenientRange lsp.Range

// UnmarshalJSON implements json.Unmarshaler.
func (r *lenientRange) UnmarshalJSON(raw []byte) error {
	type position struct{ Line, Character float64 }
	var loose struct{ Start, End position }
	if err := json.Unmarshal(raw, &loose); err != nil {
		return err
	}
	at := func(p position) lsp.Position {
		fit := func(n float64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }
		return lsp.Position{Line: fit(p.Line), Character: fit(p.Character)}
	}
	r.Start, r.End = at(loose.Start), at(loose.End)
	return nil
}

// reviewSource marks the diagnostics by which Tandem shows hunks. They are no faults and are
// filtered out.
const reviewSource = "tandem"

// findings decodes each item separately, so that an invalid one does not hide the others.
func findings(out []tools.Finding, items []json.RawMessage, path string, r Reply) []tools.Finding {
	for _, raw := range items {
		var d diagnostic
		if wire.Unmarshal(raw, &d) != nil || d.Source == reviewSource {
			continue
		}
		code := ""
		if err := json.Unmarshal(d.Code, &code); err != nil && len(d.Code) > 0 && d.Code[0] != '{' && string(d.Code) != "null" {
			code = string(d.Code) // a number
		}
		out = append(out, tools.Finding{
			Severity: cmp.Or(d.Severity, tools.SeverityError), Source: cmp.Or(d.Source, r.Server), Code: code, Message: d.Message,
			Span: spanOf(path, lsp.Range(d.Range), r.Encoding),
		})
	}
	return out
}
