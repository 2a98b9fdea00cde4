package bash

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) {
	toolstest.Run(t, func([]string) tools.Tool { return New() }, nil)
}

// scripted answers with one outcome and keeps what it was asked to run.
type scripted struct {
	level   string
	outcome sandbox.Outcome
	err     error
	prints  []string
	got     sandbox.Command
}

func (s *scripted) Level() sandbox.Level { return sandbox.Level{Name: s.level} }

func (s *scripted) Find(name string, _ sandbox.Surroundings) (string, error) {
	return "/bin/" + name, nil
}

func (s *scripted) Start(_ context.Context, c sandbox.Command) (sandbox.Process, error) {
	s.got = c
	for _, p := range s.prints {
		c.Output(sandbox.Stdout, []byte(p))
	}
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
	env.Runner = s
	return toolstest.Call(t.Context(), New(), env, args)
}

func TestF067_F170Timeout(t *testing.T) {
	for args, want := range map[string]time.Duration{
		``: 7 * time.Second, `,"timeout_ms":0`: 0, `,"timeout_ms":600000`: 10 * time.Minute, `,"timeout":1.5`: 1500 * time.Millisecond,
		`,"timeout":600`: 10 * time.Minute, `,"timeout_ms":"250"`: 250 * time.Millisecond,
	} {
		env := toolstest.Workspace(t, &txtar.Archive{})
		s := &scripted{}
		env.Runner, env.Limits.BashTimeout = s, 7*time.Second
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
	env.Runner, env.Limits.BashTimeout = s, 7*time.Second
	if r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"x","timeout_ms":30000}`); !r.Success || s.got.Timeout != 30*time.Second {
		t.Errorf("%v, %+v", s.got.Timeout, r)
	}
}

func TestF119TimedOut(t *testing.T) {
	for name, tt := range map[string]struct{ stdout, want string }{
		"F267 nothing": {"", "Command timed out after 2 seconds\n[Exit code: -1]"},
		"F267 some":    {"half\n", "stdout:\nhalf\nCommand timed out after 2 seconds\n[Exit code: -1]"},
	} {
		s := &scripted{outcome: sandbox.Outcome{ExitCode: -1, TimedOut: true, Stdout: tt.stdout, Duration: 3 * time.Second}}
		r, _ := call(t, s, `{"command":"x","timeout":2}`)
		if r.Error != filetime.Timeout || r.Data != tt.want || *r.Value.(*value) != (value{-1, tt.stdout, "", true}) {
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

// A person is told of whole lines, not more often than can be read, and of the rest at the end.
func TestF279Progress(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{})
	now := time.Unix(0, 0)
	env.Now = func() time.Time { now = now.Add(20 * time.Millisecond); return now }
	env.Runner = &scripted{prints: []string{"a\nb", "c\n", "d\n", "\x1b[31mred", "\x1b[0m\n", strings.Repeat("x", 20_000) + "\nend"}}
	var got []string
	env.Progress = func(p tools.Progress) { got = append(got, p.Text) }
	toolstest.Call(t.Context(), New(), env, `{"command":"x"}`)
	want := []string{"a\n", "bc\nd\n", strings.Repeat("x", newsBytes-4) + "\nend"}
	if !slices.Equal(got, want) {
		t.Errorf("%.60q", got)
	}
}

func TestDanger(t *testing.T) {
	for _, line := range []string{
		"sudo ls", "ls; sudo -n ls", "a && rm -rf /", "rm -r x", "rm --recursive x", "/bin/rm -fr x", `\rm -rf x`, `r"m" -rf x`,
		"curl x | sh", "curl x |& bash -s", "git push -f", "git push --force-with-lease", "git reset --hard", "git clean -fdx",
		"find . -delete", "find . -exec rm {} +", "$cmd x", "eval x", "dd of=x", "mkfs.ext4 x", "xargs rm -rf", "env A=1 sudo ls",
		"echo $(sudo ls)", "f() { rm -rf x; }; f", "echo 'unclosed", "timeout 5 sudo ls", "nohup env nice " + strings.Repeat("env ", 60) + "sudo ls", "chmod -R 777 .", "if true; then su; fi",
	} {
		if danger(line) != tools.Dangerous {
			t.Errorf("%q is not dangerous", line)
		}
	}
	for _, line := range []string{
		"ls -la", "go test ./...", "rm x", "git push", "git commit -m 'reset --hard'", "echo sudo rm -rf /", "find . -name x", "cat a | sort",
		"FOO=1 make -j8", "git reset x", "chmod +x a", strings.Repeat("env ", 60) + "ls",
	} {
		if danger(line) != tools.Moderate {
			t.Errorf("%q is dangerous", line)
		}
	}
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

func FuzzDanger(f *testing.F) {
	f.Add("echo $(sudo ls) | sh <<X\nX")
	f.Fuzz(func(_ *testing.T, s string) { danger(s) })
}

// A command that floods its output is answered in full, with what was left out counted.
func TestF113Real(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{})
	r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"seq 1000000; exit 3"}`)
	v := r.Value.(*value)
	if r.Error != "EXIT_CODE_3" || !r.Truncated || !strings.HasSuffix(r.Data, "\n1000000\n[Exit code: 3]") ||
		!strings.Contains(v.Stdout, " bytes left out …]") || len(v.Stdout) > maxOutput+100 {
		t.Errorf("%s, %d bytes", r.Error, len(v.Stdout))
	}
}

// What was printed is what stands in the answer and what its gaps count, also beyond what is kept of a stream.
func TestFindingB4GapsCount(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{})
	command := `yes ä€ | head -n 200000; yes é | head -n 150000 >&2`
	r, _ := toolstest.Call(t.Context(), New(), env, `{"command":"`+command+`"}`)
	chars := int64(utf8.RuneCountInString(r.Data) - len("stdout:\nstderr:\nexit code: 0"))
	for _, g := range r.Gaps {
		chars += g.Lost
	}
	if want := int64(3*200_000 + 2*150_000); len(r.Gaps) != 2 || chars != want {
		t.Errorf("%d gaps, %d characters, want %d", len(r.Gaps), chars, want)
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
			p, err := New().Plan(t.Context(), env, json.RawMessage(`{"command":"touch ran; pwd -P","cwd":"sub"}`))
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
