package window

import (
	"fmt"
	"slices"
	"strings"

	"tandem/agent/model"
)

// Facts are what a session knows of its conversation besides the messages.
type Facts struct {
	// Turn is the present one.
	Turn int
	// Summary is what the model has written of the conversation; "" is what it has written before.
	Summary string
	// Sections are texts for the model with a line of heading each, the most important first.
	Sections []string
}

// said is what a person has written.
type said struct {
	turn int
	text string
}

// refusal is a call that a person has refused, or has said something about.
type refusal struct{ call, text string }

const (
	// tailPart is the part of the room for the newest exchanges behind a ledger, wordsPart that for a person's words before they are cut.
	tailPart, wordsPart = 0.20, 0.15
	// wholeWords is how many of the latest messages of a person stay whole, briefWords how many characters stay of others.
	wholeWords, briefWords = 10, 400
	// maxLedger is how often a ledger can be made smaller after a refusal.
	maxLedger = 3
	// leastLedger is the number of bytes that a ledger may always have.
	leastLedger = 2000
)

// Asked takes in what a person has written in a turn, as they see it.
func (w *Window) Asked(turn int, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, said{turn, text})
}

// Recall takes in the refusals in messages of before, which a rewrite may have left out, and the last summary.
func (w *Window) Recall(messages []model.Message, summary string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recall(messages)
	w.summary = summary
}

// recall is Recall with w.mu held.
func (w *Window) recall(messages []model.Message) {
	var calls map[string]model.Call // made where there is a refusal: most conversations have none
	for i := range messages {
		m := &messages[i]
		refused := m.Failed && strings.HasPrefix(m.Text, "[GATE_DENIED]")
		if m.Role != model.Tool || !refused && !strings.Contains(m.Text, saidByUser) {
			continue
		}
		if slices.ContainsFunc(w.refusals, func(r refusal) bool { return r.call == m.CallID }) {
			continue
		}
		if calls == nil {
			calls = callsOf(messages)
		}
		c := calls[m.CallID]
		text := m.Text
		if _, words, ok := strings.Cut(m.Text, saidByUser); ok && !refused {
			text = saidByUser[1:] + words
		}
		w.refusals = append(w.refusals, refusal{m.CallID, fmt.Sprintf("%s %s: %s", c.Name, brief(c.Arguments, 200), brief(text, briefWords))})
	}
}

// Ledger replaces the conversation by what can be said of it without a model, and its newest exchanges. try counts how often it was made
// since the service last took a request: each time it is smaller. nil is that it cannot become smaller.
func (w *Window) Ledger(try int, facts Facts, handle Handle) (*Rewrite, []model.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if try >= maxLedger {
		return nil, nil
	}
	w.recall(w.messages)
	r := &Rewrite{Lines: map[string]string{}, Summary: facts.Summary}
	if facts.Summary == "" {
		facts.Summary = w.summary
	}
	have, room := w.tokens(), w.gauge.room()
	if room <= 0 || r.Summary != "" {
		room = have // a person may want a summary long before the window is full
	}
	share := 1.0
	for range try {
		share /= 2
	}
	r.Through = w.tail(r, int64(tailPart*share*float64(room)), handle)
	left := int64(target*share*float64(room)) - w.gauge.text(w.gauge.overhead)
	for i := range w.messages[r.Through:] {
		left -= w.gauge.of(&w.messages[r.Through+i])
	}
	r.Text = w.ledger(w.gauge.bytes(left), w.gauge.bytes(int64(wordsPart*share*float64(room))), facts)
	if r.Through == 0 || w.gauge.text(len(r.Text)) >= have {
		return nil, nil
	}
	before, gauge := w.messages, w.gauge
	w.rewrite(r)
	if r.After >= have {
		w.messages, w.gauge = before, gauge
		return nil, nil
	}
	w.summary = facts.Summary
	return r, before
}

// tail gives the index from which the newest messages stay, whole exchanges that have most tokens together. The results of the last
// exchange are cut in r where it has more alone. w.mu is held.
func (w *Window) tail(r *Rewrite, most int64, handle Handle) int {
	from, size := len(w.messages), int64(0)
	for from > 0 {
		begin := from - 1
		for begin > 0 && w.messages[begin].Role == model.Tool {
			begin--
		}
		n := int64(0)
		for i := begin; i < from; i++ {
			n += w.gauge.of(&w.messages[i])
		}
		if size+n > most {
			if from == len(w.messages) && len(w.messages[begin].Calls) > 0 && w.cut(r, begin, most, handle) {
				return begin
			}
			break
		}
		from, size = begin, size+n
	}
	return from
}

