package window

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/agent/model"
)

// The parts of the window's room at which a conversation is pruned, with a warm and with a cold prompt cache, the part that is
// left after that, the part of the newest messages that stay, and the least gain that is worth a cold prompt cache.
const (
	fullWarm, fullCold = 0.80, 0.60
	target             = 0.50
	newest             = 0.20
	worth              = 0.10
)

const (
	// keptExchanges is how many of the last answers with calls stay whole.
	keptExchanges = 2
	// pictureTurns is after how many turns pictures go first.
	pictureTurns = 2
	// leastGain is the number of tokens below which a result is not cleared.
	leastGain = 40
)

// Handle gives the path by which read_file shows the result of a call.
type Handle func(call string) string

// Tidy prunes the conversation where the next request would come near the window, and gives the rewrite and the messages before it; nil
// is none. All of it goes at once, since each rewrite costs the prompt cache. cold is what Serve has said.
func (w *Window) Tidy(cold bool, handle Handle) (*Rewrite, []model.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	room, limit := float64(w.gauge.room()), fullWarm
	if cold {
		limit = fullCold
	}
	have := float64(w.tokens())
	if room <= 0 || have <= limit*room {
		return nil, nil
	}
	return w.prune(int64(have-target*room), int64(worth*room), handle)
}

// summaryTokens is what a request for a summary needs besides the conversation: in a window of less than a few of it no summary is asked for.
const summaryTokens = 2500

// IsFull reports whether the conversation is near the window, pruning it would not leave enough room, and a summary of it can be asked for.
func (w *Window) IsFull(handle Handle) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	room, have := float64(w.gauge.room()), float64(w.tokens())
	if w.unsummarised || have <= fullWarm*room || room < 3*summaryTokens || have+summaryTokens > float64(w.gauge.size()) {
		return false
	}
	for _, c := range w.candidates(handle) {
		have -= float64(c.gain)
	}
	return have > fullCold*room
}

// Unsummarised takes in that the model could not summarise the conversation: it is asked again after the next rewrite.
func (w *Window) Unsummarised() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsummarised = true
}

// Prune prunes the conversation after the service has refused it. nil is that nothing can be cleared.
func (w *Window) Prune(handle Handle) (*Rewrite, []model.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.prune(w.tokens()-int64(target*float64(w.gauge.room())), leastGain, handle)
}

// PruneAll clears all that may be cleared. nil is that nothing can be.
func (w *Window) PruneAll(handle Handle) (*Rewrite, []model.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.prune(math.MaxInt64, leastGain, handle)
}

// candidate is a message that can be made shorter.
type candidate struct {
	index int
	line  string // "" for one that only loses its pictures
	gain  int64
	// first is set for what is of no more use: it goes before what is only old.
	first bool
}

// prune clears what is worth the least until need tokens are free, if that gives least or more. w.mu is held.
func (w *Window) prune(need, least int64, handle Handle) (*Rewrite, []model.Message) {
	all := w.candidates(handle)
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(order(a), order(b)) })
	r := &Rewrite{Lines: map[string]string{}}
	gain := int64(0)
	for _, c := range all {
		if gain >= need {
			break
		}
		gain += c.gain
		if c.line == "" {
			r.Bare = append(r.Bare, c.index)
		} else {
			r.Lines[w.messages[c.index].CallID] = c.line
		}
	}
	if gain == 0 || gain < least {
		return nil, nil
	}
	w.clearReferences(r, handle)
	before := w.messages
	w.rewrite(r)
	return r, before
}

// unchanged begins the answer to a read of what an earlier result shows.
const unchanged = "Unchanged: lines "

