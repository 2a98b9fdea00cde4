// Package languages asks language servers about code, and turns their answers into plain values:
// those that the person's editor runs, by one request to the editor, and those that run beside it.
// It knows LSP and no tool.
package languages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	// Path is absolute; it says which servers are asked. That of a folder is every server that
	// works in it.
	Path   string
	Method string
	// Running asks no server that would have to be started for it, nor about a document that would
	// have to be opened.
	Running bool
	// Open says that the file is open in the editor.
	Open bool
	// Resolve is of textDocument/codeAction the title of those actions whose edit is wanted; "" is
	// none. Who answers adds the diagnostics of the range to the parameters.
	Resolve string
	// Params makes the parameters for a server that counts characters in an encoding and spells the
	// URI of Path so.
	Params func(e text.Encoding, uri string) any
}

// Reply is the answer of one server. Encoding is that of the positions in it.
type Reply struct {
	Server   string
	Encoding text.Encoding
	// Version is that of the document that the answer is about: an older one than that of the
	// document says that an answer about the present text is still to come, nil that nobody knows
	// what it is about.
	Version *int32
	Result  json.RawMessage
}

// Server asks some language servers. Ask may be called concurrently. No reply means that none of
// them serves the file; an error that one does and cannot answer, or a *tools.NoServerError with
// what would have to be there.
type Server interface {
	// Serves says that there is reason to offer a model what servers can be asked in a folder.
	Serves(folder string) bool
	Ask(ctx context.Context, r Request) ([]Reply, error)
}

// asked implements tools.Languages.
type asked struct{ servers []Server }

// New makes a Languages of servers, of which the first that has a reply counts; nil ones are left
// out. Without servers it is nil.
func New(servers ...Server) tools.Languages {
	servers = slices.DeleteFunc(servers, func(s Server) bool { return s == nil })
	if len(servers) == 0 {
		return nil
	}
	return &asked{servers}
}

func (l *asked) Serves(folder string) bool {
	return slices.ContainsFunc(l.servers, func(s Server) bool { return s.Serves(folder) })
}

func (l *asked) Definition(ctx context.Context, at tools.Spot) ([]tools.Span, error) {
	return l.places(ctx, at, "textDocument/definition", nil)
}

func (l *asked) References(ctx context.Context, at tools.Spot) ([]tools.Span, error) {
	return l.places(ctx, at, "textDocument/references", map[string]any{"context": map[string]any{"includeDeclaration": true}})
}

