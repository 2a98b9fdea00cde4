package git

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPointer: the text of a .git file is one line that begins with gitdir.
func TestPointer(t *testing.T) {
	for text, want := range map[string]string{
		"gitdir: ../x/.git\n": "../x/.git true", "gitdir: a b\r\n": "a b true", "gitdir: /x": "/x true", "gitdir: x\ny\n": "x\ny false",
		"ref: x": "ref: x false", "": " false", "gitdir:x": "gitdir:x false",
	} {
		if at, ok := Pointer(text); fmt.Sprint(at, " ", ok) != want {
			t.Errorf("%q: %q, %v", text, at, ok)
		}
	}
}

// TestHook: the names of git's hooks, whatever the case of their letters.
func TestHook(t *testing.T) {
	for name, want := range map[string]bool{
		"pre-commit": true, "POST-Checkout": true, "update": true, "commit-msg": true, "fsmonitor-watchman": true, "pre-push.exe": true, "p4-submit": true,
		"proc-receive": true, "reference-transaction": true, "push-to-checkout": true, "sendemail-validate": true, "applypatch-msg": true,
		"prepare-commit-msg": true, "README": false, "commit": false, "xupdate": false, "updates": false, "pre-": false, "pre-commit.sample.old": false,
	} {
		if IsHook(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for _, name := range []string{"hooks", "config", "config.worktree", "info", "modules", "worktrees", "commondir", "gitdir"} {
		if !slices.Contains(Executed(), name) {
			t.Errorf("%s is executed or read", name)
		}
	}
	if !IsRepository(func(name string) bool { return name == "HEAD" || slices.Contains(Data(), name) }) {
		t.Errorf("%q do not make a repository", Data())
	}
}

// TestFoundSettings: what git executes is found, however the head of its section and its line are written, and nothing else is.
func TestFoundSettings(t *testing.T) {
	const x = "\nclean = x\n"
	for text, want := range map[string]string{
		`[filter "a\"]b"]` + x: "filter.clean", `[filter "\\"]` + x: "filter.clean", `[ filter]` + x: "[ filter]", `[]` + x: "[]", `["filter"]` + x: `["filter"]`,
		"[filter\t\"a\"]" + x: "filter.clean", "[FILTER.a.b]" + x: "filter.clean", `[filter "a]` + x: `[filter "a]`, `[user "filter"]` + x: "",
		"[core]\nbare # x": "bare # x", "[core]\nbare#x = y": "bare#x = y", "[core] # fsmonitor = x": "", "[core]\nbare = true # fsmonitor": "",
		"[core\\]x]\nfsmonitor = x": "x]", "[core]\n1bare = x": "1bare = x", "fsmonitor = x": "", "[alias]\nst = status\\x": "alias.st", "[url \"ext::sh\"]\ninsteadOf = x": "url.insteadof",
		"[options]\nstrategy = ort": "", "[options]\nstrategy = ./x": "options.strategy", "[submodule \"a\"]\nupdate = checkout": "",
		"[submodule \"a\"]\nupdate = !x": "submodule.update", "[core]\nfsmonitor = TRUE": "", "[core]\nfsmonitor": "core.fsmonitor", "[user]\nalias = !x": "",
	} {
		var keys []string
		for _, s := range Settings(text) {
			keys = append(keys, s.Key)
		}
		if got := strings.Join(keys, ","); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTodo: the lines of a rebase that execute something, by the first word.
func TestTodo(t *testing.T) {
	found := Todo("pick 1 x exec\nexec make\n\n \tx  ./y\nxy\n# exec z\nexecute\nx\n\x01exec q\n")
	var lines []string
	for _, s := range found {
		if s.Key != "exec" {
			t.Errorf("%+v", s)
		}
		lines = append(lines, s.Value)
	}
	if want := []string{"exec make", " \tx  ./y", "x", "\x01exec q"}; !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}

// TestStrategy: a strategy of merging is executed by its path if there is a slash in its name.
func TestStrategy(t *testing.T) {
	for name, want := range map[string]int{"ort": 0, "": 0, "./x": 1, "../../x": 1, "/x": 1} {
		if got := Strategy(name); len(got) != want || want == 1 && (got[0].Key != "strategy" || got[0].Value != name) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestValue: the last entry counts, without quotes, escapes and comments; a line that is no entry is none.
func TestValue(t *testing.T) {
	for text, want := range map[string]string{
		"[core]\nworktree = a\nworktree = b\n": "b", "[core]\nworktree = a\ncore.worktree\n": "a", "[core]\nbare = true\n": "", "[user]\nworktree = a": "",
		"[core] worktree = \"a # b\" ; c": "a # b", `[core] worktree = "a\"b" # c`: `a"b`, `[core] worktree = a\\b`: `a\b`, `[core] worktree = "a\tb\n\b"`: "a\tb\n\b",
		"[core] worktree = a#b": "a", "[core \"x\"] worktree = a": "a", "[CORE] WorkTree=A": "A", "": "",
	} {
		if got := Value(text, "core.worktree"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for value, want := range map[string]string{`a\`: `a\`, `\`: `\`, `\x`: "x", `"`: "", ``: ""} { // also what git refuses
		if got := unquoted(value); got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
}

// TestNamedBy: hooks and programs start from each work tree, a further configuration from the folder of the first; the home folder and an
// absolute path start from nowhere else.
func TestNamedBy(t *testing.T) {
	for _, c := range []struct {
		text, home string
		trees      []string
		want       string
	}{
		{"[core] hooksPath = tools/hooks", "/h", []string{"/w", "/v"}, "/w/tools/hooks 1 false, /v/tools/hooks 1 false"},
		{"[core] hooksPath = .", "/h", []string{"/w"}, "/w 1 true"},
		{"[core] hooksPath = /v/", "/h", []string{"/w", "/v"}, "/v 1 true"},
		{"[core] hooksPath = /w/../x", "/h", []string{"/w", "/v"}, "/x 1 false"}, // once
		{"[core] hooksPath = ~/hooks", "/h", []string{"/w"}, "/h/hooks 1 false"},
		{"[core] hooksPath = ~/hooks", "", []string{"/w"}, "/w/~/hooks 1 false"},
		{"[core] hooksPath = h/x", "/h", []string{"/w"}, "/w/h/x 1 false"},
		{"[include] path = ../more", "/h", []string{"/w"}, "/w/more 2 false"},
		{"[include] path = /w", "/h", []string{"/w"}, "/w 2 false"},
		{"[includeIf \"onbranch:x\"] path = more", "/h", []string{"/w"}, "/w/.git/more 2 false"},
		{"[diff] external = bin/d -x", "/h", []string{"/w"}, "/w/bin/d 3 false"},
		{"[diff] external = /w/", "/h", []string{"/w"}, "/w 3 false"},
		{"[alias] x = !./y", "/h", []string{"/w"}, ""},
		{"[url \"ext::./x\"] insteadOf = a/b", "/h", []string{"/w"}, ""},
		{"[user] name = a/b", "/h", []string{"/w"}, ""},
		{"[core] hooksPath = x", "/h", nil, ""},
	} {
		var found []string
		for _, n := range NamedBy(c.text, "/w/.git/config", c.home, c.trees) {
			found = append(found, fmt.Sprint(n.Path, " ", uint8(n.Role), " ", n.Known))
		}
		if got := strings.Join(found, ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}