// clearReferences clears the answers that refer to a read which r clears. w.mu is held.
func (w *Window) clearReferences(r *Rewrite, handle Handle) {
	calls := callsOf(w.messages)
	files := map[string]bool{}
	for i := range w.messages {
		if m := &w.messages[i]; r.Lines[m.CallID] != "" {
			if path := argumentsOf(calls[m.CallID]).Path; path != "" {
				files[path] = true
			}
			if name := fileIn(m.Text); name != "" {
				files[name] = true
			}
		}
	}
	for i := range w.messages {
		m := &w.messages[i]
		if m.Role != model.Tool || !strings.HasPrefix(m.Text, unchanged) {
			continue
		}
		_, of, _ := strings.Cut(m.Text, " of ")
		name, _, _ := strings.Cut(of, " are as you read them")
		if files[name] || files[argumentsOf(calls[m.CallID]).Path] {
			r.Lines[m.CallID] = clearedLine(calls[m.CallID], m, handle)
		}
	}
}

// fileIn is the name of the file that a read shows.
func fileIn(result string) string {
	_, rest, _ := strings.Cut(result[:min(len(result), 4096)], `<file path="`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func order(c candidate) int {
	if c.first {
		return 0
	}
	return 1
}

// candidates are the messages that can be made shorter, the oldest first. w.mu is held.
func (w *Window) candidates(handle Handle) (all []candidate) {
	calls := callsOf(w.messages)
	spent := useless(w.messages, calls)
	kept, turns := w.keptFrom(), turnsAfter(w.messages)
	for i := range w.messages[:kept] {
		m := &w.messages[i]
		old := len(m.Attachments) > 0 && turns[i] >= pictureTurns
		switch {
		case m.Role == model.Tool && !stays(m):
			line := clearedLine(calls[m.CallID], m, handle)
			if gain := w.gauge.of(m) - w.gauge.text(len(line)); gain >= leastGain {
				all = append(all, candidate{index: i, line: line, gain: gain, first: spent[i] || old})
			}
		case m.Role == model.User && old:
			bare := withoutPictures(*m)
			all = append(all, candidate{index: i, gain: w.gauge.of(m) - w.gauge.of(&bare), first: true})
		}
	}
	return all
}

// keptFrom is the index of the first message that stays as it is, since it is among the newest. w.mu is held.
func (w *Window) keptFrom() int {
	byExchange, exchanges := len(w.messages), 0
	for byExchange > 0 && exchanges < keptExchanges {
		byExchange--
		if len(w.messages[byExchange].Calls) > 0 {
			exchanges++
		}
	}
	size, bySize := int64(0), len(w.messages)
	for limit := int64(newest * float64(w.gauge.room())); bySize > 0; bySize-- {
		if size += w.gauge.of(&w.messages[bySize-1]); size > limit {
			break
		}
	}
	return min(byExchange, bySize)
}

// stays reports whether a result is kept however old it is: what a person has said or refused, the list of tasks, and what is not known.
func stays(m *model.Message) bool {
	switch m.Name {
	case "clarify", "spawn_agent":
		return true
	}
	return strings.HasPrefix(m.Name, "task_") || m.Failed && (strings.HasPrefix(m.Text, "[GATE_DENIED]") || strings.HasPrefix(m.Text, "[UNKNOWN]")) ||
		strings.Contains(m.Text, saidByUser) || strings.HasPrefix(m.Text, "[Cleared: ")
}

// saidByUser begins what a person has written with an answer to a question for permission.
const saidByUser = "\nThe user says: "

// callsOf gives the calls of messages by their ids.
func callsOf(messages []model.Message) map[string]model.Call {
	calls := map[string]model.Call{}
	for _, m := range messages {
		for _, c := range m.Calls {
			calls[c.ID] = c
		}
	}
	return calls
}

// turnsAfter gives for each message how many turns have begun after it.
func turnsAfter(messages []model.Message) []int {
	out := make([]int, len(messages))
	n := 0
	for i := len(messages) - 1; i >= 0; i-- {
		out[i] = n
		begins := i == 0 || messages[i-1].Role == model.Assistant && len(messages[i-1].Calls) == 0
		if messages[i].Role == model.User && begins {
			n++
		}
	}
	return out
}

// arguments are what is compared of a call.
type arguments struct {
	Path    string `json:"path"`
	Command string `json:"command"`
	Pattern string `json:"pattern"`
	Query   string `json:"query"`
	URL     string `json:"url"`

	Start  json.RawMessage `json:"start_line"`
	End    json.RawMessage `json:"end_line"`
	Offset json.RawMessage `json:"offset"`
	Limit  json.RawMessage `json:"limit"`
}

func argumentsOf(c model.Call) (a arguments) {
	_ = json.Unmarshal([]byte(c.Arguments), &a) // what has another form is compared as text
	return a
}

// whole reports whether a read is one of a whole file.
func (a arguments) whole() bool {
	return a.Path != "" && len(a.Start)+len(a.End)+len(a.Offset)+len(a.Limit) == 0
}

// looks are the tools whose answer replaces an earlier one to the same question.
func looks(name string) bool {
	switch name {
	case readFile, "grep", "glob", "list_files", "file_info", "document_symbols", "workspace_symbols", "definition", "references", "diagnostics":
		return true
	}
	return false
}

const readFile = "read_file"

// useless finds results of no more use: of reads and searches that were made again later, and of failures that were mended.
func useless(messages []model.Message, calls map[string]model.Call) map[int]bool {
	out := map[int]bool{}
	done := map[[2]string]bool{} // calls that have succeeded later: by arguments, and by path
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Role != model.Tool {
			continue
		}
		if strings.HasPrefix(m.Text, unchanged) {
			continue // the earlier result is the one that counts
		}
		c := calls[m.CallID]
		a := argumentsOf(c)
		same, onPath := [2]string{c.Name, c.Arguments}, [2]string{c.Name + " of", a.Path}
		if m.Failed {
			out[i] = done[same] || a.Path != "" && done[onPath]
			continue
		}
		read := [2]string{"all of", a.Path}
		out[i] = looks(c.Name) && done[same] || c.Name == readFile && done[read]
		done[same], done[onPath] = true, true
		if c.Name == readFile && a.whole() {
			done[read] = true
		}
	}
	return out
}

// clearedLine is what stands in the place of a result: what it was, and how it is had again.
func clearedLine(c model.Call, m *model.Message, handle Handle) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Cleared: %s", cmp.Or(m.Name, c.Name))
	a := argumentsOf(c)
	if about := cmp.Or(a.Command, a.Pattern, a.Query, a.URL, a.Path); about != "" {
		fmt.Fprintf(&b, " %q", brief(about, 80))
	}
	text := m.Text
	if code, rest, ok := strings.Cut(strings.TrimPrefix(text, "["), "] "); m.Failed && ok && len(code) < 32 {
		fmt.Fprintf(&b, " failed with %s", code)
		text = rest
	}
	fmt.Fprintf(&b, ", %d lines", strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
	if a.Command != "" {
		if exit := exitCode(text); exit != "" {
			fmt.Fprintf(&b, ", exit code %s", exit)
		}
		if line := firstError(text); line != "" {
			fmt.Fprintf(&b, ", first error: %s", brief(line, 120))
		}
	}
	if path := handle(m.CallID); m.Name == readFile && !strings.HasPrefix(a.Path, "output:") {
		b.WriteString(". Read it again where you need it.]")
	} else {
		fmt.Fprintf(&b, ". read_file %s shows it.]", path)
	}
	return b.String()
}

// brief is the beginning of a text as one line.
func brief(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// exitCode is the last exit code that a result of bash names.
func exitCode(text string) string {
	const words = "xit code: "
	at := strings.LastIndex(text, words)
	if at < 0 {
		return ""
	}
	text = text[at+len(words):]
	n := 0
	for n < len(text) && n < 4 && ('0' <= text[n] && text[n] <= '9' || n == 0 && text[n] == '-') {
		n++
	}
	return text[:n]
}

// firstError is the first line that looks like an error.
func firstError(text string) string {
	for line := range strings.Lines(text) {
		if lower := strings.ToLower(line); strings.Contains(lower, "error") || strings.Contains(lower, "fail") || strings.Contains(lower, "panic") {
			return line
		}
	}
	return ""
}
