package shell

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

// script runs lines, each behind the status that every command of it has, and notes the words of each command on descriptor 9.
// Nothing that it runs is a program: what is no function of it is given to command_not_found_handle. A
// line end in a word is noted as \4, for bash writes line by line, and the commands of a pipe write at the same time.
const script = `
S=0 E=$'\1' N=$'\3' C=0
__p() {
	builtin printf '%s\2' "${@//$'\n'/$'\4'}" "$E" >&9
	builtin let 'C++ < 60' || builtin exit 0 # a loop that does not end
	builtin return "$S"
}
command_not_found_handle() { __p "$@"; }
for name in $(compgen -b) a b c ls cat git; do
	case $name in builtin) ;; *) builtin eval "$name() { __p $name \"\$@\"; }" ;; esac
done
PATH=/nowhere
while IFS= builtin read -r -d '' line <&3; do
	S=${line:0:1}
	C=0
	( builtin eval -- "${line:1}" 2>/dev/null </dev/null )
	builtin printf '%s\2' "$N" >&9
done
`

// generator makes lines of what shells read in unexpected ways.
type generator struct{ *rand.Rand }

func (g generator) one(list ...string) string { return list[g.IntN(len(list))] }

// soup is text of n characters that mean something to a shell, and some that do not.
func (g generator) soup(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(g.one("a", "b", "1", "-", "=", ":", ",", ".", "/", "+", "@", "%", "^", "#", "~", "!", "{", "}", "[", "]", "*", "?", "$", "\\",
			"'", "\"", "`", "(", ")", "<", ">", "&", "|", ";", " ", "\t", "\n", "é", "\\\\", "\\'", "\\\"", "..", "2", "0", "_", "A"))
	}
	return b.String()
}

func (g generator) plain() string {
	return g.one("a", "b", "x1", "-n", "--all", "a.go", "src/a", "HEAD~1", "HEAD^", "@{1}", "stash@{0}", "{}", "{a}", "a=b", "a:b", "%s", "+x", "a#b", "a!",
		"!", "]", "[", "^a", "1,5p", "$", "a$", "=", "==", "-", "--", ".", "..", "é", "~", "a~", "~a", "a=~", "a:~", "*", "a?", "[a]", "{a,b}", "{1..2}",
		"{a", "a}", "if", "then", "fi", "do", "done", "in", "case", "esac", "time", "function", "select", "{", "}", "[[", "]]", "while", "until", "1", "2")
}

func (g generator) piece() string {
	switch g.IntN(14) {
	case 0, 1, 2, 3, 4:
		return g.plain()
	case 5, 6:
		return "'" + strings.ReplaceAll(g.soup(g.IntN(6)), "'", "") + "'"
	case 7, 8:
		return `"` + strings.NewReplacer(`"`, "", "`", "").Replace(g.soup(g.IntN(6))) + `"`
	case 9:
		return `\` + g.one("a", " ", "*", "~", "$", "\\", "'", "\"", "{", "#", "!", ";", "|", "&", "(", "é", "=", "\t")
	case 10:
		return "$'" + g.one(`a`, `\n`, `\x41`, `\'`, `\\`) + "'"
	case 11:
		return g.one("$x", "${x}", "${x:-a}", "$(a b)", "`a`", "$((1+1))", "$$", "$1", "$@", "<(a)", `"$x"`, `"$(b)"`, "${", "$(", "$\"a\"")
	case 12:
		return g.soup(1 + g.IntN(3))
	}
	return g.one("a", "b", "ls", "-la")
}

func (g generator) word() string {
	var b strings.Builder
	for range 1 + g.IntN(2)*g.IntN(3) {
		b.WriteString(g.piece())
	}
	return b.String()
}

func (g generator) command() string {
	var b strings.Builder
	if g.IntN(12) == 0 {
		b.WriteString(g.one("! ", "x=1 ", "time ", "{ ", "( ", "if ", "x+=(1) ", "a() ", "coproc ", "exec ", "env "))
	}
	b.WriteString(g.one("a", "b", "c", "ls", "cat", "git", "[", "echo", "test", "printf", "true", "cd", "a1", "x.y"))
	for range g.IntN(4) {
		b.WriteString(g.one(" ", " ", " ", "  ", "\t") + g.word())
	}
	if g.IntN(10) == 0 {
		b.WriteString(" " + g.one(">/dev/null", "2>/dev/null", "2>&1", ">&2", "&>/dev/null", "1>/dev/null", "2> /dev/null", "</dev/null", "2>&1 >/dev/null",
			">>/dev/null", "3>/dev/null", "{x}>/dev/null", "<<<a", "> '/dev/null'", "2>&-", ">|/dev/null"))
	}
	if g.IntN(20) == 0 {
		b.WriteString(g.one(" # a", " #", "#a", " ;", " &", " }", " )", " \\"))
	}
	return b.String()
}

