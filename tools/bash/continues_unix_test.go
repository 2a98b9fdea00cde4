//go:build unix

package bash

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools/jobs"
	"tandem/tools/toolstest"
)

// TestFaultV10BecomesAJob: a command that still runs when its answer is due goes on as a job, and the answer has its output so far, the
// job's id and what to do next.
func TestFaultV10BecomesAJob(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/f"}}})
	env.Commands.Runner, env.Commands.Jobs, env.Commands.Continues = &sandbox.Local{}, jobs.New(), true
	env.Limits.BashTimeout, env.Limits.JobTime, env.Limits.KillGrace = 300*time.Millisecond, time.Hour, time.Second
	defer env.Commands.Jobs.Close()
	r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"echo begun; echo odd >&2; until [ -e go ]; do read -t 0.01 <> <(:); done; echo done; exit 3"}`)
	v, ok := r.Value.(*continued)
	if !r.Success || !ok || v.JobID != "job_1" || v.Stdout != "begun\n" || v.Stderr != "odd\n" || v.Sandbox == "" {
		t.Fatalf("%+v, %+v", r, r.Value)
	}
	for _, want := range []string{"stdout:\nbegun\n", "stderr:\nodd\n", "still running after 0.3 seconds", "as job_1", "job_output", "job_kill"} {
		if !strings.Contains(r.Data, want) {
			t.Errorf("%q lacks %q", r.Data, want)
		}
	}
	if err := os.WriteFile(env.Paths.Cwd+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ = toolstest.Call(t.Context(), NewJobOutput(), env, `{"job_id":"job_1","wait_ms":600000}`)
	if !r.Success || !strings.HasPrefix(r.Data, "output:\ndone\n") || !strings.HasSuffix(r.Data, "job_1 has ended, exit code: 3") {
		t.Errorf("%+v", r)
	}
}

// TestFaultV10Ended: a time that the call or the settings name ends the command, and so does a session that nobody looks at.
func TestFaultV10Ended(t *testing.T) {
	for name, c := range map[string]struct {
		args      string
		continues bool
		reads     time.Duration
	}{
		"unattended":                {`{"command":"echo x; exec sleep 600 # >f"}`, false, 0},
		"the call names it":         {`{"command":"echo x; exec sleep 600 # >f","timeout_ms":1000}`, true, 0},
		"in seconds":                {`{"command":"echo x; exec sleep 600 # >f","timeout":1}`, true, 0},
		"the settings, for reading": {`{"command":"echo x; sleep 600"}`, true, time.Second},
	} {
		env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/f"}}})
		env.Commands.Runner, env.Commands.Jobs, env.Commands.Continues = &sandbox.Local{}, jobs.New(), c.continues
		env.Limits.BashTimeout, env.Limits.BashReadOnlyTimeout, env.Limits.JobTime = time.Second, c.reads, time.Hour
		r, _ := toolstest.Call(t.Context(), New(), env, c.args)
		if v, ok := r.Value.(*value); r.Error != filetime.Timeout || !ok || !v.TimedOut || v.Stdout != "x\n" || env.Commands.Jobs.Any() {
			t.Errorf("%s: %+v", name, r)
		}
		env.Commands.Jobs.Close()
	}
}

// TestFaultV10JobTime: a command that has become a job is stopped once its time is over.
func TestFaultV10JobTime(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/f"}}})
	env.Commands.Runner, env.Commands.Jobs, env.Commands.Continues = &sandbox.Local{}, jobs.New(), true
	env.Limits.BashTimeout, env.Limits.JobTime, env.Limits.KillGrace = 50*time.Millisecond, 200*time.Millisecond, time.Second
	defer env.Commands.Jobs.Close()
	if r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"exec sleep 600"}`); !r.Success {
		t.Fatalf("%+v", r)
	}
	r, _ := toolstest.Call(t.Context(), NewJobOutput(), env, `{"job_id":"job_1","wait_ms":600000}`)
	if v := r.Value.(*jobValue); v.Running || !v.TimedOut {
		t.Errorf("%+v, %+v", r, v)
	}
}
