package sandbox

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFaultS2AccessSwitched: between two calls of Access a process changes nothing of the workspace, by whatever way, and its own
// temporary files all the time. What was protected stays so.
func TestFaultS2AccessSwitched(t *testing.T) {
	s := newSuite(t, LevelFull)
	c := Command{
		Argv: []string{"/bin/bash", "-c", `exec 2>&1; while read -r l; do if (eval "$l") >/dev/null; then echo yes; else echo no; fi; done`}, Dir: s.folder,
		Profile: Loopback, Surroundings: s.in, Interactive: true, Switched: true,
	}
	p, err := s.Start(t.Context(), c)
	must(t, err)
	answers := bufio.NewReader(p.Stdout())
	can := func(line string) bool {
		t.Helper()
		_, err := io.WriteString(p.Stdin(), line+"\n")
		must(t, err)
		for {
			got, err := answers.ReadString('\n')
			must(t, err)
			if got = strings.TrimSpace(got); got == "yes" || got == "no" {
				return got == "yes"
			}
		}
	}
	writes := []string{"echo x > new", "echo x >> f", "mkdir d && rmdir d", "mv f g && mv g f", "ln -s /etc l && rm l", "touch f", "chmod 600 f", "echo x > .git/index"}
	must(t, os.WriteFile(filepath.Join(s.app, "f"), nil, 0o644))
	for range 3 {
		for _, w := range writes {
			if !can(w) {
				t.Errorf("at first, or switched back: %s", w)
			}
		}
		if can("echo x > .git/hooks/pre-commit") {
			t.Error("a hook")
		}
		must(t, p.Access(false))
		for _, w := range writes {
			if can(w) {
				t.Errorf("read-only: %s", w)
			}
		}
		if !can("cat f && echo x > /tmp/x && echo x > /dev/null") {
			t.Error("it reads no more, or has no temporary files")
		}
		must(t, p.Access(true))
	}
	must(t, p.Stdin().Close())
	if err := p.Stdout().Close(); !errors.Is(err, os.ErrClosed) { // the end of the process may have closed it
		must(t, err)
	}
	p.Wait()
	if err := p.Access(true); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

// TestFaultS2AccessRefused: the kernel lets nothing be switched under an open file, and nobody is told that it did.
func TestFaultS2AccessRefused(t *testing.T) {
	s := newSuite(t, LevelFull)
	for name, v := range map[string]struct {
		script   string
		switched bool
		want     error
	}{
		"open for writing": {"exec 7>>f; echo up; read -r l; echo x >&7", true, unix.EBUSY},
		"not asked for":    {"echo up; read -r l; echo x > f", false, unix.ENOTSUP},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := s.Start(t.Context(), Command{
				Argv: []string{"/bin/bash", "-c", v.script}, Dir: s.folder, Profile: Loopback, Surroundings: s.in, Interactive: true, Switched: v.switched,
			})
			must(t, err)
			out := bufio.NewReader(p.Stdout())
			_, err = out.ReadString('\n')
			must(t, err)
			if err := p.Access(false); !errors.Is(err, v.want) {
				t.Errorf("%v, want %v", err, v.want)
			}
			_, err = io.WriteString(p.Stdin(), "\n")
			must(t, err)
			_, _ = io.ReadAll(out)
			for _, stream := range []io.Closer{p.Stdin(), p.Stdout()} {
				if err := stream.Close(); !errors.Is(err, os.ErrClosed) { // the end of the process may have closed it
					must(t, err)
				}
			}
			if o := p.Wait(); o.ExitCode != 0 {
				t.Errorf("it could not write though nothing was switched: %+v", o)
			}
		})
	}
}
