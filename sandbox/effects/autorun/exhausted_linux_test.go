package autorun

import (
	"os"
	"strings"
	"testing"

	"tandem/sandbox/tree/treetest"
)

// TestFaultS11TooManyOpenFiles: what may have been there before, for the look at it could open no files, is not moved into quarantine.
func TestFaultS11TooManyOpenFiles(t *testing.T) {
	for more := range 8 {
		g, app := guard(t)
		must(t, os.MkdirAll(app+"/a/.vscode", 0o755), os.WriteFile(app+"/a/.vscode/tasks.json", []byte("mine"), 0o644), os.WriteFile(app+"/.envrc", []byte("mine"), 0o644))
		restore := treetest.OpenFiles(t, more)
		g.Begin("c", "")
		restore()
		said := strings.Join(g.End("c", ""), "\n")
		for _, name := range []string{"/.envrc", "/a/.vscode/tasks.json"} {
			if text, err := os.ReadFile(app + name); string(text) != "mine" {
				t.Errorf("with %d files more, %s is %q, %v: %s", more, name, text, err, said)
			}
		}
		if strings.Contains(said, "left as it is") && !strings.Contains(said, "too many files are open") {
			t.Errorf("with %d files more it does not say why: %s", more, said)
		}
	}
}

// TestFaultS11BlindLooksTakeNothing: the look before could open the folder, but not what lies in it.
func TestFaultS11BlindLooksTakeNothing(t *testing.T) {
	folders := map[string]bool{"/w": true}
	after := &listing{Entries: map[string]entry{"/w/.envrc": {Kind: kindLater, Folder: "/w", Root: "/w", Mode: 0o644}}, Folders: folders}
	for _, blind := range []bool{false, true} {
		found := compare(&listing{Folders: folders, Cut: blind, Blind: blind}, after)
		if want := map[bool]action{false: actionTake, true: actionTell}[blind]; len(found) != 1 || found[0].Action != want {
			t.Errorf("blind %v: %+v, want the action %v", blind, found, want)
		}
	}
}