// cut cuts the results of the last exchange, which begins at an index, so that it has most tokens; false is that its calls alone have
// more. w.mu is held.
func (w *Window) cut(r *Rewrite, begin int, most int64, handle Handle) bool {
	results := w.messages[begin+1:]
	left := w.gauge.bytes(most - w.gauge.of(&w.messages[begin]))
	if left < 300*len(results) {
		return false
	}
	for i, m := range results {
		share := left / (len(results) - i)
		if len(m.Text) > share || len(m.Attachments) > 0 {
			mark := fmt.Sprintf("\n[… %d bytes are left out; read_file %s shows all …]\n", len(m.Text), handle(m.CallID))
			n := max(0, min(share, len(m.Text))-len(mark))
			head, end := strings.ToValidUTF8(m.Text[:n*2/3], ""), strings.ToValidUTF8(m.Text[len(m.Text)-n/3:], "")
			r.Lines[m.CallID] = head + mark + end
			left -= len(r.Lines[m.CallID])
			continue
		}
		left -= len(m.Text)
	}
	return true
}

// ledger is the text, of about most bytes; words is the number of bytes of a person's words above which they are cut. w.mu is held.
func (w *Window) ledger(most, words int, facts Facts) string {
	most = max(most, leastLedger)
	var b strings.Builder
	b.WriteString("[The earlier conversation is left out here, since it was longer than you can read. The program, not the user, has put this " +
		"together; it quotes the user. What you have read of files is gone: read them again before you change them.]\n")
	now := ""
	if n := len(w.asked); n > 0 {
		now = fmt.Sprintf("\nYou are in turn %d, asked: %s\n", facts.Turn, w.words(n-1, min(words, most/4)))
	}
	left := func() int { return most - b.Len() - len(now) }
	if s := facts.Summary; s != "" {
		b.WriteString("\nYour own summary of it, which the user has not read:\n" + strings.ToValidUTF8(s[:min(len(s), max(0, left()*2/3))], "") + "\n")
	}
	if n := len(w.asked); n > 1 {
		b.WriteString("\nWhat the user has said:\n" + w.before(min(words, left()/2)))
	}
	if len(w.refusals) > 0 {
		list := ""
		for _, r := range slices.Backward(w.refusals) {
			if line := "- " + r.text + "\n"; len(list)+len(line) < left()/3 {
				list = line + list
			}
		}
		if list != "" {
			b.WriteString("\nWhat the user has refused, or said about calls:\n" + list)
		}
	}
	for _, s := range facts.Sections {
		if len(s) > left() { // its first lines
			s = s[:max(0, strings.LastIndexByte(s[:max(0, min(len(s), left()))], '\n'))]
		}
		if s != "" {
			b.WriteString("\n" + strings.TrimSuffix(s, "\n") + "\n")
		}
	}
	b.WriteString(now)
	return b.String()
}

// before is what a person has said before their last message, in about most bytes. w.mu is held.
func (w *Window) before(most int) string {
	list := w.asked[:len(w.asked)-1]
	for _, characters := range []int{-1, briefWords, briefWords / 2, briefWords / 8} {
		var b strings.Builder
		for i, s := range list {
			text := s.text
			if whole := i == 0 || i >= len(list)-wholeWords; characters >= 0 && (!whole || characters < briefWords) {
				text = brief(text, characters)
			}
			fmt.Fprintf(&b, "Turn %d: %s\n", s.turn, text)
		}
		if b.Len() <= most {
			return b.String()
		}
	}
	first := fmt.Sprintf("Turn %d: %s\n", list[0].turn, brief(list[0].text, briefWords))
	rest := ""
	for i, s := range slices.Backward(list[1:]) {
		line := fmt.Sprintf("Turn %d: %s\n", s.turn, brief(s.text, briefWords/2))
		if len(first)+len(rest)+len(line) > most {
			return first + fmt.Sprintf("[%d messages are left out]\n", i+1) + rest
		}
		rest = line + rest
	}
	return first + rest
}

// words is a message of a person, at most that many bytes of it. w.mu is held.
func (w *Window) words(i, most int) string {
	text := w.asked[i].text
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out …]\n%s", strings.ToValidUTF8(text[:most*2/3], ""), len(text)-most, strings.ToValidUTF8(text[len(text)-most/3:], ""))
}
