package agent

import (
	"fmt"
	"slices"

	"tandem/tools"
	"tandem/tools/schema"
)

// maxHints is how often in a turn a model is told that it repeats a mistake.
const maxHints = 3

// reflector sees the results of a turn's calls in their order and says when a model makes the same mistake again.
type reflector struct {
	tool   string
	issues []schema.Issue
	hints  int
}

// hint gives what to add to a result, "" for nothing.
func (r *reflector) hint(tool string, result tools.Result) string {
	if result.Error != tools.InvalidArgs {
		r.tool, r.issues = "", nil
		return ""
	}
	again := r.tool == tool && slices.Equal(r.issues, result.Issues)
	r.tool, r.issues = tool, result.Issues
	if !again || r.hints == maxHints {
		return ""
	}
	r.hints++
	return fmt.Sprintf("\n\nThis is the same mistake as before. Do not send these arguments again: compare each with "+
		"what %s expects, change what is named above, or reach your aim another way.", tool)
}
