package tandem

import (
	"fmt"
	"go/doc"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	architectureFile = "docs/architecture.md"
	roomsBegin       = "<!-- Generated from the comments of the packages and the table in imports_test.go: go test . -run TestRooms -update -->\n"
	roomsEnd         = "<!-- end of the list -->\n"
)

// TestRooms wants the list of rooms in docs/architecture.md to be that of the code: what each package says of itself and why
// it may import what it may.
func TestRooms(t *testing.T) {
	says := map[string]string{}
	for _, f := range repo(t).code {
		if f.test() || f.ast.Doc == nil {
			continue
		}
		says[f.dir] = new(doc.Package).Synopsis(f.ast.Doc.Text())
	}
	order := []string{"cmd", "lspserver", "agent", "tools", "filetime", "sandbox", "docs"}
	place := func(dir string) int { return slices.Index(order, strings.Split(dir, "/")[0]) }
	var dirs []string
	for dir, what := range says {
		switch room, ok := roomOf(dir); {
		case dir == "." || helper(dir):
		case ok && rooms[room].why != "" && what != "" && place(dir) >= 0:
			dirs = append(dirs, dir)
		default:
			t.Errorf("package %s has no comment, or its room has no reason", dir)
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		if p := place(a) - place(b); p != 0 {
			return p
		}
		return strings.Compare(a, b)
	})
	var table strings.Builder
	table.WriteString("| room | what it is | why it may import what it may |\n|---|---|---|\n")
	for _, dir := range dirs {
		what := says[dir]
		for _, begin := range []string{"Package " + path.Base(dir) + " ", "Command " + path.Base(dir) + " "} {
			what = strings.TrimPrefix(what, begin)
		}
		room, _ := roomOf(dir)
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", dir, strings.ReplaceAll(strings.TrimSuffix(what, "."), "|", `\|`), rooms[room].why)
	}
	have, _ := text(t, architectureFile)
	before, rest, ok1 := strings.Cut(have, roomsBegin)
	_, after, ok2 := strings.Cut(rest, roomsEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the list of rooms", architectureFile)
	}
	want := before + roomsBegin + table.String() + roomsEnd + after
	switch {
	case want == have:
	case *update:
		if err := os.WriteFile(architectureFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date: go test . -run TestRooms -update", architectureFile)
	}
}

// TestDecisions wants each decision to have a number of its own, which its title says.
func TestDecisions(t *testing.T) {
	seen := map[string]string{}
	for _, file := range repo(t).files {
		dir, name := path.Split(file)
		if dir != "docs/decisions/" || !strings.HasSuffix(name, ".md") || name == "README.md" {
			continue
		}
		number, _, _ := strings.Cut(name, "-")
		if other := seen[number]; other != "" {
			t.Errorf("%s and %s have the same number", other, name)
		}
		seen[number] = name
		content, _ := text(t, file)
		if title, _, _ := strings.Cut(content, "\n"); !strings.HasPrefix(title, "# "+strings.TrimLeft(number, "0")+".") {
			t.Errorf("%s has the title %q", file, title)
		}
	}
}
