package window

import (
	"time"

	"tandem/agent/model"
)

const (
	// tokensPerByte is the estimate before a service has reported any usage.
	tokensPerByte = 0.25
	// pictureTokens is the estimate for a picture or a document.
	pictureTokens = 1500
	// maxAnswer is how much of a window is left free for the answer, at most; else a quarter.
	maxAnswer = 16_000
	// leastPerByte is the number of tokens of a byte below which a report is no count of the request: some services, and most that
	// stand in for one, report the same small number each time.
	leastPerByte = 0.02
	// leastWindow is the smallest window that a service which cuts without a word is taken to have.
	leastWindow = 2048
	// idle is the time after which a service has dropped a conversation from its prompt cache.
	idle = 5 * time.Minute
)

// gauge estimates how many tokens the next request has, and knows how many the model can read.
type gauge struct {
	model   string
	known   int64            // the window that is configured or listed, 0 for none
	learned map[string]int64 // by model: the window that refusals or silent cuts have shown

	ratio    float64 // tokens a byte; 0 before the first report
	overhead int     // bytes of the system prompt and the tools
	reported int64   // tokens of the last request and its answer; 0 for none since a rewrite
	counted  int     // the number of messages of that request
	last     time.Time
	measured bool // ratio is of a report
	// peak is the largest input that was reported since a rewrite, peakBytes how many bytes that request had, cuts how often a longer
	// one had no more tokens.
	peak      int64
	peakBytes int
	cuts      int
}

// Serve says which model the next request goes to, and how many tokens it can read; 0 is unknown. It reports whether the
// prompt cache is cold: another model has answered before, or none for some minutes.
func (w *Window) Serve(name string, known int64, now time.Time) (cold bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := &w.gauge
	cold = g.model != name || now.Sub(g.last) > idle
	if g.model != name {
		g.restart()
	}
	g.model, g.known = name, known
	return cold
}

// Measure takes in what a service has reported of a request, before the answer is added. overhead is the size of its system
// prompt and tools in bytes. learned is a window that has just been learned, else 0: a service that reports no more tokens for
// a longer conversation cuts it silently, to its largest input so far.
func (w *Window) Measure(u model.Usage, overhead int, now time.Time) (learned int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := &w.gauge
	g.overhead, g.last = overhead, now
	if u.Input <= 0 {
		return 0
	}
	bytes, pictures := overhead, 0
	for i := range w.messages {
		b, p := measure(&w.messages[i])
		bytes, pictures = bytes+b, pictures+p
	}
	if float64(u.Input) < leastPerByte*float64(bytes) {
		return 0
	}
	if u.Input > g.size() {
		delete(g.learned, g.model) // it was no limit
	}
	if g.peak >= leastWindow && u.Input <= g.peak+g.peak/50 && bytes > g.peakBytes+g.peakBytes/20 {
		sent := g.text(bytes) + int64(pictures)*pictureTokens
		if u.Input >= g.peak/2 && float64(u.Input) < 0.7*float64(sent) {
			g.cuts++
		}
		if g.cuts < 2 {
			return 0
		}
		g.cuts = 0
		g.learn(max(g.peak, u.Input))
		return g.size()
	}
	text := u.Input - int64(pictures)*pictureTokens
	if g.peak == 0 || 2*(u.Input-g.peak) >= g.text(bytes-g.peakBytes) { // else it may have been cut in part
		if text > 0 && bytes > 0 {
			g.ratio, g.measured = min(max(float64(text)/float64(bytes), 0.05), 1), true
		}
	}
	g.reported, g.counted = u.Input+u.Output, len(w.messages)
	g.peak, g.peakBytes, g.cuts = u.Input, bytes, 0
	return 0
}

// Refused takes in that the service has refused the request for its length: named is the window that it has told, 0 for
// none.
func (w *Window) Refused(named int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, have := &w.gauge, w.tokens()
	if named <= 0 || g.measured && named > have {
		named = have * 9 / 10
	}
	if size := g.size(); size <= 0 || named < size {
		g.learn(named)
	}
	if size := g.size(); !g.measured && have > 0 && have < size { // it has more tokens than was estimated
		g.reported = 0
		g.ratio = min(g.perByte()*float64(size)/float64(have)*1.05, 1)
	}
}

// Size is how many tokens the model can read, 0 if unknown.
func (w *Window) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gauge.size()
}

// Overflows reports whether the next request is longer than the model can read, as far as that has been measured.
func (w *Window) Overflows() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	room := w.gauge.room()
	return (w.gauge.ratio > 0 || w.gauge.learned[w.gauge.model] > 0) && room > 0 && w.tokens() > room
}

// Overhead is an estimate of the system prompt and the tools.
func (w *Window) Overhead() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gauge.text(w.gauge.overhead)
}

// Tokens is an estimate of the next request.
func (w *Window) Tokens() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tokens()
}

func (g *gauge) size() int64 {
	if n := g.learned[g.model]; n > 0 {
		return n
	}
	return g.known
}

func (g *gauge) learn(n int64) {
	if g.learned == nil {
		g.learned = map[string]int64{}
	}
	g.learned[g.model] = n
}

// restart forgets the last report, which was of another model or another conversation.
func (g *gauge) restart() { g.reported, g.peak, g.cuts = 0, 0, 0 }

// perByte is the number of tokens of a byte.
func (g *gauge) perByte() float64 {
	if g.ratio == 0 {
		return tokensPerByte
	}
	return g.ratio
}

// room is the part of the window that a request may fill.
func (g *gauge) room() int64 {
	n := g.size()
	return n - min(maxAnswer, n/4)
}

// of is the estimate for one message.
func (g *gauge) of(m *model.Message) int64 {
	bytes, pictures := measure(m)
	return g.text(bytes) + int64(pictures)*pictureTokens
}

// text is the estimate for a text of that many bytes.
func (g *gauge) text(bytes int) int64 {
	return int64(float64(bytes) * g.perByte())
}

// bytes is how long a text of that many tokens is.
func (g *gauge) bytes(tokens int64) int {
	return int(float64(max(0, tokens)) / g.perByte())
}

// tokens is the estimate for the next request: the last reported figure and what was added since. w.mu is held.
func (w *Window) tokens() int64 {
	g := &w.gauge
	n, from := g.text(g.overhead), 0
	if g.reported > 0 {
		n, from = g.reported, g.counted
		if from < len(w.messages) && w.messages[from].Role == model.Assistant {
			from++ // the answer
		}
	}
	for i := range w.messages[from:] {
		n += g.of(&w.messages[from+i])
	}
	return n
}

// measure gives the bytes of a message as text, and the number of its pictures.
func measure(m *model.Message) (bytes, pictures int) {
	bytes = len(m.Text)
	for _, c := range m.Calls {
		bytes += len(c.Name) + len(c.Arguments)
	}
	for _, t := range m.Thoughts {
		bytes += max(len(t.Text), len(t.Sealed))
	}
	return bytes, len(m.Attachments)
}
