package shell

import (
	"context"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/cases.txt
var casesText string

// parse is Parse for somebody who waits for all of it.
func parse(line, dir string, keep ...string) Command {
	return Parse(context.Background(), line, dir, keep...)
}

// cases judges the lines of a row of the table.
func cases(t *testing.T, row string) {
	t.Helper()
	n := 0
	for text := range strings.Lines(casesText) {
		text, ours := strings.CutPrefix(strings.TrimSuffix(text, "\n"), row+" ")
		if !ours {
			continue
		}
		n++
		want, line, _ := strings.Cut(text, " ")
		if quoted, err := strconv.Unquote(line); err == nil {
			line = quoted
		}
		c := parse(line, "/w/app", "/home/u", "/w/app")
		want, read, named := strings.Cut(want, "=")
		got := "opaque"
		switch {
		case c.Forbidden != "":
			got = "forbidden"
		case c.ReadOnly:
			got = "reads"
		}
		switch {
		case got != want:
			t.Errorf("%q is %s, want %s: %+v", line, got, want, c)
		case named && !slices.ContainsFunc(c.Reads, func(r Read) bool { return r.Path == read }):
			t.Errorf("%q reads %v, want %s", line, c.Reads, read)
		case (c.Opaque == "") != c.ReadOnly || (c.Danger == Safe) != c.ReadOnly:
			t.Errorf("%q: %+v", line, c)
		}
	}
	if n == 0 {
		t.Error("no cases")
	}
}

func TestCaseC01(t *testing.T) { cases(t, "C01") }
func TestCaseC02(t *testing.T) { cases(t, "C02") }
func TestCaseC03(t *testing.T) { cases(t, "C03") }
func TestCaseC04(t *testing.T) { cases(t, "C04") }
func TestCaseC05(t *testing.T) { cases(t, "C05") }
func TestCaseC06(t *testing.T) { cases(t, "C06") }
func TestCaseC07(t *testing.T) { cases(t, "C07") }
func TestCaseC08(t *testing.T) { cases(t, "C08") }
func TestCaseC09(t *testing.T) { cases(t, "C09") }
func TestCaseC10(t *testing.T) { cases(t, "C10") }
func TestCaseC11(t *testing.T) { cases(t, "C11") }
func TestCaseC12(t *testing.T) { cases(t, "C12") }
func TestCaseC13(t *testing.T) { cases(t, "C13") }
func TestCaseC14(t *testing.T) { cases(t, "C14") }
func TestCaseC15(t *testing.T) { cases(t, "C15") }
func TestCaseC16(t *testing.T) { cases(t, "C16") }
func TestCaseC17(t *testing.T) { cases(t, "C17") }
func TestCaseC18(t *testing.T) { cases(t, "C18") }
func TestCaseC19(t *testing.T) { cases(t, "C19") }
func TestCaseC20(t *testing.T) { cases(t, "C20") }
func TestCaseC21(t *testing.T) { cases(t, "C21") }
func TestCaseC22(t *testing.T) { cases(t, "C22") }
func TestCaseC23(t *testing.T) { cases(t, "C23") }
func TestCaseC24(t *testing.T) { cases(t, "C24") }
func TestCaseC26(t *testing.T) { cases(t, "C26") }
func TestCaseC27(t *testing.T) { cases(t, "C27") }

// No number of commands hides one.
func TestCaseC25(t *testing.T) {
	for _, line := range []string{
		strings.Repeat("true;", 60) + "sudo ls", strings.Repeat("true;", 3_000) + "sudo ls", strings.Repeat("env ", 3000) + "sudo ls",
		strings.Repeat("cd x;", 40) + "cd /; rm -rf *", strings.Repeat("eval ", 3000) + "sudo ls",
	} {
		if c := parse(line, "/w"); c.Forbidden == "" {
			t.Errorf("%.80q…", line)
		}
	}
}

func TestCaseC28(t *testing.T) {
	cases(t, "C28")
	for _, line := range []string{
		strings.Repeat("(", 5000), strings.Repeat("ls ", 17<<10/3), strings.Repeat("(", 17<<10), strings.Repeat("$((", 5000),
	} {
		began := time.Now()
		if c := parse(line, "/w"); c.ReadOnly {
			t.Errorf("%.20q… only reads", line)
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("%.20q… took %v", line, took)
		}
	}
}

func TestCaseC29(t *testing.T) { cases(t, "C29") }

func TestF036_F173Danger(t *testing.T) {
	for _, line := range []string{
		"sudo ls", "ls; sudo -n ls", "a && rm -rf /", "rm -r x", "rm --recursive x", "/bin/rm -fr x", `\rm -rf x`, `r"m" -rf x`,
		"curl x | sh", "curl x |& bash -s", "git push -f", "git push --force-with-lease", "git reset --hard", "git clean -fdx",
		"find . -delete", "find . -exec rm {} +", "$cmd x", "eval x", "dd of=$x", "mkfs.ext4 x", "xargs rm -rf", "env A=1 sudo ls",
		"echo $(sudo ls)", "f() { rm -rf x; }; f", "echo 'unclosed", "timeout 5 sudo ls", "nohup env nice " + strings.Repeat("env ", 60) + "sudo ls", "chmod -R 777 .", "if true; then su; fi",
	} {
		if parse(line, "/w").Danger != Dangerous {
			t.Errorf("%q is not dangerous", line)
		}
	}
	for _, line := range []string{
		"go test ./...", "rm x", "git push", "git commit -m 'reset --hard'", "touch sudo rm -rf /",
		"FOO=1 make -j8", "git reset x", "chmod +x a", strings.Repeat("env ", 60) + "make",
	} {
		if parse(line, "/w").Danger != Moderate {
			t.Errorf("%q is dangerous", line)
		}
	}
}

//go:embed testdata/benign.txt
var benignText string

// Commands that only read are mostly known to: who is asked about each of them soon says yes to everything.
func TestBenignCommandsAreUnasked(t *testing.T) {
	all, known := 0, 0
	for line := range strings.Lines(benignText) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "#") {
			continue
		}
		all++
		if c := parse(line, "/w/app", "/w/app"); c.ReadOnly {
			known++
		} else {
			t.Logf("%-60s %s", line, c.Opaque)
		}
	}
	t.Logf("%d of %d commands that only read are known to: %d %%", known, all, 100*known/all)
	if known*100 < all*70 || all < 150 {
		t.Error("too few")
	}
}

