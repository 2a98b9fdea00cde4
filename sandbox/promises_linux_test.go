package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"tandem/sandbox/git"
)

// place gives the Place of a path in the folder of a jail.
func (p *Paths) in(t *testing.T, name string) Place {
	t.Helper()
	place, err := p.Readable(name)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// TestFoldersHeldOpen: a folder that is held open gives its entries by their names, whatever its path leads to by now, until the last use of it
// has ended; no link is followed, and a file with further names is judged by all of them. With and without openat2.
func TestFoldersHeldOpen(t *testing.T) {
	for _, walks := range []bool{false, true} {
		p, dir := jail(t, map[string]string{
			"home/.ssh/id_rsa": "key", "app/sub/a": "text of a", "app/sub/deep/b": "b", "app/sub/link": "-> a", "app/sub/away": "-> ..", "app/sub/empty": "", "app/other/a": "another",
		})
		p.Roots = &Roots{Home: p.Home, walks: walks}
		must(t, os.Link(dir+"/app/sub/a", dir+"/app/sub/twice"), os.Link(dir+"/home/.ssh/id_rsa", dir+"/app/sub/innocent"), syscall.Mkfifo(dir+"/app/sub/fifo", 0o600))
		d, err := p.in(t, ".").OpenDir("sub")
		if err != nil {
			t.Fatal(err)
		}
		deep, err := d.Sub("deep")
		if err != nil {
			t.Fatal(err)
		}
		must(t, os.Rename(dir+"/app/sub", dir+"/app/moved"), os.Rename(dir+"/app/other", dir+"/app/sub"))
		must(t, os.Rename(dir+"/app/sub", dir+"/app/other"), os.Rename(dir+"/app/moved", dir+"/app/sub"))
		read := func(d *Dir, name string, room int) string {
			buf := make([]byte, room)
			n, rest, err := d.Read(name, buf)
			if err != nil {
				var judged *PathError
				if errors.As(err, &judged) {
					return judged.Code
				}
				return "error"
			}
			out := string(buf[:n])
			if rest != nil {
				more, err := io.ReadAll(rest)
				if err != nil {
					t.Error(err)
				}
				_ = rest.Close()
				out += "|" + string(more)
			}
			return out
		}
		for _, tt := range []struct {
			name string
			room int
			want string
		}{
			{"a", 100, "text of a"},
			{"a", 9, "text of a|"},
			{"a", 4, "text| of a"},
			{"twice", 100, "text of a"},
			{"twice", 4, "text| of a"},
			{"empty", 10, ""},
			{"innocent", 100, "PROTECTED_PATH"},
			{"link", 10, "error"},
			{"away", 10, "error"},
			{"none", 10, "error"},
			{"deep", 10, "error"},
			{"fifo", 10, "error"},
		} {
			if got := read(d, tt.name, tt.room); got != tt.want {
				t.Errorf("walks %v: %s with room for %d: %q, want %q", walks, tt.name, tt.room, got, tt.want)
			}
		}
		if got := read(deep, "b", 10); got != "b" {
			t.Errorf("%q", got)
		}
		for name, want := range map[string]error{"link": syscall.ENOTDIR, "away": nil, "a": syscall.ENOTDIR, "none": fs.ErrNotExist} {
			if sub, err := d.Sub(name); err == nil || want != nil && !errors.Is(err, want) && !errors.Is(err, syscall.ELOOP) {
				t.Errorf("%s: %v, %v", name, sub, err)
			}
		}
		for name, want := range map[string]fs.FileMode{"a": 0, "deep": fs.ModeDir, ".": fs.ModeDir, "link": fs.ModeSymlink, "fifo": fs.ModeNamedPipe, "twice": 0} {
			i, err := d.Ident(name)
			if err != nil || i.Type != want || i.Linked() != (name == "a" || name == "twice") {
				t.Errorf("%s: %+v, %v", name, i, err)
			}
		}
		if i, err := d.Ident("none"); err == nil || i != (Ident{}) {
			t.Errorf("%+v", i)
		}
		a, _ := d.Ident("a")
		twice, _ := d.Ident("twice")
		other, _ := d.Ident("empty")
		if !a.Same(twice) || a.Same(other) || a != twice || a.Bare() == a {
			t.Errorf("%+v, %+v, %+v", a, twice, other)
		}
		if d.Crossed() || deep.Crossed() || d.Remote() {
			t.Error("a mount lies between")
		}
		names := func() string {
			entries, err := d.Entries()
			if err != nil {
				return "closed"
			}
			var out []string
			for _, e := range entries {
				out = append(out, e.Name())
			}
			slices.Sort(out)
			return strings.Join(out, " ")
		}
		if got := names(); got != "a away deep empty fifo innocent link twice" {
			t.Error(got)
		}
		classes := d.Classes()
		if d.Place("a").Path() != dir+"/app/sub/a" || classes("a") != Plain || classes(".env") != Secret || classes(".git") != Own {
			t.Errorf("%v, %v", d.Place("a"), classes(".env"))
		}
		d.Hold()
		d.Close()
		if got := names(); got == "closed" {
			t.Error("it is closed while somebody uses it")
		}
		d.Close()
		if got := names(); got != "closed" {
			t.Error("it is open when nobody uses it")
		}
		deep.Close()
		p.Close()
		for _, rel := range []string{"..", "/etc", "a/../.."} {
			if d, err := p.in(t, ".").OpenDir(rel); err == nil {
				d.Close()
				t.Errorf("%s is below", rel)
			}
		}
		if _, err := (Place{}).OpenDir("."); err == nil {
			t.Error("the zero Place")
		}
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		p := &Paths{Cwd: "/", Read: []string{"/"}}
		defer p.Close()
		d, err := p.in(t, "/").OpenDir("proc")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		sub, err := d.Sub("sys")
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		if !d.Crossed() || !sub.Crossed() {
			t.Error("the file system of processes is not mounted")
		}
	}
}

// TestOpenByName: without openat2 a path is opened name by name, as with it: what is no folder, a link, or not there fails in the same way.
func TestOpenByName(t *testing.T) {
	_, dir := jail(t, map[string]string{"app/a/b": "x", "app/link": "-> a", "app/a/up": "-> ../.."})
	at, err := unix.Open(dir+"/app", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	for rel, want := range map[string]error{"a/b": nil, "a": nil, ".": nil, "link": unix.ELOOP, "link/b": unix.ELOOP, "a/up/x": unix.ELOOP, "none": unix.ENOENT, "a/none/x": unix.ENOENT, "a/b/c": unix.ENOTDIR} {
		for _, walk := range []bool{false, true} {
			fd, crossed, err := beneath(at, rel, unix.O_RDONLY, walk)
			if !errors.Is(err, want) || (err == nil) != (want == nil) || crossed {
				t.Errorf("%s, walk %v: %v, %v, want %v", rel, walk, crossed, err, want)
			}
			if err == nil {
				_ = unix.Close(fd)
			}
		}
	}
	if fd, _, err := byName(-1, "a", unix.O_RDONLY); err == nil || fd != -1 {
		t.Errorf("without a folder: %d, %v", fd, err)
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	for _, walk := range []bool{false, true} {
		if fd, _, err := beneath(root, "proc/self", unix.O_PATH|unix.O_DIRECTORY, walk); err == nil {
			_ = unix.Close(fd)
			t.Error("/proc/self is a link")
		}
		if fd, crossed, err := beneath(root, "proc/sys", unix.O_PATH|unix.O_DIRECTORY, walk); err != nil || !crossed {
			t.Errorf("walk %v: %v, %v", walk, crossed, err)
		} else {
			_ = unix.Close(fd)
		}
	}
	tries := 0
	if err := again(func() error {
		if tries++; tries < 5 {
			return []error{unix.EINTR, unix.EAGAIN}[tries%2]
		}
		return unix.EBADF
	}); !errors.Is(err, unix.EBADF) || tries != 5 {
		t.Errorf("%v after %d", err, tries)
	}
	if err := again(func() error { return unix.EINTR }); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("for good: %v", err)
	}
}

// TestSettledIdents: an Ident says so of a change only when the clock of the file system has moved on since.
func TestSettledIdents(t *testing.T) {
	now := time.Unix(1000, 0)
	at := func(d time.Duration) int64 { return now.Add(d).UnixNano() }
	for _, tt := range []struct {
		modified, change time.Duration
		want             bool
	}{
		{-granule, -time.Hour, false}, {-time.Hour, -granule, false}, {-granule - 1, -granule - 1, true}, {-time.Hour, -time.Hour, true}, {time.Hour, -time.Hour, false}, {-time.Hour, time.Hour, false}, {0, 0, false},
	} {
		if got := (Ident{modified: at(tt.modified), change: at(tt.change)}).Settled(now); got != tt.want {
			t.Errorf("%v, %v: %v", tt.modified, tt.change, got)
		}
	}
}

// TestPlacesHold: which places lie below which, and what the zero Place is.
func TestPlacesHold(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/a/b": "x", "app/ab": "x", "lib/a": "x"})
	p.Read = append(p.Read, dir+"/lib")
	defer p.Close()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"a", "a", true}, {"a", "a/b", true}, {"a", "ab", false}, {".", "a/b", true}, {".", ".", true}, {"a/b", "a", false}, {"a", "../lib/a", false}, {".", "../lib/a", false}, {"../lib", "../lib/a", true}, {"a", "none", false}, {"a", "a/none", true},
	} {
		if got := p.in(t, tt.a).Holds(p.in(t, tt.b)); got != tt.want {
			t.Errorf("%s holds %s: %v", tt.a, tt.b, got)
		}
	}
	if (Place{}).Holds(Place{}) || (Place{}).Holds(p.in(t, "a")) || p.in(t, "a").Holds(Place{}) {
		t.Error("the zero Place holds something")
	}
	zero := Place{}
	if zero.Path() != "" || zero.Root() != "" || zero.Class() != Internal || zero.Join("a") != zero || zero.Top() != zero {
		t.Errorf("%+v", zero)
	}
	if folder, name := zero.Parent(); folder != zero || name != "." {
		t.Errorf("%v, %s", folder, name)
	}
	for what, err := range map[string]error{
		"open": func() error { _, _, err := zero.Open(); return err }(), "stat": func() error { _, err := zero.Stat(); return err }(), "dir": func() error { _, err := zero.Dir(); return err }(),
		"enter": func() error { _, err := zero.Enter(nil); return err }(),
	} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	a := p.in(t, "a")
	if folder, name := a.Parent(); folder.Rel() != "." || name != "a" {
		t.Errorf("%v, %s", folder, name)
	}
	if folder, name := folderOf(a.Top()); folder != a.Top() || name != "." {
		t.Errorf("%v, %s", folder, name)
	}
	for rel, want := range map[string]string{"b": "a/b", ".": "a", "..": "", "../ab": "", "b/../c": "a/c", "/b": "", "b/../..": ""} {
		if got := a.Join(rel); got.Rel() != want {
			t.Errorf("%s: %q, want %q", rel, got.Rel(), want)
		}
	}
}

