package overlay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/filetimetest"
	"tandem/filetime/overlay"
	"tandem/filetime/text"
)

func remove(t *testing.T, path string) {
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// queue plans an edit of path: old becomes new.
func queue(t require, o *overlay.Files, path, old, new string) string {
	t.Helper()
	s, err := o.Read(context.Background(), path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	e := filetime.FileEdit{Path: path, Base: s.Text, Rev: s.Rev}
	if at := strings.Index(s.Text.String(), old); s.Exists && at >= 0 {
		e.Edits = text.Set{{Start: at, End: at + len(old), New: new}}
	} else if s.Exists {
		t.Fatalf("%q has no %q", s.Text, old)
	} else {
		e = filetime.FileEdit{Path: path, Create: true, Edits: text.Set{{New: new}}}
	}
	l, err := o.Commit(context.Background(), planned(e))
	if err != nil || l.Plan == "" {
		t.Fatalf("%+v, %v", l, err)
	}
	return l.Plan
}

type require interface {
	Helper()
	Fatalf(format string, args ...any)
}

// planned is a call of its own each time: what it puts in is another one's nowhere here.
func planned(files ...filetime.FileEdit) filetime.Change {
	return filetime.Change{Session: "s", Call: fmt.Sprint("call ", files[0].Edits), Apply: filetime.Planned, Files: files}
}

func says(t require, f filetime.Files, path, want string) {
	t.Helper()
	s, err := f.Read(context.Background(), path)
	if err != nil || s.Text.String() != want {
		t.Fatalf("%q, %v, want %q", s.Text, err, want)
	}
}

func states(o *overlay.Files) (out []string) {
	for _, p := range o.List() {
		out = append(out, strings.TrimSpace(p.ID+" "+string(p.State)+" "+string(p.Reason)+" "+strings.Join(p.Needs, ",")))
	}
	return out
}

func expect(t require, o *overlay.Files, want ...string) {
	t.Helper()
	if got := states(o); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

// direct gives what lands as a session sees it.
type direct struct{ *overlay.Files }

func (d direct) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	l, err := d.Files.Commit(ctx, c)
	for i := range l.Files {
		l.Files[i] = d.Project(l.Files[i])
	}
	return l, err
}

// approving plans every change that can wait, and then approves it.
type approving struct{ direct }

func (a approving) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	if c.Apply != "" || !c.CanWait() {
		return a.direct.Commit(ctx, c)
	}
	c.Apply = filetime.Planned
	waits, err := a.Files.Commit(ctx, c)
	if err != nil || waits.Plan == "" {
		return waits, err
	}
	_, l, err := a.Approve(ctx, waits.Plan)
	for i := range l.Files { // for the session that is when it was planned
		l.Files[i].Rev, l.Files[i].Over = waits.Files[i].Rev, waits.Files[i].Over
	}
	return l, err
}

func TestOverlayContract(t *testing.T) {
	type setting struct {
		wrap func(*overlay.Files) filetime.Files
		// begin is called with each file that somebody writes, before.
		begin func(t *testing.T, o *overlay.Files, path string)
	}
	plain := func(o *overlay.Files) filetime.Files { return direct{o} }
	approved := func(o *overlay.Files) filetime.Files { return approving{direct{o}} }
	idle := func(*testing.T, *overlay.Files, string) {}
	once := func(t *testing.T, o *overlay.Files, path string) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if _, err := o.Discard(queue(t, o, path, "", "planned\n")); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]setting{
		"nothing waits": {plain, idle},
		"another file waits": {plain, func(t *testing.T, o *overlay.Files, path string) {
			if len(o.List()) == 0 {
				queue(t, o, path+".other", "", "planned\n")
			}
		}},
		"the files are projected":            {plain, once},
		"all is approved":                    {approved, idle},
		"all is approved in projected files": {approved, once},
	} {
		t.Run(name, func(t *testing.T) {
			filetimetest.Contract(t, func(t *testing.T) filetimetest.Subject {
				base := filetimetest.New()
				o := overlay.New(base, nil)
				return filetimetest.Subject{
					Files: s.wrap(o), Dir: t.TempDir(),
					Write: func(t *testing.T, path, content string) {
						s.begin(t, o, path)
						if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
							t.Fatal(err)
						}
					},
					Remove: remove,
				}
			})
		})
	}
}

