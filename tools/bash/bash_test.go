package bash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/jobs"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) {
	toolstest.Cases(t, New(), NewJobOutput(), NewJobKill())
}

// scripted answers with one outcome and keeps what it was asked to run.
type scripted struct {
	level   string
	outcome sandbox.Outcome
	err     error
	got     sandbox.Command
}

func (s *scripted) Level() sandbox.Level { return sandbox.Level{Name: s.level} }

func (s *scripted) Find(name string, _ sandbox.Surroundings) (string, error) {
	return "/bin/" + name, nil
}

func (s *scripted) Start(_ context.Context, c sandbox.Command) (sandbox.Process, error) {
	s.got = c
	return over{outcome: s.outcome}, s.err
}

// over is a command that has ended.
type over struct {
	sandbox.Process
	outcome sandbox.Outcome
}

func (o over) Wait() sandbox.Outcome { return o.outcome }

func call(t *testing.T, s *scripted, args string) (tools.Result, *tools.Plan) {
	t.Helper()
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/sub/f"}}})
	env.Commands.Runner = s
	return toolstest.Call(t.Context(), New(), env, args)
}

func TestF067_F170Timeout(t *testing.T) {
	for args, want := range map[string]time.Duration{
		``: 7 * time.Second, `,"timeout_ms":0`: 0, `,"timeout_ms":600000`: 10 * time.Minute, `,"timeout":1.5`: 1500 * time.Millisecond,
		`,"timeout":600`: 10 * time.Minute, `,"timeout_ms":"250"`: 250 * time.Millisecond,
	} {
		env := toolstest.Workspace(t, &txtar.Archive{})
		s := &scripted{}
		env.Commands.Runner, env.Limits.BashTimeout = s, 7*time.Second
		if r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"x"`+args+`}`); !r.Success || s.got.Timeout != want {
			t.Errorf("%s: %v, %+v", args, s.got.Timeout, r)
		}
	}
	for args, expected := range map[string]string{
		`,"timeout_ms":600001`: "<= 600000", `,"timeout_ms":-1`: ">= 0", `,"timeout":0`: "> 0", `,"timeout":601`: "<= 600",
		`,"timeout":1,"timeout_ms":1000`: "absent", `,"timeout_ms":"abc"`: "integer",
	} {
		r, p := call(t, &scripted{}, `{"command":"x"`+args+`}`)
		if r.Error != tools.InvalidArgs || len(r.Issues) != 1 || r.Issues[0].Expected != expected || p != nil {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// A time that the call names itself holds, also where it is the number that the description gives as the default.
func TestFindingB3NamedTimeHolds(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{})
	s := &scripted{}
	env.Commands.Runner, env.Limits.BashTimeout = s, 7*time.Second
	if r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"x","timeout_ms":30000}`); !r.Success || s.got.Timeout != 30*time.Second {
		t.Errorf("%v, %+v", s.got.Timeout, r)
	}
}

