package updates_test

import (
	"strings"
	"testing"

	"tandem/agent"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
)

// TestCaseI07Said: escape sequences, links of a terminal and characters that turn text around are written out in what a model says and
// thinks, also where they come in pieces; what languages are written with stays.
func TestCaseI07Said(t *testing.T) {
	var said strings.Builder
	u := updates.New(updates.Options{
		Send: func(p protocol.Update) {
			if block, ok := p.Content.(protocol.ContentBlock); ok {
				said.WriteString(block.Text)
			}
		},
		Waiting: func() int { return 0 }, Guard: func(f func()) { f() }, MaxDiff: func() int { return 0 },
	})
	pieces := []string{"a\x1b", "[2Jb\n\t", "\x1b]8;;http://evil\x07link", "\u202e", "txt\u2066", "\u009b31m\r", "\u2028"}
	for _, text := range pieces {
		u.On(agent.Event{Text: text})
	}
	for _, text := range pieces {
		u.On(agent.Event{Thought: text})
	}
	u.Flush()
	if strings.ContainsAny(said.String(), "\x1b\x07\r\u202e\u2066\u009b\u2028") || strings.Count(said.String(), `a\u{1b}[2Jb`+"\n\t"+`\u{1b}]8;;http://evil\u{7}link`) != 2 {
		t.Errorf("%q", said.String())
	}
	const prose = "می\u200cخواهم 👩\u200d💻 ⚠️ é العربية\u200f.\n"
	said.Reset()
	u.On(agent.Event{Text: prose})
	if u.Flush(); said.String() != prose {
		t.Errorf("%q", said.String())
	}
}