// row is a file with a queue, and what is to become of it.
type row struct {
	name string
	was  string
	do   func(t require, base *filetimetest.Files, o *overlay.Files, path string)
}

func typing(base *filetimetest.Files, path, old, new string) {
	was, _ := base.Text(path)
	at := strings.Index(was, old)
	base.Type(path, text.Set{{Start: at, End: at + len(old), New: new}}, filetime.User)
}

func approve(t require, o *overlay.Files, id string, hunks ...int) filetime.Landed {
	t.Helper()
	_, l, err := o.Approve(context.Background(), id, hunks...)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return l
}

func TestQueue(t *testing.T) {
	for _, r := range []row{
		{"nothing is changed before it is approved, and what was typed meanwhile stays", "one\ntwo\nthree\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			id := queue(t, o, path, "two", "2")
			says(t, base, path, "one\ntwo\nthree\n")
			says(t, o, path, "one\n2\nthree\n")
			typing(base, path, "one", "zero\none")
			says(t, o, path, "zero\none\n2\nthree\n")
			approve(t, o, id)
			says(t, base, path, "zero\none\n2\nthree\n")
			says(t, o, path, "zero\none\n2\nthree\n")
			expect(t, o)
		}},
		{"a discarded edit is not there any more", "one\ntwo\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			id := queue(t, o, path, "two", "2")
			typing(base, path, "one", "1")
			if _, err := o.Discard(id); err != nil {
				t.Fatalf("%v", err)
			}
			says(t, base, path, "1\ntwo\n")
			says(t, o, path, "1\ntwo\n")
			expect(t, o)
		}},
		{"a later plan is approved before an earlier one", "one\ntwo\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			queue(t, o, path, "one", "1\n1.5")
			id := queue(t, o, path, "two", "2")
			approve(t, o, id)
			says(t, base, path, "one\n2\n")
			says(t, o, path, "1\n1.5\n2\n")
			expect(t, o, "plan_1 queued")
		}},
		{"a plan that needs an earlier one is refused without it", "one\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			first := queue(t, o, path, "one", "one and two")
			id := queue(t, o, path, "and two", "or three")
			expect(t, o, "plan_1 queued", "plan_2 queued  plan_1")
			var refused *filetime.Error
			if _, _, err := o.Approve(context.Background(), id); !errors.As(err, &refused) || refused.Reason != "depends" {
				t.Fatalf("%v", err)
			}
			says(t, base, path, "one\n")
			approve(t, o, first)
			approve(t, o, id)
			says(t, base, path, "one or three\n")
		}},
		{"what deletes only planned text needs that plan", "one\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			queue(t, o, path, "one", "one and two")
			queue(t, o, path, " and two", "")
			expect(t, o, "plan_1 queued", "plan_2 queued  plan_1")
		}},
		{"a new file, and an edit of it", "", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			path += ".new"
			first := queue(t, o, path, "", "one\ntwo\n")
			id := queue(t, o, path, "two", "2")
			if _, there := base.Text(path); there {
				t.Fatalf("it is there")
			}
			says(t, o, path, "one\n2\n")
			expect(t, o, "plan_1 queued", "plan_2 queued  plan_1")
			approve(t, o, first)
			says(t, base, path, "one\ntwo\n")
			says(t, o, path, "one\n2\n")
			approve(t, o, id)
			says(t, base, path, "one\n2\n")
		}},
		{"of a new file that is discarded nothing is left", "", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			path += ".new"
			first := queue(t, o, path, "", "one\ntwo\n")
			queue(t, o, path, "two", "2")
			if _, err := o.Discard(first); err != nil {
				t.Fatalf("%v", err)
			}
			if s, err := o.Read(context.Background(), path); err != nil || s.Exists || s.Text.Len() > 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			expect(t, o, "plan_2 stale depends")
		}},
		{"one hunk is approved, the rest waits on", "one\ntwo\nthree\nfour\nfive\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			s, _ := o.Read(context.Background(), path)
			e := filetime.FileEdit{Path: path, Base: s.Text, Rev: s.Rev, Edits: text.Diff(s.Text, text.New("1\ntwo\n3\nfour\n5\n"))}
			l, err := o.Commit(context.Background(), planned(e))
			if err != nil {
				t.Fatalf("%v", err)
			}
			if h := o.List()[0].Files[0].Hunks; len(h) != 3 || h[1] != (overlay.Hunk{Line: 3, Old: "three\n", New: "3\n"}) {
				t.Fatalf("%+v", h)
			}
			approve(t, o, l.Plan, 1)
			says(t, base, path, "one\ntwo\n3\nfour\nfive\n")
			says(t, o, path, "1\ntwo\n3\nfour\n5\n")
			expect(t, o, "plan_1 queued")
			typing(base, path, "two", "2")
			approve(t, o, l.Plan, 0, 1)
			says(t, base, path, "1\n2\n3\nfour\n5\n")
			expect(t, o)
		}},
		{"what the user has done already needs no approval", "one\ntwo\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			id := queue(t, o, path, "two", "2")
			typing(base, path, "two", "2")
			says(t, o, path, "one\n2\n")
			if l := approve(t, o, id); !l.Files[0].Already {
				t.Fatalf("%+v", l)
			}
			says(t, base, path, "one\n2\n")
			expect(t, o)
		}},
		{"an edit that lands at once leaves what waits", "one\ntwo\nthree\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			queue(t, o, path, "one", "1")
			s, _ := o.Read(context.Background(), path)
			at := strings.Index(s.Text.String(), "three")
			e := filetime.FileEdit{Path: path, Base: s.Text, Rev: s.Rev, Edits: text.Set{{Start: at, End: at + 5, New: "3"}}}
			l, err := o.Commit(context.Background(), filetime.Change{Session: "s", Call: "at once", Files: []filetime.FileEdit{e}})
			if err != nil || o.Project(l.Files[0]).After.String() != "1\ntwo\n3\n" {
				t.Fatalf("%+v, %v", l, err)
			}
			says(t, base, path, "one\ntwo\n3\n")
			says(t, o, path, "1\ntwo\n3\n")
			e = filetime.FileEdit{Path: path, Base: s.Text, Rev: s.Rev, Edits: text.Set{{Start: 0, End: 1, New: "I"}}}
			var refused *filetime.Error
			if _, err := o.Commit(context.Background(), filetime.Change{Session: "s", Files: []filetime.FileEdit{e}}); !errors.As(err, &refused) || refused.Reason != "depends" {
				t.Fatalf("%v", err)
			}
		}},
		{"a refusal of the base leaves the plan in the queue", "one\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			id := queue(t, o, path, "one", "1")
			base.Fail = &filetime.Error{Code: filetime.Timeout, Message: "The editor does not answer."}
			if _, _, err := o.Approve(context.Background(), id); !errors.Is(err, base.Fail) {
				t.Fatalf("%v", err)
			}
			base.Fail = nil
			expect(t, o, "plan_1 queued")
			approve(t, o, id)
			says(t, base, path, "1\n")
		}},
		{"plans come back after a restart, over what was changed meanwhile", "one\ntwo\nthree\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			queue(t, o, path, "one", "1")
			queue(t, o, path, "1", "I")
			queue(t, o, path, "three", "3")
			was := o.List()
			typing(base, path, "two", "2")
			typing(base, path, "three", "III")
			again := overlay.New(base, nil)
			again.Restore(context.Background(), was)
			says(t, again, path, "I\n2\nIII\n")
			expect(t, again, "plan_1 queued", "plan_2 queued  plan_1", "plan_3 stale text")
			approve(t, again, "plan_1")
			approve(t, again, "plan_2")
			says(t, base, path, "I\n2\nIII\n")
			if id := queue(t, again, path, "2", "two"); id != "plan_4" {
				t.Fatalf("%s", id)
			}
		}},
	} {
		t.Run(r.name, func(t *testing.T) {
			base := filetimetest.New()
			path := filepath.Join(t.TempDir(), "f")
			base.Put(path, r.was, true)
			r.do(t, base, overlay.New(base, nil), path)
		})
	}
}