func TestF119TimedOut(t *testing.T) {
	for name, tt := range map[string]struct{ stdout, want string }{
		"F267 nothing": {"", "Command timed out after 2 seconds and was stopped. If it needs more time (a build, tests), send it again with `timeout_ms` 120000, or run it with `background`.\n[Exit code: -1]"},
		"F267 some":    {"half\n", "stdout:\nhalf\nCommand timed out after 2 seconds and was stopped. If it needs more time (a build, tests), send it again with `timeout_ms` 120000, or run it with `background`.\n[Exit code: -1]"},
	} {
		s := &scripted{outcome: sandbox.Outcome{ExitCode: -1, TimedOut: true, Stdout: tt.stdout, Duration: 3 * time.Second}}
		r, _ := call(t, s, `{"command":"x","timeout":2}`)
		if r.Error != filetime.Timeout || r.Data != tt.want || *r.Value.(*value) != (value{ExitCode: -1, Stdout: tt.stdout, TimedOut: true}) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestCancelled(t *testing.T) {
	r, _ := call(t, &scripted{outcome: sandbox.Outcome{ExitCode: -1, Cancelled: true, Stderr: "x\n"}}, `{"command":"x"}`)
	if r.Error != filetime.Cancelled || r.Data != "stderr:\nx\nThe command was cancelled before its end.\n[Exit code: -1]" {
		t.Errorf("%+v", r)
	}
	r, _ = call(t, &scripted{err: errors.New("no bash")}, `{"command":"x"}`)
	if r.Error != tools.ExecutionError || !strings.Contains(r.Data, "no bash") {
		t.Errorf("%+v", r)
	}
}

func TestPlan(t *testing.T) {
	s := &scripted{level: "none"}
	_, p := call(t, s, `{"command":"make  test\nmake x","cwd":"sub"}`)
	if p.Command() != "make  test\nmake x" || p.Needs[0].Confined || p.Title != "$ make  test …" || p.Semantic != "write" {
		t.Errorf("%+v", p)
	}
	if !slices.Equal(s.got.Argv, []string{"/bin/bash", "-c", p.Command(), "bash"}) || s.got.Profile != sandbox.Unconfined || !strings.HasSuffix(s.got.Dir.Path(), "/sub") || s.got.Env != nil {
		t.Errorf("%+v", s.got)
	}
	if _, p = call(t, &scripted{level: "full"}, `{"command":"x"}`); !p.Needs[0].Confined {
		t.Errorf("in a sandbox: %+v", p)
	}
	for args, code := range map[string]filetime.Code{
		`{"command":"x","cwd":"/"}`: filetime.OutsideRoots, `{"command":"x","cwd":"nowhere"}`: filetime.ReadError,
		`{"command":"x","cwd":"sub/f"}`: filetime.ReadError, `{"command":" "}`: tools.InvalidArgs, `{"command":"a\u0000b"}`: tools.InvalidArgs,
		`{"command":7}`: tools.InvalidArgs,
	} {
		if r, p := call(t, &scripted{}, args); r.Error != code || p != nil {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// A person is told of whole lines, at once after a silence and then not more often than can be read, and of the rest at the end. What is
// printed before a silence does not wait for its end.
func TestF225_F279Progress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var got []string
		r := reporter{env: &tools.Env{Person: tools.Person{Show: func(p tools.Progress) {
			got = append(got, fmt.Sprintf("%v %s", time.Since(began), p.Text))
		}}}}
		for _, chunk := range []string{"a\nb", "c\n", "d\n", "\x1b[31mred", "\x1b[0m\n", strings.Repeat("x", 20_000) + "\nend"} {
			r.output(sandbox.Stdout, []byte(chunk))
			time.Sleep(15 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		r.output(sandbox.Stdout, []byte(" of it\nlast"))
		r.flush()
		time.Sleep(time.Hour)
		want := []string{"0s a\n", "50ms bc\nd\n", "100ms " + strings.Repeat("x", newsBytes-4) + "\n", "1h0m0.09s end of it\n", "1h0m0.09s last"}
		if !slices.Equal(got, want) {
			t.Errorf("%.60q", got)
		}
	})
}

func TestK12Clean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n", "a\r\nb\rc": "a\nb\nc", "a\x00b\x07\x08": "ab", "\x1b[31mred\x1b[0m": "red",
		"\x1b]52;c;aGk=\x07x": "x", "\x1b]0;title\x1b\\x": "x", "\x1b]never ends": "never ends", "\xffx": "\uFFFDx",
		"\x1b[": "", "\x1b": "", "\x1b(Bx": "Bx", "\u009b31mx": "31mx", "é😀": "é😀", "\x1b[3\nx": "\nx", "\x1bé": "é",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[1;2mx\x1b]52;c;x\x07\r\n\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\r\a\x7f") || clean(got) != got {
			t.Errorf("%q gives %q", s, got)
		}
	})
}

// A command that floods its output is answered in full, with what was left out counted.
func TestF113Real(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{})
	r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"seq 1000000; exit 3"}`)
	v := r.Value.(*value)
	if r.Error != "EXIT_CODE_3" || !r.Truncated || !strings.HasSuffix(r.Data, "\n1000000\n[Exit code: 3]") ||
		!strings.Contains(v.Stdout, " bytes left out …]") || len(v.Stdout) > maxValue+100 {
		t.Errorf("%s, %d bytes", r.Error, len(v.Stdout))
	}
}

// What was printed is what stands in the answer and what its gaps count, also beyond what is kept of a stream.
func TestFindingB4GapsCount(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{})
	command := `yes ä€ | head -n 2000000; yes é | head -n 3000000 >&2`
	p, err := toolstest.Plan(t.Context(), New(), env, json.RawMessage(`{"command":"`+command+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bytes, lines := int64(len(r.Data)-len("stdout:\nstderr:\nexit code: 0")), int64(strings.Count(r.Data, "\n")-2)
	for _, g := range r.Gaps {
		bytes, lines = bytes+g.Bytes, lines+g.Lines
	}
	if wantBytes, want := int64(6*2_000_000+3*3_000_000), int64(5_000_000); len(r.Gaps) != 2 || bytes != wantBytes || lines != want {
		t.Errorf("%d gaps, %d bytes, want %d, %d lines, want %d", len(r.Gaps), bytes, wantBytes, lines, want)
	}
}

// TestFindingS7ExchangedFolder exchanges the folder of a command after the call was judged, as anything may while a person
// thinks about it: the command does not run in the other one, nor in any.
func TestFindingS7ExchangedFolder(t *testing.T) {
	for name, tt := range map[string]struct {
		exchange func(sub string) error
		runs     bool
	}{
		"nothing": {func(string) error { return nil }, true},
		"its content": {func(sub string) error {
			return errors.Join(os.Remove(sub+"/f"), os.WriteFile(sub+"/g", nil, 0o600), os.Mkdir(sub+"/h", 0o700))
		}, true},
		"another folder":    {func(sub string) error { return errors.Join(os.Rename(sub, sub+"1"), os.Rename(sub+"2", sub)) }, false},
		"a new folder":      {func(sub string) error { return errors.Join(os.Rename(sub, sub+"1"), os.Mkdir(sub, 0o700)) }, false},
		"a link to outside": {func(sub string) error { return errors.Join(os.Rename(sub, sub+"1"), os.Symlink("/", sub)) }, false},
		"a link to the other": {func(sub string) error {
			return errors.Join(os.Rename(sub, sub+"1"), os.Symlink(sub+"2", sub))
		}, false},
		"a link to itself": {func(sub string) error { return errors.Join(os.Rename(sub, sub+"1"), os.Symlink(sub+"1", sub)) }, false},
		"a file":           {func(sub string) error { return errors.Join(os.RemoveAll(sub), os.WriteFile(sub, nil, 0o600)) }, false},
		"nothing any more": {os.RemoveAll, false},
	} {
		t.Run(name, func(t *testing.T) {
			env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/sub/f"}, {Name: "disk/sub2/f"}}})
			p, err := toolstest.Plan(t.Context(), New(), env, json.RawMessage(`{"command":"touch ran; pwd -P","cwd":"sub"}`))
			if err != nil {
				t.Fatal(err)
			}
			sub := filepath.Join(env.Paths.Cwd, "sub")
			if err := tt.exchange(sub); err != nil {
				t.Fatal(err)
			}
			r, err := p.Run(t.Context())
			if err != nil || r.Success != tt.runs || !tt.runs && r.Reason != "not_started" {
				t.Errorf("%+v, %v", r, err)
			}
			ran, err := filepath.Glob(env.Paths.Cwd + "/sub*/ran")
			if err != nil || (len(ran) == 1) != tt.runs {
				t.Errorf("it ran in %q, %v", ran, err)
			}
		})
	}
}

// workspaceOf is a workspace with files that hold keys.
func workspaceOf(t *testing.T, level string) *tools.Env {
	t.Helper()
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{
		{Name: "disk/a.go"},
		{Name: "disk/src/b.go"},
		{Name: "disk/.env"},
		{Name: "disk/keys/id_rsa"},
		{Name: "disk/.hidden/id_rsa"},
		{Name: "disk/clean/x"},
		{Name: "disk/dots/.env"},
	}})
	env.Commands.Runner = &scripted{level: level}
	return env
}

