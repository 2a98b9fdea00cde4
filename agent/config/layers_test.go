package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// keys lists the dotted paths of everything that is no object of keys.
func keys() []string {
	var out []string
	walk(reflect.ValueOf(Default()), "", func(key string, _ reflect.Value) { out = append(out, key) })
	return out
}

// nested writes a dotted path and a value as JSON.
func nested(key, value string) string {
	parts := strings.Split(key, ".")
	for _, name := range slices.Backward(parts) {
		value = fmt.Sprintf("{%q: %s}", name, value)
	}
	return value
}

// what a person has set, and what a workspace would loosen it to. A key that stands here with nothing may be set freely:
// none of those lets more be read, changed, run, sent or spent.
func loosenings() map[string][2]string {
	return map[string][2]string{
		"model":                   {`"a/b"`, `"evil/m"`},
		"fallbackModels":          {`["a/b"]`, `["evil/m"]`},
		"providers":               {`{"p": {"baseUrl": "http://mine"}}`, `{"p": {"baseUrl": "http://evil"}, "openai": {"baseUrl": "http://evil"}}`},
		"webSearch.provider":      {`"searxng"`, `"tavily"`},
		"webSearch.baseUrl":       {`"http://127.0.0.1:1"`, `"http://evil"`},
		"webSearch.apiKeyEnv":     {`"MINE"`, `"ANTHROPIC_API_KEY"`},
		"webSearch.apiKeyCommand": {`["mine"]`, `["evil"]`},
		"mode":                    {`"readOnly"`, `"auto"`},
		"toolset":                 {`"simple"`, `"all"`},
		"permissions.allow":       {`[]`, `[{"tool": "bash"}]`},
		"permissions.deny":        {`[{"tool": "bash"}]`, `[]`},
		"permissions.ask":         {`[{"tool": "bash"}]`, `[]`},
		"disabledTools":           {`["bash"]`, `[]`},
		"featureFlags":            {`{"x": false}`, `{"x": true}`},
		"requireRead":             {`true`, `false`},
		"strictPaths":             {`true`, `false`},
		"writeRoots":              {`["/nowhere/at/all"]`, `[]`},
		"readRoots":               {`[]`, `["/"]`},
		"closedFiles":             {`"editor"`, `"disk"`},
		"apply":                   {`"none"`, `"disk"`},
		"review":                  {`"after"`, `"sometimes"`},
		"retry.attempts":          {`1`, `10`},
		"retry.backoffMs":         {`500`, `1`},
		"sandbox.level":           {`"strict"`, `"off"`},
		"sandbox.network":         {`"deny"`, `"loopback"`},
		"commands.env":            {`[]`, `["LD_PRELOAD=/evil"]`},
		"commands.path":           {`[]`, `["evil"]`},
		"commands.capabilities":   {`"drop"`, `"keep"`},
		"budget.maxToolCalls":     {`5`, `0`},
		"budget.maxToolTimeMs":    {`5`, `6`},
		"budget.maxTurnRequests":  {`5`, `6`},
		"budget.maxCostUsd":       {`0.5`, `0`},
		"mcpServers":              {`{}`, `{"evil": {"command": "sh"}}`},
		"languageServers":         {`{}`, `{"gopls": {"command": "evil"}}`},
		"hooks.beforeToolCall":    {`[{"matcher": "bash"}]`, `[{"command": ["sh"]}]`},
		"hooks.afterToolCall":     {`[]`, `[{"command": ["sh"]}]`},
		"hooks.sessionStart":      {`[]`, `[{"command": ["sh"]}]`},
		"hooks.turnEnd":           {`[]`, `[{"command": ["sh"]}]`},
		"plugins":                 {`[]`, `["evil"]`},
		"stateDir":                {`"/mine"`, `"/evil"`},
		"context.auto":            {`false`, `true`},
		"log.level":               {`"info"`, `"debug"`},
		"log.file":                {`"/mine"`, `"/evil"`},

		"limits.maxToolOutputChars": {`5000`, `5001`},
		"limits.maxConcurrency":     {`2`, `3`},
		"limits.maxReadBytes":       {`5000`, `5001`},
		"limits.maxFileBytes":       {`5000`, `5001`},
		"limits.maxImageBytes":      {`5000`, `5001`},
		"limits.maxDiffBytes":       {`5000`, `5001`},

		"limits.toolTimeoutMs": {}, "limits.heldMs": {}, "limits.bashTimeoutMs": {}, "limits.bashReadOnlyTimeoutMs": {}, "limits.jobMs": {}, "limits.killGraceMs": {}, "limits.mcpIdleMs": {},
		"coerce": {}, "writes": {}, "shell": {}, "deferTools.threshold": {}, "messages": {},
	}
}

