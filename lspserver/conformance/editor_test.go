package conformance

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"tandem/lspserver/wire/wiretest"
)

var seed = flag.Uint64("seed", 0, "the seed of the tests that roll dice; 0 takes a new one")

// dice gives a generator whose seed the log names, so that -seed plays it again.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed=%d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// The positions are checked against a definition that is slow and plain: whole lines, encoded by the standard library.
func TestPositionsAgainstPlainDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab\n\r\té世😀"))).Draw(t, "text")
		for _, e := range []Encoding{UTF8, UTF16, UTF32} {
			line, start := 0, 0
			for i := range text + "x" {
				if i > 0 && (text[i-1] == '\n' || text[i-1] == '\r' && (i == len(text) || text[i] != '\n')) {
					line, start = line+1, i
				}
				want := Position{line, units(e, text[start:i])}
				if got := e.Position(text, i); got != want {
					t.Fatalf("%s: Position(%q, %d) = %v, want %v", e, text, i, got, want)
				}
				if !boundary(text, i) {
					continue
				}
				if back, exact := e.Offset(text, want); back != i || !exact {
					t.Fatalf("%s: Offset(%q, %v) = %d %v, want %d", e, text, want, back, exact, i)
				}
			}
		}
	})
}

func units(e Encoding, s string) int {
	switch e {
	case UTF8:
		return len(s)
	case UTF32:
		return len([]rune(s))
	}
	return len(utf16.Encode([]rune(s)))
}

func TestOffsetClamps(t *testing.T) {
	for _, c := range []struct {
		p    Position
		want int
	}{{Position{0, 9}, 5}, {Position{0, 2}, 1}, {Position{7, 0}, 9}, {Position{1, 99}, 8}} {
		if got, exact := UTF16.Offset("a😀\r\nb\n", c.p); exact || got != c.want {
			t.Errorf("Offset(%v) = %d %v, want %d, not exact", c.p, got, exact, c.want)
		}
	}
}

func TestDifferenceIsMinimalAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOf(rapid.RuneFrom([]rune("ab\r\n😀😁")))
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		s := difference(a, b)
		if got := a[:s.Start] + s.New + a[s.End:]; got != b {
			t.Fatalf("difference(%q, %q) = %+v leads to %q", a, b, s, got)
		}
		if !boundary(a, s.Start) || !boundary(a, s.End) {
			t.Fatalf("difference(%q, %q) = %+v cuts a character", a, b, s)
		}
	})
}

// Nothing overtakes anything on the way, whatever the delays, and what was written before the end is read.
func TestPipeKeepsOrder(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		r := dice(t)
		client, server := Pipe(func() time.Duration { return time.Duration(r.IntN(50)) * time.Millisecond }, nil)
		began := time.Now()
		for i := range 100 {
			if _, err := fmt.Fprintf(client, "%03d\n", i); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(server)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Fields(string(got))
		for i, l := range lines {
			if l != fmt.Sprintf("%03d", i) {
				t.Fatalf("line %d is %s", i, l)
			}
		}
		if len(lines) != 100 || time.Since(began) < 40*time.Millisecond {
			t.Errorf("%d lines after %v", len(lines), time.Since(began))
		}
		if _, err := server.Write(nil); err == nil {
			t.Error("one can write to an end that is closed")
		}
	})
}

