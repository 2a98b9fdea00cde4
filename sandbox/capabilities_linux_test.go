package sandbox

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestFindingS10NoCapabilities starts commands as whoever runs the test: they have no capabilities, and where that is root
// cannot look into this process.
func TestFindingS10NoCapabilities(t *testing.T) {
	look := func(pid string) string {
		return strings.ReplaceAll(`cat /proc/PID/environ | head -c 10; cat /proc/PID/maps | head -c 10; head -c 1 /proc/PID/mem; : <>/proc/PID/fd/1; `, "PID", pid)
	}
	o := run(t, bash(`grep '^Cap' /proc/self/status; `+look(strconv.Itoa(os.Getpid()))+look("$PPID")))
	for line := range strings.Lines(o.Stdout) {
		name, set, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		if !strings.HasPrefix(name, "Cap") || os.Getuid() != 0 && name == "CapBnd" {
			continue // the last bounds what set-user-ID programs get, which a person may allow
		}
		if n, err := strconv.ParseUint(set, 16, 64); err != nil || n != 0 {
			t.Errorf("%q", line)
		}
	}
	refused := 4 // by its keeper
	if os.Getuid() == 0 {
		refused = 8 // and by this process, which an ordinary user's commands may look into unless it is concealed
	}
	if strings.Count(o.Stderr, "Permission denied") < refused {
		t.Errorf("it looked into this process or its keeper: %+v", o)
	}
	if os.Getuid() != 0 {
		t.Log("not as root")
		return
	}
	c := bash(`grep CapEff /proc/self/status; cat /proc/` + strconv.Itoa(os.Getpid()) + `/environ | head -c 1 | wc -c`)
	c.Privileged = true
	for range 20 { // on whichever thread
		run(t, bash("true"))
		if o := run(t, c); strings.Contains(o.Stdout, "0000000000000000") || !strings.HasSuffix(o.Stdout, "1\n") {
			t.Fatalf("a command that keeps them: %+v", o)
		}
	}
}
