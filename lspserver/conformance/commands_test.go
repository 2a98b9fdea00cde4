package conformance

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tandem/lspserver/wire/wiretest"
	"tandem/sandbox"
)

const played = `$ go test
out ok
err a warning
wait 2s
write a "x\n"
exit 3
$ sleep
hang
out never
$ deaf
out first
stubborn
`

func TestCommandsPlay(t *testing.T) {
	for _, c := range []struct {
		name, command string
		timeout       time.Duration
		cancel        time.Duration
		want          sandbox.Outcome
	}{
		{
			"ends", "go test", 0, 0,
			sandbox.Outcome{ExitCode: 3, Stdout: "ok\n", Stderr: "a warning\n", Duration: 2 * time.Second},
		},
		{"too slow", "go test", time.Second, 0, sandbox.Outcome{
			ExitCode: -1, Stdout: "ok\n", Stderr: "a warning\n", TimedOut: true, Duration: time.Second,
		}},
		{"cancelled", "sleep", 0, time.Minute, sandbox.Outcome{ExitCode: -1, Cancelled: true, Duration: time.Minute}},
		{"deaf", "deaf", time.Minute, time.Second, sandbox.Outcome{
			ExitCode: -1, Stdout: "first\n", Cancelled: true, Duration: 6 * time.Second,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wiretest.Bubble(t, func(t *testing.T) {
				commands, err := NewCommands(played, 1)
				if err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if c.cancel > 0 {
					var end context.CancelFunc
					ctx, end = context.WithTimeout(ctx, c.cancel)
					defer end()
				}
				var heard strings.Builder
				dir := root(t)
				folder := sandbox.OpenFolder(dir)
				defer folder.Close()
				got, err := sandbox.Run(ctx, commands, sandbox.Command{
					Argv: []string{"/bin/bash", "-c", c.command}, Dir: folder, Timeout: c.timeout, Grace: 5 * time.Second,
					Output: func(_ sandbox.Stream, b []byte) { heard.Write(b) },
				})
				if err != nil || got != c.want {
					t.Errorf("%+v %v", got, err)
				}
				if heard.String() != c.want.Stdout+c.want.Stderr {
					t.Errorf("heard %q", heard.String())
				}
				if _, err := os.Stat(dir + "/a"); (err == nil) != (c.name == "ends") {
					t.Errorf("the file: %v", err)
				}
				if left := commands.Problems(); len(left) != 2 {
					t.Error(left)
				}
				if _, err := commands.Start(ctx, sandbox.Command{Argv: []string{"/bin/sh", "-c", c.command}}); err == nil {
					t.Error("a block was played twice")
				}
				if _, err := commands.Find("rg", sandbox.Surroundings{}); !errors.Is(err, exec.ErrNotFound) {
					t.Error(err)
				}
				if left := commands.Problems(); len(left) != 3 {
					t.Error(left)
				}
			})
		})
	}
}

func TestCommandsSyntax(t *testing.T) {
	for text, want := range map[string]string{"out x\n": "8: a command begins", "$ a\n\nfly\n": "10: no command can"} {
		if _, err := NewCommands(text, 8); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
