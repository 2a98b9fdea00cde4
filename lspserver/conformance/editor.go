package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Profile is how an editor behaves when an edit comes for a text that it has no more.
type Profile string

// The profiles. Strict refuses an edit for another version. Race, like VS Code, puts it at its old coordinates when a
// keystroke slipped in between, and keeps one kind of line end in a buffer. Lying, like stock Neovim, skips it and says
// that it was applied, looks at the version of the first document only, strips carriage returns from new text, and
// answers with an error where a version is given for a document that it does not have.
const (
	Strict Profile = "strict"
	Race   Profile = "race"
	Lying  Profile = "lying"
)

// Reply is what becomes of the answer to an applyEdit.
type Reply uint8

// The replies. Lost applies the edit and never answers; Errored does nothing and answers with a JSON-RPC error; Refused
// does nothing and says so.
const (
	Answered Reply = iota
	Lost
	Errored
	Refused
)

// Options say what kind of editor it is and what kind of person sits before it.
type Options struct {
	// Root is the workspace folder, an absolute path.
	Root    string
	Profile Profile
	// Encoding of positions is offered to the server; UTF16, also where it is empty, is offered beside UTF8.
	Encoding Encoding
	// Capabilities are merged over those that the editor has anyway; a nil value takes one away.
	Capabilities map[string]any
	// Settings are sent as initializationOptions, Config is what workspace/configuration answers for "tandem".
	Settings, Config any
	ProcessID        int
	// NoFolder opens files and no workspace folder.
	NoFolder bool
	// Locale is the language of the user, "" says none.
	Locale string

	// Hold keeps changes of a buffer back for that long, so that one didChange tells of several, and the answer to an
	// applyEdit comes before its echo. A request sends what is held first. With Merge a held run goes out as one range.
	Hold  time.Duration
	Merge bool
	// Idle counts Hold from the last change, so that nothing is told while somebody types: stock Neovim and eglot do.
	Idle bool
	// Insert holds changes back only in Insert mode, as vim-lsp does: a key begins it, Escape ends it, and so does a pause of Hold.
	Insert bool
	// Reorder sends two changes in the other order: each third waits for the next one, 50 ms at most. Helix 25.01 sends versions
	// 34, 36, 35.
	Reorder bool
	// Widen sends whole lines: the range of a change has what stands beside it in its lines, too.
	Widen bool
	// Fails answers an edit for another text with an error, as eglot does, and not with applied: false.
	Fails bool
	// Split sends every edit of an applyEdit in a didChange of its own.
	Split bool
	// Whole sends whole texts, never ranges.
	Whole bool
	// Landed promises to name in the answer to an applyEdit the version that the edit made.
	Landed bool
	// ReplyFirst answers an applyEdit before its echo.
	ReplyFirst bool
	// Window is how long the Race profile takes from the check of the version, on arrival, to the edit; 0 is the worst
	// of its kind, which does not check at all.
	Window time.Duration
	// Forget puts an edit for an older text into that text: what was typed since is gone.
	Forget bool
	// Full says that the editor has no room to save: every save fails.
	Full bool
	// Reopen closes a document and opens it again, with the text that it has, when the first edit for it arrives.
	Reopen bool
	// Format is run on a text before it is saved, its result typed into the buffer; nil formats nothing.
	Format func(path, text string) string
	// Reply decides on the answer to the n-th applyEdit, from 1; nil answers all.
	Reply func(n int) Reply

	// BeforeApply and AfterApply run when the n-th applyEdit has arrived and when its echo has been written, before the
	// answer. AfterApply may type; neither may wait for the server.
	BeforeApply, AfterApply func(n int)
	// Ask is the person who is asked for permission: an option id, or "cancelled". Each question gets a goroutine of
	// its own. nil allows everything once.
	Ask func(n int, a Ask) string
	// Pick answers a window/showMessageRequest with one of its actions, or "" for none.
	Pick func(text string, actions []string) string
	// Seen is told of everything that happens to a buffer, in order. The editor stands still meanwhile: Seen must not call
	// it nor wait.
	Seen func(Sight)
	// Heard is told of every notification as it arrives. It must not wait for the server.
	Heard func(method string, params json.RawMessage)
	// Invoke serves requests that the editor does not know itself. nil answers that there is no such method.
	Invoke func(method string, params json.RawMessage) (any, error)
}

