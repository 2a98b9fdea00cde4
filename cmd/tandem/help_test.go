package main

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// TestHelpColumns runs --help of every command and of every group of commands: no line is wider than helpColumns.
func TestHelpColumns(t *testing.T) {
	parser, err := kong.New(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	calls := [][]string{{"--help"}}
	for _, leaf := range parser.Model.Leaves(false) {
		path := strings.Fields(leaf.Path())
		for n := range path {
			calls = append(calls, append(path[:n+1:n+1], "--help"))
		}
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
