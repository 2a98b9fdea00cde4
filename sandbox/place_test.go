//go:build unix

package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// eachWay runs a test with openat2 and, on Linux, name by name as where the kernel has no such call.
func eachWay(t *testing.T, do func(t *testing.T, walks bool)) {
	t.Run("as the system does", func(t *testing.T) { do(t, false) })
	if runtime.GOOS == "linux" {
		t.Run("name by name", func(t *testing.T) { do(t, true) })
	}
}

// TestPlace is the contract of a Place: what it opens, and what it fails with.
func TestPlace(t *testing.T) {
	eachWay(t, func(t *testing.T, walks bool) {
		p, dir := jail(t, map[string]string{
			"secret": "s", "outside/f": "s", "app/a/b/f": "text", "app/out": "-> ../outside", "app/l": "-> a/b/f", "app/d": "-> a",
		})
		p.Roots = &Roots{walks: walks}
		must(t, syscall.Mkfifo(dir+"/app/fifo", 0o600))
		place := func(name string) Place {
			top, err := p.Readable(".")
			if err != nil {
				t.Fatal(err)
			}
			return top.Join(name)
		}
		read := func(place Place) (string, error) {
			f, info, err := place.Open()
			if err != nil {
				return "", err
			}
			defer f.Close()
			text, err := io.ReadAll(f)
			if info.Size() != int64(len(text)) {
				t.Errorf("%s: %d bytes, told %d", place, len(text), info.Size())
			}
			return string(text), err
		}
		for name, want := range map[string]error{
			"a/b/f": nil, "a/b": syscall.EISDIR, ".": syscall.EISDIR, "none": fs.ErrNotExist, "none/x": fs.ErrNotExist, "a/b/f/x": syscall.ENOTDIR,
			"l": syscall.ELOOP, "d/b/f": syscall.ELOOP, "out/f": syscall.ELOOP, "fifo": ErrNotRegular,
			"../secret": fs.ErrInvalid, "/etc/passwd": fs.ErrInvalid, "a/../../secret": fs.ErrInvalid,
		} {
			text, err := read(place(name))
			if !errors.Is(err, want) || want == nil && (err != nil || text != "text") {
				t.Errorf("open %s: %q, %v, want %v", name, text, err, want)
			}
			var told *fs.PathError
			if err != nil && !errors.As(err, &told) {
				t.Errorf("%s: %T", name, err)
			}
		}
		for name, want := range map[string]fs.FileMode{"a": fs.ModeDir, "a/b/f": 0, "l": fs.ModeSymlink, "fifo": fs.ModeNamedPipe, ".": fs.ModeDir} {
			if info, err := place(name).Stat(); err != nil || info.Mode().Type() != want {
				t.Errorf("stat %s: %v, %v", name, info, err)
			}
		}
		for name, want := range map[string]error{"a": nil, ".": nil, "d": syscall.ELOOP, "l": syscall.ELOOP, "none": fs.ErrNotExist} {
			f, err := place(name).Dir()
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, want) && !(want == syscall.ELOOP && errors.Is(err, syscall.ENOTDIR)) {
				t.Errorf("dir %s: %v, want %v", name, err, want)
			}
		}
		folder, name := place("a/b/new").Parent()
		if folder.Path() != dir+"/app/a/b" || name != "new" || place("a").Rel() != "a" || place("a").Root() != dir+"/app" {
			t.Errorf("%s, %s", folder, name)
		}
		if _, err := read(Place{}); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("the zero Place: %v", err)
		}
	})
}

