package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/tools"
	"tandem/tools/run"
)

// record writes down what happens in a session, so that it can go on in another process. What it was told is kept when
// its methods return, or where they give a batch once that is written. A session is in the store from its first entry on.
type record struct {
	open   func() store.Store // nil where nothing is kept
	now    func() time.Time
	log    *slog.Logger
	failed func(error) // told of the first failure, and with nil once everything is written again

	commands commands

	saving  sync.Mutex  // one Save at a time, so that the last one holds the latest
	resave  *time.Timer // flushes where one has failed; under saving
	writing sync.Mutex  // one Append at a time, so that entries stay in their order
	// What could not be written is tried again with what comes, though not at once, and after a while. All are under writing.
	missed  []store.Entry
	retryAt time.Time
	again   *time.Timer // flushes

	mu      sync.Mutex
	meta    store.Session
	begun   bool
	failing bool              // the last try to write came to nothing
	unsaved bool              // what is known of the session besides its entries is not written
	broken  bool              // nothing is written any more
	saying  map[string]string // by call: what the model had said when it asked for it
	results map[string]string // by call of a turn: what a model reads of its result
	next    *batch            // what the next Append writes; nil for nothing
}

// batch are entries that are written at once, which takes about as long as to write one.
type batch struct {
	entries []store.Entry
	size    atomic.Int64 // bytes of their bodies
	written atomic.Bool  // or it will not be
}

// maxBlob is the size of the largest text of a file that is kept: a larger one would hold its call up.
const maxBlob = 1 << 20

// body is what an entry says beyond its fields.
type body struct {
	Message *model.Message `json:"message,omitempty"`
	// OfCall says that the text of Message follows what a model reads of its call's result.
	OfCall bool `json:"ofCall,omitempty"`

	Name      string           `json:"name,omitempty"`
	Arguments string           `json:"arguments,omitempty"`
	Tool      string           `json:"tool,omitempty"`
	Kind      tools.Kind       `json:"kind,omitempty"`
	Title     string           `json:"title,omitempty"`
	Phase     string           `json:"phase,omitempty"`
	Semantic  string           `json:"semantic,omitempty"`
	Locations []tools.Location `json:"locations,omitempty"`
	Result    *tools.Result    `json:"result,omitempty"`

	Path      string    `json:"path,omitempty"`
	Operation Operation `json:"operation,omitempty"`
	// Before and After are the hashes of texts, empty where there was no file.
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
	Allowed bool   `json:"allowed,omitempty"`

	Stop  StopReason   `json:"stop,omitempty"`
	Usage *model.Usage `json:"usage,omitempty"`

	// Intent is what a notice is about.
	Intent int64 `json:"intent,omitempty"`
}

func (r *record) entry(turn int, kind store.Kind, call, text string, b body) store.Entry {
	raw, err := json.Marshal(b)
	if err != nil && b.Result != nil { // a tool's value that is no JSON
		b.Result.Value = nil
		raw, err = json.Marshal(b)
	}
	if err != nil {
		r.log.Error("not to be written down", "kind", kind, "error", err)
	}
	return store.Entry{Time: r.now(), Turn: turn, Kind: kind, Call: call, Text: text, Body: raw}
}

// add writes entries, with those that wait and those that others add meanwhile.
func (r *record) add(entries ...store.Entry) {
	if r.open == nil || len(entries) == 0 {
		return
	}
	r.commit(r.join(entries))
}

// soon puts entries into the next batch, for its caller to commit; nil where nothing is kept.
func (r *record) soon(entries ...store.Entry) *batch {
	if r.open == nil || len(entries) == 0 {
		return nil
	}
	return r.join(entries)
}

// join puts entries into the next batch.
func (r *record) join(entries []store.Entry) *batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &batch{}
	}
	r.next.entries = append(r.next.entries, entries...)
	for _, e := range entries {
		r.next.size.Add(int64(len(e.Body)))
	}
	return r.next
}

// commit writes a batch, unless that was done while it waited for its turn.
func (r *record) commit(b *batch) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if b.written.Load() {
		return
	}
	defer b.written.Store(true)
	r.mu.Lock()
	r.next = nil // it was b: only one is not written
	r.mu.Unlock()
	r.write(b.entries, false)
}

