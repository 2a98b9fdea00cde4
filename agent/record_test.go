package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/model"
	"tandem/agent/prompt"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/filetimetest"
	texts "tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/gate"
)

// memory gives a store in memory, which is closed with the test.
func memory(t *testing.T) store.Store {
	st := store.NewMemory(store.Quota, time.Now)
	t.Cleanup(func() { _ = st.Close() }) // nothing of it is kept
	return st
}

// stores gives each kind of store.
func stores(t *testing.T) map[string]store.Store {
	t.Helper()
	db, err := store.Open(filepath.Join(t.TempDir(), "sessions.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the folder goes with it
	return map[string]store.Store{"memory": memory(t), "database": db}
}

func TestGoOnAfterTheEndOfTheProcess(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			inside, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			calls := 0
			do := func(name string, kind tools.Kind, act tools.Act) tools.Tool {
				return tool(name, kind, tools.Alone, act, func(ctx context.Context, _ *tools.Env, in note) (tools.Result, error) {
					if calls++; in.Text == "block" {
						close(inside)
						<-release
					}
					return saw(in), nil
				})
			}
			kit := []tools.Tool{do("look", tools.Read, tools.Reads), do("change", tools.Edit, tools.Edits)}
			answers, asked := 0, make(chan struct{})
			plays := play(t, "think Hm.\nsay Looking.\ncall look {\"text\":\"one\"}\n\n"+
				"say Now.\ncall change {\"text\":\"two\"}\ncall change {\"text\":\"block\"}\ncall change {\"text\":\"never\"}\n")
			s, _ := newKeptSession(t, st, nil, fake(func(ctx context.Context, r model.Request, on on) (model.Response, error) {
				resp, err := plays.Stream(ctx, r, on)
				if answers++; answers == 2 {
					close(asked)
				}
				return resp, err
			}), kit...)
			turn := begin(t, s, Input{Blocks: []prompt.Block{{Type: "text", Text: "Go."}}, Shown: "Go!", Title: "Going"})
			go turn.Run(context.Background())
			<-inside
			<-asked
			keptCalls(t, st, 4) // what has not begun is written down a moment later
			// What another process would find: nothing of this one is told of its end.
			past, err := TakePast(t.Context(), st, "kept", s.o.Workspace, time.Now, func(store.Session) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if past.Title != "Going" || past.Turns() != 1 || past.Mode != "auto" {
				t.Errorf("%+v", past.Session)
			}
			before := calls
			var got strings.Builder
			next, _ := newKeptSession(t, st, past, fake(func(_ context.Context, r model.Request, on on) (model.Response, error) {
				for _, m := range r.Messages[1:] {
					ids := []string{m.CallID}
					for _, c := range m.Calls {
						ids = append(ids, c.Name+" "+c.Arguments)
					}
					text, _, _ := strings.Cut(m.Text, ":")
					fmt.Fprintln(&got, strings.TrimSpace(fmt.Sprint(m.Role, " ", text, " ", strings.Join(ids, " "))))
				}
				on(model.Delta{Text: "Well."})
				return model.Response{Stop: model.StopEnd}, nil
			}), kit...)
			r, err := next.Prompt(t.Context(), Input{Blocks: []prompt.Block{{Type: "text", Text: "And?"}}})
			if err != nil || r.Stop != EndTurn || r.Turn != 2 {
				t.Errorf("%+v %v", r, err)
			}
			if calls != before {
				t.Errorf("%d calls were made again", calls-before)
			}
			want := `user Go.
assistant Looking.  look {"text":"one"}
tool saw one call_1_1
assistant Now.  change {"text":"two"} change {"text":"block"} change {"text":"never"}
tool saw two call_2_1
tool [UNKNOWN] The program ended while this call was running call_2_2
tool [CANCELLED] The program ended before this call was carried out call_2_3
assistant (The turn ended
user And?
`
			if d := cmp.Diff(want, got.String()); d != "" {
				t.Error(d)
			}
			again, err := ReadPast(st, "kept")
			if err != nil {
				t.Fatal(err)
			}
			md := again.Markdown()
			for _, line := range []string{
				"# Going\n", "## Turn 1\n\n> Go!\n", "\nNow.\n", "- ✗ change (Tandem exited while this was running.", "_The program ended during this turn",
				"## Turn 2\n\n> And?\n", "\nWell.\n",
			} {
				if strings.Count(md, line) != 1 {
					t.Errorf("%q is not there once in\n%s", line, md)
				}
			}
		})
	}
}

