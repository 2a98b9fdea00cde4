package custom

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func source(dir string) Source {
	s := Folder(dir, os.DirFS(dir))
	read := s.Read
	s.Read = func(name string) (string, error) {
		text, err := read(name)
		if errors.Is(err, syscall.ENOTDIR) {
			err = fs.ErrNotExist
		}
		return text, err
	}
	return s
}

// What a file says of its command, and which files are none.
func TestCommandFiles(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		want          string // description, hint, model, mode, message; or what is wrong
	}{
		"plain":                     {"fix.md", "Fix it.\n", `"" "" "" "" "Fix it."`},
		"front matter":              {"fix.md", "---\ndescription: Fixes\nargument-hint: FILE\nmodel: a/b\nmode: plan\n---\nFix it.\n", `"Fixes" "FILE" "a/b" "plan" "Fix it."`},
		"a hint in brackets":        {"fix.md", "---\nargument-hint: [file, line]\n---\nFix it.", `"" "[file, line]" "" "" "Fix it."`},
		"a number as the hint":      {"fix.md", "---\nargument-hint: 12\n---\nFix it.", `"" "12" "" "" "Fix it."`},
		"Windows":                   {"fix.md", "\ufeff---\r\ndescription: Fixes\r\n---\r\nFix it.\r\nNow.\r\n", `"Fixes" "" "" "" "Fix it.\nNow."`},
		"blanks behind the hyphens": {"fix.md", "--- \ndescription: Fixes\n---\t\nFix it.", `"Fixes" "" "" "" "Fix it."`},
		"others' members":           {"fix.md", "---\nallowed-tools: Bash(git:*)\ndescription: Fixes\ndisable-model-invocation: true\n---\nFix it.", `"Fixes" "" "" "" "Fix it."`},
		"a rule at the top":         {"fix.md", "---\nFix it.", `"" "" "" "" "---\nFix it."`},
		"a rule further down":       {"fix.md", "Fix it.\n---\nNow.", `"" "" "" "" "Fix it.\n---\nNow."`},
		"empty front matter":        {"fix.md", "---\n---\nFix it.", `"" "" "" "" "Fix it."`},
		"a description of lines":    {"fix.md", "---\ndescription: |\n  Fixes\n  it\x07\n---\nFix it.", "wrong YAML"},
		"a folded description":      {"fix.md", "---\ndescription: >\n  Fixes\n  it\n---\nFix it.", `"Fixes it" "" "" "" "Fix it."`},
		"a long description":        {"fix.md", "---\ndescription: " + strings.Repeat("long ", 100) + "\n---\nFix it.", `"` + strings.Repeat("long ", 39) + `long…" "" "" "" "Fix it."`},
		"nothing":                   {"fix.md", "", "says nothing"},
		"front matter alone":        {"fix.md", "---\ndescription: Fixes\n---\n", "says nothing"},
		"no YAML":                   {"fix.md", "---\ndescription: [\n---\nFix it.", "no YAML"},
		"a list as description":     {"fix.md", "---\ndescription: [a]\n---\nFix it.", "no YAML"},
		"no mode":                   {"fix.md", "---\nmode: yolo\n---\nFix it.", `no mode "yolo"`},
		"no text":                   {"fix.md", "Fix \xff it.", "no text"},
		"too long":                  {"fix.md", strings.Repeat("long ", 20_000), "more than 65536 bytes"},
		"a name with blanks":        {"fix it.md", "Fix it.", "other characters"},
		"another kind of file":      {"fix.txt", "Fix it.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, c.file), c.content)
			found, wrong := Commands(source(dir))
			got := strings.Join(wrong, "\n")
			for _, f := range found {
				got = fmt.Sprintf("%q %q %q %q %q", f.Description, f.Hint, f.Model, f.Mode, f.Message(""))
			}
			if strings.HasPrefix(c.want, `"`) && got != c.want || !strings.Contains(got, strings.TrimPrefix(c.want, "wrong ")) || c.want == "" && got != "" {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			if len(found)+len(wrong) > 1 || len(wrong) == 1 && !strings.Contains(wrong[0], filepath.Join(dir, c.file)) {
				t.Errorf("%d found, wrong: %q", len(found), wrong)
			}
		})
	}
}

// Where the arguments of a command go.
func TestArguments(t *testing.T) {
	for _, c := range []struct{ body, arguments, want string }{
		{"Fix it.", "", "Fix it."},
		{"Fix it.", " a.go now ", "Fix it.\n\na.go now"},
		{"Fix $ARGUMENTS.", "a.go now", "Fix a.go now."},
		{"Fix $ARGUMENTS.", "", "Fix ."},
		{"Fix $1 in $2.", "a.go 'line 3'", "Fix a.go in line 3."},
		{"Fix $1 in $2.", "a.go", "Fix a.go in ."},
		{"$2, $1 and $1", `"one" two three`, "two, one and one"},
		{"$1", `it's fine`, "it's"},
		{"$1|$2", `"" b`, "|b"},
		{"$1", `"not closed, to the end`, "not closed, to the end"},
		{"$1 $ARGUMENTS", "$2 $ARGUMENTS", "$2 $2 $ARGUMENTS"}, // what a person writes names nothing
		{"$ARGUMENTSX costs $10", "a", "$ARGUMENTSX costs a0"},
		{"$HOME, $0 and $$", "a", "$HOME, $0 and $$\n\na"},
	} {
		if got := (Command{body: c.body}).Message(c.arguments); got != c.want {
			t.Errorf("%q with %q: %q, want %q", c.body, c.arguments, got, c.want)
		}
	}
}

