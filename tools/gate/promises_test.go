package gate_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/rule"
	"tandem/tools/schema"
	shellparse "tandem/tools/shell"
)

// plug is a tool with none of the usual parameters, such as one of a plug-in.
type plug struct{ tool }

func (plug) Schema() *schema.Schema {
	s, err := schema.For[struct {
		Source string `json:"source,omitempty"`
	}]()
	if err != nil {
		panic(err)
	}
	return s
}

// ground is a folder of a session, app, beside another that it may use too, other, with links between them.
type ground struct {
	root, cwd string
	paths     *sandbox.Paths
}

func newGround(t *testing.T) ground {
	t.Helper()
	root := sandbox.Canonical(t.TempDir())
	g := ground{root: root, cwd: root + "/app"}
	for _, d := range []string{"app/src", "app/private", "other"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("private/key", g.cwd+"/link"), os.Symlink("private", g.cwd+"/folder")); err != nil {
		t.Fatal(err)
	}
	g.paths = &sandbox.Paths{Cwd: g.cwd, Read: []string{g.cwd, root + "/other"}, Write: []string{g.cwd, root + "/other"}}
	return g
}

func (g ground) at(t *testing.T, name string) sandbox.Place {
	t.Helper()
	p, err := g.paths.Readable(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// judge judges one need under rules.
func (g ground) judge(mode gate.Mode, tl tools.Tool, args string, n tools.Need, list ...gate.Rule) gate.Decision {
	return gate.New(gate.Options{Mode: mode, Cwd: g.cwd, Rules: list}).Judge(gate.Call{Tool: tl, Args: json.RawMessage(args), Needs: []tools.Need{n}})
}

// TestReasonOfTheWorstNeed: of needs with one verdict the question is about the one that is asked about each time, else about the
// greatest change, else about the first.
func TestReasonOfTheWorstNeed(t *testing.T) {
	plain, keys, later := place(t, "a"), place(t, ".env"), place(t, ".vscode/tasks.json")
	create, edit, replace := tools.Need{Act: tools.Creates, Place: plain}, tools.Need{Act: tools.Edits, Place: plain}, tools.Need{Act: tools.Replaces, Place: plain}
	run, edits, runsLater := line("make"), tools.Need{Act: tools.Edits, Place: keys}, tools.Need{Act: tools.Edits, Place: later}
	for _, c := range []struct {
		needs  []tools.Need
		reason string
		once   bool
	}{
		{[]tools.Need{create, edit}, "x changes a file", false},
		{[]tools.Need{edit, create}, "x changes a file", false},
		{[]tools.Need{edit, replace}, "x writes a whole file", false},
		{[]tools.Need{replace, create, edit}, "x writes a whole file", false},
		{[]tools.Need{run, replace}, "x runs a command", false},
		{[]tools.Need{create, run}, "x makes a new file", false},
		{[]tools.Need{replace, edits}, "x changes a file that holds keys or passwords", true},
		{[]tools.Need{edits, replace}, "x changes a file that holds keys or passwords", true},
		{[]tools.Need{edits, runsLater}, "x changes a file that holds keys or passwords", true},
		{[]tools.Need{runsLater, edits}, "x changes a file that runs later or tells programs what to do", true},
	} {
		d := judged(gate.ModeAsk, tool{spec: tools.Spec{Name: "x", Kind: tools.Edit}}, c.needs)
		if d.Verdict != gate.Ask || d.Reason != c.reason || d.Once != c.once || d.Once && d.Allows != nil {
			t.Errorf("%v: %+v", c.needs, d)
		}
	}
}

// TestFirstRuleIsNamed: of several rules that cover a call equally the first is named, and none stops a later one from being compared.
func TestFirstRuleIsNamed(t *testing.T) {
	for _, c := range []struct {
		mode  gate.Mode
		need  tools.Need
		rules []string
		want  string
		named int // the rule, by its place
	}{
		{gate.ModeAuto, opaque("? push"), []string{"deny bash command=git push", "deny bash command=docker push"}, "ask", 0},
		{gate.ModeAuto, opaque("? push"), []string{"ask bash command=git push", "ask bash command=docker push"}, "ask", 0},
		{gate.ModeAuto, line("git push", "docker push"), []string{"deny bash command=docker push", "deny bash command=git push"}, "deny", 1},
		{gate.ModeAuto, line("ls", "git push"), []string{"deny bash cwd=private", "deny bash command=git push"}, "deny", 1},
		{gate.ModeAuto, line("ls", "git push"), []string{"deny bash command=make", "deny * command=git push"}, "deny", 1},
		{gate.ModeAuto, line("git push"), []string{"deny * command=make", "deny b* command=git push"}, "deny", 1},
		{gate.ModeAuto, line("git push"), []string{"deny sh* command=make", "deny ba* command=git push"}, "deny", 1},
		{gate.ModeAuto, line("/usr/bin/git push"), []string{"deny bash command=/usr/bin/git status", "deny bash command=git push"}, "deny", 1},
		{gate.ModeAuto, line("x/y push"), []string{"deny bash command=ls", "deny bash command=y push"}, "deny", 1},
		{gate.ModeAsk, line("npm test"), []string{"allow bash", "allow bash command=npm test"}, "allow", 0},
		{gate.ModeAsk, line("npm test"), []string{"allow bash command=npm test", "allow *"}, "allow", 0},
		{gate.ModeAsk, line("npm test"), []string{"allow shell", "allow bas*"}, "allow", 0},
		{gate.ModeAsk, line("npm test"), []string{"allow bash command=npm x", "allow bash command=npm test"}, "allow", 1},
		{gate.ModeAsk, line("npm test", "ls a"), []string{"allow bash command=ls a", "allow bash command=npm test"}, "allow", 1},
		{gate.ModeAsk, line("npm test", "ls a"), []string{"allow bash command=npm test"}, "ask", -1},
	} {
		list := rules(c.rules...)
		for i := range list {
			list[i].Source = c.rules[i]
		}
		d := command(c.mode, c.need, list...)
		if d.Verdict.String() != c.want || c.named >= 0 && d.Rule != list[c.named].ID() {
			t.Errorf("%q: %q: %+v", c.rules, c.need.Shell.Calls, d)
		}
	}
}

// TestClassesAreKeptApart: rules of one tool's name and different classes, and of different names, do not stand for each other.
func TestClassesAreKeptApart(t *testing.T) {
	rule := func(name string, class tools.Class) gate.Rule {
		return gate.Rule{Effect: gate.Deny, Tool: name, Class: class}
	}
	for _, c := range []struct {
		rules []gate.Rule
		tool  tool
		need  tools.Need
		want  gate.Verdict
	}{
		{[]gate.Rule{rule("*", tools.ClassNetwork), rule("*", tools.ClassWrite)}, edits, tools.Need{Act: tools.Edits}, gate.Deny},
		{[]gate.Rule{rule("*", tools.ClassNetwork), rule("*", tools.ClassWrite)}, shell, line("ls"), gate.Allow},
		{[]gate.Rule{rule("foo_*", ""), rule("edit_*", "")}, edits, tools.Need{Act: tools.Edits}, gate.Deny},
		{[]gate.Rule{rule("foo_*", ""), rule("foo_?", ""), rule("edit_*", "")}, edits, tools.Need{Act: tools.Edits}, gate.Deny},
		{[]gate.Rule{rule("bash", tools.ClassNetwork)}, shell, line("ls"), gate.Allow},
		{[]gate.Rule{rule("bash", tools.ClassExecute)}, shell, line("ls"), gate.Deny},
		{[]gate.Rule{rule("bash", tools.ClassNetwork), rule("bash", tools.ClassExecute)}, shell, line("ls"), gate.Deny},
		{[]gate.Rule{rule("bash", tools.ClassNetwork), rule("bash", "")}, shell, line("ls"), gate.Deny},
		{append(rules("deny bash command=make"), rule("bash", tools.ClassNetwork)), shell, line("ls"), gate.Allow},
		{append(rules("deny bash command=make"), rule("bash", tools.ClassNetwork)), shell, line("make"), gate.Deny},
	} {
		if d := gate.New(gate.Options{Mode: gate.ModeAuto, Rules: c.rules}).Judge(gate.Call{Tool: c.tool, Needs: []tools.Need{c.need}}); d.Verdict != c.want {
			t.Errorf("%+v: %s: %+v", c.rules, c.tool.spec.Name, d)
		}
	}
}

// TestScriptsAsTheyWere: an allow rule with scripts covers a command only as long as they are what they were, and the question says what
// has changed; a prohibition does not look at them.
func TestScriptsAsTheyWere(t *testing.T) {
	rule := func(effect gate.Verdict, pattern string) gate.Rule {
		return gate.Rule{Effect: effect, Tool: "bash", Params: map[string]string{"command": pattern}, Scripts: "package.json 1"}
	}
	const changed = "package.json as it was then: it has changed since"
	for _, c := range []struct {
		rules   []gate.Rule
		scripts string
		want    string
		reason  string // a part of it
	}{
		{[]gate.Rule{rule(gate.Allow, "npm test")}, "package.json 1", "allow", "allows"},
		{[]gate.Rule{rule(gate.Allow, "npm test")}, "package.json 2", "ask", changed},
		{[]gate.Rule{rule(gate.Allow, "npm test")}, "", "ask", ""},
		{[]gate.Rule{rule(gate.Allow, "npm run x")}, "package.json 2", "ask", ""},
		{[]gate.Rule{rule(gate.Allow, "npm run x"), rule(gate.Allow, "npm test")}, "package.json 2", "ask", changed},
		{rules("allow bash command=make"), "package.json 2", "ask", ""},
		{rules("allow bash command=npm test"), "package.json 2", "allow", "allows"},
		{[]gate.Rule{rule(gate.Deny, "npm test")}, "package.json 2", "deny", ""},
		{[]gate.Rule{rule(gate.Deny, "npm test")}, "", "deny", ""},
	} {
		need := line("npm test")
		need.Scripts = c.scripts
		d := command(gate.ModeAsk, need, c.rules...)
		if d.Verdict.String() != c.want || !strings.Contains(d.Reason, c.reason) || c.reason != changed && strings.Contains(d.Reason, "changed since") {
			t.Errorf("%+v, %q: %+v", c.rules, c.scripts, d)
		}
	}
}

// TestLayerOfACommandWithoutASandbox: the missing sandbox is the ground where the mode alone would not deny the command.
func TestLayerOfACommandWithoutASandbox(t *testing.T) {
	for mode, want := range map[gate.Mode]string{
		gate.ModeReadOnly: "deny mode", gate.ModePlan: "deny sandbox", gate.ModeAsk: "ask sandbox", gate.ModeAuto: "ask sandbox",
	} {
		d := judged(mode, shell, []tools.Need{{Act: tools.Runs}})
		if d.Verdict.String()+" "+d.Layer != want {
			t.Errorf("%s: %+v", mode, d)
		}
	}
}

// TestPathsOfRules: what an allow rule and a prohibition say to one path, as it was written and as it is.
func TestPathsOfRules(t *testing.T) {
	g := newGround(t)
	long := strings.Repeat("aaa/", (1000-len("src/"))/4-1) + "aaaa" // 1,000 bytes with the folder
	for _, c := range []struct{ rule, path, want string }{
		{"allow edit_file path=none; allow edit_file path=src/**", "src/x", "allow"},
		{"allow edit_file path=src/?.go", "src/a.go", "allow"},
		{"allow edit_file path=src/?.go", "src/ab.go", "ask"},
		{"deny edit_file path=src/?.go", "src/a.go", "deny"},
		{"deny edit_file path=s?c/a.go", "src/a.go", "deny"},
		{"deny edit_file path=none; allow edit_file path=src/**", "SRC/x", "ask"}, // small letters are for what forbids
		{"deny edit_file path=none; allow edit_file path=SRC/**", "SRC/X", "allow"},
		{"deny edit_file path=src/{a,b}/*.go", "src/b/x.go", "deny"},
		{"deny edit_file path=src/[ab].go", "src/b.go", "deny"},
		{`deny edit_file path=src/\a.go`, "src/a.go", "deny"},
		{"allow edit_file path=src/" + long, "src/" + long, "allow"},
		{"allow edit_file path=src/" + long + "a", "src/" + long + "a", "ask"},
		{"deny edit_file path=src/" + long + "a", "x", "deny"}, // too long to be compared
		// Another folder that the session may use.
		{"allow edit_file path=**", "../other/x", "ask"},
		{"allow edit_file path=../other/**", "../other/x", "allow"},
		{"allow edit_file path=../other/**", "src/x", "ask"},
		{"allow edit_file path=../**", "src/x", "ask"},
		{"deny edit_file path=../other", "../other/x", "deny"},
		{"deny edit_file path=**", "../other/x", "deny"},
		{"deny edit_file path=.", "src/x", "deny"},
		{"deny edit_file path=./", "x", "deny"},
		{"deny edit_file path=.", "../other/x", "ask"},
		{"allow edit_file path=.", "src/x", "ask"},
		{"deny edit_file path=../elsewhere", "../other/x", "ask"},
		{"allow edit_file path=" + g.root + "/other/**", "../other/x", "allow"},
		// As it was written, also with more in front of it.
		{"deny edit_file path=link", "link", "deny"},
		{"deny edit_file path=link", "./src/../link", "deny"},
		{"deny edit_file path=link", g.cwd + "/link", "deny"},
		{"deny edit_file path=" + g.cwd + "/link", "link", "deny"},
		{"deny edit_file path=folder", "folder/x", "deny"},
		{"deny edit_file path=private", "folder/x", "deny"},
		{"deny edit_file path=link", "private/key", "ask"},
		{"allow edit_file path=link", "link", "ask"},
	} {
		for arg, written := range map[string]string{"path": "", "target": c.path, "": ""} {
			need := tools.Need{Act: tools.Edits, Place: g.at(t, c.path), Arg: arg, Written: written}
			rule, args := c.rule, `{}`
			switch arg {
			case "target":
				rule = strings.ReplaceAll(rule, " path=", " target=")
			default:
				raw, _ := json.Marshal(map[string]string{"path": c.path})
				args = string(raw)
			}
			d := g.judge(gate.ModeAsk, edits, args, need, rules(strings.Split(rule, "; ")...)...)
			if arg == "" && strings.Contains(c.rule, "allow") { // the need does not say that it is about the parameter, whose text counts
				continue
			}
			if d.Verdict.String() != c.want {
				t.Errorf("%.60s: %.60s in %q: %+v", c.rule, c.path, arg, d)
			}
		}
	}
}

// TestWrittenPathsOfARuleOfAFolderAbove: a relative pattern starts from the folder of the rule, a relative argument from that of the
// session.
func TestWrittenPathsOfARuleOfAFolderAbove(t *testing.T) {
	g := newGround(t)
	for pattern, want := range map[string]string{
		"app/link": "deny", "link": "allow", "app/private/key": "deny", "private/key": "allow", g.cwd + "/link": "deny", "app": "deny", "other": "allow",
	} {
		for _, written := range []string{"link", g.cwd + "/link"} {
			above, own := rules("deny edit_file path=" + pattern)[0], rules("deny edit_file path=none")[0]
			above.Workspace, own.Workspace = g.root, g.cwd
			need := tools.Need{Act: tools.Edits, Place: g.at(t, written), Arg: "path"}
			for _, list := range [][]gate.Rule{{above, own}, {own, above}} {
				if d := g.judge(gate.ModeAuto, edits, `{"path":"`+written+`"}`, need, list...); d.Verdict.String() != want {
					t.Errorf("%s: %s: %+v", pattern, written, d)
				}
			}
		}
	}
}

// TestPathOfAToolThatRuns: a prohibition about a path covers what a tool that is a program of its own is given as its path, whichever
// folder it runs in.
func TestPathOfAToolThatRuns(t *testing.T) {
	g := newGround(t)
	program := tool{spec: tools.Spec{Name: "format", Kind: tools.Execute, Class: tools.ClassExecute, Source: "plugin:x"}}
	for _, c := range []struct{ rule, args, want string }{
		{"deny format path=private/**", `{"path":"private/key"}`, "deny"},
		{"deny * path=private/**", `{"path":"./private/key"}`, "deny"},
		{"deny * path=private/**", `{"path":"src/../private/key"}`, "deny"},
		{"deny * path=" + g.cwd + "/private", `{"path":"private/key"}`, "deny"},
		{"deny * path=private/**", `{"path":"src/key"}`, "allow"},
		{"deny * path=private/**", `{}`, "allow"},
		{"deny * path=private/**", ``, "allow"},
	} {
		need := tools.Need{Act: tools.Runs, Place: g.at(t, "."), Confined: true, Profile: sandbox.Loopback}
		if d := g.judge(gate.ModeAuto, program, c.args, need, rules(c.rule)...); d.Verdict.String() != c.want {
			t.Errorf("%s: %s: %+v", c.rule, c.args, d)
		}
	}
}

// TestParametersOfRules: a rule about a parameter that the tool does not have forbids more and allows nothing, but for a path within
// another parameter; any other one is compared as a text.
func TestParametersOfRules(t *testing.T) {
	g := newGround(t)
	other := plug{tool{spec: tools.Spec{Name: "plug", Kind: tools.Edit, Class: tools.ClassWrite}}}
	key, plain := tools.Need{Act: tools.Edits, Place: g.at(t, "private/key")}, tools.Need{Act: tools.Edits, Place: g.at(t, "src/x")}
	within := plain
	within.Arg, within.Written = "target", "src/x"
	nowhere := tools.Need{Act: tools.Edits, Arg: "target", Written: "src/x"}
	inFolder := line("ls")
	inFolder.Place, inFolder.Arg = g.at(t, "folder"), "cwd"
	for _, c := range []struct {
		tool tools.Tool
		rule string
		args string
		need tools.Need
		want string
	}{
		{other, "deny plug path=private/**", ``, key, "deny"},
		{other, "deny * path=private/**", ``, key, "deny"},
		{other, "deny * path=private/**", ``, plain, "ask"},
		{other, "deny plug path=private/**", ``, plain, "ask"},
		{other, "allow plug path=src/**", ``, plain, "ask"},
		{other, "deny plug command=make", ``, line("ls"), "deny"},
		{other, "deny * command=make", ``, line("ls"), "ask"},
		{other, "allow plug command=ls", ``, line("ls"), "ask"},
		{other, "allow plug target=src/**", ``, within, "allow"},
		{other, "allow plug target=other/**", ``, within, "ask"},
		{other, "deny plug target=src/**", ``, within, "deny"},
		{other, "deny plug target=other/**", ``, within, "ask"},
		{other, "deny plug target=src/**", ``, plain, "deny"}, // nobody knows what it is about
		{other, "deny * target=src/**", ``, plain, "ask"},
		{other, "allow plug target=src/**", ``, plain, "ask"},
		{other, "allow plug elsewhere=src/**", ``, within, "ask"},
		{other, "deny plug elsewhere=src/**", ``, within, "deny"},
		{edits, "deny edit_file mode=src/*", `{"mode":"x"}`, nowhere, "ask"},
		// A path of a tool that says nothing of where it is.
		{edits, "deny edit_file path=private/**", `{"path":"./private/x"}`, tools.Need{Act: tools.Edits}, "deny"},
		{edits, "deny edit_file path=private", `{"path":"PRIVATE/x"}`, tools.Need{Act: tools.Edits}, "deny"},
		{edits, "deny edit_file path=private", `{"path":"src/x"}`, tools.Need{Act: tools.Edits}, "ask"},
		{edits, "allow edit_file path=src/**", `{"path":"src/../x"}`, tools.Need{Act: tools.Edits}, "ask"},
		{edits, "allow edit_file path=src/**", `{"path":"src/x"}`, tools.Need{Act: tools.Edits}, "allow"},
		{edits, "allow edit_file path=https://x/**", `{"path":"https://x/y"}`, tools.Need{Act: tools.Edits}, "allow"},
		{edits, "deny edit_file path=https://x/**", `{"path":"https://x/y"}`, tools.Need{Act: tools.Edits}, "deny"},
		// What a command reads beside it is no command.
		{shell, "deny bash command=git push", `{"command":"cat src/x"}`, tools.Need{Act: tools.Reads, Place: g.at(t, "src/x"), Arg: "path"}, "allow"},
		{other, "allow plug target=src/*", ``, nowhere, "allow"},
		{other, "allow plug target=other/*", ``, nowhere, "ask"},
		{other, "deny plug target=SRC/x", ``, nowhere, "deny"},
		{edits, "allow edit_file path=src/*", `{"path":"src/x"}`, tools.Need{Act: tools.Edits, Arg: "path"}, "allow"},
		{edits, "allow edit_file mode=Fast*", `{"mode":"Faster"}`, plain, "allow"},
		{edits, "allow edit_file mode=Fast*", `{"mode":"faster"}`, plain, "ask"},
		{edits, "allow edit_file mode=*st", `{"mode":"Faster"}`, plain, "ask"},
		{edits, "allow edit_file mode=*", `{}`, plain, "ask"},
		{edits, "allow edit_file mode=[", `{"mode":"["}`, plain, "ask"},
		{edits, "allow edit_file mode=7", `{"mode": 7 }`, plain, "allow"},
		{edits, "deny edit_file mode=FAST*", `{"mode":"faster"}`, plain, "deny"},
		{edits, "deny edit_file mode=fast*", `{"mode":"FASTER"}`, plain, "deny"},
		{edits, "deny edit_file mode=a*", `{"mode":"xa"}`, plain, "ask"},
		{edits, "deny edit_file mode=xyz*", `{"mode":"abc"}`, plain, "ask"},
		{edits, "deny edit_file mode=*", `{}`, plain, "ask"},
		{edits, "deny edit_file mode=[", `{"mode":"x"}`, plain, "deny"},
		// The folder of a command is a path that a parameter names.
		{shell, "deny bash cwd=folder", `{"cwd":"folder"}`, inFolder, "deny"},
		{shell, "deny bash cwd=private", `{"cwd":"folder"}`, inFolder, "deny"},
		{shell, "deny bash cwd=src", `{"cwd":"folder"}`, inFolder, "ask"},
		{shell, "allow bash cwd=folder", `{"cwd":"folder"}`, inFolder, "ask"},
		{shell, "allow bash cwd=private", `{"cwd":"folder"}`, inFolder, "allow"},
	} {
		if d := g.judge(gate.ModeAsk, c.tool, c.args, c.need, rules(c.rule)...); d.Verdict.String() != c.want {
			t.Errorf("%s: %s: %+v: %+v", c.rule, c.args, c.need, d)
		}
	}
}

// TestFoldersThatAreReadWithAllBelow: a prohibition that may be about something below a folder is asked about.
func TestFoldersThatAreReadWithAllBelow(t *testing.T) {
	g := newGround(t)
	if d := g.judge(gate.ModeAuto, reads, `{}`, tools.Need{Act: tools.Reads, Place: g.at(t, "source")}, rules("deny * path=source/**/k")...); d.Verdict != gate.Allow {
		t.Errorf("the folder alone: %+v", d)
	}
	for _, c := range []struct{ pattern, folder, want string }{
		{"**/key", "src", "ask"},
		{"*.pem", "src", "ask"},
		{"src/**/key", "src", "ask"},
		{"src/key", "src", "ask"},
		{"sr*/key", "src", "ask"},
		{"private/**", "src", "allow"},
		{"private/**", ".", "ask"},
		{"src", "src", "deny"},
		{g.cwd + "/src/x", "src", "ask"},
	} {
		need := tools.Need{Act: tools.Reads, Place: g.at(t, c.folder), Arg: "path", Tree: true}
		if d := g.judge(gate.ModeAuto, reads, `{"path":"`+c.folder+`"}`, need, rules("deny * path="+c.pattern)...); d.Verdict.String() != c.want {
			t.Errorf("%s in %s: %+v", c.pattern, c.folder, d)
		}
	}
}

// TestRulesOfAnswers: the rule of an answer may be about a turn, about files and about the greatest act alone.
func TestRulesOfAnswers(t *testing.T) {
	g := newGround(t)
	in := g.at(t, "src/x").Path()
	for _, c := range []struct {
		rule gate.Rule
		turn int
		path string
		act  tools.Act
		want gate.Verdict
	}{
		{gate.Rule{Turn: 3}, 3, "src/x", tools.Edits, gate.Allow},
		{gate.Rule{Turn: 3}, 4, "src/x", tools.Edits, gate.Ask},
		{gate.Rule{Turn: 3}, 0, "src/x", tools.Edits, gate.Ask},
		{gate.Rule{}, 3, "src/x", tools.Edits, gate.Allow},
		{gate.Rule{Files: []string{"/z", in}}, 0, "src/x", tools.Edits, gate.Allow},
		{gate.Rule{Files: []string{in}}, 0, "src/y", tools.Edits, gate.Ask},
		{gate.Rule{Files: []string{}}, 0, "src/x", tools.Edits, gate.Ask},
		{gate.Rule{Act: rule.Edit}, 0, "src/x", tools.Creates, gate.Allow},
		{gate.Rule{Act: rule.Edit}, 0, "src/x", tools.Edits, gate.Allow},
		{gate.Rule{Act: rule.Edit}, 0, "src/x", tools.Replaces, gate.Ask},
		{gate.Rule{Profile: sandbox.ReadOnly.String()}, 0, "src/x", tools.Edits, gate.Ask},
		{gate.Rule{Effect: gate.Deny, Act: rule.Edit}, 0, "src/x", tools.Replaces, gate.Deny}, // what forbids does so whatever else it says
		{gate.Rule{Effect: gate.Deny, Profile: "x"}, 0, "src/x", tools.Edits, gate.Deny},
	} {
		if c.rule.Tool = "edit_file"; c.want != gate.Deny {
			c.rule.Effect = gate.Allow
		}
		d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: g.cwd, Rules: []gate.Rule{c.rule}}).Judge(gate.Call{
			Tool: edits, Turn: c.turn, Needs: []tools.Need{{Act: c.act, Place: g.at(t, c.path), Arg: "path"}},
		})
		if d.Verdict != c.want {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

// TestWordsOfCommands: stars in a word, empty words, and commands that change what others in the line do.
func TestWordsOfCommands(t *testing.T) {
	empty := line("echo x")
	empty.Shell.Calls[0][1] = ""
	for _, c := range []struct {
		rules string
		need  tools.Need
		want  string
	}{
		{"deny bash command=echo a*a", line("echo a"), "allow"},
		{"deny bash command=echo a*a", line("echo aa"), "deny"},
		{"deny bash command=echo ab*ba", line("echo aba"), "allow"},
		{"deny bash command=echo a*b*c", line("echo axbyc"), "deny"},
		{"deny bash command=echo a*b*c", line("echo abc"), "deny"},
		{"deny bash command=echo a*b*c", line("echo axyc"), "allow"},
		{"deny bash command=echo a*b*b*c", line("echo abxc"), "allow"},
		{"deny bash command=echo *bc", line("echo abc"), "deny"},
		{"deny bash command=echo a*b", line("echo ac"), "allow"},
		{"deny bash command=docker push", line("docker x push"), "ask"},
		{"deny bash command=git push origin", line("git push -v origin"), "ask"},
		{"deny bash command=git push origin", line("git fetch push origin"), "allow"},
		{"deny bash command=echo *x*", line("echo axb"), "deny"},
		{"deny bash command=echo *x*", line("echo ab"), "allow"},
		{"deny bash command=echo ''", line("echo x"), "allow"},
		{"deny bash command=echo '' x", line("echo x x"), "allow"},
		{"deny bash command=echo \\ ", line("echo x"), "allow"},
		{"deny bash command=git push", line("echo git push"), "allow"}, // the program is another
		{"deny bash command=gi* push", line("echo git push"), "allow"},
		{"deny bash command=docker push", line("docker -q push"), "ask"},
		{"deny bash command=docker push", line("docker -q pull"), "allow"},
		{"deny bash command=docker push", opaque("docker -q ?"), "ask"},
		{"deny bash command=docker push *", line("docker -q push x"), "ask"},
		{"deny bash command=docker image rm", line("docker -q image rm"), "ask"},
		{"deny bash command=docker image rm", line("docker -q image ls"), "allow"},
	} {
		if d := command(gate.ModeAuto, c.need, rules(c.rules)...); d.Verdict.String() != c.want {
			t.Errorf("%s: %q: %+v", c.rules, c.need.Shell.Calls, d)
		}
	}
	for _, c := range []struct {
		rules string
		need  tools.Need
		want  string
	}{
		{"allow bash command=echo ''", empty, "allow"},
		{"allow bash command=echo ''", line("echo"), "ask"},
		{"allow bash command=echo 'a\\b'", line("echo a\\b"), "allow"},
		{"allow bash command=echo \"it's\"", line("echo it's"), "allow"},
		{"allow bash command=echo\t\"a\"\nb", line("echo a b"), "allow"},
		{"allow bash command=bash *.sh", line("bash x.sh"), "ask"},
		{"allow bash command=cd sub", line("cd sub"), "allow"},
		{"allow bash command=cd sub; allow bash command=make", line("cd sub", "make"), "ask"},
		{"allow bash command=cd sub; allow bash command=make", line("make", "cd sub"), "ask"},
		{"allow bash command=ls a; allow bash command=make", line("ls a", "make"), "allow"},
	} {
		if d := command(gate.ModeAsk, c.need, rules(strings.Split(c.rules, "; ")...)...); d.Verdict.String() != c.want {
			t.Errorf("%s: %q: %+v", c.rules, c.need.Shell.Calls, d)
		}
	}
}

// TestRulesOfAnswersByKind: what an answer to a question is about, and where there is none to keep.
func TestRulesOfAnswersByKind(t *testing.T) {
	g := newGround(t)
	for _, d := range []string{"src/a", "src/b"} {
		if err := os.MkdirAll(filepath.Join(g.cwd, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := func(act tools.Act, name string) tools.Need {
		return tools.Need{Act: act, Place: g.at(t, name), Arg: "path"}
	}
	of := func(kind tools.Kind, source string) tool {
		return tool{spec: tools.Spec{Name: "x", Kind: kind, Source: source}}
	}
	run := tools.Need{Act: tools.Runs, Place: g.at(t, "."), Confined: true, Profile: sandbox.Loopback}
	opaqueLine, bareLine := line("npm test"), line("npm test")
	opaqueLine.Arg, opaqueLine.Place, opaqueLine.Shell.Literal = "cwd", g.at(t, "."), false
	noArg := file(tools.Edits, "src/x")
	noArg.Arg = ""
	otherArg := file(tools.Edits, "src/y")
	otherArg.Arg = "destination"
	for name, c := range map[string]struct {
		tool          tool
		args          string
		needs         []tools.Need
		allow, refuse string
		most          tools.Act
		edits         int
	}{
		"one file":              {of(tools.Edit, ""), ``, []tools.Need{file(tools.Edits, "src/x")}, "x src/**", "x src/x", tools.Edits, 1},
		"two files of a folder": {of(tools.Edit, ""), ``, []tools.Need{file(tools.Creates, "src/x"), file(tools.Edits, "src/y")}, "x src/**", "x src/{x,y}", tools.Edits, 2},
		"two folders":           {of(tools.Edit, ""), ``, []tools.Need{file(tools.Edits, "src/a/x"), file(tools.Creates, "src/b/y")}, "x src/**", "x src/{a/x,b/y}", tools.Edits, 2},
		"a folder above":        {of(tools.Edit, ""), ``, []tools.Need{file(tools.Edits, "src/a/x"), file(tools.Edits, "src/y")}, "x src/**", "x src/{a/x,y}", tools.Edits, 2},
		"files at the top":      {of(tools.Edit, ""), ``, []tools.Need{file(tools.Edits, "x"), file(tools.Edits, "y")}, "x *", "x {x,y}", tools.Edits, 2},
		"all of the workspace":  {of(tools.Edit, ""), ``, []tools.Need{file(tools.Edits, "src/x"), file(tools.Edits, "y")}, "", "", 0, 2},
		"two roots":             {of(tools.Edit, ""), ``, []tools.Need{file(tools.Edits, "src/x"), file(tools.Edits, "../other/y")}, "", "", 0, 2},
		"two parameters":        {of(tools.Edit, ""), ``, []tools.Need{file(tools.Edits, "src/x"), otherArg}, "", "", 0, 2},
		"no parameter":          {of(tools.Edit, ""), ``, []tools.Need{noArg}, "", "", 0, 1},
		"a file and a command":  {of(tools.Edit, ""), ``, []tools.Need{file(tools.Edits, "src/x"), line("make")}, "", "", 0, 0},
		"whole files":           {of(tools.Edit, ""), ``, []tools.Need{file(tools.Replaces, "src/x")}, "x src/**", "x src/x", tools.Replaces, 0},
		"no place":              {of(tools.Edit, ""), ``, []tools.Need{{Act: tools.Edits}}, "", "", 0, 0},
		"more than a command":   {of(tools.Execute, ""), ``, []tools.Need{opaqueLine}, "", "", 0, 0},
		"a command nowhere":     {of(tools.Execute, ""), ``, []tools.Need{bareLine}, "", "", 0, 0},
		"a server's tool":       {of(tools.Other, "mcp:s"), ``, []tools.Need{{Act: tools.Reaches}}, "x", "x", 0, 0},
		"no server's tool":      {of(tools.Other, "builtin"), ``, []tools.Need{{Act: tools.Reaches}}, "", "", 0, 0},
		"a plug-in's tool":      {of(tools.Execute, "plugin:p"), ``, []tools.Need{run}, "x", "x", 0, 0},
		"no plug-in's tool":     {of(tools.Execute, "mcp:p"), ``, []tools.Need{run}, "", "", 0, 0},
		"a plug-in that writes": {of(tools.Edit, "plugin:p"), ``, []tools.Need{noArg}, "", "", 0, 1},
		"a host": {
			of(tools.Fetch, ""), `{"url":"HTTPS://example.org/a?b"}`,
			[]tools.Need{{Act: tools.Reaches, Host: "example.org"}},
			"x url=https://example.org/**", "x url=https://example.org/**", 0, 0,
		},
		"a host without a scheme": {of(tools.Fetch, ""), `{"url":"example.org"}`, []tools.Need{{Act: tools.Reaches, Host: "example.org"}}, "", "", 0, 0},
		"a host without a URL":    {of(tools.Fetch, ""), `{}`, []tools.Need{{Act: tools.Reaches, Host: "example.org"}}, "", "", 0, 0},
		"no host":                 {of(tools.Fetch, ""), `{"url":"https://example.org/a"}`, []tools.Need{{Act: tools.Reaches}}, "", "", 0, 0},
	} {
		d := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: g.cwd}).Judge(gate.Call{Tool: c.tool, Args: json.RawMessage(c.args), Needs: c.needs})
		allow, refuse := "", ""
		if d.Allows != nil {
			allow = d.Allows.In(g.cwd).String()
			if gate.MostOf(d.Allows.Act) != c.most || d.Allows.Effect != gate.Allow || d.Denies.Effect != gate.Deny {
				t.Errorf("%s: %+v, %+v", name, d.Allows, d.Denies)
			}
			if run := c.needs[0].Act == tools.Runs; run != (d.Allows.Profile != "") {
				t.Errorf("%s: %+v", name, d.Allows)
			}
		}
		if d.Denies != nil {
			refuse = d.Denies.In(g.cwd).String()
		}
		if d.Verdict != gate.Ask || allow != c.allow || refuse != c.refuse || len(d.Edits) != c.edits {
			t.Errorf("%s: %q, %q: %+v", name, allow, refuse, d)
		}
	}
}

// TestExactAndWide: the rules for calls like one, whatever the mode says to it.
func TestExactAndWide(t *testing.T) {
	g := newGround(t)
	run := func(text string) tools.Need {
		return tools.Need{
			Act: tools.Runs, Place: g.at(t, "."), Arg: "cwd", Confined: true, Profile: sandbox.Loopback,
			Shell: shellparse.Parse(t.Context(), text, g.cwd, g.cwd),
		}
	}
	bare, dangerous, forbidden := run("npm test"), run("npm test"), run("npm test")
	bare.Confined, dangerous.Danger, forbidden.Shell.Forbidden = false, tools.Dangerous, "no"
	operand := tools.Need{Act: tools.Reads, Place: g.at(t, "src/x"), Arg: "path"}
	write := tools.Need{Act: tools.Edits, Place: g.at(t, "src/x"), Arg: "path"}
	for name, c := range map[string]struct {
		tool        tool
		needs       []tools.Need
		exact, wide string
	}{
		"a command":              {shell, []tools.Need{run("npm test")}, "bash npm test", "bash npm **"},
		"with an operand":        {shell, []tools.Need{run("npm test"), operand}, "bash npm test", "bash npm **"},
		"the operand first":      {shell, []tools.Need{operand, run("npm test")}, "bash npm test", "bash npm **"},
		"and a file":             {shell, []tools.Need{run("npm test"), write}, "", ""},
		"no option":              {shell, []tools.Need{run("npm")}, "bash npm", "bash npm"},
		"an unknown option":      {shell, []tools.Need{run("npm test --x")}, "bash npm test --x", "bash npm test --x"},
		"no sandbox":             {shell, []tools.Need{bare}, "", "bash npm **"},
		"dangerous":              {shell, []tools.Need{dangerous}, "", ""},
		"forbidden":              {shell, []tools.Need{forbidden}, "", ""},
		"several":                {shell, []tools.Need{run("npm test; npm start")}, "", ""},
		"a file":                 {edits, []tools.Need{write}, "edit_file src/**", "edit_file src/**"},
		"what is read":           {reads, []tools.Need{operand}, "", ""},
		"what is Tandem's alone": {edits, []tools.Need{{Act: tools.Edits, Place: g.at(t, ".git/config"), Arg: "path"}}, "", ""},
	} {
		call := gate.Call{Tool: c.tool, Needs: c.needs}
		text := func(r *gate.Rule) string {
			if r == nil {
				return ""
			}
			return r.In(g.cwd).String()
		}
		allows, denies := gate.Exact(call)
		if got := text(allows); got != c.exact || (denies == nil) != (allows == nil) {
			t.Errorf("%s: exactly %q, want %q", name, got, c.exact)
		}
		if got := text(gate.Wide(call)); got != c.wide {
			t.Errorf("%s: widely %q, want %q", name, got, c.wide)
		}
	}
	if gate.Wide(gate.Call{Tool: shell, Needs: []tools.Need{bare}}); bare.Confined {
		t.Error("the needs were changed")
	}
}

// TestDangerOfATool: a tool that is dangerous itself is asked about each time, and a call that is allowed has no question to answer.
func TestDangerOfATool(t *testing.T) {
	x := tool{spec: tools.Spec{Name: "x", Kind: tools.Edit, Danger: tools.Dangerous}}
	if d := judged(gate.ModeAuto, x, []tools.Need{{Act: tools.Edits, Danger: tools.Moderate}}); d.Verdict != gate.Ask || !d.Once {
		t.Errorf("%+v", d)
	}
	allowed := gate.New(gate.Options{Mode: gate.ModeAuto}).Judge(gate.Call{
		Tool: edits, Needs: []tools.Need{{Act: tools.Edits, Place: place(t, "a"), Arg: "path"}}, Context: t.Context(),
	})
	if allowed.Verdict != gate.Allow || allowed.Allows != nil || allowed.Denies != nil || allowed.Edits != nil {
		t.Errorf("%+v", allowed)
	}
	if got := (gate.Rule{Tool: "x", Params: map[string]string{"target": "."}}).String(); got != "x target=." {
		t.Error(got)
	}
}

// TestNamesOfRules: an id is about what a rule does and not about where it is written, and the names of acts are unambiguous.
func TestNamesOfRules(t *testing.T) {
	id := func(scope, workspace, source string) string {
		return gate.Rule{Effect: gate.Deny, Tool: "x", Scope: scope, Workspace: workspace, Source: source}.ID()
	}
	if id("user", "", "a") != id("workspace", "", "b") || id("user", "", "") == id("user", "/w", "") || id("session", "", "") == id("user", "", "") ||
		(gate.Rule{Tool: "x"}).ID() == (gate.Rule{Tool: "y"}).ID() {
		t.Error("ids of rules")
	}
	for name, want := range map[string]tools.Act{"": tools.Unknown, "create": tools.Creates, "edit": tools.Edits, "replace": tools.Replaces} {
		if most := gate.MostOf(name); most != want || !rule.KnownAct(name) {
			t.Errorf("%q is %v", name, most)
		}
	}
	for _, name := range []string{"Edit", "run", " "} {
		if most := gate.MostOf(name); rule.KnownAct(name) || most != tools.Unknown {
			t.Errorf("%q is %v", name, most)
		}
	}
	if gate.Mode("yolo").Known() || gate.Mode("").Known() {
		t.Error("a mode that there is not")
	}
}

// TestDropsByMode: a tool that reaches the network is not offered where no call of it may.
func TestDropsByMode(t *testing.T) {
	for _, c := range []struct {
		mode  gate.Mode
		class tools.Class
		want  string
	}{
		{gate.ModeReadOnly, tools.ClassNetwork, "mode"},
		{gate.ModePlan, tools.ClassNetwork, ""},
		{gate.ModeAuto, tools.ClassNetwork, ""},
		{gate.ModeAuto, tools.ClassWrite, ""},
		{gate.ModeReadOnly, tools.ClassExecute, ""},
	} {
		if stage, _ := gate.New(gate.Options{Mode: c.mode}).Drops(tools.Spec{Name: "x", Class: c.class}); stage != c.want {
			t.Errorf("%s, %s: %q", c.mode, c.class, stage)
		}
	}
	if stage, _ := gate.New(gate.Options{Mode: gate.ModeAuto}).Drops(tools.Spec{Name: "x", Unlisted: true}); stage != "pool" {
		t.Error("a tool that is not listed")
	}
}
