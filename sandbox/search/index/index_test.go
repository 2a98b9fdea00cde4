//go:build linux

package index

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/sandbox/tree/treetest"
)

var rounds = flag.Int("rounds", 1000, "how often the files are changed and searched")

// indexes makes Indexes that index every root, and a function that waits until what they do in the background is done.
func indexes(t *testing.T) (*Indexes, func()) {
	t.Helper()
	tasks := make(chan func(context.Context), 100)
	x := &Indexes{
		RunInBackground: func(f func(context.Context)) { tasks <- f },
		// What is written here is never written again at the same size and inode, so that the time of a change need not tell.
		Now: func() time.Time { return time.Now().Add(time.Minute) }, Least: 1,
	}
	return x, func() {
		for {
			select {
			case f := <-tasks:
				done := make(chan struct{})
				go func() { defer close(done); f(t.Context()) }()
				<-done
			default:
				return
			}
		}
	}
}

// holding lists the files of a tree that have a text, and how many were read for it.
func holding(t *testing.T, tr *tree.Tree, x *Indexes, text string) (out []string, read int) {
	t.Helper()
	err := Scan(t.Context(), tr, Options{Wants: func(string) bool { return true }, Need: [][]string{{text}}, Indexes: x},
		func() func(File) (bool, bool) {
			return func(f File) (bool, bool) {
				return bytes.Contains(f.Head, []byte(text)) && !bytes.Contains(f.Head, []byte{0}), true
			}
		},
		func(path string, has bool) bool {
			if read++; has {
				out = append(out, path)
			}
			return true
		})
	if err != nil {
		t.Fatal(err)
	}
	return out, read
}

// believed counts the folders of an index that a search does not look at, and those that it has.
func (x *Indexes) believed() (believed, all int) {
	for _, i := range x.roots {
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = i.top.each("", func(_ *folder, e *entry) error {
			if e.sub != nil {
				if all++; e.sub.valid {
					believed++
				}
			}
			return nil
		})
	}
	return believed, all
}

// hears says that the system tells of changes.
func (x *Indexes) hears() bool {
	for _, i := range x.roots {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.w != nil {
			return true
		}
	}
	return false
}

// TestListensAgain has the system be too late to tell of changes: a search a while later has it be asked to tell of them again.
func TestListensAgain(t *testing.T) {
	p := workspace(t, "a=one\n", "b/c=two\n")
	x, settle := indexes(t)
	now := time.Now().Add(time.Minute)
	x.Now = func() time.Time { return now }
	tr := treeIn(t, p, ".")
	search := func() {
		t.Helper()
		if found, _ := holding(t, tr, x, "one"); fmt.Sprint(found) != "[a]" {
			t.Errorf("%v are found", found)
		}
		settle()
	}
	search()
	if !x.hears() {
		t.Skip("this system does not tell of changes")
	}
	i := x.indexFor(tr)
	i.mu.Lock()
	i.stopWatch()
	i.mu.Unlock()
	if search(); x.hears() {
		t.Error("it is asked at once")
	}
	now = now.Add(watchRestartInterval)
	if search(); !x.hears() {
		t.Error("it is not asked again")
	}
	if believed, all := x.believed(); believed == 0 {
		t.Errorf("%d of %d folders are believed", believed, all)
	}
}

