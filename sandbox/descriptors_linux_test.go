package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFaultT19Descriptors: no descriptor of this process reaches a command, also one that a library has opened without close-on-exec.
func TestFaultT19Descriptors(t *testing.T) {
	secret, err := unix.Open("/etc/hostname", unix.O_RDONLY, 0)
	must(t, err)
	defer unix.Close(secret)
	high, err := unix.FcntlInt(uintptr(secret), unix.F_DUPFD, 200)
	must(t, err)
	defer unix.Close(high)
	const open = `for f in /proc/$$/fd/*; do n=${f##*/}; [ "$n" -gt 2 ] && [ "$n" != 255 ] && readlink "$f"; done; true`
	check := func(name string, o Outcome) {
		t.Helper()
		for line := range strings.Lines(o.Stdout) {
			if !strings.HasPrefix(line, "/proc/") {
				t.Errorf("%s: the command has %s", name, line)
			}
		}
		if o.ExitCode != 0 {
			t.Errorf("%s: %+v", name, o)
		}
	}
	levels(t, func(t *testing.T, s *suite) {
		for _, profile := range []Profile{ReadOnly, Loopback, Proxy} {
			check(fmt.Sprint(s.level, profile), s.does(t, profile, open))
		}
	})
	check("unconfined", run(t, bash(open)))
}
