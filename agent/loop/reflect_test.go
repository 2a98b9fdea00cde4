package loop

import (
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/schema"
)

// TestF226FailureEvidence: failures of a tool in three messages since its last success are
// summarised once.
func TestF226FailureEvidence(t *testing.T) {
	ok := tools.Result{Success: true}
	fails := func(code filetime.Code, text string) tools.Result { return tools.Fail(code, "", "%s", text) }
	gone, busy := fails(filetime.ReadError, "a.go does not exist.\nThere is b.go."), fails(filetime.Timeout, "Too slow.")
	denied, cancelled, red := fails(tools.GateDenied, "No."), fails(filetime.Cancelled, "Stop."), fails(tools.ExitCode(1), "FAIL")
	for _, c := range []struct {
		name     string
		messages [][]tools.Result
		hints    []int // the messages that bring one
	}{
		{"three in a row", [][]tools.Result{{gone}, {busy}, {gone}, {gone}, {gone}}, []int{3}},
		{"in one message", [][]tools.Result{{gone, gone, gone, gone}, {gone}}, nil},
		{"a success between", [][]tools.Result{{gone}, {gone}, {ok}, {gone}, {gone}}, nil},
		{"again after a success", [][]tools.Result{{gone}, {gone}, {gone}, {ok}, {gone}, {gone}, {gone}}, []int{3, 7}},
		{"decisions", [][]tools.Result{{denied}, {cancelled}, {denied}, {denied}}, nil},
		{"tests that fail", [][]tools.Result{{red}, {red}, {red}, {red}}, nil},
	} {
		var r reflector
		var hints []int
		for i, m := range c.messages {
			r.nextMessage()
			for _, result := range m {
				if h := r.hint("read_file", result); h != "" {
					hints = append(hints, i+1)
				}
				if h := r.hint("grep", ok); h != "" {
					t.Errorf("%s: a success has the hint %q", c.name, h)
				}
			}
		}
		if len(hints) != len(c.hints) || len(hints) > 0 && hints[0] != c.hints[0] {
			t.Errorf("%s: hints after the messages %v, want %v", c.name, hints, c.hints)
		}
	}
	var r reflector
	for range 2 {
		r.nextMessage()
		r.hint("read_file", gone)
	}
	r.nextMessage()
	want := "\n\n3 calls of read_file in a row have failed:\n- [READ_ERROR] a.go does not exist. (2 times)\n- [TIMEOUT] Too slow.\n" +
		"Stop and think about what these have in common before the next call. If you do not see it, do it another way."
	if got := r.hint("read_file", busy); got != want {
		t.Errorf("the summary is %q", got)
	}
}

// TestF226EvidenceIsBounded: whatever fails how often, the summary stays short.
func TestF226EvidenceIsBounded(t *testing.T) {
	var r reflector
	hints := ""
	for i := range 100 {
		r.nextMessage()
		for range 30 {
			hints += r.hint("grep", tools.Fail(filetime.ReadError, "", "%s", strings.Repeat(string(rune('a'+i%26)), 10_000)+"é"))
		}
	}
	if len(hints) == 0 || len(hints) > 2000 {
		t.Errorf("the hints have %d bytes", len(hints))
	}
}

// TestF052ReflectorReadsIssues: two failures are the same mistake by their issues, whatever their
// texts are.
func TestF052ReflectorReadsIssues(t *testing.T) {
	invalid := func(data, path string) tools.Result {
		r := tools.Fail(tools.InvalidArgs, "", "%s", data)
		r.Issues = []schema.Issue{{Path: path, Expected: "string", Received: "42", Message: "m"}}
		return r
	}
	var r reflector
	for i, c := range []struct {
		result tools.Result
		hint   bool
	}{{invalid("one", "$.a"), false}, {invalid("two", "$.a"), true}, {invalid("two", "$.b"), false}} {
		r.nextMessage()
		if h := r.hint("grep", c.result); strings.Contains(h, "same mistake") != c.hint {
			t.Errorf("%d: %q", i, h)
		}
	}
}
