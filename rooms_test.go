package tandem

import (
	"fmt"
	"go/doc"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	architectureFile = "docs/architecture.md"
	roomsFile        = "docs/rooms.md"
	roomsBegin       = "<!-- Generated from the comments of the packages and the table in imports_test.go: go test . -run TestRooms -update -->\n"
	roomsEnd         = "<!-- end of the list -->\n"
)

// TestRooms wants the list of rooms in docs/rooms.md to be that of the code: what each package says of itself and why
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
	have, _ := text(t, roomsFile)
	before, rest, ok1 := strings.Cut(have, roomsBegin)
	_, after, ok2 := strings.Cut(rest, roomsEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the list of rooms", roomsFile)
	}
	want := before + roomsBegin + table.String() + roomsEnd + after
	switch {
	case want == have:
	case *update:
		if err := os.WriteFile(roomsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date: go test . -run TestRooms -update", roomsFile)
	}
}

const decisionsIndex = "docs/decisions/README.md"

// TestRoomsAndDecisions wants each decision to have a number of its own, which its title says, and the index to have all of them: number,
// title, the first sentence of the decision, and whether it is in force. A line "> Replaced by [...]" or "> Amended by [...]" below the
// title says that it is not, or not as a whole.
func TestRoomsAndDecisions(t *testing.T) {
	seen := map[string]string{}
	sentence := regexp.MustCompile(`(?s)\*\*(?:Decision|Context)[^*]*\.\*\*\s+(.+?[.:])(?:\s|$)`)
	status := regexp.MustCompile(`(?m)^> (Replaced|Amended) by (\[\d+\]\([^)]+\))`)
	var index strings.Builder
	index.WriteString("# Decisions\n\n<!-- Generated: go test . -run TestRooms -update -->\n\n| | decision | in a sentence | state |\n|---|---|---|---|\n")
	for _, file := range slices.Sorted(slices.Values(repo(t).files)) {
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
		title, body, _ := strings.Cut(content, "\n")
		title, ok := strings.CutPrefix(title, "# "+strings.TrimLeft(number, "0")+". ")
		if !ok {
			t.Errorf("%s has the title %q", file, title)
		}
		if _, decision, ok := strings.Cut(body, "**Decision"); ok {
			body = "**Decision" + decision + "\n" + body
		}
		m := sentence.FindStringSubmatch(body)
		if m == nil {
			t.Errorf("%s has no decision", file)
			continue
		}
		state := "in force"
		if s := status.FindStringSubmatch(content); s != nil {
			state = map[string]string{"Replaced": "replaced by ", "Amended": "in force, amended by "}[s[1]] + s[2]
		}
		said := strings.ReplaceAll(strings.Join(strings.Fields(strings.TrimPrefix(m[1], "- ")), " "), "|", `\|`)
		fmt.Fprintf(&index, "| %s | [%s](%s) | %s | %s |\n", strings.TrimLeft(number, "0"), title, name, strings.TrimSuffix(said, ":"), state)
	}
	have, _ := text(t, decisionsIndex)
	switch {
	case have == index.String():
	case *update:
		if err := os.WriteFile(decisionsIndex, []byte(index.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date: go test . -run TestRooms -update", decisionsIndex)
	}
}

// TestArchitectureIsShort: the page is a tour, and details are elsewhere.
func TestArchitectureIsShort(t *testing.T) {
	have, ok := text(t, architectureFile)
	if words := len(strings.Fields(have)); !ok || words > 1500 {
		t.Errorf("%s has %d words, the limit is 1,500: details belong in docs/internals.md", architectureFile, words)
	}
}
