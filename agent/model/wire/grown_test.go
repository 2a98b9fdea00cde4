package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// said is an item that tells when it is encoded.
type said struct {
	Who, Text string
	told      *int
}

func (s said) MarshalJSON() ([]byte, error) {
	*s.told++
	return json.Marshal([]string{s.Who, s.Text})
}

// writing writes lines such as "a:text". Those of one speaker that follow each other become one item, one of "-" none,
// and the request says the last item of "u" and what comes after all in a form of its own.
func writing(written, told *int) Writing[string, said] {
	return Writing[string, said]{
		Same: func(a, b string) bool { return a == b },
		Add: func(items []said, from []string, i int) []said {
			*written++
			who, text, _ := strings.Cut(from[i], ":")
			last := len(items) - 1
			switch {
			case who == "-":
				return items
			case who == "d": // writes two items
				return append(items, said{who, text, told}, said{"d2", text, told})
			case last >= 0 && items[last].Who == who:
				items[last].Text += "+" + text
				return items
			}
			return append(items, said{who, text, told})
		},
		End: func(items []said, from []string) (map[int]said, []said) {
			var more []said
			if len(from) > 0 && strings.HasPrefix(from[len(from)-1], "t") {
				more = []said{{"late", from[len(from)-1], told}}
			}
			for i, s := range slices.Backward(items) {
				if s.Who == "u" {
					s.Text += "!"
					return map[int]said{i: s}, more
				}
			}
			return nil, more
		},
	}
}

// Only what is new is written and encoded, however long the list is.
func TestFindingC1GrownWritesWhatIsNew(t *testing.T) {
	var written, told int
	var g Grown[string, said]
	w := writing(&written, &told)
	var from []string
	for i := range 2000 {
		from = append(from, fmt.Sprint("m:", i), fmt.Sprint("t:", i))
		written, told = 0, 0
		if _, err := fill(&g, `[["here",""]]`, said{"here", "", &told}, from, w); err != nil {
			t.Fatal(err)
		}
		if written > 2 || told > 4 { // the mark and the one after the end are encoded too
			t.Fatalf("of %d, %d were written and %d encoded", len(from), written, told)
		}
	}
}

// A long conversation is sent in a few large pieces; a request that was made before does not change with it.
func TestFindingC1AConversationIsAFewPieces(t *testing.T) {
	var written, told int
	var g Grown[string, said]
	w := writing(&written, &told)
	mark := said{"here", "", &told}
	var from, sent []string
	var made []Body
	for i := range 1200 {
		from = append(from, fmt.Sprint("mt"[i%2:i%2+1], ":", i, strings.Repeat("x", 280)))
		if i%300 == 299 { // an item that was sent is another one from now on
			from = append(slices.Clone(from[:i-1]), "m:other", from[i])
		}
		body, err := g.Fill(Body{[]byte(`{"list":[["here",""]]}`)}, mark, from, w)
		if err != nil {
			t.Fatal(err)
		}
		made, sent = append(made, body), append(sent, string(bytes.Join(body, nil)))
	}
	last := made[len(made)-1]
	if most := int(last.Len()/largeChunk) + 20; len(last) > most {
		t.Errorf("%d bytes in %d pieces, want %d at most", last.Len(), len(last), most)
	}
	for i, body := range made {
		if string(bytes.Join(body, nil)) != sent[i] {
			t.Fatalf("the request %d has changed since it was made", i)
		}
	}
}

func TestGrownKeepsNoLargeItem(t *testing.T) {
	var written, told int
	var g Grown[string, said]
	from := []string{"m:a", "t:" + strings.Repeat("long ", keep/4), "m:b"}
	for range 2 {
		written, told = 0, 0
		if _, err := fill(&g, `[["here",""]]`, said{"here", "", &told}, from, writing(&written, &told)); err != nil {
			t.Fatal(err)
		}
	}
	if written != 0 || told != 2 {
		t.Errorf("%d written, %d encoded", written, told)
	}
	if _, err := fill(&g, `{"list":[]}`, said{"here", "", &told}, nil, writing(&written, &told)); err == nil {
		t.Error("a list without the mark was filled")
	}
}

