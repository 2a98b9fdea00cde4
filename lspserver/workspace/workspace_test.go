package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/sandbox"
)

// buffer plays an editor that has one document open. Its knobs say how it treats an edit.
type buffer struct {
	w    *Workspace
	uri  string
	mu   sync.Mutex
	text string
	ver  int32

	before func(try int) // typed between the sending of an edit and its arrival
	blind  bool          // applies at the old coordinates, whatever the version
	widens bool          // a range that ends inside of a character takes in all of it
	lies   bool          // answers applied without applying a stale edit
	fails  error         // what it answers every edit with
	says   string        // what it refuses every edit with
	mute   bool          // never answers
	drop   bool          // answers applied and does nothing
	join   string        // typed at the start, in the same notification as the edit
	above  string        // typed at the start before the edit, which comes to its old places, and told with it in one range
	later  string        // typed at the start after that edit, and told in the same range
	late   time.Duration // echo after the reply
	holds  bool          // tells of its changes only in tell
	untold []func()
	whole  bool                   // tells whole texts
	ends   bool                   // ends every text with a line end
	closes bool                   // of a rename, tells first that the document is closed
	stays  bool                   // sends no didClose for a document that it renames or deletes
	names  func(made int32) int32 // the version that it names in its answer; nil names none
	after  func()                 // typed between the echo and the answer; b.mu is not held
	tries  int
	saved  []string

	made int32      // the version that the present edit makes
	undo []text.Set // all that was done, as the editor's own undo takes it back
}

func (b *buffer) offset(p text.Position) int {
	off, _ := text.New(b.text).Offset(p, text.UTF16)
	return off
}

func (b *buffer) typeAt(at int, s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change([]text.Edit{{Start: at, End: at, New: s}})
}

// change applies edits from the last to the first and reports them in one notification.
func (b *buffer) change(edits []text.Edit) {
	b.undo = append(b.undo, text.Set(edits).Inverse(text.New(b.text)))
	before := b.text
	var changes []ContentChange
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		t := text.New(b.text)
		changes = append(changes, ContentChange{
			Range: &Range{Start: t.Position(e.Start, text.UTF16), End: t.Position(e.End, text.UTF16)}, Text: e.New,
		})
		b.text = b.text[:e.Start] + e.New + b.text[e.End:]
	}
	if b.ends && !strings.HasSuffix(b.text, "\n") { // one range tells the difference, if there is one
		b.text += "\n"
		set := text.Diff(text.New(before), text.New(b.text))
		if len(set) == 0 {
			return
		}
		t, first, last := text.New(before), set[0].Start, set[len(set)-1].End
		changes = []ContentChange{{
			Range: &Range{Start: t.Position(first, text.UTF16), End: t.Position(last, text.UTF16)}, Text: b.text[first : len(b.text)-(len(before)-last)],
		}}
	}
	if b.whole {
		changes = []ContentChange{{Text: b.text}}
	}
	b.ver++
	if b.holds {
		b.untold = append(b.untold, func(version int32) func() { return func() { b.w.Change(b.uri, version, changes) } }(b.ver))
		return
	}
	b.w.Change(b.uri, b.ver, changes)
}

// tell tells of all changes that it has held back, and of the next ones at once.
func (b *buffer) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds = false
	for _, tell := range b.untold {
		tell()
	}
	b.untold = nil
}

func (b *buffer) Apply(ctx context.Context, d Delivery) (Applied, error) {
	b.made = 0
	ok, reason, err := b.apply(ctx, d)
	out := Applied{OK: ok, Reason: reason}
	if ok && b.names != nil {
		made := b.names(b.made)
		out.Version = &made
	}
	return out, err
}