// TestPlaceAfterwards: a folder that becomes a link once the path was judged leads nowhere, and neither does a
// root that is replaced.
func TestPlaceAfterwards(t *testing.T) {
	eachWay(t, func(t *testing.T, walks bool) {
		p, dir := jail(t, map[string]string{"outside/f": "secret", "outside/b/f": "secret", "app/a/b/f": "text", "app/x": "text"})
		p.Roots = &Roots{walks: walks}
		judged := map[string]Place{}
		for _, name := range []string{"a/b/f", "a/b/new", "x"} {
			place, err := p.Writable(name)
			if err != nil {
				t.Fatal(err)
			}
			judged[name] = place
		}
		must(t, os.Rename(dir+"/app/a", dir+"/app/was"), os.Symlink(dir+"/outside", dir+"/app/a"),
			os.Rename(dir+"/app/x", dir+"/app/y"), os.Symlink(dir+"/outside/f", dir+"/app/x"))
		for name, place := range judged {
			if f, _, err := place.Open(); err == nil {
				f.Close()
				t.Errorf("%s was opened", name)
			}
			folder, _ := place.Parent()
			if f, err := folder.Dir(); err == nil && name != "x" {
				f.Close()
				t.Errorf("the folder of %s was opened", name)
			}
		}
		must(t, os.Remove(dir+"/app/x"), os.Rename(dir+"/app/y", dir+"/app/x"), os.Rename(dir+"/app", dir+"/moved"),
			os.Symlink(dir+"/outside", dir+"/app"))
		if f, _, err := judged["x"].Open(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("below a link in the place of the root: %v", err)
			f.Close()
		}
		must(t, os.Remove(dir+"/app"), os.Rename(dir+"/moved", dir+"/app"))
		if f, _, err := judged["x"].Open(); err != nil {
			t.Errorf("below the root that is back: %v", err)
		} else {
			f.Close()
		}
	})
}

// TestPlaceRoots: the innermost root counts, a path below none has no Place, and a root that was made anew is another one.
func TestPlaceRoots(t *testing.T) {
	dir := tree(t, map[string]string{"app/sub/f": "f", "file": "f", "other": "f"})
	r := &Roots{}
	r.Add(dir + "/app")
	r.Add(dir + "/app/sub")
	for path, want := range map[string]string{
		dir + "/app/x": dir + "/app", dir + "/app/sub/f": dir + "/app/sub", dir + "/app": dir + "/app", dir + "/app/subway": dir + "/app",
	} {
		if p, err := r.Place(path); err != nil || p.Root() != want || p.Path() != path {
			t.Errorf("%s: %s below %s, %v", path, p, p.Root(), err)
		}
	}
	for _, path := range []string{dir, "/", dir + "/apple", dir + "/file"} {
		var refused *PathError
		if _, err := r.Place(path); !errors.As(err, &refused) || refused.Code != "OUTSIDE_ROOTS" {
			t.Errorf("%s: %v", path, err)
		}
	}
	holds := &Paths{Cwd: dir + "/app/sub", Read: []string{dir + "/app/sub"}, Roots: r}
	old, err := holds.Readable("f")
	must(t, err)
	must(t, os.Rename(dir+"/app/sub", dir+"/sub"), os.MkdirAll(dir+"/app/sub", 0o755), os.WriteFile(dir+"/app/sub/f", []byte("anew"), 0o644))
	r.Add(dir + "/app/sub")
	now, _ := r.Place(dir + "/app/sub/f")
	if info, err := now.Stat(); err != nil || info.Size() != 4 {
		t.Errorf("the folder that was made anew: %v, %v", info, err)
	}
	if info, err := old.Stat(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder that was judged: %v, %v", info, err)
	}
	holds.Close()
	if info, err := old.Stat(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder that was judged, and is held no more: %v, %v", info, err)
	}
	// One file may be a root.
	p := &Paths{Cwd: dir, Read: []string{dir + "/file"}}
	if place, err := p.Readable("file"); err != nil {
		t.Error(err)
	} else if f, _, err := place.Open(); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	if _, err := p.Readable("other"); err == nil {
		t.Error("what lies beside a file that may be read may be read")
	}
}

