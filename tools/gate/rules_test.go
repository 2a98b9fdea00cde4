package gate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	shellparse "tandem/tools/shell"
)

// shell is the tool bash, edits one that edits, as far as rules know them.
var (
	shell = tool{spec: tools.Spec{Name: "bash", Aliases: []string{"shell"}, Kind: tools.Execute, Class: tools.ClassExecute}}
	edits = tool{spec: tools.Spec{Name: "edit_file", Aliases: []string{"Edit"}, Kind: tools.Edit, Class: tools.ClassWrite}}
	reads = tool{spec: tools.Spec{Name: "read_file", Kind: tools.Read, Class: tools.ClassRead}}
)

// line is a command line of literal commands, with blanks between the words.
func line(calls ...string) tools.Need {
	n := tools.Need{Act: tools.Runs, Confined: true, Profile: sandbox.Loopback, Shell: shellparse.Command{Literal: true}}
	for _, c := range calls {
		n.Shell.Calls = append(n.Shell.Calls, strings.Fields(c))
	}
	return n
}

// opaque is a line in which more happens than its commands; "?" is a word that is known at run time only.
func opaque(calls ...string) tools.Need {
	n := line(calls...)
	n.Shell.Literal = false
	for _, c := range n.Shell.Calls {
		for i := range c {
			c[i] = strings.TrimPrefix(c[i], "?")
		}
	}
	return n
}

// rules are written "allow TOOL PARAM=PATTERN", the pattern to the end.
func rules(list ...string) (out []gate.Rule) {
	for _, l := range list {
		f := strings.SplitN(l, " ", 3)
		r := gate.Rule{Effect: map[string]gate.Verdict{"allow": gate.Allow, "ask": gate.Ask, "deny": gate.Deny}[f[0]], Tool: f[1], Source: "the rule"}
		if len(f) > 2 {
			param, pattern, _ := strings.Cut(f[2], "=")
			r.Params = map[string]string{param: pattern}
		}
		out = append(out, r)
	}
	return out
}

