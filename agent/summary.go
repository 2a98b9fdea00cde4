package agent

import (
	"context"
	"strings"
	"time"

	"tandem/agent/loop"
)

// summaryTime is how long a model may take for a summary.
const summaryTime = 2 * time.Minute

// summaryHeadings are the parts of a summary; one without most of them is none.
func summaryHeadings() []string {
	return []string{
		"Goal", "Asked and forbidden", "Decided and why", "Done", "What matters in each file", "Commands that worked or failed",
		"Open questions", "Next step",
	}
}

// summaryQuestion asks for a summary.
func summaryQuestion() string {
	return "[From the program, not from the user] This conversation is about to outgrow what you can read. Write a summary of it for yourself: " +
		"it takes the place of the messages above. Call no tool. If there is a summary above, keep what of it still holds. Be exact about names, " +
		"paths, figures and errors; leave out what can be read again. At most 1000 words, with these headings, each as a line of its own " +
		"beginning with ## :\n" + strings.Join(summaryHeadings(), "\n")
}

// summarise replaces the conversation by a summary of the model's; the zero value is that there is none. A bad one is asked for once more.
// instructions are a person's, or "".
func (c conversation) summarise(ctx context.Context, ask loop.Ask, instructions string) Compaction {
	question := summaryQuestion()
	if instructions != "" {
		question += "\nThe user wants it like this: " + instructions
	}
	for range 2 {
		limited, cancel := context.WithTimeout(ctx, summaryTime)
		text, ok, err := ask(limited, question)
		cancel()
		if ctx.Err() != nil {
			return Compaction{}
		}
		if err != nil {
			break
		}
		if text = strings.TrimSpace(text); !ok || !isSummary(text) {
			continue
		}
		facts := c.facts()
		facts.Summary = text
		if r, before := c.s.window.Ledger(0, facts, handle); r != nil {
			return Compaction{c.rewrote(r, before), "summary", r.Before, r.After}
		}
	}
	c.s.window.Unsummarised()
	return Compaction{}
}

// isSummary reports whether a text has most of the headings of a summary, and is not as long as a conversation.
func isSummary(text string) bool {
	const maxBytes = 32 << 10
	found := 0
	for _, h := range summaryHeadings() {
		if strings.Contains(strings.ToLower(text), "## "+strings.ToLower(h)) {
			found++
		}
	}
	return len(text) <= maxBytes && found >= len(summaryHeadings())/2
}