// TestFindingS2S6Classes is the table of classes, in spellings that some file system would take for the same.
func TestFindingS2S6Classes(t *testing.T) {
	r := &Roots{Home: "/home/me", Own: []string{"/elsewhere/config.json", "/home/me/state"}}
	r.Add("/home/me")
	r.Add("/w")
	for class, paths := range map[Class]string{
		Own: "/w/.git /w/.git/config /w/.GIT/Hooks/x /w/a/.git/x /w/.git. /w/.git::$INDEX_ALLOCATION/x /w/git~1/config /w/GIT~2/x " +
			"/w/.g\u200cit/config /w/.tandem/x /w/.Tandem /w/.gıt/../.git",
		LaterCode: "/w/a.code-workspace /w/sub/My.CODE-Workspace /w/.bazelrc /w/lib/sitecustomize.py /w/usercustomize.py /w/.envrc.local " +
			"/w/.vscode/tasks.json /w/.VSCode/x /w/.husky/pre-commit /w/.github/workflows/ci.yml /w/.GitHub/Workflows/ci.yml " +
			"/w/.gitlab-ci.yml /w/.envrc /w/.nvim.lua /w/.mcp.json /w/.npmrc /w/AGENTS.md /w/sub/agents.md /w/CLAUDE.md /w/.gitmodules " +
			"/w/.claude/settings.json /w/vscode~1/x /w/.cargo/config.toml /w/.bashrc /home/me/.bashrc /w/.yarnrc.yml /w/.ſvn/../.bashrc /w/.vſcode/x",
		Secret: "/w/.env /w/a/.env.local /w/.ENV /home/me/.ssh/id_rsa /home/me/.ssh /home/me/.npmrc /home/me/.pypirc /home/me/.config/gh/hosts.yml " +
			"/w/.ssh/x /w/id_ed25519 /home/me/.aws/credentials /home/me/.netrc /w/.\u212aube/config",
		Own | Secret: "/w/.docker/.git/hooks/pre-commit /w/.env.d/.tandem/config.json /w/x/.AWS/.git/config /w/.git/hooks/.env.sh",
		Internal:     "/home/me/state/sessions.db /home/me/.config/tandem/config.json /home/me/.Config/Tandem/x",
		Plain: "/w/main.go /w/.github/README.md /w/.gitignore /w/.gitattributes /w/.env.example /w/id_rsa.pub /w/git /w/agit~1x /w/tandem/config.json " +
			"/w/envrc /w/library/x /w/a~1 /w/.config/tandem/x /w/environment /w/.cargo/x /w/.Github/x /home/me/code/main.go",
	} {
		for path := range strings.FieldsSeq(paths) {
			p, err := r.Place(filepath.Clean(path))
			if err != nil || p.Class() != class {
				t.Errorf("%+q is %v (%v), want %v", path, p.Class(), err, class)
			}
		}
	}
	// Of what is of two classes both hold.
	p := &Paths{Cwd: "/w", Write: []string{"/w"}, Roots: r}
	for _, name := range []string{".docker/.git/hooks/pre-commit", ".env.d/.tandem/config.json", ".git/hooks/.env.sh"} {
		if place, err := p.Writable(name); err == nil {
			t.Errorf("%s may be written, it is %s", name, place.Class())
		}
		if place, err := p.Readable(name); err != nil || !place.Class().Unlisted() {
			t.Errorf("%s: %v, %v", name, place.Class(), err)
		}
	}
	// What somebody works in as a whole is not later-code by its own name, and secret all the same.
	inside := &Roots{}
	inside.Add("/h/.config/nvim")
	inside.Add("/h/.ssh")
	if p, _ := inside.Place("/h/.config/nvim/init.lua"); p.Class() != Plain {
		t.Errorf("%s is %s", p, p.Class())
	}
	if p, _ := inside.Place("/h/.ssh/id"); p.Class() != Secret {
		t.Errorf("%s is %s", p, p.Class())
	}
}

