package git

import (
	"slices"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	for text, want := range map[string]int{
		"[core]\n\tbare = false\n[remote \"o\"]\n\turl = x\n\tfetch = y\n[branch \"main\"]\n\tremote = o\n[user]\n\tname = a\n": 0,
		"[core]\nfsmonitor = true\n": 0, "[core]\nfsmonitor = ./x\n": 1, "[CORE] hooksPath = x\n": 1, "[core]sshCommand=x": 1,
		"[alias]\nst = status\n": 0, "[alias]\nst = !x\n": 1, "[alias]\nst = \"!x\"\n": 1, "[filter \"a]b\"]\nclean = x\n": 1,
		"[filter.a]\nsmudge = x\n": 1, "[diff]\nexternal = x\n": 1, "[diff \"x\"]\ntextconv = y\n": 1, "[include]\npath = x\n": 1,
		"[includeIf \"gitdir:x\"]\npath = x\n": 1, "[user]\nname = a\\\n[core]\nfsmonitor = x\n": 2, "\ufeff[core]\nhookspath=x": 1,
		"[credential \"https://x\"]\nhelper = !x\n": 1, "[core\nx": 1, "# fsmonitor\n; x\n": 0, "[core]\r\n\teditor = x\r\n": 1,
	} {
		if got := Settings(text); len(got) != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestNamesInSettings(t *testing.T) {
	for line, want := range map[string]string{
		"[core]\nhooksPath = tools/hooks # x": "1 tools/hooks", "[core]\nhooksPath = \"a b\"": "1 a b", "[include]\npath = ../x": "2 ../x",
		"[diff]\nexternal = ./a.sh --b": "3 ./a.sh", "[core]\nfsmonitor = \"sh 'tools/x'\"": "3 tools/x", "[core]\neditor = vim": "3 ",
		"[alias]\nt = !go test ./x": "3 ", "[filter \"lfs\"]\nclean = git-lfs clean -- %f": "3 ",
	} {
		role, names := Settings(line)[0].names()
		if got := string('0'+rune(role)) + " " + strings.Join(names, ","); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestIs(t *testing.T) {
	for names, want := range map[string]bool{
		"HEAD objects refs": true, "HEAD commondir": true, "HEAD objects": false, "HEAD refs": false, "objects refs commondir": false,
	} {
		if got := IsRepository(func(name string) bool { return slices.Contains(strings.Fields(names), name) }); got != want {
			t.Errorf("%s: %v", names, got)
		}
	}
	for text, want := range map[string]bool{
		"ref: refs/heads/x\n": true, "ref:refs/heads/x": true, "0123456789012345678901234567890123456789\n": true, "ref: x\n": false, "": false,
	} {
		if IsHead(text) != want {
			t.Errorf("%q", text)
		}
	}
}
