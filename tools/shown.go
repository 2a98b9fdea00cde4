package tools

import (
	"cmp"

	"tandem/tools/words"
)

// Line is what a person is told of the result, in one line: its summary, or the sentence for its failure.
func (r *Result) Line() string {
	if r.Success {
		return r.Summary
	}
	return cmp.Or(r.Summary, words.Failure(string(r.Error), r.Detail()))
}

// Detail is the word that tells failures of one class apart: the reason, or of a denied permission who denied it.
func (r *Result) Detail() string {
	switch d := r.Denial; {
	case d == nil:
		return r.Reason
	case d.Source == "policy":
		return d.Layer
	default:
		return d.Source
	}
}

// Shown is the text of the result that a person sees. What was found, and what a command printed, is for a person as
// well as for the model. All else in Data is worded for the model alone, so a person sees the line instead.
func (r *Result) Shown(k Kind) string {
	switch {
	case r.Success && (k == Edit || k == Delete || k == Move || k == Think):
		return cmp.Or(r.Summary, r.Data)
	case r.Success, k == Execute && r.Value != nil: // it ran
		return r.Data
	}
	return r.Line()
}
