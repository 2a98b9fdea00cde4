package workspace

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
)

// ending is opened in a plain client that ends each text with a line end, or in one that does not.
func ending(t *testing.T, content string, ends bool) (*Workspace, *buffer, string) {
	w, b, path := opened(t, content)
	w.o.Features = Features{Apply: true, Versions: true, Plain: true}
	b.ends = ends
	return w, b, path
}

func overwrite(t *testing.T, w *Workspace, path, now string) (filetime.Landed, error) {
	t.Helper()
	s, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	set := text.Minimize(s.Text, text.Set{{End: s.Text.Len(), New: now}})
	return w.Commit(t.Context(), filetime.Change{Session: "s", Call: "c", Files: []filetime.FileEdit{
		{Path: path, Base: s.Text, Rev: s.Rev, Edits: set},
	}})
}

// A text without a final line end lands in an editor that adds one, at once, and the result says so.
func TestFaultE19FinalLineEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		text, now string
		ends      bool
		want      string
		told      bool
	}{
		"a line changed, no final end":       {"one\ntwo\n", "ONE\ntwo", true, "ONE\ntwo\n", true},
		"emptied":                            {"one\ntwo\n", "", true, "\n", true},
		"only the final end taken away":      {"one\ntwo\n", "one\ntwo", true, "one\ntwo\n", true},
		"the last line replaced":             {"one\ntwo\n", "one\nTWO", true, "one\nTWO\n", true},
		"the last lines deleted":             {"one\ntwo\nthree\n", "one", true, "one\n", true},
		"CRLF":                               {"one\r\ntwo\r\n", "ONE\r\ntwo", true, "", true},
		"with a final end":                   {"one\ntwo\n", "ONE\ntwo\n", true, "ONE\ntwo\n", false},
		"an editor that can hold it":         {"one\ntwo\n", "ONE\ntwo", false, "ONE\ntwo", false},
		"an editor that can hold it, empty":  {"one\ntwo\n", "", false, "", false},
		"an editor that can hold it, at end": {"one\ntwo\n", "one\ntwo", false, "one\ntwo", false},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, b, path := ending(t, tt.text, tt.ends)
					b.whole = whole
					began := time.Now()
					l, err := overwrite(t, w, path, tt.now)
					if err != nil || time.Since(began) > delivery.EchoTimeout || b.tries != 1 {
						t.Fatalf("%v after %v, %d tries", err, time.Since(began), b.tries)
					}
					if tt.want != "" && b.text != tt.want || tt.told != (len(l.Warnings) == 1) {
						t.Errorf("%q, %+v", b.text, l.Warnings)
					}
					f := l.Files[0]
					if f.After.String() != b.text || !f.Set.Apply(f.Before).Equal(f.After) || f.Already {
						t.Errorf("%+v", f)
					}
				})
			})
		}
	}
}

// What one echo has shown holds for all documents of the client: the final line end is left alone.
func TestFaultE19FinalLineEndIsLearned(t *testing.T) {
	for name, learn := range map[string]func(t *testing.T, w *Workspace, b *buffer, path string){
		"by an echo": func(t *testing.T, w *Workspace, _ *buffer, path string) {
			if _, err := overwrite(t, w, path, "two"); err != nil {
				t.Fatal(err)
			}
		},
		"by an empty file": func(_ *testing.T, w *Workspace, _ *buffer, path string) {
			other := strings.TrimSuffix(path, "f.txt") + "empty.txt"
			store(t, other, "")
			w.Open(other, URI(other), 1, "\n")
		},
		"by a save": func(_ *testing.T, w *Workspace, _ *buffer, path string) {
			other := strings.TrimSuffix(path, "f.txt") + "saved.txt"
			store(t, other, "a")
			w.Open(other, URI(other), 1, "a")
			store(t, other, "a\n")
			w.Saved(URI(other), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := ending(t, "one\n", true)
				learn(t, w, b, path)
				tries, began := b.tries, time.Now()
				// Nothing is to be done: nothing is sent.
				l, err := overwrite(t, w, path, strings.TrimSuffix(b.text, "\n"))
				if err != nil || b.tries != tries || time.Since(began) > 0 || len(l.Warnings) != 1 {
					t.Errorf("%v, %d tries, %+v", err, b.tries-tries, l)
				}
				// A buffer without a final line end gets it when it is saved, and none by the edit.
				bare := strings.TrimSuffix(path, "f.txt") + "bare.txt"
				store(t, bare, "a")
				b.uri, b.text, b.ver, b.ends = URI(bare), "a", 1, false
				w.Open(bare, b.uri, 1, "a")
				if _, err := overwrite(t, w, bare, "a\nb\n"); err != nil || b.text != "a\nb" {
					t.Errorf("%v, %q", err, b.text)
				}
			})
		})
	}
}

// Whatever is written over whatever text lands within the silence that is waited for, with all that was typed before it.
func TestFaultE19EveryTextLands(t *testing.T) {
	lines := rapid.StringMatching(`([a-c]{0,2}\n){0,4}[a-c]{0,2}`)
	rapid.Check(t, func(r *rapid.T) {
		base, now := lines.Draw(r, "base"), lines.Draw(r, "now")
		if !strings.HasSuffix(base, "\n") {
			base += "\n" // what such an editor has open
		}
		synctest.Test(t, func(t *testing.T) {
			w, b, path := ending(t, base, true)
			began := time.Now()
			_, err := overwrite(t, w, path, now)
			if err != nil || time.Since(began) > delivery.EchoTimeout || strings.TrimSuffix(b.text, "\n") != strings.TrimSuffix(now, "\n") {
				t.Errorf("%v after %v: %q", err, time.Since(began), b.text)
			}
		})
	})
}

// A client that says that its buffer takes no edits is asked once.
func TestFaultE19UnwritableBuffer(t *testing.T) {
	for _, tt := range []struct {
		says  string
		fails error
		tries int
	}{
		{says: "E21: Cannot make changes, 'modifiable' is off", tries: 1},
		{fails: errors.New("-32603: Buffer is not 'modifiable'"), tries: 1},
		{says: "Buffer is read-only: #<buffer f.txt>", tries: 1},
		{says: "the document is read-only", tries: 1},
		{says: "the document has changed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, b, path := ending(t, doc, false)
			b.says, b.fails = tt.says, tt.fails
			_, err := edit(t, w, path, "four", "FOUR")
			var refused *filetime.Error
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if once := refused.Reason == "refused" && b.tries == 1; once != (tt.tries == 1) {
				t.Errorf("%q: %v after %d tries", tt.says, err, b.tries)
			}
		})
	}
}

func store(t *testing.T, path, says string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(says), 0o644); err != nil {
		t.Fatal(err)
	}
}
