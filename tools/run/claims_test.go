package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/edit"
	"tandem/tools/run"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

// slowFiles take a second for each commit, and panic in one that is told to.
type slowFiles struct {
	filetime.Files
	panics bool
}

func (f *slowFiles) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	if c.Apply != filetime.None {
		time.Sleep(time.Second)
		if f.panics {
			panic("boom")
		}
	}
	return f.Files.Commit(ctx, c)
}

// two are two sessions over the same files and claims.
func two(t *testing.T) (a, b *toolstest.World, files *slowFiles) {
	t.Helper()
	a, b = toolstest.NewWorld(t, edit.New(), write.New()), toolstest.NewWorld(t, edit.New(), write.New())
	b.Root, b.Files, b.Env.Paths = a.Root, a.Files, a.Env.Paths
	files = &slowFiles{Files: a.Files}
	claims := &run.Claims{}
	for i, w := range []*toolstest.World{a, b} {
		w.Env.Session = []string{"ann", "bob"}[i]
		w.FileTime = filetime.New(files, w.Env.Session, nil)
		w.Env.FileTime = w.FileTime
		w.Host.Files, w.Host.Claims, w.Host.Now = files, claims, time.Now
	}
	return a, b, files
}

func editing(old, changed string) string {
	return fmt.Sprintf(`{"path":"f","old_text":%q,"new_text":%q}`, old, changed)
}

func TestF192Claims(t *testing.T) {
	for _, c := range []struct {
		name, tool, args string // what the second session asks for, half a second after the first began
		typed            text.Set
		code             string
		took             time.Duration
	}{
		{"the same text", "edit_file", editing("two", "2"), nil, "CLAIMED", 0},
		{"a part of it", "edit_file", editing("one\ntwo\nthree", "all"), nil, "CLAIMED", 0},
		{"another line", "edit_file", editing("four", "4"), nil, "", 1500 * time.Millisecond},
		{"the line beside it", "edit_file", editing("three", "3"), nil, "", 1500 * time.Millisecond},
		{"all of it", "write_file", `{"path":"f","content":"new"}`, nil, "CLAIMED", 0},
		{"another file", "write_file", `{"path":"g","content":"new"}`, nil, "", time.Second},
		{"the same text, which has moved", "edit_file", editing("two", "2"), text.Set{{Start: 0, End: 0, New: "zero\n"}}, "CLAIMED", 0},
		{"another line, where the first was", "edit_file", editing("one", "1"), text.Set{{Start: 0, End: 0, New: "zeroes\n"}}, "", 1500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, _ := two(t)
				a.Files.Put(a.Path("f"), "one\ntwo\nthree\nfour\n", true)
				for _, w := range []*toolstest.World{a, b} {
					snap, err := w.Host.Files.Read(t.Context(), w.Path("f"))
					if err != nil {
						t.Fatal(err)
					}
					w.FileTime.Read(snap, 1, snap.Text.LineCount())
				}
				first := make(chan tools.Result)
				go func() { first <- a.Call("edit_file", editing("two", "TWO")) }()
				time.Sleep(500 * time.Millisecond)
				if c.typed != nil {
					a.Files.Type(a.Path("f"), c.typed, filetime.User)
				}
				held := a.Host.Claims.List("")
				if len(held) != 1 || held[0].Session != "ann" || held[0].Call != "call1" || held[0].Whole || held[0].Path != a.Path("f") {
					t.Fatalf("claims %+v", held)
				}
				equal(t, "claimed text", held[0].Text.Slice(held[0].Start, held[0].End), "two")
				began := time.Now()
				r := b.Call(c.tool, c.args)
				equal(t, "code of "+r.Data, string(r.Error), c.code)
				equal(t, "time", time.Since(began), c.took)
				if c.code != "" && !strings.Contains(r.Data, "session ann, call call1") {
					t.Errorf("it does not name the holder: %s", r.Data)
				}
				if r := <-first; !r.Success {
					t.Error(r.Data)
				}
				// It ends with the call.
				equal(t, "claims", len(a.Host.Claims.List("")), 0)
				if again := b.Call("edit_file", editing("four", "4")); again.Error == tools.Claimed {
					t.Error(again.Data)
				}
			})
		})
	}
}

// TestF192ClaimsEnd: a claim ends with its call, also one that crashed, was cancelled, or whose time was over; and a session does not shut
// itself out.
func TestF192ClaimsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, files := two(t)
		a.Files.Put(a.Path("f"), "one\ntwo\n", true)
		snap, err := files.Read(t.Context(), a.Path("f"))
		if err != nil {
			t.Fatal(err)
		}
		a.FileTime.Read(snap, 1, 2)
		b.FileTime.Read(snap, 1, 2)
		files.panics = true
		equal(t, "crashed", a.Call("edit_file", editing("two", "2")).Error, tools.ExecutionError)
		equal(t, "after a crash", len(a.Host.Claims.List("")), 0)
		files.panics = false
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		toolstest.One(ctx, a.Host, run.Call{ID: "x", Name: "edit_file", Arguments: []byte(editing("one", "1"))})
		equal(t, "after a cancel", len(a.Host.Claims.List("")), 0)
		done := make(chan tools.Result, 2)
		for _, args := range []string{editing("two", "2"), editing("two", "zwei")} {
			go func() {
				done <- toolstest.One(t.Context(), b.Host, run.Call{ID: args, Name: "edit_file", Arguments: []byte(args)})
			}()
		}
		for range 2 {
			if r := <-done; r.Error == tools.Claimed {
				t.Errorf("its own claim: %s", r.Data)
			}
		}
		equal(t, "in the end", len(a.Host.Claims.List("")), 0)
	})
}
