package conformance

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// observed is what a client did, as far as the wire shows it: nothing here looks into the client.
type observed struct {
	agreed   Encoding
	declared map[string]any // its capabilities
	name     string
	states   []state
	asked    []*asked
	requests []request
	notified map[string]int // the place of the last notification of each method that the client sent
	swapped  int            // changes that came before the one before
}

// state is one text of a document, as the server has to understand it. A didChange with several changes leads through
// several.
type state struct {
	at      int // the place of the message in the log
	uri     string
	open    bool
	version int32
	text    string
}

// request is a request of the server, or of the tap, with its answer.
type request struct {
	at, answered int  // answered is -1 where nothing came
	probe        bool // of the tap and not of the server
	method       string
	params       json.RawMessage
	result       json.RawMessage
	failed       *RPCError
}

// asked is the part of a workspace/applyEdit that is about one document or one file operation.
type asked struct {
	*request
	change  documentChange
	marked  bool // it has a label and change annotations
	applied bool // by its answer
	before  state
	// echo is the place of the didChange that shows the text edit, -1 where none does. moved says that it was put into a
	// later text than the one that it was made for, undone that it took back what had been typed since that one.
	echo          int
	moved, undone bool
}

// observe reads the log of a tap.
func observe(log []Wire) *observed {
	o := &observed{agreed: UTF16, notified: map[string]int{}}
	var initialize json.RawMessage
	byID := map[string]int{}
	log, o.swapped = inOrder(log)
	for at, w := range log {
		var m message
		if json.Unmarshal(w.Raw, &m) != nil {
			continue
		}
		switch {
		case w.ToServer && m.Method == "initialize":
			o.introduce(m.Params)
			initialize = m.ID
		case !w.ToServer && m.Method == "" && initialize != nil && bytes.Equal(m.ID, initialize):
			var r struct {
				Capabilities struct{ PositionEncoding Encoding }
			}
			if json.Unmarshal(m.Result, &r) == nil && r.Capabilities.PositionEncoding != "" {
				o.agreed = r.Capabilities.PositionEncoding
			}
			initialize = nil
		case !w.ToServer && m.Method != "" && m.ID != nil:
			byID[string(m.ID)] = len(o.requests)
			o.requests = append(o.requests, request{
				at: at, answered: -1, probe: bytes.HasPrefix(m.ID, []byte(`"probe-`)), method: m.Method, params: m.Params,
			})
		case w.ToServer && m.Method == "":
			if i, ok := byID[string(m.ID)]; ok {
				r := &o.requests[i]
				r.answered, r.result, r.failed = at, m.Result, m.Error
			}
		case w.ToServer && m.ID == nil:
			o.notified[m.Method] = at
			o.follow(at, m)
		}
	}
	for i := range o.requests {
		o.edits(&o.requests[i])
	}
	for i, a := range o.asked {
		if a.change.Kind == "" {
			o.match(a, o.asked[i+1:])
		}
	}
	return o
}

// inOrder is the log with each change of a document that came before the one before in its place, and how many did.
func inOrder(log []Wire) (sorted []Wire, swapped int) {
	sorted = slices.Clone(log)
	type change struct {
		at      int
		version int32
	}
	last := map[string]change{}
	for at, w := range log {
		var m message
		var p didChange
		if !w.ToServer || json.Unmarshal(w.Raw, &m) != nil || json.Unmarshal(m.Params, &p) != nil {
			continue
		}
		switch doc := p.TextDocument; m.Method {
		case "textDocument/didOpen":
			delete(last, doc.URI)
		case "textDocument/didChange":
			now := change{at, doc.Version}
			if before, ok := last[doc.URI]; ok && before.version == now.version+1 {
				sorted[before.at], sorted[at] = sorted[at], sorted[before.at]
				now.version = before.version
				swapped++
			}
			last[doc.URI] = now
		}
	}
	return sorted, swapped
}

func (o *observed) introduce(params json.RawMessage) {
	var p struct {
		Capabilities map[string]any
		ClientInfo   struct{ Name, Version string }
	}
	_ = json.Unmarshal(params, &p) // a client that says nothing of itself declares nothing
	o.declared, o.name = p.Capabilities, strings.TrimSpace(p.ClientInfo.Name+" "+p.ClientInfo.Version)
}

