package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// Both programs are run with Tandem as it is built from here: what they say at the end is what docs/embedding.md says.
func TestEmbedding(t *testing.T) {
	dir := t.TempDir()
	program, example := filepath.Join(dir, "tandem"), filepath.Join(dir, "embed")
	for out, pkg := range map[string]string{program: "tandem/cmd/tandem", example: "."} {
		if text, err := exec.Command("go", "build", "-o", out, pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
	}
	for _, c := range []struct {
		name string
		argv []string
		want string
	}{
		{
			"go",
			[]string{example, program},
			"package calc\n// Typed.\n// Typed.\n\n// It adds.\nfunc add(a, b int) int { return a + b }\n",
		},
		{
			"node",
			[]string{"node", "embed.mjs", program},
			`open.txt is "> 👋 hello\n"` + "\n" + `closed.txt is "one\r\nTWO\r\nthree\r\n"` + "\n" +
				`new/made.txt is "new\n"` + "\n" + `TEXT_NOT_FOUND` + "\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.argv[0]); err != nil && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			home := t.TempDir()
			scratch := filepath.Join(home, "scratch")
			if err := os.Mkdir(scratch, 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + scratch}
			var out, log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &log
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v:\n%s%s", err, &out, &log)
			}
			if out.String() != c.want {
				t.Errorf("it printed\n%s\nwant\n%s", &out, c.want)
			}
			if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// Where Tandem cannot be started, or ends early, the program says so and ends.
func TestWithoutTandem(t *testing.T) {
	example := filepath.Join(t.TempDir(), "embed")
	if text, err := exec.Command("go", "build", "-o", example, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	for program, want := range map[string]string{"./none": "no such file", "false": "EOF|broken pipe"} {
		cmd := exec.CommandContext(t.Context(), example, program)
		cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || !regexp.MustCompile(want).Match(out) {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}
