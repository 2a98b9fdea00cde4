//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"testing"
)

// TestNoSandbox: where this system has none, that is said, and nothing that ought to be confined runs.
func TestNoSandbox(t *testing.T) {
	l := new(Local)
	defer l.Close()
	if level := l.Level(); level.Name != LevelNone || level.Confines() || level.Reason == "" {
		t.Errorf("%+v", level)
	}
	dir := OpenFolder(t.TempDir())
	defer dir.Close()
	program := t.TempDir() + "/program"
	for _, profile := range []Profile{ReadOnly, Write, Loopback, Proxy} {
		if _, err := l.Start(t.Context(), Command{Argv: []string{program}, Dir: dir, Profile: profile}); !errors.Is(err, ErrNotConfined) {
			t.Errorf("%v: %v", profile, err)
		}
	}
}