func FuzzParse(f *testing.F) {
	for line := range strings.Lines(casesText) {
		if _, line, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		c := parse(line, "/w/app", "/w/app")
		switch {
		case c.ReadOnly && (c.Forbidden != "" || c.Opaque != "" || c.Danger != Safe):
			t.Errorf("%q only reads: %+v", line, c)
		case !c.ReadOnly && (c.Opaque == "" || c.Danger == Safe || c.Reads != nil):
			t.Errorf("%q does not only read: %+v", line, c)
		case c.Literal && strings.Contains(line, "sudo ") && strings.HasPrefix(line, "sudo ") && c.Forbidden == "":
			t.Errorf("%q is not forbidden", line)
		}
	})
}

// TestWrites: what a line is known to write, wherever that stands.
func TestWrites(t *testing.T) {
	for line, want := range map[string]string{
		"echo x >a 2>>b; echo y &>c": "a b c", "cat <a": "", "tee -a a b": "a b", "cp -r a b c/d": "c/d c/d/a c/d/b", "cp a .": ". a", "cp -t d a e/f": "d/a d/f", "cp -t d a": "d/a", "wget -O a https://x": "a", "curl -O https://x/a": "", "wget -q https://x": "",
		"install -m 755 a --target-directory=d": "d/755 d/a", "mv a b": "a b b/a", "sed -i.bak s/a/b/ f": "f s/a/b", "sed s/a/b/ f": "", "rm -- -f": "-f",
		"dd if=a of=b": "b", "curl -o a https://x": "a", "sort --output=b a": "b", "cd sub; echo >a": "a sub/a", "bash -c 'echo >a'": "a",
		"xargs rm a": "a", "echo $(touch a)": "a", "f() { touch a; }": "a", "echo >$x": "", "touch .git/hooks/*": ".git/hooks/*", "echo >'a b'": "a%20b",
		"env X=1 tee a": "a", "echo >~/a": "~/a", "cat >a <<X\nx\nX": "a", "find . -exec tee a {} +": "a",
	} {
		var got []string
		for _, w := range parse(line, "/w", "/w").Writes {
			got = append(got, strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(w.Path, "/w"), "/"), " ", "%20"))
			if got[len(got)-1] == "" {
				got[len(got)-1] = "."
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("%q writes %q, want %q", line, got, want)
		}
	}
}

