package edit_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools/edit"
	"tandem/tools/run/runtest"
)

func TestCases(t *testing.T) { runtest.Cases(t, edit.New()) }

// While the agent edits one word after the other, quoting whole lines as it once saw them, a person types all over the
// file. Every edit lands once, or is refused with nothing of it in the text; every character typed stays, in order.
func TestF157EditsUnderTyping(t *testing.T) {
	const lines, words = 8, 4
	conflicts, landed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := runtest.NewWorld(t, edit.New())
		var body strings.Builder
		for i := range lines * words {
			fmt.Fprintf(&body, "w%02d", i)
			body.WriteByte(" \n"[min(1, (i+1)%words/1*0+boolInt((i+1)%words == 0))])
		}
		path := w.Path("f")
		w.Files.Put(path, body.String(), true)
		if err := w.See("f", 1, 0); err != nil {
			rt.Fatal(err)
		}
		typed := []rune("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳")
		next := 0
		press := func() {
			now, _ := w.Files.Text(path)
			at := rapid.IntRange(0, len(now)).Draw(rt, "at")
			for at < len(now) && now[at]&0xC0 == 0x80 {
				at++
			}
			set := text.Set{{Start: at, End: at, New: string(typed[next])}}
			if rapid.Bool().Draw(rt, "replaces") && at+3 <= len(now) && now[at] == 'w' {
				set[0].End = at + 3 // one of the base's words; typed signs are never taken away
				if strings.ContainsAny(now[at:at+3], string(typed)) {
					set[0].End = at
				}
			}
			next++
			w.Files.Type(path, set, filetime.User)
		}
		for i := range 6 {
			for range rapid.IntRange(0, 3).Draw(rt, "keys") {
				press()
			}
			k := rapid.IntRange(0, lines*words-1).Draw(rt, "word")
			before, _ := w.Files.Text(path)
			old := fmt.Sprintf("w%02d", k)
			r := w.Call("edit_file", fmt.Sprintf(`{"path":"f","old_text":%q,"new_text":"%s-A%d"}`, old, old, i))
			after, _ := w.Files.Text(path)
			mark := fmt.Sprintf("-A%d", i)
			switch {
			case r.Success && strings.Count(after, mark) != 1:
				rt.Fatalf("landed %d times:\n%s", strings.Count(after, mark), after)
			case !r.Success && after != before:
				rt.Fatalf("%s, but the text is other:\n%s", r.Data, after)
			case !r.Success && r.Error != filetime.EditConflict:
				rt.Fatalf("%s: %s", r.Error, r.Data)
			}
			if r.Success {
				landed++
			} else {
				conflicts++
			}
			rest := after
			for _, c := range typed[:next] {
				if strings.Count(rest, string(c)) != 1 {
					rt.Fatalf("%c was lost or doubled:\n%s", c, after)
				}
			}
		}
	})
	if landed == 0 || conflicts == 0 {
		t.Errorf("%d landed, %d conflicts: the test tries nothing", landed, conflicts)
	}
	t.Logf("%d landed, %d refused", landed, conflicts)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