// Ask is a question for permission.
type Ask struct {
	SessionID string `json:"sessionId"`
	ToolCall  struct {
		ToolCallID string          `json:"toolCallId"`
		Title      string          `json:"title"`
		RawInput   json.RawMessage `json:"rawInput"`
		Content    json.RawMessage `json:"content"`
	} `json:"toolCall"`
	Options []Offered `json:"options"`
	Meta    struct {
		Tandem struct {
			Reason string `json:"reason"`
		} `json:"tandem"`
	} `json:"_meta"`
}

// Offered is an answer to an Ask that is on offer.
type Offered struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// Splice replaces the bytes from Start to End of a text by New.
type Splice struct {
	Start, End int
	New        string
}

// Deed is what happened to a buffer.
type Deed uint8

// The deeds. Typed is what the person changed, the editor's undo and a file that was read again included; Applied is what
// the server had changed. Told is a notification: its text is what the changes in it insert.
const (
	Opened Deed = iota
	Typed
	Applied
	Closed
	Told
)

// Sight is one version of a buffer and how it came about: by Splices, which are in order, of the version before.
type Sight struct {
	Deed    Deed
	Path    string
	Version int32
	Text    string
	Splices []Splice
}

// Editor is a language client with buffers of its own over a folder on disk, and with a person before it. It is an
// oracle: framing, positions, edits and line ends are its own code. All methods may be called concurrently.
type Editor struct {
	o    Options
	conn *conn
	init json.RawMessage
	// offered are the position encodings that the server may choose from.
	offered []Encoding
	// plain says that it did not declare experimental.tandem, unversioned that it takes changes and no documentChanges.
	plain, unversioned bool
	// saveText says that the server wants the text with every didSave.
	saveText bool

	mu         sync.Mutex // guards the fields below; nobody waits for anything while holding it
	docs       map[string]*document
	applies    int
	asks       int
	stale      int
	refused    int
	misplaced  int
	opened     map[string]int // how often each was opened: its versions begin anew then
	saved      []string
	violations []string
	background sync.WaitGroup
}

type document struct {
	path          string
	uri           string
	text          string
	version       int32
	eol           string           // the only line end of the buffer, "" where they may differ
	onDisk        string           // what was last saved
	openedForEdit bool             // opened for an edit, not by the person
	anew          bool             // it has been opened again
	was           map[int32]string // its older texts, of an editor that forgets
	undo          [][]Splice
	told          string // what the server has been told that the text is
	held          []contentChange
	timer         *time.Timer
	inserting     bool        // the person is in Insert mode
	overtaken     *didChange  // waits for the next one, which goes first
	overtake      *time.Timer // until which it waits
}

// didChange are the parameters of one notification.
type didChange struct {
	TextDocument   versioned       `json:"textDocument"`
	ContentChanges []contentChange `json:"contentChanges"`
}

type contentChange struct {
	Range *Range `json:"range,omitempty"`
	Text  string `json:"text"`
}

// Start connects an editor to a server and shakes hands with it.
func Start(ctx context.Context, rwc io.ReadWriteCloser, o Options) (*Editor, error) {
	o.Encoding = cmp.Or(o.Encoding, UTF16)
	o.Profile = cmp.Or(o.Profile, Strict)
	e := &Editor{o: o, docs: map[string]*document{}, opened: map[string]int{}, offered: []Encoding{o.Encoding}}
	if o.Encoding == UTF8 {
		e.offered = append(e.offered, UTF16)
	}
	e.conn = newConn(rwc, e.hear)
	e.conn.start()
	params := map[string]any{
		"processId":             nil,
		"clientInfo":            map[string]any{"name": "lsptest " + string(o.Profile), "version": "1"},
		"rootUri":               ToURI(o.Root),
		"workspaceFolders":      []any{map[string]any{"uri": ToURI(o.Root), "name": filepath.Base(o.Root)}},
		"capabilities":          e.capabilities(),
		"initializationOptions": o.Settings,
	}
	if o.NoFolder {
		params["rootUri"], params["workspaceFolders"] = nil, nil
	}
	if o.Locale != "" {
		params["locale"] = o.Locale
	}
	if o.ProcessID != 0 {
		params["processId"] = o.ProcessID
	}
	var err error
	if e.init, err = e.conn.begin("initialize", params)(ctx); err != nil {
		return nil, err
	}
	e.heed()
	e.conn.notify("initialized", map[string]any{})
	return e, nil
}

