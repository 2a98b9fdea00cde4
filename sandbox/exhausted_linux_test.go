package sandbox

import (
	"testing"

	"tandem/sandbox/tree/treetest"
)

// TestFaultS11NoVerdictWithoutFiles: a trial of the sandbox that cannot open files says nothing about the sandbox, and is made again.
func TestFaultS11NoVerdictWithoutFiles(t *testing.T) {
	var fresh Local
	defer fresh.Close()
	if !fresh.Level().Confines() {
		t.Skip("no sandbox here")
	}
	var l Local
	defer l.Close()
	restore := treetest.OpenFiles(t, 0)
	level := l.Level()
	restore()
	if level.Name != "" {
		t.Errorf("without files the level is %+v", level)
	}
	if now := l.Level(); now.Name != fresh.Level().Name {
		t.Errorf("with files the level is %+v", now)
	}
}