// late answers that it does not know what becomes of a change, which lands when the function is called.
type late struct {
	*filetimetest.Files
	land func()
}

func (l *late) Commit(_ context.Context, c filetime.Change) (filetime.Landed, error) {
	l.land = func() { _, _ = l.Files.Commit(context.Background(), c) }
	return filetime.Landed{}, &filetime.Error{Code: filetime.Unknown, Reason: filetime.Held, Message: "It is not known whether the edit has landed."}
}

func TestPlanLandsLate(t *testing.T) {
	base := &late{Files: filetimetest.New()}
	path := filepath.Join(t.TempDir(), "f")
	base.Put(path, "one\ntwo\n", true)
	o := overlay.New(base, nil)
	id := queue(t, o, path, "one", "1")
	queue(t, o, path, "two", "2")
	if _, _, err := o.Approve(t.Context(), id); err == nil {
		t.Fatal("it has landed")
	}
	expect(t, o, "plan_1 queued", "plan_2 queued")
	typing(base.Files, path, "two", "and two")
	base.land()
	expect(t, o, "plan_2 queued")
	says(t, base, path, "1\nand two\n")
	says(t, o, path, "1\nand 2\n")
}

// What has landed before its process ended waits no more in the next one.
func TestPlanThatHasLandedIsNotRestored(t *testing.T) {
	for was, now := range map[string]string{"one\ntwo\n": "1\ntwo\n", "": "made\n"} {
		base := filetimetest.New()
		path := filepath.Join(t.TempDir(), "f")
		old, new := "one", "1"
		if was != "" {
			base.Put(path, was, true)
		} else {
			old, new = "", now
		}
		o := overlay.New(base, nil)
		id := queue(t, o, path, old, new)
		list := o.List()
		approve(t, o, id)
		var told []overlay.Plan
		again := overlay.New(base, func(p []overlay.Plan) { told = append(told, p...) })
		again.Restore(t.Context(), list)
		expect(t, again)
		says(t, again, path, now)
		if len(told) != 1 || told[0].State != overlay.Done {
			t.Errorf("%+v", told)
		}
	}
}

