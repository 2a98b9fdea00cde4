package lspserver_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/tools/builtin"
)

// TestF022OneList: the one list in Go, tandem/tools/list, the page of the documentation and what a model is shown (its system prompt, its
// tools and the index of those that are deferred) name the same tools.
func TestF022OneList(t *testing.T) {
	var shown asked
	r := lender(t, map[string]any{"model": "editor/large"}, func(r *rig, a asked) (any, error) {
		shown = a
		r.chunk(a, `"text":"Done."`)
		return json.RawMessage(`{"stopReason":"end_turn"}`), nil
	})
	var want []string
	unlisted := map[string]bool{}
	for _, tool := range builtin.Tools() {
		want = append(want, tool.Spec().Name)
		unlisted[tool.Spec().Name] = tool.Spec().Unlisted
	}
	slices.Sort(want)
	wire := toolNames(r.list(map[string]any{"includeDeferred": true, "includeDisabled": true}))
	equal(t, "the wire", strings.Join(wire, " "), strings.Join(want, " "))
	page, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	var headings []string
	for _, m := range regexp.MustCompile("(?m)^## `(.+)`$").FindAllStringSubmatch(string(page), -1) {
		headings = append(headings, m[1])
	}
	equal(t, "the page", strings.Join(headings, " "), strings.Join(want, " "))

	offered := toolNames(r.list(map[string]any{"includeDeferred": true, "sessionId": r.session(nil)}))
	r.prompt(r.session(nil), "Look.")
	var sent []string
	for _, tool := range shown.Tools {
		sent = append(sent, tool.Function.Name)
		for _, m := range regexp.MustCompile(`(?m)^- ([a-z_]+)(?::|$)`).FindAllStringSubmatch(tool.Function.Description, -1) {
			if tool.Function.Name == "tool_search" {
				sent = append(sent, m[1])
			}
		}
	}
	slices.Sort(sent)
	equal(t, "the request", strings.Join(slices.Compact(sent), " "),
		strings.Join(slices.DeleteFunc(offered, func(name string) bool { return unlisted[name] || name == "tool_search" && !slices.Contains(sent, name) }), " "))
	named := 0
	for _, word := range regexp.MustCompile(`[a-z]+(_[a-z]+)+|\bbash\b|\bglob\b|\bgrep\b`).FindAllString(shown.Messages[0].Content, -1) {
		if named++; !slices.Contains(sent, word) {
			t.Errorf("the system prompt names %s, which is no tool of the request", word)
		}
	}
	if shown.Messages[0].Role != "system" || named < 4 {
		t.Errorf("the system prompt names %d tools:\n%s", named, shown.Messages[0].Content)
	}
	r.end()
}
