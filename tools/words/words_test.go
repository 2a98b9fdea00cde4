package words_test

import (
	"regexp"
	"strings"
	"testing"

	"tandem/tools/words"
)

// classes are those that the protocol names, whether anything fails with them yet or not.
const classes = "TOOL_NOT_FOUND INVALID_ARGS NO_CHANGE GATE_DENIED PLAN_MODE OUTSIDE_ROOTS OUTSIDE_WRITE_ROOTS " +
	"PROTECTED_PATH READ_ERROR IS_DIRECTORY FILE_EXISTS WRITE_ERROR FILE_TOO_LARGE BINARY_FILE TEXT_NOT_FOUND " +
	"TEXT_MULTIPLE_MATCHES NOT_READ EDIT_CONFLICT PATCH_PARSE_ERROR PATCH_FAILED EXIT_CODE_1 EXIT_CODE_-1 TIMEOUT UNKNOWN " +
	"CANCELLED SIBLING_CANCELLED BUDGET_EXCEEDED CLAIMED CLARIFY_TIMEOUT NETWORK_DENIED UNSUPPORTED EXECUTION_ERROR"

// TestFindingU12Sentences: every class has a sentence of its own. A sentence is short and plain: one line without a code,
// a call's argument or the name of a tool.
func TestFindingU12Sentences(t *testing.T) {
	code := regexp.MustCompile(`[A-Z]{2,}|_|errno|[({\[]`)
	plain := strings.NewReplacer("UTF-8", "")
	sound := func(what, s string) {
		if s == "" || len(s) > 120 || strings.ContainsAny(s, "\n\"`") || code.MatchString(plain.Replace(s)) ||
			!strings.HasSuffix(s, ".") || s[0] < 'A' || s[0] > 'Z' {
			t.Errorf("%s: %q is no sentence for people", what, s)
		}
	}
	unknown := words.Failure("SOMETHING_NEW", "")
	known := map[string]bool{}
	for c := range strings.FieldsSeq(classes) {
		known[c] = true
		if s := words.Failure(c, "some_reason"); s == unknown {
			t.Errorf("%s has no sentence", c)
		} else {
			sound(c, s)
		}
	}
	sound("an unknown class", unknown)
	for key, s := range words.Failures() {
		sound(key, s)
		class, reason, _ := strings.Cut(key, "/")
		if !known[class] || words.Failure(class, reason) != s {
			t.Errorf("%s is of no class, or is not found", key)
		}
	}
	for reason, s := range words.Endings() {
		if sound(reason, s); words.Ending(reason) != s {
			t.Errorf("%s is not found", reason)
		}
	}
	for state, s := range words.States() {
		if s == "" || strings.ContainsAny(s, "_. ") {
			t.Errorf("%s: %q is no word for people", state, s)
		}
	}
}

// TestFindingU12States: a denied or stopped call has failed too, and is called by what happened to it.
func TestFindingU12States(t *testing.T) {
	for _, c := range []struct{ status, phase, code, want string }{
		{"pending", "use", "", "waiting"},
		{"in_progress", "progress", "", "running"},
		{"completed", "result", "", "done"},
		{"failed", "error", "TIMEOUT", "failed"},
		{"failed", "rejected", "GATE_DENIED", "denied"},
		{"failed", "", "GATE_DENIED", "denied"},
		{"failed", "error", "CANCELLED", "stopped"},
		{"failed", "error", "SIBLING_CANCELLED", "stopped"},
	} {
		if got := words.State(c.status, c.phase, c.code); got != c.want {
			t.Errorf("%+v is called %q", c, got)
		}
	}
}
