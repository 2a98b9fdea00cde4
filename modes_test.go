package tandem

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/tools/gate"
)

// TestModesAreOneTable compares every list of modes that cannot be made from the table with it: tags of structs, the
// clients, the documentation.
func TestModesAreOneTable(t *testing.T) {
	var strictFirst, looseFirst, sorted []string
	for _, m := range gate.Modes() {
		strictFirst = append(strictFirst, string(m.Mode))
	}
	looseFirst = slices.Clone(strictFirst)
	slices.Reverse(looseFirst)
	sorted = slices.Sorted(slices.Values(strictFirst))
	for _, c := range []struct {
		file, list string // list is a regular expression whose group is the list
		order      []string
	}{
		{"agent/config/config.go", `Mode string .* enum:"([^"]*)"`, sorted},
		{"agent/config/config.go", `Mode string .* ws:"order:([^"]*)"`, looseFirst},
		{"cmd/tandem/main.go", `Mode .*enum:",([^"]*)"`, strictFirst},
		{"cmd/tandem/main.go", `Mode .*help:"Permission mode: ([^"]*)\."`, strictFirst},
		{"agent/config/starter.go", `What happens without asking: (.*)\.`, strictFirst},
		{"editors/nvim/lua/tandem/commands.lua", `M\.MODES = \{(.*)\}`, strictFirst},
		{"editors/vscode/src/status.ts", `(?s)const MODES: Record<string, string> = \{(.*?)\}`, sorted},
		{"docs/configuration.md", `(?m)^## Modes\n\n\|(.*)\|$`, strictFirst},
	} {
		content, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.list).FindSubmatch(content)
		if found == nil {
			t.Errorf("%s has nothing like %s", c.file, c.list)
			continue
		}
		var have []string
		for _, word := range strings.FieldsFunc(string(found[1]), func(r rune) bool { return strings.ContainsRune(",| \n", r) }) {
			if word = strings.Trim(word, `'":`); slices.Contains(strictFirst, word) {
				have = append(have, word)
			}
		}
		if slices.Equal(c.order, sorted) {
			slices.Sort(have)
		}
		if !slices.Equal(have, c.order) {
			t.Errorf("%s lists %v, the modes are %v", c.file, have, c.order)
		}
	}
}