// TestF016_F206_F213_F227PolicyBeforeMode: deny wins, whatever else is said; the first stage that refuses is named.
func TestF016_F206_F213_F227PolicyBeforeMode(t *testing.T) {
	edit, run := tools.Need{Act: tools.Edits}, line("make")
	bare := tools.Need{Act: tools.Runs}
	for _, c := range []struct {
		mode                  gate.Mode
		rules                 []gate.Rule
		strict                bool
		tool                  tools.Tool
		need                  tools.Need
		verdict, layer, wants string
	}{
		{gate.ModeAuto, nil, false, edits, edit, "allow", "mode", "edit_file changes a file"},
		{gate.ModeAuto, rules("deny edit_file"), false, edits, edit, "deny", "rules", "edit_file is refused by the rule"},
		{gate.ModeAuto, rules("deny EDIT"), false, edits, edit, "deny", "rules", "edit_file is refused by the rule"},
		{gate.ModeAuto, rules("deny edit_*"), false, edits, edit, "deny", "rules", ""},
		{gate.ModeAuto, rules("deny ["), false, edits, edit, "deny", "rules", ""},
		{gate.ModeAsk, rules("allow ["), false, edits, edit, "ask", "mode", ""},
		{gate.ModeAuto, rules("deny write_file"), false, edits, edit, "allow", "mode", ""},
		{gate.ModeAuto, rules("ask *"), false, edits, edit, "ask", "rules", "edit_file changes a file, and the rule wants a question"},
		{gate.ModeReadOnly, rules("ask *"), false, edits, edit, "deny", "mode", "edit_file changes a file, and the mode is readOnly"},
		{gate.ModeAuto, rules("ask *", "deny edit"), false, edits, edit, "deny", "rules", ""},
		{gate.ModeAsk, rules("allow edit_file"), false, edits, edit, "allow", "rules", "edit_file changes a file, which the rule allows"},
		{gate.ModeAsk, rules("allow edit_file", "deny edit_file"), false, edits, edit, "deny", "rules", ""},
		{gate.ModeAsk, rules("deny edit_file", "allow edit_file"), false, edits, edit, "deny", "rules", ""},
		{gate.ModeAsk, rules("allow edit_file", "ask edit_file"), false, edits, edit, "ask", "rules", ""},
		{gate.ModeReadOnly, rules("allow edit_file"), false, edits, edit, "deny", "mode", ""},
		{gate.ModePlan, rules("allow edit_file"), false, edits, edit, "queue", "mode", ""},
		{gate.ModeAuto, nil, true, shell, bare, "deny", "sandbox", "bash is refused: sandbox.level is strict, and there is no sandbox that could confine the command"},
		{gate.ModeAuto, nil, true, shell, run, "allow", "mode", "bash runs a command"},
		{gate.ModeAuto, nil, true, edits, edit, "allow", "mode", "edit_file changes a file"},
		{gate.ModeAsk, rules("allow *"), false, shell, run, "allow", "rules", ""},
		{gate.ModeAuto, rules("deny foo_*"), false, edits, edit, "allow", "mode", ""},
		{gate.ModeAsk, rules("allow bash"), false, shell, bare, "ask", "sandbox", "bash runs a command with no sandbox in force"},
		{gate.ModeAsk, rules("allow bash"), false, shell, run, "allow", "rules", ""},
		{gate.ModeAsk, rules("allow *"), false, shell, tools.Need{}, "ask", "mode", ""},
		{"yolo", rules("allow *"), false, edits, edit, "deny", "mode", ""},
	} {
		d := gate.New(gate.Options{Mode: c.mode, Strict: c.strict, Cwd: "/w", Rules: c.rules}).Judge(gate.Call{Tool: c.tool, Needs: []tools.Need{c.need}})
		named := " (" + d.Rule + ")" // a person who is asked reads the id of the rule, a model that is refused does not
		if d.Verdict.String() != c.verdict || d.Layer != c.layer || c.wants != "" && strings.Replace(d.Reason, named, "", 1) != c.wants ||
			strings.Contains(d.Reason, named) != (d.Layer == gate.LayerRules && d.Verdict != gate.Deny) {
			t.Errorf("%s %v, %s: %+v", c.mode, c.rules, c.need, d)
		}
	}
}

// command judges a command line under rules.
func command(mode gate.Mode, n tools.Need, rules ...gate.Rule) gate.Decision {
	return gate.New(gate.Options{Mode: mode, Cwd: "/w/app", Rules: rules}).Judge(gate.Call{Tool: shell, Needs: []tools.Need{n}})
}