func TestStalePlan(t *testing.T) {
	for _, r := range []row{
		{"the text was changed", "one\ntwo\nthree\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			id := queue(t, o, path, "two", "2")
			typing(base, path, "two", "II")
			says(t, o, path, "one\nII\nthree\n")
			expect(t, o, "plan_1 stale text")
			if p := o.List()[0]; p.Path != path || p.Now.String() != "one\nII\nthree\n" {
				t.Fatalf("%+v", p)
			}
			var refused *filetime.Error
			if _, _, err := o.Approve(context.Background(), id); !errors.As(err, &refused) || refused.Reason != "text" || !refused.Known {
				t.Fatalf("%v", err)
			}
			says(t, base, path, "one\nII\nthree\n")
			if _, err := o.Discard(id); err != nil {
				t.Fatalf("%v", err)
			}
			expect(t, o)
		}},
		{"those that depend on it become stale, too, others do not", "one\ntwo\nthree\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			queue(t, o, path, "two", "2 and 2.5")
			queue(t, o, path, "and 2.5", "or 2.5")
			queue(t, o, path, "three", "3")
			typing(base, path, "two", "II")
			says(t, o, path, "one\nII\n3\n")
			expect(t, o, "plan_1 stale text", "plan_2 stale depends", "plan_3 queued")
		}},
		{"what depended on a discarded plan", "one\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			id := queue(t, o, path, "one", "one and two")
			queue(t, o, path, "and two", "or three")
			if _, err := o.Discard(id); err != nil {
				t.Fatalf("%v", err)
			}
			expect(t, o, "plan_2 stale depends")
			says(t, o, path, "one\n")
		}},
		{"the file was deleted", "one\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			queue(t, o, path, "one", "1")
			base.Remove(path)
			expect(t, o, "plan_1 stale text")
		}},
		{"somebody made the file", "", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			path += ".new"
			queue(t, o, path, "", "one\n")
			base.Put(path, "other\n", true)
			expect(t, o, "plan_1 stale text")
			says(t, o, path, "other\n")
		}},
		{"in one of two files: nothing of it waits in the other", "one\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			base.Put(path+".2", "one\n", true)
			var edits []filetime.FileEdit
			for _, p := range []string{path, path + ".2"} {
				s, _ := o.Read(context.Background(), p)
				edits = append(edits, filetime.FileEdit{Path: p, Base: s.Text, Rev: s.Rev, Edits: text.Set{{Start: 0, End: 3, New: "1"}}})
			}
			if _, err := o.Commit(context.Background(), planned(edits...)); err != nil {
				t.Fatalf("%v", err)
			}
			says(t, o, path+".2", "1\n")
			typing(base, path, "one", "ONE")
			expect(t, o, "plan_1 stale text")
			says(t, o, path, "ONE\n")
			says(t, o, path+".2", "one\n")
		}},
		{"typed while it lands", "one\n", func(t require, base *filetimetest.Files, o *overlay.Files, path string) {
			id := queue(t, o, path, "one", "1")
			base.Enter = func(filetime.Change) { typing(base, path, "one", "ONE") }
			var conflict *filetime.Conflict
			if _, _, err := o.Approve(context.Background(), id); !errors.As(err, &conflict) {
				t.Fatalf("%v", err)
			}
			base.Enter = nil
			says(t, base, path, "ONE\n")
			says(t, o, path, "ONE\n")
			expect(t, o, "plan_1 stale text")
		}},
	} {
		t.Run(r.name, func(t *testing.T) {
			base := filetimetest.New()
			path := filepath.Join(t.TempDir(), "f")
			base.Put(path, r.was, true)
			told := map[string]overlay.State{}
			o := overlay.New(base, func(plans []overlay.Plan) {
				for _, p := range plans {
					told[p.ID] = p.State
				}
			})
			r.do(t, base, o, path)
			for _, p := range o.List() {
				if told[p.ID] != p.State {
					t.Errorf("%s is %s, and %q was told", p.ID, p.State, told[p.ID])
				}
			}
		})
	}
}