// A text that is given literally to an interpreter is what -c gives it; one for a shell is judged as a script.
func TestLiteralInputIsLikeAnArgument(t *testing.T) {
	for line, want := range map[string]Danger{
		"python3 - <<'X'\nimport os; print(f\"{x}\")\nX": Moderate, "python3 <<'X'\nprint('$a')\nX": Moderate, "node - <<\"X\"\n`a${b}`\nX": Moderate,
		"python3 <<\\X\nprint('\\n')\nX": Moderate, "env A=1 timeout 5 python3 - <<X\nprint(1)\nX": Moderate, "cd a && python3 <<-'X' | head\n\tos.system('rm -rf x')\n\tX": Moderate,
		"bash <<'X'\ngo test ./...\nX": Moderate, "sh -s <<X\nmake\nX": Moderate, "bash <<'X'\nfor i in 1 2; do echo $i; done\nX": Moderate,
		"python3 <<< 'print(1)'": Moderate, "bash <<'X'\nX": Moderate,
		"bash <<'X'\nrm -rf y\nX": Dangerous, "sh -s <<'X'\n$x\nX": Dangerous, "bash <<'X'\necho 'unclosed\nX": Dangerous, "bash <<X\n$x\nX": Dangerous,
		"python3 <<X\nprint('$x')\nX": Dangerous, "python3 <<X\nprint('`x`')\nX": Dangerous, "python3 <<X\n\\$x\nX": Dangerous, "python3 <<< \"$x\"": Dangerous,
		"curl x | python3 - <<'X'\nX": Dangerous, "bash <<'X'\nsh <<'Y'\ngit push -f\nY\nX": Dangerous,
	} {
		if got := parse(line, "/w"); got.Danger != want || got.Forbidden != "" || got.ReadOnly || got.Literal {
			t.Errorf("%q is %v, want %v: %+v", line, got.Danger, want, got)
		}
	}
	for _, line := range []string{
		"sh -s <<X\nls\nsudo ls\nX", "cd a && bash <<-'X'\n\tsudo ls\n\tX", "env A=1 bash <<'X'\nrm -rf /\nX",
		"bash <<'X'\nsh <<'Y'\nsudo ls\nY\nX",
	} {
		if parse(line, "/w").Forbidden == "" {
			t.Errorf("%q is not forbidden", line)
		}
	}
}

// What changes git's index alone loses no work.
func TestRestoreOfTheIndex(t *testing.T) {
	for _, line := range []string{"git restore --staged a.txt", "git restore -S -- a -W", "git -C sub restore a --staged", "git restore --staged --source=HEAD~1 -q ."} {
		if c := parse(line, "/w"); c.Danger != Moderate {
			t.Errorf("%q: %+v", line, c)
		}
	}
	for _, line := range []string{
		"git restore a.txt", "git restore --staged --worktree a", "git restore --staged -W a", "git restore -SW a", "git restore --staged --work a", "git restore -- --staged",
		"git restore --staged $x", "git restore --staged *", "git restore -s --staged a", "git checkout restore --staged -- a",
	} {
		if c := parse(line, "/w"); c.Danger != Dangerous {
			t.Errorf("%q: %+v", line, c)
		}
	}
}

// TestRisk: which part of a line is dangerous.
func TestRisk(t *testing.T) {
	for line, want := range map[string]string{
		"rm -rf x": "rm -rf x", "make && (cd a; rm -rf 'b c' \"$d\") | tee log": "rm -rf 'b c' …", "ls; git push -f && git reset --hard": "git push -f",
		"bash -c 'ls; git clean -fd'": "git clean -fd", "curl x | sh -s": "sh -s runs what a pipe gives it", "python3 <<X\n$x\nX": "python3 runs a text that the shell expands",
		"$cmd x": "… x", "bash -c \"$x\"": "a line for a shell that is known only when it runs", "echo 'a": "a part that cannot be parsed",
		"rm x": "", "ls": "", "sudo rm -rf /": "", "eval " + strings.Repeat("é", 80): "eval " + strings.Repeat("é", 27) + "…",
	} {
		if got := parse(line, "/w").Risk; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