// pair starts an editor on a fake server.
func pair(t *testing.T, o Options) (*Editor, *fake) {
	t.Helper()
	client, server := Pipe(nil, nil)
	f := newFake(server, nil, nil)
	e, err := Start(t.Context(), client, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if v := e.Violations(); len(v) > 0 {
			t.Error(v)
		}
		if code := f.wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	return e, f
}

// In every way of telling, the server ends up with the text that the person sees.
func TestServerFollowsEveryWayOfTelling(t *testing.T) {
	ways := map[string]Options{
		"at once":   {},
		"whole":     {Whole: true},
		"held":      {Hold: 150 * time.Millisecond},
		"merged":    {Hold: 150 * time.Millisecond, Merge: true},
		"one eol":   {Profile: Race},
		"dos":       {Profile: Lying, Hold: 30 * time.Millisecond, Merge: true},
		"split":     {Split: true},
		"insert":    {Hold: 150 * time.Millisecond, Insert: true},
		"widened":   {Widen: true},
		"wide":      {Profile: Race, Widen: true, Hold: 150 * time.Millisecond, Merge: true},
		"reordered": {Reorder: true},
		"formatted": {Format: func(_, text string) string { return strings.ReplaceAll(text, " \r\n", "\r\n") }},
	}
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			wiretest.Bubble(t, func(t *testing.T) {
				o.Root = root(t)
				write(t, o.Root, "a.txt", "eins 😀 \r\nzwei\r\ndrei\r\n")
				e, f := pair(t, o)
				f.sorts = o.Reorder
				if err := e.Open("a.txt"); err != nil {
					t.Fatal(err)
				}
				r := dice(t)
				p := Person{e, "a.txt", Human(r, 50*time.Millisecond)}
				wander := Wander(r)
				for range 20 {
					if _, err := p.Type(t.Context(), 20, wander); err != nil {
						t.Fatal(err)
					}
					if r.IntN(4) == 0 {
						if err := e.Undo("a.txt"); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(max(o.Hold, 50*time.Millisecond) + 1)
					text, _ := e.Text("a.txt")
					if got, _ := f.text(e.URI("a.txt")); got != text {
						t.Fatalf("(- editor, + server)\n%s", Diff(text, got))
					}
				}
				if err := e.Save("a.txt"); err != nil {
					t.Fatal(err)
				}
				text, _ := e.Text("a.txt")
				if on, err := os.ReadFile(e.Path("a.txt")); err != nil || string(on) != text {
					t.Errorf("saved %q %v", on, err)
				}
				if o.Hold > 0 && f.notes >= 350 || o.Whole && f.changes != f.notes {
					t.Errorf("%d notifications with %d changes", f.notes, f.changes)
				}
				if (f.swapped > 20) != o.Reorder || (f.narrow == 0) != (o.Widen || o.Whole) {
					t.Errorf("%d swapped, %d ranges that begin within a line", f.swapped, f.narrow)
				}
			})
		})
	}
}

// An editor that tells when Insert mode ends says nothing of keys nor of edits till then, and tells of edits at once in Normal mode.
func TestInsertMode(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		e, f := pair(t, Options{Root: root(t), Hold: time.Second, Insert: true})
		e.OpenUnsaved("a", "one two\n")
		told := func(want string) {
			t.Helper()
			synctest.Wait()
			if got, _ := f.text(e.URI("a")); got != want {
				t.Errorf("the server has %q, want %q", got, want)
			}
		}
		apply(t, f, textEdit(e.URI("a"), 1, 4, 5, "T"))
		told("one Two\n")
		typeAt(t, e, "a", 0, "!")
		apply(t, f, textEdit(e.URI("a"), 3, 5, 6, "t"))
		time.Sleep(900 * time.Millisecond)
		typeAt(t, e, "a", 0, "!")
		time.Sleep(900 * time.Millisecond)
		told("one Two\n")
		time.Sleep(100 * time.Millisecond)
		told("!!one two\n")
		typeAt(t, e, "a", 0, "?")
		told("!!one two\n")
		e.Escape()
		told("?!!one two\n")
		apply(t, f, textEdit(e.URI("a"), 6, 7, 8, "T"))
		told("?!!one Two\n")
		typeAt(t, e, "a", 0, "?")
		if err := e.Undo("a"); err != nil { // in Normal mode
			t.Error(err)
		}
		told("?!!one Two\n")
		apply(t, f, textEdit(e.URI("a"), 9, 7, 8, "t"))
		told("?!!one two\n")
	})
}