// TestA03EveryKeyOfAWorkspace holds every key there is against a workspace that wants to loosen it. A key that is new has
// to be judged in loosenings first.
func TestA03EveryKeyOfAWorkspace(t *testing.T) { everyKey(t, "workspace", "a workspace") }

// TestFindingS9EveryKeyOfAnEditor does the same for settings that an editor does not vouch for.
func TestFindingS9EveryKeyOfAnEditor(t *testing.T) {
	for _, layer := range []string{"plain client", "plain section"} {
		t.Run(layer, func(t *testing.T) { everyKey(t, layer, "an editor's settings can come from a repository, so they") })
	}
}

func everyKey(t *testing.T, layer, who string) {
	all := loosenings()
	for _, key := range keys() {
		c, judged := all[key]
		delete(all, key)
		switch {
		case !judged:
			t.Errorf("%s: is a workspace to have a say in it?", key)
		case c[0] == "":
			if f, _ := field(key); f.Tag.Get("ws") != "free" {
				t.Errorf("%s is not free", key)
			}
		default:
			layers := map[string]string{"user": nested(key, c[0])}
			before, old, _ := load(t, layers)
			layers[layer] = nested(key, c[1])
			after, problems, _ := load(t, layers)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s loosened by %s: %s", key, c[1], diff)
			}
			if f, _ := field(key); f.Tag.Get("ws") == "" {
				about := slices.DeleteFunc(problems, func(p string) bool { return slices.Contains(old, p) })
				if len(about) != 1 || !strings.Contains(about[0], who+" may not set it") {
					t.Errorf("%s: %q", key, about)
				}
			}
		}
	}
	for key := range all {
		t.Errorf("there is no key %s", key)
	}
}

// TestProposals has a workspace's file name servers: they are proposals, with nothing of the person's own server of the same name.
func TestProposals(t *testing.T) {
	layers := map[string]string{
		"user":      `{"mcpServers": {"x": {"command": "mine", "env": {"KEY": "mine"}}}}`,
		"workspace": `{"mcpServers": {"x": {"args": ["theirs"]}, "y": {"url": "https://y", "typo": 1}}, "mode": "readOnly"}`,
	}
	c, problems, in := load(t, layers)
	if c.Mode != "readOnly" || len(c.MCPServers) != 1 || c.MCPServers["x"].Args != nil || len(problems) != 1 || !strings.Contains(problems[0], "typo") {
		t.Errorf("%+v %q", c.MCPServers, problems)
	}
	l := new(Loader).Load(Inputs{Workspace: filepath.Join(in, "ws"), UserFile: filepath.Join(in, "user.json")})
	want := []Proposal{{filepath.Join(in, "ws"), WorkspaceFile(filepath.Join(in, "ws")), map[string]MCPServer{
		"x": {Args: []string{"theirs"}}, "y": {URL: "https://y"},
	}}}
	if diff := cmp.Diff(want, l.Proposed); diff != "" || l.Origins["mcpServers.y.url"] != nil {
		t.Errorf("%s %v", diff, l.Origins)
	}
}

// TestWorkspaceMakesStricter is the other direction.
func TestWorkspaceMakesStricter(t *testing.T) {
	c, problems, _ := load(t, map[string]string{
		"user": `{"mode": "auto", "budget": {"maxToolCalls": 5}}`,
		"workspace": `{"mode": "acceptEdits", "toolset": "simple", "sandbox": {"level": "strict"}, "requireRead": true,
			"budget": {"maxToolCalls": 4, "maxCostUsd": 0.5, "maxTurnRequests": 7}, "permissions": {"ask": [{"tool": "*"}]},
			"limits": {"maxReadBytes": 1000}}`,
	})
	want := Default()
	want.Mode, want.Toolset, want.Sandbox.Level, want.Permissions.Ask = "acceptEdits", "simple", "strict", []Rule{{Tool: "*"}}
	want.Budget = Budget{MaxToolCalls: 4, MaxCostUSD: 0.5, MaxTurnRequests: 7}
	want.Limits.MaxReadBytes = 1000
	if diff := cmp.Diff(want, c); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
}