const (
	// retry is how long after a failure the next try comes: each may take seconds.
	retry = 10 * time.Second
	// maxMissed is how much is kept to be written later; what is more ends the record, which must have no gaps.
	maxMissed = 16 << 20
)

// write writes entries after those that could not be written before. r.writing is held.
func (r *record) write(entries []store.Entry, now bool) {
	if len(r.missed) > 0 {
		entries = append(r.missed, entries...)
	}
	r.missed = nil
	r.mu.Lock()
	failing, broken, unsaved := r.failing, r.broken, r.unsaved
	r.mu.Unlock()
	if broken || len(entries) == 0 {
		return
	}
	if !failing || now || !r.now().Before(r.retryAt) {
		err := r.sound(func() error {
			err := r.begin()
			if err == nil {
				err = r.open().Append(r.meta.ID, entries...)
			}
			return err
		})
		var held *store.HeldError
		final := errors.Is(err, store.ErrUnknown) || errors.As(err, &held) // it is somebody else's, or nobody's
		if r.came(err, final); err == nil || final {
			if (failing || unsaved) && !final {
				r.set(func(*store.Session) {}) // it may have been changed meanwhile
			}
			return
		}
		r.retryAt = r.now().Add(retry)
	}
	size := 0
	for _, e := range entries {
		size += len(e.Body) + len(e.Text)
		for _, b := range e.Blobs {
			size += len(b.Data)
		}
	}
	if size > maxMissed {
		r.mu.Lock()
		r.broken = true
		r.mu.Unlock()
		r.log.Error("the session is not kept any more: too much could not be written")
		return
	}
	r.missed = entries
	if r.again == nil { // nothing else may come
		r.again = time.AfterFunc(retry, r.flush)
	} else {
		r.again.Reset(retry)
	}
}

// sound does something with the store. A fault of it is an error like others, also where nobody above would catch it.
func (r *record) sound(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("the store panicked", "panic", v, "stack", string(debug.Stack()))
			err = errors.New("there was a fault inside the store")
		}
	}()
	return do()
}

// pending writes what waits.
func (r *record) pending() {
	r.mu.Lock()
	b := r.next
	r.mu.Unlock()
	if b != nil {
		r.commit(b)
	}
}

// flush writes what waits, and what could not be written before.
func (r *record) flush() {
	r.pending()
	if r.open == nil {
		return
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	r.write(nil, true)
	r.mu.Lock()
	unsaved := r.unsaved
	r.mu.Unlock()
	if unsaved {
		r.set(func(*store.Session) {})
	}
}

// begin brings the session into the store.
func (r *record) begin() error {
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	begun, meta := r.begun, r.meta
	r.mu.Unlock()
	if begun {
		return nil
	}
	err := r.open().Save(meta)
	if err == nil {
		r.mu.Lock()
		r.begun = true
		r.mu.Unlock()
	}
	return err
}

// came says how writing went, and tells of it where that has changed. final is that no other try makes sense.
func (r *record) came(err error, final bool) {
	r.mu.Lock()
	changed := r.failing != (err != nil)
	r.failing, r.broken = err != nil, r.broken || final
	r.mu.Unlock()
	if changed {
		r.failed(err)
	}
}

// set changes what is known of the session without its entries.
func (r *record) set(change func(*store.Session)) {
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	change(&r.meta)
	save, meta := r.begun && !r.broken, r.meta
	r.mu.Unlock()
	if !save {
		return
	}
	err := r.sound(func() error { return r.open().Save(meta) })
	var held *store.HeldError
	again := err != nil && !errors.As(err, &held)
	r.mu.Lock()
	r.unsaved = again
	r.mu.Unlock()
	if err != nil {
		r.log.Warn("what is known of the session could not be written", "error", err)
	}
	switch {
	case !again:
	case r.resave == nil: // nothing else may come
		r.resave = time.AfterFunc(retry, r.flush)
	default:
		r.resave.Reset(retry)
	}
}

// resume begins the record of s, or goes on with it.
func (s *Session) resume() {
	o := s.o
	s.record = &record{
		open: o.Store, now: o.Now, log: o.Log, saying: map[string]string{}, results: map[string]string{}, commands: commands{files: o.Files},
		meta: store.Session{ID: o.ID, Cwd: o.Cwd, More: o.More, CacheKey: s.cacheKey},
		failed: func(err error) {
			if err == nil {
				o.Log.Info("the session is kept again")
				s.teller.mention(Event{Notice: "The session is kept again, with what happened meanwhile."})
				return
			}
			o.Log.Error("the session is not kept", "error", err)
			s.teller.mention(Event{Notice: fmt.Sprintf("What happens from here on is not kept: %v.", err)})
		},
	}
	s.teller = newTeller(s.record, func(e Event) { o.Client.Update(o.ID, e) })
	if p := o.Past; p != nil {
		s.history, s.turns, s.cacheKey, s.usage = slices.Clone(p.history), p.turns, p.CacheKey, p.usage
		maps.Copy(s.ids, p.ids)
		s.record.meta, s.record.begun = p.Session, true
	}
}

// Title is what a person knows the session by; "" before the first prompt.
func (s *Session) Title() string { return s.record.title() }

// Busy says whether a prompt is being answered.
func (s *Session) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil
}

