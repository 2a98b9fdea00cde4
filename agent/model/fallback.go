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

// rest is how long a failed model is skipped if there is another.
const rest = time.Minute

// WithFallbacks gives a model that fails over to others, in their order, when the first fails
// before its answer begins. A Notice names the model that answers. A failed model is skipped for a
// minute. The others are opened lazily.
func WithFallbacks(m Model, others []string, open func(name string) (Model, error)) Model {
	others = slices.DeleteFunc(slices.Clone(others), func(name string) bool { return name == m.Name() })
	if len(others) == 0 {
		return m
	}
	return &fallbacks{
		Model: m, others: others, open: open,
		failed: map[string]time.Time{}, opened: map[string]Model{},
	}
}

type fallbacks struct {
	Model  // the first
	others []string
	open   func(name string) (Model, error)

	mu     sync.Mutex
	failed map[string]time.Time
	opened map[string]Model
}

func (f *fallbacks) Stream(ctx context.Context, r Request, on func(Delta)) (Response, error) {
	var first error
	var news []string // what has failed and is not told yet
	for i, name := range append([]string{f.Name()}, f.others...) {
		if i < len(f.others) && f.resting(name) {
			continue
		}
		m, err := f.Model, error(nil)
		if i > 0 {
			m, err = f.other(name)
		}
		said := false
		if err == nil {
			if i > 0 {
				on(Delta{Notice: f.why(news, m.Name())})
				news = nil
			}
			var resp Response
			resp, err = m.Stream(ctx, r, func(d Delta) {
				said = said || d.Notice == "" && d.Thought == ""
				on(d)
			})
			if err == nil {
				return resp, nil
			}
		}
		if first == nil {
			first = err
		}
		if said || ctx.Err() != nil || !errors.As(err, new(*Error)) {
			return Response{}, err
		}
		news = append(news, err.Error())
		f.mu.Lock()
		f.failed[name] = time.Now()
		f.mu.Unlock()
	}
	if len(news) > 0 && news[0] == first.Error() {
		news = news[1:] // the error itself
	}
	if len(news) > 0 {
		on(Delta{Notice: strings.Join(news, " ")})
	}
	return Response{}, first
}

func (f *fallbacks) other(name string) (Model, error) {
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

func (f *fallbacks) resting(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.failed[name]
	return ok && time.Since(at) < rest
}

func (f *fallbacks) why(news []string, name string) string {
	if len(news) == 0 {
		return fmt.Sprintf("%s failed a moment ago. %s answers instead.", f.Name(), name)
	}
	return fmt.Sprintf("%s %s answers instead.", strings.Join(news, " "), name)
}