// TestWorkspaceOfManyFolders lets each folder's file speak, of its own folder where it is about folders.
func TestWorkspaceOfManyFolders(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := Inputs{Workspace: filepath.Join(root, "a"), More: []string{filepath.Join(root, "b"), filepath.Join(root, "c")}}
	for _, dir := range []string{"a/src", "b/gen", "c"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, WorkspaceFile(in.Workspace), `{"writeRoots": ["src"]}`)
	write(t, WorkspaceFile(in.More[0]), `{"strictPaths": true, "writeRoots": ["gen", "../a"]}`)
	c, problems := Load(in)
	slices.Sort(c.WriteRoots)
	if want := []string{root + "/a/src", root + "/b/gen", root + "/c"}; !slices.Equal(c.WriteRoots, want) || !c.StrictPaths {
		t.Errorf("%v %v", c.WriteRoots, problems)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Message, root+"/a\" is ignored") && !strings.Contains(problems[0].Message, "b/../a") {
		t.Errorf("a folder has no say about another: %v", problems)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestA13FilesNotToBeTrusted starts with files that others may have written, or that cannot be read: what they forbid
// holds, what they allow does not, and the person is told.
func TestA13FilesNotToBeTrusted(t *testing.T) {
	const text = `{"mode": "auto", "writeRoots": [], "strictPaths": true, "disabledTools": ["bash"],
		"providers": {"openai": {"baseUrl": "http://evil"}}}`
	forbids := Default()
	forbids.StrictPaths, forbids.ToolsOff = true, []string{"bash"}
	for _, c := range []struct {
		name  string
		spoil func(path string) error
		want  Config
		says  string
	}{
		{"world-writable", func(p string) error { return os.Chmod(p, 0o602) }, forbids, "everybody may write it (chmod o-w), so it may only make things stricter"},
		{"in a world-writable folder", func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, forbids, "everybody may put another one in its place (chmod o-w its folder), so it may only make things stricter"},
		{"of another user", func(p string) error { return os.Chown(p, 4242, -1) }, forbids, "it belongs to another user, so it may only make things stricter"},
		{"unreadable", func(p string) error { return os.Chmod(p, 0) }, Default(), "cannot be read: permission denied"},
		{"malformed", func(p string) error { return os.WriteFile(p, []byte(text+"}"), 0o600) }, Default(), "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if root := os.Getuid() == 0; root == (c.name == "unreadable") && !strings.Contains(c.name, "world-writable") && c.name != "malformed" {
				t.Skip("as this user it cannot be made so")
			}
			path := filepath.Join(t.TempDir(), "config.json")
			write(t, path, text)
			if err := c.spoil(path); err != nil {
				t.Fatal(err)
			}
			got, problems := Load(Inputs{UserFile: path, Flags: []byte(`{"apply": "disk"}`)})
			c.want.Apply = "disk"
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(problems) == 0 || !problems[0].Bad || !strings.Contains(problems[0].String(), c.says) {
				t.Errorf("%v", problems)
			}
		})
	}
}

