package model

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// endless says the same for ever, unless it is told to end.
type endless struct {
	piece Delta
	said  int
	deaf  int // pieces after which it ends, whatever it is told
}

func (e *endless) Name() string { return "mock/endless" }

func (e *endless) Stream(ctx context.Context, _ Request, on func(Delta)) (Response, error) {
	for e.deaf == 0 || e.said < e.deaf {
		if e.deaf == 0 && ctx.Err() != nil {
			return Response{}, ctx.Err()
		}
		on(e.piece)
		e.said++
	}
	return Response{Stop: StopEnd}, nil
}

// TestFindingS12EndlessAnswers cuts answers off that do not end, whatever they are made of.
func TestFindingS12EndlessAnswers(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for name, piece := range map[string]Delta{
		"text": {Text: long}, "thought": {Thought: long}, "arguments": {Call: &CallDelta{Arguments: long}},
		"name": {Call: &CallDelta{Name: long}}, "sealed": {Kept: &Thought{Sealed: []byte(long)}},
	} {
		for _, deaf := range []int{0, 1000} {
			m := &endless{piece: piece, deaf: deaf}
			got := 0
			_, err := Bounded(m).Stream(t.Context(), Request{}, func(Delta) { got++ })
			var e *Error
			if !errors.As(err, &e) || e.Kind != "bad_response" || e.Retryable || !strings.Contains(e.Message, "more than 8 MiB") {
				t.Errorf("%s: %v", name, err)
			}
			if got != maxAnswerBytes>>16 || deaf == 0 && m.said > got+1 {
				t.Errorf("%s: %d pieces were given on, %d said", name, got, m.said)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Bounded(&endless{piece: Delta{Text: "x"}}).Stream(ctx, Request{}, func(Delta) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if r, err := Bounded(&endless{piece: Delta{Text: long}, deaf: 128}).Stream(t.Context(), Request{}, func(Delta) {}); err != nil || r.Stop != StopEnd {
		t.Errorf("an answer of 8 MiB: %+v, %v", r, err)
	}
}
