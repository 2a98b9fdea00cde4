package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tree makes files (a text), directories (ending in /) and links ("-> target") below a fresh directory whose path has no
// links, and gives that directory.
func tree(t testing.TB, entries map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range entries {
		path := filepath.Join(dir, name)
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(strings.ReplaceAll(target, "$D", dir), path)
		} else if parent != path {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func jail(t testing.TB, entries map[string]string) (*Paths, string) {
	dir := tree(t, entries)
	app := dir + "/app"
	return &Paths{Cwd: app, Read: []string{app}, Write: []string{app}, Home: dir + "/home"}, dir
}

func TestF066F073Resolve(t *testing.T) {
	p := &Paths{Cwd: "/w/app", Home: "/home/me"}
	for arg, want := range map[string]string{
		"a.go": "/w/app/a.go", "./a": "/w/app/a", ".": "/w/app", "/": "/", "a/": "/w/app/a",
		"/a/b/../c": "/a/c", "../x": "/w/x", "sub/../../x": "/w/x", "~": "/home/me", "~/x": "/home/me/x",
		"~you/x": "/w/app/~you/x", "$HOME/x": "/w/app/$HOME/x", "a:b": "/w/app/a:b", "./@x": "/w/app/@x", "@": "/w/app/@",
		"file:///w/app/a%20b": "/w/app/a b", "file://localhost/w/x": "/w/x", "FILE:///w/x": "/w/x", "file:a": "/w/app/file:a",
		"file:///w/app/%2e%2e/secret": "/w/secret", "file:///w/app/..%2fsecret": "/w/secret", "a\\b": "/w/app/a\\b",
	} {
		if got, err := p.Meant(arg); err != nil || got != want {
			t.Errorf("%q means %q, %v; want %q", arg, got, err, want)
		}
	}
	for arg, reason := range map[string]string{
		"": "invalid_path", "name\x00x": "invalid_path",
		strings.Repeat("x/", 2500): "name_too_long", strings.Repeat("x", 300): "name_too_long",
		"file://evilhost/w/app/main.go": "invalid_uri", "http://x/y": "invalid_uri", "untitled:x": "invalid_uri",
		"file:///a?b": "invalid_uri", "file:///a#b": "invalid_uri", "file:///%zz": "invalid_uri",
		"file:///a%00b": "invalid_uri",
	} {
		_, err := p.Meant(arg)
		var pe *PathError
		if !errors.As(err, &pe) || pe.Reason != reason || len(pe.Message) > 500 {
			t.Errorf("%.20q: %v, want reason %s", arg, err, reason)
		}
	}
	strict := &Paths{Cwd: "/w", Strict: true}
	if _, err := strict.Resolve("a"); err == nil {
		t.Error("strict paths must be absolute")
	}
	if got, err := strict.Resolve("/w/a"); err != nil || got != "/w/a" {
		t.Errorf("strict: %q, %v", got, err)
	}
}

func TestF071Mention(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/test.ts": "x"})
	if got, err := p.ReadableName("@test.ts"); err != nil || got.Path() != dir+"/app/test.ts" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestF072Normalised(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/c": "x"})
	if got, err := p.Readable(dir + "/app/b/../c"); err != nil || got.Path() != dir+"/app/c" {
		t.Errorf("%q, %v", got, err)
	}
}

// The rows of path confinement: what may be read or written, and where it then is.
func TestF073F074F075F077Confine(t *testing.T) {
	p, dir := jail(t, map[string]string{
		"secret": "s", "app-evil/x": "x", "home/.ssh/authorized_keys": "k", "outside/": "",
		"app/main.go": "m", "app/sub/a": "a", "app/link": "-> $D/secret", "app/d": "-> $D/outside",
		"app/new": "-> $D/outside/new", "app/l": "-> sub/a", "app/abs": "-> $D/app/sub/a", "app/loop": "-> loop",
		"app/a": "-> b", "app/b": "-> a", "app/up": "-> ../secret", "app/there": "-> ../app/sub", "app/.git/config": "c",
		"app/docs": "-> .git/config", "app/vendor/sub/.git/hooks/": "", "app/self": "-> .",
	})
	tests := []struct{ id, arg, read, write string }{
		{"P01", "../secret", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P02", "/etc/passwd", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P03", dir + "/app/main.go", "app/main.go", "app/main.go"},
		{"P04", dir + "/app-evil/x", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P05", "sub/../../secret", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P06", "sub/../main.go", "app/main.go", "app/main.go"},
		{"P07", "link", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P08", "d/passwd", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P09", "new", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P10", "link/", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P11", "l", "app/sub/a", "app/sub/a"},
		{"P12", "abs", "app/sub/a", "app/sub/a"},
		{"P13", "loop", "READ_ERROR symlink_loop", "READ_ERROR symlink_loop"},
		{"P13 two", "a/x", "READ_ERROR symlink_loop", "READ_ERROR symlink_loop"},
		{"P21 home", "~", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P21 root", "/", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P21 dot", ".", "app", "app"},
		{"F073", "~/.ssh/authorized_keys", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"P22", ".git/hooks/pre-commit", "app/.git/hooks/pre-commit", "PROTECTED_PATH"},
		{"P23", ".GIT/Hooks/pre-commit", "app/.GIT/Hooks/pre-commit", "PROTECTED_PATH"},
		{"P27", "docs", "app/.git/config", "PROTECTED_PATH"},
		{"P28", "vendor/sub/.git/hooks/pre-commit", "app/vendor/sub/.git/hooks/pre-commit", "PROTECTED_PATH"},
		{"P29", ".git", "app/.git", "PROTECTED_PATH"},
		{"P33", "file://" + dir + "/app/%2e%2e/secret", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"relative link up", "up", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"out and in again", "there/a", "app/sub/a", "app/sub/a"},
		{"F077 new file", "sub/x/y/z", "app/sub/x/y/z", "app/sub/x/y/z"},
		{"F077 new file through a link", "d/x/y", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"below a file", "main.go/x", "app/main.go/x", "app/main.go/x"},
		{"A14", ".tandem/config.json", "app/.tandem/config.json", "PROTECTED_PATH"},
		{"A14 by another case", "sub/.Tandem/Config.json", "app/sub/.Tandem/Config.json", "PROTECTED_PATH"},
		{"A14 the folder", ".tandem", "app/.tandem", "PROTECTED_PATH"},
		{"not the configuration", "tandem/config.json", "app/tandem/config.json", "app/tandem/config.json"},
		{"A14 what lies beside it", ".tandem/notes", "app/.tandem/notes", "PROTECTED_PATH"},
		{"not .git", ".gitignore", "app/.gitignore", "app/.gitignore"},
		{"link to itself", "self/self/self/main.go", "app/main.go", "app/main.go"},
	}
	for _, tt := range tests {
		for verb, f := range map[string]func(string) (Place, error){"read": p.ReadableName, "write": p.WritableName} {
			want := tt.read
			if verb == "write" {
				want = tt.write
			}
			place, err := f(tt.arg)
			got := place.Path()
			var pe *PathError
			if errors.As(err, &pe) {
				got = pe.Code
				if pe.Reason != "outside" && pe.Reason != "protected" {
					got += " " + pe.Reason
				}
			} else {
				got = strings.TrimPrefix(got, dir+"/")
			}
			if got != want {
				t.Errorf("%s %s %q: %s, want %s", tt.id, verb, tt.arg, got, want)
			}
		}
	}
}

func TestF078_FindingP14NextStep(t *testing.T) {
	p := &Paths{Cwd: "/w", Write: []string{"/w/a", "/w/b"}}
	for verb, f := range map[string]func(string) (Place, error){"read": p.Readable, "write": p.Writable} {
		_, err := f("/etc/x")
		if want := `Path "/etc/x" is not within the allowed ` + verb + ` scope /w/a, /w/b. ` +
			`Use a path below that, or ask the user to add the folder to the workspace or to the setting ` + verb + `Roots.`; err == nil ||
			err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestF076Unrestricted(t *testing.T) {
	p, dir := jail(t, map[string]string{"secret": "s", "app/": ""})
	free := &Paths{Cwd: p.Cwd, Unrestricted: true}
	if got, err := free.Writable("../secret"); err != nil || got.Path() != dir+"/secret" {
		t.Errorf("%q, %v", got, err)
	}
	none := &Paths{Cwd: p.Cwd}
	if _, err := none.Readable("x"); err == nil {
		t.Error("no roots and not unrestricted: nothing is allowed")
	}
}

// A root that is replaced by a link to elsewhere after the start does not lead there (R05).
func TestCaseR05RootReplaced(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/x": "x", "outside/x": "secret"})
	if _, err := p.Readable("x"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/app", dir+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/outside", dir+"/app"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Readable("x"); err == nil {
		t.Errorf("led to %s", got)
	}
}

func TestRel(t *testing.T) {
	dir := tree(t, map[string]string{"real/x": "x", "cwd": "-> real"})
	p := &Paths{Cwd: dir + "/cwd", Read: []string{dir + "/cwd"}}
	canonical, err := p.Readable("x")
	if err != nil {
		t.Fatal(err)
	}
	for abs, want := range map[string]string{
		canonical.Path(): "x", dir + "/cwd/sub/y": "sub/y", dir + "/real": ".", dir + "/realm": dir + "/realm", "/etc/x": "/etc/x",
	} {
		if got := p.Rel(abs); got != want {
			t.Errorf("Rel(%s) = %s, want %s", abs, got, want)
		}
	}
}

// Whatever is asked for: what is allowed lies within the root once the kernel has followed every link, and it agrees
// with the kernel on where that is.
func TestConfineHolds(t *testing.T) {
	p, dir := jail(t, map[string]string{
		"secret": "s", "app/a/b/f": "f", "app/a/up": "-> ..", "app/out": "-> ../..", "app/a/abs": "-> $D/app/a/b",
		"app/gone": "-> a/none/x", "app/c": "-> a/up/a", "app/loop": "-> loop", "app/a/b/far": "-> ../../../secret",
	})
	names := []string{"a", "b", "c", "f", "up", "out", "abs", "gone", "loop", "far", "..", ".", "none", "secret", "app"}
	rapid.Check(t, func(t *rapid.T) {
		arg := strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 6).Draw(t, "path"), "/")
		abs, err := p.Resolve(arg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Readable(arg)
		real, kernel := filepath.EvalSymlinks(abs)
		if kernel == nil {
			inside := real == dir+"/app" || strings.HasPrefix(real, dir+"/app/")
			if inside != (err == nil) || inside && got.Path() != real {
				t.Fatalf("%s is %s, we say %s, %v", arg, real, got, err)
			}
		} else if err == nil && !strings.HasPrefix(got.Path(), dir+"/app") {
			t.Fatalf("%s: allowed as %s", arg, got)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"@a", "~/x", "file:///a/%2e%2e/b", "a/../..", "\x00", "file://[::1]/x", "://"} {
		f.Add(s)
	}
	p := &Paths{Cwd: "/w/app", Home: "/h", Read: []string{"/w/app"}}
	f.Fuzz(func(t *testing.T, arg string) {
		abs, err := p.Resolve(arg)
		if err == nil && (!filepath.IsAbs(abs) || filepath.Clean(abs) != abs) {
			t.Errorf("%q resolves to %q", arg, abs)
		}
		if got, err := p.ReadableName(arg); err == nil && got.Path() != "/w/app" && !strings.HasPrefix(got.Path(), "/w/app/") {
			t.Errorf("%q may be read as %q", arg, got)
		}
	})
}
