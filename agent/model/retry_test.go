package model

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// flaky fails with each of its errors in turn, saying text first where there is one, then answers.
type flaky struct {
	errs []error
	text string
	n    int
}

func (*flaky) Name() string { return "flaky" }

func (m *flaky) Stream(_ context.Context, _ Request, on func(Delta)) (Response, error) {
	if m.text != "" {
		on(Delta{Text: m.text})
	}
	m.n++
	if m.n <= len(m.errs) {
		return Response{}, m.errs[m.n-1]
	}
	return Response{Stop: StopEnd}, nil
}

func TestRetrying(t *testing.T) {
	busy := &Error{Message: "Busy.", Retryable: true}
	for _, c := range []struct {
		name    string
		m       flaky
		tries   int
		took    time.Duration
		fails   bool
		notices []string
	}{
		{"at once", flaky{}, 1, 0, false, nil},
		{
			"third time lucky",
			flaky{errs: []error{busy, busy}},
			3, 600 * time.Millisecond, false,
			[]string{"Busy. Trying again in 200ms (2 of 3).", "Busy. Trying again in 400ms (3 of 3)."},
		},
		{
			"gives up",
			flaky{errs: []error{busy, busy, busy, busy}},
			3, 600 * time.Millisecond, true,
			[]string{"Busy. Trying again in 200ms (2 of 3).", "Busy. Trying again in 400ms (3 of 3)."},
		},
		{
			"the server's advice",
			flaky{errs: []error{&Error{Message: "Slow.", Retryable: true, After: 7 * time.Second}}},
			2,
			7 * time.Second, false,
			[]string{"Slow. Trying again in 7s (2 of 3)."},
		},
		{"too much advice", flaky{errs: []error{&Error{Retryable: true, After: time.Hour}}}, 1, 0, true, nil},
		{"would not help", flaky{errs: []error{&Error{}}}, 1, 0, true, nil},
		{"already streaming", flaky{errs: []error{busy}, text: "a"}, 1, 0, true, []string{""}},
		{"another error", flaky{errs: []error{context.Canceled}}, 1, 0, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var notices []string
				_, err := Retrying(&c.m, 3, 200*time.Millisecond).Stream(t.Context(), Request{}, func(d Delta) {
					notices = append(notices, d.Notice)
				})
				if (err != nil) != c.fails || c.m.n != c.tries || time.Since(began) != c.took ||
					!slices.Equal(notices, c.notices) {
					t.Errorf("%v after %d tries and %s, told %q", err, c.m.n, time.Since(began), notices)
				}
			})
		})
	}
}

func TestRetryingIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		m := &flaky{errs: []error{&Error{Retryable: true}}}
		_, err := Retrying(m, 3, time.Second).Stream(ctx, Request{}, func(Delta) {})
		if !errors.Is(err, context.DeadlineExceeded) || m.n != 1 {
			t.Error(err, m.n)
		}
	})
}