// heed takes in what the server answered to initialize.
func (e *Editor) heed() {
	var r struct {
		Capabilities struct {
			PositionEncoding Encoding
			TextDocumentSync json.RawMessage
		}
	}
	var sync struct{ Save struct{ IncludeText bool } }
	if err := json.Unmarshal(e.init, &r); err != nil {
		e.violate("the result of initialize: %v", err)
	}
	// A server may say all this with a number, and save with a bool; then it wants no text.
	e.saveText = json.Unmarshal(r.Capabilities.TextDocumentSync, &sync) == nil && sync.Save.IncludeText
	e.o.Encoding = cmp.Or(r.Capabilities.PositionEncoding, UTF16)
	if !slices.Contains(e.offered, e.o.Encoding) {
		e.violate("the encoding %s was not offered", e.o.Encoding)
	}
}

func (e *Editor) capabilities() any {
	have := map[string]any{
		"general": map[string]any{"positionEncodings": e.offered},
		"workspace": map[string]any{
			"applyEdit":     true,
			"configuration": true,
			"workspaceEdit": map[string]any{
				"documentChanges":    true,
				"resourceOperations": []any{"create", "rename", "delete"},
				"failureHandling":    "abort",
			},
		},
		"textDocument": map[string]any{"synchronization": map[string]any{"didSave": true}},
		"window":       map[string]any{"workDoneProgress": true},
		"experimental": map[string]any{
			"tandem": map[string]any{"permission": true, "clarify": true, "save": true, "settingsAreOwn": true},
		},
	}
	if e.o.Landed {
		have = merge(have, map[string]any{"experimental": map[string]any{"tandem": map[string]any{"landed": true}}})
	}
	have = merge(have, e.o.Capabilities)
	x, _ := have["experimental"].(map[string]any)
	e.plain = x["tandem"] == nil
	w, _ := have["workspace"].(map[string]any)
	edits, _ := w["workspaceEdit"].(map[string]any)
	e.unversioned = edits["documentChanges"] != true && edits["resourceOperations"] == nil
	return have
}

// merge lays patch over have as RFC 7396 does.
func merge(have, patch map[string]any) map[string]any {
	out := maps.Clone(have)
	for k, v := range patch {
		below, isMap := v.(map[string]any)
		switch old, _ := out[k].(map[string]any); {
		case v == nil:
			delete(out, k)
		case isMap:
			if old == nil {
				old = map[string]any{}
			}
			out[k] = merge(old, below)
		default:
			out[k] = v
		}
	}
	return out
}

// InitializeResult is what the server answered to initialize.
func (e *Editor) InitializeResult() json.RawMessage { return e.init }

// Request sends what is held of the person's changes, then the request, and waits for its answer. An error answer is an
// *RPCError. When ctx ends first, the request is cancelled.
func (e *Editor) Request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return e.Begin(method, params)(ctx)
}

// Begin is Request in two steps: the request is on its way when Begin returns.
func (e *Editor) Begin(method string, params any) func(ctx context.Context) (json.RawMessage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flushAll()
	return e.conn.begin(method, params)
}

// Notify sends what is held of the person's changes, then the notification.
func (e *Editor) Notify(method string, params any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flushAll()
	e.conn.notify(method, params)
}

// Raw puts bytes on the wire as they are.
func (e *Editor) Raw(b []byte) { e.conn.raw(b) }

