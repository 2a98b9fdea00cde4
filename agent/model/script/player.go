package script

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tandem/agent/model"
)

// Player plays a script from its beginning, over any number of turns. It may be used concurrently:
// each request takes the next message.
type Player struct {
	name   string
	script *Script

	mu   sync.Mutex
	next int
	used map[int]bool // lines, by number
}

// New gives a model called name that plays s.
func New(name string, s *Script) *Player { return &Player{name: name, script: s, used: map[int]bool{}} }

// Name is the name that the model was made with.
func (p *Player) Name() string { return p.name }

// Unused lists the lines that have not been played, as "line 3: say Done."
func (p *Player) Unused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, m := range p.script.messages {
		for _, st := range m {
			if !p.used[st.line] {
				lines = append(lines, fmt.Sprintf("line %d: %s", st.line, st.text))
			}
		}
	}
	return lines
}

// Stream plays the next message.
func (p *Player) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	p.mu.Lock()
	i := p.next
	p.next++
	p.mu.Unlock()
	if i >= len(p.script.messages) {
		on(model.Delta{Text: "(script ended)"})
		return model.Response{Stop: model.StopEnd}, ctx.Err()
	}
	return play(ctx, fmt.Sprintf("call_%d", i+1), p.script.messages[i], r, on, func(st step) {
		p.mu.Lock()
		p.used[st.line] = true
		p.mu.Unlock()
	})
}

// play streams one message. Calls are named after id; played is told of each line that was carried
// out.
func play(
	ctx context.Context, id string, steps []step, r model.Request, on func(model.Delta), played func(step),
) (model.Response, error) {
	calls, said := 0, false
	for _, st := range steps {
		if err := ctx.Err(); err != nil {
			return model.Response{}, err
		}
		switch st.word {
		case "say":
			if said {
				on(model.Delta{Text: "\n"})
			}
			said = true
			for _, w := range words(st.arg) {
				on(model.Delta{Text: w})
			}
		case "think":
			for _, w := range words(st.arg) {
				on(model.Delta{Thought: w})
			}
		case "call":
			on(model.Delta{Call: &model.CallDelta{Index: calls, ID: fmt.Sprintf("%s_%d", id, calls+1), Name: st.arg}})
			for _, piece := range pieces(st.json) {
				on(model.Delta{Call: &model.CallDelta{Index: calls, Arguments: piece}})
			}
			on(model.Delta{Call: &model.CallDelta{Index: calls, Done: true}})
			calls++
		case "see":
			if text := conversation(r.Messages); !st.see.MatchString(text) {
				return model.Response{}, &model.Error{Kind: "bad_response", Message: fmt.Sprintf(
					"script line %d: the conversation does not match /%s/; it ends:\n%s", st.line, st.see, end(text))}
			}
		case "wait":
			select {
			case <-time.After(st.wait):
			case <-ctx.Done():
				return model.Response{}, ctx.Err()
			}
		case "stop":
			played(st)
			if st.arg == stopError {
				return model.Response{}, &model.Error{
					Kind: "cut", Message: fmt.Sprintf("The answer broke off, as line %d of the script says.", st.line),
				}
			}
			return model.Response{Stop: model.StopReason(st.arg)}, nil
		}
		played(st)
	}
	if calls > 0 {
		return model.Response{Stop: model.StopCalls}, nil
	}
	return model.Response{Stop: model.StopEnd}, nil
}

// words cuts text after each run of white space, so that joining the pieces gives it back.
func words(text string) []string {
	var out []string
	for text != "" {
		i := strings.IndexAny(text, " \t")
		if i < 0 {
			return append(out, text)
		}
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		out, text = append(out, text[:i]), text[i:]
	}
	return out
}

// pieces cuts arguments as a model's tokens would, never inside a character.
func pieces(text string) []string {
	const size = 16
	var out []string
	for len(text) > size {
		i := size
		for i > 0 && !utf8.RuneStart(text[i]) {
			i--
		}
		if i == 0 { // not UTF-8
			i = size
		}
		out, text = append(out, text[:i]), text[i:]
	}
	return append(out, text)
}

// conversation is what a pattern is matched against: every message's text and calls, a line break
// between them. The system prompt is left out, since it speaks of everything.
func conversation(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		if m.Role == model.System {
			continue
		}
		m = m.Carried(func(model.Attachment) bool { return false })
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "call %s %s\n", c.Name, c.Arguments)
		}
	}
	return b.String()
}

// end is the last part of a conversation, to show what did not match.
func end(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return "…" + text
}
