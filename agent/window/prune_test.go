package window_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tandem/agent/model"
	"tandem/agent/window"
)

func handle(call string) string { return "output:" + call }

// exchange is a call and its result.
func exchange(id, name, args, result string) []model.Message {
	return []model.Message{
		{Role: model.Assistant, Calls: []model.Call{{ID: id, Name: name, Arguments: args}}},
		{Role: model.Tool, CallID: id, Name: name, Text: result, Failed: strings.HasPrefix(result, "[") && !strings.HasPrefix(result, "[Cleared")},
	}
}

// long is a result of that many tokens, of 4 bytes each.
func long(tokens int, words string) string {
	return strings.Repeat(words+"\n", 4*tokens/(len(words)+1)+1)[:4*tokens]
}

// conversation draws one of several turns.
func conversation(t *rapid.T) (all []model.Message) {
	n := 0
	for turn := range rapid.IntRange(1, 6).Draw(t, "turns") {
		said := model.Message{Role: model.User, Text: fmt.Sprintf("Do %d.", turn)}
		if rapid.Bool().Draw(t, "with a picture") {
			said.Attachments = []model.Attachment{{MIMEType: "image/png", Name: "p.png", Data: []byte("x")}}
		}
		all = append(all, said)
		for range rapid.IntRange(0, 8).Draw(t, "answers") {
			answer := model.Message{Role: model.Assistant, Text: "Hm."}
			var results []model.Message
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				n++
				name := rapid.SampledFrom([]string{"read_file", "bash", "grep", "clarify", "task_list", "edit_file"}).Draw(t, "tool")
				args := fmt.Sprintf(`{"path":"f%d"}`, rapid.IntRange(0, 3).Draw(t, "file"))
				text := rapid.SampledFrom([]string{"", "[GATE_DENIED] ", "[UNKNOWN] ", "[NOT_READ] "}).Draw(t, "outcome") +
					long(rapid.IntRange(1, 3000).Draw(t, "tokens"), "some words of a result")
				e := exchange(fmt.Sprintf("c%d", n), name, args, text)
				answer.Calls = append(answer.Calls, e[0].Calls...)
				results = append(results, e[1])
			}
			all = append(append(all, answer), results...)
		}
		if rapid.Bool().Draw(t, "ends") {
			all = append(all, model.Message{Role: model.Assistant, Text: "Done."})
		}
	}
	return all
}