// Parsing any file ends, in a command or a reason, and each of its texts is one line.
func TestAnyFile(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		part := rapid.SampledFrom([]string{"---", "\n", "\r\n", "description: ", "name: ", "mode: ", "plan", "argument-hint: ", "[", "]", "a", "é", "\x00", "|", "$1", "&x ", "*x"})
		content := strings.Join(rapid.SliceOf(part).Draw(r, "content"), "")
		write(t, filepath.Join(dir, "c", "x.md"), content)
		write(t, filepath.Join(dir, "s", "x", SkillFile), content)
		commands, wrong := Commands(source(filepath.Join(dir, "c")))
		skills, wrongs := Skills(source(filepath.Join(dir, "s")))
		if len(commands)+len(wrong) != 1 || len(skills)+len(wrongs) != 1 {
			r.Fatalf("%q: %v %q, %v %q", content, commands, wrong, skills, wrongs)
		}
		said := append(wrong, wrongs...)
		for _, c := range commands {
			said = append(said, c.Description, c.Hint)
		}
		for _, s := range skills {
			said = append(said, s.Description)
		}
		if all := strings.Join(said, ""); strings.ContainsAny(all, "\n\r\x00") {
			r.Fatalf("%q: %q", content, all)
		}
	})
}

// Precedence of sources: the first one wins. A file that may not be read is no command, and a folder with too many entries is reported.
func TestSources(t *testing.T) {
	own, shared, many := source(t.TempDir()), source(t.TempDir()), source(t.TempDir())
	write(t, filepath.Join(own.Dir, "fix.md"), "Own.")
	write(t, filepath.Join(shared.Dir, "fix.md"), "Theirs.")
	write(t, filepath.Join(shared.Dir, "try.md"), "Try.")
	write(t, filepath.Join(shared.Dir, "keys.md"), "Keys.")
	write(t, filepath.Join(shared.Dir, "script.md"), "---\nmodel: script:./x\n---\nRun.")
	write(t, filepath.Join(own.Dir, "script2.md"), "---\nmodel: script:./x\n---\nRun.")
	shared.Shared = true
	read := shared.Read
	shared.Read = func(name string) (string, error) {
		if name == "keys.md" {
			return "", errors.New("it may not be read")
		}
		return read(name)
	}
	found, wrong := Commands(own, shared, source(filepath.Join(own.Dir, "none")))
	if len(found) != 3 || found[0].Message("") != "Own." || found[0].Shared || found[1].Name != "script2" || found[2].Name != "try" || !found[2].Shared {
		t.Errorf("%+v", found)
	}
	if len(wrong) != 2 || !strings.Contains(wrong[0], "keys.md cannot be used: it may not be read") || !strings.Contains(wrong[1], "names no script") {
		t.Errorf("%q", wrong)
	}
	for i := range maxFiles + 1 {
		write(t, filepath.Join(many.Dir, fmt.Sprintf("c%d.md", i)), "Do it.")
	}
	if found, wrong := Commands(many); len(found) != maxFiles || len(wrong) != 1 {
		t.Errorf("%d found, wrong: %q", len(found), wrong)
	}
}

// What is a skill.
func TestSkillFiles(t *testing.T) {
	const good = "---\nname: tables\ndescription: Draws\n  tables\n---\nDraw it."
	for name, c := range map[string]struct{ path, content, wrong string }{
		"a skill":          {"tables/SKILL.md", good, ""},
		"without a name":   {"tables/SKILL.md", strings.Replace(good, "name: tables\n", "", 1), ""},
		"of another name":  {"chairs/SKILL.md", good, `its name is "tables", and that of its folder "chairs"`},
		"no description":   {"tables/SKILL.md", "---\nname: tables\n---\nDraw it.", "no description"},
		"no front matter":  {"tables/SKILL.md", "Draw it.", "no description"},
		"a name of blanks": {"my tables/SKILL.md", "---\ndescription: Draws\n---\n", "other characters"},
	} {
		t.Run(name, func(t *testing.T) {
			s := source(t.TempDir())
			write(t, filepath.Join(s.Dir, c.path), c.content)
			write(t, filepath.Join(s.Dir, "other", "README.md"), "No skill.")
			write(t, filepath.Join(s.Dir, "README.md"), "No skill.")
			found, wrong := Skills(s)
			if c.wrong == "" && (len(found) != 1 || found[0].Description == "" || found[0].Path != filepath.Join(s.Dir, c.path)) {
				t.Errorf("%+v", found)
			}
			if len(found)+len(wrong) != 1 || !strings.Contains(strings.Join(wrong, ""), c.wrong) {
				t.Errorf("%d found, wrong: %q", len(found), wrong)
			}
		})
	}
	many := source(t.TempDir())
	for i := range maxSkills + 2 {
		write(t, filepath.Join(many.Dir, fmt.Sprintf("s%02d", i), SkillFile), "---\ndescription: Draws\n---\n")
	}
	if found, wrong := Skills(many); len(found) != maxSkills || len(wrong) != 2 {
		t.Errorf("%d found, wrong: %q", len(found), wrong)
	}
}
