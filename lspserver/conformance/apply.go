package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type applyParams struct {
	Label string `json:"label"`
	Edit  struct {
		Changes         map[string][]sentEdit `json:"changes"`
		DocumentChanges []documentChange      `json:"documentChanges"`
	} `json:"edit"`
}

type sentEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// documentChange is a text edit of one document where Kind is empty, else a file operation.
type documentChange struct {
	Kind    string `json:"kind"`
	URI     string `json:"uri"`
	OldURI  string `json:"oldUri"`
	NewURI  string `json:"newUri"`
	Options struct {
		Overwrite         bool `json:"overwrite"`
		IgnoreIfExists    bool `json:"ignoreIfExists"`
		IgnoreIfNotExists bool `json:"ignoreIfNotExists"`
		Recursive         bool `json:"recursive"`
	} `json:"options"`
	TextDocument struct {
		URI     string `json:"uri"`
		Version *int32 `json:"version"`
	} `json:"textDocument"`
	Edits []sentEdit `json:"edits"`
}

type applyResult struct {
	Applied       bool    `json:"applied"`
	FailureReason string  `json:"failureReason,omitempty"`
	Tandem        *landed `json:"tandem,omitempty"`
}

// landed are the versions that an edit made, from an editor that promises to name them.
type landed struct {
	Versions []versioned `json:"versions"`
}

type versioned struct {
	URI     string `json:"uri"`
	Version int32  `json:"version"`
}

// name puts the versions of the edited documents into an answer; after says that they have the edit already.
func (e *Editor) name(r *applyResult, p applyParams, after bool) {
	if !e.o.Landed {
		return
	}
	r.Tandem = &landed{Versions: []versioned{}}
	for _, c := range p.Edit.DocumentChanges {
		v := versioned{URI: c.TextDocument.URI}
		d := e.docs[v.URI]
		switch {
		case c.Kind != "":
			continue
		case d != nil:
			v.Version = d.version
		case !after:
			v.Version = 1 // with which it will be opened
		}
		if !after && len(c.Edits) > 0 {
			v.Version++
		}
		r.Tandem.Versions = append(r.Tandem.Versions, v)
	}
}

var errBroken = errors.New("attempt to compare nil with number")

// apply serves workspace/applyEdit. It runs where messages are read, so that what the server sends later comes later,
// except for the window of a racing editor.
func (e *Editor) apply(id, params json.RawMessage) {
	e.mu.Lock()
	e.applies++
	n := e.applies
	e.mu.Unlock()
	if e.o.BeforeApply != nil {
		e.o.BeforeApply(n)
	}
	var p applyParams
	if err := json.Unmarshal(params, &p); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.violate("applyEdit: %v", err)
		e.conn.fail(id, -32602, err.Error())
		return
	}
	e.plainly(&p, params)
	if e.o.Reopen {
		e.reopen(p)
	}
	if e.o.Profile == Race && e.o.Window > 0 {
		if e.moved(p) {
			e.refuse(id, "the document has changed")
			return
		}
		e.background.Go(func() {
			time.Sleep(e.o.Window)
			e.carryOut(n, id, p)
		})
		return
	}
	e.carryOut(n, id, p)
}

// plainly holds the server to what it may send: to a client that did not declare experimental.tandem the edit alone, for
// eglot fails on any other key, and to one without documentChanges changes, which are for whatever the text is now.
func (e *Editor) plainly(p *applyParams, params json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var keys map[string]json.RawMessage
	if json.Unmarshal(params, &keys) == nil && e.plain && len(keys) != 1 {
		e.violate("applyEdit has more than the edit: %s", params)
	}
	if e.unversioned != (p.Edit.Changes != nil) {
		e.violate("applyEdit of the wrong form: %s", params)
	}
	for _, uri := range slices.Sorted(maps.Keys(p.Edit.Changes)) {
		c := documentChange{Edits: p.Edit.Changes[uri]}
		c.TextDocument.URI = uri
		if d := e.docs[uri]; d != nil {
			now := d.version
			c.TextDocument.Version = &now
		}
		p.Edit.DocumentChanges = append(p.Edit.DocumentChanges, c)
	}
}

// moved says that a version of p is not the present one, and counts it.
func (e *Editor) moved(p applyParams) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range p.Edit.DocumentChanges {
		if d := e.docs[c.TextDocument.URI]; c.Kind == "" && d != nil && c.TextDocument.Version != nil &&
			*c.TextDocument.Version != d.version {
			e.stale++
			e.refused++
			return true
		}
	}
	return false
}

