package keeper

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// boundsOf are bounds in namespaces: the rules beside those that every command has.
func boundsOf(rules ...confine.Rule) *Bounds {
	p := confine.Policy{Network: confine.Loopback, Rules: append(rules,
		confine.Rule{Path: "/", Access: confine.Read}, confine.Rule{Path: "/proc", Access: confine.Private},
		confine.Rule{Path: "/tmp", Access: confine.Private}, confine.Rule{Path: "/dev", Access: confine.Private},
		confine.Rule{Path: "/dev/null", Access: confine.Write}, confine.Rule{Path: "/dev/pts", Access: confine.Private},
		confine.Rule{Path: "/dev/shm", Access: confine.Private}, confine.Rule{Path: "/proc/sys", Access: confine.Read},
	)}
	slices.SortFunc(p.Rules, func(a, b confine.Rule) int { return strings.Compare(a.Path, b.Path) })
	return &Bounds{Policy: p}
}

// says runs a bash command at a folder and gives what it writes.
func says(t *testing.T, k *Keeper, b *Bounds, dir, line string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := specOf(t, line, w)
	s.Stderr, s.Bounds, s.Path = w, b, dir
	if s.Dir, err = os.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer s.Dir.Close()
	if _, err := k.Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Wait(); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(out))
}

func confined(t *testing.T) *Keeper {
	t.Helper()
	k, err := New(true)
	if err != nil {
		if os.Getenv("TANDEM_TEST_LEVEL") == "" {
			t.Fatal("no namespaces, and TANDEM_TEST_LEVEL does not declare that: ", err)
		}
		t.Skip("no namespaces: ", err)
	}
	t.Cleanup(k.Close)
	return k
}

// lines are what a command says, one line for each of some commands.
func lines(t *testing.T, k *Keeper, b *Bounds, dir string, commands ...string) []string {
	t.Helper()
	line := ""
	for _, c := range commands {
		line += "{ " + c + "; } 2>&1 | tr '\\n' ' ' | sed 's/ *$//'; echo\n"
	}
	return strings.Split(says(t, k, b, dir, line), "\n")
}

// files makes files below a new folder, with their names for content.
func files(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// entries is how many names a listing shows.
func entries(t *testing.T, dir string) (n int) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if !strings.HasPrefix(e.Name(), ".") {
			n++
		}
	}
	return n
}