// follow keeps up with the documents.
func (o *observed) follow(at int, m message) {
	var p struct {
		TextDocument struct {
			URI, Text string
			Version   int32
		}
		ContentChanges []contentChange
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	s := state{at: at, uri: p.TextDocument.URI, open: true, version: p.TextDocument.Version, text: p.TextDocument.Text}
	switch m.Method {
	case "textDocument/didOpen":
	case "textDocument/didChange":
		s.text = o.now(s.uri, at).text
		for _, c := range p.ContentChanges {
			if c.Range == nil {
				s.text = c.Text
			} else {
				start, _ := o.agreed.Offset(s.text, c.Range.Start)
				end, _ := o.agreed.Offset(s.text, c.Range.End)
				s.text = s.text[:start] + c.Text + s.text[max(start, end):]
			}
			o.states = append(o.states, s)
		}
		return
	case "textDocument/didClose":
		s.open = false
	default:
		return
	}
	o.states = append(o.states, s)
}

// now gives the state of a document before a place of the log.
func (o *observed) now(uri string, at int) state {
	for _, s := range slices.Backward(o.states) {
		if s.uri == uri && s.at < at {
			return s
		}
	}
	return state{uri: uri}
}

// edits takes a request to apply edits apart.
func (o *observed) edits(r *request) {
	var p applyParams
	if r.method != "workspace/applyEdit" || json.Unmarshal(r.params, &p) != nil {
		return
	}
	var answer applyResult
	_ = json.Unmarshal(r.result, &answer)
	for _, c := range p.Edit.DocumentChanges {
		a := &asked{
			request: r, change: c, applied: answer.Applied, echo: -1,
			marked: p.Label != "" && bytes.Contains(r.params, []byte(`"annotationId"`)),
			before: o.now(c.TextDocument.URI, r.at),
		}
		o.asked = append(o.asked, a)
	}
}

// stale says that the document had moved on, or was gone, when the client looked at the request, or that the client
// said so of a text that it had not told of.
func (o *observed) stale(a *asked) bool {
	if a.change.TextDocument.Version == nil {
		return false
	}
	if a.answered >= 0 && a.failed == nil && !a.applied {
		return true
	}
	seen := a.before
	for _, s := range o.states {
		if s.uri == seen.uri && s.at > a.at && (a.answered < 0 || s.at < a.answered) && s.at != a.echo {
			seen = s
		}
	}
	return !seen.open || seen.version != *a.change.TextDocument.Version
}

// match finds the change that shows a text edit: one that leads from some text of the document, with or without the
// person's keys in between, to that text with the edit in it. later are the requests after it.
func (o *observed) match(a *asked, later []*asked) {
	uri, end := a.change.TextDocument.URI, int(^uint(0)>>1)
	for _, l := range later {
		if l.change.TextDocument.URI == uri && l.request != a.request {
			end = l.at
			break
		}
	}
	from := []state{a.before}
	for _, s := range o.states {
		if s.uri != uri || s.at < a.at || s.at > end {
			continue
		}
		for i, f := range from {
			if s.open && f.open && unified(s.text) != unified(f.text) && o.leads(f.text, a.change, s.text) {
				// What opens a document for an edit comes between.
				a.echo, a.moved = s.at, i > 0 && from[0].open && unified(f.text) != unified(from[0].text)
				last := slices.IndexFunc(from[1:], func(t state) bool { return t.at == s.at }) // of one didChange they are one
				if last < 0 {
					last = len(from) - 1
				}
				a.undone = taken(f.text, from[last].text, s.text)
				return
			}
		}
		from = append(from, s)
	}
	for _, s := range from[1:] {
		if o.holds(a.change, a.before.text, s.text) {
			a.echo = s.at
			return
		}
	}
}

// taken says that what leads from before to typed is no more in after.
func taken(before, typed, after string) bool {
	s := difference(unified(before), unified(typed))
	old := unified(before)[s.Start:s.End]
	typed, after = unified(typed), unified(after)
	return s.New != "" && strings.Count(after, s.New) < strings.Count(typed, s.New) ||
		old != "" && strings.Count(after, old) > strings.Count(typed, old)
}

// splices are the text edits of a document over a text.
func (o *observed) splices(text string, c documentChange) (splices []Splice) {
	for _, e := range c.Edits {
		start, _ := o.agreed.Offset(text, e.Range.Start)
		end, _ := o.agreed.Offset(text, e.Range.End)
		splices = append(splices, Splice{start, max(start, end), e.NewText})
	}
	slices.SortStableFunc(splices, func(a, b Splice) int { return a.Start - b.Start })
	return splices
}

func (o *observed) leads(from string, c documentChange, to string) bool {
	splices := o.splices(from, c)
	for i, s := range slices.Backward(splices) {
		if i > 0 && s.Start < splices[i-1].End {
			return false
		}
		from = from[:s.Start] + s.New + from[s.End:]
	}
	return unified(from) == unified(to)
}

// holds says that every text which an edit brings is there more often than before, and what it only takes away less often: all that
// can be said where it came together with what a person typed.
func (o *observed) holds(c documentChange, before, after string) bool {
	seen := false
	for _, s := range o.splices(before, c) {
		old, text := unified(before[s.Start:s.End]), unified(s.New)
		grown := func(text string) int {
			return strings.Count(unified(after), text) - strings.Count(unified(before), text)
		}
		switch {
		case strings.TrimSpace(text) != "":
			if grown(text) <= 0 {
				return false
			}
		case strings.TrimSpace(old) != "":
			if grown(old) >= 0 {
				return false
			}
		default:
			continue
		}
		seen = true
	}
	return seen
}

func unified(text string) string { return strings.ReplaceAll(text, "\r", "") }

// capability looks a declared capability up; nil where it is not there.
func (o *observed) capability(path ...string) any {
	var v any = o.declared
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}