// Kept says whether there is anything of the session in its Store.
func (s *Session) Kept() bool {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return s.record.begun
}

// Written returns when what has happened so far is written down, as far as that can be done, and told.
func (s *Session) Written() {
	s.record.pending()
	s.teller.drain()
}

// Tell tells the client of something besides what the session does itself, behind what was told before.
func (s *Session) Tell(e Event) { s.teller.mention(e) }

// Rename gives the session another title.
func (s *Session) Rename(title string) { s.record.set(func(r *store.Session) { r.Title = title }) }

func (r *record) title() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.meta.Title
}

// release lets another process have the session.
func (r *record) release() {
	r.flush()
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	begun := r.begun
	r.begun, r.broken = false, true
	r.mu.Unlock()
	if !begun {
		return
	}
	if err := r.open().Release(r.meta.ID); err != nil && !errors.Is(err, store.ErrUnknown) {
		r.log.Warn("the session was not let go", "error", err)
	}
}

// said writes messages down. shown is what a person sees of the first.
func (r *record) said(turn int, shown string, messages ...model.Message) *batch {
	return r.soon(r.messages(turn, shown, messages)...)
}

func (r *record) messages(turn int, shown string, messages []model.Message) []store.Entry {
	if r.open == nil {
		return nil
	}
	entries := make([]store.Entry, len(messages))
	for i, m := range messages {
		b := body{Message: &m}
		if m.Role == model.Tool {
			r.mu.Lock()
			known, ok := r.results[m.CallID]
			delete(r.results, m.CallID)
			r.mu.Unlock()
			if rest, same := strings.CutPrefix(m.Text, known); ok && same {
				m.Text, b.OfCall = rest, true
			}
		}
		entries[i] = r.entry(turn, store.Message, m.CallID, shown, b)
		shown = ""
	}
	return entries
}

// say tells what a model has said before a call.
func (r *record) say(call, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text != "" {
		r.saying[call] = text
	}
}

// saw writes down how a call goes on. The client is to be told of it once the batch is written.
func (r *record) saw(turn int, e run.Event) *batch {
	if r.open == nil {
		return nil
	}
	id := e.Call.ID
	b := body{Tool: e.Tool, Kind: e.Kind, Title: e.Title}
	switch e.State {
	case run.Queued:
		r.mu.Lock()
		said := r.saying[id]
		delete(r.saying, id)
		r.mu.Unlock()
		b.Name, b.Arguments = e.Call.Name, string(e.Call.Arguments)
		return r.soon(r.entry(turn, store.Call, id, said, b))
	case run.Executing:
		if e.Phase == "use" && e.Plan != nil && !e.Plan.Kind.ReadOnly() {
			b.Locations = places(e.Plan)
			r.add(r.entry(turn, store.Running, id, "", b))
			if e.Plan.Command != "" {
				r.commands.begins(id)
			}
		}
	case run.Completed:
		if e.Result == nil {
			return nil
		}
		result := *e.Result
		result.Landed, result.Meta, result.Diffs = nil, tools.Meta{}, slices.Clone(result.Diffs)
		for i := range result.Diffs {
			result.Diffs[i].Hunks = nil // they are in its Unified
		}
		b.Phase, b.Result = e.Phase, &result
		if e.Plan != nil {
			b.Locations, b.Semantic = e.Plan.Locations, e.Plan.Semantic
		}
		entries := []store.Entry{r.entry(turn, store.Result, id, "", b)}
		written := r.soon(append(entries, r.changes(turn, e)...)...)
		if turn > 0 { // a message of it follows
			r.mu.Lock()
			r.results[id] = loop.ResultMessage(e.Call, *e.Result).Text
			r.mu.Unlock()
		}
		return written
	}
	return nil
}