// TestView tries what commands can do with what the rules are about.
func TestView(t *testing.T) {
	dir := files(t, "app/.git/hooks/x", "app/.git/config", "app/.git/HEAD", "app/.env", "app/real", "home/.ssh/id", "home/x", "closed/bin/x", "closed/y")
	app := dir + "/app"
	if err := errors.Join(os.Symlink("real", app+"/.envrc"), os.Symlink("/etc", app+"/.vscode"), os.Symlink("../home/.ssh/id", app+"/.npmrc")); err != nil {
		t.Fatal(err)
	}
	rules := []confine.Rule{
		{Path: dir + "/home", Access: confine.Read},
		{Path: dir + "/home/.ssh", Access: confine.Hidden},
		{Path: app, Access: confine.Write},
		{Path: app + "/.git", Access: confine.Write},
		{Path: app + "/.git/hooks", Access: confine.Read},
		{Path: app + "/.git/config", Access: confine.Read},
		{Path: app + "/.git/info", Access: confine.Read}, // is not there
		{Path: app + "/.env", Access: confine.Hidden},
		{Path: app + "/.envrc", Access: confine.Read},
		{Path: app + "/.vscode", Access: confine.Read}, // links
		{Path: app + "/.npmrc", Access: confine.Read},
		{Path: dir + "/closed", Access: confine.Hidden}, // below a private folder, if dir is below /tmp
		{Path: dir + "/closed/bin", Access: confine.Read},
		{Path: "/var", Access: confine.Hidden}, // not below one
		{Path: "/var/cache", Access: confine.Hidden},
		{Path: "/var/lib", Access: confine.Read},
	}
	b, k := boundsOf(rules...), confined(t)
	tries := [][2]string{
		{"pwd", app},
		{"echo x >new && cat new", "x"},
		{"touch .git/new && ls .git", "HEAD config hooks new"},
		{"touch /tmp/t /dev/shm/t && ls /tmp/t /dev/shm/t", "/dev/shm/t /tmp/t"},
		{"cat " + dir + "/home/x", "home/x"},
		{"echo x >/dev/null; cat <(echo fd)", "fd"},
		{"ls " + dir + "/closed; cat " + dir + "/closed/bin/x", "bin closed/bin/x"},
		{"ls /var; ls /var/lib | grep -c .", "lib " + strconv.Itoa(entries(t, "/var/lib"))},
		{"touch /etc/x", "touch: cannot touch '/etc/x': Read-only file system"},
		{"touch .git/hooks/y", "touch: cannot touch '.git/hooks/y': Read-only file system"},
		{"chmod 700 .git/hooks", "chmod: changing permissions of '.git/hooks': Read-only file system"},
		{"mv .git .git2", "mv: cannot move '.git' to '.git2': Device or resource busy"},
		{"mv .git/hooks .git/h2", "mv: cannot move '.git/hooks' to '.git/h2': Device or resource busy"},
		{"mv .git/HEAD .git/config", "mv: cannot move '.git/HEAD' to '.git/config': Device or resource busy"},
		{"rm -f .git/config", "rm: cannot remove '.git/config': Device or resource busy"},
		{"cat .env", "cat: .env: Permission denied"},
		{"rm -f .env", "rm: cannot remove '.env': Device or resource busy"},
		{"ls " + dir + "/home/.ssh", "ls: cannot open directory '" + dir + "/home/.ssh': Permission denied"},
		{"cat .envrc", "app/real"},
		{"rm -f .envrc .vscode", "rm: cannot remove '.envrc': Device or resource busy rm: cannot remove '.vscode': Device or resource busy"},
		{"cat .npmrc", "cat: .npmrc: Permission denied"}, // what it leads to is hidden
		{"ls .vscode/", "ls: cannot access '.vscode/': Not a directory"},
		{"kill -KILL 1 2>/dev/null || kill -STOP 1 2>/dev/null || echo no", "no"},
		{"ls -d /proc/1/root/. /proc/1/cwd/. /proc/1/task/1/root/. /proc/1/fd/*/. 2>/dev/null; cat /proc/1/maps /proc/1/environ 2>/dev/null || echo no", "no"}, // the keeper sees more
		{"mount -t tmpfs x /mnt >/dev/null 2>&1 || unshare -r true 2>/dev/null || echo no", "no"},
		{"grep -E 'Cap(Eff|Bnd|Amb)|NoNew|Seccomp:' /proc/self/status | tr -d '\\t'", "CapEff:0000000000000000 CapBnd:0000000000000000 CapAmb:0000000000000000 NoNewPrivs:1 Seccomp:2"},
	}
	var commands []string
	for _, try := range tries {
		commands = append(commands, try[0])
	}
	for i, said := range lines(t, k, b, app, commands...) {
		if i < len(tries) && said != tries[i][1] {
			t.Errorf("%s\nsays  %s\nwants %s", tries[i][0], said, tries[i][1])
		}
	}
	if said := says(t, k, b, app, "ls /proc/self/fd"); said != "0\n1\n2\n3" { // the three, and the folder
		t.Errorf("open files %q", said)
	}
	for name, want := range map[string]string{app + "/new": "x\n", "/tmp/t": "", app + "/.git/config": "app/.git/config"} {
		if text, _ := os.ReadFile(name); string(text) != want {
			t.Errorf("%s is %q on the host", name, text)
		}
	}
}

