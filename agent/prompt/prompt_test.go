package prompt

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

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