// places are the files that a plan is about.
func places(p *tools.Plan) []tools.Location {
	if p.Change == nil {
		return p.Locations
	}
	var out []tools.Location
	for _, f := range p.Change.Files {
		out = append(out, tools.Location{Path: f.Path})
	}
	return out
}

// changes are the entries of what a call changed.
func (r *record) changes(turn int, e run.Event) (out []store.Entry) {
	if l := e.Result.Landed; l != nil && e.Plan != nil && e.Plan.Change != nil {
		for _, f := range l.Files {
			if !f.Applied || f.Already {
				continue
			}
			deleted, op := deletes(e.Plan.Change.Files, f.Path), OpEdit
			switch {
			case f.Created:
				op = OpCreate
			case deleted:
				op = OpDelete
			}
			out = append(out, r.landedAs(turn, e.Call.ID, body{Operation: op, Allowed: e.Plan.Change.Allowed}, f, deleted))
			r.commands.saw(f.Path)
		}
	}
	for _, c := range r.commands.ended(e.Call.ID) {
		out = append(out, r.change(turn, e.Call.ID, body{Operation: OpShell, Path: c.path}, c.before, c.after))
	}
	return out
}

// ended writes down how a turn ended.
func (r *record) ended(turn int, stop StopReason, usage model.Usage, why error) {
	text := ""
	if why != nil {
		text = why.Error()
	}
	r.add(r.entry(turn, store.End, "", text, body{Stop: stop, Usage: &usage}))
}

// Past is a session as it was written down.
type Past struct {
	store.Session
	history []model.Message
	events  []Event
	entries []store.Entry
	turns   int
	usage   model.Usage
	ids     map[string]bool
}

// Events are what its client was told of it, without what was news only for a moment.
func (p *Past) Events() []Event { return p.events }

// Turns counts them.
func (p *Past) Turns() int { return p.turns }

// ReadPast reads a session, whoever has it. Errors are those of the store.
func ReadPast(st store.Store, id string) (*Past, error) {
	s, entries, err := st.Entries(id)
	if err != nil {
		return nil, err
	}
	return newPast(st, s, entries)
}

// TakePast takes hold of a session, to go on with it by Options.Past. A turn that the end of its process has cut short
// is brought to an end first: calls that may have been carried out are UNKNOWN, with what their files say now, and none
// is tried again. may is asked before anything is done.
func TakePast(
	ctx context.Context, st store.Store, id string, files filetime.Files, now func() time.Time, may func(store.Session) error,
) (*Past, error) {
	s, entries, err := st.Take(id)
	if err != nil {
		return nil, err
	}
	if err := may(s); err != nil {
		return nil, errors.Join(err, st.Release(id))
	}
	m := mender{
		r:    &record{now: now, log: slog.New(slog.DiscardHandler)},
		now:  func(path string) string { return says(ctx, files, path) },
		read: func(path string) (filetime.Snapshot, error) { return files.Read(ctx, path) },
		blob: st.Blob,
	}
	var more []store.Entry
	if m.judged, err = st.Judged(id); err == nil {
		more, err = m.mend(entries)
	}
	if err == nil && len(more) > 0 {
		err = st.Append(id, more...)
	}
	var p *Past
	if err == nil {
		p, err = newPast(st, s, append(entries, more...))
	}
	if err != nil {
		return nil, errors.Join(err, st.Release(id))
	}
	return p, nil
}

