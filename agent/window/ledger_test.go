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

// orphan finds a result without its call right before it, or a call without its result.
func orphan(messages []model.Message) string {
	open := map[string]bool{}
	for i, m := range messages {
		switch m.Role {
		case model.Tool:
			if !open[m.CallID] {
				return fmt.Sprintf("message %d answers no call", i)
			}
			delete(open, m.CallID)
		default:
			if len(open) > 0 {
				return fmt.Sprintf("calls have no result before message %d", i)
			}
			for _, c := range m.Calls {
				open[c.ID] = true
			}
		}
	}
	if len(open) > 0 {
		return "the last calls have no result"
	}
	return ""
}

// TestNoOrphanResults shortens any conversation again and again, by every means: calls and results stay together, a person's words come
// first, each try is shorter than the one before, the last one fits into a quarter of the room, and what the store keeps of it gives
// the same messages.
func TestNoOrphanResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(4000, 40_000).Draw(t, "size")
		history := conversation(t)
		w := window.New("", history, model.Usage{})
		turns := 0
		for _, m := range history {
			if m.Role == model.User {
				turns++
				w.Asked(turns, m.Text)
			}
		}
		if rapid.Bool().Draw(t, "known") {
			w.Serve("m", size, noon)
		} else {
			w.Serve("m", 0, noon)
			w.Refused(rapid.SampledFrom([]int64{0, size}).Draw(t, "named"))
		}
		facts := window.Facts{Turn: turns, Sections: []string{"Files that you have seen:\n- " + strings.Repeat("a/b.go\n- ", rapid.IntRange(0, 3000).Draw(t, "files"))}}
		kept := w.Since(0)
		for try := -1; try < 3; try++ {
			had := w.Tokens()
			var r *window.Rewrite
			if try < 0 {
				r, _ = w.Prune(handle)
			} else {
				r, _ = w.Ledger(try, facts, handle)
			}
			if r == nil {
				if now := w.Tokens(); now != had {
					t.Fatalf("try %d: %d tokens became %d without a rewrite", try, had, now)
				}
				continue
			}
			now := w.Since(0)
			if why := orphan(now); why != "" {
				t.Fatalf("try %d: %s", try, why)
			}
			if w.Tokens() >= had || r.Before != had || r.After != w.Tokens() {
				t.Fatalf("try %d: %d tokens became %d: %+v", try, had, w.Tokens(), r)
			}
			raw, err := json.Marshal(r)
			var stored window.Rewrite
			if err != nil || json.Unmarshal(raw, &stored) != nil {
				t.Fatal(err)
			}
			kept = stored.Apply(kept)
			if diff := cmp.Diff(now, kept); diff != "" {
				t.Fatal(diff)
			}
			if try >= 0 && (now[0].Role != model.User || !strings.Contains(now[0].Text, fmt.Sprintf("You are in turn %d, asked: Do %d.", turns, turns-1))) {
				t.Fatalf("the ledger begins with %+v", now[0])
			}
		}
		bytes := 0
		for _, m := range w.Since(0) {
			bytes += len(m.Text)
		}
		if room := w.Size() - w.Size()/4; w.Tokens() > room/2 && bytes > 3000 {
			t.Fatalf("%d tokens are left where there is room for %d", w.Tokens(), room)
		}
	})
}

// TestLedgerKeeps has what a person has said and refused, and what a session knows, in each of several ledgers, also in another process.
func TestLedgerKeeps(t *testing.T) {
	var history []model.Message
	add := func(w *window.Window, more ...model.Message) {
		history = append(history, more...)
		w.Add(more...)
	}
	w := window.New("", nil, model.Usage{})
	w.Serve("m", 20_000, noon)
	asked := []string{"Never touch vendor/.", "Rename x.", "And y."}
	keeps := []string{"Never touch vendor/.", "Rename x.", `bash {"command":"rm -rf /"}: [GATE_DENIED] No.`, "The user says: only below src", "- task_1 done: first"}
	facts := window.Facts{Turn: 3, Sections: []string{"The list of tasks:\n- task_1 done: first\n"}}
	for i, text := range asked {
		w.Asked(i+1, text)
		add(w, message(model.User, text))
		if i == 0 {
			add(w, exchange("no", "bash", `{"command":"rm -rf /"}`, "[GATE_DENIED] No.")...)
			add(w, exchange("yes", "bash", `{"command":"go test"}`, "ok\nThe user says: only below src")...)
		}
		for k := range 20 {
			add(w, exchange(fmt.Sprintf("c%d-%d", i, k), "bash", `{"command":"x"}`, long(600, "x"))...)
		}
		add(w, message(model.Assistant, "Done."))
		if i == 0 {
			continue
		}
		if r, _ := w.Ledger(0, facts, handle); r == nil {
			t.Fatal("no ledger")
		}
		for _, keep := range keeps {
			if got := w.Since(0)[0].Text; !strings.Contains(got, keep) && !strings.Contains(keep, asked[i]) {
				t.Errorf("ledger %d has no %q:\n%s", i, keep, got)
			}
		}
	}
	again := window.New("", history, model.Usage{})
	again.Serve("m", 20_000, noon)
	again.Recall(history, "")
	for i, text := range asked {
		again.Asked(i+1, text)
	}
	if r, _ := again.Ledger(0, facts, handle); r == nil || r.Text != w.Since(0)[0].Text {
		t.Errorf("another process has another ledger: %+v\n%s", r, w.Since(0)[0].Text)
	}
}

// TestLedgerOfManyWords keeps the first and the latest of very many words.
func TestLedgerOfManyWords(t *testing.T) {
	w := window.New("", nil, model.Usage{})
	w.Serve("m", 8000, noon)
	for i := range 500 {
		text := fmt.Sprintf("Message %d. %s", i, strings.Repeat("And more words. ", 60))
		w.Asked(i+1, text)
		w.Add(message(model.User, text), message(model.Assistant, "Yes."))
	}
	if r, _ := w.Ledger(0, window.Facts{Turn: 500}, handle); r == nil {
		t.Fatal("no ledger")
	}
	got := w.Since(0)[0].Text
	for _, keep := range []string{"Message 0. ", "messages are left out]", "Message 498. ", "You are in turn 500, asked: Message 499. And more words. "} {
		if !strings.Contains(got, keep) {
			t.Errorf("no %q in\n%s", keep, got)
		}
	}
	if n := w.Tokens(); n > 3000 {
		t.Errorf("%d tokens", n)
	}
}

// TestLastResultIsCut cuts a result that is too long alone, and says where the rest is.
func TestLastResultIsCut(t *testing.T) {
	w := window.New("", append([]model.Message{message(model.User, "Go.")}, exchange("a", "bash", `{"command":"x"}`, "first\n"+long(30_000, "x")+"\nlast")...), model.Usage{})
	w.Asked(1, "Go.")
	w.Serve("m", 8000, noon)
	if r, _ := w.Ledger(0, window.Facts{Turn: 1}, handle); r == nil {
		t.Fatal("no ledger")
	}
	all := w.Since(0)
	last := all[len(all)-1]
	if last.CallID != "a" || !strings.HasPrefix(last.Text, "first\n") || !strings.HasSuffix(last.Text, "\nlast") || !strings.Contains(last.Text, "read_file output:a shows all") {
		t.Errorf("%+v", all)
	}
}
