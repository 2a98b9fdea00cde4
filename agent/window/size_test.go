package window_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/agent/model"
	"tandem/agent/window"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func text(n int) model.Message { return message(model.User, strings.Repeat("a", n)) }

// TestEstimate follows a service that counts any number of bytes as a token: after one report the estimate is within a
// tenth of what the service will count.
func TestEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perToken := rapid.Float64Range(1.5, 12).Draw(t, "bytes a token")
		overhead := rapid.IntRange(0, 20_000).Draw(t, "overhead")
		w := window.New("", nil, model.Usage{})
		w.Serve("m", 0, noon)
		bytes, pictures := 0, 0
		for i, n := range rapid.SliceOfN(rapid.IntRange(2000, 50_000), 2, 8).Draw(t, "sizes") {
			m := text(n)
			if rapid.Bool().Draw(t, "picture") && i > 0 {
				m.Attachments = []model.Attachment{{MIMEType: "image/png"}}
				pictures++
			}
			w.Add(m)
			bytes += n
			input := int64(float64(bytes+overhead)/perToken) + int64(pictures)*1500
			if got := w.Tokens(); i > 0 && math.Abs(float64(got-input)) > 10+0.1*float64(input) {
				t.Fatalf("request %d: estimated %d, the service counts %d", i, got, input)
			}
			if learned := w.Measure(model.Usage{Input: input}, overhead, noon); learned != 0 {
				t.Fatalf("learned %d of a service that reads all", learned)
			}
			w.Add(message(model.Assistant, ""))
		}
	})
}

// TestWindowIsLearned knows the size of a window from what a service says, refuses and cuts, for the model that did.
func TestWindowIsLearned(t *testing.T) {
	type step struct {
		model   string
		known   int64
		report  int64 // the input that the service reports
		refused bool
		named   int64
		size    int64
	}
	for name, steps := range map[string][]step{
		"configured":                          {{model: "m", known: 5000, size: 5000}},
		"unknown":                             {{model: "m", report: 2500, size: 0}},
		"named by a refusal":                  {{model: "m", refused: true, named: 8192, size: 8192}},
		"not named":                           {{model: "m", report: 2500, size: 0}, {model: "m", refused: true, size: 4500}},
		"less than is configured":             {{model: "m", known: 50_000, refused: true, named: 8192, size: 8192}},
		"more than is configured":             {{model: "m", known: 5000, refused: true, named: 8192, size: 5000}},
		"of another model":                    {{model: "m", refused: true, named: 8192, size: 8192}, {model: "n", size: 0}, {model: "m", size: 8192}},
		"cut twice":                           {{model: "m", report: 2500}, {model: "m", report: 2600}, {model: "m", report: 2500}, {model: "m", report: 2550, size: 2600}},
		"cut once":                            {{model: "m", report: 2500}, {model: "m", report: 2600}, {model: "m", report: 7500, size: 0}},
		"fewer tokens, not cut":               {{model: "m", report: 2500}, {model: "m", report: 3200}, {model: "m", report: 4000, size: 0}},
		"no limit after all":                  {{model: "m", report: 2500}, {model: "m", report: 2600}, {model: "m", report: 2500}, {model: "m", report: 2550}, {model: "m", report: 10_000, size: 0}},
		"nothing is reported":                 {{model: "m"}, {model: "m"}, {model: "m", size: 0}},
		"only what is not cached is reported": {{model: "m", report: 2500}, {model: "m", report: 900}, {model: "m", report: 800}, {model: "m", report: 1000, size: 0}},
		"named too high":                      {{model: "m", report: 2500}, {model: "m", refused: true, named: 30_000, size: 4500}},
		"named higher than was guessed":       {{model: "m", refused: true, named: 8000, size: 8000}},
		"cut before any usage":                {{model: "m", report: 100, size: 0}},
		"refused, then configured":            {{model: "m", refused: true, named: 8192, size: 8192}, {model: "m", known: 4000, size: 8192}},
	} {
		w := window.New("", nil, model.Usage{})
		for i, s := range steps {
			w.Serve(s.model, s.known, noon)
			w.Add(text(10_000)) // 2500 tokens each, by the first report
			if s.refused {
				w.Refused(s.named)
			} else {
				w.Measure(model.Usage{Input: s.report}, 0, noon)
			}
			if last := i == len(steps)-1; last && w.Size() != s.size {
				t.Errorf("%s: %d, not %d", name, w.Size(), s.size)
			}
		}
	}
}

// TestCold knows when a prompt cache holds nothing of the conversation.
func TestCold(t *testing.T) {
	w := window.New("", nil, model.Usage{})
	for i, s := range []struct {
		model string
		after time.Duration
		cold  bool
	}{{"m", 0, true}, {"m", time.Minute, false}, {"m", 6 * time.Minute, true}, {"n", 0, true}, {"n", 0, false}} {
		noon := noon.Add(time.Duration(i) * time.Hour)
		w.Measure(model.Usage{Input: 1}, 0, noon)
		if cold := w.Serve(s.model, 0, noon.Add(s.after)); cold != s.cold {
			t.Errorf("%d: %t", i, cold)
		}
	}
}

// TestSameReport: a service that reports the same small number each time, as what stands in for one does, has shown nothing: no window is
// learned of it, and nothing is cleared for it.
func TestSameReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.Int64Range(1, 2000).Draw(t, "reported")
		overhead := rapid.IntRange(0, 20_000).Draw(t, "overhead")
		w := window.New("", nil, model.Usage{})
		w.Serve("m", rapid.SampledFrom([]int64{0, 200_000}).Draw(t, "known"), noon)
		size, bytes, counts := w.Size(), overhead, false
		for range rapid.IntRange(2, 40).Draw(t, "requests") {
			n := rapid.IntRange(1, 20_000).Draw(t, "size")
			w.Add(text(n))
			bytes += n
			counts = counts || float64(input) >= 0.02*float64(bytes)
			if learned := w.Measure(model.Usage{Input: input, Output: 5}, overhead, noon); learned != 0 || w.Size() != size {
				t.Fatalf("learned %d, the size is %d", learned, w.Size())
			}
			if got := w.Tokens(); !counts && float64(got) < 0.2*float64(bytes) {
				t.Fatalf("of %d bytes %d tokens are estimated", bytes, got)
			}
			w.Add(message(model.Assistant, "x"))
		}
	})
}
