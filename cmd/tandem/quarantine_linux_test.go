package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tandem/sandbox"
	"tandem/sandbox/effects/autorun"
)

// TestPlantedFilesAreQuarantined runs commands of a model through the program: what would be executed later is moved away before the
// answer, which says so, and comes back by one command. git goes on working.
func TestPlantedFilesAreQuarantined(t *testing.T) {
	dir := sandbox.Canonical(t.TempDir())
	app := filepath.Join(dir, "app")
	if err := os.MkdirAll(app+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	tandem := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = app, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	full(t)
	bash := func(line string) string {
		t.Helper()
		args, _ := json.Marshal(map[string]string{"command": line})
		return tandem("--mode=auto", "tool", "call", "bash", string(args))
	}
	if said := bash("git init -q clone; mkdir out; echo x >out/y; echo done"); strings.Contains(said, "quarantine") {
		t.Errorf("says\n%s", said)
	}
	said := bash("e=.envrc h=sub/.git/hooks; git init -q sub; echo evil >$e; mkdir -p $h; echo hook >$h/pre-commit; chmod +x $h/pre-commit")
	if !strings.Contains(said, "The command made .envrc, sub/.git/hooks/pre-commit. That was moved into quarantine") {
		t.Errorf("says\n%s", said)
	}
	for _, name := range []string{".envrc", "sub/.git/hooks/pre-commit"} {
		if _, err := os.Lstat(filepath.Join(app, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	var all []autorun.Quarantined
	if err := json.Unmarshal([]byte(tandem("quarantine", "list", "--json")), &all); err != nil || len(all) != 2 {
		t.Fatalf("%+v %v", all, err)
	}
	tandem("quarantine", "restore", all[0].ID, all[1].ID)
	if text, err := os.ReadFile(app + "/.envrc"); string(text) != "evil\n" {
		t.Errorf("%q %v", text, err)
	}
	if said := tandem("quarantine", "list"); !strings.Contains(said, "the quarantine is empty") {
		t.Errorf("says\n%s", said)
	}
}