// keptCalls waits until so many calls stand in the store.
func keptCalls(t *testing.T, st store.Store, calls int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, entries, err := st.Entries("kept", store.Call)
		if err == nil && len(entries) == calls {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d calls are written down, not %d: %v", len(entries), calls, err)
		}
	}
}

func newKeptSession(t *testing.T, st store.Store, past *Past, m model.Model, kit ...tools.Tool) (*Session, *client) {
	t.Helper()
	c := &client{}
	return session(t, c, opener{"main": m}, func(o *setup) {
		o.ID, o.Mode, o.Past, o.Keeping.Store = "kept", gate.ModeAuto, past, func() store.Store { return st }
		o.Tools = offering(kit...)
	}), c
}

// broken is a store that cannot write any more.
type broken struct{ store.Store }

func (broken) Append(string, ...store.Entry) error { return errors.New("the disk is full") }

func TestNotKept(t *testing.T) {
	st := broken{memory(t)}
	s, c := newKeptSession(t, st, nil, play(t, "say One.\n\nsay Two.\n"))
	for range 2 {
		if r, err := s.Prompt(t.Context(), Input{Blocks: []prompt.Block{{Type: "text", Text: "Go."}}}); err != nil || r.Stop != EndTurn {
			t.Errorf("%+v %v", r, err)
		}
	}
	if got := c.transcript(); strings.Count(got, "notice The session cannot be saved from here on: the disk is full.") != 1 {
		t.Errorf("told once:\n%s", got)
	}
	s.Close()
}

// full is a store that cannot write for a while.
type full struct {
	store.Store
	is atomic.Bool
}

func (f *full) Append(id string, entries ...store.Entry) error {
	if f.is.Load() {
		return errors.New("the disk is full")
	}
	return f.Store.Append(id, entries...)
}

// What could not be written is written once that is possible again, in its order.
func TestKeptAgain(t *testing.T) {
	st := &full{Store: memory(t)}
	s, c := newKeptSession(t, st, nil, play(t, "say One.\n\nsay Two.\n\nsay Three.\n"))
	for i := range 3 {
		st.is.Store(i == 1)
		if r, err := s.Prompt(t.Context(), Input{Blocks: []prompt.Block{{Type: "text", Text: "Go."}}}); err != nil || r.Stop != EndTurn {
			t.Errorf("%+v %v", r, err)
		}
	}
	s.Close()
	past, err := ReadPast(st, "kept")
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range past.history {
		said = append(said, m.Text)
	}
	if got := strings.Join(said, " "); got != "Go. One. Go. Two. Go. Three." {
		t.Error(got)
	}
	if got := c.transcript(); strings.Count(got, "cannot be saved from here on: the disk is full.") != 1 || strings.Count(got, "saved again") != 1 {
		t.Errorf("told once each:\n%s", got)
	}
}

// Also where nothing more happens.
func TestKeptAgainByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &full{Store: memory(t)}
		s, c := newKeptSession(t, st, nil, play(t, "say One.\n"))
		st.is.Store(true)
		if r, err := s.Prompt(t.Context(), Input{Blocks: []prompt.Block{{Type: "text", Text: "Go."}}}); err != nil || r.Stop != EndTurn {
			t.Errorf("%+v %v", r, err)
		}
		time.Sleep(3 * retry)
		st.is.Store(false)
		time.Sleep(retry)
		synctest.Wait()
		if got := c.transcript(); strings.Count(got, "saved again") != 1 {
			t.Errorf("not told:\n%s", got)
		}
		s.Close()
	})
}

// waited is a store to which somebody else writes for a while, so that a session cannot be saved.
type waited struct {
	store.Store
	is atomic.Bool
}

func (w *waited) Save(s store.Session) error {
	if w.is.Load() {
		return errors.New("another process is writing to it")
	}
	return w.Store.Save(s)
}

// What is set while the store cannot be written is written with what comes next, at the end or after a while.
func TestSetWhileNotToBeWritten(t *testing.T) {
	for _, next := range []string{"a prompt", "the end", "time"} {
		synctest.Test(t, func(t *testing.T) {
			st := &waited{Store: memory(t)}
			s, _ := newKeptSession(t, st, nil, play(t, "say One.\n\nsay Two.\n"))
			prompt := func() {
				t.Helper()
				r, err := s.Prompt(t.Context(), Input{Blocks: []prompt.Block{{Type: "text", Text: "Go."}}, Title: "Going"})
				if err != nil || r.Stop != EndTurn {
					t.Errorf("%+v %v", r, err)
				}
			}
			prompt()
			st.is.Store(true)
			s.Rename("Gone")
			st.is.Store(false)
			switch next {
			case "a prompt":
				prompt()
			case "the end":
				s.Close()
			case "time":
				time.Sleep(retry)
				synctest.Wait()
			}
			if k, _, err := st.Entries("kept"); err != nil || k.Title != "Gone" {
				t.Errorf("after %s the title is %q, %v", next, k.Title, err)
			}
			s.Close()
		})
	}
}