// TestBrokenFileKeepsWhatItSaid loads again and again, as a server does whose person edits the file.
func TestBrokenFileKeepsWhatItSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	var l Loader
	const empty = " it is empty; its previous content stays in effect. Write {} to set nothing, or delete the file"
	for _, c := range []struct{ text, mode, says string }{
		{"", "ask", ""},
		{`{"mode": "readOnly", "disabledTools": ["bash"]}`, "readOnly", ""},
		{"", "readOnly", empty}, // as an editor leaves it for a moment that writes it anew
		{" \n", "readOnly", empty},
		{"{", "readOnly", "1:2: not valid JSON: parsing value: unexpected EOF; its previous content stays in effect"},
		{"{}", "ask", ""},
		{`{"mode": "auto"}`, "auto", ""},
		{`{"mode": "auto"`, "auto", "1:16: not valid JSON: parsing object after value: unexpected EOF; its previous content stays in effect"},
		{`{"mode": "aut"}`, "ask", `1:10: "mode" must be "ask", "acceptEdits", "plan", "readOnly" or "auto", not "aut"; did you mean "auto"?`},
		{`{"mode": "acceptEdits"}`, "acceptEdits", ""},
		{"-", "ask", ""},
		{`{`, "ask", "1:2: not valid JSON: parsing value: unexpected EOF"},
	} {
		if c.text == "-" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, path, c.text)
		}
		got := l.Load(Inputs{UserFile: path})
		said := ""
		for _, p := range got.Problems {
			said += strings.TrimPrefix(p.String(), path+":")
		}
		if got.Mode != c.mode || said != c.says {
			t.Errorf("%s: mode %s, %q", c.text, got.Mode, said)
		}
		if off := len(got.ToolsOff) > 0; off != (c.mode == "readOnly") {
			t.Errorf("%s: tools are off: %v", c.text, got.ToolsOff)
		}
	}
}

func TestOrigins(t *testing.T) {
	dir := t.TempDir()
	in := Inputs{
		UserFile: filepath.Join(dir, "user.json"), Workspace: filepath.Join(dir, "ws"),
		OwnClient: true, OwnSection: true,
		Client:  []byte(`{"coerce": "on", "limits": {"maxReadBytes": 1}}`),
		Section: []byte(`{"providers": {"p": {"headers": {"X-Key": "secret"}}}}`),
		Env:     []byte(`{"model": "a/e"}`), Flags: []byte(`{"mode": "ask"}`),
	}
	write(t, in.UserFile, `{
	// mine
	"model": "a/u", "disabledTools": ["bash"],
	"providers": {"p": {"baseUrl": "http://ann:pw@host/v1?key=1", "apiKeyCommand": ["sh", "-c", "echo sk-1"]}}
}`)
	write(t, WorkspaceFile(in.Workspace), `{"disabledTools": ["grep"], "model": "evil/m", "mode": "auto", "strictPaths": true}`)
	loaded := new(Loader).Load(in)
	got := map[string]string{}
	for _, v := range loaded.Values() {
		if len(v.Origins) == 0 {
			continue
		}
		value, err := json.Marshal(v.Value)
		if err != nil {
			t.Fatal(err)
		}
		var from []string
		for _, o := range v.Origins {
			from = append(from, strings.ReplaceAll(o.String(), dir, ""))
		}
		got[v.Key] = string(value) + " " + strings.Join(from, ", ")
	}
	if diff := cmp.Diff(map[string]string{
		"model":                     `"a/e" TANDEM_MODEL`,
		"mode":                      `"ask" the command line`,
		"coerce":                    `"on" initializationOptions`,
		"strictPaths":               `true /ws/.tandem/config.json:1:64`,
		"disabledTools":             `["bash","grep"] /user.json:3:18, /ws/.tandem/config.json:1:2`,
		"providers.p.baseUrl":       `"http://[redacted]@host/v1?[redacted]" /user.json:4:22`,
		"providers.p.apiKeyCommand": `["sh","[redacted]","[redacted]"] /user.json:4:64`,
		"providers.p.headers":       `{"X-Key":"[redacted]"} the tandem section`,
	}, got); diff != "" {
		t.Error(diff)
	}
	if len(loaded.Values()) < len(keys()) {
		t.Errorf("only %d keys", len(loaded.Values()))
	}
}

