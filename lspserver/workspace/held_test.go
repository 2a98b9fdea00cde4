package workspace

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
)

// An editor that checks no version and tells of typing and of an edit at its old places in one range: what it took away at the wrong
// place is put back, the edit lands at its place, and no line of anybody is lost or stands twice.
func TestFaultE14FindingE9OneRange(t *testing.T) {
	lines := []string{"alpha\n", "beta\n", "gamma\n", "delta\n", "epsilon\n"}
	base := strings.Join(lines, "")
	rapid.Check(t, func(r *rapid.T) {
		k := rapid.IntRange(2, len(lines)-1).Draw(r, "line") // further up it would come over the typing, of which nobody is ever told
		new := rapid.SampledFrom([]string{"", "AGENT\n", "AGENT one\nAGENT two\n"}).Draw(r, "new")
		typed := rapid.SampledFrom([]string{"typed\n", "typed one\ntyped two\n"}).Draw(r, "typed")
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, base)
			b.blind, b.above = true, typed
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Commit(t.Context(), replaceIn(s, lines[k], new))
			want := typed + strings.Join(lines[:k], "") + new + strings.Join(lines[k+1:], "")
			if err != nil || b.text != want {
				r.Errorf("line %d by %q, typed %q: %v, %q", k, new, typed, err, b.text)
			}
		})
	})
}

// An editor that holds its changes back after its yes gets the edit once, however long that takes while it lives.
func TestFaultE14HeldBack(t *testing.T) {
	for _, features := range []Features{{Apply: true, Versions: true}, {Apply: true, Versions: true, Plain: true}} {
		for _, late := range []time.Duration{150 * time.Millisecond, 2500 * time.Millisecond, 5 * time.Second, 25 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := opened(t, doc)
				features.Encoding = w.o.Features.Encoding
				w.o.Features = features
				b.late = late
				s, err := w.Read(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				_, err = w.Commit(t.Context(), replaceIn(s, "four", "FOUR"))
				if want := strings.Replace(doc, "four", "FOUR", 1); err != nil || b.text != want || b.tries != 1 {
					t.Errorf("after %v, plain %v: %v, %q, %d tries", late, features.Plain, err, b.text, b.tries)
				}
			})
		}
	}
}

// What was typed between the sending of an edit and its landing is in the answer as rebased over, so that it counts as seen.
func TestFaultE5TypingUntilTheEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, path := opened(t, doc)
		b.blind = true
		b.before = func(try int) {
			if try == 1 {
				b.typeAt(len(doc), "typed\n")
			}
		}
		s, err := w.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		l, err := w.Commit(t.Context(), replaceIn(s, "four", "FOUR"))
		if err != nil {
			t.Fatal(err)
		}
		if f := l.Files[0]; f.Over != 1 || len(f.Rebased) != 1 || f.Rebased[0] != (text.Edit{Start: len(doc), End: len(doc), New: "typed\n"}) {
			t.Errorf("rebased over %v", f.Rebased)
		}
	})
}

// What the editor's own undo has taken back before the editor replied is told as taken back, and not as an edit that stands; what its redo
// has brought again stands.
func TestFaultE18UndoneBeforeTheReply(t *testing.T) {
	for _, redo := range []bool{false, true} {
		for _, plain := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := opened(t, doc)
				w.o.Features.Plain, w.o.Features.Versions = plain, true
				b.after = func() {
					b.mu.Lock()
					defer b.mu.Unlock()
					b.change(b.undo[len(b.undo)-1])
					if redo {
						b.change(b.undo[len(b.undo)-1])
					}
				}
				l, err := edit(t, w, path, "four", "FOUR")
				s, _ := w.Read(t.Context(), path)
				if redo {
					if want := strings.Replace(doc, "four", "FOUR", 1); err != nil || len(l.Files) != 1 || s.Text.String() != want {
						t.Errorf("%v, %q", err, s.Text)
					}
					return
				}
				code(t, err, filetime.EditConflict, "undone")
				if s.Text.String() != doc || b.tries != 1 {
					t.Errorf("%q after %d tries", s.Text, b.tries)
				}
			})
		}
	}
}

