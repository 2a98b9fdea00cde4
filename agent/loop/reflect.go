package loop

import (
	"fmt"
	"slices"

	"tandem/tools"
	"tandem/tools/schema"
)

// maxHints is how often in a turn a model is told that it repeats a mistake.
const maxHints = 3

// reflector sees the results of a turn's calls in their order and says when a model makes the same mistake again. Calls of
// one message were all asked for before the first of them was answered, so a mistake is compared with those of the message
// before only.
type reflector struct {
	before, now []mistake
	hints       int
}

// mistake is a call whose arguments did not pass.
type mistake struct {
	tool   string
	issues []schema.Issue
}

// message begins the results of the model's next message.
func (r *reflector) message() { r.before, r.now = r.now, nil }

// hint gives what to add to a result, "" for nothing.
func (r *reflector) hint(tool string, result tools.Result) string {
	if result.Error != tools.InvalidArgs {
		return ""
	}
	r.now = append(r.now, mistake{tool, result.Issues})
	again := slices.ContainsFunc(r.before, func(m mistake) bool {
		return m.tool == tool && slices.Equal(m.issues, result.Issues)
	})
	if !again || r.hints == maxHints {
		return ""
	}
	r.hints++
	return fmt.Sprintf("\n\nThis is the same mistake as before. Do not send these arguments again: compare each with "+
		"what %s expects, change what is named above, or reach your aim another way.", tool)
}