func needsOf(t *testing.T, env *tools.Env, line string) []tools.Need {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	tool := New()
	checked := tool.Schema().Check(args, true)
	needs, err := tool.Needs(env, checked.Args)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return needs
}

// What a command reads is judged as any read is: a file of keys is a need of its own, and what is outside of the workspace makes
// it an ordinary command.
func TestCaseC20OperandsAreNeeds(t *testing.T) {
	env := workspaceOf(t, "full")
	for line, secret := range map[string]string{
		"ls -la": "", "cat a.go src/b.go": "", "cat .env": ".env", "head -n 1 -- keys/id_rsa": "keys/id_rsa", "cd keys && cat id_rsa": "keys/id_rsa",
		"cat a.go | grep x": "", "grep -rn x src": "", "grep -rn x .": "any", "grep -rn x": "any", "grep -rn x keys": "keys/id_rsa", "rg x keys": "keys/id_rsa",
		"rg x": "keys/id_rsa", "rg x clean": "", "rg x dots": "", "rg --hidden x dots": "dots/.env", "rg -uu x dots": "dots/.env", "grep -r x dots": "dots/.env",
		"diff clean dots": "dots/.env", "git show HEAD:.env": ".env", "wc -l < .env": ".env", "cat .en\\v": ".env", "cat @.env": "", "git diff -- .env": ".env",
	} {
		needs, found := needsOf(t, env, line), ""
		if !needs[0].Shell.ReadOnly || needs[0].Danger != tools.Safe {
			t.Errorf("%s: %+v", line, needs[0])
		}
		for _, n := range needs[1:] {
			if n.Act != tools.Reads {
				t.Errorf("%s needs %s", line, n)
			}
			if n.Place.Class().Is(sandbox.Secret) {
				found = env.Paths.Rel(n.Place.Path())
			}
		}
		if found != secret && (secret != "any" || found == "") {
			t.Errorf("%s reads %q, want %q", line, found, secret)
		}
	}
	for _, line := range []string{
		"cat /etc/passwd", "ls ..", "git -C /evil status", "cat ../x", "git diff /etc/passwd a.go", "cat /proc/self/environ", "ls /", "find / -name x",
		"cat a.go; touch x", "cat" + many(100),
	} {
		if n := needsOf(t, env, line); len(n) != 1 || n[0].Shell.ReadOnly || n[0].Danger == tools.Safe {
			t.Errorf("%s: %+v", line, n)
		}
	}
}

