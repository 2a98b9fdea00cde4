package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tandem/lspserver/conformance"
	"tandem/sandbox"
)

// underFilter names the variable by which this test's own binary becomes a program under a filter of system calls.
const underFilter = "TANDEM_TEST_FILTERED"

// filtered becomes a program for which the kernel has neither Landlock nor namespaces, as in many containers.
func filtered(program string, args []string) error {
	runtime.LockOSThread()
	const number, flags = 0, 16 // where struct seccomp_data has them
	read := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	ask := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | op, K: k, Jt: yes, Jf: no}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	code := []unix.SockFilter{
		read(number),
		ask(unix.BPF_JEQ, unix.SYS_LANDLOCK_CREATE_RULESET, 6, 0),
		ask(unix.BPF_JEQ, unix.SYS_CLONE3, 5, 0),
		ask(unix.BPF_JEQ, unix.SYS_UNSHARE, 3, 0),
		ask(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		read(flags),
		ask(unix.BPF_JSET, unix.CLONE_NEWUSER, 0, 2),
		answer(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
		answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
		answer(unix.SECCOMP_RET_ALLOW),
	}
	list := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&list)), 0, 0)
	}
	if err == nil {
		err = syscall.Exec(program, append([]string{program}, args...), os.Environ())
	}
	return err
}

// bare makes a command one on a host that confines nothing.
func bare(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, underFilter+"="+cmd.Path)
	cmd.Path, cmd.Args[0] = os.Args[0], os.Args[0]
}

// own puts a command into a user namespace of its own, in which the number of further ones can be limited.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
}

// children are the processes that one has started and that have not been collected.
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(lists) == 0 {
		t.Fatalf("the children of %d: %v", pid, err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, child)
		}
	}
	return pids
}

// full is for tests of the level full: they fail where it is not to be had and nobody has declared that, see docs/security.md.
func full(t *testing.T) {
	t.Helper()
	if declared := os.Getenv(testLevel); declared != "" && declared != sandbox.LevelFull {
		t.Skip("declared absent: " + testLevel + "=" + declared)
	}
	var local sandbox.Local
	defer local.Close()
	if level := local.Level(); level.Name != sandbox.LevelFull {
		t.Fatalf("level %s: %s", level.Name, level.Reason)
	}
}

// asked are the questions that an editor was asked, and its answer to all of them.
type asked struct {
	answer string
	all    []conformance.Ask
}

func (a *asked) options() conformance.Options {
	return conformance.Options{Ask: func(_ int, q conformance.Ask) string {
		a.all = append(a.all, q)
		return a.answer
	}}
}

// ran is what a tool call of bash gave.
type ran struct {
	Success bool
	Error   string
	Result  struct{ Stdout, Sandbox string }
	Denial  struct{ Layer, Source string }
}

