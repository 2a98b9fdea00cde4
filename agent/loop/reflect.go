package loop

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/schema"
)

const (
	// maxHints limits the hints of a turn, both about a repeated mistake and about failures.
	maxHints = 3
	// summaryThreshold is the number of consecutive messages with failed calls of a tool after
	// which a summary is added.
	summaryThreshold = 3
	// maxFailures limits the failures kept for each tool.
	maxFailures = 8
)

// reflector detects that a model repeats a mistake, and that calls of a tool keep failing. It
// compares with earlier messages only, since all calls of one message were written before the first
// result.
type reflector struct {
	previous, current []mistake
	failures          map[string]*toolFailures // by tool
	messageCount      int
	hints             int
}

// mistake is a call with invalid arguments.
type mistake struct {
	tool   string
	issues []schema.Issue
}

// toolFailures are the failures of a tool since its last success.
type toolFailures struct {
	failures       []string // the newest, one line each
	dropped        int      // of older ones
	failedMessages int      // messages with a failure
	lastMessage    int      // number of the last of these
	isSummarized   bool
}

// nextMessage starts recording the results of the model's next message.
func (r *reflector) nextMessage() {
	r.previous, r.current = r.current, nil
	r.messageCount++
}

// hint returns a text to append to a result, or "".
func (r *reflector) hint(tool string, result tools.Result) string {
	failures := r.recordOutcome(tool, result)
	hint := ""
	if result.Error == tools.InvalidArgs {
		r.current = append(r.current, mistake{tool, result.Issues})
		if slices.ContainsFunc(r.previous, func(m mistake) bool { return m.tool == tool && slices.Equal(m.issues, result.Issues) }) {
			hint = fmt.Sprintf("\n\nThis is the same mistake as before. Do not send these arguments again: compare each with "+
				"what %s expects, change the arguments that are named above, or reach your aim another way.", tool)
		}
	}
	if hint == "" {
		hint = failures
	}
	if hint == "" || r.hints == maxHints {
		return ""
	}
	r.hints++
	return hint
}

// recordOutcome records the outcome of a call, and returns the summary of its tool's failures once
// there are summaryThreshold.
func (r *reflector) recordOutcome(tool string, result tools.Result) string {
	if r.failures == nil {
		r.failures = map[string]*toolFailures{}
	}
	if result.Success {
		delete(r.failures, tool)
		return ""
	}
	if !isEvidence(result) {
		return ""
	}
	e := r.failures[tool]
	if e == nil {
		e = &toolFailures{}
		r.failures[tool] = e
	}
	if e.failures = append(e.failures, failureLine(result)); len(e.failures) > maxFailures {
		e.failures = e.failures[1:]
		e.dropped++
	}
	if e.lastMessage != r.messageCount {
		e.failedMessages, e.lastMessage = e.failedMessages+1, r.messageCount
	}
	if e.failedMessages < summaryThreshold || e.isSummarized {
		return ""
	}
	e.isSummarized = true
	return e.summary(tool)
}

// isEvidence reports whether a failure is about how the model uses the tool. A failed command is
// about the program that it ran; a refusal or a cancellation is somebody's decision.
func isEvidence(r tools.Result) bool {
	switch r.Error {
	case tools.GateDenied, tools.PlanMode, tools.BudgetExceeded, tools.SiblingCancelled, tools.ClarifyTimeout, filetime.Cancelled:
		return false
	}
	return !strings.HasPrefix(string(r.Error), "EXIT_CODE_")
}

// failureLine formats a failure as one line.
func failureLine(r tools.Result) string {
	const maxBytes = 120
	text, _, _ := strings.Cut(r.Data, "\n")
	if len(r.Issues) > 0 {
		text = r.Issues[0].Message
	}
	if len(text) > maxBytes {
		text = text[:maxBytes]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		text += "…"
	}
	return fmt.Sprintf("[%s] %s", r.Error, text)
}

// summary formats the failures; equal ones share a line with their count.
func (e *toolFailures) summary(tool string) string {
	var lines []string
	count := map[string]int{}
	for _, f := range e.failures {
		if count[f]++; count[f] == 1 {
			lines = append(lines, f)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\n%d calls of %s in a row have failed:", len(e.failures)+e.dropped, tool)
	for _, l := range lines {
		b.WriteString("\n- " + l)
		if n := count[l]; n > 1 {
			fmt.Fprintf(&b, " (%d times)", n)
		}
	}
	b.WriteString("\nStop and think about what these have in common before the next call. If you do not see it, do it another way.")
	return b.String()
}
