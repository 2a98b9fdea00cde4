package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
)

// process is one that stops before a call which changes something: on disk, or in the journal, which outlives it.
type process struct {
	calls, stop int
	dead        bool
	log         []string
	open        []disk.File
	timers      []func()

	intents []*noted
	kept    []string
}

type noted struct {
	disk.Intent
	outcome disk.Outcome
	mine    bool
}

// killed is what a process that stops panics with.
type killed struct{}

func (p *process) call(op, name string) {
	if p.calls++; p.calls == p.stop {
		p.dead = true
		for _, f := range p.open {
			_ = f.Close() // it may be closed
		}
	}
	if p.dead {
		panic(killed{})
	}
	p.log = append(p.log, op+" "+filepath.Base(name))
}

// run reports whether f came to its end.
func (p *process) run(f func()) (whole bool) {
	defer func() {
		if r := recover(); r != nil && !p.dead {
			panic(r)
		}
		whole = !p.dead
	}()
	f()
	for len(p.timers) > 0 {
		next := p.timers[0]
		p.timers = p.timers[1:]
		next()
	}
	return true
}

// next is the process that comes after it.
func (p *process) next() {
	p.calls, p.stop, p.dead, p.log, p.open, p.timers = 0, 0, false, nil, nil, nil
	for _, n := range p.intents {
		n.mine = false
	}
}

func (p *process) Begin(in disk.Intent) (int64, error) {
	p.call("begin", "")
	in.ID = int64(len(p.intents) + 1)
	p.intents = append(p.intents, &noted{Intent: in, mine: true})
	return in.ID, nil
}

func (p *process) Keep(_ int64, path string, data []byte) (string, error) {
	p.call("keep", path)
	p.kept = append(p.kept, string(data))
	return disk.Hash(data), nil
}

func (p *process) End(id int64, o disk.Outcome) error {
	p.call("end", "")
	p.intents[id-1].outcome = o
	return nil
}

func (p *process) Orphans() (out []disk.Intent, err error) {
	for _, n := range p.intents {
		if n.outcome == disk.Open && !n.mine {
			n.mine = true
			out = append(out, n.Intent)
		}
	}
	return out, nil
}

func (p *process) Open(path string) (disk.Dir, error) {
	if p.dead {
		panic(killed{})
	}
	d, err := disk.System(nil).Open(path)
	if err != nil {
		return nil, err
	}
	return &stoppingDir{d, p}, nil
}

type stoppingDir struct {
	disk.Dir
	p *process
}

func (d *stoppingDir) file(f disk.File, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	d.p.open = append(d.p.open, f)
	return &stoppingFile{f, d.p}, nil
}

func (d *stoppingDir) Open(name string) (disk.File, error) { return d.file(d.Dir.Open(name)) }

func (d *stoppingDir) Create(name string, mode fs.FileMode) (disk.File, error) {
	d.p.call("create", name)
	return d.file(d.Dir.Create(name, mode))
}

func (d *stoppingDir) Anonymous(mode fs.FileMode) (disk.File, error) {
	return d.file(d.Dir.Anonymous(mode))
}

func (d *stoppingDir) Mkdir(name string) error {
	d.p.call("mkdir", name)
	return d.Dir.Mkdir(name)
}

func (d *stoppingDir) Rename(name, as string) error {
	d.p.call("rename", as)
	return d.Dir.Rename(name, as)
}

func (d *stoppingDir) Place(name string, to disk.Dir, as string) error {
	d.p.call("place", as)
	return d.Dir.Place(name, to.(*stoppingDir).Dir, as)
}

func (d *stoppingDir) Exchange(a, b string) error {
	d.p.call("exchange", b)
	return d.Dir.Exchange(a, b)
}

func (d *stoppingDir) Remove(name string) error {
	d.p.call("remove", name)
	return d.Dir.Remove(name)
}

func (d *stoppingDir) Rmdir(name string) error {
	d.p.call("rmdir", name)
	return d.Dir.Rmdir(name)
}

func (d *stoppingDir) Sync() error {
	d.p.call("syncdir", "")
	return nil
}

type stoppingFile struct {
	disk.File
	p *process
}

func (f *stoppingFile) Write(b []byte) (int, error) {
	f.p.call("write", "")
	return f.File.Write(b)
}

func (f *stoppingFile) Name(in disk.Dir, name string) error {
	f.p.call("name", name)
	return f.File.Name(in.(*stoppingDir).Dir, name)
}

func (f *stoppingFile) Sync() error {
	f.p.call("sync", "")
	return nil
}

// begins gives the process's files, with an editor that has one of them open.
func (p *process) begins(b *buffer) *Workspace {
	w := New(Options{
		Roots:  everything(),
		Editor: b, Features: Features{Apply: true, Create: true, Save: true}, Journal: p, Closed: filetime.OnDisk,
	})
	o := w.diskOptions(disk.System(w.stored().Dir))
	o.FS, o.Go = p, func(f func()) { f() }
	o.After = func(_ time.Duration, f func()) func() bool {
		p.timers = append(p.timers, f)
		return func() bool { return true }
	}
	w.disk = disk.New(o)
	w.recovery = w.disk
	return w
}

