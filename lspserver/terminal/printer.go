// Package terminal is the side of a person at a terminal: it prints a turn as it happens, asks for
// permission, and plays a demonstration.
package terminal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
	"tandem/tools"
)

// Printer shows a turn on a terminal: the answer on one output, all else on another. Its methods
// may be called concurrently.
type Printer struct {
	out, info io.Writer // both make what is written visible
	person    *Person

	mu      sync.Mutex
	midline bool
	muted   bool
	asked   bool
	later   []func()   // what is printed once the question is answered
	asking  sync.Mutex // one question at a time
	take    func()     // takes back the question that stands
	over    bool       // no question is asked any more
	nobody  bool       // it was said that nobody can be asked
	refused int        // calls that would have changed something
	changed int        // those that may have
}

// NewPrinter makes a printer; person may be nil, then no question may come.
func NewPrinter(out, info io.Writer, person *Person) *Printer {
	return &Printer{out: out, info: info, person: person}
}

// Handlers are what the printer does with what a server sends.
func (p *Printer) Handlers() client.Handlers {
	h := client.Handlers{Update: p.update, Message: p.message}
	if p.person != nil {
		h.Permission = p.permission
	}
	return h
}

// Infof prints a line that is not part of the answer.
func (p *Printer) Infof(format string, args ...any) {
	p.print(func() {
		p.newline()
		fmt.Fprintf(p.info, format+"\n", args...)
	})
}

// End is called when the turn is over: a question that stands is taken back, and what waits for its
// answer is printed.
func (p *Printer) End() {
	p.mu.Lock()
	p.over = true
	if p.take != nil {
		p.take()
	}
	p.mu.Unlock()
	p.asking.Lock()
	defer p.asking.Unlock()
	p.print(p.newline)
}

// print lets f print, which holds p.mu, or does so once the question that stands is answered.
func (p *Printer) print(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked {
		p.later = append(p.later, f)
		return
	}
	f()
}

// Mute drops updates from now on, or no longer.
func (p *Printer) Mute(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.muted = on
}

func (p *Printer) newline() {
	if p.midline {
		fmt.Fprintln(p.out)
		p.midline = false
	}
}

func (p *Printer) update(u protocol.UpdateParams) {
	p.mu.Lock()
	muted := p.muted
	p.mu.Unlock()
	if !muted {
		p.print(func() { p.tell(u.Update) })
	}
}

func (p *Printer) tell(up protocol.Update) {
	switch up.SessionUpdate {
	case "agent_message_chunk":
		s := contentText(up.Content)
		fmt.Fprint(p.out, s)
		p.midline = !strings.HasSuffix(s, "\n")
	case "notice":
		if s := contentText(up.Content); s != "" {
			p.newline()
			fmt.Fprintln(p.info, "! "+s)
		}
	case "tool_call_update":
		meta := metaOf(up)
		if meta.State != "completed" {
			return
		}
		switch {
		case !slices.Contains([]string{"edit", "delete", "move", "execute"}, up.Kind):
		case meta.Error == string(tools.GateDenied) && meta.Reason == "user": // who has decided so knows
		case meta.Error == string(tools.GateDenied):
			p.refused++
		case up.Status == "completed":
			p.changed++
		}
		p.newline()
		mark := "✓"
		if up.Status == "failed" {
			mark = "✗"
		}
		fmt.Fprintln(p.info, mark, headline(up.Title, meta.Summary))
		for _, c := range contentOf(up) {
			switch {
			case c.Type == "diff":
				fmt.Fprint(p.info, unified(c))
			case up.Status == "failed" && up.Kind == "execute" && c.Content != nil && c.Content.Text != meta.Summary:
				fmt.Fprint(p.info, last(c.Content.Text))
			}
		}
	}
}

// Refused is how many changes were refused where none was made, else 0.
func (p *Printer) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed > 0 {
		return 0
	}
	return p.refused
}

// headline is a title with what came of it. A summary that names the call itself stands alone.
func headline(title, summary string) string {
	switch {
	case summary == "" || strings.HasPrefix(summary, title):
		return cmp.Or(summary, title)
	case strings.HasPrefix(title, summary):
		return title
	}
	return title + " · " + summary
}

// last is the end of what a command that failed has printed, where the reason usually stands.
func last(text string) string {
	const most = 12
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var b strings.Builder
	if more := len(lines) - most; more > 0 {
		fmt.Fprintf(&b, "  … %s before this\n", tools.Count(more, "line"))
		lines = lines[more:]
	}
	for _, l := range lines {
		b.WriteString("  | " + l + "\n")
	}
	return b.String()
}

func (p *Printer) message(s string) { p.Infof("! %s", s) }

// permission asks the person. Nothing else is printed meanwhile.
func (p *Printer) permission(ctx context.Context, q protocol.PermissionParams) (protocol.PermissionResult, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	p.newline()
	p.asked, p.take = true, cancel
	if p.over {
		cancel()
	}
	p.mu.Unlock()
	option, words, err := p.person.Permission(ctx, q)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = false
	for _, f := range p.later {
		f()
	}
	p.later = nil
	switch {
	case err != nil:
		if !p.nobody {
			p.nobody = true
			p.newline()
			fmt.Fprintf(p.info, "! %v, so no permission prompt can be shown. Actions that need one are refused.\n", err)
		}
		return protocol.PermissionResult{}, client.ErrNobody
	case ctx.Err() != nil:
		return protocol.PermissionResult{Outcome: protocol.PermissionOutcome{Outcome: "cancelled"}}, nil
	}
	r := protocol.PermissionResult{Outcome: protocol.PermissionOutcome{Outcome: "selected", OptionID: option}}
	if words != "" {
		r.Meta = &protocol.AnswerMeta{Tandem: protocol.AnswerWords{Feedback: words}}
	}
	return r, nil
}

// contentText is the text of a content block that came as free JSON.
func contentText(content any) string {
	m, _ := content.(map[string]any)
	s, _ := m["text"].(string)
	return s
}

func metaOf(u protocol.Update) protocol.UpdateMeta {
	if u.Meta == nil {
		return protocol.UpdateMeta{}
	}
	return as[protocol.UpdateMeta](u.Meta.Tandem)
}
