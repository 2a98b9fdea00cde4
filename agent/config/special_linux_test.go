package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSpecialIsNotOpened: what a link leads to that is no regular file is not opened, since that alone may do something.
func TestSpecialIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if _, err := syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	if n, _ := syscall.Read(fd, make([]byte, 4096)); n > 0 {
		t.Error("it was opened")
	}
}