// says is what a file says, for a model; "" for a folder.
func says(ctx context.Context, files filetime.Files, path string) string {
	const most = 8 << 10
	snap, err := files.Read(ctx, path)
	var refusal *filetime.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == filetime.IsDirectory: // where a command ran, or something was looked for
		return ""
	case err != nil:
		return fmt.Sprintf("%s cannot be read now: %v", path, err)
	case !snap.Exists:
		return path + " is not there now."
	case snap.Text.Len() > most:
		return fmt.Sprintf("%s says now (its first %d bytes):\n%s", path, most, strings.ToValidUTF8(snap.Text.Slice(0, most), ""))
	}
	return fmt.Sprintf("%s says now:\n%s", path, snap.Text)
}

// interrupted ends a turn that its process did not live to end.
const interrupted StopReason = "interrupted"

// mender brings what was cut short to an end.
type mender struct {
	r      *record
	now    func(path string) string
	read   func(path string) (filetime.Snapshot, error)
	blob   func(hash string) (string, error)
	judged []store.Judged
}

// mend gives the entries that are missing at the end.
func (m mender) mend(entries []store.Entry) ([]store.Entry, error) {
	past, err := read(entries)
	if err != nil {
		return nil, err
	}
	notices := m.notices(past)
	var more []store.Entry
	own := model.Message{Role: model.Assistant}
	answers := []model.Message{}
	for _, c := range past.order {
		if c.result == nil {
			more = append(more, m.landed(c)...)
			c.result = m.unfinished(c)
			c.phase = "error"
			more = append(more, m.r.entry(c.turn, store.Result, c.ID, "", body{
				Tool: c.tool, Kind: c.kind, Title: c.title, Phase: c.phase, Result: c.result,
			}))
		}
		if c.turn == 0 || c.turn != past.open || past.named[c.ID] {
			continue
		}
		own.Text = c.said
		own.Calls = append(own.Calls, model.Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)})
		answers = append(answers, loop.ResultMessage(c.Call, *c.result))
	}
	if past.open == 0 {
		return append(more, notices...), nil
	}
	if len(own.Calls) > 0 {
		more = append(more, m.r.entry(past.open, store.Message, "", own.Text, body{Message: &own}))
		for i := range answers {
			more = append(more, m.r.entry(past.open, store.Message, answers[i].CallID, "", body{Message: &answers[i]}))
		}
	}
	for _, w := range past.steered {
		more = append(more, m.r.entry(past.open, store.Message, "", w.shown, body{Message: &w.said}))
	}
	return append(append(more, notices...),
		m.r.entry(past.open, store.Message, "", "", body{Message: &model.Message{Role: model.Assistant, Text: closing(interrupted)}}),
		m.r.entry(past.open, store.End, "", "The program ended during this turn; what was running was not tried again.",
			body{Stop: interrupted}),
	), nil
}

// landed are the changes of a call that were carried out before its process could write them down, as far as the files
// still say what it made of them. What a buffer says is not told by its bytes. What was taken back is no change.
func (m mender) landed(c *pastCall) (out []store.Entry) {
	of := m.of(c.ID)
	for _, path := range paths(of) {
		if slices.ContainsFunc(c.changes, func(e store.Entry) bool { return e.Call == c.ID && pathOf(e) == path }) {
			continue
		}
		now, err := m.read(path)
		first, how := fate(of, path, now, err)
		if how != disk.Landed {
			continue
		}
		op, was := OpEdit, filetime.Snapshot{Exists: first != ""}
		if was.Exists {
			var raw string
			if raw, err = m.blob(first); err == nil {
				was.Text, err = filetime.Decode([]byte(raw))
			}
		}
		switch {
		case err != nil:
			continue
		case !was.Exists:
			op = OpCreate
		case !now.Exists:
			op = OpDelete
		}
		out = append(out, m.r.change(c.turn, c.ID, body{Operation: op, Path: path}, was, now))
	}
	return out
}

// of gives the intents of a call.
func (m mender) of(call string) (out []store.Judged) {
	for _, j := range m.judged {
		if j.Call == call {
			out = append(out, j)
		}
	}
	return out
}

// paths are the files that intents are about.
func paths(of []store.Judged) (out []string) {
	for _, j := range of {
		for _, f := range j.Files {
			if !slices.Contains(out, f.Path) {
				out = append(out, f.Path)
			}
		}
	}
	return out
}

