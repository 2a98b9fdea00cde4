package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/sandbox"
	"tandem/sandbox/search/index"
)

// TestDoctorLooks has what a test cannot bring about in the whole program.
func TestDoctorLooks(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".vscode/extensions/tandem.tandem-0.1.0", "proc"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	proc := filepath.Join(home, "proc")
	for name, n := range map[string]string{"max_user_watches": "1024\n", "max_user_instances": "128\n"} {
		if err := os.WriteFile(filepath.Join(proc, name), []byte(n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	strict := config.Default()
	strict.Sandbox.Level = "strict"
	strict.StateDir = filepath.Join(proc, "max_user_watches", "state")
	x := &Examination{cfg: strict, Getenv: func(string) string { return home }, Find: func(name string) string {
		return map[string]string{"code": "/bin/code", "nvim": "/bin/nvim"}[name]
	}}
	x.editors()
	x.inotify(proc)
	x.inotify(filepath.Join(proc, "none"))
	x.sandbox(sandbox.Level{Name: sandbox.LevelNone, Reason: "nothing there"})
	x.state()
	x.program(context.Background(), "git", "git", "commands cannot use it", "install git")
	var got []string
	for _, f := range x.findings {
		got = append(got, f.Status+" "+strings.ReplaceAll(f.Detail, home, "~")+" | "+f.Next)
	}
	want := []string{
		"ok ~/.vscode/extensions/tandem.tandem-0.1.0 | ",
		"note installed, but Tandem was not found in the usual folders for plug-ins | add editors/nvim to its runtimepath, see docs/neovim.md",
		"warn inotify limits: 1024 folders, 128 watchers for all programs together, which is few; folders above the limit are polled | sysctl fs.inotify.max_user_watches=65536 fs.inotify.max_user_instances=128",
		"note the inotify limits cannot be read; folders that the system does not watch are polled | ",
		`warn none, and sandbox.level is strict, so every command is refused: nothing there | set sandbox.level to "auto" to be asked before every command instead`,
		"fail ~/proc/max_user_watches is not a folder | remove it, or set stateDir to another folder",
		"note git is not on the PATH: commands cannot use it | install git",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestDoctorLooksAtSearches(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".git/HEAD", "a.txt", "b.log", ".gitignore", "sub/c.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("*.log\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := &Examination{Getenv: func(string) string { return "" }, Roots: []string{dir, filepath.Join(dir, "none")}, Timeout: time.Minute}
	x.searches(t.Context())
	x.Roots, x.Timeout = x.Roots[:1], time.Nanosecond
	x.searches(t.Context())
	large := index.Outlook{Files: 3000, Folders: 200, Most: 5000, Watched: 1000}
	x.foreseen("/w", large, nil)
	remote, many, wide := large, large, large
	remote.Reason = "the folder is far away"
	many.Files, many.Reason = 5001, "it has more than 5000 files"
	wide.Folders = 20_000
	for _, o := range []index.Outlook{remote, many, wide} {
		x.foreseen("/w", o, nil)
	}
	var got []string
	for _, f := range x.findings {
		got = append(got, f.Status+" "+strings.ReplaceAll(f.Detail, dir, "~")+" | "+f.Next)
	}
	want := []string{
		"ok ~: 3 files in 2 folders, too few for an index, so each search reads all files | ",
		"note ~/none cannot be scanned: stat ~/none: no such file or directory | ",
		"note ~ cannot be scanned: it took longer than 1ns | ",
		"ok /w: 3000 files in 200 folders, indexed after the first search | ",
		"note /w: 3000 files in 200 folders, without an index, so each search reads all files: the folder is far away | ",
		"note /w has no index, so each search reads all files: it has more than 5000 files | list the folders to skip in .ignore, or open a subfolder",
		"note /w: 3000 files in 20000 folders, with an index, but each search checks every file, since the system watches at most 1000 folders | sysctl fs.inotify.max_user_watches=80000",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestDoctorLooksAtServersAndPlugins(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(`{"id": "p", "tools": [{"name": "t", "description": "d", "command": ["x"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.MCPServers = map[string]config.MCPServer{
		"a": {Command: "there"}, "b": {Command: "none"}, "c": {Command: "/none/at/all"}, "d": {URL: "https://mcp.example.org/mcp"},
		"e": {Command: "there", URL: "https://mcp.example.org/mcp"}, "f": {Command: "there", Sandbox: "off"},
	}
	cfg.Plugins = []string{dir, filepath.Join(dir, "none")}
	x := &Examination{cfg: cfg, Find: func(name string) string { return map[string]string{"there": "/bin/there"}[name] }}
	x.servers()
	x.plugins()
	var got []string
	for _, f := range x.findings {
		got = append(got, f.Status+" "+strings.ReplaceAll(f.Detail, dir, "~"))
	}
	want := []string{
		"ok a: there", "warn b: the program none was not found", "warn c: the program /none/at/all was not found", "ok d, over HTTP",
		"fail e: it must have either a command or a url", "ok f: there, without a sandbox", "ok p: 1 tools", "fail ~/none/plugin.json: no such file or directory",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}