// A file that is open under another of its names is not written behind the editor: by whichever name, saved or not.
func TestFaultE18HardLink(t *testing.T) {
	for _, dirty := range []bool{false, true} {
		w, b, path := opened(t, doc)
		other := path + "2"
		if err := os.Link(path, other); err != nil {
			t.Skip("no hard links here:", err)
		}
		if dirty {
			b.typeAt(0, "typed ")
		}
		for _, place := range []filetime.Apply{"", filetime.OnDisk, filetime.Editor} {
			s, err := w.Read(t.Context(), other)
			if err != nil {
				t.Fatal(err)
			}
			c := replaceIn(s, "four", "FOUR")
			c.Apply = place
			_, err = w.Commit(t.Context(), c)
			code(t, err, filetime.EditConflict, "linked")
		}
		if got, _ := os.ReadFile(path); string(got) != doc || b.tries != 0 {
			t.Errorf("%q on disk, %d edits", got, b.tries)
		}
		w.Close(b.uri)
		w.o.Features.Save = false // closed files go to the disk
		if _, err := edit(t, w, other, "four", "FOUR"); err != nil {
			t.Errorf("once it is closed: %v", err)
		}
	}
}

// A racing editor puts an edit where characters of two UTF-16 units were typed meanwhile, so that its range begins or ends inside of one:
// whether it cuts the range down or widens it, what it took away comes back and the edit lands at its place.
func TestFaultE1HalfACharacter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		widens := rapid.Bool().Draw(r, "widens")
		line := "ab𠀐cd word 😀 end"
		old := rapid.SampledFrom([]string{"word", "cd", "b𠀐c", "d", " "}).Draw(r, "old")
		new := rapid.SampledFrom([]string{"", "X", "𠀒", "some words"}).Draw(r, "new")
		if widens && new == "" {
			new = "Y" // a deletion that is widened is taken for a person's
		}
		typed := rapid.SampledFrom([]string{"😀", "x", "x😀", "😀😀", "𠀓y"}).Draw(r, "typed")
		at := rapid.IntRange(0, strings.Index(line, old)).Draw(r, "at")
		for !utf8.RuneStart(line[at]) {
			at--
		}
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, "first\n"+line+"\nlast\n")
			w.o.Features.Encoding = text.UTF16
			b.blind, b.widens = true, widens
			b.before = func(try int) {
				if try == 1 {
					b.typeAt(len("first\n")+at, typed)
				}
			}
			_, err := edit(t, w, path, old, new)
			var conflict *filetime.Conflict
			want := line[:at] + typed + strings.Replace(line[at:], old, new, 1)
			if errors.As(err, &conflict) {
				want = line[:at] + typed + line[at:]
			} else if err != nil {
				r.Errorf("%v", err)
			}
			if want = "first\n" + want + "\nlast\n"; b.text != want {
				r.Errorf("%q by %q, %q typed at %d: %q, want %q (%v)", old, new, typed, at, b.text, want, err)
			}
		})
	})
}

// An edit whose call has ended before the editor has told of it is the agent's once it is told, however late, beside what was typed
// before and after it; till then it is listed as not known.
func TestFaultE15LateEcho(t *testing.T) {
	base := "one\ntwo\nthree\nfour\nfive\n"
	rapid.Check(t, func(r *rapid.T) {
		before := rapid.SampledFrom([]string{"", "typed above\n"}).Draw(r, "typed before the edit")
		after := rapid.SampledFrom([]string{"", "x", "typed below\n"}).Draw(r, "typed after it")
		plain := rapid.Bool().Draw(r, "plain")
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, base)
			w.o.Features.Plain, w.o.Features.Versions = plain, true
			var late []filetime.Landed
			w.o.Late = func(_ filetime.Change, l filetime.Landed) { late = append(late, l) }
			b.before = func(int) {
				if before != "" {
					b.typeAt(0, before) // told at once
				}
				b.holds = true
				b.before = nil
			}
			_, err := edit(t, w, path, "three", "THREE")
			if before != "" { // refused as stale, and sent again
				b.before = nil
			}
			code(t, err, filetime.Unknown, filetime.Held)
			if l := w.Unsure("s"); len(l) != 1 || l[0].Path != path || l[0].Call != "c" {
				r.Errorf("not known: %v", l)
			}
			if after != "" {
				b.typeAt(len(b.text), after)
			}
			b.tell()
			synctest.Wait()
			want := before + strings.Replace(base, "three", "THREE", 1) + after
			if b.text != want || b.tries > 2 {
				r.Errorf("%q after %d tries", b.text, b.tries)
			}
			if len(late) != 1 || len(late[0].Files) != 1 || !strings.Contains(late[0].Files[0].After.String(), "THREE") {
				r.Fatalf("told late: %+v", late)
			}
			if got := late[0].Files[0].Set.Apply(late[0].Files[0].Before).String(); got != before+strings.Replace(base, "three", "THREE", 1) {
				r.Errorf("landed as %q", got)
			}
			own := 0
			revs, _, _ := w.History(path, 0)
			if s, err := w.Read(t.Context(), path); err != nil || s.Text.String() != want {
				r.Errorf("%v, %q", err, s.Text)
			}
			f := w.file(path)
			for _, rev := range append(revs, f.All()...) {
				if rev.Author == filetime.Agent && rev.Call == "c" {
					own++
				}
			}
			if own != 1 || len(w.Unsure("s")) != 0 {
				r.Errorf("%d revisions are the agent's: %+v; not known: %v", own, f.All(), w.Unsure("s"))
			}
			if _, err = edit(t, w, path, "five", "FIVE"); err != nil {
				r.Errorf("the next edit: %v", err)
			}
		})
	})
}

