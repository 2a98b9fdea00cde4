package loop

import (
	"fmt"
	"slices"

	"tandem/tools"
	"tandem/tools/schema"
)

// maxHints limits the hints about repeated mistakes in a turn.
const maxHints = 3

// reflector detects that a model repeats a mistake. It compares with the calls of the previous message only: those of
// one message were all written before the first result.
type reflector struct {
	before, now []mistake
	hints       int
}

// mistake is a call with invalid arguments.
type mistake struct {
	tool   string
	issues []schema.Issue
}

// message begins the results of the model's next message.
func (r *reflector) message() { r.before, r.now = r.now, nil }

// hint gives a text to append to a result, or "".
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
		"what %s expects, change the arguments that are named above, or reach your aim another way.", tool)
}
