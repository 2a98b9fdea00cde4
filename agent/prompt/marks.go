package prompt

import (
	"fmt"
	"strings"

	"tandem/filetime/text/show"
	"tandem/sandbox/lazy"
)

// The marks between which a model is given what others wrote. What stands between <rules> is followed, so no text may
// end its own marks or begin others.
const (
	rulesMark     = "rules"
	attachedMark  = "attached"
	selectionMark = "selection"
	editorMark    = "editor"
)

var marks = lazy.Regexp{Text: `(?i)<(\s*/?\s*(?:` +
	strings.Join([]string{rulesMark, attachedMark, selectionMark, editorMark}, "|") + `)\b)`}

// between puts a text between marks. In the text, and in the attributes, a < that would begin a mark is written &lt;.
func between(mark, attributes, text string) string {
	return fmt.Sprintf("<%s%s>\n%s\n</%s>", mark, foreign(attributes), foreign(text), mark)
}

// foreign escapes marks in untrusted text.
func foreign(text string) string { return marks.Get().ReplaceAllString(text, "&lt;$1") }

// name is a path or a link as it stands in a line for a model.
func name(path string) string { return foreign(show.Visible(path, false)) }