// TestViewFollows: what the host exchanges loses its mount. The next command sees the rules kept nevertheless, and what is new
// comes to be protected; a root that is exchanged makes the keeper unfit.
func TestViewFollows(t *testing.T) {
	dir := files(t, "app/.git/config", "other/x")
	app := dir + "/app"
	rules := []confine.Rule{
		{Path: app, Access: confine.Write}, {Path: app + "/.git", Access: confine.Write}, {Path: app + "/.git/config", Access: confine.Read},
	}
	b, k := boundsOf(rules...), confined(t)
	var now unix.Stat_t
	if err := unix.Stat(app, &now); err != nil {
		t.Fatal(err)
	}
	b.Marks = map[string]Mark{app: markOf(&now)}
	try := func() string { return says(t, k, b, app, "echo x >.git/config; touch .envrc /tmp/kept; ls -a; exit 0") }
	if said := try(); !strings.Contains(said, "config: Read-only") || strings.Contains(said, "touch") {
		t.Error(said)
	}
	if err := errors.Join(os.WriteFile(app+"/.git/new", nil, 0o644), os.Rename(app+"/.git/new", app+"/.git/config")); err != nil {
		t.Fatal(err)
	}
	b.Policy.Rules = boundsOf(append(rules, confine.Rule{Path: app + "/.envrc", Access: confine.Read})...).Policy.Rules
	if said := says(t, k, b, app, "echo x >.git/config; echo x >.envrc; ls /tmp; exit 0"); !strings.Contains(said, "config: Read-only") ||
		!strings.Contains(said, ".envrc: Read-only") || !strings.Contains(said, "kept") {
		t.Error(said)
	}
	if err := errors.Join(os.Rename(app, dir+"/away"), os.Rename(dir+"/other", app)); err != nil {
		t.Fatal(err)
	}
	for _, k := range []*Keeper{k, confined(t)} {
		s := specOf(t, "touch here", nil)
		s.Bounds, s.Path = b, "/"
		var unfit UnfitError
		if _, err := k.Run(t.Context(), s); !errors.As(err, &unfit) {
			t.Error(err)
		}
	}
	if _, err := os.Stat(app + "/here"); err == nil {
		t.Error("it wrote into the other folder")
	}
}

// TestUnfit: a keeper that cannot confine a command runs none.
func TestUnfit(t *testing.T) {
	confined(t).Close()
	for what, change := range map[string]func(b *Bounds, cmd *exec.Cmd) *Bounds{
		"not to be confined": func(*Bounds, *exec.Cmd) *Bounds { return nil },
		"no rule gives the whole": func(b *Bounds, _ *exec.Cmd) *Bounds {
			b.Policy.Rules = b.Policy.Rules[1:]
			return b
		},
		"and a /proc": func(b *Bounds, _ *exec.Cmd) *Bounds {
			b.Policy.Rules = slices.DeleteFunc(b.Policy.Rules, func(r confine.Rule) bool { return r.Path == "/proc" })
			return b
		},
		"not permitted": func(b *Bounds, cmd *exec.Cmd) *Bounds { // another user
			cmd.Args[1] += "7"
			return b
		},
	} {
		cmd := program(true)
		s := specOf(t, "true", nil)
		s.Bounds, s.Path = change(boundsOf(), cmd), "/"
		k, err := start(cmd, true)
		if err != nil {
			t.Fatal(err)
		}
		var unfit UnfitError
		if _, err := k.Run(t.Context(), s); !errors.As(err, &unfit) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		collected(t, k)
	}
}

// TestNamespaceEnds: a command in namespaces that ends leaves nothing behind, whatever left its process group.
func TestNamespaceEnds(t *testing.T) {
	b, k := boundsOf(), confined(t)
	for range 3 {
		s := specOf(t, "for i in $(seq 50); do setsid sleep 600 & done; (setsid bash -c 'trap \"\" TERM; sleep 600' &)", nil)
		s.Bounds, s.Path = b, "/"
		if _, err := k.Run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if end, err := k.Wait(); err != nil || end.Status != 0 || end.Background < 51 || end.Left != 0 {
			t.Errorf("%+v, %v", end, err)
		}
		if said := says(t, k, b, "/", "set -- /proc/[0-9]*; echo $#"); said != "2" { // the keeper and bash
			t.Errorf("%s processes", said)
		}
	}
}

// TestBounds: what is told a keeper is what it was to be told.
func TestBounds(t *testing.T) {
	b := boundsOf(confine.Rule{Path: "/a \n;b", Access: confine.Write})
	b.Marks = map[string]Mark{"/a \n;b": {1, 1 << 63}}
	got, err := decodeBounds(b.encode())
	if err != nil || got.encode() != b.encode() || got.Marks["/a \n;b"] != b.Marks["/a \n;b"] {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := decodeBounds(""); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	mark := strings.Repeat("m", 16)
	for _, fields := range [][]string{{"x"}, {b.Policy.Encode()}, {b.Policy.Encode(), mark}, {"1\x000\x000\x000\x002/", "m"}, {"1\x000\x000\x000\x002/", mark, mark}} {
		if _, err := decodeBounds(string(join(fields))); err == nil {
			t.Errorf("%q is accepted", fields)
		}
	}
}
