package prompt

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// RulesFile is the name of the files with rules for the work below their folder.
const RulesFile = "AGENTS.md"

// maxRules is the limit of one rules file for the model, in bytes.
const maxRules = 16 << 10

// Rule is what a rules file says. Path is as the model is to see it, "" for the person's own rules.
type Rule struct {
	Path, Text string
}

func (r Rule) String() string {
	path, more := "", "the rest is left out"
	if r.Path != "" {
		path, more = fmt.Sprintf(" path=%q", name(r.Path)), "read "+name(r.Path)+" for the rest"
	}
	return between(rulesMark, path, clip(strings.TrimSpace(r.Text), maxRules, more))
}

// Rules gives rules that are found while a conversation goes on.
func Rules(rules []Rule) string {
	parts := make([]string, len(rules))
	for i, r := range rules {
		parts[i] = r.String()
	}
	return strings.Join(parts, "\n\n")
}

// clip gives the beginning of a text up to a line's end, and says that there is more.
func clip(text string, most int, more string) string {
	if len(text) <= most {
		return text
	}
	text = strings.ToValidUTF8(text[:most], "")
	if at := strings.LastIndexByte(text, '\n'); at > most/2 {
		text = text[:at]
	}
	return text + "\n(cut here: " + more + ")"
}

// Folders gives the folders that lie below root and on the way to one of the absolute paths, each once and the outer
// ones first. They are those whose rules hold for the paths besides root's.
func Folders(root string, paths []string) []string {
	var out []string
	for _, p := range paths {
		rel, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		folder := root
		for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
			folder = filepath.Join(folder, name)
			if !slices.Contains(out, folder) {
				out = append(out, folder)
			}
		}
	}
	return out
}