// Typing in the base, edits through the overlay that wait or land at once, approvals, of hunks too,
// discards and restarts: what was typed is never lost, only an approval or a direct edit changes the
// base, and the texts that a session has seen lead to the overlay's.
func TestTypedCharactersStay(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		base := filetimetest.New()
		path := filepath.Join(dir, "f")
		base.Put(path, "alpha beta\ngamma delta\nepsilon\n\nzeta eta\ntheta\n", true)
		o := overlay.New(base, nil)
		ft := filetime.New(o, "s", nil)
		typed := 'A'
		mine := map[rune]bool{} // typed and not deleted by the person
		now := func() string { s, _ := base.Text(path); return s }
		for range rapid.IntRange(1, 24).Draw(t, "steps") {
			before := now()
			changes := false
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2: // the person
				s := []rune(before)
				at := rapid.IntRange(0, len(s)).Draw(t, "at")
				n := rapid.IntRange(0, min(4, len(s)-at)).Draw(t, "deleted")
				for _, r := range s[at : at+n] {
					delete(mine, r)
				}
				typed++
				mine[typed] = true
				start := len(string(s[:at]))
				new := rapid.SampledFrom([]string{"", "\n", " "}).Draw(t, "around")
				base.Type(path, text.Set{{Start: start, End: start + len(string(s[at:at+n])), New: new + string(typed) + new}}, filetime.User)
				changes = true
			case 3, 4, 5: // an edit of what the session has seen
				s, err := o.Read(context.Background(), path)
				if err != nil {
					t.Fatal(err)
				}
				if rapid.Bool().Draw(t, "read") {
					ft.Read(s, 1, s.Text.LineCount())
				}
				views, err := ft.Assert(s, false)
				if err != nil {
					continue
				}
				v := rapid.SampledFrom(views).Draw(t, "view")
				c := filetime.Change{Session: "s", Call: fmt.Sprint(typed), Files: []filetime.FileEdit{{
					Path: path, Base: v.Text, Since: v.Since, By: v.By, Rev: v.Rev, Edits: edits(t, v.Text),
				}}}
				if changes = rapid.IntRange(0, 4).Draw(t, "at once") == 0; !changes {
					c.Apply = filetime.Planned
				}
				typed++
				c.Call = fmt.Sprint("call", typed)
				l, err := o.Commit(context.Background(), c)
				for _, f := range l.Files {
					ft.Wrote(o.Project(f))
				}
				changes = changes && err == nil
			case 6, 7:
				for _, p := range o.List() {
					if !rapid.Bool().Draw(t, "approved") {
						continue
					}
					var hunks []int
					if p.State == overlay.Queued && len(p.Files[0].Hunks) > 1 && rapid.Bool().Draw(t, "one hunk") {
						hunks = []int{rapid.IntRange(0, len(p.Files[0].Hunks)-1).Draw(t, "hunk")}
					}
					was, s := now(), projection(t, o, path)
					d, _, err := o.Approve(context.Background(), p.ID, hunks...)
					if err != nil && now() != was {
						t.Fatalf("a refused plan changed the base: %v", err)
					}
					if err == nil && projection(t, o, path) != s {
						t.Fatalf("the projection was %q, is %q", s, projection(t, o, path))
					}
					if err == nil && d.State != overlay.Done {
						t.Fatalf("%+v", d)
					}
					changes = true
				}
			case 8:
				for _, p := range o.List() {
					if rapid.Bool().Draw(t, "discarded") {
						if _, err := o.Discard(p.ID); err != nil {
							t.Fatal(err)
						}
					}
				}
			case 9:
				if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
					was := o.List()
					o = overlay.New(base, nil)
					o.Restore(context.Background(), was)
					ft = filetime.New(o, "s", nil)
				}
			}
			if !changes && now() != before {
				t.Fatalf("the base was %q, is %q", before, now())
			}
			for r := range mine {
				if !strings.ContainsRune(now(), r) {
					t.Fatalf("%c is lost in %q", r, now())
				}
			}
			s, err := o.Read(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			views, err := ft.Assert(s, false)
			for _, v := range views {
				if err == nil && (v.Rev != s.Rev || v.Since.Apply(v.Text).String() != s.Text.String()) {
					t.Fatalf("a view of revision %d leads to %q, not to %q of %d", v.Rev, v.Since.Apply(v.Text), s.Text, s.Rev)
				}
			}
			if len(o.Unlanded()) == 0 && s.Text.String() != now() {
				t.Fatalf("nothing waits, and %q is shown for %q", s.Text, now())
			}
			for _, p := range o.List() {
				for _, f := range p.Files {
					if !f.Set.Apply(f.Before).Equal(f.After) {
						t.Fatalf("%s: %q, %v, %q", p.ID, f.Before, f.Set, f.After)
					}
				}
			}
		}
		for _, p := range o.List() {
			if _, err := o.Discard(p.ID); err != nil {
				t.Fatal(err)
			}
		}
		says(t, o, path, now())
	})
}

