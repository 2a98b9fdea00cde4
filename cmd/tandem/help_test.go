package main

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"tandem/cmd/commandline"
)

// TestHelpColumns runs --help of every command and of every group of commands: no line is wider than helpColumns.
func TestHelpColumns(t *testing.T) {
	calls := [][]string{{"--help"}}
	for _, path := range commandline.Paths(&cli{}) {
		calls = append(calls, append(path, "--help"))
	}
	if len(calls) < 30 {
		t.Fatalf("only %d commands were found", len(calls))
	}
	for _, args := range calls {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(cmd.Environ(), "COLUMNS=200")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > helpColumns {
				t.Errorf("%q has %d columns: %s", args, utf8.RuneCountInString(line), line)
			}
		}
	}
}