// fate is what became of a file that says now, by all that the intents of a call did to it: a change may have been taken back.
// first is the hash of what it said before.
func fate(of []store.Judged, path string, now filetime.Snapshot, err error) (first string, how disk.Outcome) {
	if err != nil {
		return "", disk.Unknown
	}
	says := func(hash string) bool {
		return now.Exists && filetime.Says(now.Text, hash) || !now.Exists && hash == ""
	}
	how = disk.Foreign
	before := false
	for _, j := range slices.Backward(of) {
		for _, f := range slices.Backward(j.Files) {
			switch {
			case f.Path != path:
			case f.Buffer || f.Op == disk.Move || f.BeforeHash == f.AfterHash:
				return "", disk.Unknown
			case j.Outcome != disk.NotLanded && how == disk.Foreign && says(f.AfterHash):
				first, how = f.BeforeHash, disk.Landed
			case j.Outcome != disk.NotLanded && how == disk.Landed && f.AfterHash == first:
				first = f.BeforeHash
			default:
				before = before || says(f.BeforeHash)
			}
		}
	}
	if how == disk.Landed && says(first) || how == disk.Foreign && before {
		how = disk.NotLanded
	}
	return first, how
}

// outcomes is what became of the intents of a call, file by file where it was cut short; "" where there are none. sure is
// that this is certain.
func (m mender) outcomes(of []store.Judged) (text string, sure bool) {
	if len(of) == 1 {
		all := of[0].Outcome == disk.Landed || of[0].Outcome == disk.NotLanded
		if all || len(of[0].Files) == 1 && of[0].Outcome != disk.Partly {
			return outcomeOf(of[0]), all
		}
	}
	files := map[disk.Outcome][]string{}
	for _, path := range paths(of) {
		now, err := m.read(path)
		_, how := fate(of, path, now, err)
		files[how] = append(files[how], path)
	}
	var parts []string
	for _, k := range []struct {
		how   disk.Outcome
		words string
	}{
		{disk.Landed, "it is in %s"},
		{disk.NotLanded, "it is not in %s"},
		{disk.Foreign, "somebody has changed %s since"},
		{disk.Unknown, "whether it is in %s cannot be told"},
	} {
		if paths := files[k.how]; len(paths) > 0 {
			parts = append(parts, fmt.Sprintf(k.words, strings.Join(paths, ", ")))
		}
	}
	if len(parts) == 0 {
		return "", false
	}
	text = strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:], len(files[disk.Foreign])+len(files[disk.Unknown]) == 0
}

func pathOf(e store.Entry) string {
	var b body
	_ = json.Unmarshal(e.Body, &b) // it was read before
	return b.Path
}

// unfinished is the result of a call whose process ended before it did.
func (m mender) unfinished(c *pastCall) *tools.Result {
	if !c.running {
		r := tools.Fail(filetime.Cancelled, "interrupted",
			"The program ended before this call was carried out: nothing was changed. It was not tried again.")
		return &r
	}
	said, sure := m.outcomes(m.of(c.ID))
	text := "The program ended while this call was running"
	if sure {
		text += ", and it was not tried again."
	} else {
		text += ": whether it took effect is not known, and it was not tried again. Look at what is there before you go on."
	}
	if said != "" {
		text += " " + said
	}
	const most = 4
	for i, l := range c.locations {
		if i == most {
			break
		}
		if said := m.now(l.Path); said != "" {
			text += "\n\n" + said
		}
	}
	r := tools.Fail(filetime.Unknown, "interrupted", "%s", text)
	return &r
}

// notices tell a person of changes that were on their way: those of calls that have no result, and others, such as an
// undo, that are not simply done or not done.
func (m mender) notices(past *reading) (out []store.Entry) {
	told := map[string]bool{}
	for _, j := range m.judged {
		c, sure := past.calls[j.Call], j.Outcome == disk.Landed || j.Outcome == disk.NotLanded
		if c != nil && c.result != nil || c == nil && sure || slices.Contains(past.noticed, j.ID) || c != nil && told[j.Call] {
			continue
		}
		of := []store.Judged{j}
		if c != nil {
			of, told[j.Call] = m.of(j.Call), true
		}
		said, _ := m.outcomes(of)
		text := fmt.Sprintf("The program ended while a change was on its way (%s). %s", j.Tool, said)
		out = append(out, m.r.entry(j.Turn, store.Notice, "", text, body{Intent: j.ID}))
	}
	return out
}