// What each profile makes of an edit for a text that it has no more.
func TestProfilesWithStaleEdit(t *testing.T) {
	const refusal = `{"applied":false,"failureReason":"the document has changed"}`
	for _, c := range []struct {
		o      Options
		answer string
		text   string
	}{
		{Options{Profile: Strict}, refusal, "!one two\n"},
		{Options{Profile: Race}, `{"applied":true}`, "!one2two\n"},
		{Options{Profile: Race, Window: time.Millisecond}, refusal, "!one two\n"},
		{Options{Profile: Lying}, `{"applied":true}`, "!one two\n"},
	} {
		t.Run(string(c.o.Profile)+c.o.Window.String(), func(t *testing.T) {
			wiretest.Bubble(t, func(t *testing.T) {
				c.o.Root = root(t)
				write(t, c.o.Root, "a", "one two\n")
				e, f := pair(t, c.o)
				e.o.BeforeApply = func(int) { typeAt(t, e, "a", 0, "!") }
				if err := e.Open("a"); err != nil {
					t.Fatal(err)
				}
				answer := apply(t, f, textEdit(e.URI("a"), 1, 4, 5, "2"))
				if text, _ := e.Text("a"); text != c.text || answer != c.answer {
					t.Errorf("%q after %s", text, answer)
				}
				if _, stale, _ := e.Counts(); stale != 1 {
					t.Errorf("%d stale", stale)
				}
				synctest.Wait()
				if got, _ := f.text(e.URI("a")); got != c.text {
					t.Errorf("the server has %q", got)
				}
			})
		})
	}
}

// A racing editor that checks on arrival can still be overtaken by a key.
func TestRaceWindow(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		e, f := pair(t, Options{Root: root(t), Profile: Race, Window: 10 * time.Millisecond})
		e.OpenUnsaved("a", "one two\n")
		go func() {
			time.Sleep(5 * time.Millisecond)
			typeAt(t, e, "a", 0, "!")
		}()
		if answer := apply(t, f, textEdit(e.URI("a"), 1, 4, 5, "2")); answer != `{"applied":true}` {
			t.Error(answer)
		}
		if text, _ := e.Text("a"); text != "!one2two\n" {
			t.Errorf("%q", text)
		}
	})
}

// Only the lying editor carries the second document of an edit out when its version has passed.
func TestOnlyFirstDocumentIsChecked(t *testing.T) {
	for profile, want := range map[Profile]string{Strict: "x1", Lying: "2x1"} {
		wiretest.Bubble(t, func(t *testing.T) {
			e, f := pair(t, Options{Root: root(t), Profile: profile})
			e.OpenUnsaved("a", "1")
			e.OpenUnsaved("b", "1")
			typeAt(t, e, "b", 0, "x")
			apply(t, f, textEdit(e.URI("a"), 1, 0, 0, "0"), textEdit(e.URI("b"), 1, 0, 0, "2"))
			if text, _ := e.Text("b"); text != want {
				t.Errorf("%s: %q", profile, text)
			}
		})
	}
}

// What happens to line ends in new text.
func TestLineEndsOfNewText(t *testing.T) {
	for _, c := range []struct {
		profile         Profile
		before, new, in string
	}{
		{Strict, "a\r\nb\n", "x\r\n", "x\r\na\r\nb\n"},
		{Race, "a\r\nb\r\nc\n", "x\n", "x\r\na\r\nb\r\nc\r\n"},
		{Race, "a\nb\r\nc\nd\n", "x\r\n", "x\na\nb\nc\nd\n"},
		{Lying, "a\r\nb\n", "x\r\n", "x\na\r\nb\n"},
		{Lying, "a\r\nb\r\n", "x\r\n", "x\r\na\r\nb\r\n"},
	} {
		wiretest.Bubble(t, func(t *testing.T) {
			e, f := pair(t, Options{Root: root(t), Profile: c.profile})
			e.OpenUnsaved("a", c.before)
			apply(t, f, textEdit(e.URI("a"), 1, 0, 0, c.new))
			if text, _ := e.Text("a"); text != c.in {
				t.Errorf("%s %q: %q, want %q", c.profile, c.before, text, c.in)
			}
		})
	}
}

