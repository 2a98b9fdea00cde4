package tandem

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type quirkTable struct {
	name, changes, run string
	packages           []string
	// most is the share of the rows that a change may make fail, or five of them: one that breaks more proves nothing about any of them.
	most float64
}

var quirkTables = []quirkTable{
	{"mcp", "tools/mcp/mcptest/changes.txt", "^TestFaultW11Quirks$", []string{"./tools/mcp"}, 1},
	{"languages", "lspserver/languages/testdata/changes.txt", "^TestFaultD3Quirks$", []string{"./lspserver/languages"}, 1},
	{"models", "agent/model/modeltest/changes.txt", "^TestFaultW7W8Quirks$", []string{"./agent/model/openaichat", "./agent/model/openai", "./agent/model/anthropic"}, 0.25},
}

var quirksOf = flag.String("quirks", "", "which tables of quirks to try one-line changes of the code with: mcp, languages, models, or all")

// Applies one-line changes to the code that reads the answers of others, one at a time, and wants the tables of quirks to notice each. The
// file of a table has a change as three lines, a file and the line before ("-") and after ("+"), blank lines between, and after the line
// "untouched" the rows that no change makes fail, which -update writes.
func TestQuirksNotice(t *testing.T) {
	if *quirksOf == "" {
		t.Skip("an hour; each night, with -quirks=all")
	}
	for _, q := range quirkTables {
		if *quirksOf != "all" && *quirksOf != q.name {
			continue
		}
		if err := q.try(*update); err != nil {
			t.Errorf("%s: %v", q.name, err)
		}
	}
}

func (t quirkTable) try(update bool) error {
	text, err := os.ReadFile(t.changes)
	if err != nil {
		return err
	}
	changes, said, _ := strings.Cut(string(text), "\nuntouched\n")
	rows, fails, err := t.test("")
	if err != nil || len(fails) > 0 {
		return fmt.Errorf("without a change: %v %v", fails, err)
	}
	dir, err := os.MkdirTemp("", "quirks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	touched := map[string]bool{}
	var wrong []string
	for _, block := range strings.Split(changes, "\n\n") {
		if block = strings.Trim(block, "\n"); block == "" || strings.HasPrefix(block, "#") {
			continue
		}
		overlay, err := quirkChange(dir, block)
		var passed, fails []string
		if err == nil {
			passed, fails, err = t.of(block).test(overlay)
		}
		if all := len(passed) + len(fails); err == nil && (len(fails) == 0 || float64(len(fails)) > max(5, t.most*float64(all))) {
			err = fmt.Errorf("%d of %d rows fail", len(fails), all)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%v:\n%s", err, block))
			continue
		}
		fresh := 0
		for _, name := range fails {
			if !touched[name] {
				fresh++
			}
			touched[name] = true
		}
		file, line, _ := strings.Cut(block, "\n")
		line, _, _ = strings.Cut(line, "\n")
		fmt.Printf("%s: %s: %d rows fail, %d of them for the first time: %s\n", file, strings.TrimSpace(line[1:]), len(fails), fresh, strings.Join(fails, ", "))
	}
	rows = slices.DeleteFunc(rows, func(name string) bool { return touched[name] })
	slices.Sort(rows)
	fmt.Printf("%s: %d rows that a change makes fail, %d others\n", t.name, len(touched), len(rows))
	now := strings.Join(append(rows, ""), "\n")
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("%d changes:\n%s", len(wrong), strings.Join(wrong, "\n\n"))
	case update:
		return os.WriteFile(t.changes, []byte(changes+"\nuntouched\n"+now), 0o644)
	case now != said:
		return fmt.Errorf("the rows that no change makes fail are others:\n%s", now)
	}
	return nil
}

// of is the table with the package alone that a change is in, where that plays rows itself.
func (t quirkTable) of(block string) quirkTable {
	if pkg := "./" + filepath.Dir(strings.SplitN(block, "\n", 2)[0]); slices.Contains(t.packages, pkg) {
		t.packages = []string{pkg}
	}
	return t
}

// quirkChange writes a changed file, and an overlay for it.
func quirkChange(dir, block string) (overlay string, err error) {
	lines := strings.SplitN(block, "\n", 3)
	if len(lines) != 3 || lines[1] == "" || lines[2] == "" || lines[1][0] != '-' || lines[2][0] != '+' {
		return "", fmt.Errorf("no change")
	}
	file, before, after := lines[0], lines[1][1:], lines[2][1:]
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := strings.Count("\n"+string(text), "\n"+before+"\n"); n != 1 {
		return "", fmt.Errorf("the line stands there %d times", n)
	}
	changed := strings.Replace("\n"+string(text), "\n"+before+"\n", "\n"+after+"\n", 1)[1:]
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	from := filepath.Join(here, file)
	to := filepath.Join(dir, "changed.go")
	raw, _ := json.Marshal(map[string]any{"Replace": map[string]string{from: to}})
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(to, []byte(changed), 0o600); err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

// test gives the rows that pass and those that fail.
func (t quirkTable) test(overlay string) (passed, failed []string, err error) {
	args := []string{"go", "test", "-vet=off", "-json", "-timeout", "5m", "-parallel", "16", "-run", t.run}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	out, _ := exec.Command("nice", append(args, t.packages...)...).Output() // a test that fails is no error
	in := bufio.NewScanner(bytes.NewReader(out))
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e struct{ Action, Test, FailedBuild string }
		if json.Unmarshal(in.Bytes(), &e) != nil {
			continue
		}
		if e.FailedBuild != "" {
			return nil, nil, fmt.Errorf("%s does not compile", e.FailedBuild)
		}
		_, row, ok := strings.Cut(e.Test, "/")
		switch {
		case ok && e.Action == "pass":
			passed = append(passed, row)
		case ok && e.Action == "fail":
			failed = append(failed, row)
		}
	}
	if len(passed)+len(failed) == 0 {
		return nil, nil, fmt.Errorf("no row was played")
	}
	return passed, failed, nil
}