// TestNoSecretIsShown sets every string there is to a secret, and looks for it.
func TestNoSecretIsShown(t *testing.T) {
	c := Default()
	c.Providers = map[string]Provider{"p": {
		BaseURL: "http://canary@x/", APIKeyCommand: []string{"get", "canary"}, Headers: map[string]string{"a": "canary"},
		Proxy: "http://x:canary@y",
	}}
	c.MCPServers = map[string]MCPServer{"m": {
		Command: "x", Args: []string{"canary"}, Env: map[string]string{"K": "canary"}, URL: "http://x/?k=canary",
		Headers: map[string]string{"a": "canary"}, APIKeyCommand: []string{"get", "canary"},
	}}
	c.WebSearch = WebSearch{BaseURL: "http://canary@x/", APIKeyCommand: []string{"get", "canary"}}
	c.Hooks.TurnEnd = []Hook{{Command: []string{"x", "canary"}}}
	shown := fmt.Sprintf("%+v", c.Redacted())
	if strings.Contains(shown, "canary") {
		t.Error(shown)
	}
	if !strings.Contains(fmt.Sprintf("%+v", c), "canary") {
		t.Error("the configuration itself lost it")
	}
	// A key is looked at here whether it may hold a secret.
	want := "providers.NAME.apiKeyCommand providers.NAME.baseUrl providers.NAME.headers providers.NAME.proxy " +
		"mcpServers.NAME.args mcpServers.NAME.env mcpServers.NAME.headers mcpServers.NAME.url mcpServers.NAME.apiKeyCommand hooks[].command webSearch.apiKeyCommand webSearch.baseUrl"
	for _, typ := range []reflect.Type{reflect.TypeFor[Provider](), reflect.TypeFor[MCPServer](), reflect.TypeFor[Hook](), reflect.TypeFor[WebSearch]()} {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Tag.Get("secret") != "" && !strings.Contains(want, "."+f.Tag.Get("json")) {
				t.Errorf("%s.%s is hidden and not looked for here", typ.Name(), f.Name)
			}
			if k := f.Type.Kind(); k == reflect.Map && f.Type.Elem().Kind() == reflect.String && f.Tag.Get("secret") == "" {
				t.Errorf("%s.%s may hold anything and is shown", typ.Name(), f.Name)
			}
		}
	}
}

// TestNarrowing lays any workspace's settings over any person's and wants nothing to be looser.
func TestNarrowing(t *testing.T) {
	modes := []string{"auto", "acceptEdits", "ask", "readOnly"}
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		some := func(label string) string {
			return fmt.Sprintf(`{"mode": %q, "toolset": %q, "requireRead": %t, "strictPaths": %t, "sandbox": {"level": %q},
				"budget": {"maxToolCalls": %d, "maxCostUsd": %d}, "limits": {"maxFileBytes": %d}}`,
				rapid.SampledFrom(modes).Draw(t, label), rapid.SampledFrom([]string{"all", "simple"}).Draw(t, label),
				rapid.Bool().Draw(t, label), rapid.Bool().Draw(t, label),
				rapid.SampledFrom([]string{"off", "auto", "strict"}).Draw(t, label), rapid.IntRange(0, 3).Draw(t, label),
				rapid.IntRange(0, 3).Draw(t, label), rapid.IntRange(1000, 1003).Draw(t, label))
		}
		in := Inputs{UserFile: filepath.Join(dir, "user.json")}
		if err := os.WriteFile(in.UserFile, []byte(some("user")), 0o600); err != nil {
			t.Fatal(err)
		}
		before, _ := Load(in)
		in.Workspace = dir
		if err := os.MkdirAll(filepath.Join(dir, ".tandem"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(WorkspaceFile(dir), []byte(some("workspace")), 0o600); err != nil {
			t.Fatal(err)
		}
		after, _ := Load(in)
		unlimited := func(n float64) float64 {
			if n == 0 {
				return 1e9
			}
			return n
		}
		if slices.Index(modes, after.Mode) < slices.Index(modes, before.Mode) ||
			before.Toolset == "simple" && after.Toolset != "simple" ||
			before.RequireRead && !after.RequireRead || before.StrictPaths && !after.StrictPaths ||
			before.Sandbox.Level == "strict" && after.Sandbox.Level != "strict" ||
			unlimited(float64(after.Budget.MaxToolCalls)) > unlimited(float64(before.Budget.MaxToolCalls)) ||
			unlimited(after.Budget.MaxCostUSD) > unlimited(before.Budget.MaxCostUSD) ||
			after.Limits.MaxFileBytes > before.Limits.MaxFileBytes {
			t.Errorf("before %+v\nafter %+v", before, after)
		}
	})
}