// What ends the wait for an edit that is not in the text: a change without it, a request about the document, a save, the end of the
// document. Its call has ended, so it is told of late as not landed, and is not sent again.
func TestFaultE15NotThere(t *testing.T) {
	for name, then := range map[string]func(w *Workspace, b *buffer){
		"typing":     func(_ *Workspace, b *buffer) { b.typeAt(0, "k") },
		"a request":  func(w *Workspace, b *buffer) { w.Requested(b.uri) },
		"a save":     func(w *Workspace, b *buffer) { w.Saved(b.uri, nil) },
		"its text":   func(w *Workspace, b *buffer) { w.Saved(b.uri, &b.text) },
		"a new text": func(w *Workspace, b *buffer) { w.Open(strings.TrimPrefix(b.uri, "file://"), b.uri, 9, b.text+"more\n") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := opened(t, doc)
				w.o.Features.Plain, w.o.Features.Versions = true, true
				var late []filetime.Landed
				w.o.Late = func(_ filetime.Change, l filetime.Landed) { late = append(late, l) }
				b.drop = true
				_, err := edit(t, w, path, "four", "FOUR")
				code(t, err, filetime.Unknown, filetime.Held)
				then(w, b)
				synctest.Wait()
				told := len(late) == 1 && len(late[0].Files) == 0
				if name == "a new text" { // it may have had the edit for a while: the call said that it is not known
					told = len(late) == 0
				}
				if !told || b.tries != 1 || len(w.Unsure("s")) != 0 {
					t.Errorf("told late %+v, %d tries, not known %v", late, b.tries, w.Unsure("s"))
				}
			})
		})
	}
}

// A request of the client about the document comes behind the changes that it has made: an edit that it said yes to and has not told of
// by then is sent again, once.
func TestFaultE15Request(t *testing.T) {
	for _, requests := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, doc)
			w.o.Features.Plain, w.o.Features.Versions = true, true
			b.drop = true
			asked := 0
			w.o.Waits = func(filetime.Change, string) { // the server has the client send one
				go func() {
					if asked++; asked == requests {
						b.mu.Lock()
						b.drop = false
						b.mu.Unlock()
					}
					w.Requested(b.uri)
				}()
			}
			began := time.Now()
			_, err := edit(t, w, path, "four", "FOUR")
			if requests == 1 {
				if want := strings.Replace(doc, "four", "FOUR", 1); err != nil || b.text != want || b.tries != 2 || time.Since(began) != delivery.WaitTime {
					t.Errorf("%v, %q after %d tries, %v", err, b.text, b.tries, time.Since(began))
				}
				return
			}
			code(t, err, filetime.Unknown, "no_echo")
			if b.tries != 2 {
				t.Errorf("%d tries", b.tries)
			}
		})
	}
}

// Edits of a document wait for one of which the editor has not told yet, and all of them land when it tells.
func TestFaultE15EditsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, path := opened(t, "1\n2\n3\n4\n5\n6\n")
		w.o.Features.Plain, w.o.Features.Versions = true, true
		b.holds = true
		var waited atomic.Int64
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				s, err := w.Read(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				c := replaceIn(s, fmt.Sprint(i+1), fmt.Sprintf("line %d", i+1))
				c.Waits = func() func() { waited.Add(1); return func() { waited.Add(-1) } }
				if _, err := w.Commit(t.Context(), c); err != nil {
					t.Errorf("edit %d: %v", i+1, err)
				}
			})
		}
		for range 25 { // keys, which the editor tells of when they end
			time.Sleep(time.Second)
			b.mu.Lock()
			end := len(b.text)
			b.mu.Unlock()
			b.typeAt(end, "k")
			w.traffic.Heard(time.Now()) // of another document
		}
		b.tell()
		wg.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.tries < 6 || strings.Count(b.text, "line") != 6 || waited.Load() != 0 {
			t.Errorf("%q after %d tries, %d wait", b.text, b.tries, waited.Load())
		}
	})
}