// TestF203_F217RulesOfCommands: a rule is compared with the words of each simple command.
func TestF203_F217RulesOfCommands(t *testing.T) {
	for _, c := range []struct {
		rules string
		need  tools.Need
		want  string
	}{
		{"allow bash command=npm test", line("npm test"), "allow"},
		{"allow bash command=npm test", line("npm test --reporter ./evil"), "ask"},
		{"allow bash command=npm test", line("npm"), "ask"},
		{"allow bash command=npm test", line("npm test", "curl x"), "ask"},
		{"allow bash command=npm test; allow bash command=curl *", line("npm test", "curl x"), "allow"},
		{"allow bash command=npm **", line("npm"), "allow"},
		{"allow bash command=npm *", line("npm run a b"), "allow"},
		{"allow bash command=npm *; allow bash command=cd *", line("cd evil", "npm test"), "ask"}, // elsewhere
		{"allow bash command=npm *; allow bash command=hash *", line("hash -p ./x npm", "npm test"), "ask"},
		{"allow bash command=npm run test:*", line("npm run test:unit"), "allow"},
		{"allow bash command=npm run test:*", line("npm run testing"), "ask"},
		{"allow bash command=npm run test:*", line("npm run test:unit x"), "ask"},
		{"allow bash command=echo 'a*' \"b c\"", line("echo a* b"), "ask"},
		{"allow bash command=echo 'a*'", line("echo a*"), "allow"},
		{"allow bash command=echo 'a*'", line("echo abc"), "ask"},
		{"allow bash command=echo a\\*", line("echo ab"), "ask"},
		{"allow bash command=go *", line("gopls x"), "ask"},
		{"allow bash command=ls *", line("./ls x"), "ask"},
		{"allow bash command=ls *", line("/tmp/evil/ls x"), "ask"},
		// Not the text, and nothing beside the commands.
		{"allow bash command=npm *", opaque("npm test"), "ask"},
		{"allow bash command=npm *", tools.Need{Act: tools.Runs, Confined: true}, "ask"},
		// What runs what it is told is never allowed by a pattern.
		{"allow bash command=python3 *", line("python3 -c x"), "ask"},
		{"allow bash command=python3 a.py", line("python3 a.py"), "allow"},
		{"allow bash command=**", line("bash x.sh"), "ask"},
		{"allow bash command=env *", line("env touch x"), "ask"},
		{"allow bash command=git *", line("git status"), "allow"},
		{"allow bash command=git *", line("git -c core.pager=./x log"), "ask"},
		{"allow bash command=git *", line("git fetch --upload-p=./x y"), "ask"},
		{"allow bash command=git *", line("git submodule foreach ./x"), "ask"},
		{"allow bash command=git *", line("git bisect run ./x"), "ask"},
		{"allow bash command=git *", line("git clone --config core.fsmonitor=./x a"), "ask"},
		{"allow bash command=git *", line("git difftool --extcmd=./x"), "ask"},
		{"allow bash command=git *", line("git clone ext::sh z"), "ask"},
		{"allow bash command=git *", line("git config alias.x !y"), "ask"},
		{"allow bash command=git *", line("git add config.go hook.go"), "allow"},
		{"allow bash command=git *", line("git diff --output=x"), "ask"},
		{"allow bash command=find *", line("find . -exec touch x"), "ask"},
		{"allow bash command=find *", line("find . -name x"), "allow"},
	} {
		if d := command(gate.ModeAsk, c.need, rules(strings.Split(c.rules, "; ")...)...); d.Verdict.String() != c.want {
			t.Errorf("%s: %q: %+v", c.rules, c.need.Shell.Calls, d)
		}
	}
	for _, c := range []struct {
		rule string
		need tools.Need
		want string
	}{
		{"deny bash command=git push *", line("git push"), "deny"},
		{"deny bash command=git push *", line("git push origin main"), "deny"},
		{"deny bash command=git push *", line("cd x", "git push"), "deny"},
		{"deny bash command=git push *", opaque("echo ?", "git push -f"), "deny"},
		{"deny bash command=git push *", line("/usr/bin/git push"), "deny"},
		{"deny bash command=git push *", line("git -C . push"), "deny"},
		{"deny bash command=git push *", opaque("git ? x"), "ask"},
		{"deny bash command=git push *", opaque("? push"), "ask"},
		{"deny bash command=git push *", tools.Need{Act: tools.Runs, Confined: true}, "ask"},
		{"deny bash command=git push *", line("git status"), "allow"},
		{"deny bash command=git push *", line("git"), "allow"},
		{"deny bash comand=git push *", line("git status"), "deny"}, // a mistake forbids more, not less
		{"deny * nothing=x", line("git status"), "allow"},
		{"ask bash command=make *", line("ls", "make all"), "ask"},
		{"ask bash command=make *", line("ls"), "allow"},
	} {
		if d := command(gate.ModeAuto, c.need, rules(c.rule)...); d.Verdict.String() != c.want || c.want == "ask" && !d.Once {
			t.Errorf("%s: %q: %+v", c.rule, c.need.Shell.Calls, d)
		}
	}
}

func TestCaseA01DenyBesideAllow(t *testing.T) {
	both := rules("allow bash command=git *", "deny bash command=git push *")
	for cmd, want := range map[string]string{"git push": "deny", "git push origin": "deny", "git status": "allow", "git pushy": "ask"} {
		for range 2 {
			if d := command(gate.ModeAsk, line(cmd), both...); d.Verdict.String() != want {
				t.Errorf("%s: %+v", cmd, d)
			}
			both[0], both[1] = both[1], both[0]
		}
	}
}