// many are operands.
func many(n int) (s string) {
	for i := range n {
		s += " f" + strconv.Itoa(i)
	}
	return s
}

// A folder with more files than are looked up is not read unasked.
func TestCaseC20ManyFiles(t *testing.T) {
	env := workspaceOf(t, "full")
	for i := range 40 {
		for k := range 520 {
			dir := filepath.Join(env.Paths.Cwd, "many", strconv.Itoa(i))
			if k == 0 {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(k)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := needsOf(t, env, "grep -r x many"); n[0].Shell.ReadOnly {
		t.Errorf("%+v", n)
	}
	if n := needsOf(t, env, "grep -r x many/1"); !n[0].Shell.ReadOnly {
		t.Errorf("%+v", n)
	}
}

func TestF172Semantic(t *testing.T) {
	for line, want := range map[string]string{"git status | head": "read", "rg x": "search", "sed -i s/a/b/ f": "write", "make": "write", "cat /etc/passwd": "write"} {
		args, _ := json.Marshal(map[string]string{"command": line})
		if _, p := call(t, &scripted{level: "full"}, string(args)); p == nil || p.Semantic != want || len(p.Locations) != 1 {
			t.Errorf("%s: %+v, want %s", line, p, want)
		}
	}
}

// A command that provably only reads may have a shorter time than others, unless the call names one.
func TestF170ReadOnlyTimeout(t *testing.T) {
	for args, want := range map[string]time.Duration{
		`{"command":"ls"}`: 5 * time.Second, `{"command":"make"}`: 30 * time.Second, `{"command":"ls","timeout_ms":9000}`: 9 * time.Second,
	} {
		env := toolstest.Workspace(t, &txtar.Archive{})
		s := &scripted{}
		env.Commands.Runner, env.Limits.BashReadOnlyTimeout = s, 5*time.Second
		if toolstest.Call(t.Context(), New(), env, args); s.got.Timeout != want {
			t.Errorf("%s: %v, want %v", args, s.got.Timeout, want)
		}
	}
}

// In each mode a command that provably only reads runs unasked, in a sandbox alone; a file of keys asks; and what is forbidden is
// denied whatever a person would say.
// A command that plainly writes a file of later code, of keys or of git asks as an edit of it does, or is refused.
func TestF171_F127_CaseP24_A12Asked(t *testing.T) {
	for _, c := range []struct {
		level, line, mode, want string
	}{
		{"full", "git status --short", "ask", ""},
		{"full", "cat a.go | head -n 3", "readOnly", ""},
		{"landlock+seccomp", "ls -la", "ask", ""},
		{"none", "ls -la", "ask", "asked"},
		{"none", "ls -la", "auto", "asked"},
		{"full", "cat .env", "ask", "asked"},
		{"full", "cat .env", "auto", "asked"},
		{"full", "cat .env", "readOnly", "denied"},
		{"full", "cat /etc/passwd", "ask", "asked"},
		{"full", "touch x", "ask", "asked"},
		{"full", "touch x", "auto", ""},
		{"full", "touch x", "readOnly", "denied"},
		{"full", "git reset --hard", "auto", "asked"},
		{"full", "sudo ls", "ask", "denied"},
		{"full", "sudo ls", "auto", "denied"},
		{"none", "echo $(sudo ls)", "ask", "denied"},
		{"full", "rm -rf ~", "auto", "denied"},
		{"full", "echo x >.envrc", "auto", "asked"},
		{"full", "echo x >.envrc", "readOnly", "denied"},
		{"full", "cp a.go .git/hooks/pre-commit", "auto", ""},
		{"landlock+seccomp", "cp a.go .git/hooks/pre-commit", "auto", "denied"},
		{"full", "cd sub && tee -a .vscode/tasks.json <a.go", "auto", "asked"},
		{"full", "sed -i s/a/b/ .mcp.json", "auto", "asked"},
		{"full", "cp sub/.envrc .", "auto", "asked"},
		{"full", "make && bash -c 'mv x AGENTS.md'", "auto", "asked"},
		{"none", "echo x >.GIT/config", "auto", "denied"},
		{"full", "echo x >link", "auto", "asked"},
		{"full", "echo KEY=1 >>.env", "auto", "asked"},
		{"full", "cp .envrc copy && echo x >a.go", "auto", ""},
		{"full", "rm -f .git/index.lock && rm -rf sub/.git && make", "auto", "asked"}, // for rm -rf
		{"full", "rm -f .git/index.lock; git add .envrc", "auto", ""},
		{"full", "echo x >/dev/null; make >../x", "auto", ""},
		{"landlock+seccomp", "echo x >.tandem/config.json", "auto", "denied"},
	} {
		w := toolstest.NewWorld(t, New())
		for _, name := range []string{".env", "a.go"} {
			if err := os.WriteFile(w.Path(name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.MkdirAll(w.Path("sub/.git"), 0o700), os.Symlink(".mcp.json", w.Path("link"))); err != nil {
			t.Fatal(err)
		}
		w.Env.Commands.Runner, w.Host.Gate = &scripted{level: c.level}, gate.New(gate.Options{Mode: gate.Mode(c.mode), Cwd: w.Root})
		args, err := json.Marshal(map[string]string{"command": c.line})
		if err != nil {
			t.Fatal(err)
		}
		r, got := w.Call("bash", string(args)), ""
		switch {
		case r.Error == tools.GateDenied, r.Error == "PROTECTED_PATH":
			got = "denied"
		case len(w.Asked) > 0:
			got = "asked"
		}
		if got != c.want {
			t.Errorf("%s, level %s, mode %s: %q, want %q: %+v", c.line, c.level, c.mode, got, c.want, r)
		}
	}
}

// Where a session has no jobs, such as without the tool job_output, no command is left running.
func TestF170aUnsupported(t *testing.T) {
	s := &scripted{}
	env := toolstest.Workspace(t, &txtar.Archive{})
	env.Commands.Runner = s
	if r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"x","background":true}`); r.Error != tools.Unsupported || s.got.Argv != nil {
		t.Errorf("%+v, %q", r, s.got.Argv)
	}
}

// TestHiddenFilesAreNamed: a command that fails over a file which the sandbox hides says so, and no other does.
func TestHiddenFilesAreNamed(t *testing.T) {
	for _, c := range []struct {
		level, stderr string
		code          int
		want          bool
	}{
		{"full", "error: open(\".env\"): Permission denied\nfatal: cannot hash .env\n", 128, true},
		{"full", "fatal: cannot hash .env\n", 0, false},
		{"full", "fatal: cannot hash a.go dots/.env .envrc.none\n", 128, false},
		{"landlock+seccomp", "fatal: cannot hash .env\n", 128, false},
	} {
		env := workspaceOf(t, c.level)
		env.Commands.Runner = &scripted{level: c.level, outcome: sandbox.Outcome{ExitCode: c.code, Stderr: c.stderr, Level: c.level}}
		tool := New()
		var err error
		if env.Needs, err = tool.Needs(env, json.RawMessage(`{"command": "git add -A"}`)); err != nil {
			t.Fatal(err)
		}
		p, err := tool.Plan(t.Context(), env, json.RawMessage(`{"command": "git add -A"}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(t.Context())
		if err != nil || strings.Contains(r.Data, "commands: .env") || strings.Contains(r.Data, "every command: .env. They stay hidden") != c.want {
			t.Errorf("%+v: %q, %v", c, r.Data, err)
		}
	}
}

// failing is a sandbox of which a layer fails at each call.
type failing struct {
	scripted
	tried []sandbox.Profile
}

func (f *failing) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	f.tried = append(f.tried, c.Profile)
	if c.Profile != sandbox.Unconfined {
		return nil, fmt.Errorf("cannot start x: %w: namespaces: no space", sandbox.ErrNotConfined)
	}
	return f.scripted.Start(ctx, c)
}

// TestCaseS12ALayerFails: a command that the sandbox there is cannot confine is judged and asked about once more, as one without a
// sandbox.
func TestCaseS12ALayerFails(t *testing.T) {
	const why = "bash runs a command with no sandbox in force; the sandbox that there is failed (namespaces: no space)"
	allow := run.Answer{Outcome: run.Allowed, Option: run.AllowOnce}
	for _, c := range []struct {
		name   string
		gate   run.Gate
		answer run.Answer
		args   string
		asked  []string // why
		tried  int
		denied tools.Denial
	}{
		{"allowed", gate.ModeAuto, allow, "", []string{why}, 2, tools.Denial{}},
		{"asked before too", gate.ModeAsk, allow, "", []string{"bash runs a command", why}, 2, tools.Denial{}},
		{"in the background", gate.ModeAuto, allow, `,"background":true`, []string{why}, 2, tools.Denial{}},
		{"rejected", gate.ModeAuto, run.Answer{}, "", []string{why}, 1, tools.Denial{Layer: "person", Source: "user"}},
		{"unattended", gate.ModeAuto, run.Answer{Outcome: run.Unavailable}, "", []string{why}, 1, tools.Denial{Layer: "sandbox", Source: "unattended"}},
		{"strict", gate.New(gate.Options{Mode: gate.ModeAuto, Strict: true}), allow, "", nil, 1, tools.Denial{Layer: "sandbox", Source: "policy"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := toolstest.NewWorld(t, New())
			f := &failing{scripted: scripted{level: sandbox.LevelFull, outcome: sandbox.Outcome{Stdout: "x\n", Level: sandbox.LevelNone}}}
			w.Env.Commands.Runner, w.Host.Gate, w.Answer = f, c.gate, c.answer
			w.Env.Commands.Jobs = jobs.New()
			defer w.Env.Commands.Jobs.Close()
			looks := 0
			w.Host.Changes.BeforeCommand = func(context.Context, run.Command) run.Began {
				looks++
				return run.Began{Warnings: []filetime.Warning{{Path: "/a", Says: "seen each time"}, {Path: "/b", Says: fmt.Sprint("seen by look ", looks)}}}
			}
			r := w.Call("bash", `{"command":"make"`+c.args+`}`)
			var asked []string
			for _, q := range w.Asked {
				asked = append(asked, q.Judged.Reason)
			}
			if strings.Count(r.Data, "seen each time") != 1 || strings.Count(r.Data, "seen by look 1") != 1 {
				t.Errorf("the warnings of the lost attempt: %s", r.Data)
			}
			if !slices.Equal(asked, c.asked) || len(f.tried) != c.tried {
				t.Errorf("asked %q, tried %v", asked, f.tried)
			}
			if n := len(w.Asked); n > 0 && !slices.Equal(w.Asked[n-1].Options(), []run.Option{run.RejectOnce, run.AllowOnce}) {
				t.Errorf("options %v", w.Asked[n-1].Options())
			}
			switch {
			case c.denied == (tools.Denial{}):
				if !r.Success || f.got.Profile != sandbox.Unconfined {
					t.Errorf("%+v, profile %v", r, f.got.Profile)
				}
			case r.Error != tools.GateDenied || r.Denial.Layer != c.denied.Layer || r.Denial.Source != c.denied.Source:
				t.Errorf("%+v, denial %+v", r, r.Denial)
			}
		})
	}
}

// TestCaseS12EveryCommandAsks: where there is no sandbox, as on Windows, each command asks in each mode that has commands, also one
// that only reads, and is refused in the others. An answer is for once.
func TestCaseS12EveryCommandAsks(t *testing.T) {
	for _, row := range gate.Modes() {
		for _, line := range []string{"ls", "pwd && git status --short", "echo x >made", "rm -r sub", "go test ./..."} {
			w := toolstest.NewWorld(t, New())
			w.Host.Gate, w.Answer = row.Mode, run.Answer{Outcome: run.Rejected}
			args, _ := json.Marshal(map[string]string{"command": line})
			for range 2 {
				asked := len(w.Asked)
				r := w.Call("bash", string(args))
				if r.Success || r.Error != "GATE_DENIED" {
					t.Errorf("%s: %s: %+v", row.Mode, line, r)
				}
				want := 1
				if row.Unconfined != gate.Ask {
					want = 0
				}
				if len(w.Asked)-asked != want {
					t.Errorf("%s: %s: asked %d times", row.Mode, line, len(w.Asked)-asked)
				}
			}
			if _, err := os.Lstat(w.Path("made")); err == nil {
				t.Errorf("%s: it ran", row.Mode)
			}
		}
	}
}

// TestRefusedBeforeTheQuestion: a line that cannot be started is refused with what to do, before anybody is asked.
func TestRefusedBeforeTheQuestion(t *testing.T) {
	for line, want := range map[string]string{
		"  \n ": "command is empty: give a command line", "a\x00b": "command must be a command line without NUL bytes",
		strings.Repeat("x", 128<<10): "command has 131072 bytes, and a command line has at most 131071: write it to a script file and run that",
	} {
		args, _ := json.Marshal(map[string]string{"command": line})
		if r, p := call(t, &scripted{}, string(args)); p != nil || r.Error != tools.InvalidArgs || !strings.HasSuffix(r.Data, want) {
			t.Errorf("%.20q: %+v", line, r)
		}
	}
	args, _ := json.Marshal(map[string]string{"command": strings.Repeat("x", 128<<10-1)})
	if r, p := call(t, &scripted{}, string(args)); p == nil || !r.Success {
		t.Errorf("%+v", r)
	}
}

// TestFaultS1Profile: a line that provably only reads is held to that by the sandbox, also where commands reach hosts; without a
// sandbox it is judged as any other.
func TestFaultS1Profile(t *testing.T) {
	for _, c := range []struct {
		level, line string
		confined    sandbox.Profile
		want        sandbox.Profile
	}{
		{"full", "git status", 0, sandbox.ReadOnly},
		{"full", "git diff | head -3", sandbox.Proxy, sandbox.ReadOnly},
		{"landlock+seccomp", "go list ./...", 0, sandbox.ReadOnly},
		{"full", "git status > x", 0, sandbox.Loopback},
		{"full", "git fetch", sandbox.Proxy, sandbox.Proxy},
		{"none", "git status", 0, sandbox.Unconfined},
	} {
		env := toolstest.Workspace(t, &txtar.Archive{})
		s := &scripted{level: c.level}
		env.Commands.Runner, env.Commands.Confined = s, c.confined
		args, err := json.Marshal(map[string]string{"command": c.line})
		if err != nil {
			t.Fatal(err)
		}
		_, p := toolstest.Call(t.Context(), New(), env, string(args))
		if s.got.Profile != c.want || p.Needs[0].OnlyReads() != (c.want == sandbox.ReadOnly) {
			t.Errorf("%s at %s: %v, %+v", c.line, c.level, s.got.Profile, p.Needs[0])
		}
	}
}
