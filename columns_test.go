package tandem

import (
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// narrow are the rooms whose comments keep to commentColumns. A room is added when its comments do;
// none is taken out.
var narrow = []string{
	"agent/loop", "agent/model", "agent/model/anthropic", "agent/model/openai",
	"agent/model/openaichat", "agent/model/registry", "agent/model/wire", "agent/store",
	"cmd/bench", "cmd/live", "cmd/tandem", "filetime",
	"filetime/disk", "filetime/locks", "filetime/overlay", "filetime/text", "filetime/text/show", "filetime/watch",
	"lspserver/acp", "lspserver/client", "lspserver/doctor", "lspserver/fileuri", "lspserver/languages",
	"lspserver/logs", "lspserver/review", "lspserver/state", "lspserver/terminal", "lspserver/updates",
	"lspserver/wire", "sandbox", "sandbox/dial", "sandbox/effects", "sandbox/effects/autorun", "sandbox/git",
	"sandbox/proxy", "sandbox/search/index", "sandbox/search/trigrams", "sandbox/tree",
	"sandbox/userinfo", "tools/builtin",
	"tools/clarify", "tools/code", "tools/edit", "tools/entry", "tools/exampletool", "tools/fetch",
	"tools/fileinfo", "tools/foreign", "tools/grep", "tools/hooks", "tools/jobs", "tools/list",
	"tools/mkdir", "tools/move", "tools/outputs",
	"tools/plugin", "tools/rawjson", "tools/read", "tools/remove", "tools/syntax", "tools/task",
	"tools/toolsearch", "tools/undo", "tools/web", "tools/websearch", "tools/words", "tools/write",
}

const commentColumns = 100

// TestCommentColumns finds comment lines of the rooms in narrow that are too long to be read beside
// code. A tab counts as four columns.
func TestCommentColumns(t *testing.T) {
	for _, name := range repo(t).files {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !slices.Contains(narrow, path.Dir(name)) {
			continue
		}
		content, _ := text(t, name)
		n := 0
		for line := range strings.Lines(content) {
			n++
			columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) + 3*strings.Count(line, "\t")
			if strings.HasPrefix(strings.TrimSpace(line), "// ") && columns > commentColumns {
				t.Errorf("%s:%d: a comment of %d columns; the limit is %d", name, n, columns, commentColumns)
			}
		}
	}
}
