package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"tandem/filetime/text/show"
	"tandem/tools/words"
)

// The phases of a call, for those who show it. Calls that run together are in a sixth, "grouped", too.
const (
	PhaseUse      = "use"
	PhaseProgress = "progress"
	PhaseResult   = "result"
	PhaseRejected = "rejected"
	PhaseError    = "error"
)

// Showing is what there is to show of a call: its phase, and Progress or Result where that has one.
type Showing struct {
	Phase    string
	Result   *Result
	Progress *Progress
}

// Renderer is a Tool that words itself for people.
type Renderer interface {
	// Renders gives what renders a call with checked arguments, in each phase; nil is the host's own words. The function may be called
	// concurrently, and gives nil for a phase of which the tool says nothing.
	Renders(args json.RawMessage) func(Showing) *Render
}

// Renders implements Renderer by Definition.Subject and Outcome: `src/auth.ts` → 247 lines.
func (t *defined[I]) Renders(args json.RawMessage) func(Showing) *Render {
	var in I
	if t.d.Subject == nil || json.Unmarshal(args, &in) != nil {
		return nil
	}
	subject := code(t.d.Subject(in))
	if subject == "" {
		return nil
	}
	return func(s Showing) *Render {
		r := &Render{Markdown: subject}
		switch s.Phase {
		case PhaseProgress:
			if p := s.Progress; p != nil && (p.Value != 0 || p.Total != 0) {
				r.Widgets = []Widget{{Type: "progress", Value: p.Value, Total: p.Total}}
			}
		case PhaseRejected:
			r.Markdown += arrow + words.State("failed", PhaseRejected, "")
		case PhaseResult, PhaseError:
			outcome := ""
			if t.d.Outcome != nil {
				outcome = t.d.Outcome(s.Result)
			}
			outcome = outcomeOr(outcome, s.Result)
			if _, queued := s.Result.Value.(Queued); queued {
				outcome = "planned: " + outcome
			}
			r.Markdown += arrow + Escaped(show.Visible(outcome, false))
		}
		return r
	}
}

const arrow = " → "

// outcomeOr is an outcome, or where there is none the lines that a call has changed, else its one line.
func outcomeOr(outcome string, r *Result) string {
	switch {
	case outcome != "":
		return outcome
	case r.Success && len(r.Diffs) > 0:
		adds, dels := 0, 0
		for _, d := range r.Diffs {
			adds, dels = adds+d.Additions, dels+d.Deletions
		}
		return fmt.Sprintf("+%d −%d", adds, dels)
	case r.Line() != "":
		return r.Line()
	case r.Success:
		return words.State("completed", PhaseResult, "")
	}
	return words.State("failed", PhaseError, string(r.Error))
}

// code is a text as a span of code in one line, whatever is in it. A long one is cut.
func code(s string) string {
	const most = 120
	if s = show.Clip(show.Line(s), most); s == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}

// Escaped keeps text from being read as Markdown.
func Escaped(s string) string {
	const special = "\\`*_<[#"
	if !strings.ContainsAny(s, special) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(special, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
