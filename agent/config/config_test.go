package config

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// load lays JSON of the named layers over the defaults; "user" and "workspace" become files.
func load(t *testing.T, layers map[string]string) (Config, []string, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := Inputs{
		Workspace: filepath.Join(root, "ws"), UserFile: filepath.Join(root, "user.json"),
		Section: []byte(layers["section"]), Client: []byte(layers["client"]), Flags: []byte(layers["flags"]),
		OwnSection: true, OwnClient: true,
	}
	for layer, into := range map[string]*[]byte{"plain client": &in.Client, "plain section": &in.Section} {
		if text, ok := layers[layer]; ok {
			*into, in.OwnClient, in.OwnSection = []byte(text), false, false
		}
	}
	for _, dir := range []string{"ws/.tandem", "ws/src", "other"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "other"), filepath.Join(root, "ws/out")); err != nil {
		t.Fatal(err)
	}
	for layer, name := range map[string]string{"user": "user.json", "workspace": "ws/.tandem/config.json"} {
		if text, ok := layers[layer]; ok {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, problems := Load(in)
	lines := []string{}
	for _, p := range problems {
		mark := "hint "
		if p.Bad {
			mark = "bad "
		}
		lines = append(lines, mark+strings.ReplaceAll(p.String(), root, ""))
	}
	return c, lines, root
}

func TestNothingSet(t *testing.T) {
	c, problems, _ := load(t, nil)
	if diff := cmp.Diff(Default(), c); diff != "" || len(problems) > 0 {
		t.Errorf("%s %v", diff, problems)
	}
}

func TestLayersInOrder(t *testing.T) {
	c, problems, _ := load(t, map[string]string{
		"user": `{"model": "a/u", "closedFiles": "disk", "limits": {"killGraceMs": 1, "maxConcurrency": 2},
			"disabledTools": ["bash"], "providers": {"p": {"baseUrl": "http://u", "apiKeyEnv": "K"}}, /* why */ }`,
		"workspace": `{"limits": {"killGraceMs": 3}, "disabledTools": ["grep"]}`,
		"section":   `{"coerce": "on", "closedFiles": "editor", "providers": {"p": {"baseUrl": "http://s"}}}`,
		"client":    `{"coerce": "off", "model": "a/c", "mode": "auto", "disabledTools": ["bash", "glob"]}`,
		"flags":     `{"model": "a/f"}`,
	})
	want := Default()
	want.Model, want.Mode, want.ClosedFiles, want.Coerce = "a/f", "auto", "editor", "on"
	want.Limits.KillGraceMs, want.Limits.MaxConcurrency = 3, 2
	want.ToolsOff = []string{"bash", "grep", "glob"}
	want.Providers = map[string]Provider{"p": {BaseURL: "http://s", APIKeyEnv: "K"}}
	if diff := cmp.Diff(want, c); diff != "" || len(problems) > 0 {
		t.Errorf("%s %v", diff, problems)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name, layer, text string
		want              []string
	}{
		{"unknown key with a near one", "user", "{\n  // mine\n  \"modle\": \"x\"\n}", []string{
			`hint /user.json:3:3: unknown key "modle"; did you mean "model"?`,
		}},
		{"unknown key in a nested object", "client", `{"limits": {"killgrace": 1}}`, []string{
			`hint initializationOptions: unknown key "limits.killgrace"; did you mean "limits.killGraceMs"?`,
		}},
		{"unknown key like no other", "client", `{"zzzzzzzz": 1}`, []string{
			`hint initializationOptions: unknown key "zzzzzzzz"`,
		}},
		{"the beginning of a name", "client", `{"providers": {"p": {"apiKey": "v"}}}`, []string{
			`hint initializationOptions: unknown key "providers.p.apiKey"; did you mean "providers.p.apiKeyEnv"?`,
		}},
		{"a key of another place", "client", `{"caFile": "/x", "maxCostUsd": 1}`, []string{
			`hint initializationOptions: unknown key "caFile"; did you mean "providers.NAME.caFile"?`,
			`bad initializationOptions: unknown key "maxCostUsd"; did you mean "budget.maxCostUsd"?`,
		}},
		{"a mark before UTF-8", "user", "\ufeff{\"modle\": \"x\"}", []string{
			`hint /user.json:1:2: unknown key "modle"; did you mean "model"?`,
		}},
		{"paths that depend on the folder", "client", `{"stateDir": "state", "log": {"file": "./log"}}`, []string{
			`bad initializationOptions: "stateDir" must be an absolute path: ` +
				`a relative one depends on the folder that Tandem is started in`,
			`bad initializationOptions: "log.file" must be an absolute path: ` +
				`a relative one depends on the folder that Tandem is started in`,
		}},
		{"column counts characters", "user", `{"model": "é", "retrie": 1}`, []string{
			`hint /user.json:1:16: unknown key "retrie"; did you mean "retry"?`,
		}},
		{"wrong types, all of them", "client", `{"model": 5, "requireRead": "yes", "limits": [],
			"disabledTools": "bash", "writeRoots": {}}`, []string{
			`bad initializationOptions: "model" must be a string, not the number 5`,
			`bad initializationOptions: "requireRead" must be true or false, not a string`,
			`bad initializationOptions: "limits" must be an object, not a list`,
			`bad initializationOptions: "disabledTools" must be a list of strings, not a string`,
			`bad initializationOptions: "writeRoots" must be a list of strings or null, not an object`,
		}},
		{"an element", "client", `{"writeRoots": [7]}`, []string{
			`bad initializationOptions: "writeRoots[0]" must be a string, not the number 7`,
		}},
		{"out of range", "client", `{"limits": {"maxConcurrency": 0, "killGraceMs": 1.5}}`, []string{
			`bad initializationOptions: "limits.maxConcurrency" must be from 1 to 64, not 0`,
			`bad initializationOptions: "limits.killGraceMs" must be a whole number, not the number 1.5`,
		}},
		{"not one of", "client", `{"apply": "never"}`, []string{
			`bad initializationOptions: "apply" must be "auto", "editor", "disk" or "none", not "never"`,
		}},
		{"not in this version", "client", `{"review": "before", "permissions": {"allow": [{"tool": "x"}]},
			"mcpServers": {}}`, []string{
			`bad initializationOptions: "review" "before" is not supported in this version: every change asks before it lands; use "after"`,
		}},
		{"a provider", "client", `{"providers": {"p": {"api": "openia", "apiKeyEnv": "sk-123",
			"prices": {"m": {"input": -1, "output": "x"}}}}}`, []string{
			`bad initializationOptions: "providers.p.api" must be "anthropic", "openai" or "openai-chat", not "openia"; did you mean "openai"?`,
			`bad initializationOptions: "providers.p.apiKeyEnv" must be the name of an environment variable that holds the key, not the key itself`,
			`bad initializationOptions: "providers.p.prices.m.input" must be from 0 to 10000, not -1`,
			`bad initializationOptions: "providers.p.prices.m.output" must be a number, not a string`,
		}},
		{"rules that are none", "client", `{"permissions": {"deny": ["bash", {"tol": "grep"}, {"tool": "[a"}], "ask": {}}}`, []string{
			`bad initializationOptions: "permissions.deny[0]" must be an object, not a string`,
			`hint initializationOptions: unknown key "permissions.deny[1].tol"; did you mean "permissions.deny[1].tool"?`,
			`bad initializationOptions: "permissions.deny[1]" needs the key "tool"`,
			`bad initializationOptions: "permissions.deny[2].tool" is not a valid glob: syntax error in pattern`,
			`bad initializationOptions: "permissions.deny[2]" needs the key "tool"`,
			`bad initializationOptions: "permissions.ask" must be a list of objects, not an object`,
		}},
		{"twice", "user", `{"model": "a", "model": "b"}`, []string{
			`bad /user.json:1:16: "model" is set twice here; the last value is used`,
		}},
		{"no JSON", "user", "{\n\"model\" 5}", []string{
			`bad /user.json:2:9: not valid JSON: invalid character '5' after object name`,
		}},
		{"no object", "client", `[]`, []string{`bad initializationOptions: the configuration must be an object, not a list`}},
		{"null", "client", `null`, []string{}},
		{"empty", "user", " \n", []string{}},
		{"schema", "user", `{"$schema": "x"}`, []string{}},
		{"nested beyond reason", "client", strings.Repeat("[", 100_000), []string{
			`bad initializationOptions: nested too deeply`,
		}},
		{"no limit at all, from a section", "section", `{"writeRoots": []}`, []string{
			`bad the tandem section: "writeRoots": [] is ignored here: it works only in your own configuration file and in initializationOptions`,
		}},
		{"no limit at all, from flags", "flags", `{"writeRoots": []}`, []string{
			`bad the command line: "writeRoots": [] is ignored here: it works only in your own configuration file and in initializationOptions`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problems, _ := load(t, map[string]string{c.layer: c.text})
			if diff := cmp.Diff(c.want, problems); diff != "" {
				t.Error(diff)
			}
			got.Providers, got.Model, got.Permissions.Allow, got.Hooks = nil, "", nil, Hooks{}
			got.Limits.BashReadOnlyTimeoutMs, got.MCPServers = 0, nil
			if diff := cmp.Diff(Default(), got); diff != "" {
				t.Errorf("a mistake changed the rest: %s", diff)
			}
		})
	}
}

// TestRestrictionsThatFail wants a restriction that is not understood, or not in this version, to hold all the same, or
// else nothing to happen unasked.
func TestRestrictionsThatFail(t *testing.T) {
	for _, c := range []struct{ user, mode string }{
		{`{"mode": "auto"}`, "auto"},
		{`{"mode": "auto", "model": 5, "retry": [], "coerce": "x", "limits": {"maxReadBytes": ""}}`, "auto"},
		{`{"mode": "auto", "messages": "zh-CN", "hooks": {"beforeToolCall": [{}]}}`, "auto"},
		{`{"mode": "auto", "hooks": {"beforeToolCall": {}}}`, "ask"},
		{`{"mode": "auto", "review": "before"}`, "ask"},
		{`{"mode": "acceptEdits", "review": "befor"}`, "ask"},
		{`{"mode": "plan", "review": "before"}`, "plan"},
		{`{"mode": "auto", "requireRead": 1}`, "ask"},
		{`{"mode": "auto", "disabledTools": "bash"}`, "ask"},
		{`{"mode": "auto", "disabledTool": ["bash"]}`, "ask"},
		{`{"mode": "auto", "permissions": {"deny": [{}]}}`, "ask"},
		{`{"mode": "auto", "permissions": {"denny": [{"tool": "bash"}]}}`, "ask"},
		{`{"mode": "auto", "budget": {"maxToolCalls": -1}}`, "ask"},
		{`{"mode": "auto", "sandbox": {"level": "strictly"}}`, "ask"},
		{`{"mode": "auto", "writeRoots": "src"}`, "ask"},
		{`{"mode": "auto", "maxCostUsd": 1}`, "ask"},
		{`{"mode": "auto",, }`, "ask"},
		{`{"mode": "readonly"}`, "ask"},
		{`{"mode": "plan"}`, "plan"},
		{`{"mode": "auto", "permissions": {"deny": [{"tool": "bash", "param": {"command": "x"}}]}}`, "ask"},
		{`{"mode": "auto", "permissions": {"deny": [{"tool": "bash", "params": {"command": 1}}]}}`, "ask"},
		{`{"mode": "auto", "permissions": {"allow": [{"tool": "bash", "params": {"command": 1}}]}}`, "auto"},
	} {
		got, problems, _ := load(t, map[string]string{"user": c.user})
		if got.Mode != c.mode {
			t.Errorf("%s: mode %s, want %s: %q", c.user, got.Mode, c.mode, problems)
		}
		// The person's own word, later on, does not lift what is not understood.
		if got, problems, _ = load(t, map[string]string{"user": c.user, "flags": `{"mode": "auto"}`}); c.mode == "ask" && got.Mode != "ask" {
			t.Errorf("%s: mode %s by a flag: %q", c.user, got.Mode, problems)
		}
	}
	const said = `bad mode: "ask" is used instead of "auto" until the errors in the configuration are fixed`
	if _, problems, _ := load(t, map[string]string{"flags": `{"mode": "auto", "review": "before"}`}); !slices.Contains(problems, said) {
		t.Errorf("%q", problems)
	}
}

// TestRootsThatAreNotThere wants a workspace's limit to folders that are not there to be no permission to write everywhere.
func TestRootsThatAreNotThere(t *testing.T) {
	for _, c := range []struct{ workspace, mode string }{
		{`{"writeRoots": ["gen"]}`, "ask"},
		{`{"writeRoots": ["src/gen/deep", "../other"]}`, "ask"},
		{`{"writeRoots": ["gen", "src"]}`, "auto"},
		{`{"writeRoots": ["../none"]}`, "auto"},
		{`{"writeRoots": ["out/none"]}`, "auto"},
	} {
		got, problems, _ := load(t, map[string]string{"user": `{"mode": "auto"}`, "workspace": c.workspace})
		if got.Mode != c.mode {
			t.Errorf("%s: mode %s, want %s: %q", c.workspace, got.Mode, c.mode, problems)
		}
	}
}

func TestRulesAddUp(t *testing.T) {
	c, problems, _ := load(t, map[string]string{
		"user":      `{"permissions": {"deny": [{"tool": "bash", "params": {"command": "git push*"}}], "ask": [{"tool": "grep"}]}}`,
		"workspace": `{"permissions": {"deny": [{"tool": "write_file"}], "ask": []}}`,
		"client":    `{"permissions": {"deny": []}, "hooks": {"beforeToolCall": [{"matcher": "edit*", "command": ["judge"]}]}}`,
		"section":   `{"permissions": {"deny": [{"tool": "write_file"}]}, "hooks": {"beforeToolCall": []}}`,
	})
	want := Default()
	want.Permissions.Deny = []Rule{{Tool: "bash", Params: map[string]string{"command": "git push*"}}, {Tool: "write_file"}}
	want.Permissions.Ask = []Rule{{Tool: "grep"}}
	want.Hooks.BeforeToolCall = []Hook{{Matcher: "edit*", Command: []string{"judge"}}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if len(problems) > 0 {
		t.Error(problems)
	}
}

// TestRuleWithAMistake wants an allow rule with a mistake in it to be none: without its condition it would allow more.
func TestRuleWithAMistake(t *testing.T) {
	for _, rule := range []string{
		`{"tool": "bash", "params": {"command": 1}}`, `{"tool": "bash", "parms": {"command": "ls"}}`, `{"tool": "bash", "params": "ls"}`,
		`{"tool": "bash", "act": "everything"}`, `{"tool": "bash", "workspace": "src"}`, `{"params": {"command": "ls"}}`,
	} {
		got, problems, _ := load(t, map[string]string{"user": `{"permissions": {"allow": [` + rule + `, {"tool": "grep"}]}}`})
		if diff := cmp.Diff([]Rule{{Tool: "grep"}}, got.Permissions.Allow); diff != "" || len(problems) == 0 {
			t.Errorf("%s: %s, %q", rule, diff, problems)
		}
	}
}

func TestNoLimitOnWriting(t *testing.T) {
	for _, layer := range []string{"user", "client"} {
		c, problems, _ := load(t, map[string]string{layer: `{"writeRoots": []}`})
		if c.WriteRoots == nil || len(c.WriteRoots) != 0 || len(problems) != 0 {
			t.Errorf("%s: %v %v", layer, c.WriteRoots, problems)
		}
	}
}

func TestWorkspaceOnlyNarrows(t *testing.T) {
	loose := `{"model": "evil/m", "providers": {"openai": {"baseUrl": "http://evil"}}, "mode": "auto", "requireRead": false,
		"strictPaths": false, "writeRoots": [], "readRoots": ["/"], "stateDir": "/x", "log": {"file": "/x"},
		"retry": {"attempts": 9}, "budget": {"maxTurnRequests": 5000}}`
	user := `{"strictPaths": true}`
	before, _, _ := load(t, map[string]string{"user": user})
	after, problems, _ := load(t, map[string]string{"user": user, "workspace": loose})
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if len(problems) != 11 {
		t.Errorf("%d hints for 11 keys: %q", len(problems), problems)
	}
	hint := `hint /ws/.tandem/config.json:1:2: "model" is ignored here: a workspace may not set it`
	if !slices.Contains(problems, hint) {
		t.Errorf("%q", problems)
	}

	c, problems, root := load(t, map[string]string{
		"user": `{"mode": "auto", "requireRead": false}`,
		"workspace": `{"mode": "ask", "requireRead": true, "strictPaths": true, "budget": {"maxTurnRequests": 5},
			"writeRoots": ["src", "out", "../other", "none"]}`,
	})
	want := Default()
	want.StrictPaths, want.Budget.MaxTurnRequests, want.WriteRoots = true, 5, []string{filepath.Join(root, "ws/src")}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if len(problems) != 3 {
		t.Errorf("a link out, a folder outside and one that is not there: %q", problems)
	}
	c, _, root = load(t, map[string]string{"user": `{"writeRoots": []}`, "workspace": `{"writeRoots": ["../other"]}`})
	if !slices.Equal(c.WriteRoots, []string{root + "/other"}) {
		t.Errorf("any limit is stricter than none: %v", c.WriteRoots)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte(" "), maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "not a regular file", large: "larger than 1 MiB"} {
		c, problems := Load(Inputs{UserFile: path})
		if len(problems) != 1 || !problems[0].Bad || !strings.Contains(problems[0].String(), want) || c.Mode != "ask" {
			t.Errorf("%s: %v", path, problems)
		}
	}
}

func TestUserFile(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"/c", "/h", "/c/tandem/config.json"},
		{"", "/h", "/h/.config/tandem/config.json"},
		{"relative", "/h", "/h/.config/tandem/config.json"},
		{"", "", ""},
	} {
		env := map[string]string{"XDG_CONFIG_HOME": c.xdg, "HOME": c.home}
		if got := UserFile(func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"mode": "auto", "limits": {"killGraceMs": 1}}`))
	f.Add([]byte(`{"writeRoots": [], "providers": {"a.b": {"headers": {"x": 1}}}} // c`))
	f.Add([]byte("{\"\\u0000\": \"\xff\"}"))
	dir := f.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".tandem"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, _ := Load(Inputs{Client: text, OwnClient: true})
		if !slices.Contains([]string{"ask", "acceptEdits", "readOnly", "auto"}, c.Mode) || c.Retry.Attempts < 1 || c.Limits.MaxConcurrency < 1 {
			t.Errorf("not usable: %+v", c)
		}
		if err := os.WriteFile(filepath.Join(dir, ".tandem/config.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, _ := Load(Inputs{Workspace: dir}); c.Mode != "ask" && c.Mode != "readOnly" || !c.RequireRead || c.Model != "" || c.Providers != nil ||
			c.FallbackModels != nil ||
			(c.WriteRoots != nil && len(c.WriteRoots) == 0) {
			t.Errorf("loosened by a workspace: %+v", c)
		}
	})
}