func (e *Editor) carryOut(n int, id json.RawMessage, p applyParams) {
	reply := Answered
	if e.o.Reply != nil {
		reply = e.o.Reply(n)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch reply {
	case Errored:
		e.refused++
		e.conn.fail(id, -32603, "the edit handler has failed")
		return
	case Refused:
		e.refused++
		e.conn.reply(id, applyResult{FailureReason: "not now"})
		return
	}
	steps, err := e.plan(p)
	var r applyResult
	if err == nil && !errors.Is(err, errBroken) {
		r.Applied = true
		if e.o.ReplyFirst && reply == Answered {
			e.name(&r, p, false)
			e.conn.reply(id, r)
		}
		for _, step := range steps {
			if err = step(); err != nil {
				r = applyResult{FailureReason: err.Error()}
				break
			}
		}
		if r.Applied {
			e.name(&r, p, true)
		}
	} else {
		e.refused++
		r.FailureReason = err.Error()
	}
	if e.o.AfterApply != nil {
		e.mu.Unlock()
		e.o.AfterApply(n)
		e.mu.Lock()
	}
	switch {
	case reply == Lost, e.o.ReplyFirst && r.Applied:
	case !r.Applied && e.o.Fails:
		e.refuse(id, r.FailureReason)
	case errors.Is(err, errBroken):
		e.conn.fail(id, -32603, err.Error())
	default:
		e.conn.reply(id, r)
	}
}

// refuse answers an edit that was not carried out.
func (e *Editor) refuse(id json.RawMessage, why string) {
	if e.o.Fails {
		e.conn.fail(id, -32603, why)
		return
	}
	e.conn.reply(id, applyResult{FailureReason: why})
}

// plan checks an edit as the profile checks it and gives the steps that carry it out. An error means that nothing is to
// be done.
func (e *Editor) plan(p applyParams) (steps []func() error, err error) {
	if len(p.Edit.DocumentChanges) == 0 {
		e.violate("applyEdit without documentChanges")
		return nil, errors.New("no documentChanges")
	}
	first := true
	for _, c := range p.Edit.DocumentChanges {
		if c.Kind != "" {
			steps = append(steps, func() error { return e.operate(c) })
			continue
		}
		d, v := e.docs[c.TextDocument.URI], c.TextDocument.Version
		checks := first || e.o.Profile != Lying
		first = false
		switch {
		case v == nil && d != nil && !d.openedForEdit:
			e.violate("no version for %s, which is open", c.TextDocument.URI)
			e.stale++
			if e.o.Profile == Strict {
				return nil, errors.New("the document has been opened")
			}
			e.misplaced++
		case v != nil && d == nil:
			e.stale++
			switch e.o.Profile {
			case Strict:
				return nil, errors.New("the document is not open")
			case Lying:
				return nil, errBroken
			}
		case v != nil && *v != d.version:
			e.stale++
			if e.o.Forget {
				steps = append(steps, func() error { return e.overwrite(d, c) })
				continue
			}
			if e.o.Profile == Strict {
				return nil, errors.New("the document has changed")
			}
			if e.o.Profile == Lying && checks {
				e.refused++
				continue
			}
			e.misplaced++
		}
		steps = append(steps, func() error { return e.edit(c) })
	}
	return steps, nil
}

// unversioned marks in a violation that the edit had no version.
const unversioned = " of an edit without a version"

// edit puts text edits into a document, which is opened for it where it is closed.
func (e *Editor) edit(c documentChange) error {
	d := e.docs[c.TextDocument.URI]
	if d == nil {
		path := FromURI(c.TextDocument.URI)
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		d = e.open(path, string(text), true)
	}
	// Without a version it is for a closed file, which the person may have opened and changed while it was on its way.
	v := c.TextDocument.Version
	// A version says nothing of a document that was closed and opened since: it may be an older one's number.
	current := (v == nil && d.openedForEdit || v != nil && *v == d.version) && e.opened[d.uri] == 1
	var splices []Splice
	for _, t := range c.Edits {
		start, exact := e.o.Encoding.Offset(d.text, t.Range.Start)
		end, exactEnd := e.o.Encoding.Offset(d.text, t.Range.End)
		if current && (!exact || !exactEnd || start > end || !boundary(d.text, start) || !boundary(d.text, end)) {
			e.violate("%s: the range %v%s points nowhere", d.path, t.Range, map[bool]string{true: unversioned}[v == nil])
		}
		if e.o.Profile == Lying {
			t.NewText = strings.ReplaceAll(t.NewText, "\r", "")
		}
		splices = append(splices, Splice{start, max(start, end), d.lines(t.NewText)})
	}
	sorted := slices.Clone(splices)
	slices.SortStableFunc(sorted, func(a, b Splice) int { return a.Start - b.Start })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].Start < sorted[i-1].End {
			if current {
				e.violate("%s: edits overlap", d.path)
			}
			return errors.New("overlapping ranges")
		}
	}
	if len(splices) > 0 {
		e.change(d, Applied, splices)
	}
	return nil
}

// operate carries out a file operation on disk; an open document follows.
func (e *Editor) operate(c documentChange) error {
	path := FromURI(c.URI)
	switch c.Kind {
	case "create":
		if _, err := os.Lstat(path); err == nil && !c.Options.Overwrite {
			if c.Options.IgnoreIfExists {
				return nil
			}
			return fmt.Errorf("%s exists", path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, nil, 0o644)
	case "delete":
		if d := e.docs[c.URI]; d != nil {
			e.close(d)
		}
		if _, err := os.Lstat(path); err != nil && c.Options.IgnoreIfNotExists {
			return nil
		}
		if c.Options.Recursive {
			return os.RemoveAll(path)
		}
		return os.Remove(path)
	case "rename":
		from, to := FromURI(c.OldURI), FromURI(c.NewURI)
		if _, err := os.Lstat(to); err == nil && !c.Options.Overwrite {
			if c.Options.IgnoreIfExists {
				return nil
			}
			return fmt.Errorf("%s exists", to)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
		for _, uri := range slices.Sorted(maps.Keys(e.docs)) { // those in a folder move along
			rest, ok := strings.CutPrefix(uri, c.OldURI)
			if d := e.docs[uri]; ok && (rest == "" || rest[0] == '/') {
				e.close(d)
				e.open(to+FromURI("file://"+rest), d.text, d.openedForEdit).onDisk = d.onDisk
			}
		}
		return nil
	}
	return fmt.Errorf("no such operation: %s", c.Kind)
}

// violate notes what no server may do. The caller holds e.mu.
func (e *Editor) violate(format string, args ...any) {
	e.violations = append(e.violations, fmt.Sprintf(format, args...))
}
