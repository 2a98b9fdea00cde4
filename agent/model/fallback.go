package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// coolDown is the time for which a failed model is skipped if there is another (circuit breaker).
const coolDown = time.Minute

// WithFallbacks returns a model that fails over to others, in their order, if the first fails
// before its answer begins. A Notice names the model that answers. A failed model is skipped for a
// minute. The others are opened lazily.
func WithFallbacks(m Model, others []string, open func(name string) (Model, error)) Model {
	others = slices.DeleteFunc(slices.Clone(others), func(name string) bool { return name == m.Name() })
	if len(others) == 0 {
		return m
	}
	return &fallbacks{
		Model: m, others: others, open: open,
		failedAt: map[string]time.Time{}, opened: map[string]Model{},
	}
}

type fallbacks struct {
	Model  // the first
	others []string
	open   func(name string) (Model, error)

	mu       sync.Mutex
	failedAt map[string]time.Time
	opened   map[string]Model
}

func (f *fallbacks) Stream(ctx context.Context, r Request, on func(Delta)) (Response, error) {
	var first error
	var failures []string // failures that no notice has reported yet
	for i, name := range append([]string{f.Name()}, f.others...) {
		if i < len(f.others) && f.isCoolingDown(name) {
			continue
		}
		m, err := f.Model, error(nil)
		if i > 0 {
			m, err = f.openOther(name)
		}
		hasOutput := false
		if err == nil {
			if i > 0 {
				on(Delta{Notice: f.switchNotice(failures, m.Name())})
				failures = nil
			}
			var resp Response
			resp, err = m.Stream(ctx, r, func(d Delta) {
				hasOutput = hasOutput || d.Notice == "" && d.Thought == ""
				on(d)
			})
			if err == nil {
				return resp, nil
			}
		}
		if first == nil {
			first = err
		}
		var e *Error
		if hasOutput || ctx.Err() != nil || !errors.As(err, &e) || e.Kind == "context_window" {
			return Response{}, err // a request that is too long is made shorter by its caller
		}
		failures = append(failures, err.Error())
		f.mu.Lock()
		f.failedAt[name] = time.Now()
		f.mu.Unlock()
	}
	if len(failures) > 0 && failures[0] == first.Error() {
		failures = failures[1:] // the error itself
	}
	if len(failures) > 0 {
		on(Delta{Notice: strings.Join(failures, " ")})
	}
	return Response{}, first
}

func (f *fallbacks) openOther(name string) (Model, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.opened[name]; m != nil {
		return m, nil
	}
	m, err := f.open(name)
	if err == nil {
		f.opened[name] = m
	}
	return m, err
}

func (f *fallbacks) isCoolingDown(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.failedAt[name]
	return ok && time.Since(at) < coolDown
}

func (f *fallbacks) switchNotice(failures []string, name string) string {
	if len(failures) == 0 {
		return fmt.Sprintf("%s failed a moment ago. %s answers instead.", f.Name(), name)
	}
	return fmt.Sprintf("%s %s answers instead.", strings.Join(failures, " "), name)
}
