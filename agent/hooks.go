package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tandem/agent/config"
	"tandem/filetime/text/show"
	"tandem/tools/hooks"
	"tandem/tools/run"
)

// maxHookText is how many characters a hook may tell the model when a session begins.
const maxHookText = 10_000

func hooksOf(list []config.Hook) (out []hooks.Hook) {
	for _, h := range list {
		out = append(out, hooks.Hook{Matcher: h.Matcher, Argv: h.Command, Timeout: time.Duration(h.TimeoutMs) * time.Millisecond})
	}
	return out
}

// hooks are the hooks around calls by the present configuration.
func (s *Session) hooks() []run.Hook {
	h := s.config().Hooks
	return s.reach.programs().Around(hooksOf(h.BeforeToolCall), hooksOf(h.AfterToolCall))
}

// beginning is what the hooks say that run when the session begins.
type beginning struct {
	done chan struct{} // nil where there are none
	said string        // for the model, with its first message
}

// begins runs the hooks of the session's beginning, in order and in the background.
func (s *Session) begins() {
	list, programs := hooksOf(s.config().Hooks.SessionStart), s.reach.programs()
	if len(list) == 0 {
		return
	}
	s.beginning.done = make(chan struct{})
	s.working.Add(1)
	go func() {
		defer s.working.Done()
		defer close(s.beginning.done)
		var said []string
		for _, a := range s.runHooks(s.ctx, programs, hooks.SessionStart, list, hooks.Event{}) {
			if a.output != "" {
				said = append(said, fmt.Sprintf("%s, which the user has configured, says at the beginning of this session:\n%s", a.name, a.output))
			}
		}
		s.beginning.said = strings.Join(said, "\n\n")
	}()
}

// atBegin waits for the hooks of the beginning and gives what they say, once. ctx ends the waiting.
func (s *Session) atBegin(ctx context.Context) (said string) {
	if s.beginning.done == nil {
		return ""
	}
	select {
	case <-s.beginning.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		said, s.beginning.said = s.beginning.said, ""
	case <-ctx.Done():
	}
	return said
}

// runEndHooks runs the hooks of a turn's end. The turn waits for them, so that a program that ends with it does not cut them off, unless a
// person has cancelled it.
func (t *Turn) runEndHooks(stop StopReason) {
	s := t.s
	list, programs := hooksOf(s.config().Hooks.TurnEnd), s.reach.programs()
	if len(list) == 0 {
		return
	}
	do := func() {
		s.runHooks(s.ctx, programs, hooks.TurnEnd, list, hooks.Event{Turn: t.number, Stop: string(stop)})
	}
	if stop != Cancelled {
		do()
		return
	}
	s.working.Add(1)
	go func() {
		defer s.working.Done()
		do()
	}()
}

type hookAnswer struct{ name, output string }

// runHooks runs hooks one after another, and tells the person of those that fail.
func (s *Session) runHooks(ctx context.Context, p hooks.Programs, event string, list []hooks.Hook, e hooks.Event) (out []hookAnswer) {
	e.Event, e.Session = event, s.o.ID
	for i, h := range list {
		name := hooks.Name(event, i, h)
		a, _, err := p.Run(ctx, h, e)
		if err == nil && (a.Input != nil || a.Decision != "") {
			err = fmt.Errorf("its answer has an input or a decision, and there is no call")
		}
		if ctx.Err() != nil {
			return out
		}
		if err != nil {
			s.o.Log.Warn("a hook failed", "hook", name, "error", err)
			s.Tell(Event{Turn: e.Turn, Notice: fmt.Sprintf("The hook %s failed: %s", name, show.Visible(err.Error(), false))})
			continue
		}
		if a.Output != nil {
			out = append(out, hookAnswer{name, clipAtWord(strings.TrimSpace(show.Prose(*a.Output)), maxHookText)})
		}
	}
	return out
}