func projection(t require, o *overlay.Files, path string) string {
	t.Helper()
	s, err := o.Read(context.Background(), path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s.Text.String()
}

// Plans of several files, new ones among them, with a person who types, deletes and makes the same files: a plan waits in all of its files
// or in none, lands in all or in none, and nothing else changes the base.
func TestPlansOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		base := filetimetest.New()
		paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")}
		base.Put(paths[0], "alpha beta\ngamma\n", true)
		base.Put(paths[1], "delta\nepsilon zeta\n", true)
		o := overlay.New(base, nil)
		all := func(read func(string) (string, bool)) (out string) {
			for _, path := range paths {
				s, there := read(path)
				out += fmt.Sprintf("%q %v\n", s, there)
			}
			return out
		}
		shown := func(path string) (string, bool) {
			s, err := o.Read(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			return s.Text.String(), s.Exists
		}
		sizes := map[string]int{}
		for n := range rapid.IntRange(1, 16).Draw(t, "steps") {
			before, changes := all(base.Text), true
			switch path := rapid.SampledFrom(paths).Draw(t, "path"); rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				base.Remove(path)
			case 1, 2:
				if s, there := base.Text(path); there {
					at := rapid.IntRange(0, len(s)).Draw(t, "at")
					base.Type(path, text.Set{{Start: at, End: at, New: "T"}}, filetime.User)
				} else {
					base.Type(path, text.Set{{New: "typed\n"}}, filetime.User)
				}
			case 3, 4:
				changes = false
				c := filetime.Change{Session: "s", Call: fmt.Sprint("call", n), Apply: filetime.Planned}
				for _, path := range paths {
					if !rapid.Bool().Draw(t, "in it") {
						continue
					}
					s, err := o.Read(context.Background(), path)
					if err != nil {
						t.Fatal(err)
					}
					e := filetime.FileEdit{Path: path, Base: s.Text, Rev: s.Rev, Edits: edits(t, s.Text)}
					if !s.Exists {
						e = filetime.FileEdit{Path: path, Create: true, Edits: text.Set{{New: "new one\n"}}}
					}
					c.Files = append(c.Files, e)
				}
				l, err := o.Commit(context.Background(), c)
				if len(c.Files) > 0 && err != nil {
					t.Fatalf("an edit of the present text: %v", err)
				}
				for _, f := range l.Files {
					if !f.Already {
						sizes[l.Plan]++
					}
				}
			case 5:
				for _, p := range o.List() {
					was, looked := all(base.Text), all(shown)
					l, landed, err := o.Approve(context.Background(), p.ID)
					switch {
					case err != nil && all(base.Text) != was:
						t.Fatalf("%s changed the base: %v", p.ID, err)
					case err == nil && (len(landed.Files) != sizes[p.ID] || l.State != overlay.Done || all(shown) != looked):
						t.Fatalf("%+v, %+v: shown was\n%s, is\n%s", l, landed, looked, all(shown))
					}
				}
			case 6:
				changes = false
				if list := o.List(); len(list) > 0 {
					if _, err := o.Discard(rapid.SampledFrom(list).Draw(t, "discarded").ID); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !changes && all(base.Text) != before {
				t.Fatalf("the base was\n%s, is\n%s", before, all(base.Text))
			}
			for _, p := range o.List() {
				want := sizes[p.ID]
				if p.State == overlay.Stale {
					want = 0
				}
				if len(p.Files) != want {
					t.Fatalf("%s is %s, and waits in %d files of %d", p.ID, p.State, len(p.Files), sizes[p.ID])
				}
			}
		}
		if _, err := o.Discard(); err != nil || all(shown) != all(base.Text) {
			t.Fatalf("%v: shown is\n%s, the base\n%s", err, all(shown), all(base.Text))
		}
	})
}

// edits are up to three that replace lower-case letters and blanks.
func edits(t *rapid.T, base text.Text) (set text.Set) {
	at := 0
	for range rapid.IntRange(1, 3).Draw(t, "edits") {
		if at >= base.Len() {
			break
		}
		start := rapid.IntRange(at, base.Len()).Draw(t, "start")
		for start < base.Len() && base.Slice(start, start+1) >= "\x80" {
			start++
		}
		end := start
		for n := rapid.IntRange(0, 6).Draw(t, "length"); n > 0 && end < base.Len(); n-- {
			if c := base.Slice(end, end+1); c != " " && c != "\n" && (c < "a" || c > "z") {
				break
			}
			end++
		}
		set = append(set, text.Edit{Start: start, End: end, New: rapid.SampledFrom([]string{"", "x", "new\n", "words of it"}).Draw(t, "new")})
		at = end + 1
	}
	return text.Trim(base, set)
}
