package workspace

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"tandem/filetime"
	"tandem/filetime/disk"
)

// asked is a context that does something the first time it is asked whether it is over: between the choice of where a
// change goes and its first step there.
type asked struct {
	context.Context
	once *sync.Once
	do   func()
}

func (a asked) Err() error {
	a.once.Do(a.do)
	return a.Context.Err()
}

// A document that is opened after the disk was chosen for its change is changed in the editor, and the disk is not touched.
func TestFindingT2OpenedOnTheWayToTheDisk(t *testing.T) {
	w, b, j, path := folder(t, map[string]string{"a": "one\ntwo\n"}, "")
	c := changing(t, w, path, "a: one>1")
	ctx := asked{t.Context(), new(sync.Once), func() {
		if where, err := w.sinkOf(w.file(path("a")), "", c.Files[0]); where != filetime.OnDisk || err != nil {
			t.Errorf("it was to go to %q, %v", where, err)
		}
		b.uri, b.text = URI(path("a")), "one\ntwo, typed\n"
		w.Open(path("a"), b.uri, 1, b.text)
	}}
	landed, err := w.Commit(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if b.tries != 1 || b.text != "1\ntwo, typed\n" {
		t.Errorf("the editor was asked %d times and says %q", b.tries, b.text)
	}
	if got := on(t, path, "a"); got != "one\ntwo\n" {
		t.Errorf("the disk says %q", got)
	}
	if l := landed.Files; len(l) != 1 || l[0].Source != "buffer" {
		t.Errorf("landed as %+v", l)
	}
	if got := j.told(w); got != "edit a in its buffer: landed" {
		t.Errorf("the journal has %q", got)
	}
}

// gated is a journal in which what is to be written down waits: its change has been worked out by then, and nothing of it
// has happened.
type gated struct {
	written
	begins chan string   // the call of each change that begins
	may    chan struct{} // lets one go on
}

func (g *gated) Begin(in disk.Intent) (int64, error) {
	g.begins <- in.Call
	<-g.may
	return g.written.Begin(in)
}

// Of two changes of one file the second is not worked out before the first has landed, wherever they go.
func TestFindingT4OneChangeOfAFileAtATime(t *testing.T) {
	for _, k := range []struct {
		name, open string
		first      []string // more than one file, so that nothing but the lock of its path keeps others from the file
	}{
		{"on disk", "", []string{"a: one>1", "b: two>2"}},
		{"in the editor", "b", []string{"b: two>2"}},
		{"in both", "b", []string{"a: one>1", "b: two>2"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, _, path := folder(t, map[string]string{"a": "one\n", "b": "two\nthree\n"}, k.open)
				g := &gated{begins: make(chan string, 9), may: make(chan struct{})}
				w = New(Options{Roots: everything(), Editor: b, Features: w.o.Features, Journal: g, Closed: filetime.OnDisk})
				if b.w = w; k.open != "" {
					w.Open(path(k.open), b.uri, 1, b.text)
				}
				var done sync.WaitGroup
				commit := func(call string, edits ...string) {
					c := changing(t, w, path, edits...)
					c.Call = call
					var paths []string
					for _, f := range c.Files {
						paths = append(paths, f.Path)
					}
					done.Go(func() {
						if err := locked(t.Context(), w, c, paths...); err != nil {
							t.Error(call, err)
						}
					})
					synctest.Wait()
				}
				begun := func() (calls []string) {
					for len(g.begins) > 0 {
						calls = append(calls, <-g.begins)
					}
					return calls
				}
				commit("first", k.first...)
				commit("second", "b: three>3")
				if got := begun(); !slices.Equal(got, []string{"first"}) {
					close(g.may)
					done.Wait()
					w.Settle()
					t.Fatalf("begun while the first is on its way: %q", got)
				}
				g.may <- struct{}{}
				synctest.Wait()
				if got := begun(); !slices.Equal(got, []string{"second"}) {
					t.Errorf("begun once the first has landed: %q", got)
				}
				close(g.may)
				done.Wait()
				s, err := w.Read(t.Context(), path("b"))
				if err != nil || s.Text.String() != "2\n3\n" {
					t.Errorf("b says %q, %v", s.Text, err)
				}
				w.Settle()
			})
		})
	}
}