// An editor that checks no version has put the edit over typing that it had not told of, and tells of both in one range. What stood there is
// known to nobody; all else is right: the new text goes from there, and stands once, at its place.
func TestFaultE15LaidOverTyping(t *testing.T) {
	lines := []string{"alpha\n", "beta\n", "gamma\n", "delta\n", "epsilon\n"}
	base := strings.Join(lines, "")
	rapid.Check(t, func(r *rapid.T) {
		k := rapid.IntRange(0, len(lines)-1).Draw(r, "line")
		new := rapid.SampledFrom([]string{"AGENT\n", "AGENT one\nAGENT two\n", strings.TrimSpace(lines[k]) + " AGENT\n"}).Draw(r, "new")
		typed := rapid.SampledFrom([]string{"typed\n", "typed at 1\ntyped at 22\n", "\n\n\n\n\n\n"}).Draw(r, "typed")
		typed = strings.Repeat(typed, rapid.IntRange(k+1, 9).Draw(r, "times")) // below the edit's old place, too
		late := rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(r, "late")
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, base)
			b.blind, b.above, b.late = true, typed, late
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Commit(t.Context(), replaceIn(s, lines[k], new))
			want := strings.Join(lines[:k], "") + new + strings.Join(lines[k+1:], "")
			above, ok := strings.CutSuffix(b.text, want)
			if err != nil || !ok {
				r.Fatalf("line %d by %q, typed %q: %v, %q", k, new, typed, err, b.text)
			}
			if i := len(above) - len(lines[k]); strings.Contains(above, "AGENT") || len(above) < len(typed)-len(lines[k]) || i > 0 && !holds(typed, above) {
				r.Errorf("line %d by %q, typed %q: above is %q", k, new, typed, above)
			}
		})
	})
}

// Where the new text is so short that somebody may have typed it by chance, nothing is taken away, and nothing is told as success.
func TestFaultE15LaidOverTypingInDoubt(t *testing.T) {
	for _, typed := range []string{"// Adds two.\n", "// Adds two words to it.\n"} {
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, "package calc\nfunc Add(a, b int) int { return a - b }\n")
			b.blind, b.above, b.late = true, typed+"\n", time.Second
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Commit(t.Context(), replaceIn(s, "a - b", "a + b"))
			var e *filetime.Error
			if b.tries != 1 || !errors.As(err, &e) || e.Reason != "no_echo" {
				t.Errorf("typed %q: %v, %q, %d tries", typed, err, b.text, b.tries)
			}
		})
	}
}

// Somebody goes on typing above after the editor has put the edit at its old places, which has moved it further down by the time that the
// editor tells of it all in one range. No line is lost, and none stands twice.
func TestFaultE15TypingGoesOn(t *testing.T) {
	lines := []string{"alpha\n", "beta\n", "gamma\n", "delta\n", "epsilon\n", "zeta\n", "omega\n"}
	base := strings.Join(lines, "")
	rapid.Check(t, func(r *rapid.T) {
		k := rapid.IntRange(2, len(lines)-1).Draw(r, "line") // further up it would come over the typing, of which nobody is ever told
		new := rapid.SampledFrom([]string{"", "AGENT\n", "AGENT one\nAGENT two\n", strings.TrimSpace(lines[k]) + " AGENT\n"}).Draw(r, "new")
		typed := rapid.SampledFrom([]string{"typed\n", "typed one\ntyped two\n"}).Draw(r, "typed")
		later := strings.Repeat(rapid.SampledFrom([]string{"later\n", "\n", "later one\nlater two\n"}).Draw(r, "later"), rapid.IntRange(0, 9).Draw(r, "times"))
		late := rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(r, "late")
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, base)
			b.blind, b.above, b.later, b.late = true, typed, later, late
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Commit(t.Context(), replaceIn(s, lines[k], new))
			want := later + typed + strings.Join(lines[:k], "") + new + strings.Join(lines[k+1:], "")
			if err != nil || b.text != want {
				r.Errorf("line %d by %q, typed %q and %q: %v, %q", k, new, typed, later, err, b.text)
			}
		})
	})
}

// holds reports that a text is another one from which one piece, or none, was taken.
func holds(whole, rest string) bool {
	i := 0
	for i < len(rest) && i < len(whole) && rest[i] == whole[i] {
		i++
	}
	return len(rest) <= len(whole) && strings.HasSuffix(whole, rest[i:])
}