// Close says goodbye as an editor does: shutdown, exit, hang up. The server's end is the caller's to wait for.
func (e *Editor) Close(ctx context.Context) error {
	_, err := e.Request(ctx, "shutdown", nil)
	if err == nil {
		e.conn.notify("exit", nil)
	}
	e.HangUp()
	return err
}

// HangUp ends the connection without a word.
func (e *Editor) HangUp() {
	e.mu.Lock()
	for _, d := range e.docs {
		d.stop()
	}
	e.mu.Unlock()
	e.conn.finish()
	e.background.Wait()
}

// Wire gives every message so far in the order in which this end sent and received them.
func (e *Editor) Wire() []Wire {
	e.conn.mu.Lock()
	defer e.conn.mu.Unlock()
	return slices.Clone(e.conn.wire)
}

// Violations are what the server did that no server may: bytes that are no frame, edits that overlap or point nowhere,
// requests that this editor never said it serves.
func (e *Editor) Violations() []string {
	e.conn.mu.Lock()
	junk := slices.Clone(e.conn.junk)
	e.conn.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	return append(junk, e.violations...)
}

// Counts are how often an applyEdit came, came for a text that the editor had no more, and was not carried out.
func (e *Editor) Counts() (applies, stale, refused int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.applies, e.stale, e.refused
}

// Misplaced counts the edits that were carried out in a text that they were not made for.
func (e *Editor) Misplaced() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.misplaced
}

// Saved are the files that the server asked to have saved.
func (e *Editor) Saved() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.saved)
}

// Path is the absolute path of a file of the workspace.
func (e *Editor) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.o.Root, filepath.FromSlash(name))
}

// URI is the file URI of a file of the workspace.
func (e *Editor) URI(name string) string { return ToURI(e.Path(name)) }

// ToURI is the file URI of an absolute path.
func ToURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// FromURI is the path of a file URI, "" where it is none.
func FromURI(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

// Open opens a file as it stands on disk.
func (e *Editor) Open(name string) error {
	text, err := os.ReadFile(e.Path(name))
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.docs[e.URI(name)]; d != nil {
		d.openedForEdit = false // it was open for an edit already
		return nil
	}
	e.open(e.Path(name), string(text), false)
	return nil
}

// OpenUnsaved opens a file with text that is not on disk.
func (e *Editor) OpenUnsaved(name, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	onDisk, _ := os.ReadFile(e.Path(name)) // no file is an empty one here
	e.open(e.Path(name), text, false).onDisk = string(onDisk)
}

func (e *Editor) open(path, text string, lent bool) *document {
	d := &document{path: path, uri: ToURI(path), onDisk: text, openedForEdit: lent, version: 1}
	switch crlf := strings.Count(text, "\r\n"); {
	case e.o.Profile == Race:
		d.eol = "\n"
		if crlf > strings.Count(text, "\n")/2 {
			d.eol = "\r\n"
		}
	case e.o.Profile == Lying && crlf > 0 && crlf == strings.Count(text, "\n"):
		d.eol = "\r\n"
	}
	d.text = d.lines(text)
	d.told = d.text
	e.docs[d.uri] = d
	e.opened[d.uri]++
	e.see(d, Opened, nil)
	e.conn.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": d.uri, "languageId": strings.TrimPrefix(filepath.Ext(path), "."), "version": d.version, "text": d.text,
	}})
	return d
}