// TestTableBeforeTexts searches and lists when the table has been made and no text was read: by the table, and with all files.
func TestTableBeforeTexts(t *testing.T) {
	p := workspace(t, "a=one\n", "b/c=two\n", ".gitignore=d\n", ".git/config", "d=one\n", "e=\x00one")
	x, _ := indexes(t)
	tr := treeIn(t, p, ".")
	i := x.indexFor(tr)
	if _, err := i.pending(t.Context(), tr); err != nil {
		t.Fatal(err)
	}
	if found, read := holding(t, tr, x, "one"); fmt.Sprint(found, read) != "[a] 4" {
		t.Errorf("%v are found of %d", found, read)
	}
	if err := os.WriteFile(filepath.Join(p.Cwd, "f"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if found, _ := holding(t, tr, x, "one"); fmt.Sprint(found) != "[a f]" {
		t.Errorf("%v are found", found)
	}
	var names []string
	ok, ignored, err := i.walk(t.Context(), tr, 0, func(e tree.Entry) error { names = append(names, e.Path); return nil })
	if fmt.Sprint(names, ok, ignored, err) != "[.gitignore a b b/c e f] true 1 <nil>" {
		t.Error(names, ok, ignored, err)
	}
}

// TestIndexIsNeverStale changes files, folders and rules between searches, in which an index that is brought up to date now and then
// finds what a walk does.
func TestIndexIsNeverStale(t *testing.T) {
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprintf("watched=%t", watched), func(t *testing.T) { neverStale(t, watched, 0) })
	}
	t.Run("full", func(t *testing.T) { neverStale(t, true, 80*entryBytes+4000) })
}

