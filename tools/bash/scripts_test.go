package bash

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/toolstest"
)

// judgedBy is what rules say to a line in mode ask.
func judgedBy(t *testing.T, env *tools.Env, line string, rules ...gate.Rule) gate.Decision {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: env.Paths.Cwd, Rules: rules}).
		Judge(gate.Call{Tool: New(), Args: args, Needs: needsOf(t, env, line)})
}

// TestCaseI06ChangedScripts: the rule of an answer to a command that does what files say is void once one of them has changed, holds again
// when it is as it was, and the question says why it is asked.
func TestCaseI06ChangedScripts(t *testing.T) {
	for line, file := range map[string]string{
		"npm test": "package.json", "make check": "Makefile", "./script.sh": "script.sh", "python3 x.py": "x.py",
		"go test ./...": "go.mod", "make -C sub": "sub/Makefile", "npm --prefix=sub test": "sub/package.json", "node tools/build.js --fast": "tools/build.js",
		"pytest -q": "conftest.py", "cargo build": "build.rs", "python3.12 -m pytest": "setup.cfg", "npx jest": "package.json",
	} {
		env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{
			{Name: "disk/" + file, Data: []byte("one\n")}, {Name: "disk/other.txt", Data: []byte("one\n")}, {Name: "disk/src/main.go", Data: []byte("one\n")},
		}})
		env.Commands.Runner = &scripted{level: "full"}
		asked := judgedBy(t, env, line)
		if asked.Allows == nil {
			t.Fatalf("%s: %+v", line, asked)
		}
		rule := *asked.Allows
		rule.Source = "the rule"
		if text := rule.In(env.Paths.Cwd).String(); !strings.HasSuffix(text, ", while "+file+" is unchanged") {
			t.Errorf("%s: %q", line, text)
		}
		change := func(name, text string) {
			if err := os.WriteFile(filepath.Join(env.Paths.Cwd, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if d := judgedBy(t, env, line, rule); d.Verdict != gate.Allow {
			t.Errorf("%s: %+v", line, d)
		}
		change("other.txt", "two\n")
		change("src/main.go", "two\n")
		if d := judgedBy(t, env, line, rule); d.Verdict != gate.Allow {
			t.Errorf("%s, with other files changed: %+v", line, d)
		}
		change(file, "two\n") // as long as before
		d := judgedBy(t, env, line, rule)
		if want := "bash runs a command, which was allowed for " + file + " as it was then: it has changed since"; d.Verdict != gate.Ask || d.Reason != want || d.Allows == nil {
			t.Errorf("%s, changed: %+v", line, d)
		}
		change(file, "one\n")
		if d := judgedBy(t, env, line, rule); d.Verdict != gate.Allow {
			t.Errorf("%s, as before: %+v", line, d)
		}
		if err := os.Remove(filepath.Join(env.Paths.Cwd, file)); err != nil {
			t.Fatal(err)
		}
		if d := judgedBy(t, env, line, rule); d.Verdict != gate.Ask {
			t.Errorf("%s, deleted: %+v", line, d)
		}
	}
}

// A rule that was made where there is no script does not hold for one that came later, and a manifest that comes nearer counts too.
func TestCaseI06NewScripts(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/package.json", Data: []byte("{}\n")}, {Name: "disk/sub/a"}}})
	env.Commands.Runner = &scripted{level: "full"}
	rule := *judgedBy(t, env, "make check").Allows
	if err := os.WriteFile(filepath.Join(env.Paths.Cwd, "Makefile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := judgedBy(t, env, "make check", rule); d.Verdict != gate.Ask {
		t.Errorf("%+v", d)
	}
	for _, line := range []string{"gofmt -w a.go", "touch x"} {
		if rule := judgedBy(t, env, line).Allows; rule == nil || rule.Scripts != "" {
			t.Errorf("%s: %+v", line, rule)
		}
	}
	env.Paths.Cwd += "/sub"
	if rule := judgedBy(t, env, "npm test").Allows; !strings.Contains(rule.Scripts, "package.json ") {
		t.Errorf("a manifest above: %+v", rule)
	}
}
