package run

import (
	"errors"
	"sync"
	"time"

	"tandem/tools"
	"tandem/tools/words"
)

var errBudget = errors.New("the turn's time for tools is over")

// Budget is what the calls of one turn may use together; 0 is no limit. It may be used concurrently.
type Budget struct {
	MaxCalls int
	MaxTime  time.Duration

	mu      sync.Mutex
	calls   int
	used    time.Duration
	refused bool
}

// Refused says that a call was refused, or stopped, because the budget is used up.
func (b *Budget) Refused() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// take lets a call begin, or refuses it.
func (b *Budget) take() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	switch {
	case b.MaxCalls > 0 && b.calls > b.MaxCalls:
		b.refused = true
		return spent("tool_calls", "The %d tool calls that one turn may make (budget.maxToolCalls) are made. Nothing was done.", b.MaxCalls)
	case b.MaxTime > 0 && b.used >= b.MaxTime:
		b.refused = true
		return spent("tool_time", "The %v that the tools of one turn may take (budget.maxToolTimeMs) are over. Nothing was done.", b.MaxTime)
	}
	return nil
}

// left is how much time there is, 0 for any.
func (b *Budget) left() time.Duration {
	if b == nil || b.MaxTime == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.MaxTime-b.used, 1)
}

// spend takes the time of a call into account.
func (b *Budget) spend(d time.Duration) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += d
}

// stopped is the failure of a call that the end of the budget has ended.
func (b *Budget) stopped() *tools.Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused = true
	return spent("tool_time", "The call was stopped: the tools of one turn may take %v (budget.maxToolTimeMs), and that time is "+
		"over. Part of its work may have been done.", b.MaxTime)
}

func spent(reason, format string, args ...any) *tools.Refusal {
	return &tools.Refusal{Result: tools.Fail(tools.BudgetExceeded, reason, "%s Call no more tools: say what is done and what is left.",
		words.Of(format, args...))}
}