// neverStale is with an index of so many bytes, 0 for all that it takes.
func neverStale(t *testing.T, watched bool, room int) {
	var files []string
	for n := range 80 {
		files = append(files, fmt.Sprintf("d%d/e%d/f%d=word%dx here\n", n%4, n%3, n%10, n))
	}
	p := workspace(t, append(files, ".gitignore=*.log\n", ".git/config", "bin=word1\x00")...)
	x, settle := indexes(t)
	x.unwatched, x.Bytes = !watched, room
	outside := t.TempDir()
	r := rand.New(rand.NewPCG(5, 6))
	words, size, partly, hearing := 80, 10, 0, 0
	at := func() string {
		return filepath.Join(p.Cwd, fmt.Sprintf("d%d/e%d/f%d", r.IntN(4), r.IntN(3), r.IntN(10)))
	}
	must := func(err error) {
		if err != nil && !os.IsNotExist(err) && !os.IsExist(err) && !strings.Contains(err.Error(), "not empty") &&
			!strings.Contains(err.Error(), "directory") && !strings.Contains(err.Error(), "symbolic links") {
			t.Fatal(err)
		}
	}
	for round := range *rounds {
		word := fmt.Sprintf("word%dx", r.IntN(words))
		file, other := at(), at()
		size++
		content := []byte(fmt.Sprintf("%s WORD%d\n%s\n", word, words, strings.Repeat("x", size)))
		switch r.IntN(34) {
		case 0, 1, 2, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33:
			words++
			must(os.MkdirAll(filepath.Dir(file), 0o755))
			must(os.WriteFile(file, content, 0o644))
		case 3:
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if must(err); err == nil {
				_, err = f.Write(content)
				must(err)
				must(f.Close())
			}
		case 4:
			must(os.WriteFile(filepath.Join(p.Cwd, "new"), content, 0o644))
			must(os.Rename(filepath.Join(p.Cwd, "new"), file))
		case 5:
			must(os.Remove(file))
		case 6:
			must(os.Rename(file, other))
		case 7:
			must(os.Rename(filepath.Dir(file), filepath.Dir(other)))
		case 8:
			must(os.WriteFile(file+".log", content, 0o644))
		case 9:
			must(os.WriteFile(filepath.Join(p.Cwd, []string{".", "d1", "d2/e1"}[r.IntN(3)], []string{".gitignore", ".ignore"}[r.IntN(2)]),
				[]byte([]string{"*.log\n", "f1\n", "e2\n", "!*.log\n", "d3/\n"}[r.IntN(5)]+strings.Repeat("#", size)+"\n"), 0o644))
		case 10:
			must(os.Symlink("f1", file))
		case 11: // a name elsewhere, which is noticed now and then
			must(os.Remove(filepath.Join(outside, "linked")))
			must(os.Link(file, filepath.Join(outside, "linked")))
			if r.IntN(2) == 0 {
				x.check(treeIn(t, p, "."))
				break
			}
			must(os.WriteFile(filepath.Join(outside, "linked"), content, 0o644))
			x.Invalidate() // as after a command
		case 18, 19:
			if _, err := os.Lstat(filepath.Join(outside, "linked")); err == nil {
				must(os.WriteFile(filepath.Join(outside, "linked"), content, 0o644))
			}
		case 12: // a folder goes to where nobody looks, changes, and comes back, maybe elsewhere
			must(os.RemoveAll(filepath.Join(outside, "folder")))
			if err := os.Rename(filepath.Dir(file), filepath.Join(outside, "folder")); err == nil {
				if r.IntN(2) == 0 {
					holding(t, treeIn(t, p, "."), x, word)
				}
				must(os.WriteFile(filepath.Join(outside, "folder", "f1"), content, 0o644))
				must(os.Rename(filepath.Join(outside, "folder"), filepath.Dir(other)))
			}
		case 13: // two folders change places, with what is in them
			a, b := filepath.Join(p.Cwd, fmt.Sprintf("d%d", r.IntN(4))), filepath.Join(p.Cwd, fmt.Sprintf("d%d/e%d", r.IntN(4), r.IntN(3)))
			if r.IntN(2) == 0 {
				b = filepath.Join(p.Cwd, fmt.Sprintf("d%d", r.IntN(4)))
			}
			must(os.Rename(a, filepath.Join(p.Cwd, "between")))
			must(os.Rename(b, a))
			must(os.Rename(filepath.Join(p.Cwd, "between"), b))
			must(os.Rename(filepath.Join(p.Cwd, "between"), a))
			must(os.WriteFile(filepath.Join(a, "e1", "f1"), content, 0o644))
			must(os.WriteFile(filepath.Join(b, "f1"), content, 0o644))
		case 14: // a repository in a folder, with rules of its own
			must(os.MkdirAll(filepath.Join(filepath.Dir(file), ".git", "info"), 0o755))
			must(os.WriteFile(filepath.Join(filepath.Dir(file), ".git", "info", "exclude"), []byte(fmt.Sprintf("f%d*\n#%d", r.IntN(9), size)), 0o644))
		case 15:
			must(os.RemoveAll(filepath.Join(filepath.Dir(file), ".git")))
		case 16: // through a descriptor that was opened before its folder got another name
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if must(err); err == nil {
				must(os.Rename(filepath.Dir(file), filepath.Join(p.Cwd, fmt.Sprintf("d%d/e%d", r.IntN(4), 3+r.IntN(2)))))
				holding(t, treeIn(t, p, "."), x, word)
				_, err = f.Write(content)
				must(err)
				must(f.Close())
			}
		case 17: // the same length, the same inode, and the time put back
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
				text, err := os.ReadFile(file)
				must(err)
				if at := bytes.Index(text, []byte("word")); at >= 0 {
					text[at+3] ^= 1
				}
				must(os.WriteFile(file, text, 0o644))
				must(os.Chtimes(file, info.ModTime(), info.ModTime()))
			}
		}
		dir := []string{".", ".", "d1", "d2/e1"}[r.IntN(4)]
		tr, err := open(p, filepath.Join(p.Cwd, dir))
		if err != nil {
			continue
		}
		want, _ := holding(t, tr, nil, word)
		got, _ := holding(t, tr, x, word)
		if !slices.Equal(got, want) {
			t.Fatalf("round %d, %s in %s: %q\nwant %q", round, word, dir, got, want)
		}
		depth := r.IntN(3)
		if got, want := listed(t, depth, func(visit func(tree.Entry) error) (int, error) { return x.Walk(t.Context(), tr, depth, visit) }),
			listed(t, depth, func(visit func(tree.Entry) error) (int, error) { return tr.Walk(t.Context(), depth, visit) }); !slices.Equal(got, want) {
			t.Fatalf("round %d, %s: %q\nwant %q", round, dir, got, want)
		}
		if round%10 == 5 {
			top := treeIn(t, p, ".")
			holding(t, top, x, word)
			settle()
			heard := x.hears() // not where the system was too busy to tell of changes in time
			if believed, all := x.believed(); (believed > 0) != heard && all > 0 || heard && !watched {
				t.Fatalf("%d of %d folders are believed", believed, all)
			}
			if heard {
				hearing++
			}
			_, all := holding(t, top, nil, "no such text")
			if _, read := holding(t, top, x, "no such text"); room == 0 && all > 20 && 2*read > all && round > 100 {
				t.Fatalf("round %d: %d of %d files were read", round, read, all)
			}
			if s := x.States()[0]; s.Reason != "" {
				partly++
			}
		}
	}
	if partly == 0 == (room > 0) {
		t.Errorf("the index was full %d times", partly)
	}
	if hearing == 0 == watched {
		t.Errorf("changes were heard of %d times", hearing)
	}
	if s := x.States(); len(s) != 1 || s[0].State != "ready" || s[0].Bytes == 0 {
		t.Errorf("%+v", s)
	}
}