// judging is a store that knows what became of a change which a process left behind.
type judging struct {
	store.Store
	judged []store.RecoveredIntent
}

func (j judging) RecoveredIntents(string) ([]store.RecoveredIntent, error) { return j.judged, nil }

func (j judging) Blob(hash string) (string, error) {
	if hash == disk.Hash([]byte("one\n")) {
		return "one\n", nil
	}
	return j.Store.Blob(hash)
}

// A change that landed before its process could say so is a change like others, and the call's result says that it landed.
func TestLandedAtTheEnd(t *testing.T) {
	st := &judging{Store: memory(t)}
	inside, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	kit := tool("change", tools.Edit, tools.Alone, tools.Edits, func(context.Context, *tools.Env, note) (tools.Result, error) {
		close(inside)
		<-release
		return tools.Result{}, nil
	})
	s, _ := newKeptSession(t, st, nil, play(t, "call change {\"text\":\"x\"}\n"), kit)
	turn := begin(t, s, Input{Blocks: []prompt.Block{{Type: "text", Text: "Go."}}})
	go turn.Run(context.Background())
	<-inside
	before, after := []byte("one\n"), []byte("two\n")
	file := func(path string) disk.Planned {
		return disk.Planned{Op: disk.Edit, Path: path, Before: before, BeforeHash: disk.Hash(before), AfterHash: disk.Hash(after)}
	}
	_, entries, err := st.Entries("kept", store.Running)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	st.judged = []store.RecoveredIntent{{
		Intent:  disk.Intent{ID: 1, Session: "kept", Call: entries[0].Call, Tool: "change", Files: []disk.Planned{file("/w/a"), file("/w/b")}},
		Outcome: disk.Landed,
	}}
	files := said{s.o.Workspace, map[string]string{"/w/a": "two\n", "/w/b": "somebody has saved it since\n"}}
	past, err := TakePast(t.Context(), st, "kept", files, time.Now, func(store.Session) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Changes(st, "kept")
	if err != nil || len(changes) != 1 || changes[0].Path != "/w/a" || changes[0].Call != entries[0].Call || changes[0].Turn != 1 {
		t.Fatalf("%+v %v", changes, err)
	}
	was, is, kept, err := changes[0].Texts(st)
	if was != "one\n" || is != "two\n" || !kept || err != nil {
		t.Error(was, is, kept, err)
	}
	told := past.history[len(past.history)-2].Text
	if !strings.Contains(told, "It was carried out in /w/a, /w/b") || strings.Contains(told, "is not known") {
		t.Error(told)
	}
}

// A change of several files that was cut short, or that was just being taken back, is told file by file, and what is left
// of it is a change like others, in whatever encoding the file is.
func TestCutShortAmongSeveral(t *testing.T) {
	const le, be = "\xff\xfeo\x00n\x00e\x00", "\xfe\xff\x00t\x00w\x00o"
	plan := func(op disk.Op, path, before, after string) disk.Planned {
		p := disk.Planned{Op: op, Path: path}
		if before != "-" {
			p.Before, p.BeforeHash = []byte(before), disk.Hash([]byte(before))
		}
		if after != "-" {
			p.AfterHash = disk.Hash([]byte(after))
		}
		return p
	}
	intent := func(how disk.Outcome, files ...disk.Planned) store.RecoveredIntent {
		return store.RecoveredIntent{Intent: disk.Intent{Call: "c", Tool: "patch", Files: files}, Outcome: how}
	}
	all := []disk.Planned{
		plan(disk.Edit, "/w/a", "one", "1"), plan(disk.Create, "/w/new", "-", "new"), plan(disk.Delete, "/w/old", "old", "-"),
		plan(disk.Edit, "/w/last", "last", "x"),
	}
	buffer := plan(disk.Edit, "/w/open", "open", "-")
	buffer.Buffer = true
	for _, tt := range []struct {
		name   string
		judged []store.RecoveredIntent
		files  map[string]string // what they say now; - for none
		want   string            // the changes
		told   string
	}{
		{
			"before the second",
			[]store.RecoveredIntent{intent(disk.Partly, all...)},
			map[string]string{"/w/a": "1", "/w/new": "-", "/w/old": "old", "/w/last": "last"},
			"edit /w/a one>1", ", and it was not tried again. It is in /w/a; it is not in /w/new, /w/old, /w/last.",
		},
		{
			"before the last",
			[]store.RecoveredIntent{intent(disk.Partly, all...)},
			map[string]string{"/w/a": "1", "/w/new": "new", "/w/old": "-", "/w/last": "last"},
			"edit /w/a one>1, create /w/new >new, delete /w/old old>", "It is in /w/a, /w/new, /w/old; it is not in /w/last.",
		},
		{
			"somebody went on",
			[]store.RecoveredIntent{intent(disk.Partly, all...)},
			map[string]string{"/w/a": "1", "/w/new": "newer", "/w/old": "old", "/w/last": "last"},
			"edit /w/a one>1", ": whether it took effect is not known, and it was not tried again. Look at the present state before you go on. " +
				"It is in /w/a; it is not in /w/old, /w/last; /w/new has changed since.",
		},
		{
			"while it was taken back",
			[]store.RecoveredIntent{
				intent(disk.Partly, all...), intent(disk.Landed, plan(disk.Create, "/w/old", "-", "old")),
				intent(disk.NotLanded, plan(disk.Delete, "/w/new", "new", "-")),
			},
			map[string]string{"/w/a": "1", "/w/new": "new", "/w/old": "old", "/w/last": "last"},
			"edit /w/a one>1, create /w/new >new", "It is in /w/a, /w/new; it is not in /w/old, /w/last.",
		},
		{
			"after it was taken back",
			[]store.RecoveredIntent{
				intent(disk.Partly, all...), intent(disk.Landed, plan(disk.Create, "/w/old", "-", "old")),
				intent(disk.Landed, plan(disk.Delete, "/w/new", "new", "-")), intent(disk.Landed, plan(disk.Edit, "/w/a", "1", "one")),
			},
			map[string]string{"/w/a": "one", "/w/new": "-", "/w/old": "old", "/w/last": "last"},
			"", "It is not in /w/a, /w/new, /w/old, /w/last.",
		},
		{
			"with a buffer",
			[]store.RecoveredIntent{intent(disk.Unknown, all[0], buffer)},
			map[string]string{"/w/a": "1", "/w/open": "open"},
			"edit /w/a one>1", "It is in /w/a; whether it is in /w/open cannot be told.",
		},
		{
			"two edits of one file",
			[]store.RecoveredIntent{intent(disk.Landed, all[0]), intent(disk.Landed, plan(disk.Edit, "/w/a", "1", "eins"))},
			map[string]string{"/w/a": "eins"},
			"edit /w/a one>eins", "It is in /w/a.",
		},
		{
			"in UTF-16",
			[]store.RecoveredIntent{intent(disk.Landed, plan(disk.Edit, "/w/le", le, "\xff\xfe1\x00"), plan(disk.Delete, "/w/be", be, "-"))},
			map[string]string{"/w/le": "\ufeff1", "/w/be": "-"},
			"edit /w/le \ufeffone>\ufeff1, delete /w/be \ufefftwo>", "It was carried out in /w/le, /w/be before the program ended.",
		},
		{
			"no text",
			[]store.RecoveredIntent{intent(disk.Landed, plan(disk.Edit, "/w/a", "\xffone", "1"))},
			map[string]string{"/w/a": "1"},
			"", "It was carried out in /w/a before the program ended.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			blobs := map[string]string{}
			for i, j := range tt.judged {
				tt.judged[i].ID = int64(i + 1)
				for _, f := range j.Files {
					blobs[f.BeforeHash] = string(f.Before)
				}
			}
			m := mender{
				r: &record{now: time.Now, log: slog.New(slog.DiscardHandler)}, now: func(string) string { return "" }, judged: tt.judged,
				read: func(path string) (filetime.Snapshot, error) {
					if s := tt.files[path]; s != "-" {
						return filetime.Snapshot{Path: path, Text: texts.New(s), Exists: true}, nil
					}
					return filetime.Snapshot{Path: path}, nil
				},
				blob: func(hash string) (string, error) {
					if s, ok := blobs[hash]; ok {
						return s, nil
					}
					return "", store.ErrGone
				},
			}
			entry := func(kind store.Kind, body string) store.Entry {
				return store.Entry{Turn: 1, Kind: kind, Call: "c", Body: []byte(body)}
			}
			r, err := read([]store.Entry{entry(store.Call, `{"name":"patch"}`), entry(store.Running, `{}`)})
			if err != nil {
				t.Fatal(err)
			}
			more := m.mend(r)
			var changes []string
			notices := 0
			for _, e := range more {
				var b body
				if err := json.Unmarshal(e.Body, &b); err != nil {
					t.Fatal(err)
				}
				switch e.Kind {
				case store.Change:
					changes = append(changes, fmt.Sprintf("%s %s %s>%s", b.Operation, b.Path, e.Blobs[0].Data, e.Blobs[1].Data))
					before, after := texts.New(e.Blobs[0].Data), texts.New(e.Blobs[1].Data)
					if b.Before != hashOf(filetime.Snapshot{Text: before, Exists: b.Operation != OpCreate}) ||
						b.After != hashOf(filetime.Snapshot{Text: after, Exists: b.Operation != OpDelete}) {
						t.Errorf("the hashes of %s are %s %s", b.Path, b.Before, b.After)
					}
				case store.Result:
					if !strings.HasSuffix(b.Result.Data, tt.told) {
						t.Errorf("told %q, want %q", b.Result.Data, tt.told)
					}
				case store.Notice:
					notices++
				}
			}
			if got := strings.Join(changes, ", "); got != tt.want {
				t.Errorf("changes %q, want %q", got, tt.want)
			}
			if notices != 1 {
				t.Errorf("%d notices", notices)
			}
		})
	}
}