func folderOf(p Place) (Place, string) { return p.Parent() }

// TestEnterWhatWasJudged: a command enters the folder that was judged, and no other one that has come to its path since.
func TestEnterWhatWasJudged(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/a/x": "x", "app/b/y": "y", "app/f": "f"})
	defer p.Close()
	a := p.in(t, "a")
	judged, err := a.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []fs.FileInfo{judged, nil} {
		f, err := a.Enter(want)
		if err != nil || f.Path() != dir+"/app/a" || f.Replaced() {
			t.Fatal(f, err)
		}
		f.Close()
	}
	for _, name := range []string{"f", "none"} {
		if _, err := p.in(t, name).Enter(nil); err == nil {
			t.Errorf("%s is entered", name)
		}
	}
	held, err := a.Enter(nil)
	if err != nil {
		t.Fatal(err)
	}
	must(t, os.Rename(dir+"/app/a", dir+"/app/c"), os.Rename(dir+"/app/b", dir+"/app/a"))
	if _, err := a.Enter(judged); !errors.Is(err, ErrExchanged) {
		t.Errorf("another folder: %v", err)
	}
	if !held.Replaced() {
		t.Error("it counts as the same")
	}
	if again := held.Again(); again == held || again.Replaced() {
		t.Error("it is not opened again")
	} else {
		again.Close()
	}
	none := OpenFolder(dir + "/none")
	if none.Replaced() || none.Again() != none {
		t.Error("what was not there is replaced")
	}
	none.Close()
	one := OpenFolder(dir + "/app/c")
	fd := one.held
	one.Close()
	if _, err := fd.Stat(); err == nil {
		t.Error("it is open after its end")
	}
}