// always gives the rule of the answer "always" for a call, as it is kept for a workspace.
func always(t *testing.T, call gate.Call, cwd string) gate.Rule {
	t.Helper()
	d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: cwd}).Judge(call)
	if d.Verdict != gate.Ask || d.Allows == nil {
		t.Fatalf("nothing to keep: %+v", d)
	}
	r := d.Allows.In(cwd)
	r.Workspace = cwd
	return r
}

// inFolder is a line that runs in a folder below root.
func inFolder(t *testing.T, root, rel string, calls ...string) gate.Call {
	t.Helper()
	p, err := (&sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}).Readable(rel)
	if err != nil {
		t.Fatal(err)
	}
	n := line(calls...)
	n.Place, n.Arg = p, "cwd"
	return gate.Call{Tool: shell, Needs: []tools.Need{n}}
}

// TestCaseA05A06A07DerivedRules: the rule of an answer covers those words in that folder under that profile, and nothing
// else.
func TestCaseA05A06A07DerivedRules(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	if err := os.Mkdir(root+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	r := always(t, inFolder(t, root, ".", "npm test"), root)
	if r.String() != "bash npm test" || r.Profile != "write+loopback" || r.Workspace != root {
		t.Errorf("%+v, %q", r, r.String())
	}
	if sub := always(t, inFolder(t, root, "sub", "npm test"), root); sub.String() != "bash npm test in sub" {
		t.Errorf("%q", sub.String())
	}
	proxied := inFolder(t, root, ".", "npm test")
	proxied.Needs[0].Profile = sandbox.Proxy
	bare := inFolder(t, root, ".", "npm test")
	bare.Needs[0].Confined = false
	hidden := inFolder(t, root, ".", "npm test")
	hidden.Needs[0].Shell.Literal = false
	for name, c := range map[string]struct {
		call gate.Call
		cwd  string
		want string
	}{
		"the same":                {inFolder(t, root, ".", "npm test"), root, "allow"},
		"another command behind":  {inFolder(t, root, ".", "npm test", "curl x"), root, "ask"},
		"more words":              {inFolder(t, root, ".", "npm test -- --reporter ./evil"), root, "ask"},
		"another folder":          {inFolder(t, root, "sub", "npm test"), root, "ask"},
		"another program":         {inFolder(t, root, ".", "./npm test"), root, "ask"},
		"more of the network":     {proxied, root, "ask"},
		"no sandbox":              {bare, root, "ask"},
		"more in the line":        {hidden, root, "ask"},
		"a session in the folder": {inFolder(t, root, "sub", "npm test"), root + "/sub", "ask"},
	} {
		d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: c.cwd, Rules: []gate.Rule{r}}).Judge(c.call)
		if d.Verdict.String() != c.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
	touch := always(t, inFolder(t, root, ".", "touch 1.txt"), root)
	if d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: root, Rules: []gate.Rule{touch}}).Judge(inFolder(t, root, ".", "rm 1.txt")); d.Verdict != gate.Ask {
		t.Errorf("%+v", d)
	}
	odd := always(t, inFolder(t, root, ".", "echo a* $x it's"), root)
	if odd.Params["command"] != `echo 'a*' '$x' 'it'\''s'` {
		t.Errorf("%q", odd.Params["command"])
	}
	if d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: root, Rules: []gate.Rule{odd}}).Judge(inFolder(t, root, ".", "echo a* $x it's")); d.Verdict != gate.Allow {
		t.Errorf("%+v", d)
	}
}

// TestCaseA04NothingReusable: a line of several commands, or with more in it, makes no rule.
func TestCaseA04NothingReusable(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	several, hidden, danger := inFolder(t, root, ".", "git status", "npm test"), inFolder(t, root, ".", "x"), inFolder(t, root, ".", "rm -r x")
	hidden.Needs[0].Shell = shellparse.Command{}
	danger.Needs[0].Danger = tools.Dangerous
	for _, c := range []gate.Call{several, hidden, danger} {
		if d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: root}).Judge(c); d.Verdict != gate.Ask || d.Allows != nil || d.Denies != nil || d.Edits != nil {
			t.Errorf("%+v", d)
		}
	}
}