// Whatever the lists before were, the request is what a fresh one would be.
func TestFindingC1GrownIsWhatEncodeSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written, told int
		var g Grown[string, said]
		var from []string
		w := writing(&written, &told)
		line := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"u", "m", "t", "d", "d2", "-"}).Draw(t, "who") + ":" +
				rapid.StringOfN(rapid.RuneFrom([]rune("a<\"\\é\n")), 0, 3, -1).Draw(t, "text")
		})
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			if n := len(from); n > 0 && rapid.Bool().Draw(t, "changes") {
				from = slices.Clone(from)
				switch i := rapid.IntRange(0, n-1).Draw(t, "at"); rapid.IntRange(0, 2).Draw(t, "how") {
				case 0:
					from = from[:i]
				case 1:
					from[i] = line.Draw(t, "other")
				case 2:
					from = slices.Delete(from, i, i+1)
				}
			}
			from = append(from, rapid.SliceOfN(line, 0, 3).Draw(t, "more")...)
			want, err := Encode(append([]said{}, w.Items(from)...))
			if err != nil {
				t.Fatal(err)
			}
			got, err := fill(&g, `{"x":[["here",""]]}`, said{"here", "", &told}, from, w)
			if err != nil || string(got) != `{"x":`+string(want)+`}` {
				t.Fatalf("%s instead of %s: %v", got, want, err)
			}
		}
	})
}

// fill gives the whole of what Fill makes, as it is sent.
func fill(g *Grown[string, said], body string, mark said, from []string, w Writing[string, said]) ([]byte, error) {
	made, err := g.Fill(Body{[]byte(body)}, mark, from, w)
	if err != nil {
		return nil, err
	}
	sent, err := io.ReadAll(made.Reader())
	if err == nil && int64(len(sent)) != made.Len() {
		err = fmt.Errorf("%d bytes are sent of %d", len(sent), made.Len())
	}
	return sent, err
}

// Code is sent as it is, not with the escapes that JSON in a web page needs, and says the same.
func TestEncodeEscapesNothingForWebPages(t *testing.T) {
	for _, s := range []string{"a < b && c > d", `\u003c`, `\\u003c <`, "\\", `"<`, "\x01 \u2028 <é>", ""} {
		raw, err := Encode(map[string]string{"s": s})
		var back map[string]string
		if err != nil || json.Unmarshal(raw, &back) != nil || back["s"] != s {
			t.Errorf("%q: %v, %s", s, err, raw)
		}
		if strings.ContainsAny(s, "<>&") && bytes.Count(raw, []byte(`\u003`)) != strings.Count(s, `\u003`) {
			t.Errorf("%q: %s", s, raw)
		}
	}
}

// TestFaultS10ReleasedAtRest: what was written and encoded goes some time after the last request, and not while there are requests. The
// next one is the same as if nothing had been kept.
func TestFaultS10ReleasedAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written, told int
		var g Grown[string, said]
		w := writing(&written, &told)
		var from []string
		for i := range 200 {
			from = append(from, fmt.Sprint("mt"[i%2:i%2+1], ":", i, strings.Repeat("x", 10_000)))
		}
		request := func() string {
			written = 0
			body, err := fill(&g, `[["here",""]]`, said{"here", "", &told}, from, w)
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		first := request()
		for range 5 {
			time.Sleep(idle - 1)
			synctest.Wait()
			if request() != first || written > 0 {
				t.Fatalf("%d were written again while it is in use", written)
			}
		}
		full := heap()
		time.Sleep(idle)
		synctest.Wait()
		if freed := full - heap(); freed < 2_000_000 {
			t.Errorf("%d bytes are free at rest, of 2,000,000", freed)
		}
		if request() != first || written != len(from) {
			t.Errorf("it is another request at the end of the rest, or %d were written", written)
		}
	})
}

// heap is how many bytes are in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