// listed is what a walk comes by.
func listed(t *testing.T, depth int, walk func(func(tree.Entry) error) (int, error)) (out []string) {
	t.Helper()
	ignored, err := walk(func(e tree.Entry) error {
		size, ok := e.Size()
		if ok != e.Type.IsRegular() {
			t.Errorf("%s: a size is known: %t", e.Path, ok)
		}
		out = append(out, fmt.Sprint(e.Path, e.Type, size))
		if depth == 2 && strings.HasSuffix(e.Path, "e1") {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(out, fmt.Sprint(ignored, " ignored"))
}

// check looks at what is believed, as is done now and then.
func (x *Indexes) check(t *tree.Tree) {
	for _, i := range x.roots {
		i.check(context.Background(), t)
	}
}

func treeIn(t *testing.T, p *sandbox.Paths, dir string) *tree.Tree {
	t.Helper()
	tr, err := open(p, filepath.Join(p.Cwd, dir))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func workspace(t *testing.T, files ...string) *sandbox.Paths {
	t.Helper()
	dir := treetest.Workspace(t, files...)
	return &sandbox.Paths{Cwd: dir, Read: []string{dir}}
}

// open opens a directory by its canonical path.
func open(p *sandbox.Paths, dir string) (*tree.Tree, error) {
	place, err := p.Readable(dir)
	if err != nil {
		return nil, err
	}
	return tree.Open(place)
}

// An index of too many files is given up, and the reason is told.
func TestTooManyFiles(t *testing.T) {
	p := workspace(t, "a=some text", "b=more text", "c=text")
	x, settle := indexes(t)
	x.Files = 2
	tr := treeIn(t, p, ".")
	for range 3 {
		if got, read := holding(t, tr, x, "more"); len(got) != 1 || read != 3 {
			t.Errorf("%v, %d read", got, read)
		}
		settle()
	}
	if s := x.States(); len(s) != 1 || s[0].State != "walking" || s[0].Reason != "it has more than 2 files" {
		t.Errorf("%+v", s)
	}
}

// TestIndexHasWhatFits: an index takes files in until it is as large as it may be. The others are read by each search, until enough files are
// gone for the rest.
func TestIndexHasWhatFits(t *testing.T) {
	p := workspace(t)
	write := func(from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			text := fmt.Sprintf("word%dx and %x\n", n, n*n*n*n)
			if err := os.WriteFile(filepath.Join(p.Cwd, fmt.Sprintf("f%03d", n)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			if err := os.Remove(filepath.Join(p.Cwd, fmt.Sprintf("f%03d", n))); err != nil {
				t.Fatal(err)
			}
		}
	}
	x, settle := indexes(t)
	tr := treeIn(t, p, ".")
	check := func(files int, reason string, read int, words ...int) {
		t.Helper()
		holding(t, tr, x, "no such text")
		settle()
		if s := x.States()[0]; s.State != "ready" || s.Files != files || s.Reason != reason || s.Files > 0 && x.Bytes > 0 && s.Bytes > x.Bytes {
			t.Errorf("%+v, want %d files, %q, %d bytes", s, files, reason, x.Bytes)
		}
		if _, n := holding(t, tr, x, "no such text"); n != read {
			t.Errorf("%d files are read, want %d", n, read)
		}
		for _, n := range words {
			word := fmt.Sprintf("word%dx", n)
			want, _ := holding(t, tr, nil, word)
			if got, _ := holding(t, tr, x, word); !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s: %q, want %q", word, got, want)
			}
		}
	}
	write(0, 30)
	check(30, "", 0, 0, 29)
	x.Bytes = x.States()[0].Bytes + 70*entryBytes + 100
	write(30, 99)
	if err := os.WriteFile(filepath.Join(p.Cwd, "f099"), []byte("word99x\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	const over = "%d of %d files are read by each search, as with them it would take more than 0 MiB"
	check(31, fmt.Sprintf(over, 69, 100), 69, 0, 29, 30, 98) // a binary file is known to be one
	remove(50, 51)
	write(50, 51)
	check(31, fmt.Sprintf(over, 69, 100), 69, 50)
	remove(5, 30)
	remove(35, 100)
	check(10, "", 0, 0, 34)
	x.Bytes = 70*entryBytes + 10 // less than the table will take
	write(100, 200)
	check(0, fmt.Sprintf(over, 110, 110), 110, 0, 34, 100, 199)
}

// TestHowOftenAllIsLookedAt: what no event tells of is looked for two seconds after the last look has ended, or nine times as long as it worked.
func TestHowOftenAllIsLookedAt(t *testing.T) {
	p := workspace(t, "a=one\n", "b/c=two\n")
	x, settle := indexes(t)
	now, tick := time.Now().Add(time.Minute), time.Duration(0)
	x.Now = func() time.Time { now = now.Add(tick); return now }
	looks, later := 0, x.RunInBackground
	x.RunInBackground = func(f func(context.Context)) { looks++; later(f) }
	tr := treeIn(t, p, ".")
	holding(t, tr, x, "one")
	settle() // the index is there
	looks = 0
	search := func(after time.Duration, want int, why string) {
		t.Helper()
		now = now.Add(after)
		holding(t, tr, x, "one")
		holding(t, tr, x, "one")
		if looks != want {
			t.Errorf("%s: %d looks, want %d", why, looks, want)
		}
		looks = 0
		settle()
	}
	search(0, 0, "all was looked at for the table")
	search(checkInterval+time.Millisecond, 1, "first")
	search(0, 0, "at once")
	search(checkInterval+time.Millisecond, 1, "later")
	tick = time.Second // which each of two folders takes, and what is between
	search(20*time.Second, 1, "slow")
	tick = 0
	search(checkInterval+time.Second, 0, "after a slow one")
	search(time.Minute, 1, "long after it")
}

// A large file is indexed in parts of whole lines: it is read for what one line of it may have, or, where a match may have several lines,
// for what may be anywhere in it.
func TestLargeFilesAreIndexedInParts(t *testing.T) {
	filler := strings.Repeat("something else in a line\n", 8000)
	p := workspace(t, "large=alpha one\n"+filler+"beta two\n"+filler+"alpha beta\n"+filler+"gamma", "small=alpha\nbeta\n")
	x, settle := indexes(t)
	tr := treeIn(t, p, ".")
	holding(t, tr, x, "alpha")
	settle()
	for _, c := range []struct {
		need    string
		oneLine bool
		read    int
	}{
		{"alpha one", true, 1},
		{"alpha two", true, 0},
		{"alpha,two", true, 0},
		{"alpha,two", false, 1},
		{"alpha,beta", true, 2},
		{"gamma", true, 1},
		{"gamma,one", true, 0},
		{"gamma,one", false, 1},
		{"nothing", false, 1}, // a file of several parts is always read then
	} {
		var need [][]string
		for _, text := range strings.Split(c.need, ",") {
			need = append(need, []string{text})
		}
		read := 0
		err := Scan(t.Context(), tr, Options{Wants: func(string) bool { return true }, Need: need, OneLine: c.oneLine, Indexes: x},
			func() func(File) (int, bool) { return func(f File) (int, bool) { return len(f.Head), true } },
			func(path string, size int) bool {
				if read++; path == "large" && size != 3*len(filler)+len("alpha one\nbeta two\nalpha beta\ngamma") {
					t.Errorf("%d bytes of %s were read", size, path)
				}
				return true
			})
		if err != nil {
			t.Fatal(err)
		}
		if read != c.read {
			t.Errorf("%q in one line %t: %d files are read, want %d", c.need, c.oneLine, read, c.read)
		}
	}
}

// A file that is made, changed or removed in the root has one folder looked at again, not all.
func TestChangesInTheRoot(t *testing.T) {
	p := workspace(t, "a/one=text", "b/two=text", "b/c/three=text")
	x, settle := indexes(t)
	tr := treeIn(t, p, ".")
	holding(t, tr, x, "text")
	settle()
	holding(t, tr, x, "text")
	name := filepath.Join(p.Cwd, "new")
	for step, change := range []func() error{
		func() error { return os.WriteFile(name, []byte("text"), 0o644) },
		func() error { return os.WriteFile(name, []byte("other"), 0o644) },
		func() error { return os.Remove(name) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for _, i := range x.roots {
			i.mu.Lock()
			b := i.top.find("b").sub
			b.settled = false // until it is looked at
			i.mu.Unlock()
			holding(t, tr, x, "text")
			i.mu.Lock()
			if b.settled {
				t.Errorf("step %d: the folder b was looked at again", step)
			}
			i.mu.Unlock()
		}
		want, _ := holding(t, tr, nil, "text")
		if got, _ := holding(t, tr, x, "text"); !slices.Equal(got, want) {
			t.Errorf("step %d: %q, want %q", step, got, want)
		}
	}
}

// While somebody searches, an index has a table and reads no text, but not for ever.
func TestIndexIsBuiltBetweenSearches(t *testing.T) {
	p := workspace(t, "a=one\n", "b/c=two\n")
	tr := treeIn(t, p, ".")
	now := time.Now().Add(time.Minute) // in a bubble it is another day
	for _, forEver := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			later := func(f func(context.Context)) { go f(t.Context()) }
			x := &Indexes{RunInBackground: later, Now: func() time.Time { return now }, unwatched: true}
			i := x.indexFor(tr)
			segments := func() int {
				i.mu.Lock()
				defer i.mu.Unlock()
				return len(i.segments)
			}
			end := x.searches.begin()
			i.build(tr)
			synctest.Wait()
			if s := x.States()[0]; s.State != "building" || i.table.Load() != tableReady || segments() != 0 {
				t.Errorf("during a search: %+v, %d segments", s, segments())
			}
			if forEver {
				time.Sleep(buildWaitBudget)
			} else {
				end()
			}
			synctest.Wait()
			if s := x.States()[0]; s.State != "ready" || segments() != 1 {
				t.Errorf("after it: %+v, %d segments", s, segments())
			}
		})
	}
}

// A scan of the whole root that comes while the first table is made waits for it, and until it is told to end; one of a folder does not.
func TestScanWaitsForTheFirstTable(t *testing.T) {
	p := workspace(t, "a=one\n", "b/c=two\n")
	tr, below := treeIn(t, p, "."), treeIn(t, p, "b")
	synctest.Test(t, func(t *testing.T) {
		var build func(context.Context)
		x := &Indexes{RunInBackground: func(f func(context.Context)) { build = f }, Now: time.Now, unwatched: true}
		i := x.indexFor(tr)
		i.build(tr)
		i.table.Store(tableBuilding) // as the build does first
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var waited, ended bool
		go func() { waited = i.awaitTable(t.Context(), tr) }()
		go func() { ended = !i.awaitTable(ctx, tr) }()
		if i.awaitTable(t.Context(), below) {
			t.Error("a scan of a folder waits")
		}
		synctest.Wait()
		if waited || ended || i.table.Load() != tableBuildingParallel {
			t.Errorf("before it is made: waited %t, ended %t, %d", waited, ended, i.table.Load())
		}
		cancel()
		synctest.Wait()
		if !ended {
			t.Error("a scan that was told to end waits on")
		}
		build(t.Context())
		synctest.Wait()
		if !waited {
			t.Error("the scan waits though there is a table")
		}
	})
}

// A first table that cannot be made lets those go that wait for it, and they walk; the next build begins as the first one.
func TestNoFirstTable(t *testing.T) {
	files := make([]string, 0, 30)
	for n := range 30 {
		files = append(files, fmt.Sprintf("d%d/f=text", n))
	}
	p := workspace(t, files...)
	tr := treeIn(t, p, ".")
	for name, ready := range map[string]func(x *Indexes){
		"it has more than 10 files": func(x *Indexes) { x.Files = 10 },
		"the end":                   func(*Indexes) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			var build func(context.Context)
			x := &Indexes{RunInBackground: func(f func(context.Context)) { build = f }, Now: time.Now, unwatched: true}
			ready(x)
			i := x.indexFor(tr)
			i.build(tr)
			i.table.Store(tableBuilding)
			var waited time.Duration
			go func() {
				began := time.Now()
				if i.awaitTable(t.Context(), tr) {
					t.Error("there is a table")
				}
				waited = time.Since(began)
			}()
			synctest.Wait()
			time.Sleep(time.Second)
			ctx, cancel := context.WithCancelCause(t.Context())
			if name == "the end" {
				cancel(errors.New(name))
			}
			build(ctx)
			synctest.Wait()
			if s := x.States()[0]; waited != time.Second || i.table.Load() != tableNone || s.State != "walking" || s.Reason != name {
				t.Errorf("%s: waited %v, %d, %+v", name, waited, i.table.Load(), s)
			}
			cancel(nil)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		x := &Indexes{RunInBackground: func(func(context.Context)) {}, Now: time.Now, unwatched: true}
		i := x.indexFor(tr)
		i.build(tr)
		i.table.Store(tableBuilding)
		began := time.Now()
		if i.awaitTable(t.Context(), tr) || time.Since(began) != tableTimeout {
			t.Errorf("waited %v for a table that takes long", time.Since(began))
		}
	})
}

// A pass that begins on one thread and is hurried in the middle of a level makes the table that a walk sees.
func TestHurriedPass(t *testing.T) {
	files := make([]string, 0, 200)
	for n := range 200 {
		files = append(files, fmt.Sprintf("d%d/e%d/f=text", n%40, n))
	}
	files = append(files, "d0/e0/g/h=text")
	p := workspace(t, files...)
	tr := treeIn(t, p, ".")
	var want []string
	if _, err := tr.Walk(t.Context(), 0, func(e tree.Entry) error { want = append(want, e.Path); return nil }); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{0, 1, 20, 100, 1000} {
		x := &Indexes{RunInBackground: func(func(context.Context)) {}, Now: time.Now, unwatched: true}
		i := x.indexFor(tr)
		i.top = &folder{at: "."}
		asked := 0
		if err := i.refresh(t.Context(), tr, "", func() bool { asked++; return asked > after }); err != nil {
			t.Fatal(err)
		}
		var got []string
		_ = i.top.each("", func(f *folder, e *entry) error { got = append(got, f.join(e.name)); return nil })
		x.Files = 10 // of twice as many files a first pass ends, before it goes deeper
		i.top = &folder{at: "."}
		if err := i.refresh(t.Context(), tr, "", nil); !errors.As(err, new(gaveUpError)) || len(i.top.find("d0").sub.subs[0].entries) == 0 {
			t.Errorf("a pass that is too large: %v", err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("hurried after %d: %d entries, want %d", after, len(got), len(want))
		}
	}
}