// TestF207_F218DangerIsAskedEachTime: what is dangerous asks in every mode that allows it at all, and no rule and no answer covers it.
func TestF207_F218DangerIsAskedEachTime(t *testing.T) {
	n := line("rm -r build")
	n.Danger = tools.Dangerous
	for mode, want := range map[gate.Mode]string{
		gate.ModeAuto: "ask", gate.ModeAcceptEdits: "ask", gate.ModeAsk: "ask", gate.ModePlan: "queue", gate.ModeReadOnly: "deny",
	} {
		d := command(mode, n, rules("allow bash", "allow bash command=rm *", "allow bash command=rm -r build")...)
		if d.Verdict.String() != want || want == "ask" && (!d.Once || d.Allows != nil || d.Denies != nil) {
			t.Errorf("%s: %+v", mode, d)
		}
	}
}

// TestCaseA12Auto: auto asks about nothing in the sandbox but what is asked about each time.
func TestCaseA12Auto(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	bare := line("make")
	bare.Confined = false
	for name, c := range map[string]struct {
		call gate.Call
		want string
	}{
		"a command in the sandbox":    {gate.Call{Tool: shell, Needs: []tools.Need{line("make")}}, "allow"},
		"opaque, in the sandbox":      {gate.Call{Tool: shell, Needs: []tools.Need{opaque("make ?")}}, "allow"},
		"a command without a sandbox": {gate.Call{Tool: shell, Needs: []tools.Need{bare}}, "ask"},
		"what runs later":             {file(t, edits, tools.Edits, root, ".envrc"), "ask"},
		"a plain file":                {file(t, edits, tools.Replaces, root, "a"), "allow"},
		"what a deny rule is about":   {gate.Call{Tool: shell, Needs: []tools.Need{line("git push")}}, "deny"},
	} {
		p := gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: root, Rules: rules("deny bash command=git push *")})
		if d := p.Judge(c.call); c.want == "deny" && d.Verdict != gate.Deny || c.want != "deny" && name != "opaque, in the sandbox" && d.Verdict.String() != c.want {
			t.Errorf("%s: %+v", name, d)
		}
		if d := gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: root}).Judge(c.call); c.want != "deny" && d.Verdict.String() != c.want {
			t.Errorf("%s, without rules: %+v", name, d)
		}
	}
}

// file is a call of a tool about a file.
func file(t *testing.T, tl tools.Tool, act tools.Act, root, path string) gate.Call {
	t.Helper()
	p, err := (&sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}).Readable(path)
	if err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{"path": path})
	return gate.Call{Tool: tl, Args: args, Needs: []tools.Need{{Act: act, Place: p, Arg: "path"}}}
}

func TestF203RulesOfPaths(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	for _, d := range []string{"src/a", "secret", "other"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"src/link": "../secret", "out": "secret/x"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ rule, path, want string }{
		{"allow edit_file path=src/**", "src/a/x.go", "allow"},
		{"allow edit_file path=src/", "src/a/x.go", "allow"},
		{"allow edit_file path=src/**", root + "/src/x.go", "allow"},
		{"allow edit_file file_path=src/**", "src/x.go", "allow"},
		{"allow edit_file path=" + root + "/src/**", "src/x.go", "allow"},
		{"allow edit_file path=src/*", "src/a/x.go", "ask"},
		{"allow edit_file path=src", "src/x.go", "ask"},
		{"allow edit_file path=SRC/**", "src/x.go", "ask"},
		{"allow edit_file path=src/**", "other/x.go", "ask"},
		{"allow edit_file path=src/**", "src/../other/x.go", "ask"},
		{"allow edit_file path=src/**", "src/link/x", "ask"}, // behind the link
		{"allow edit_file path=src/[", "src/x.go", "ask"},
		{"allow edit_file path=src/**", ".env", "ask"},
		{"allow edit_file path=**", ".env", "ask"},
		{"allow edit_file path=**", ".vscode/settings.json", "ask"},
		{"deny edit_file path=secret/**", "secret/x", "deny"},
		{"deny edit_file path=secret", "secret/deep/x", "deny"},
		{"deny edit_file path=Secret/*", "secret/x", "deny"},
		{"deny edit_file path=secret/**", "src/link/x", "deny"},
		{"deny edit_file path=secret/**", "out", "deny"},
		{"deny edit_file path=out", "out", "deny"}, // as it was written
		{"deny edit_file path=secret/[", "other/x", "deny"},
		{"deny edit_file path=secret/**", "other/x", "ask"},
	} {
		d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: root, Rules: rules(c.rule)}).Judge(file(t, edits, tools.Edits, root, c.path))
		if d.Verdict.String() != c.want {
			t.Errorf("%s: %s: %+v", c.rule, c.path, d)
		}
	}
}