func (b *buffer) apply(ctx context.Context, d Delivery) (bool, string, error) {
	b.mu.Lock()
	b.tries++
	try := b.tries
	b.mu.Unlock()
	if b.before != nil {
		b.before(try)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made = b.ver + 1
	if b.drop {
		return true, "", nil
	}
	if b.fails != nil || b.says != "" {
		return false, b.says, b.fails
	}
	if d.To != "" {
		return b.rename(d)
	}
	if d.Delete {
		err := os.Remove(strings.TrimPrefix(d.URI, "file://"))
		if !b.stays {
			b.w.Close(d.URI)
		}
		return err == nil, "", nil
	}
	if *d.Version != b.ver && !b.blind {
		return b.lies, "version", nil
	}
	if b.above != "" {
		typed := b.above
		b.above = ""
		if b.late > 0 {
			time.AfterFunc(b.late, func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.inOne(typed, d.Edits)
			})
			return true, "", nil
		}
		return b.inOne(typed, d.Edits), "", nil
	}
	var edits []text.Edit
	for _, e := range d.Edits {
		edit := text.Edit{Start: b.offset(e.Range.Start), End: b.offset(e.Range.End), New: e.New}
		if b.widens && e.Range.Start != e.Range.End {
			if next := e.Range.End; b.offset(next) == b.offset(text.Position{Line: next.Line, Character: next.Character - 1}) {
				edit.End = b.offset(text.Position{Line: next.Line, Character: next.Character + 1})
			}
		}
		edits = append(edits, edit)
	}
	if b.join != "" {
		edits = append([]text.Edit{{New: b.join}}, edits...)
	}
	change := func() {
		b.change(edits)
		if b.after != nil {
			b.mu.Unlock()
			b.after()
			b.mu.Lock()
		}
	}
	if b.late > 0 {
		time.AfterFunc(b.late, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			change()
		})
		return true, "", nil
	}
	change()
	if b.mute {
		b.mu.Unlock()
		<-ctx.Done()
		b.mu.Lock()
		return false, "", ctx.Err()
	}
	return true, "", nil
}

// inOne types at the start, makes the edits at the places that they were sent for, and tells of it all in one range.
func (b *buffer) inOne(typed string, edits []TextEdit) bool {
	mid := text.New(typed + b.text)
	var set text.Set
	for _, e := range edits {
		start, _ := mid.Offset(e.Range.Start, text.UTF16)
		end, _ := mid.Offset(e.Range.End, text.UTF16)
		set = append(set, text.Edit{Start: start, End: end, New: e.New})
	}
	old, now := b.text, b.later+set.Apply(mid).String()
	from, to := 0, 0
	for from < min(len(old), len(now)) && old[from] == now[from] {
		from++
	}
	for to < min(len(old), len(now))-from && old[len(old)-1-to] == now[len(now)-1-to] {
		to++
	}
	b.change([]text.Edit{{Start: from, End: len(old) - to, New: now[from : len(now)-to]}})
	return true
}

// rename renames as an editor does: on disk, and its document from one name to the other, with the text that is not saved.
func (b *buffer) rename(d Delivery) (bool, string, error) {
	from := strings.TrimPrefix(d.URI, "file://")
	to := strings.TrimPrefix(d.To, "file://")
	if err := os.Rename(from, to); err != nil {
		return false, err.Error(), nil
	}
	if _, open := below(d.URI, b.uri); !open || b.stays {
		return true, "", nil
	}
	old, now := b.uri, d.To+strings.TrimPrefix(b.uri, d.URI)
	path := strings.TrimPrefix(now, "file://")
	tell := func() {
		b.uri, b.ver = now, 1
		if b.closes {
			b.w.Close(old)
		}
		b.w.Open(path, now, 1, b.text)
		if !b.closes {
			b.w.Close(old)
		}
	}
	if b.late > 0 {
		time.AfterFunc(b.late, tell)
	} else {
		tell()
	}
	return true, "", nil
}

func (b *buffer) Save(_ context.Context, uris []string) (map[string]string, error) {
	b.saved = append(b.saved, uris...)
	return nil, nil
}

func (b *buffer) Resync(context.Context, string) (string, int32, error) {
	return "", 0, errors.New("not served")
}