// outcomeOf is what became of an intent all of whose files have the same outcome, for a model and for a person.
func outcomeOf(j store.Judged) string {
	var paths []string
	for _, f := range j.Files {
		paths = append(paths, f.Path)
	}
	files := strings.Join(paths, ", ")
	switch j.Outcome {
	case disk.Landed:
		return fmt.Sprintf("It was carried out in %s before the program ended.", files)
	case disk.NotLanded:
		return fmt.Sprintf("Nothing of it is in %s.", files)
	case disk.Foreign:
		return fmt.Sprintf("Somebody has changed %s since then.", files)
	}
	return fmt.Sprintf("Whether it is in %s cannot be told.", files)
}

// closing is said for a model whose turn ended without words of its own.
func closing(stop StopReason) string { return fmt.Sprintf("(The turn ended: %s.)", stop) }

// pastCall is a call as it was written down.
type pastCall struct {
	run.Call
	turn      int
	began     time.Time
	said      string
	tool      string
	kind      tools.Kind
	title     string
	semantic  string
	locations []tools.Location
	running   bool
	phase     string
	result    *tools.Result
	changes   []store.Entry
	ended     time.Time
	told      bool
}

// reading is what entries say of calls and turns.
type reading struct {
	bodies []body
	calls  map[string]*pastCall
	order  []*pastCall
	named  map[string]bool // the calls that messages ask for
	// noticed are the intents that notices are about.
	noticed []int64
	open    int // the turn that has not ended, 0 for none
	// prompted is the last turn whose prompt is there, steered what was said to it and has not joined the conversation.
	prompted int
	steered  []steered
	turns    int
}

func read(entries []store.Entry) (*reading, error) {
	p := &reading{bodies: make([]body, len(entries)), calls: map[string]*pastCall{}, named: map[string]bool{}}
	for i, e := range entries {
		if e.Kind == store.Decision { // what it says is not of this kind
			continue
		}
		b := &p.bodies[i]
		if err := json.Unmarshal(e.Body, b); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		if e.Turn > p.turns {
			p.turns, p.open = e.Turn, e.Turn
		}
		c := p.calls[e.Call]
		switch e.Kind {
		case store.Message, store.Steer:
			if b.Message == nil {
				return nil, fmt.Errorf("%w: a message says nothing", store.ErrDamaged)
			}
			if b.OfCall {
				text := "[UNKNOWN] The result of this call was not kept."
				if c != nil && c.result != nil {
					text = loop.ResultMessage(c.Call, *c.result).Text
				}
				b.Message.Text = text + b.Message.Text
			}
			if e.Kind == store.Steer {
				p.steered = append(p.steered, steered{*b.Message, e.Text})
				continue
			}
			if b.Message.Role == model.User && e.Text != "" {
				if p.prompted != e.Turn {
					p.prompted = e.Turn
				} else if len(p.steered) > 0 {
					p.steered = p.steered[1:] // they join in their order
				}
			}
			for _, call := range b.Message.Calls {
				p.named[call.ID] = true
			}
		case store.Call:
			c = &pastCall{
				Call: run.Call{ID: e.Call, Name: b.Name, Arguments: json.RawMessage(b.Arguments)}, turn: e.Turn, began: e.Time,
				said: e.Text, tool: b.Tool, kind: b.Kind, title: b.Title,
			}
			p.calls[e.Call] = c
			p.order = append(p.order, c)
		case store.Running:
			if c != nil {
				c.running, c.locations = true, b.Locations
			}
		case store.Result:
			if c != nil {
				c.result, c.phase, c.ended, c.title, c.kind = b.Result, b.Phase, e.Time, b.Title, b.Kind
				c.locations, c.semantic = b.Locations, b.Semantic
			}
		case store.Change:
			if c != nil {
				c.changes = append(c.changes, e)
			}
		case store.Notice:
			p.noticed = append(p.noticed, b.Intent)
		case store.End:
			p.open = 0
		}
	}
	return p, nil
}