// TestFindingS2OtherNames: the configuration, the state and keys are found under other names: by links, by hard links, and where
// the configuration links into the workspace.
func TestFindingS2OtherNames(t *testing.T) {
	eachWay(t, func(t *testing.T, walks bool) {
		p, dir := jail(t, map[string]string{
			"app/tandem/config.json": "{}", "app/tandem/rules.md": "r", "home/.config/tandem": "-> $D/app/tandem", "state/sessions.db": "s",
			"home/.ssh/id_rsa": "k", "home/.netrc": "k", "app/plain": "p", "app/.env": "k", "app/docs/": "",
			"other/real.json": "{}",
		})
		must(t, os.Link(dir+"/state/sessions.db", dir+"/app/hard"), os.Link(dir+"/home/.ssh/id_rsa", dir+"/app/key.txt"),
			os.Link(dir+"/app/.env", dir+"/app/notes.txt"), os.Link(dir+"/app/plain", dir+"/app/docs/plain"))
		p.Roots = &Roots{
			walks: walks, Home: dir + "/home",
			Own: []string{dir + "/home/.config/tandem/config.json", dir + "/home/.config/tandem", dir + "/state"},
		}
		code := func(err error) string {
			var e *PathError
			if errors.As(err, &e) {
				return e.Code
			}
			return ""
		}
		for _, name := range []string{"tandem/config.json", "tandem/rules.md", "tandem", "tandem/new.md"} {
			if _, err := p.Readable(name); code(err) != "PROTECTED_PATH" {
				t.Errorf("%s may be read: %v", name, err)
			}
		}
		for _, name := range []string{"tandem/config.json", "tandem/rules.md", "tandem/new.md", "hard"} {
			if _, err := p.Writable(name); code(err) != "PROTECTED_PATH" {
				t.Errorf("%s may be written: %v", name, err)
			}
		}
		for _, name := range []string{"key.txt", "notes.txt"} {
			if place, err := p.Writable(name); err != nil || place.Class() != Secret {
				t.Errorf("%s: %v, %v", name, place.Class(), err)
			}
		}
		for name, refused := range map[string]bool{
			"hard": true, "key.txt": true, "notes.txt": true, "docs/plain": false, "plain": false, ".env": false,
		} {
			place, err := p.Readable(name)
			if err != nil {
				t.Error(err)
				continue
			}
			f, _, err := place.Open()
			if err == nil {
				f.Close()
			}
			if (code(err) == "PROTECTED_PATH") != refused || !refused && err != nil {
				t.Errorf("open %s: %v", name, err)
			}
		}
	})
}

// TestFindingS1NotUTF8: a name that is not UTF-8 names a file like any other, with its class, and what is no place is of the
// strictest one.
func TestFindingS1NotUTF8(t *testing.T) {
	dir := tree(t, map[string]string{"plain": "x"})
	if err := os.Mkdir(dir+"/caf\xe9", 0o755); err != nil {
		t.Skip("the file system takes no such name:", err)
	}
	must(t, os.WriteFile(dir+"/caf\xe9/f", []byte("x"), 0o644))
	eachWay(t, func(t *testing.T, walks bool) {
		p := &Paths{Cwd: dir, Read: []string{dir}, Roots: &Roots{walks: walks}}
		top, err := p.Readable(".")
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := top.Join("caf\xe9/f").Open()
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		for name, want := range map[string]Class{"caf\xe9/f": Plain, ".env.\xff": Secret, "../x": Internal, "a/../../x": Internal, "/etc": Internal} {
			if got := top.Join(name).Class(); got != want {
				t.Errorf("%q is %s, want %s", name, got, want)
			}
		}
	})
}

// TestFindingS2ClassGoesByOwnRoots: what others have opened changes neither the class of a path nor that it is the one that was judged.
func TestFindingS2ClassGoesByOwnRoots(t *testing.T) {
	dir := tree(t, map[string]string{".github/workflows/x.yml": "x"})
	r := &Roots{}
	p := &Paths{Cwd: dir, Write: []string{dir}, Roots: r}
	other := &Paths{Cwd: dir, Write: []string{dir + "/.github/workflows"}, Roots: r}
	class := func(p *Paths) Place {
		t.Helper()
		place, err := p.Writable(".github/workflows/x.yml")
		must(t, err)
		return place
	}
	before := class(p)
	if got := class(other).Class(); got != Plain {
		t.Errorf("what is worked in as a whole is %s", got)
	}
	r.Add(dir + "/.github/workflows")
	if after := class(p); before.Class() != LaterCode || after != before {
		t.Errorf("class was %s below %s, is %s below %s", before.Class(), before.Root(), after.Class(), after.Root())
	}
	if err := os.WriteFile(dir+"/.github/workflows/y.yml", []byte("y"), 0o644); err != nil {
		t.Fatal(err)
	}
	if place, err := r.Place(dir + "/.github/workflows/y.yml"); err != nil || place.Root() != dir+"/.github/workflows" {
		t.Errorf("all roots together: %v below %s, %v", place, place.Root(), err)
	}
}