// TestF202DerivedRulesOfPaths: the rule of an answer about a file is about its folder, the tool and the act.
func TestF202DerivedRulesOfPaths(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	if err := os.MkdirAll(root+"/src/a[1]", 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"src/x.go": "edit_file src/**", "x.go": "edit_file *", "src/a[1]/x": `edit_file src/a\[1\]/**`} {
		r := always(t, file(t, edits, tools.Edits, root, path), root)
		if r.String() != want {
			t.Errorf("%s: %q", path, r.String())
		}
		p := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: root, Rules: []gate.Rule{r}})
		if d := p.Judge(file(t, edits, tools.Edits, root, path)); d.Verdict != gate.Allow {
			t.Errorf("%s: %+v", path, d)
		}
		if d := p.Judge(file(t, edits, tools.Replaces, root, path)); d.Verdict != gate.Ask {
			t.Errorf("replacing %s: %+v", path, d)
		}
		if d := p.Judge(file(t, edits, tools.Edits, root, "other/x")); d.Verdict != gate.Ask {
			t.Errorf("%s covers other/x: %+v", path, d)
		}
	}
	d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: root}).Judge(file(t, edits, tools.Edits, root, "src/x.go"))
	if d.Denies.In(root).String() != "edit_file src/x.go" || len(d.Edits) != 1 {
		t.Errorf("%+v", d)
	}
}

// TestF209Classes: a rule can be about a whole permission class.
func TestF209Classes(t *testing.T) {
	p := gate.New(gate.Options{Mode: gate.ModeAuto, Rules: []gate.Rule{{Effect: gate.Deny, Tool: "*", Class: tools.ClassWrite}}})
	if d := p.Judge(gate.Call{Tool: edits, Needs: []tools.Need{{Act: tools.Edits}}}); d.Verdict != gate.Deny {
		t.Errorf("%+v", d)
	}
	if d := p.Judge(gate.Call{Tool: reads, Needs: []tools.Need{{Act: tools.Reads}}}); d.Verdict != gate.Allow {
		t.Errorf("%+v", d)
	}
}

// TestF023_F025Drops: what is denied altogether is not offered.
func TestF023_F025Drops(t *testing.T) {
	for _, c := range []struct {
		mode gate.Mode
		rule string
		tool tool
		want string
	}{
		{gate.ModeAsk, "deny bash", shell, "deny"},
		{gate.ModeAsk, "deny shell", shell, "deny"},
		{gate.ModeAsk, "deny other", shell, ""},
		{gate.ModeAsk, "deny bash command=rm *", shell, ""},
		{gate.ModeAsk, "ask bash", shell, ""},
		{gate.ModeReadOnly, "ask bash", edits, "mode"},
		{gate.ModeReadOnly, "ask bash", shell, ""}, // commands that only read
		{gate.ModePlan, "ask bash", edits, ""},
		{gate.ModeReadOnly, "ask bash", reads, ""},
	} {
		if stage, _ := gate.New(gate.Options{Mode: c.mode, Rules: rules(c.rule)}).Drops(c.tool.spec); stage != c.want {
			t.Errorf("%s, %s, %s: %q", c.mode, c.rule, c.tool.spec.Name, stage)
		}
	}
}