func (g generator) line() string {
	if g.IntN(8) == 0 {
		return "a " + g.soup(1+g.IntN(10))
	}
	var b strings.Builder
	b.WriteString(g.command())
	for range g.IntN(4) {
		b.WriteString(g.one(" && ", " || ", " | ", "; ", "\n", "&&", "||", "|", ";", " |& ", " & ", "&&\n", "|\n", " ;; ", "\n\n", "; # x\n"))
		b.WriteString(g.command())
	}
	return b.String()
}

// expected are the commands that bash runs of a literal line if each of them has a status, joined, and sorted.
func expected(line string, status int) (ran []string) {
	var run func(s *syntax.Stmt) int
	run = func(s *syntax.Stmt) (is int) {
		switch c := s.Cmd.(type) {
		case *syntax.CallExpr:
			var argv []string
			for _, w := range wordsOf(c.Args) {
				argv = append(argv, w.text)
			}
			ran = append(ran, strings.Join(argv, "\x02"))
			is = status
		case *syntax.BinaryCmd:
			is = run(c.X)
			if c.Op == syntax.Pipe || c.Op == syntax.PipeAll || (c.Op == syntax.AndStmt) == (is == 0) {
				is = run(c.Y)
			}
		}
		if s.Negated {
			is = 1 - min(is, 1)
		}
		return is
	}
	stmts, _ := newSearch(context.Background(), "", nil).line(line)
	for _, s := range stmts {
		run(s)
	}
	slices.Sort(ran)
	return ran
}

// TestCaseC30 compares what is said of generated lines with what bash makes of them: wherever all words are claimed to be literal,
// bash runs the commands that are claimed, with exactly those words. TANDEM_SHELL_LINES is how many lines bash runs.
func TestCaseC30(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	want := 10_000
	if n, err := strconv.Atoi(os.Getenv("TANDEM_SHELL_LINES")); err == nil {
		want = n
	}
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("TANDEM_SHELL_SEED"), 10, 64); err == nil {
		seed = n
	}
	g := generator{rand.New(rand.NewPCG(seed, 1))}
	made, ran, read, differences := 0, 0, 0, 0
	dir := t.TempDir()
	for ran < want && differences < 20 {
		var lines []string
		var input strings.Builder
		for len(lines) < min(1000, want) {
			made++
			line := g.line()
			c := parse(line, "/w")
			if !c.Literal || slices.ContainsFunc(c.Calls, func(argv []string) bool {
				return argv[0] == "builtin" || argv[0] == "command_not_found_handle" || strings.Contains(argv[0], "/")
			}) {
				continue
			}
			if c.ReadOnly {
				read++
			}
			input.WriteString(strconv.Itoa(len(lines)%2) + line + "\x00")
			lines = append(lines, line)
		}
		got := under9(t, bash, dir, input.String())
		if len(got) != len(lines) {
			t.Fatalf("bash has run %d lines of %d, seed %d", len(got), len(lines), seed)
		}
		for i, line := range lines {
			if want := expected(line, i%2); !slices.Equal(got[i], want) {
				differences++
				t.Errorf("%q: bash runs %q, claimed are %q", line, got[i], want)
			}
		}
		ran += len(lines)
	}
	t.Logf("%d lines made, %d claimed to be literal and run by bash, %d of them claimed to only read, %d differences, seed %d",
		made, ran, read, differences, seed)
}

