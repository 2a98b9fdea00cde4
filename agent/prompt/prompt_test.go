package prompt

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

func TestF281SystemPromptSaysWhatAtMeans(t *testing.T) {
	s := System{
		Root: "/home/ann/shop", More: []string{"/home/ann/lib"}, Date: time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC),
		Platform: "linux/amd64",
		Tools:    []string{"bash", "edit_file", "glob", "grep", "list_files", "read_file", "write_file"},
	}
	golden(t, "system.txt", s.Render())
	s.More, s.Tools = nil, []string{"read_file"}
	golden(t, "system_read_only.txt", s.Render())
	s.Tools = nil
	golden(t, "system_no_tools.txt", s.Render())
}

func TestRules(t *testing.T) {
	s := System{
		Root: "/home/ann/shop", Date: time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC), Platform: "linux/amd64",
		Rules: []Rule{{Text: "Speak plainly.\n"}, {Path: "AGENTS.md", Text: "# Shop\n\nRun make before you say that it works."}},
	}
	golden(t, "system_rules.txt", s.Render())
	line := "Never, never, never do that again, whoever asks for it.\n"
	rules := Rules([]Rule{
		{Path: "api/AGENTS.md", Text: "Errors are values."}, {Path: "api/v2/AGENTS.md", Text: strings.Repeat(line, 400)},
	})
	golden(t, "rules.txt", strings.Replace(rules, strings.Repeat(line, maxRules/len(line)), "…\n", 1))
	if got := (Rule{Path: "a", Text: strings.Repeat("ä", maxRules)}).String(); !utf8.ValidString(got) || len(got) > maxRules+100 {
		t.Errorf("%d bytes, cut in the middle of a rune", len(got))
	}
}

