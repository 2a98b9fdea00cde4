package lspserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/lspserver/conformance"
)

// Twenty sessions at once in one server, in the time of the machine: each reads, edits files of its own and lines of
// two files that all share (one open in the editor and typed into, one not), is allowed most of it and refused one
// edit, and runs a command; then all undo their turn at once.
func TestTwentySessionsWithPermissions(t *testing.T) {
	const sessions = 20
	var mu sync.Mutex
	asked := map[string]int{}
	r := start(t, conformance.Options{
		Ask: func(_ int, a conformance.Ask) string {
			mu.Lock()
			defer mu.Unlock()
			asked[a.SessionID]++
			if asked[a.SessionID] == 4 { // the edit of the line to keep
				return "reject_once"
			}
			return "allow_once"
		},
	}, options(nil))
	var shared, closed strings.Builder
	for i := range sessions {
		fmt.Fprintf(&shared, "%02d: line of s%02d;\n%02d: keep s%02d;\n", i, i, i, i)
		fmt.Fprintf(&closed, "%02d: closed line of s%02d;\n", i, i)
		r.write(fmt.Sprintf("own/s%02d.txt", i), fmt.Sprintf("secret of s%02d\n", i))
	}
	r.write("shared.txt", shared.String())
	r.write("closed.txt", closed.String())
	if err := r.Open("shared.txt"); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, sessions)
	var work sync.WaitGroup
	for i := range sessions {
		work.Go(func() {
			me := fmt.Sprintf("s%02d", i)
			ids[i] = r.session(map[string]any{"mode": "ask", "model": r.script(strings.ReplaceAll(`call read_file {"path":"own/ME.txt"}
call read_file {"path":"shared.txt"}
call read_file {"path":"closed.txt"}

see /secret of ME/
call edit_file {"path":"own/ME.txt","old_text":"secret of ME","new_text":"no secret of ME"}

see /File edited: own.ME.txt/
call edit_file {"path":"shared.txt","old_text":"line of ME;","new_text":"edited by ME;"}

call edit_file {"path":"closed.txt","old_text":"closed line of ME;","new_text":"closed, edited by ME;"}

see /File edited: closed.txt/
call edit_file {"path":"shared.txt","old_text":"keep ME;","new_text":"lost ME;"}

see /Permission denied: the user denied/
call bash {"command":"echo ME > out-ME.txt; cat own/ME.txt"}

see /no secret of ME\nexit code: 0/
say Done, says ME.
`, "ME", me))})
			end := r.prompt(ids[i], "I am "+me)
			if end.StopReason != "end_turn" {
				t.Errorf("%s: %+v %s", me, end, r.said(ids[i], "notice"))
			}
			equal(t, me+" said", r.said(ids[i], "agent_message_chunk"), "Done, says "+me+".")
		})
	}
	typed := 0
	person := conformance.Person{Editor: r.Editor, File: "shared.txt", Gap: func() time.Duration { return 2 * time.Millisecond }}
	if _, err := person.Type(r.ctx, 100, func(text string) []conformance.Splice {
		typed++
		at := strings.Index(text, "\n") + 1
		return []conformance.Splice{{Start: at, End: at, New: fmt.Sprintf("<%d>\n", typed)}}
	}); err != nil {
		t.Error(err)
	}
	work.Wait()
	check := func(name, text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if n := strings.Count(text, w); n != 1 {
				t.Errorf("%s has %q %d times", name, w, n)
			}
		}
	}
	now, _ := r.Text("shared.txt")
	disk, _ := r.Text("closed.txt")
	for i := range sessions {
		me := fmt.Sprintf("s%02d", i)
		check("shared.txt", now, fmt.Sprintf("%02d: edited by %s;\n", i, me), fmt.Sprintf("%02d: keep %s;\n", i, me))
		check("closed.txt", disk, fmt.Sprintf("%02d: closed, edited by %s;\n", i, me))
		if text, _ := r.Text("own/" + me + ".txt"); text != "no secret of "+me+"\n" {
			t.Errorf("own/%s.txt is %q", me, text)
		}
		if out, err := os.ReadFile(r.Path("out-" + me + ".txt")); err != nil || string(out) != me+"\n" {
			t.Errorf("%s: %q %v", me, out, err)
		}
		equal(t, "questions of "+me, asked[ids[i]], 5)
	}
	for k := 1; k <= typed; k++ {
		check("shared.txt", now, fmt.Sprintf("<%d>\n", k))
	}

	for i := range sessions {
		work.Go(func() {
			var undone struct {
				Changed   []string
				Conflicts []json.RawMessage
			}
			r.ask("tandem/changes/undo", map[string]any{"sessionId": ids[i], "scope": "turn"}, &undone)
			// What a command has made is undone too, unless it was made while the command of another session ran.
			mine := slices.DeleteFunc(undone.Changed, func(u string) bool { return strings.HasSuffix(u, fmt.Sprintf("/out-s%02d.txt", i)) })
			if len(mine) != 3 || len(undone.Conflicts) != 0 {
				t.Errorf("session %d: %v, conflicts %s", i, undone.Changed, undone.Conflicts)
			}
		})
	}
	work.Wait()
	now, _ = r.Text("shared.txt")
	for k := 1; k <= typed; k++ {
		now = strings.Replace(now, fmt.Sprintf("<%d>\n", k), "", 1)
	}
	equal(t, "shared.txt without what was typed", now, shared.String())
	disk, _ = r.Text("closed.txt")
	equal(t, "closed.txt", disk, closed.String())
	r.end()
}