// under9 gives what bash has noted on descriptor 9, line by line, sorted.
func under9(t *testing.T, bash, dir, input string) (lines [][]string) {
	t.Helper()
	in, out := filepath.Join(dir, "lines"), filepath.Join(dir, "ran")
	if err := os.WriteFile(in, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.MkdirAll(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", "exec 3<"+in+" 9>>"+out+"\n"+script)
	cmd.Dir, cmd.Env = empty, []string{"LC_ALL=C.UTF-8", "HOME=/home/u", "PATH=/nowhere"}
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	noted, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(noted, []byte("\x03\x02")), []byte("\x03\x02")) {
		var ran []string
		for argv := range bytes.SplitSeq(line, []byte("\x01\x02")) {
			if len(argv) > 0 {
				ran = append(ran, strings.ReplaceAll(strings.TrimSuffix(string(argv), "\x02"), "\x04", "\n"))
			}
		}
		slices.Sort(ran)
		lines = append(lines, ran)
	}
	return lines
}

// What is claimed to only read changes no file when it is run: the commands of the two tables that only read, in a repository.
func TestReadOnlyCommandsChangeNothing(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	if testing.Short() {
		t.Skip("it runs hundreds of programs")
	}
	dir, home := t.TempDir(), t.TempDir() // programs of Go count there how often they run
	sh := func(line string) {
		cmd := exec.Command(bash, "--norc", "--noprofile", "-c", line)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0"}
		_ = cmd.Run() // most of the files are not there
	}
	sh("git init -q -b main . && mkdir -p src docs && echo 'func main() {' >main.go && echo b >src/a.ts && echo in >in && echo f >f && " +
		"git add . && git -c user.name=a -c user.email=a@example.org commit -qm first && echo c >>main.go")
	before := tree(t, dir)
	n := 0
	for text := range strings.Lines(benignText + casesText) {
		line := strings.TrimSuffix(text, "\n")
		if row, rest, ok := strings.Cut(line, " "); ok && len(row) == 3 && row[0] == 'C' {
			_, line, _ = strings.Cut(rest, " ")
		}
		if c := parse(line, dir); !c.ReadOnly || strings.HasPrefix(line, "sleep") || strings.HasPrefix(line, "go ") {
			continue
		}
		sh(line)
		n++
	}
	after := tree(t, dir)
	if d := cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")); d != "" || n < 200 {
		t.Errorf("%d commands were run (-before +after):\n%s", n, d)
	}
}

// tree says what the files below a folder are, but for the index of git.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() == "index" {
			return err
		}
		b.WriteString(path + " " + d.Type().String())
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + strconv.Quote(string(text)))
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// structure makes lines of commands that read, but for <( ), which bash does not wait for, in loops, conditions, groups, substitutions and behind runners, and now and then one that
// does not.
func (g generator) structure(depth int) string {
	if depth == 0 {
		words := []string{g.one("ls", "cat a", "cat \"$x\"", "echo \"$x\"", "echo $x", "git status", "a", "b -o x", "sort a", "sort $x", "grep -n \"$x\" a", "wc -l *.go", "echo $(b)", "printf '%s' \"$x\"",
			"test -f \"$x\"", "[ -n \"$x\" ]", "[ $x = a ]", "read x", "read -r y", "x=a", "x=$(ls)", "y=\"$x\"", "PATH=. ls", "LC_ALL=C ls", "$x", "$x ls", "git $x", "echo \"${x%a}\"", "echo ${x:-b}", "cd a",
			"[[ -f $x ]]", "[[ $x -eq 1 ]]", "[[ $x == a ]]", "cat <<E\n$x\nE\n", "cat <<'E'\n$(a)\nE\n", "cat <<E\n$(ls)\nE\n", "cat < \"$x\"", "ls 2>/dev/null", "ls >x", "eval ls", "echo `ls`", "echo $((1+2))", "echo $((x))",
			"ls {a,b}", "cat a{,.b} {1..3}", "sort {a,-o}", "echo {c..a}{1,2}", "echo {a,b}$x", "set -e", "set -eu", "set -x", "export x=a", "export PATH=a", "FOO=1 ls", "x=b cat \"$x\"",
			"for y in {a,b}; do cat $y; done", "awk '{print $1}' a", "find . -name a", "sleep 0.1", "true", "false", ":")}
		return words[0]
	}
	next := func() string { return g.structure(g.IntN(depth)) }
	switch g.IntN(12) {
	case 0:
		return "for x in " + g.one("a b", "*.go", "$(ls)", "\"$y\"", "-o a", "'a b'") + "; do " + next() + "; done"
	case 1:
		return "if " + next() + "; then " + next() + g.one("", "; else "+next(), "; elif "+next()+"; then "+next()) + "; fi"
	case 2:
		return next() + " | while read " + g.one("x", "-r x", "x y") + "; do " + next() + "; done"
	case 3:
		return "(" + next() + "; " + next() + ")"
	case 4:
		return "{ " + next() + "; " + next() + "; }"
	case 5:
		return "echo \"$(" + next() + ")\""
	case 6:
		return "x=$(" + next() + "); " + next()
	case 7:
		return "case " + g.one("a", "\"$x\"", "$(ls)") + " in a|b) " + next() + ";; *) " + next() + ";; esac"
	case 8:
		return "! " + next()
	case 9:
		return next() + " || " + next()
	case 10:
		return next() + " | " + next()
	}
	return next() + " && " + next()
}