// lines gives text the one line end of the buffer, where it has one.
func (d *document) lines(text string) string {
	if d.eol == "" {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.ReplaceAll(text, "\n", d.eol)
}

// CloseFile closes a document; what was not saved is gone.
func (e *Editor) CloseFile(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, err := e.doc(name)
	if err == nil {
		e.close(d)
	}
	return err
}

func (e *Editor) close(d *document) {
	e.flush(d)
	d.stop()
	delete(e.docs, d.uri)
	e.see(d, Closed, nil)
	e.conn.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": d.uri}})
}

// Save formats, writes and tells, as editors do.
func (e *Editor) Save(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, err := e.doc(name)
	if err != nil {
		return err
	}
	d.inserting = false
	return e.save(d)
}

func (e *Editor) save(d *document) error {
	if e.o.Format != nil {
		if text := d.lines(e.o.Format(d.path, d.text)); text != d.text {
			e.change(d, Typed, []Splice{difference(d.text, text)})
		}
	}
	e.flush(d)
	if e.o.Full {
		return errors.New("no space left on device")
	}
	if err := os.WriteFile(d.path, []byte(d.text), 0o644); err != nil {
		return err
	}
	d.onDisk = d.text
	params := map[string]any{"textDocument": map[string]any{"uri": d.uri}}
	if e.saveText {
		params["text"] = d.text
	}
	e.conn.notify("textDocument/didSave", params)
	return nil
}

// Text is what a person would see in a file: the buffer where it is open, else the disk. ok is false where there is
// neither.
func (e *Editor) Text(name string) (text string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.docs[e.URI(name)]; d != nil {
		return d.text, true
	}
	b, err := os.ReadFile(e.Path(name))
	return string(b), err == nil
}

// Buffers gives the text of every open document by its path below the workspace.
func (e *Editor) Buffers() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string]string{}
	for _, d := range e.docs {
		rel, err := filepath.Rel(e.o.Root, d.path)
		if err != nil {
			rel = d.path
		}
		out[filepath.ToSlash(rel)] = d.text
	}
	return out
}

// Change lets the person change an open document: f gets the text and gives disjoint splices of it, none for no change.
// Nothing comes between the two.
func (e *Editor) Change(name string, f func(text string) []Splice) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, err := e.doc(name)
	if err != nil {
		return err
	}
	if splices := f(d.text); len(splices) > 0 {
		for i := range splices {
			splices[i].New = d.lines(splices[i].New)
		}
		if e.o.Insert {
			d.inserting = true
			d.stop()
		}
		e.change(d, Typed, splices)
	}
	return nil
}

// Reload reads a file again that somebody else has written, as editors do where nothing is unsaved.
func (e *Editor) Reload(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, err := e.doc(name)
	if err != nil || d.text != d.onDisk {
		return err
	}
	b, err := os.ReadFile(d.path)
	if err != nil {
		return err
	}
	if text := d.lines(string(b)); text != d.text {
		e.change(d, Typed, []Splice{difference(d.text, text)})
	}
	d.onDisk = d.text
	return nil
}

// Undo takes the latest change of an open document back, the person's or the agent's, as the editor's own undo does.
func (e *Editor) Undo(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, err := e.doc(name)
	if err != nil {
		return err
	}
	if len(d.undo) == 0 {
		return fmt.Errorf("%s: nothing to undo", name)
	}
	last := d.undo[len(d.undo)-1]
	rest := d.undo[:len(d.undo)-1]
	d.inserting = false
	e.change(d, Typed, last)
	d.undo = rest
	return nil
}

func (e *Editor) doc(name string) (*document, error) {
	if d := e.docs[e.URI(name)]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("%s is not open", name)
}

// change carries out disjoint splices of the present text as one step of the undo stack, the last one first so that
// none moves another; of several inserts at one place the earlier in the list comes first in the text.
func (e *Editor) change(d *document, deed Deed, splices []Splice) {
	if e.o.Forget {
		if d.was == nil {
			d.was = map[int32]string{}
		}
		d.was[d.version] = d.text
	}
	splices = slices.Clone(splices)
	slices.SortStableFunc(splices, func(a, b Splice) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	var inverse []Splice
	shift := 0
	for _, s := range splices {
		inverse = append(inverse, Splice{s.Start + shift, s.Start + shift + len(s.New), d.text[s.Start:s.End]})
		shift += len(s.New) - (s.End - s.Start)
	}
	d.undo = append(d.undo, inverse)
	for _, s := range slices.Backward(splices) {
		d.held = append(d.held, e.told(d.text, s))
		d.text = d.text[:s.Start] + s.New + d.text[s.End:]
		if e.o.Split {
			d.version++
			e.see(d, deed, []Splice{s})
			e.pass(d)
		}
	}
	if !e.o.Split {
		d.version++
		e.see(d, deed, splices)
		e.pass(d)
	}
}

func (e *Editor) see(d *document, deed Deed, splices []Splice) {
	if e.o.Seen != nil {
		e.o.Seen(Sight{Deed: deed, Path: d.path, Version: d.version, Text: d.text, Splices: splices})
	}
}

// told is a splice of a text as a didChange has it.
func (e *Editor) told(text string, s Splice) contentChange {
	if e.o.Widen {
		start, end := strings.LastIndexByte(text[:s.Start], '\n')+1, len(text)
		if n := strings.IndexAny(text[s.End:], "\r\n"); n >= 0 {
			end = s.End + n
		}
		s = Splice{start, end, text[start:s.Start] + s.New + text[s.End:end]}
	}
	return contentChange{&Range{e.o.Encoding.Position(text, s.Start), e.o.Encoding.Position(text, s.End)}, s.New}
}

// pass sends what is held, at once or when its time has come.
func (e *Editor) pass(d *document) {
	if e.o.Idle {
		d.stop()
	}
	if e.o.Hold == 0 || e.o.Insert && !d.inserting {
		e.send(d)
	} else if d.timer == nil {
		d.timer = time.AfterFunc(e.o.Hold, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			d.timer, d.inserting = nil, false
			if e.docs[d.uri] == d {
				e.send(d)
			}
		})
	}
}