// TestCaseS12WithoutASandbox takes the sandbox away from the program: before it starts, and after it has found out that there is one.
// Then a command runs if a person allows just this command without one, and the result and the audit say so.
func TestCaseS12WithoutASandbox(t *testing.T) {
	full(t)
	const none = "Runs a command without a sandbox"
	for name, c := range map[string]struct {
		host   func(*exec.Cmd)
		level  string
		reason string
		lose   bool
	}{
		"never there": {bare, sandbox.LevelNone, none, false},
		"lost": {own, sandbox.LevelFull, none + "; the sandbox that there is failed (namespaces: the keeper of a command cannot be started: " +
			"fork/exec /proc/self/exe: no space left on device)", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := prepared(t, nil)
			p.host = c.host
			p.start(p.env, []string{"--stdio"})
			var who asked
			var warned atomic.Int32
			o := who.options()
			o.Heard = func(method string, params json.RawMessage) {
				if method == "window/showMessage" && strings.Contains(string(params), "the sandbox for commands has failed") {
					warned.Add(1)
				}
			}
			e := p.editor(o)
			var status struct {
				Sandbox struct{ Level, Reason string }
			}
			e.ask("tandem/status", nil, &status)
			if status.Sandbox.Level != c.level {
				t.Fatalf("level %+v", status.Sandbox)
			}
			if c.lose {
				lose := exec.CommandContext(t.Context(), "nsenter", "--user", "--preserve-credentials", fmt.Sprintf("--target=%d", p.cmd.Process.Pid),
					"sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces")
				if out, err := lose.CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
				until(t, "no keeper waits for the first command", func() bool {
					alive := 0
					for _, keeper := range children(t, p.cmd.Process.Pid) {
						if !over(keeper) {
							alive++
							_ = syscall.Kill(keeper, syscall.SIGKILL)
						}
					}
					return alive == 0
				})
			}
			session := e.session("auto")
			bash := func(answer, reason string) (r ran) {
				t.Helper()
				who = asked{answer: answer}
				e.ask("tandem/tools/call", map[string]any{
					"sessionId": session, "name": "bash", "arguments": map[string]any{"command": "echo here | tee ran"},
				}, &r)
				if len(who.all) != 1 {
					t.Fatalf("asked %d times", len(who.all))
				}
				q := who.all[0]
				if q.Meta.Tandem.Reason != reason {
					t.Errorf("asked %q", q.Meta.Tandem.Reason)
				}
				if len(q.Options) != 2 || q.Options[0].OptionID != "reject_once" || q.Options[1].OptionID != "allow_once" {
					t.Errorf("options %v", q.Options)
				}
				return r
			}
			if r := bash("reject_once", c.reason); r.Error != "GATE_DENIED" || r.Denial.Source != "user" {
				t.Errorf("%+v", r)
			}
			if _, err := os.Lstat(filepath.Join(p.root, "ran")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it ran: %v", err)
			}
			if e.ask("tandem/status", nil, &status); status.Sandbox.Level != "none" || c.lose != strings.Contains(status.Sandbox.Reason, "at a new trial") {
				t.Errorf("the status: %+v", status.Sandbox)
			}
			for range 2 { // an answer is not kept, and what was lost is not tried again
				if r := bash("allow_once", none); !r.Success || r.Result.Stdout != "here\n" || r.Result.Sandbox != "none" {
					t.Errorf("%+v", r)
				}
			}
			var audit struct {
				Entries []struct{ Decision, Rule, Layer, Sandbox string }
			}
			e.ask("tandem/audit/query", map[string]any{"sessionId": session}, &audit)
			if len(audit.Entries) != 3 {
				t.Fatalf("%+v", audit)
			}
			for i, a := range audit.Entries {
				if a.Sandbox != "none unconfined" || (i > 0) != (a.Decision == "allow") || i > 0 && (a.Rule != "allow_once" || a.Layer != "person") {
					t.Errorf("%+v", a)
				}
			}
			var r ran
			e.ask("tandem/tools/call", map[string]any{
				"sessionId": e.session("plan"), "name": "bash", "arguments": map[string]any{"command": "ls"},
			}, &r)
			if r.Error != "GATE_DENIED" || r.Denial.Layer != "sandbox" {
				t.Errorf("a session that plans: %+v", r)
			}
			e.leaves()
			if n := warned.Load(); n != map[bool]int32{true: 1}[c.lose] {
				t.Errorf("the person was told %d times that it is lost", n)
			}
		})
	}
}

// TestCaseS12Unattended: where nobody can be asked, no command runs without a sandbox.
func TestCaseS12Unattended(t *testing.T) {
	p := prepared(t, nil)
	cmd := exec.CommandContext(t.Context(), program, "--mode=auto", "tool", "call", "bash", `{"command":"touch ran"}`)
	cmd.Dir, cmd.Env = p.root, p.env
	bare(cmd)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no permission prompt can be shown") {
		t.Errorf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(p.root); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}