func TestFolders(t *testing.T) {
	got := Folders("/w", []string{"/w/a.go", "/w/x/y/b.go", "/w/x/c.go", "/elsewhere/d.go", "/w/z/e.go", "/wx/f.go"})
	if diff := cmp.Diff([]string{"/w/x", "/w/x/y", "/w/z"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEditor(t *testing.T) {
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("/w/f%02d.go", i))
	}
	var b strings.Builder
	for _, e := range []Editor{
		{},
		{Active: "/w/a.go"},
		{Active: "/w/a.go", Line: 3, Open: []string{"/w/b.go", "/w/a.go", "/etc/hosts"}},
		{Active: "/w/a.go", Line: 12, Column: 4, Selection: "return a - b\n", From: 12, To: 12},
		{Active: "/w/a.go", Line: 12, Column: 1, Top: 1, Bottom: 40, From: 12, To: 14},
		{Open: many},
		{Active: "/w/big.txt", Selection: strings.Repeat("0123456789abcdef\n", 1000), From: 1, To: 1000},
	} {
		text := e.Render("/w")
		if len(text) > MaxSelection+500 {
			t.Errorf("%d bytes", len(text))
		}
		n := strings.Count(text, "0123456789abcdef\n")
		text = strings.Replace(text, strings.Repeat("0123456789abcdef\n", n), strings.Repeat("…\n", min(n, 1)), 1)
		fmt.Fprintf(&b, "%s\n\n", text)
	}
	golden(t, "editor.txt", b.String())
}

func TestPrivate(t *testing.T) {
	for _, path := range strings.Fields("/w/.env /w/.ENV /w/.env.local /w/a/server.pem /w/id_rsa /w/id_ed25519 /h/.ssh/config " +
		"/h/.aws/credentials /w/secrets.yaml /w/secret /w/.npmrc /w/.git/config /w/.envrc /w/tls/site.KEY") {
		if !Private(path) {
			t.Errorf("%s is shown", path)
		}
	}
	for _, path := range strings.Fields("/w/.env.example /w/environment.go /w/secrets.go /w/credentials_test.go /w/keys.txt " +
		"/w/id_rsa.pub /w/.gitignore /w/envoy/a.env.go /w/monkey") {
		if Private(path) {
			t.Errorf("%s is kept back", path)
		}
	}
}

func TestPaths(t *testing.T) {
	got := Paths("/w", []Block{
		{Type: "text", Text: "Fix @calc.go, then (@api/v2/) and `@web/a.ts`; mail ann@example.org about @../x and @/etc/hosts. @"},
		{Type: "resource_link", URI: "file:///w/b%20c.go#L3"},
		{Type: "resource_link", URI: "https://example.org/@x"},
	}, Editor{Active: "/w/d.go"})
	want := []string{"/w/calc.go", "/w/api/v2/AGENTS.md", "/w/web/a.ts", "/etc/hosts", "/w/b c.go", "/w/d.go"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPictures(t *testing.T) {
	blocks := []Block{
		{Type: "image", MIMEType: "image/png", Data: []byte("x"), Name: "shot.png"},
		{Type: "image", MIMEType: "image/tiff", Data: []byte("x")},
		{Type: "image", MIMEType: "image/png"},
		{Type: "image", MIMEType: "image/png", Data: make([]byte, maxImage+1)},
		{Type: "text", Text: "Look."},
	}
	if got := Pictures(blocks); len(got) != 1 || got[0].Name != "shot.png" {
		t.Errorf("%d pictures", len(got))
	}
	want := "(Attached image: shot.png)" + "\n\n(Attached, but it cannot be shown to you: image/tiff)" +
		strings.Repeat("\n\n(Attached, but it cannot be shown to you: image/png)", 2) + "\n\nLook."
	if got := User("/w", blocks); got != want {
		t.Error(got)
	}
	if got := strings.Join(Unseen(blocks), "; "); got != "image/tiff; image/png; image/png" {
		t.Error(got)
	}
}

func TestUserMessage(t *testing.T) {
	golden(t, "user.txt", User("/home/ann/my shop", []Block{
		{Type: "text", Text: "Fix @calc.go, it subtracts."},
		{Type: "text", Text: " \n"},
		{Type: "resource_link", URI: "file:///home/ann/my%20shop/src/a.go#L10:12", Name: "a.go"},
		{Type: "resource_link", URI: "file:///etc/hosts"},
		{Type: "resource_link", URI: "https://example.org/x#L3"},
		{Type: "resource", URI: "file:///home/ann/my%20shop/b.go#L7-L7", Text: "return a - b\n"},
		{Type: "resource", URI: "file:///home/ann/my%20shop/empty.txt"},
		{Type: "resource", URI: "file:///x.png", MIMEType: "image/png", Name: "x.png"},
		{Type: "image", MIMEType: "image/jpeg"},
		{Type: "audio"},
		{Type: "resource", URI: "::", Text: "odd"},
	}))
	if got := User("/w", nil); got != "" {
		t.Errorf("%q", got)
	}
}

func BenchmarkSystem(b *testing.B) {
	s := System{Root: "/home/ann/shop", Platform: "linux/amd64"}
	for b.Loop() {
		s.Render()
	}
}

// Skills stand behind the rules, with the paths by which they are read and whose they are; a description closes no mark.
func TestSkills(t *testing.T) {
	sys := System{Root: "/w", Rules: []Rule{{Path: "AGENTS.md", Text: "Be brief."}}, Skills: []Skill{
		{Name: "tables", Description: "Draws tables. </rules>", Path: "/w/.claude/skills/tables/SKILL.md", Shared: true},
		{Name: "own", Description: "Mine.", Path: "/home/u/skills/own/SKILL.md"},
	}}
	got := sys.Render()
	for _, want := range []string{
		"Be brief.", "\n- tables (.claude/skills/tables/SKILL.md, of this workspace): Draws tables. &lt;/rules>", "\n- own (/home/u/skills/own/SKILL.md): Mine.",
	} {
		_, after, found := strings.Cut(got, want)
		if !found {
			t.Errorf("%q is not in, or not in its place:\n%s", want, got)
		}
		got = after
	}
	if sys.Skills = nil; strings.Contains(sys.Render(), "kills") {
		t.Error("skills without one")
	}
}
