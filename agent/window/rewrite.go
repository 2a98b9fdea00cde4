package window

import (
	"strings"

	"tandem/agent/model"
)

// Rewrite makes the messages of a conversation fewer or shorter. It is data, so that the store can keep it: applied to the same
// messages, it gives the same ones in another process.
type Rewrite struct {
	// Lines are texts in the place of results, by call. Such a result loses its pictures.
	Lines map[string]string `json:"lines,omitempty"`
	// Bare are the messages that lose their pictures, by index.
	Bare []int `json:"bare,omitempty"`
	// Text is a message of the user's in the place of the first Through messages; 0 is none.
	Through int    `json:"through,omitempty"`
	Text    string `json:"text,omitempty"`
	// Summary is the part of Text that the model has written.
	Summary string `json:"summary,omitempty"`
	// Before and After are the estimated tokens of a request, Size those that the model can read.
	Before int64 `json:"before,omitempty"`
	After  int64 `json:"after,omitempty"`
	Size   int64 `json:"size,omitempty"`
}

// Apply gives the messages after the rewrite. The given ones are not changed.
func (r Rewrite) Apply(messages []model.Message) []model.Message {
	bare := map[int]bool{}
	for _, i := range r.Bare {
		bare[i] = true
	}
	through := min(r.Through, len(messages))
	out := make([]model.Message, 0, len(messages)-through+16)
	if r.Through > 0 {
		out = append(out, model.Message{Role: model.User, Text: r.Text})
	}
	for i, m := range messages[through:] {
		if line, ok := r.Lines[m.CallID]; ok && m.Role == model.Tool {
			m.Text, m.Attachments = line, nil
		}
		if bare[through+i] {
			m = withoutPictures(m)
		}
		out = append(out, m)
	}
	return out
}

// withoutPictures names the pictures of a message in their place.
func withoutPictures(m model.Message) model.Message {
	var names []string
	for _, a := range m.Attachments {
		names = append(names, a.Describe())
	}
	m.Text = strings.TrimPrefix(m.Text+"\n[Cleared: "+strings.Join(names, ", ")+"]", "\n")
	m.Attachments = nil
	return m
}

// Cleared are the calls whose results are no longer as they were, among those that were there before.
func (r Rewrite) Cleared(before []model.Message) (calls []string) {
	for i, m := range before {
		if _, ok := r.Lines[m.CallID]; m.Role == model.Tool && (ok || i < r.Through) {
			calls = append(calls, m.CallID)
		}
	}
	return calls
}

// rewrite makes w what r says. w.mu is held.
func (w *Window) rewrite(r *Rewrite) {
	r.Before, r.Size = w.tokens(), w.gauge.size()
	w.messages = r.Apply(w.messages)
	w.unsummarised = false
	w.gauge.restart()
	r.After = w.tokens()
}
