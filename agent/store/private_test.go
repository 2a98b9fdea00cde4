//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFindingS14StateOfOthers opens no database in a folder that others may write or that belongs to another user, and
// none that is a link.
func TestFindingS14StateOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir, file string) error
		says  string
	}{
		"writable by all":   {func(dir, _ string) error { return os.Chmod(dir, 0o777) }, "may be written by others"},
		"writable by group": {func(dir, _ string) error { return os.Chmod(dir, 0o720) }, "may be written by others"},
		"foreign folder":    {func(dir, _ string) error { return os.Chown(dir, 65534, -1) }, "belongs to another user"},
		"foreign file": {func(_, file string) error {
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Chown(file, 65534, -1))
		}, "belongs to another user"},
		"link":           {func(dir, file string) error { return os.Symlink(filepath.Join(dir, "target"), file) }, "is a link"},
		"link elsewhere": {func(dir, file string) error { return os.Symlink(filepath.Join(dir, "target"), file+"-wal") }, "is a link"},
		"pipe":           {func(_, file string) error { return syscall.Mkfifo(file, 0o600) }, "is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "foreign") && os.Getuid() != 0 {
				t.Skip("as this user it cannot be made so")
			}
			dir := filepath.Join(t.TempDir(), "state")
			target, file := filepath.Join(dir, "target"), filepath.Join(dir, "sessions.db")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(target, []byte("theirs"), 0o644), c.spoil(dir, file)); err != nil {
				t.Fatal(err)
			}
			st, err := Open(file, Options{})
			if err == nil {
				_ = st.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Error(err)
			}
			info, err := os.Stat(target)
			text, _ := os.ReadFile(target)
			if err != nil || info.Mode().Perm() != 0o644 || string(text) != "theirs" {
				t.Errorf("the file that it leads to: %v %q", info.Mode(), text)
			}
		})
	}
	st, err := Open(filepath.Join(t.TempDir(), "new", "sessions.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = st.Close()
}
