package edit_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/edit"
	"tandem/tools/read"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Cases(t, edit.New(), edit.NewMulti(), read.New()) }

func TestF157Variants(t *testing.T) { toolstest.Variants(t, edit.New(), edit.NewMulti()) }

// While the agent edits one word after the other, quoting whole lines as it once saw them, a person types all over the
// file. Every edit lands once, or is refused with nothing of it in the text; every character typed stays, in order.
func TestF157EditsUnderTyping(t *testing.T) {
	const lines, words = 3, 4
	conflicts, landed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := toolstest.NewWorld(t, edit.New())
		var body strings.Builder
		for i := range lines * words {
			end := " "
			if (i+1)%words == 0 {
				end = "\n"
			}
			fmt.Fprintf(&body, "w%02d%s", i, end)
		}
		path := w.Path("f")
		w.Files.Put(path, body.String(), true)
		if err := w.See("f", 1, 0); err != nil {
			rt.Fatal(err)
		}
		typed := []rune("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳")
		next := 0
		edited := map[int]bool{}
		press := func() {
			now, _ := w.Files.Text(path)
			at := rapid.IntRange(0, len(now)).Draw(rt, "at")
			if word := strings.Index(now[at:], "w"); word >= 0 && rapid.Bool().Draw(rt, "at a word") {
				at += word
			}
			for at < len(now) && !utf8.RuneStart(now[at]) {
				at++
			}
			set := text.Set{{Start: at, End: at, New: string(typed[next])}}
			if rapid.Bool().Draw(rt, "replaces") && strings.HasPrefix(now[at:], "w") {
				// A word of the file's goes, never a sign that was typed.
				for set[0].End < min(len(now), at+3) && now[set[0].End] < utf8.RuneSelf {
					set[0].End++
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
			r := w.Call("edit_file", fmt.Sprintf(`{"path":"f","old_text":%q,"new_text":"A%d"}`, old, i))
			after, _ := w.Files.Text(path)
			mark := fmt.Sprintf("A%d", i)
			switch {
			case r.Success && strings.Count(after, mark) != 1:
				rt.Fatalf("landed %d times:\n%s", strings.Count(after, mark), after)
			case !r.Success && after != before:
				rt.Fatalf("%s, but the text is other:\n%s", r.Data, after)
			case edited[k] && r.Error != tools.TextNotFound && r.Error != filetime.EditConflict:
				rt.Fatalf("edited twice: %s %s", r.Error, r.Data)
			case r.Success:
				edited[k] = true
				landed++
			case !edited[k] && r.Error == tools.TextNotFound && !strings.Contains(before, old):
				conflicts++ // the person has replaced it, and the view that held it has gone
			case !edited[k] && r.Error != filetime.EditConflict:
				rt.Fatalf("%s: %s", r.Error, r.Data)
			case !edited[k]:
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

// One small edit of a file of 1 MB, from the call to its result.
func BenchmarkEditMegabyte(b *testing.B) {
	w := toolstest.NewWorld(b, edit.New())
	var body strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&body, "line %05d of a file that is a megabyte long, all in all\n", i)
	}
	w.Files.Put(w.Path("f"), body.String(), true)
	if err := w.See("f", 1, 0); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		old, new := "line 10000", "LINE 10000"
		if i%2 == 1 {
			old, new = new, old
		}
		if r := w.Call("edit_file", fmt.Sprintf(`{"path":"f","old_text":%q,"new_text":%q}`, old, new)); !r.Success {
			b.Fatal(r.Data)
		}
	}
}

// TestFindingC8Region has an answer stay small whatever was put in, and show the part of a long line that was changed.
func TestFindingC8Region(t *testing.T) {
	w := toolstest.NewWorld(t, edit.New())
	long := strings.Repeat("0123456789", 24_000)
	w.Files.Put(w.Path("f"), "one\ntwo\n"+long[:120_000]+"HERE"+long[:120_000]+"\nthree\n", true)
	if err := w.See("f", 1, 0); err != nil {
		t.Fatal(err)
	}
	call := func(old, new string) tools.Result {
		t.Helper()
		r := w.Call("edit_file", fmt.Sprintf(`{"path":"f","old_text":%q,"new_text":%q}`, old, new))
		if !r.Success || len(r.Data) > 4000 {
			t.Fatalf("%v, %d bytes: %.300s", r.Success, len(r.Data), r.Data)
		}
		return r
	}
	if r := call("two\n", "two\n"+long+"\n"); !strings.Contains(r.Data, "   3 | 0123") || !strings.Contains(r.Data, "[line cut: 500 of 240000 characters]") {
		t.Errorf("%.2000s", r.Data)
	}
	if r := call("HERE", "THERE"); !strings.Contains(r.Data, "9THERE0") || !strings.Contains(r.Data, "[line cut: characters 1198") {
		t.Errorf("%.4000s", r.Data)
	}
	if r := call("three", strings.Repeat("many lines of a text\n", 5000)); !strings.HasSuffix(r.Data, "   5 | many lines of a text\n     …\n5004 | many lines of a text\n5005 | ") {
		t.Errorf("%.4000s", r.Data)
	}
}
