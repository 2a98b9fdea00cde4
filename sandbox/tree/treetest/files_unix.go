//go:build unix

package treetest

import (
	"os"
	"syscall"
	"testing"
)

// OpenFiles lets this process open so many files more, until restore is called. No other test may run meanwhile.
func OpenFiles(t testing.TB, more int) (restore func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	now := was
	now.Cur = uint64(f.Fd()) + uint64(more)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}
}