// An edit is one step of the editor's own undo, and inserts at one place keep their order.
func TestEditIsOneUndoStep(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		e, f := pair(t, Options{Root: root(t)})
		e.OpenUnsaved("a", "one two\n")
		change := textEdit(e.URI("a"), 1, 0, 3, "1")
		change["edits"] = append(change["edits"].([]any), at(4, 7, "2"), at(3, 3, "x"), at(3, 3, "y"))
		apply(t, f, change)
		if text, _ := e.Text("a"); text != "1xy 2\n" {
			t.Errorf("%q", text)
		}
		if err := e.Undo("a"); err != nil {
			t.Error(err)
		}
		if text, _ := e.Text("a"); text != "one two\n" {
			t.Errorf("undone: %q", text)
		}
		if err := e.Undo("a"); err == nil {
			t.Error("there was something left to undo")
		}
		typeAt(t, e, "a", 0, "z")
		synctest.Wait()
		if got, version := f.text(e.URI("a")); got != "zone two\n" || version != 4 {
			t.Errorf("the server has %q, version %d", got, version)
		}
	})
}

// A closed file takes an edit in a document that is saved and closed again on demand.
func TestClosedFileIsLent(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		e, f := pair(t, Options{Root: root(t)})
		uri := e.URI("d/new.txt")
		edit := textEdit(uri, 0, 0, 0, "hello\n")
		edit["textDocument"] = map[string]any{"uri": uri, "version": nil}
		create := map[string]any{"kind": "create", "uri": uri, "options": map[string]any{"ignoreIfExists": true}}
		if answer := apply(t, f, create, edit); answer != `{"applied":true}` {
			t.Error(answer)
		}
		if b, err := os.ReadFile(e.Path("d/new.txt")); err != nil || len(b) > 0 {
			t.Errorf("on disk before it is saved: %q %v", b, err)
		}
		raw, err := f.conn.begin("tandem/documents/save", map[string]any{"uris": []string{uri, uri + "x"}})(t.Context())
		want := fmt.Sprintf(`{"failed":[{"uri":"%sx","reason":"not open"}],"saved":["%s"]}`, uri, uri)
		if err != nil || string(raw) != want {
			t.Errorf("%s %v", raw, err)
		}
		if b, err := os.ReadFile(e.Path("d/new.txt")); err != nil || string(b) != "hello\n" {
			t.Errorf("%q %v", b, err)
		}
		if len(e.Buffers()) > 0 {
			t.Error("it is still open")
		}
	})
}

func TestFileOperations(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		e, f := pair(t, Options{Root: root(t)})
		write(t, e.o.Root, "a", "a\n")
		write(t, e.o.Root, "b", "b\n")
		if err := e.Open("a"); err != nil {
			t.Fatal(err)
		}
		typeAt(t, e, "a", 0, "unsaved ")
		for _, c := range []struct {
			op   map[string]any
			want string
		}{
			{map[string]any{"kind": "create", "uri": e.URI("b")}, "exists"},
			{map[string]any{"kind": "create", "uri": e.URI("b"), "options": map[string]any{"ignoreIfExists": true}}, "true"},
			{map[string]any{"kind": "rename", "oldUri": e.URI("a"), "newUri": e.URI("b")}, "exists"},
			{map[string]any{"kind": "rename", "oldUri": e.URI("a"), "newUri": e.URI("d/c")}, "true"},
			{map[string]any{"kind": "delete", "uri": e.URI("b")}, "true"},
			{map[string]any{"kind": "delete", "uri": e.URI("b")}, "no such file"},
			{map[string]any{"kind": "melt", "uri": e.URI("b")}, "no such operation"},
		} {
			if answer := apply(t, f, c.op); !strings.Contains(answer, c.want) {
				t.Errorf("%v: %s", c.op, answer)
			}
		}
		if text := e.Buffers()["d/c"]; text != "unsaved a\n" {
			t.Errorf("the buffer did not follow: %q", text)
		}
		files, err := snapshot(e.o.Root)
		if err != nil || fmt.Sprint(files) != "map[d/c:a\n]" {
			t.Errorf("%v %v", files, err)
		}
	})
}

