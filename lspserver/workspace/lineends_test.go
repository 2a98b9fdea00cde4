package workspace

import (
	"errors"
	"os"
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
)

// plainText is a document that a plain client has open.
func plainText(t *testing.T, content string) (*Workspace, *buffer, string) {
	t.Helper()
	w, b, path := opened(t, content)
	w.o.Features = Features{Apply: true, Versions: true, Plain: true, Delete: true}
	return w, b, path
}

// No position behind a lone carriage return goes to a client that has not shown how it counts it.
func TestFaultE12PositionsBehindOddLineEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		text, old string
		shown     func(w *counting)
		says      string // "" where it lands
	}{
		"behind a carriage return":       {text: "10%\r20%\nbeta\n", old: "beta", says: "Line 1 of"},
		"in the same line":               {text: "10%\r20%\nbeta\n", old: "20%", says: "Line 1 of"},
		"before it":                      {text: "alpha\n10%\r20%\nbeta\n", old: "alpha"},
		"at its beginning":               {text: "alpha\n10%\r20%\nbeta\n", old: "10%"},
		"behind the last of many lines":  {text: "a\nb\nc\r\nd\re\nbeta\n", old: "beta", says: "Line 4 of"},
		"CRLF alone":                     {text: "a\r\nbeta\r\n", old: "beta"},
		"CR CRLF":                        {text: "a\r\r\nbeta\n", old: "beta", says: "Line 1 of"},
		"the client counts it":           {text: "10%\r20%\nbeta\n", old: "beta", shown: func(c *counting) { c.lone.Store(true) }},
		"a form feed":                    {text: "a\n\f\nbeta\n", old: "beta"},
		"a form feed that is counted":    {text: "a\n\f\nbeta\n", old: "beta", shown: func(c *counting) { c.unicode.Store(true) }, says: "form feed"},
		"a separator that is counted":    {text: "a\u2028\nbeta\n", old: "beta", shown: func(c *counting) { c.unicode.Store(true) }, says: "separator"},
		"NEL that is counted, behind it": {text: "beta\na\u0085\n", old: "beta", shown: func(c *counting) { c.unicode.Store(true) }},
	} {
		t.Run(name, func(t *testing.T) {
			w, b, path := plainText(t, tt.text)
			if tt.shown != nil {
				tt.shown(&w.counting)
			}
			_, err := edit(t, w, path, tt.old, "AGENT")
			if tt.says == "" {
				if want := strings.Replace(tt.text, tt.old, "AGENT", 1); err != nil || b.text != want {
					t.Errorf("%v, %q", err, b.text)
				}
				return
			}
			code(t, err, filetime.Unsupported, "line_ends")
			if b.tries > 0 || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%d tries: %v", b.tries, err)
			}
			w.o.Features.Plain = false // a client of ours converts positions
			if _, err := edit(t, w, path, tt.old, "AGENT"); err != nil {
				t.Error(err)
			}
		})
	}
}

// How a client counts shows in its positions, and in what is on disk when it has saved.
func TestFaultE12ClientsShowHowTheyCount(t *testing.T) {
	const progress = "10%\r20%\nbeta\ngamma\n"
	change := func(w *Workspace, b *buffer, line, from, to int, s string) {
		b.ver++
		w.Change(b.uri, b.ver, []ContentChange{{Range: &Range{Start: text.Position{Line: line, Character: from}, End: text.Position{Line: line, Character: to}}, Text: s}})
	}
	save := func(t *testing.T, w *Workspace, b *buffer, path, says string) {
		t.Helper()
		b.text = says
		if err := os.WriteFile(path, []byte(says), 0o644); err != nil {
			t.Fatal(err)
		}
		w.Saved(b.uri, nil)
	}
	t.Run("it counts the carriage return", func(t *testing.T) {
		w, b, path := plainText(t, progress)
		change(w, b, 2, 0, 0, "x")
		save(t, w, b, path, "10%\r20%\nxbeta\ngamma\n")
		if _, err := edit(t, w, path, "gamma", "AGENT"); err != nil || b.text != "10%\r20%\nxbeta\nAGENT\n" {
			t.Errorf("%v, %q", err, b.text)
		}
	})
	t.Run("it does not, by what it saves", func(t *testing.T) {
		w, b, path := plainText(t, progress)
		change(w, b, 1, 0, 0, "x")
		save(t, w, b, path, "10%\r20%\nxbeta\ngamma\n")
		s, err := w.Read(t.Context(), path)
		if err != nil || s.Text.String() != "10%\r20%\nxbeta\ngamma\n" || s.Dirty {
			t.Errorf("%+v, %v", s, err)
		}
		_, err = edit(t, w, path, "gamma", "AGENT")
		code(t, err, filetime.Unsupported, "line_ends")
	})
	t.Run("it does not, by a position", func(t *testing.T) {
		w, b, path := plainText(t, progress)
		change(w, b, 0, 7, 7, "x")
		_, err := edit(t, w, path, "10%", "AGENT")
		var refused *filetime.Error
		if !errors.As(err, &refused) || refused.Reason != uncertainReason || b.tries > 0 {
			t.Errorf("%v", err)
		}
	})
	t.Run("it counts a form feed, by a position", func(t *testing.T) {
		w, b, path := plainText(t, "a\n\f\nb\n")
		change(w, b, 4, 0, 0, "x")
		if !w.counting.unicode.Load() {
			t.Error("not learned")
		}
		save(t, w, b, path, "a\n\f\nxb\n")
		_, err := edit(t, w, path, "xb", "AGENT")
		code(t, err, filetime.Unsupported, "line_ends")
	})
}