// newPast puts together what happened.
func newPast(st store.Store, s store.Session, entries []store.Entry) (*Past, error) {
	r, err := read(entries)
	if err != nil {
		return nil, err
	}
	p := &Past{Session: s, entries: entries, turns: r.turns, ids: map[string]bool{}}
	for id := range r.calls {
		p.ids[id] = true
	}
	var last *Event // what was used
	answers := map[string]model.Message{}
	for i := range entries {
		if m := r.bodies[i].Message; m != nil && m.Role == model.Tool {
			answers[m.CallID] = *m
		}
	}
	for i, e := range entries {
		b := r.bodies[i]
		switch e.Kind {
		case store.Message:
			p.history = append(p.history, *b.Message)
			p.message(e, *b.Message)
			for _, c := range b.Message.Calls {
				p.ids[c.ID] = true
				call := r.calls[c.ID]
				if call == nil { // it was cut off before it was one
					call = &pastCall{
						Call: run.Call{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)}, turn: e.Turn, began: e.Time,
						tool: c.Name, kind: tools.Other, title: c.Name, ended: e.Time, phase: "error",
					}
					if m, ok := answers[c.ID]; ok {
						result := loop.CutOff()
						result.Data = m.Text
						call.result = &result
					}
				}
				p.call(st, call)
			}
		case store.Call:
			if !r.named[e.Call] {
				p.call(st, r.calls[e.Call])
			}
		case store.End, store.Notice:
			if u := b.Usage; u != nil && *u != (model.Usage{}) {
				p.usage = p.usage.Add(*u)
				last = &Event{Turn: e.Turn, Usage: u, Session: p.usage}
			}
			if e.Text != "" {
				p.events = append(p.events, Event{Turn: e.Turn, Notice: e.Text})
			}
		}
	}
	if last != nil {
		p.events = append(p.events, *last)
	}
	return p, nil
}

// message adds what a person saw of a message.
func (p *Past) message(e store.Entry, m model.Message) {
	switch m.Role {
	case model.User:
		if e.Text != "" {
			p.events = append(p.events, Event{Turn: e.Turn, User: e.Text})
		}
	case model.Assistant:
		for _, t := range m.Thoughts {
			if t.Text != "" {
				p.events = append(p.events, Event{Turn: e.Turn, Thought: t.Text})
			}
		}
		if e.Text != "" {
			p.events = append(p.events, Event{Turn: e.Turn, Text: e.Text})
		}
	}
}

// call adds what a person saw of a call.
func (p *Past) call(st store.Store, c *pastCall) {
	if c.told {
		return
	}
	c.told = true
	event := run.Event{
		Call: c.Call, Tool: c.tool, Kind: c.kind, Title: c.title, State: run.Queued, Phase: "use", At: c.began,
		Plan: &tools.Plan{Title: c.title, Kind: c.kind, Semantic: c.semantic, Locations: c.locations},
	}
	tell := func(s run.State, phase string, at time.Time) {
		e := event
		e.State, e.Phase, e.At = s, phase, at
		p.events = append(p.events, Event{Turn: c.turn, At: max(0, at.Sub(c.began)), Call: &e})
	}
	tell(run.Queued, "use", c.began)
	if c.result == nil {
		if c.running {
			tell(run.Executing, "use", c.began)
		}
		return
	}
	result := *c.result
	result.Landed = landed(st, c.changes)
	event.Result = &result
	tell(run.Completed, c.phase, c.ended)
	tell(run.Yielded, c.phase, c.ended)
}

// landed puts together what a call changed; nil where it was nothing, or the texts are not kept any more.
func landed(st store.Store, changes []store.Entry) *filetime.Landed {
	var out filetime.Landed
	for _, e := range changes {
		var b body
		if json.Unmarshal(e.Body, &b) != nil || len(e.Blobs) != 2 {
			return nil
		}
		if b.Operation == OpShell { // it was not told with the call
			continue
		}
		f := filetime.LandedFile{Path: b.Path, Created: b.Operation == OpCreate, Applied: true}
		before, err1 := st.Blob(e.Blobs[0].Hash)
		after, err2 := st.Blob(e.Blobs[1].Hash)
		if err1 != nil || err2 != nil {
			return nil
		}
		f.Before, f.After = f.Before.Replace(0, 0, before), f.After.Replace(0, 0, after)
		out.Files = append(out.Files, f)
	}
	if len(out.Files) == 0 {
		return nil
	}
	return &out
}