// The answers that go wrong, and the order of answer and echo.
func TestReplies(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		replies := []Reply{Answered, Lost, Errored, Refused}
		e, f := pair(t, Options{Root: root(t), Reply: func(n int) Reply { return replies[n-1] }, ReplyFirst: true})
		e.OpenUnsaved("a", "\n")
		for i, want := range []string{`{"applied":true}`, "", "-32603", "not now"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			edit := workspaceEdit(textEdit(e.URI("a"), int32(1+min(i, 2)), 0, 0, "x"))
			raw, err := f.conn.begin("workspace/applyEdit", edit)(ctx)
			cancel()
			if got := fmt.Sprint(string(raw), err); !strings.Contains(got, want) || i == 1 && ctx.Err() == nil {
				t.Errorf("%d: %s", i, got)
			}
		}
		if text, _ := e.Text("a"); text != "xx\n" {
			t.Errorf("%q", text)
		}
		var order []string
		for _, w := range e.Wire() {
			if strings.Contains(string(w.Raw), `"applied":true`) || strings.Contains(string(w.Raw), "didChange") {
				order = append(order, string(w.Raw[17:30]))
			}
		}
		if len(order) != 3 || !strings.Contains(order[1], "method") {
			t.Errorf("%q", order)
		}
	})
}

// What the server must not do is noticed.
func TestViolations(t *testing.T) {
	wiretest.Bubble(t, func(t *testing.T) {
		client, server := Pipe(nil, nil)
		f := newFake(server, nil, nil)
		e, err := Start(t.Context(), client, Options{Root: root(t)})
		if err != nil {
			t.Fatal(err)
		}
		e.OpenUnsaved("a", "😀 one\n")
		synctest.Wait()
		apply(t, f, textEdit(e.URI("a"), 1, 1, 2, "x"))
		overlap := textEdit(e.URI("a"), 2, 2, 4, "x")
		overlap["edits"] = append(overlap["edits"].([]any), at(3, 5, "y"))
		unversioned := textEdit(e.URI("a"), 1, 0, 0, "")
		unversioned["textDocument"] = map[string]any{"uri": e.URI("a"), "version": nil}
		apply(t, f, overlap)
		apply(t, f, unversioned)
		apply(t, f)
		if _, err := f.conn.begin("tandem/nobody", nil)(t.Context()); err == nil {
			t.Error("an unknown request was answered")
		}
		f.conn.raw([]byte("hello\r\n\r\n"))
		synctest.Wait()
		v := strings.Join(e.Violations(), "\n")
		for _, want := range []string{
			"points nowhere", "overlap", "no version", "without documentChanges", "tandem/nobody", "hello",
		} {
			if !strings.Contains(v, want) {
				t.Errorf("%q is not in\n%s", want, v)
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		f.wait()
	})
}

// The same editor over pipes of the operating system.
func TestOverRealPipes(t *testing.T) {
	client, server := net.Pipe()
	f := newFake(server, nil, nil)
	e, err := Start(t.Context(), client, Options{Root: root(t)})
	if err != nil {
		t.Fatal(err)
	}
	e.OpenUnsaved("a", "text")
	raw, err := e.Request(t.Context(), "tandem/session/new", nil)
	if err != nil || string(raw) != `{"sessionId":"s1"}` {
		t.Errorf("%s %v", raw, err)
	}
	if text, _ := f.text(e.URI("a")); text != "text" {
		t.Errorf("%q", text)
	}
	_ = e.Close(t.Context())
	f.wait()
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func typeAt(t *testing.T, e *Editor, name string, i int, text string) {
	t.Helper()
	if err := e.Change(name, func(string) []Splice { return []Splice{{i, i, text}} }); err != nil {
		t.Error(err)
	}
}

func at(from, to int, text string) any {
	return map[string]any{"range": Range{Position{0, from}, Position{0, to}}, "newText": text}
}

// textEdit is an edit of the first line of a document.
func textEdit(uri string, version int32, from, to int, text string) map[string]any {
	return map[string]any{
		"textDocument": map[string]any{"uri": uri, "version": version}, "edits": []any{at(from, to, text)},
	}
}

func workspaceEdit(changes ...map[string]any) any {
	return map[string]any{"edit": map[string]any{"documentChanges": changes}}
}

func apply(t *testing.T, f *fake, changes ...map[string]any) string {
	t.Helper()
	raw, err := f.conn.begin("workspace/applyEdit", workspaceEdit(changes...))(t.Context())
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