func opened(t *testing.T, content string) (*Workspace, *buffer, string) {
	t.Helper()
	b := &buffer{text: content, ver: 1}
	path := filepath.Join(t.TempDir(), "f.txt")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	b.uri = URI(path)
	b.w = New(Options{Roots: everything(), Editor: b, Features: Features{Apply: true, Create: true, Save: true}})
	b.w.Open(path, b.uri, 1, content)
	return b.w, b, path
}

// replaceIn is the change of a tool that saw s and replaces old by new.
func replaceIn(s filetime.Snapshot, old, new string) filetime.Change {
	i := strings.Index(s.Text.String(), old)
	return filetime.Change{Session: "s", Call: "c", Files: []filetime.FileEdit{{
		Path: s.Path, Base: s.Text, Rev: s.Rev,
		Edits: text.Minimize(s.Text, text.Set{{Start: i, End: i + len(old), New: new}}),
	}}}
}

const doc = "one two\nthree four\nfive six\n"

func TestF157EditorSink(t *testing.T) {
	tests := []struct {
		name  string
		knobs func(b *buffer)
		want  string
		tries int
		code  filetime.Code
	}{
		{"lands by its echo", func(*buffer) {}, "one two\nthree FOUR\nfive six\n", 1, ""},
		{"echo after the reply", func(b *buffer) { b.late = 100 * time.Millisecond }, "one two\nthree FOUR\nfive six\n", 1, ""},
		{"a refusal is rebased and sent again", func(b *buffer) {
			b.before = func(try int) {
				if try <= 3 {
					b.typeAt(0, fmt.Sprintf("%d\n", try))
				}
			}
		}, "3\n2\n1\none two\nthree FOUR\nfive six\n", 4, ""},
		{"an edit at old coordinates is taken back and sent again", func(b *buffer) {
			b.blind = true
			b.before = func(try int) {
				if try == 1 {
					b.typeAt(0, "zero\n")
				}
			}
		}, "zero\none two\nthree FOUR\nfive six\n", 3, ""},
		{"a lie is found out by silence, after another change", func(b *buffer) {
			b.lies = true
			b.before = func(try int) {
				if try == 1 {
					b.typeAt(0, "zero\n")
				}
			}
		}, "zero\none two\nthree FOUR\nfive six\n", 2, ""},
		{"a lie, and typing: the next change lacks it", func(b *buffer) {
			b.lies = true
			b.before = func(try int) {
				if try == 1 {
					b.typeAt(0, "zero\n")
					time.AfterFunc(time.Second, func() { b.typeAt(0, "one more\n") })
				}
			}
		}, "one more\nzero\none two\nthree FOUR\nfive six\n", 2, ""},
		{"typing in the same notification", func(b *buffer) { b.join = "zero\n" }, "zero\none two\nthree FOUR\nfive six\n", 1, ""},
		{"no reply, but the echo", func(b *buffer) { b.mute = true }, "one two\nthree FOUR\nfive six\n", 1, ""},
		{"applied and never shown", func(b *buffer) { b.drop = true }, doc, 1, filetime.Unknown},
		{"overlap is a conflict", func(b *buffer) {
			b.before = func(try int) {
				b.mu.Lock()
				defer b.mu.Unlock()
				if try == 1 {
					b.change([]text.Edit{{Start: 14, End: 18, New: "vier"}})
				}
			}
		}, "one two\nthree vier\nfive six\n", 1, filetime.EditConflict},
		{"never a moment", func(b *buffer) {
			b.before = func(int) { time.Sleep(100 * time.Millisecond); b.typeAt(0, ".") }
		}, "", 0, filetime.Timeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := opened(t, doc)
				s, err := w.Read(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				tt.knobs(b)
				landed, err := w.Commit(t.Context(), replaceIn(s, "three four", "three FOUR"))
				var code filetime.Code
				var refused *filetime.Error
				var conflict *filetime.Conflict
				switch {
				case errors.As(err, &refused):
					code = refused.Code
				case errors.As(err, &conflict):
					code = filetime.EditConflict
				case err != nil:
					t.Fatal(err)
				}
				if code != tt.code {
					t.Fatalf("code %q (%v), want %q", code, err, tt.code)
				}
				if tt.want != "" && b.text != tt.want {
					t.Errorf("buffer %q, want %q", b.text, tt.want)
				}
				now, _ := w.Read(t.Context(), path)
				if now.Text.String() != b.text {
					t.Errorf("server %q, buffer %q", now.Text, b.text)
				}
				if tt.tries > 0 && b.tries != tt.tries {
					t.Errorf("asked %d times, want %d", b.tries, tt.tries)
				}
				if code == "" {
					l := landed.Files[0]
					if got := l.Set.Apply(l.Before).String(); got != l.After.String() {
						t.Errorf("landed set leads to %q, After is %q", got, l.After)
					}
					revs, _, ok := w.History(path, s.Rev)
					agents := 0
					for _, r := range revs {
						if r.Author == filetime.Agent {
							agents++
						}
					}
					if !ok || agents == 0 {
						t.Errorf("no revision of the agent's in %v", revs)
					}
				}
			})
		})
	}
}

