package run

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tandem/tools"
	"tandem/tools/outputs"
)

// lines counts the lines of a text; what follows the last line end is one if there is something.
func lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

func limitsOf(chars int) tools.Limits {
	return tools.Limits{MaxToolOutputChars: chars, MaxImageBytes: 1 << 20}
}

// F87: the middle goes, the limit holds, no character is cut in two, and the mark counts what is gone.
func TestF087Truncation(t *testing.T) {
	whole := strings.Repeat("ä😀", 50_000)
	r := tools.Result{Success: true, Data: whole}
	shorten(&r, &tools.Env{}, limitsOf(30_000))
	head, tail, ok := strings.Cut(r.Data, fmt.Sprintf("\n… [%d bytes cut] …\n", 70_000*3))
	kept := utf8.RuneCountInString(head) + utf8.RuneCountInString(tail)
	if !ok || !r.Truncated || kept != 30_000 || !utf8.ValidString(r.Data) || !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) {
		t.Errorf("%d characters are left, truncated %v: %.100s", kept, r.Truncated, r.Data[len(head):])
	}
	r = tools.Result{Success: true, Data: strings.Repeat("x", 100_000)}
	if shorten(&r, &tools.Env{}, limitsOf(30_000)); !strings.Contains(r.Data, "[70000 bytes cut]") {
		t.Errorf("%.40s", r.Data[15_000:])
	}
	r = tools.Result{Success: true, Data: whole}
	if shorten(&r, &tools.Env{}, limitsOf(0)); r.Data != whole || r.Truncated {
		t.Error("without a limit nothing is cut")
	}
}

// P7: whole lines are left at both ends, and the mark says by which line of which path the rest can be read.
func TestFindingP7WholeLines(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	env := &tools.Env{Call: "call_7", Outputs: &outputs.Outputs{}}
	r := tools.Result{Success: true, Data: b.String()}
	shorten(&r, env, limitsOf(30_000))
	m := regexp.MustCompile(`(?s)^(.*\n)… \[(\d+) lines, (\d+) bytes cut: read_file shows them with path "output:call_7" and start_line (\d+)\] …\n(.*)$`).FindStringSubmatch(r.Data)
	if m == nil {
		t.Fatalf("%.200s", r.Data[14_900:])
	}
	head, tail := m[1], m[5]
	gone, _ := strconv.Atoi(m[2])
	bytes, _ := strconv.Atoi(m[3])
	start, _ := strconv.Atoi(m[4])
	if lines(head)+gone+lines(tail) != 10_000 || len(head)+bytes+len(tail) != b.Len() || start != lines(head)+1 || !strings.HasPrefix(tail, "line ") {
		t.Errorf("%d lines and %d bytes are said to be gone, from line %d on", gone, bytes, start)
	}
	if r.Meta.Output != "call_7" || len(head) < 14_000 || len(tail) < 14_000 {
		t.Errorf("%q, %d and %d bytes", r.Meta.Output, len(head), len(tail))
	}
	if kept, err := env.Outputs.Get("call_7"); err != nil || kept != b.String() {
		t.Errorf("%d bytes are kept, %v", len(kept), err)
	}
}

// What is left and what the marks count is the whole, whatever was left out where, and by whom; and the line that a mark names is the
// first that is not there whole.
func TestFindingB4MarksCount(t *testing.T) {
	counted := regexp.MustCompile(`… \[(?:(\d+) lines?, )?(\d+) bytes? (?:not kept|cut)(?:: read_file shows them with path "output:c" and start_line (\d+))?\] …\n`)
	rapid.Check(t, func(t *rapid.T) {
		env := &tools.Env{Call: "c", Outputs: &outputs.Outputs{}}
		limit := rapid.IntRange(1, 60).Draw(t, "limit")
		r := tools.Result{Success: true, Data: "x\n"}
		all, ends := 2, 1
		for _, s := range rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("aä😀\n")), 1, 30, -1), 0, 5).Draw(t, "pieces") {
			if g := (tools.Gap{At: len(r.Data), Bytes: rapid.Int64Range(0, 1e6).Draw(t, "bytes")}); g.Bytes > 0 && rapid.Bool().Draw(t, "gap") {
				g.Lines = rapid.Int64Range(0, g.Bytes).Draw(t, "lines")
				r.Gaps = append(r.Gaps, g)
				all, ends = all+int(g.Bytes), ends+int(g.Lines)
			}
			r.Data += s
			all, ends = all+len(s), ends+strings.Count(s, "\n")
		}
		before := r
		shorten(&r, env, limitsOf(limit))
		got, gone := len(counted.ReplaceAllString(r.Data, "")), 0
		for _, m := range counted.FindAllStringSubmatch(r.Data, -1) {
			n, _ := strconv.Atoi(m[2])
			l, _ := strconv.Atoi(m[1])
			got, gone = got+n, gone+l
		}
		// A mark may have ended a line that was not: one byte more for each.
		marks := len(counted.FindAllString(r.Data, -1))
		if got < all || got > all+marks || gone > ends {
			t.Fatalf("%d bytes and %d lines in %q, want %d and at most %d", got, gone, r.Data, all, ends)
		}
		cut := marked(before.Data, before.Gaps)
		if _, is := cut.cut(limit); is != (r.Meta.Output != "") || r.Truncated != (is || len(cut.marks) > 0) {
			t.Fatalf("cut %v, truncated %v, output %q", is, r.Truncated, r.Meta.Output)
		}
		for _, m := range counted.FindAllStringSubmatchIndex(r.Data, -1) {
			if m[6] < 0 {
				continue
			}
			start, _ := strconv.Atoi(r.Data[m[6]:m[7]])
			kept, err := env.Outputs.Get("c")
			list := strings.SplitAfter(kept, "\n")
			if err != nil || start > len(list) {
				t.Fatalf("line %d of %q, %v", start, kept, err)
			}
			head := r.Data[:m[0]]
			if shown := strings.Join(list[:start-1], ""); !strings.HasPrefix(head, shown) || len(shown) < len(head) && !strings.HasPrefix(list[start-1], strings.TrimSuffix(head[len(shown):], "\n")) {
				t.Fatalf("%q is followed by line %d of %q", head, start, kept)
			}
		}
	})
}

// The texts of a result are kept as one, and each mark names the line in it.
func TestF088PartsAreCutToo(t *testing.T) {
	env := &tools.Env{Call: "call\n1", Outputs: &outputs.Outputs{}}
	long := func(what string) string { return strings.Repeat(what+"\n", 100) }
	r := tools.Result{Success: true, Data: long("data"), Parts: []tools.Part{
		{Kind: tools.TextPart, Text: long("first")}, {Kind: tools.TextPart, Text: long("second")},
	}}
	shorten(&r, env, limitsOf(600))
	id := outputs.ID(env.Call)
	if r.Data != long("data") || r.Meta.Output != id || strings.ContainsAny(id, "\n ") {
		t.Errorf("%q %q", id, r.Data)
	}
	kept, err := env.Outputs.Get(id)
	list := strings.Split(kept, "\n")
	for i, want := range []string{"first", "second"} {
		m := regexp.MustCompile(`start_line (\d+)\]`).FindStringSubmatch(r.Parts[i].Text)
		if m == nil {
			t.Fatalf("%v %q", err, r.Parts[i].Text)
		}
		if n, _ := strconv.Atoi(m[1]); list[n-1] != want || i == 1 && list[n-2] != "" {
			t.Errorf("line %d of what is kept is %q", n, list[n-1])
		}
	}
}
