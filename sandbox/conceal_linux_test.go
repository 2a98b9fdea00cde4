package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestCaseE01NobodyReadsOurMemory(t *testing.T) {
	dumpable := func() int {
		n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	was := dumpable()
	defer func() {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(was), 0, 0, 0); err != nil {
			t.Error(err)
		}
	}()
	if Conceal(); dumpable() != 0 {
		t.Error("other processes may read this one")
	}
}
