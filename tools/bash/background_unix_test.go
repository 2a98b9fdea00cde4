//go:build unix

package bash

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/sandbox/effects/autorun"
	"tandem/tools"
	"tandem/tools/jobs"
	"tandem/tools/toolstest"
)

// What a command in the background plants is found when the next command begins, when its output is looked at, and at its end.
func TestBackgroundPlants(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/f"}}})
	list := jobs.New()
	defer list.Close()
	root := env.Paths.Cwd
	env.Commands.Jobs, env.Call, env.Paths.Roots = list, "c", &sandbox.Roots{Own: []string{t.TempDir()}}
	env.Commands.Autorun = &autorun.Guard{
		Paths: env.Paths, Session: "s", Name: env.Name, Quarantine: &autorun.Quarantine{Dir: env.Paths.Roots.Own[0], Now: time.Now},
	}
	if err := errors.Join(syscall.Mkfifo(root+"/go", 0o600), syscall.Mkfifo(root+"/made", 0o600)); err != nil {
		t.Fatal(err)
	}
	call := func(tool tools.Tool, args string) string {
		t.Helper()
		r, _ := toolstest.Call(t.Context(), tool, env, args)
		if len(r.Warnings) > 0 && !strings.Contains(r.Data, r.Warnings[0]) {
			t.Errorf("warns %q and says %q", r.Warnings, r.Data)
		}
		return r.Data
	}
	taken := func(said, name string) {
		t.Helper()
		if _, err := os.Lstat(root + "/" + name); err == nil || !strings.Contains(said, "The command made "+name+". That was moved into quarantine") {
			t.Errorf("%s: %v, says\n%s", name, err, said)
		}
	}
	said := call(New(), `{"command":"for f in .envrc .mcp.json .npmrc; do echo x >$f; echo >made; cat go; done; echo x >.tool-versions","background":true}`)
	if !strings.Contains(said, "job_1") {
		t.Fatal(said)
	}
	step := func(name string, next func() string) { // a FIFO is opened once its other end is
		t.Helper()
		if _, err := os.ReadFile(root + "/made"); err != nil {
			t.Fatal(err)
		}
		taken(next(), name)
		if err := os.WriteFile(root+"/go", nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	step(".envrc", func() string { return call(New(), `{"command":"cat f"}`) })
	step(".mcp.json", func() string { return call(New(), `{"command":"true >x"}`) })
	step(".npmrc", func() string { return call(NewJobOutput(), `{"job_id":"job_1"}`) })
	taken(call(NewJobOutput(), `{"job_id":"job_1","wait_ms":60000}`), ".tool-versions")
}
