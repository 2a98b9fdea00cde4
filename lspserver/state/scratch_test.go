package state

import (
	"os"
	"path/filepath"
	"testing"

	"tandem/agent/config"
)

// What is kept for a session leaves no file behind, and is not put where others could read along.
func TestFindingP7ScratchLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	f, err := Scratch(config.Config{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("kept")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "kept" {
		t.Errorf("%q, %v", b, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if f, err := Scratch(config.Config{StateDir: dir}); err == nil {
		_ = f.Close()
		t.Error("a folder that anybody may write to was used")
	}
}