// An editor that says that it cannot make an edit at all is asked once and believed, and its words are told. One that
// only says no is asked for ten seconds; where nobody has typed meanwhile, nothing is blamed on keystrokes.
func TestFindingU5RefusedForGood(t *testing.T) {
	const words = "f.txt is read-only here."
	for _, tt := range []struct {
		name   string
		knobs  func(b *buffer)
		code   filetime.Code
		says   string
		within time.Duration
	}{
		{"for good", func(b *buffer) { b.fails = &RefusedError{Words: words} }, filetime.WriteError, words, 0},
		{"for good, while somebody types", func(b *buffer) {
			b.fails = &RefusedError{Words: words}
			b.before = func(try int) {
				if try < 3 {
					b.typeAt(0, ".")
				}
			}
		}, filetime.WriteError, words, 0},
		{"again and again", func(b *buffer) { b.says = "not at this moment" }, filetime.Timeout, "not at this moment", 11 * time.Second},
		{"by a fault", func(b *buffer) { b.fails = errors.New("a fault") }, filetime.Timeout, "", 11 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := opened(t, doc)
				s, err := w.Read(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				tt.knobs(b)
				begun := time.Now()
				_, err = w.Commit(t.Context(), replaceIn(s, "three four", "three FOUR"))
				var refused *filetime.Error
				if !errors.As(err, &refused) || refused.Code != tt.code || !strings.Contains(refused.Message, tt.says) {
					t.Fatalf("%v", err)
				}
				if tt.says != "" && strings.Contains(refused.Message, "keystrokes") {
					t.Errorf("keystrokes are blamed: %s", refused.Message)
				}
				if took := time.Since(begun); took > tt.within {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// locked commits a change under the locks of its files.
func locked(ctx context.Context, w *Workspace, c filetime.Change, paths ...string) error {
	unlock, err := w.Lock(ctx, paths...)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = w.Commit(ctx, c)
	return err
}

func TestF187FiftyEditsOfOneFile(t *testing.T) {
	var lines []string
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	for _, where := range []filetime.Apply{filetime.Editor, filetime.OnDisk} {
		t.Run(string(where), func(t *testing.T) {
			w, b, path := opened(t, strings.Join(lines, "\n"))
			if where == filetime.OnDisk {
				w.Close(b.uri)
			}
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					c := replaceIn(s, fmt.Sprintf("line %d", i), fmt.Sprintf("agent %d", i))
					c.Apply = where
					if err := locked(t.Context(), w, c, path); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			now, _ := w.Read(t.Context(), path)
			if want := strings.ReplaceAll(strings.Join(lines, "\n"), "line", "agent"); now.Text.String() != want {
				t.Errorf("got %q", now.Text)
			}
		})
	}
}

func TestF186View(t *testing.T) {
	w, b, path := opened(t, doc)
	ft := filetime.New(w, "s", nil)
	s, _ := w.Read(t.Context(), path)
	var refused *filetime.Error
	if _, err := ft.Assert(s, false); !errors.As(err, &refused) || refused.Code != filetime.NotRead {
		t.Fatalf("unread file: %v", err)
	}
	ft.Read(s, 1, 1)
	if _, err := ft.Assert(s, true); !errors.As(err, &refused) || refused.Code != filetime.NotRead {
		t.Fatalf("file read in part: %v", err)
	}
	ft.Read(s, 2, 4)
	b.typeAt(0, "zero ")
	views, err := ft.Assert(s, true)
	if err != nil || len(views) != 1 || views[0].Text.String() != doc || views[0].Since.Apply(views[0].Text).String() != "zero "+doc {
		t.Fatalf("views %+v, %v", views, err)
	}
	now, _ := w.Read(t.Context(), path)
	landed, err := w.Commit(t.Context(), replaceIn(now, "four", "FOUR"))
	if err != nil {
		t.Fatal(err)
	}
	ft.Wrote(landed.Files[0])
	views, _ = ft.Assert(now, true)
	if got := views[0].Text.String(); got != strings.Replace(doc, "four", "FOUR", 1) {
		t.Errorf("the model's own edit is not in its view: %q", got)
	}
	if got := views[0].Since.Apply(views[0].Text).String(); got != b.text {
		t.Errorf("view leads to %q, buffer %q", got, b.text)
	}
}

func TestF275DiskFaults(t *testing.T) {
	w, b, path := opened(t, doc)
	w.Close(b.uri)
	s, _ := w.Read(t.Context(), path)
	c := replaceIn(s, "four", "FOUR")
	c.Apply = filetime.OnDisk
	// Somebody saves another line between the reading and the writing.
	if err := os.WriteFile(path, []byte("zero\n"+doc), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(path)
	if string(got) != "zero\none two\nthree FOUR\nfive six\n" {
		t.Errorf("disk %q", got)
	}
	w.Settle()
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), disk.TempPrefix+"*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestF152RaceOnDisk has another program save the file all the time while edits land.
func TestF152RaceOnDisk(t *testing.T) {
	w, b, path := opened(t, strings.Repeat("line\n", 20))
	w.Close(b.uri)
	ctx, stop := context.WithCancel(t.Context())
	var lines int
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			h, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				fmt.Fprintf(h, "typed %d\n", lines)
				h.Close()
				lines++
			}
			time.Sleep(time.Millisecond)
		}
	})
	for i := range 20 {
		s, err := w.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		at := s.Text.LineStart(i)
		c := filetime.Change{Apply: filetime.OnDisk, Files: []filetime.FileEdit{{
			Path: path, Base: s.Text, Rev: s.Rev, Edits: text.Set{{Start: at, End: at, New: fmt.Sprintf("agent %d ", i)}},
		}}}
		if _, err := w.Commit(t.Context(), c); err != nil {
			t.Errorf("edit %d: %v", i, err)
		}
	}
	stop()
	wg.Wait()
	w.Settle()
	got, _ := os.ReadFile(path)
	for i := range 20 {
		if strings.Count(string(got), fmt.Sprintf("agent %d ", i)) != 1 {
			t.Errorf("agent's edit %d is not there once", i)
		}
	}
	lost := 0
	for i := range lines {
		if strings.Count(string(got), fmt.Sprintf("typed %d\n", i)) != 1 {
			lost++
		}
	}
	t.Logf("%d lines appended by the other program, %d lost", lines, lost)
	if lost > 0 {
		t.Errorf("%d of %d lines lost", lost, lines)
	}
}

// everything are Roots below which all of the machine lies.
func everything() *sandbox.Roots {
	r := &sandbox.Roots{}
	r.Add("/")
	return r
}