// TestCaseC30Structure: whatever bash runs of a line that is claimed to only read, with the words that these have by then, only reads too, if
// it stood alone.
func TestCaseC30Structure(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	want := 1_000
	if n, err := strconv.Atoi(os.Getenv("TANDEM_SHELL_LINES")); err == nil {
		want = n
	}
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("TANDEM_SHELL_SEED"), 10, 64); err == nil {
		seed = n
	}
	g := generator{rand.New(rand.NewPCG(seed, 2))}
	made, ran, commands, dir := 0, 0, 0, t.TempDir()
	for ran < want {
		var lines []string
		var input strings.Builder
		for len(lines) < min(500, want) {
			made++
			line := g.structure(1 + g.IntN(3))
			if c := parse(line, "/w"); c.ReadOnly && !c.Literal {
				input.WriteString(strconv.Itoa(len(lines)%2) + line + "\x00")
				lines = append(lines, line)
			}
		}
		got := under9(t, bash, dir, input.String())
		if len(got) != len(lines) {
			t.Fatalf("bash has run %d lines of %d, seed %d", len(got), len(lines), seed)
		}
		for i, line := range lines {
			for _, noted := range got[i] {
				argv := strings.Split(noted, "\x02")
				commands++
				if !readsAlone(argv) {
					t.Errorf("%q: bash runs %q", line, argv)
				}
			}
		}
		ran += len(lines)
	}
	t.Logf("%d lines made, %d claimed to only read and run by bash, which ran %d commands, seed %d", made, ran, commands, seed)
}

// readsAlone reports whether a command only reads by its words as they are.
func readsAlone(argv []string) bool {
	switch argv[0] {
	case "read": // into variables, which TestFaultW15LinesThatAgentsSend is about
		return true
	case "[":
		return argv[len(argv)-1] == "]" && len(argv) <= 6
	case "test", "cd":
		return true
	case "set":
		return !slices.ContainsFunc(argv[1:], func(a string) bool { return !shellOption.match(a) })
	case "export":
		return argv[1] == "x=a"
	}
	_, _, why := onlyReads(argv)
	return why == ""
}

// TestBracesAsBash: the words that are said to come of one with braces are those that bash makes of it.
func TestBracesAsBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	g := generator{rand.New(rand.NewPCG(rand.Uint64(), 3))}
	var words []string
	var claimed [][]string
	var script strings.Builder
	script.WriteString("set -f\n")
	for len(words) < 500 {
		var b strings.Builder
		for range 1 + g.IntN(5) {
			b.WriteString(g.one("a", "-x", "{a,b}", "{,a}", "{a,}", "{1..3}", "{3..1}", "{10..8}", "{a..c}", "{C..A}", "{0..0}", "{a,b", "a}", "{", "}", ",", "..", "{a..C}", "{01..2}", "{1..9..2}", "{*,?.go}", "{a,1..3}", "=", "{a=b,c:d}", "{../a,b}", "1", "{1,2,3}", "{a}", "{}"))
		}
		stmts, err := newSearch(context.Background(), "", nil).line("echo " + b.String())
		if err != nil || len(stmts) != 1 {
			continue
		}
		c, ok := stmts[0].Cmd.(*syntax.CallExpr)
		if !ok || len(c.Args) != 2 {
			continue
		}
		if list := expanded(c.Args[1]); list != nil {
			words, claimed = append(words, b.String()), append(claimed, list)
			script.WriteString("printf '%s\\1' " + b.String() + "; printf '\\2'\n")
		}
	}
	out, err := exec.Command(bash, "--norc", "--noprofile", "-c", script.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, made := range strings.Split(strings.TrimSuffix(string(out), "\x02"), "\x02") {
		if got := strings.Split(strings.TrimSuffix(made, "\x01"), "\x01"); i >= len(words) || !slices.Equal(got, claimed[i]) {
			t.Errorf("%q: bash makes %q, claimed are %q", words[min(i, len(words)-1)], got, claimed[min(i, len(words)-1)])
		}
	}
}