// said are files of which some say what they are told to.
type said struct {
	filetime.Files
	texts map[string]string
}

func (f said) Read(ctx context.Context, path string) (filetime.Snapshot, error) {
	if s, ok := f.texts[path]; ok {
		return filetime.Snapshot{Path: path, Text: texts.New(s), Exists: true}, nil
	}
	return f.Files.Read(ctx, path)
}

// reopened is a store as the next process finds it.
func reopened(t *testing.T, st store.Store) store.Store {
	t.Helper()
	stats, err := st.Stats()
	if err = errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	if st, err = store.Open(stats.Path, store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() }) // the folder goes with it
	return st
}

// What another process found out of changes that were on their way is told once, in words that fit.
func TestOutcomesAreTold(t *testing.T) {
	st := stores(t)["database"] // what is in memory ends with its process
	if err := st.Save(store.Session{ID: "kept"}); err != nil {
		t.Fatal(err)
	}
	entry := func(kind store.Kind, turn int, call, body string) store.Entry {
		return store.Entry{Time: time.Now(), Turn: turn, Kind: kind, Call: call, Body: []byte(body)}
	}
	err := st.Append("kept",
		entry(store.Message, 1, "", `{"message":{"role":"user","text":"Go."}}`),
		entry(store.Call, 1, "ended", `{"name":"edit_file"}`), entry(store.Result, 1, "ended", `{"result":{"success":true}}`),
		entry(store.Call, 1, "open", `{"name":"edit_file"}`), entry(store.Running, 1, "open", `{}`),
		entry(store.Call, 0, "mine", `{"name":"write_file"}`), entry(store.Running, 0, "mine", `{}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[int64]disk.Outcome{}
	for _, c := range []struct {
		call string
		how  disk.Outcome
	}{{"ended", disk.Foreign}, {"open", disk.NotLanded}, {"mine", disk.Landed}, {"undo", disk.Landed}, {"undo", disk.Partly}} {
		id, err := st.Begin(disk.Intent{Session: "kept", Call: c.call, Tool: "tool", Files: []disk.Planned{{Path: "/w/" + c.call}}})
		if err != nil {
			t.Fatal(err)
		}
		outcomes[id] = c.how
	}
	st = reopened(t, st)
	orphans, err := st.Orphans()
	if err != nil || len(orphans) != 5 {
		t.Fatal(orphans, err)
	}
	for _, o := range orphans {
		if err := st.End(o.ID, outcomes[o.ID]); err != nil {
			t.Fatal(err)
		}
	}
	st = reopened(t, st)
	for range 2 {
		past, err := TakePast(t.Context(), st, "kept", filetimetest.New(), time.Now, func(store.Session) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		var notices []string
		for e := range past.Events() {
			if e.Notice != "" {
				notices = append(notices, e.Notice)
			}
		}
		want := []string{
			"The program ended while a change was on its way (tool). Nothing of it is in /w/open.",
			"The program ended while a change was on its way (tool). It was carried out in /w/mine before the program ended.",
			"The program ended while a change was on its way (tool). Whether it is in /w/undo cannot be told.",
			"The program ended during this turn; what was running was not tried again.",
		}
		if d := cmp.Diff(want, notices); d != "" {
			t.Error(d)
		}
		if text := past.history[len(past.history)-2].Text; !strings.Contains(text, "Nothing of it is in /w/open.") {
			t.Errorf("the model is told %q", text)
		}
	}
}