// TestDigests: the digest is of the content, behind links; what is not there has none, and what cannot be read is an error.
func TestDigests(t *testing.T) {
	_, dir := jail(t, map[string]string{"a": "text", "link": "-> a", "gone": "-> none", "sub/x": "", "loop": "-> loop"})
	for name, want := range map[string]string{"a": "true", "link": "true", "none": "false", "gone": "false", "sub": "false", "loop": "error", "a/x": "error"} {
		sum, ok, err := Digest(filepath.Join(dir, name))
		got := fmt.Sprint(ok)
		if err != nil {
			got = "error"
		}
		if got != want || ok && sum != sha256.Sum256([]byte("text")) || !ok && sum != [sha256.Size]byte{} {
			t.Errorf("%s: %x, %v, %v", name, sum, ok, err)
		}
	}
}

// TestWhoseFolders: in which folders of a PATH programs are looked for, by who may write them and whose they are.
func TestWhoseFolders(t *testing.T) {
	_, dir := jail(t, map[string]string{"bin/tool": "x", "open/bin/tool": "x", "sticky/bin/x": "x", "link": "-> bin", "gone": "-> none", "wide/x": "x"})
	must(t, os.Chmod(dir+"/open", 0o777), os.Chmod(dir+"/sticky", 0o777|os.ModeSticky), os.Chmod(dir+"/wide", 0o777|os.ModeSticky))
	for name, want := range map[string]string{
		"bin": "", "link": "", "none": "", "none/deeper": "", "open": "everybody may write " + dir + "/open", "open/bin": "everybody may write " + dir + "/open", "sticky/bin": "", "wide": "everybody may write " + dir + "/wide",
		"bin/tool/x": "it cannot be looked at",
	} {
		if got := writable(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if os.Getuid() == 0 {
		must(t, os.Chown(dir+"/bin", 4711, 4711))
		if got := writable(dir + "/bin"); got != dir+"/bin belongs to another user" {
			t.Errorf("%q", got)
		}
	}
	var got []string
	for _, e := range SearchPath(strings.Join([]string{"", dir + "/sticky/bin", "rel", dir + "/app/x", dir + "/sticky/bin/", dir + "/open"}, ":"), []string{dir + "/app"}) {
		got = append(got, strings.TrimPrefix(e.Dir, dir)+"="+e.Why)
	}
	if want := "/sticky/bin= rel=it is relative /app/x=it is in the workspace /open=everybody may write " + dir + "/open"; strings.Join(got, " ") != want {
		t.Errorf("%q\nwant %q", strings.Join(got, " "), want)
	}
}

// TestFindingPrograms: a program is looked for where the person has named, then on the PATH, and never in a root; one that has gone is looked for
// again.
func TestFindingPrograms(t *testing.T) {
	_, dir := jail(t, map[string]string{"named/one": "x", "path/one": "x", "path/two": "x", "path/link": "-> ../app/evil", "path/text": "x", "app/evil": "x", "app/three": "x", "path/sub/x": "x"})
	for _, name := range []string{"named/one", "path/one", "path/two", "app/evil", "app/three"} {
		must(t, os.Chmod(filepath.Join(dir, name), 0o755))
	}
	l := &Local{Environ: []string{"PATH=" + dir + "/path:" + dir + "/app"}}
	t.Cleanup(l.Close)
	in := Surroundings{Path: []string{dir + "/named"}, Roots: []string{dir + "/app"}}
	find := func(name string) string {
		got, err := l.Find(name, in)
		if err != nil {
			return "error"
		}
		return strings.TrimPrefix(got, dir)
	}
	for range 2 {
		for name, want := range map[string]string{"one": "/named/one", "two": "/path/two", "three": "error", "link": "error", "text": "error", "sub": "error", "none": "error", "./two": "error", "sub/x": "error", "/x/y": "/x/y"} {
			if got := find(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
	must(t, os.Remove(dir+"/named/one"))
	if got := find("one"); got != "/path/one" {
		t.Errorf("one that has gone: %s", got)
	}
	in.Roots = []string{dir + "/path"}
	if got := find("two"); got != "error" {
		t.Errorf("in another workspace: %s", got)
	}
	if got := find("three"); got != "/app/three" {
		t.Errorf("in another workspace: %s", got)
	}
	in.Roots = []string{"/"}
	if got := find("two"); got != "/path/two" {
		t.Errorf("where the workspace is the whole file system: %s", got)
	}
}

// TestWhatPathsKnow: keys, the class and the words of a path, in a root or not.
func TestWhatPathsKnow(t *testing.T) {
	p, dir := jail(t, map[string]string{"home/.ssh/id_rsa": "k", "app/.env": "k", "app/a": "x", "app/link": "-> .env", "app/.git/config": "", "out/.env": "k"})
	defer p.Close()
	for name, want := range map[string]bool{".env": true, "link": true, "a": false, "none": false, ".env.local": false, "~/.ssh/id_rsa": false, dir + "/home/.ssh": true, dir + "/home/.ssh/none": false, "../out/.env": true, "a\x00": false, strings.Repeat("x", 300): false} {
		if got := p.HoldsKeys(name); got != want {
			t.Errorf("%q holds keys: %v", name, got)
		}
	}
	for name, want := range map[string]Class{"/app/.env": Secret, "/app/.git/x": Own, "/app/a": Plain, "/home/.ssh/x": Secret, "/out/.env": Secret, "/app/.envrc": LaterCode} {
		if got := p.ClassOf(dir + name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for class, want := range map[Class]string{Plain: "plain", LaterCode: "later-code", Own: "own", Secret: "secret", Internal: "internal", Own | Secret: "own and secret", Linked: "linked", Linked | Secret: "secret"} {
		if class.String() != want || class.Unlisted() != strings.Contains("secret internal own and secret", want) && want != "own" {
			t.Errorf("%d: %s, %v", class, class, class.Unlisted())
		}
	}
	for path, want := range map[string]string{dir + "/app": ".", dir + "/app/a": "a", dir + "/app/a/b": "a/b", dir + "/apple": dir + "/apple", "/": "/"} {
		if got := p.Rel(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for _, tt := range []struct {
		path, name string
		want       bool
	}{{"/a/.tandem/b", ".tandem", true}, {"/a/.Tandem", ".tandem", true}, {"/a/tandem", ".tandem", false}, {"/a/TANDEM~1/x", ".tandem", true}, {"/a/tander~1", ".tandem", false}, {"/", ".tandem", false}} {
		if got := inOwn(tt.path, tt.name); got != tt.want {
			t.Errorf("%s in %s: %v", tt.name, tt.path, got)
		}
	}
	for _, tt := range []struct {
		root, path string
		want       bool
	}{{"/a", "/a/b", true}, {"/a", "/a", false}, {"/a", "/ab", false}, {"/", "/a", true}, {"", "/a", false}, {"/a/", "/a/b", true}} {
		if within(tt.root, tt.path) != tt.want {
			t.Errorf("%s in %s: %v", tt.path, tt.root, !tt.want)
		}
	}
	if short := shorten(strings.Repeat("é", 300)); len([]rune(short)) != 300 {
		t.Error("300 letters are cut")
	}
	if short := shorten(strings.Repeat("é", 301)); len([]rune(short)) != 301 || !strings.HasSuffix(short, "…") {
		t.Error("301 letters are not")
	}
}

// TestEntriesByName: a link itself is changed where that is meant, but never git's data, nor the settings of this program.
func TestEntriesByName(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/a": "x", "app/link": "-> ../out", "app/.git/x": "x", "app/.git/link": "-> ../a", "app/.tandem/link": "-> ../a", "out": "x", "app/sub/gone": "-> none", "state/link": "-> ../app/a", "app/sub/.git": "-> ../a", "app/.tandem~": "x", "app/deep/.tandem": "-> ../a"})
	p.Roots = &Roots{Home: p.Home, Own: []string{dir + "/app/own"}}
	must(t, os.WriteFile(dir+"/app/b", nil, 0o600), os.Symlink("b", dir+"/app/own"))
	defer p.Close()
	for name, want := range map[string]string{
		"a": dir + "/app/a", "link": dir + "/app/link", "sub/gone": dir + "/app/sub/gone", "none": dir + "/app/none", ".git/x": "PROTECTED_PATH", ".git/link": "PROTECTED_PATH", ".tandem/link": "PROTECTED_PATH", "own": "PROTECTED_PATH", "sub/.git": "PROTECTED_PATH", "deep/.tandem": "PROTECTED_PATH",
		"../state/link": "OUTSIDE_WRITE_ROOTS", "link/x": "OUTSIDE_WRITE_ROOTS",
	} {
		got, err := p.EntryName(name)
		if s := codeOrPath(got, err); s != want {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
		if err != nil && strings.Contains(name, ".tandem") != strings.Contains(err.Error(), "Tandem's own") && name != "own" && want == "PROTECTED_PATH" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefusals: why a confined command may not change or see what is at a path.
func TestRefusals(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/a": "x", "app/.git/HEAD": "ref: refs/heads/x", "app/.git/config": "", "app/.git/objects/x": "", "app/.git/refs/x": "", "app/.env": "k", "home/.ssh/id_rsa": "k", "out/x": "x"})
	defer p.Close()
	for _, tt := range []struct {
		profile Profile
		level   string
		path    string
		want    Refusal
	}{
		{Write, LevelFull, "/app/a", 0},
		{Write, LevelFull, "/app/new", 0},
		{ReadOnly, LevelFull, "/app/a", Still},
		{Write, LevelFull, "/app/.git/config", Protected},
		{Write, LevelFull, "/out/x", Outside},
		{Write, LevelFull, "/home/.ssh/id_rsa", Hidden},
		{Write, LevelFull, "/home/.ssh/none", 0},
		{ReadOnly, LevelFull, "/home/.ssh/id_rsa", Hidden},
		{Write, "none", "/out/x", 0},
		{Write, LevelPart, "/app/.git/config", 0},
		{ReadOnly, LevelPart, "/app/a", Still},
	} {
		if got := p.Refuses(tt.profile, tt.level, dir+"/app", dir+tt.path); got != tt.want && !strings.HasPrefix(dir, "/tmp/") {
			t.Errorf("%v at %s, %s: %d, want %d", tt.profile, tt.level, tt.path, got, tt.want)
		} else if got != tt.want && got != 0 {
			t.Errorf("%v at %s, %s: %d, want %d", tt.profile, tt.level, tt.path, got, tt.want)
		}
	}
	must(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	for name, want := range map[string]bool{"app/a": true, "app": true, "none": true, "app/a/x": false, "fifo": false} {
		if got := legible(filepath.Join(dir, name)); got != want {
			t.Errorf("%s may be read: %v", name, got)
		}
	}
}

// TestRelays: what a relay forwards goes both ways to the end of each, and no connection outlives it.
func TestRelays(t *testing.T) {
	inner, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	go func() {
		for {
			c, err := inner.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				text, _ := io.ReadAll(c) // the end comes through
				_, _ = io.WriteString(c, strings.ToUpper(string(text)))
			}()
		}
	}()
	taken := inner.Addr().(*net.TCPAddr).Port
	relays, err := listenFor([]int{taken})
	if err != nil || len(relays) != 1 || relays[0].leads.Port != taken || relays[0].leads.Host == taken {
		t.Fatalf("%+v, %v", relays, err)
	}
	r := relays[0]
	served := make(chan struct{})
	go func() {
		defer close(served)
		r.serve(func(port int) (net.Conn, error) {
			if port != taken {
				return nil, errors.New("nobody listens")
			}
			return net.Dial("tcp4", inner.Addr().String())
		})
	}()
	outer := func() *net.TCPConn {
		t.Helper()
		c, err := net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(r.leads.Host))
		if err != nil {
			t.Fatal(err)
		}
		return c.(*net.TCPConn)
	}
	for range 3 {
		c := outer()
		_, _ = io.WriteString(c, "hello")
		_ = c.CloseWrite()
		if text, err := io.ReadAll(c); string(text) != "HELLO" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		_ = c.Close()
	}
	open := outer()
	_, _ = io.WriteString(open, "x")
	waits := outer()
	closeAll(relays)
	<-served
	for _, c := range []*net.TCPConn{open, waits} {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection outlives it")
		}
		_ = c.Close()
	}
	if len(r.conns) != 0 {
		t.Errorf("%d connections are open", len(r.conns))
	}
	if a, b := net.Pipe(); r.hold(a) {
		t.Error("it takes connections after its end")
	} else {
		r.drop(a)
		_ = b.Close()
	}
	again, err := listenFor([]int{0})
	if err != nil {
		t.Fatal(err)
	}
	go again[0].serve(func(int) (net.Conn, error) { return nil, errors.New("nobody listens") })
	c, err := net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(again[0].leads.Host))
	if err == nil { // it may be reset before it has begun
		_, err = io.ReadAll(c)
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a port at which nobody listens: %v", err)
	}
	closeAll(again)
	if many, err := listenFor(make([]int, MaxPorts+1)); err == nil || many != nil {
		t.Error("there is no limit")
	}
	if most, err := listenFor(make([]int, MaxPorts)); err != nil || len(most) != MaxPorts {
		t.Errorf("%d, %v", len(most), err)
	} else {
		closeAll(most)
	}
	if bad, err := listenFor([]int{0, 70000}); err == nil || bad != nil {
		t.Errorf("%v, %v", bad, err)
	}
}

// TestKeptOutput: an output keeps its head and its tail, however it is cut into pieces, and says what is missing.
func TestKeptOutput(t *testing.T) {
	for _, size := range []int{2, 7, 10, 64 << 10, 300 << 10} {
		for _, length := range []int{0, 1, size / 2, size - 1, size, size + 1, 2*size + 3, 5 * size} {
			text := strings.Repeat("0123456\n", length/8+1)[:length]
			for _, piece := range []int{1, 3, size/2 + 1, length + 1} {
				if length/max(piece, 1) > 3000 {
					continue
				}
				k := NewKept(size)
				for rest := []byte(text); len(rest) > 0; {
					n := min(piece, len(rest))
					k.Write(rest[:n])
					rest = rest[n:]
				}
				half := size / 2
				want, gap := text, Gap{}
				if length > 2*half {
					want = text[:half] + text[length-half:]
					gap = Gap{At: half, Bytes: int64(length - 2*half), Lines: int64(strings.Count(text, "\n") - strings.Count(want, "\n"))}
				}
				if got, missing := k.Output(); got != want || missing != gap {
					t.Errorf("%d of %d in pieces of %d: %d bytes, %+v, want %+v", size, length, piece, len(got), missing, gap)
				}
				if len(k.head) > half || cap(k.head) > 2*size+64 || cap(k.ring) > 2*size+64 {
					t.Errorf("%d of %d in pieces of %d take %d and %d", size, length, piece, cap(k.head), cap(k.ring))
				}
			}
		}
	}
}

// TestCachesOfWorkspaces: each workspace has its own cache, a command that only reads has none of them, and where none is configured there is none.
func TestCachesOfWorkspaces(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/a": "x"})
	q, _ := jail(t, map[string]string{"app/a": "x"})
	defer p.Close()
	defer q.Close()
	l := &Local{Cache: dir + "/cache"}
	t.Cleanup(l.Close)
	of := func(p *Paths, profile Profile, keeps string) string {
		return l.cache(Command{Profile: profile, Keeps: keeps, Surroundings: Surroundings{Paths: p}})
	}
	one := of(p, Write, "")
	if one == "" || one != of(p, Loopback, "") || one != of(p, Proxy, "x") || one == of(q, Write, "") || filepath.Dir(one) != dir+"/cache" {
		t.Errorf("%s, %s", one, of(q, Write, ""))
	}
	if of(p, ReadOnly, "") != "" || of(p, ReadOnly, "tool") == "" || of(p, ReadOnly, "tool") == one || of(p, ReadOnly, "tool") != of(q, ReadOnly, "tool") || of(nil, Write, "") != "" {
		t.Error("a command that only reads")
	}
	l.Cache = ""
	if of(p, Write, "") != "" {
		t.Error("without one")
	}
	l.Cache = dir + "/app/a"
	if of(p, Write, "") != "" {
		t.Error("where none can be made")
	}
	for profile, want := range map[Profile]string{Proxy: "http://x", Write: "", Loopback: ""} {
		if got := proxyURL(profile, LevelFull, "x"); got != want {
			t.Errorf("%v: %q", profile, got)
		}
	}
	if proxyURL(Proxy, LevelPart, "x") != "" {
		t.Error("a proxy without a network of its own")
	}
}

// TestGuardsOfRepositories: while a command may write in a repository, it has what git would look for elsewhere otherwise, and what was made for
// commands alone goes with the last of them.
func TestGuardsOfRepositories(t *testing.T) {
	repo := map[string]string{"HEAD": "ref: refs/heads/main", "config": "[core]\n", "objects/": "", "refs/": ""}
	make := func(more map[string]string) string {
		entries := map[string]string{}
		for name, text := range repo {
			entries["r/.git/"+name] = text
		}
		maps.Copy(entries, more)
		return tree(t, entries)
	}
	guard := func(r ...repository) gitGuard {
		t.Helper()
		g, err := guardGit(r)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	text := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			return "none"
		}
		return string(b)
	}
	dir := make(nil)
	dotGit := dir + "/r/.git"
	one, two := guard(repository{at: dotGit}), guard(repository{at: dotGit})
	if !isDir(dotGit+"/hooks") || text(dotGit+"/commondir") != commonHere || there(dotGit+"/config.worktree") {
		t.Errorf("%q", text(dotGit+"/commondir"))
	}
	if one.release(); text(dotGit+"/commondir") != commonHere {
		t.Error("it goes while another command needs it")
	}
	if two.release(); there(dotGit+"/commondir") || !isDir(dotGit+"/hooks") {
		t.Error("it stays when no command needs it")
	}
	left, _ := filepath.Glob(dotGit + "/.tandem*")
	if len(left) > 0 {
		t.Errorf("%q stay", left)
	}
	changed := guard(repository{at: dotGit})
	must(t, os.WriteFile(dotGit+"/commondir", []byte("./x\n"), 0o644))
	if changed.release(); text(dotGit+"/commondir") != "./x\n" {
		t.Error("what somebody else has written is removed")
	}
	dir = make(map[string]string{"r/.git/config": "[extensions]\n\tworktreeConfig = true\n", "r/.git/worktrees/w/commondir": "../..\n", "r/.git/worktrees/w/HEAD": "x", "r/.git/worktrees/w/gitdir": "x"})
	dotGit = dir + "/r/.git"
	linked := dotGit + "/worktrees/w"
	g := guard(repository{at: linked, common: dotGit}, repository{at: dotGit})
	if there(linked+"/hooks") || text(linked+"/commondir") != "../..\n" || text(linked+"/config.worktree") != "" || !isDir(dotGit+"/logs") || text(dotGit+"/config.worktree") != "" || text(dotGit+"/commondir") != commonHere {
		t.Error("a linked working tree")
	}
	if g.release(); text(linked+"/commondir") != "../..\n" || there(dotGit+"/commondir") {
		t.Error("a linked working tree, released")
	}
	guard(repository{at: linked, common: dotGit}).release() // what is there already
	for what, put := range map[string]func(name string) error{
		"a link": func(name string) error { return os.Symlink("/none", name) }, "a pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
	} {
		dir := make(map[string]string{"r/.git/config": "[extensions]\n\tWORKTREECONFIG = true\n"})
		dotGit := dir + "/r/.git"
		must(t, put(dotGit+"/config.worktree"), put(dotGit+"/commondir"))
		g := guard(repository{at: dotGit})
		if g.release(); !isLinkOrPipe(dotGit+"/config.worktree") || !isLinkOrPipe(dotGit+"/commondir") {
			t.Errorf("%s is changed", what)
		}
	}
	dir = make(map[string]string{"r/.git/hooks": "a file"})
	guard(repository{at: dir + "/r/.git"}).release() // a command cannot make it either
	if _, err := guardGit([]repository{{at: dir + "/none"}}); !errors.Is(err, ErrNotConfined) {
		t.Errorf("a repository that is not there: %v", err)
	}
	whole := filepath.Join(t.TempDir(), "x")
	if err := makeWhole(whole, "text"); err != nil || text(whole) != "text" {
		t.Error(err)
	}
	if info, err := os.Stat(whole); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if err := makeWhole(whole, "other"); !errors.Is(err, fs.ErrExist) || text(whole) != "text" {
		t.Errorf("what is there is replaced: %v", err)
	}
	for profile, want := range map[Profile]int{Write: 1, Loopback: 1, Proxy: 1, ReadOnly: 0, Unconfined: 0} {
		dir := make(nil)
		p := &Paths{Cwd: dir + "/r", Write: []string{dir + "/r"}}
		if got := p.guarded(profile); len(got) != want {
			t.Errorf("%v: %+v", profile, got)
		}
		p.Close()
	}
	if (*Paths)(nil).guarded(Write) != nil {
		t.Error("without roots")
	}
	dir = tree(t, map[string]string{"h/.gitconfig": "[user]\n", "h/.config/git/config": "", "g/.gitconfig": "-> ../h/.gitconfig", "n/x": ""})
	for home, want := range map[string]map[string]string{
		"h": {dir + "/h/.gitconfig": "[user]\n"}, "g": {dir + "/g/.gitconfig": "[user]\n"}, "n": {},
	} {
		if got := (&Paths{Home: dir + "/" + home}).GitSettings(); !maps.Equal(got, want) {
			t.Errorf("%s: %q", home, got)
		}
	}
	if got := (&Paths{}).GitSettings(); len(got) != 0 {
		t.Errorf("without a home: %q", got)
	}
	for name, want := range map[string]string{"h/.gitconfig": "[user]\n", "g/.gitconfig": "", "h": "", "none": ""} {
		if got := git.Text(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func isLinkOrPipe(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeNamedPipe) != 0
}

// TestLevelsAndProfiles: what is in force under a setting, and the names of the profiles.
func TestLevelsAndProfiles(t *testing.T) {
	full, part, none := Level{Name: LevelFull}, Level{Name: LevelPart, Reason: "old", Below: true}, Level{Name: LevelNone, Reason: "why"}
	for _, tt := range []struct {
		level        Level
		setting      string
		capabilities bool
		want         string
		confines     bool
	}{
		{full, "", false, LevelFull, true},
		{full, "strict", false, LevelFull, true},
		{full, "off", false, LevelNone, false},
		{full, "", true, LevelNone, false},
		{part, "", false, LevelPart, true},
		{part, "strict", false, LevelNone, false},
		{part, "strict", true, LevelNone, false},
		{none, "strict", false, LevelNone, false},
		{none, "", false, LevelNone, false},
	} {
		got := tt.level.Under(tt.setting, tt.capabilities)
		if got.Name != tt.want || got.Confines() != tt.confines {
			t.Errorf("%+v under %q, %v: %+v", tt.level, tt.setting, tt.capabilities, got)
		}
		if got != tt.level && !strings.Contains(got.Reason, map[bool]string{true: "sandbox.level", false: "commands.capabilities"}[!tt.capabilities]) {
			t.Errorf("%+v", got)
		}
	}
	for p, want := range map[Profile]string{0: "none", Unconfined: "unconfined", ReadOnly: "ro", Write: "write", Loopback: "write+loopback", Proxy: "write+proxy", Proxy + 1: "profile 6"} {
		if p.String() != want {
			t.Errorf("%d: %s", p, p)
		}
	}
}

// TestHomesOfUsers: whose home folder a path lies in, and what a setting of git has executed.
func TestHomesOfUsers(t *testing.T) {
	m := machine{administrator: "/admin", homes: []string{"/home", "/Users"}}
	for path, want := range map[string]string{"/admin": "/admin", "/admin/x/y": "/admin", "/administrator": "", "/home/a": "/home/a", "/home/a/b/c": "/home/a", "/home": "", "/homes/a": "", "/Users/b/x": "/Users/b", "/": "", "/etc": ""} {
		if got := m.home(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := (machine{}).home("/admin/x"); got != "" {
		t.Errorf("%q", got)
	}
	named := []git.Named{{Path: "/r/hooks", Role: git.Hooks}, {Path: "/r/inc", Role: git.Hooks + 1}, {Path: "/r/mine", Known: true}}
	for path, want := range map[string]bool{
		"/r/hooks": true, "/r/hooks/x": true, "/r/hooks/a/b": true, "/r/hook": false, "/r/inc": true, "/r/inc/x": false, "/r/mine": false, "/r/mine/pre-commit": true, "/r/mine/readme": false, "/r/mine/a/pre-commit": false, "/r": false,
	} {
		if got := executes(named, path); got != want {
			t.Errorf("%s is executed: %v", path, got)
		}
	}
}

// TestLongNames: a path or a name is as long as the system takes it, and not longer; and what is literally there.
func TestLongNames(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/a": "x", "app/link": "-> none"})
	defer p.Close()
	p.Unsaved = func() []string { return []string{dir + "/app/unsaved"} }
	most := func(n int) string { return "/" + strings.Repeat("x/", (n-1)/2) + strings.Repeat("y", (n-1)%2) }
	for path, want := range map[string]bool{
		strings.Repeat("x", maxName): true, strings.Repeat("x", maxName+1): false, "a/" + strings.Repeat("x", maxName+1) + "/b": false, most(maxPath): true, most(maxPath+2) + "z": false, "": false, "a\x00": false,
	} {
		if _, err := p.Resolve(path); (err == nil) != want {
			t.Errorf("%d bytes: %v", len(path), err)
		}
	}
	for name, want := range map[string]bool{"a": true, "link": true, "none": false, "unsaved": true, "@a": false, "a:1": false, "": false, dir + "/app/a": true} {
		if p.Literal(name) != want {
			t.Errorf("%q is there: %v", name, !want)
		}
	}
	for path, want := range map[string]string{"~": dir + "/home", "~/x": dir + "/home/x", "~x": "~x", "x/~": "x/~", "": ""} {
		if got := p.Expand(path); got != want {
			t.Errorf("%q: %q", path, got)
		}
	}
	if got := (&Paths{}).Expand("~/x"); got != "~/x" {
		t.Errorf("without a home: %q", got)
	}
}

// TestCutLetters: a letter of several bytes at the edge of what is kept is kept whole or not at all, and counted as missing.
func TestCutLetters(t *testing.T) {
	for _, letter := range []string{"é", "日", "😀"} {
		for shift := range 5 {
			for _, size := range []int{10, 11, 12, 20} {
				text := strings.Repeat("a", shift) + strings.Repeat(letter, 30) + strings.Repeat("b", shift)
				k := NewKept(size)
				k.Write([]byte(text))
				got, gap := k.Output()
				if !utf8.ValidString(got) || gap.Bytes != int64(len(text)-len(got)) || !strings.HasPrefix(text, got[:gap.At]) || !strings.HasSuffix(text, got[gap.At:]) || len(got) > size {
					t.Errorf("%s, %d, %d: %q, %+v", letter, shift, size, got, gap)
				}
				if half := size / 2; gap.At < half-len(letter)+1 || len(got)-gap.At < half-len(letter)+1 {
					t.Errorf("%s, %d, %d: more is left out than one letter at each edge: %q", letter, shift, size, got)
				}
			}
		}
	}
	k := NewKept(10)
	k.Write([]byte("aaaa\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffbbbb"))
	if got, gap := k.Output(); len(got)+int(gap.Bytes) != 18 {
		t.Errorf("%q, %+v", got, gap)
	}
}
