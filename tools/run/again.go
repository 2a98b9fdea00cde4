package run

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tandem/tools"
	"tandem/tools/gate"
)

// pause is what a running call gives up while a person is asked about what has only shown meanwhile: its place, its time limit, and
// its share of the turn's time.
type pause struct {
	mu     sync.Mutex
	leave  func() // nil where the call has no slot
	limit  *limit // nil where the call has none
	asked  int    // questions that stand
	since  time.Time
	asking time.Duration
}

// thinking stops the time of the call until a person has answered. Several questions may stand at once.
func (c *call) thinking() (answered func()) {
	p := &c.pause
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked++; p.asked == 1 {
		p.since = c.host.now()
		if p.limit != nil {
			p.limit.hold()
		}
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.asked--; p.asked == 0 {
			p.asking += c.host.now().Sub(p.since)
			if p.limit != nil {
				p.limit.release()
			}
		}
	})
}

// leave gives up the slot that the call has, and takes over another, nil for none.
func (c *call) leave(next func()) {
	c.pause.mu.Lock()
	defer c.pause.mu.Unlock()
	if c.pause.leave != nil {
		c.pause.leave()
	}
	c.pause.leave = next
}

// asking is how long a person has been asked while the call ran.
func (c *call) asking() time.Duration {
	c.pause.mu.Lock()
	defer c.pause.mu.Unlock()
	return c.pause.asking
}

// again implements tools.Judged.More: the same gate, rules and person as for the call itself.
func (c *call) again(ctx context.Context, title string, args json.RawMessage, needs []tools.Need) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	judge := func() gate.Decision {
		return c.host.Gate.Judge(gate.Call{Tool: c.tool, Args: args, Needs: c.host.Keys.flagged(args, needs), Turn: c.env.Turn, Context: ctx})
	}
	d := judge()
	switch d.Verdict {
	case gate.Allow:
		return nil
	case gate.Ask:
		plan := *c.plan
		plan.Title, plan.Needs = title, needs
		c.leave(nil)
		answered := c.thinking()
		_, err := c.consent(Question{Plan: &plan, Args: args, Judged: d})
		answered()
		if err != nil {
			return err
		}
		if d = judge(); d.Verdict < gate.Ask { // by what was changed while the question stood
			return c.denies(d)
		}
		place, err := c.takeSlot()
		if err == nil {
			c.leave(place)
		}
		return err
	}
	return c.denies(d)
}

// denies ends a call that has begun.
func (c *call) denies(d gate.Decision) error {
	return denied(tools.Denial{Reason: d.Reason, Rule: d.Rule, Layer: d.Layer, Source: "policy"},
		"Permission denied: %s. The call ended there. Go on without it, and tell the user what you could not do.", d.Reason)
}
