package tandem

import (
	"os"
	"strings"
	"testing"
)

// Of the rows about language servers so many are seen to matter, which are those that some change makes fail.
func TestQuirksOfLanguageServersCount(t *testing.T) {
	rows, err := os.ReadFile("lspserver/languages/testdata/quirks.json")
	if err != nil {
		t.Fatal(err)
	}
	changes, err := os.ReadFile("lspserver/languages/testdata/changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, untouched, _ := strings.Cut(string(changes), "\nuntouched\n")
	if n := strings.Count(string(rows), `"quirk": `) - strings.Count(untouched, "\n"); n < 20 {
		t.Errorf("%d rows count", n)
	}
}

// The changes that TestQuirksNotice applies each night fit the code: each line stands once in its file.
func TestQuirkChangesFit(t *testing.T) {
	for _, file := range []string{
		"tools/mcp/mcptest/changes.txt", "lspserver/languages/testdata/changes.txt", "agent/model/modeltest/changes.txt",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changes, _, _ := strings.Cut(string(text), "\nuntouched\n")
		for _, block := range strings.Split(changes, "\n\n") {
			if block = strings.Trim(block, "\n"); block == "" || block[0] == '#' {
				continue
			}
			of, rest, _ := strings.Cut(block, "\n-")
			line, _, _ := strings.Cut(rest, "\n+")
			code, err := os.ReadFile(of)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count("\n"+string(code), "\n"+line+"\n"); n != 1 {
				t.Errorf("%s: %s has this line %d times: %s", file, of, n, strings.TrimSpace(line))
			}
		}
	}
}
