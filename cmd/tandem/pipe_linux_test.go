package main

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWiden widens a pipe, and leaves a file as it is.
func TestWiden(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 1<<20); err != nil {
		t.Skip("a pipe may not have room for a MiB here:", err)
	}
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	enlargePipe(w)
	if n, err := unix.FcntlInt(r.Fd(), unix.F_GETPIPE_SZ, 0); err != nil || n != 1<<20 {
		t.Errorf("it has room for %d bytes, %v", n, err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	enlargePipe(f)
	if _, err := f.WriteString("as before"); err != nil {
		t.Error(err)
	}
}
