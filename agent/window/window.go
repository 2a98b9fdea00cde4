// Package window owns what the model of one conversation is sent: its history, the instructions before it, and the key of the prompt
// cache, with what that has cost so far. It knows neither tools nor sessions.
package window

import (
	"slices"
	"strings"
	"sync"

	"tandem/agent/model"
)

// Window is the context of one conversation. The history is append-only: a service finds its beginning in the prompt cache as long as
// the same bytes are sent again. All methods may be called concurrently.
type Window struct {
	key          string
	instructions []string

	mu       sync.Mutex
	messages []model.Message
	used     model.Usage
	notes    []string // for the next request
	gauge    gauge
	asked    []said
	refusals []refusal
	summary  string
	// unsummarised is set once the model could not summarise the conversation as it is.
	unsummarised bool
}

// New makes the window of a conversation that goes on from a history, which has used something before. The system messages in it are
// instructions. key is that of the prompt cache at the model's service.
func New(key string, history []model.Message, used model.Usage) *Window {
	w := &Window{key: key, used: used}
	for _, m := range history {
		if m.Role == model.System {
			w.instructions = append(w.instructions, m.Text)
		} else {
			w.messages = append(w.messages, m)
		}
	}
	return w
}

// Key is the key of the prompt cache.
func (w *Window) Key() string { return w.key }

// Instructions are the texts that belong into the system prompt.
func (w *Window) Instructions() []string { return slices.Clone(w.instructions) }

// Since gives the messages from index n on. The caller must not change them; an append makes a copy.
func (w *Window) Since(n int) []model.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.messages[n:len(w.messages):len(w.messages)]
}

// Add appends messages.
func (w *Window) Add(messages ...model.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages = append(w.messages, messages...)
}

// Note keeps a sentence for the next request; see TakeNotes.
func (w *Window) Note(sentence string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, sentence)
}

// TakeNotes gives the notes since it was last called, a line each.
func (w *Window) TakeNotes() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	notes := strings.Join(w.notes, "\n")
	w.notes = nil
	return notes
}

// EndTurn appends an answer with that text unless the last message is one, and gives what it has appended: many services require that
// the last message of a turn is the model's.
func (w *Window) EndTurn(text string) (added []model.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.messages); n == 0 || w.messages[n-1].Role != model.Assistant || len(w.messages[n-1].Calls) > 0 {
		added = []model.Message{{Role: model.Assistant, Text: text}}
	}
	w.messages = append(w.messages, added...)
	return added
}

// Use adds to the usage of all turns, and gives the sum.
func (w *Window) Use(u model.Usage) (sum model.Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = w.used.Add(u)
	return w.used
}
