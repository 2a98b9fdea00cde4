package tandem

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tandem/tools/words"
)

// TestRefusalsHaveSentences: a person reads why an edit was refused. Every reason that the code gives has a sentence of its own, but for those
// that the sentence of the class says already.
func TestRefusalsHaveSentences(t *testing.T) {
	said := map[string]bool{"EDIT_CONFLICT/changed": true, "TIMEOUT/tool_timeout": true, "TIMEOUT/silent": true, "TIMEOUT/deadline": true}
	given := regexp.MustCompile(`filetime\.(EditConflict|Timeout|Unknown), "([a-z_]+)"`)
	class := map[string]string{"EditConflict": "EDIT_CONFLICT", "Timeout": "TIMEOUT", "Unknown": "UNKNOWN"}
	sentences, found := words.Failures(), 0
	for _, dir := range []string{"filetime", "lspserver", "tools", "agent"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, m := range given.FindAllSubmatch(code, -1) {
				found++
				key := class[string(m[1])] + "/" + string(m[2])
				if sentences[key] == "" && !said[key] {
					t.Errorf("%s: %s has no sentence", path, key)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d reasons were found", found)
	}
}