// TestF152SeveralFilesCrash stops the process before each of its calls while a change of several files lands on disk and in a
// buffer, and while it is taken back because the last file refuses, with and without somebody who saves meanwhile. What the
// next process finds is what it reports, file by file; each file is whole, and all that ever was in one is to be had.
func TestF152SeveralFilesCrash(t *testing.T) {
	files := map[string]string{"a": "one\ntwo\nthree\n", "b": "b\n", "open": "four\nfive\n", "last": "last\n"}
	may := map[string][]string{
		"a": {files["a"], "one\n2\nthree\n"}, "b": {files["b"], "-"}, "new": {"-", "new\n"}, "last": {files["last"], "x\n", "-"},
		"open": {files["open"]}, // the buffer is changed and not saved
	}
	edits := []string{"open: four>4", "b: ", "new: new\n", "a: two>2", "last: last>x"}
	for _, tt := range []struct {
		name    string
		refuses bool
		since   map[string]string // what somebody saves before the last file's turn
		want    map[string]string // what becomes of it where nothing stops
	}{
		{"lands", false, nil, map[string]string{"a": "one\n2\nthree\n", "b": "-", "new": "new\n", "last": "x\n"}},
		{"is taken back", true, nil, map[string]string{"a": files["a"], "b": files["b"], "new": "-"}},
		{
			"somebody saves elsewhere", true,
			map[string]string{"a": "one\n2\nthree\nmore\n", "b": "again\n"},
			map[string]string{"a": "one\ntwo\nthree\nmore\n", "b": "again\n", "new": "-"},
		},
		{
			"somebody saves there", true,
			map[string]string{"a": "one\nzwei\nthree\n", "new": "newer\n"},
			map[string]string{"a": "one\nzwei\nthree\n", "b": files["b"], "new": "newer\n"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			partly, runs := 0, 0
			for stop := 1; ; stop++ {
				dir := t.TempDir()
				path := func(name string) string { return filepath.Join(dir, name) }
				ever := map[string]string{}
				put := func(name, content string) {
					ever[content] = name
					if err := errors.Join(os.WriteFile(path("other.swp"), []byte(content), 0o600), os.Rename(path("other.swp"), path(name))); err != nil {
						t.Fatal(err)
					}
				}
				for name, content := range files {
					put(name, content)
				}
				b := &buffer{uri: URI(path("open")), text: files["open"], ver: 1}
				p := &process{stop: stop}
				w := p.begins(b)
				b.w = w
				w.Open(path("open"), b.uri, 1, b.text)
				c := changing(t, w, path, edits...)
				for name, content := range files {
					ever[content] = name
				}
				saved := false
				w.o.Notify = func(s State) { // before the turn of the last
					if s.State != "written" || s.Path != path("a") || saved || !tt.refuses {
						return
					}
					saved = true
					if err := errors.Join(os.Remove(path("last")), os.Mkdir(path("last"), 0o755)); err != nil {
						t.Error(err)
					}
					for name, content := range tt.since {
						put(name, content)
					}
				}
				runs++
				whole := p.run(func() {
					_, err := w.Commit(t.Context(), c)
					var report *filetime.Incomplete
					if tt.refuses != errors.As(err, &report) {
						t.Errorf("got %v", err)
					}
				})
				did := p.log
				p.next()
				next := p.begins(&buffer{})
				var found []disk.Recovered
				if !p.run(func() {
					var err error
					if found, err = next.Recover(); err != nil {
						t.Error(err)
					}
				}) {
					t.Fatal("the recovery did not come to its end")
				}
				var all []string
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					got := on(t, path, e.Name())
					all = append(all, got)
					if _, known := may[e.Name()]; !known {
						t.Errorf("%s is left behind", e.Name())
					}
				}
				for name, texts := range may {
					got := on(t, path, name)
					if whole && name != "last" && tt.want[name] != "" && got != tt.want[name] {
						t.Errorf("%s says %q, want %q", name, got, tt.want[name])
					}
					if slices.Contains(texts, got) || got == tt.since[name] && saved || saved && tt.want[name] == got {
						continue
					}
					t.Errorf("%s says %q", name, got)
				}
				if b.text != files["open"] && b.text != "4\nfive\n" {
					t.Errorf("the buffer says %q", b.text)
				}
				for _, n := range p.intents {
					if n.outcome == disk.Open {
						t.Errorf("%+v is open", n.Intent)
					}
					for _, f := range n.Files {
						all = append(all, string(f.Before))
					}
				}
				all = append(all, p.kept...)
				for text, name := range ever {
					if !slices.Contains(all, text) && (name != "last" || len(p.intents) > 0) {
						t.Errorf("%q of %s is lost", text, name)
					}
				}
				// What is said of the last of the intents on a file is what the file says.
				told := map[string]bool{}
				for _, r := range slices.Backward(found) {
					outcomes := map[disk.Outcome]bool{}
					for i, f := range r.Intent.Files {
						how := r.Files[i].Outcome
						outcomes[how] = true
						if told[f.Path] {
							continue
						}
						told[f.Path] = true
						raw, err := os.ReadFile(f.Path)
						hash := ""
						if err == nil {
							hash = disk.Hash(raw)
						}
						want := disk.Foreign
						switch {
						case f.Buffer:
							want = disk.Unknown
						case hash == f.AfterHash && !errors.Is(err, fs.ErrInvalid) && !isFolder(f.Path):
							want = disk.Landed
						case hash == f.BeforeHash:
							want = disk.NotLanded
						}
						if how != want {
							t.Errorf("%s of %s is said to be %s, and is %s", f.Op, f.Path, how, want)
						}
					}
					want := disk.Partly
					if len(outcomes) == 1 {
						want = r.Files[0].Outcome
					}
					if outcomes[disk.Unknown] {
						want = disk.Unknown
					}
					if r.Outcome != want {
						t.Errorf("it is said to be %s and is %s", r.Outcome, want)
					}
					if len(outcomes) > 1 {
						partly++
					}
				}
				if t.Failed() {
					t.Fatalf("stopped at %d: %s\n%s", stop, strings.Join(did, ", "), fmt.Sprint(found))
				}
				if whole {
					break
				}
			}
			t.Logf("%d runs, %d of them cut short between the files", runs, partly)
			if partly < 5 {
				t.Error("too few")
			}
		})
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
