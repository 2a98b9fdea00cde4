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
	// maxHints limits the hints of a turn, about the same mistake and about failures alike.
	maxHints = 3
	// manyFailures is how many messages in a row with failed calls of a tool make a summary.
	manyFailures = 3
	// maxEvidence is how many failures of a tool are kept.
	maxEvidence = 8
)

// reflector detects that a model repeats a mistake, and that calls of a tool keep failing. It
// compares with the calls of earlier messages only: those of one message were all written before
// the first result.
type reflector struct {
	before, now []mistake
	evidence    map[string]*evidence // by tool
	messages    int
	hints       int
}

// mistake is a call with invalid arguments.
type mistake struct {
	tool   string
	issues []schema.Issue
}

// evidence is what is known of the failures of a tool since its last success.
type evidence struct {
	failures []string // the newest, each a line
	lost     int      // of older ones
	messages int      // that had a failure
	last     int      // the number of the last of these
	told     bool
}

// message begins the results of the model's next message.
func (r *reflector) message() {
	r.before, r.now = r.now, nil
	r.messages++
}

// hint gives a text to append to a result, or "".
func (r *reflector) hint(tool string, result tools.Result) string {
	failures := r.note(tool, result)
	hint := ""
	if result.Error == tools.InvalidArgs {
		r.now = append(r.now, mistake{tool, result.Issues})
		if slices.ContainsFunc(r.before, func(m mistake) bool { return m.tool == tool && slices.Equal(m.issues, result.Issues) }) {
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

// note keeps the outcome of a call, and gives the summary of its tool's failures once there are
// many.
func (r *reflector) note(tool string, result tools.Result) string {
	if r.evidence == nil {
		r.evidence = map[string]*evidence{}
	}
	if result.Success {
		delete(r.evidence, tool)
		return ""
	}
	if !telling(result) {
		return ""
	}
	e := r.evidence[tool]
	if e == nil {
		e = &evidence{}
		r.evidence[tool] = e
	}
	if e.failures = append(e.failures, line(result)); len(e.failures) > maxEvidence {
		e.failures = e.failures[1:]
		e.lost++
	}
	if e.last != r.messages {
		e.messages, e.last = e.messages+1, r.messages
	}
	if e.messages < manyFailures || e.told {
		return ""
	}
	e.told = true
	return e.summary(tool)
}

// telling says that a failure is evidence about how the tool is used. A command that fails tells of
// what it ran; a refusal and what ended a call from outside are somebody's decision.
func telling(r tools.Result) bool {
	switch r.Error {
	case tools.GateDenied, tools.PlanMode, tools.BudgetExceeded, tools.SiblingCancelled, tools.ClarifyTimeout, filetime.Cancelled:
		return false
	}
	return !strings.HasPrefix(string(r.Error), "EXIT_CODE_")
}

// line is a failure in one line.
func line(r tools.Result) string {
	const most = 120
	text, _, _ := strings.Cut(r.Data, "\n")
	if len(r.Issues) > 0 {
		text = r.Issues[0].Message
	}
	if len(text) > most {
		text = text[:most]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		text += "…"
	}
	return fmt.Sprintf("[%s] %s", r.Error, text)
}

// summary words the evidence; equal failures are one line with their number.
func (e *evidence) summary(tool string) string {
	var lines []string
	count := map[string]int{}
	for _, f := range e.failures {
		if count[f]++; count[f] == 1 {
			lines = append(lines, f)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\n%d calls of %s in a row have failed:", len(e.failures)+e.lost, tool)
	for _, l := range lines {
		b.WriteString("\n- " + l)
		if n := count[l]; n > 1 {
			fmt.Fprintf(&b, " (%d times)", n)
		}
	}
	b.WriteString("\nStop and think about what these have in common before the next call. If you do not see it, do it another way.")
	return b.String()
}