// TestPruneLaws holds the laws of a rewrite against any conversation: all calls keep their results, what must stay and what is
// new is as it was, nothing but results and pictures has changed, it comes down to half of the room or there is nothing left,
// the next pass finds nothing to do, and what the store keeps of it gives the same messages.
func TestPruneLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 20_000
		const room = size - size/4
		before := conversation(t)
		w := window.New("", before, model.Usage{})
		w.Serve("m", size, noon)
		had := w.Tokens()
		r, _ := w.Tidy(false, handle)
		after := w.Since(0)
		if r == nil {
			if len(after) != len(before) || had > room*8/10 && had-w.Tokens() != 0 {
				t.Fatal("it has changed without a rewrite")
			}
			return
		}
		if had <= room*8/10 || len(after) != len(before) || w.Tokens() >= had {
			t.Fatalf("%d tokens became %d, %d messages %d", had, w.Tokens(), len(before), len(after))
		}
		calls := 0
		for i := len(before) - 1; i >= 0; i-- {
			a, b := before[i], after[i]
			if len(a.Calls) > 0 {
				calls++
			}
			same := a.Same(b)
			a.Text, b.Text, a.Attachments, b.Attachments = "", "", nil, nil
			if !a.Same(b) || !same && before[i].Role == model.Assistant {
				t.Fatalf("message %d: %+v became %+v", i, before[i], after[i])
			}
			text := before[i].Text
			if same {
				continue
			}
			switch {
			case calls < 2 && before[i].Role == model.Tool:
				t.Fatalf("the result %d is of the last two answers", i)
			case before[i].Role == model.User && !strings.HasPrefix(after[i].Text, text+"\n[Cleared: p.png"):
				t.Fatalf("a person's words have changed: %s", after[i].Text)
			case before[i].Role == model.Tool && !strings.HasPrefix(after[i].Text, "[Cleared: "+a.Name):
				t.Fatalf("a result became %q", after[i].Text)
			case a.Name == "clarify" || a.Name == "task_list" || a.Failed && !strings.HasPrefix(text, "[NOT_READ]"):
				t.Fatalf("%s %.20s was cleared", a.Name, text)
			}
		}
		if w.Tokens() > room/2 {
			if more, _ := w.Prune(handle); more != nil {
				t.Fatalf("%d tokens are left, and %+v could be cleared", r.After, more)
			}
		}
		if again, _ := w.Tidy(false, handle); again != nil && r.After <= room/2 {
			t.Fatal("two rewrites of one conversation")
		}
		raw, err := json.Marshal(r)
		var kept window.Rewrite
		if err != nil || json.Unmarshal(raw, &kept) != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(after, kept.Apply(before)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestWhatGoesFirst clears what is of no use before what is old, and says how to have it again.
func TestWhatGoesFirst(t *testing.T) {
	turn := []model.Message{message(model.User, "Go.")}
	add := func(list []model.Message, more ...[]model.Message) []model.Message {
		for _, m := range more {
			list = append(list, m...)
		}
		return list
	}
	tail := add(nil, exchange("y", "bash", `{"command":"ls"}`, "a"), exchange("z", "bash", `{"command":"ls"}`, "a"))
	old := exchange("old", "bash", `{"command":"make"}`, long(2000, "built"))
	for name, c := range map[string]struct {
		messages []model.Message
		want     map[string]string
	}{
		"a read that was made again": {
			add(turn, old, exchange("a", "read_file", `{"path":"f","start_line":3}`, long(4000, "x")), exchange("b", "read_file", `{"path":"f"}`, long(100, "x")), tail),
			map[string]string{"a": `[Cleared: read_file "f", 8000 lines. Read it again where you need it.]`},
		},
		"a search that was made again": {
			add(turn, old, exchange("a", "grep", `{"pattern":"p"}`, long(4000, "x")), exchange("b", "grep", `{"pattern":"p"}`, "none"), tail),
			map[string]string{"a": `[Cleared: grep "p", 8000 lines. read_file output:a shows it.]`},
		},
		"a failure that was mended": {
			add(turn, old, exchange("a", "edit_file", `{"path":"f","new_string":"1"}`, "[NO_MATCH] "+long(4000, "x")), exchange("b", "edit_file", `{"path":"f"}`, "ok"), tail),
			map[string]string{"a": `[Cleared: edit_file "f" failed with NO_MATCH, 8000 lines. read_file output:a shows it.]`},
		},
		"else what is older": {
			add(turn, exchange("a", "bash", `{"command":"go test ./...\n"}`, "[COMMAND_FAILED] ok\nmain.go:3: some error\n"+long(4000, "x")+"\n[Exit code: 1]"), old, tail),
			map[string]string{"a": `[Cleared: bash "go test ./..." failed with COMMAND_FAILED, 8004 lines, exit code 1, first error: main.go:3: some error. read_file output:a shows it.]`},
		},
	} {
		w := window.New("", c.messages, model.Usage{})
		w.Serve("m", 8000, noon) // the room is 6000
		r, _ := w.Tidy(false, handle)
		if r == nil {
			t.Errorf("%s: nothing was cleared of %d tokens", name, w.Tokens())
			continue
		}
		if diff := cmp.Diff(c.want, r.Lines); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestWhenItIsTime prunes a warm conversation later than one that no cache holds, and none whose window is not known.
func TestWhenItIsTime(t *testing.T) {
	for _, c := range []struct {
		tokens int // of 6000 that there is room for
		size   int64
		cold   bool
		want   bool
	}{
		{4700, 8000, false, false},
		{4900, 8000, false, true},
		{3500, 8000, true, false},
		{3700, 8000, true, true},
		{50_000, 0, true, false},
	} {
		history := append([]model.Message{message(model.User, "Go.")}, exchange("a", "bash", `{"command":"x"}`, long(c.tokens/2, "x"))...)
		for _, id := range []string{"b", "c", "d"} {
			history = append(history, exchange(id, "bash", `{"command":"x"}`, long(c.tokens/6, "x"))...)
		}
		w := window.New("", history, model.Usage{})
		w.Serve("m", c.size, noon)
		if r, _ := w.Tidy(c.cold, handle); (r != nil) != c.want {
			t.Errorf("%+v: %+v of %d tokens", c, r, w.Tokens())
		}
	}
}

// BenchmarkTidy rewrites a conversation of 200,000 tokens.
func BenchmarkTidy(b *testing.B) {
	history := []model.Message{message(model.User, "Go.")}
	for i := range 400 {
		history = append(history, exchange(fmt.Sprint("c", i), "read_file", fmt.Sprintf(`{"path":"dir/file%d.go"}`, i%150), long(500, "some words of a file"))...)
	}
	for b.Loop() {
		w := window.New("", history, model.Usage{})
		w.Serve("m", 200_000, noon)
		if r, _ := w.Tidy(false, handle); r == nil {
			b.Fatal("nothing")
		}
	}
}