// send sends what is held in one didChange, or has it wait for the next one, to be overtaken.
func (e *Editor) send(d *document) {
	if !d.inserting {
		d.stop()
	}
	changes := d.held
	d.held = nil
	if len(changes) == 0 {
		return
	}
	switch {
	case e.o.Whole:
		changes = []contentChange{{Text: d.text}}
	case e.o.Merge && e.o.Hold > 0:
		changes = []contentChange{e.told(d.told, difference(d.told, d.text))}
	}
	d.told = d.text
	if e.o.Seen != nil {
		var text strings.Builder
		for _, c := range changes {
			text.WriteString(c.Text)
		}
		e.o.Seen(Sight{Deed: Told, Path: d.path, Version: d.version, Text: text.String()})
	}
	n := didChange{versioned{d.uri, d.version}, changes}
	if e.o.Reorder && d.overtaken == nil && d.version%3 == 0 {
		d.overtaken = &n
		d.overtake = time.AfterFunc(50*time.Millisecond, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			if d.overtaken == &n {
				e.release(d)
			}
		})
		return
	}
	e.conn.notify("textDocument/didChange", n)
	e.release(d)
}

// release sends what waits to be overtaken.
func (e *Editor) release(d *document) {
	if d.overtaken != nil {
		e.conn.notify("textDocument/didChange", *d.overtaken)
		d.overtaken = nil
		d.overtake.Stop()
	}
}

// flush sends all that the server has not been told of.
func (e *Editor) flush(d *document) {
	e.send(d)
	e.release(d)
}

// Escape ends Insert mode, and sends what is held.
func (e *Editor) Escape() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range e.docs {
		d.inserting = false
	}
	e.flushAll()
}

func (e *Editor) flushAll() {
	for _, uri := range slices.Sorted(maps.Keys(e.docs)) {
		e.flush(e.docs[uri])
	}
}

func (d *document) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// difference is the one splice that leads from a to b: what they share at both ends is left out, whole characters and
// whole line ends only.
func difference(a, b string) Splice {
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	for pre > 0 && !(boundary(a, pre) && boundary(b, pre)) {
		pre--
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	for post > 0 && !(boundary(a, len(a)-post) && boundary(b, len(b)-post)) {
		post--
	}
	return Splice{pre, len(a) - post, b[pre : len(b)-post]}
}

// boundary says that a caret may stand at i: not inside a character and not inside CRLF.
func boundary(text string, i int) bool {
	if i == 0 || i == len(text) {
		return true
	}
	return utf8.RuneStart(text[i]) && !(text[i-1] == '\r' && text[i] == '\n')
}

// declares says that the editor calls itself made for Tandem.
func (o Options) declares() bool {
	all, _ := (&Editor{o: o}).capabilities().(map[string]any)
	have, _ := all["experimental"].(map[string]any)
	return have["tandem"] != nil
}