// TestFindingS1RootsAreClosed: a root is held open while Paths have it, and what is under way at their Close goes on.
func TestFindingS1RootsAreClosed(t *testing.T) {
	dir := tree(t, map[string]string{"a/x": "x", "b/x": "x"})
	r := &Roots{}
	held := func(path string) bool { return r.held[path] != nil && r.held[path].handle != nil }
	one, two := &Paths{Cwd: dir + "/a", Write: []string{dir + "/a"}, Roots: r}, &Paths{Cwd: dir + "/a", Read: []string{dir + "/a"}, Roots: r}
	var place Place
	for _, p := range []*Paths{one, two} {
		var err error
		if place, err = p.Readable("x"); err != nil {
			t.Fatal(err)
		}
	}
	one.Close()
	one.Close()
	if !held(dir + "/a") {
		t.Error("a root was closed that other Paths have")
	}
	two.Close()
	if held(dir + "/a") {
		t.Error("a root that nobody has is open")
	}
	if _, err := place.Stat(); err != nil || held(dir+"/a") {
		t.Errorf("afterwards: %v, open: %v", err, held(dir+"/a"))
	}
	late := &Paths{Cwd: dir + "/b", Read: []string{dir + "/b"}, Roots: r}
	late.Close() // before the first path
	if _, err := late.Readable("x"); err != nil || held(dir+"/b") {
		t.Errorf("closed Paths: %v, open: %v", err, held(dir+"/b"))
	}
}

// TestFindingS2HardLinksInPlace: writing a file with further names asks where the change would go into all of them.
func TestFindingS2HardLinksInPlace(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/.git/config": "g", "app/one": "1", "app/docs/": ""})
	must(t, os.Link(dir+"/app/.git/config", dir+"/app/docs/README.md"))
	p.InPlace = func(path string) bool { return path != dir+"/app/disk.md" }
	must(t, os.Link(dir+"/app/.git/config", dir+"/app/disk.md"))
	for name, want := range map[string]Class{"docs/README.md": Linked, "disk.md": Plain, "one": Plain, "new": Plain, "docs": Plain} {
		if place, err := p.Writable(name); err != nil || place.Class() != want {
			t.Errorf("%s is %s, want %s: %v", name, place.Class(), want, err)
		}
		if place, err := p.Readable(name); err != nil || place.Class() != Plain {
			t.Errorf("%s is %s for reading: %v", name, place.Class(), err)
		}
	}
}

// TestFindingS2LateLinkOfOwn: what the configuration links to is Internal from then on, also where it became a link after the
// first path was judged.
func TestFindingS2LateLinkOfOwn(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/dot/config.json": "{}", "conf/": ""})
	p.Roots = &Roots{Own: []string{dir + "/conf/tandem"}}
	if _, err := p.Readable("dot/config.json"); err != nil {
		t.Fatal(err)
	}
	must(t, os.Symlink(dir+"/app/dot", dir+"/conf/tandem"))
	if _, err := p.Readable("dot/config.json"); err == nil {
		t.Error("it may be read")
	}
	if _, err := p.Writable("dot/new.json"); err == nil {
		t.Error("it may be written")
	}
	must(t, os.Remove(dir+"/conf/tandem"))
	if _, err := p.Readable("dot/config.json"); err != nil {
		t.Errorf("with the link gone: %v", err)
	}
}

// TestCaseP35Wide: about what folders a person is asked before they become a root.
func TestCaseP35Wide(t *testing.T) {
	s := &Roots{Home: "/home/u", Own: []string{"/home/u/.config/tandem"}}
	for folder, want := range map[string]bool{
		"/": true, "/home": true, "/home/u": true, "/home/other": true, "/root": true, "/etc": true, "/etc/nginx/sites": true, "/var": true,
		"/var/lib": true, "/var/lib/postgresql": true, "/usr": true, "/usr/lib/python3": true, "/usr/local": true, "/usr/local/bin": true, "/opt": true,
		"/srv": true, "/tmp": true, "/dev": true, "/proc/1": true, "/sys/kernel": true, "/run/user/1000": true, "/boot": true, "/mnt": true,
		"/home/u/.config": true, "/home/u/project": false, "/home/other/project": false, "/var/www/site": false,
		"/usr/local/src/project": false, "/usr/src/linux": false, "/opt/project": false, "/srv/project": false, "/tmp/x": false, "/dev/shm/x": false,
		"/work": false, "/app": false, "/workspaces/x": false, "/etcetera": false, "/mnt/c": false, "/home/u/.config/other": false,
	} {
		if got := s.Wide(folder); got != want {
			t.Errorf("%s: %v", folder, got)
		}
	}
}