func (l *asked) places(ctx context.Context, at tools.Spot, method string, more map[string]any) ([]tools.Span, error) {
	replies, err := l.ask(ctx, Request{Path: at.File.Path, Method: method, Params: func(e text.Encoding, uri string) any {
		p := params(uri)
		p["position"] = position(at.File.Text.Position(at.Offset, e))
		for k, v := range more {
			p[k] = v
		}
		return p
	}})
	if err != nil {
		return nil, err
	}
	var out []tools.Span
	for _, r := range replies {
		for _, raw := range list(r.Result) {
			var loc location
			if wire.Unmarshal(raw, &loc) != nil {
				continue
			}
			if s, ok := loc.span(r.Encoding); ok {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, compare)
	return slices.CompactFunc(out, func(a, b tools.Span) bool { return a.Path == b.Path && a.URI == b.URI && a.Start == b.Start }), nil
}

func compare(a, b tools.Span) int {
	return cmp.Or(strings.Compare(a.URI, b.URI), strings.Compare(a.Path, b.Path), cmp.Compare(a.Start.Line, b.Start.Line), cmp.Compare(a.Start.Character, b.Start.Character))
}

func (l *asked) Outline(ctx context.Context, file filetime.Snapshot) ([]tools.Symbol, error) {
	replies, err := l.ask(ctx, Request{Path: file.Path, Method: "textDocument/documentSymbol", Params: func(_ text.Encoding, uri string) any { return params(uri) }})
	if err != nil {
		return nil, err
	}
	var out []tools.Symbol
	for _, r := range replies {
		out = symbols(out, list(r.Result), r.Encoding, file.Path, 0)
		if len(out) > 0 {
			break // a second server says the same again
		}
	}
	return out, nil
}

func (l *asked) Find(ctx context.Context, file, query string, running bool) ([]tools.Symbol, error) {
	replies, err := l.ask(ctx, Request{Path: file, Method: "workspace/symbol", Running: running, Params: func(text.Encoding, string) any {
		return map[string]any{"query": query}
	}})
	if err != nil {
		return nil, err
	}
	var out []tools.Symbol
	for _, r := range replies {
		out = symbols(out, list(r.Result), r.Encoding, "", 0)
	}
	slices.SortStableFunc(out, func(a, b tools.Symbol) int { // those that are called so come first, in the order of the servers
		return cmp.Compare(fit(a.Name, query), fit(b.Name, query))
	})
	return out, nil
}

// fit is how well a name fits a query, 0 being the best.
func fit(name, query string) int {
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

// patience is how long Diagnose waits for servers that are still looking at a text.
const patience = 2 * time.Second

func (l *asked) Diagnose(ctx context.Context, file filetime.Snapshot) (tools.Diagnosis, error) {
	return l.diagnose(ctx, file, patience, false)
}

func (l *asked) Glance(ctx context.Context, file filetime.Snapshot, patience time.Duration) (tools.Diagnosis, error) {
	return l.diagnose(ctx, file, patience, true)
}

func (l *asked) diagnose(ctx context.Context, file filetime.Snapshot, patience time.Duration, running bool) (tools.Diagnosis, error) {
	limit, done := context.WithTimeout(ctx, patience)
	defer done()
	asking := ctx
	if running && patience > 0 {
		asking = limit
	}
	d := tools.Diagnosis{Path: file.Path}
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 80*time.Millisecond) {
		replies, err := l.ask(asking, Request{
			Path: file.Path, Method: "textDocument/diagnostic", Running: running, Open: file.Open, Params: func(_ text.Encoding, uri string) any { return params(uri) },
		})
		switch {
		case err != nil && ctx.Err() == nil && asking.Err() != nil:
			return d, nil
		case err != nil:
			return tools.Diagnosis{Path: file.Path}, err
		}
		d.Findings = nil
		all, some, pending := true, false, false // who does not say which text an answer is about will not say it later
		for _, r := range replies {
			var report struct {
				Items json.RawMessage `json:"items"` // a list, or of some servers the one element
			}
			if wire.Unmarshal(r.Result, &report) != nil {
				continue
			}
			fresh := r.Version != nil && *r.Version == file.Version
			all, some, pending = all && fresh, some || fresh, pending || r.Version != nil && !fresh
			if fresh || r.Version == nil && !running || patience == 0 { // findings of an older text would be shown beside the present one
				d.Findings = findings(d.Findings, list(report.Items), file.Path, r)
			}
		}
		d.Fresh = all || running && some && patience > 0
		if all || patience == 0 || running && !pending {
			return d, nil
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-limit.Done():
			again.Stop()
			return d, context.Cause(ctx)
		}
	}
}

func (l *asked) Known(ctx context.Context, folder string) ([]tools.Diagnosis, error) {
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
func (l *asked) ask(ctx context.Context, r Request) ([]Reply, error) {
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

func params(uri string) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}}
}

func position(p text.Position) lsp.Position {
	return lsp.Position{Line: uint32(p.Line), Character: uint32(p.Character)}
}

// list is what a result has: the elements of an array, or the one value that it is.
func list(result json.RawMessage) []json.RawMessage {
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
	if r == nil || !ok && !opaque(u) {
		return tools.Span{}, false
	}
	s := spanOf(path, *r, e)
	if !ok {
		s.URI = u
	}
	return s, true
}

// opaque reports whether a URI has a scheme of its own, such as jdt: or zipfile:, whose documents
// are no files.
func opaque(uri string) bool {
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

// deepest bounds the nesting of symbols.
const deepest = 100

func symbols(out []tools.Symbol, list []json.RawMessage, e text.Encoding, path string, depth int) []tools.Symbol {
	for _, raw := range list {
		var s symbol
		if wire.Unmarshal(raw, &s) != nil || s.Name == "" || depth > deepest {
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
			if !ok && !opaque(at.URI) {
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
	Range    looseRange      `json:"range"`
	Severity tools.Severity  `json:"severity"`
	Source   string          `json:"source"`
	Code     json.RawMessage `json:"code"`
	Message  string          `json:"message"`
}

// looseRange is a range whose numbers may be below 0 or missing, as those of servers are that do
// not know where a fault ends: 0 then.
type looseRange lsp.Range

// UnmarshalJSON implements json.Unmarshaler.
func (r *looseRange) UnmarshalJSON(raw []byte) error {
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

// own is the source of the diagnostics by which the server shows hunks, which are no faults.
const own = "tandem"

// findings reads each item by itself, so that one that cannot be read costs no other.
func findings(out []tools.Finding, items []json.RawMessage, path string, r Reply) []tools.Finding {
	for _, raw := range items {
		var d diagnostic
		if wire.Unmarshal(raw, &d) != nil || d.Source == own {
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
