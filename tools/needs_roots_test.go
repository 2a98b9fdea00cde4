package tools_test

import (
	"os"
	"path/filepath"
	"testing"

	"tandem/sandbox"
	"tandem/tools"
)

// TestFindingS2JudgedBelowOtherRoots: a need is the one that was judged by its path and its class, whichever root it is opened below.
func TestFindingS2JudgedBelowOtherRoots(t *testing.T) {
	dir := sandbox.Canonical(t.TempDir())
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	need := func(read ...string) tools.Need {
		t.Helper()
		p := &sandbox.Paths{Cwd: dir, Read: read}
		t.Cleanup(p.Close)
		place, err := p.Readable(filepath.Join("sub", ".vscode", "x"))
		if err != nil {
			t.Fatal(err)
		}
		return tools.Need{Act: tools.Reads, Place: place}
	}
	one := need(dir)
	for name, c := range map[string]struct {
		need   tools.Need
		within bool
	}{
		"the same root":  {need(dir), true},
		"a further root": {need(dir, dir+"/sub"), true},
		"another class":  {need(dir + "/sub/.vscode"), false},
	} {
		if got := c.need.Within(one); got != c.within {
			t.Errorf("%s: %v", name, got)
		}
	}
}
