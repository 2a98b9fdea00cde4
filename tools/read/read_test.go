//go:build unix

package read

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) {
	toolstest.Prepared(t, func(t *testing.T, env *tools.Env, flag string) bool {
		put := func(name, content string) {
			if err := os.WriteFile(filepath.Join(env.Paths.Cwd, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		switch flag {
		case "fifo":
			if err := syscall.Mkfifo(filepath.Join(env.Paths.Cwd, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
		case "nul":
			put("prog", "\x7fELF\x00\x01")
		case "dos":
			put("dos.txt", "\uFEFFone\r\ntwo\rthree\r\n")
		case "large":
			put("log", strings.Repeat("0123456789\n", 200_000))
		case "narrow":
			env.Limits.MaxReadBytes = 20
		default:
			return false
		}
		return true
	}, New())
}

func many(t *testing.T, lines int, line string) *tools.Env {
	return toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/f", Data: []byte(strings.Repeat(line, lines))}}})
}

func call(t *testing.T, env *tools.Env, args string) tools.Result {
	t.Helper()
	r, _ := toolstest.Call(t.Context(), New(), env, args)
	return r
}

func whole(t *testing.T, env *tools.Env) bool {
	t.Helper()
	_, err := env.FileTime.Assert(filetime.Snapshot{Path: env.Paths.Cwd + "/f", Exists: true}, true)
	return err == nil
}

func TestF142DefaultLimit(t *testing.T) {
	env := many(t, 5000, "x\n")
	r := call(t, env, `{"path":"f"}`)
	v := r.Value.(*value)
	if v.EndLine != 2000 || v.TotalLines != 5000 || !strings.HasSuffix(r.Data, "2000 | x\n</file>\n(continue with start_line=2001)") {
		t.Errorf("%+v …%s", v, r.Data[len(r.Data)-80:])
	}
	if whole(t, env) {
		t.Error("a part was shown, not the whole")
	}
	for _, args := range []string{
		`{"path":"f","start_line":2001,"end_line":3999}`, `{"path":"f","offset":3999,"limit":1001}`,
	} {
		call(t, env, args)
	}
	if !whole(t, env) {
		t.Error("all parts were shown, but not the whole")
	}
}

// Both families of parameters select the same lines.
func TestF140Ranges(t *testing.T) {
	env := many(t, 30, "x\n")
	for a, b := range map[string]string{
		`"start_line":5,"end_line":9`:   `"offset":4,"limit":5`,
		`"start_line":30,"end_line":99`: `"offset":29,"limit":10`,
		`"start_line":1,"end_line":30`:  `"limit":2000`,
	} {
		x, y := call(t, env, `{"path":"f",`+a+`}`), call(t, env, `{"path":"f",`+b+`}`)
		if !x.Success || x.Data != y.Data {
			t.Errorf("%s:\n%s\n%s:\n%s", a, x.Data, b, y.Data)
		}
	}
	for _, args := range []string{
		`"start_line":1,"limit":5`, `"end_line":1,"offset":0`, `"start_line":5,"end_line":4`, `"start_line":31`, `"offset":30`,
		`"start_line":0`, `"limit":0`, `"offset":-1`,
	} {
		r := call(t, env, `{"path":"f",`+args+`}`)
		if r.Error != tools.InvalidArgs || len(r.Issues) == 0 || !strings.HasPrefix(r.Data, "Parameter validation failed:\n") {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

func TestF147Cap(t *testing.T) {
	env := many(t, 1000, strings.Repeat("y", 63)+"\n")
	r := call(t, env, `{"path":"f"}`)
	if v := r.Value.(*value); v.EndLine != 716 || !r.Truncated ||
		!strings.HasSuffix(r.Data, "</file>\n(continue with start_line=717)") {
		t.Errorf("%+v …%s", v, r.Data[len(r.Data)-80:])
	}
	r = call(t, env, `{"path":"f","start_line":717}`)
	if r.Truncated || !whole(t, env) {
		t.Error("going on as told shows the rest")
	}
}

// TestFindingB2Bound has answers of whatever lines keep to the limit, numbers and frame included, and lines of more than 2000
// characters cut. What was cut does not count as seen.
func TestFindingB2Bound(t *testing.T) {
	for name, c := range map[string]struct {
		lines int
		line  string
		cut   bool
	}{
		"empty lines":      {200_000, "\n", false},
		"short lines":      {100_000, "ab\r\n", false},
		"one line":         {60_000, "é", true},
		"long lines":       {30, strings.Repeat("y", 100_000) + "\n", true},
		"just short":       {60, strings.Repeat("é", 2000) + "\n", false},
		"just long":        {20, strings.Repeat("é", 2001) + "\n", true},
		"bytes of no text": {5000, "é日😀\n", false},
	} {
		for _, limit := range []int{51_200, 1000} {
			env := many(t, c.lines, c.line)
			env.Limits.MaxFileBytes, env.Limits.MaxReadBytes = 100<<20, limit
			hold(env, text.New(strings.Repeat(c.line, c.lines)))
			r := call(t, env, `{"path":"f","limit":300000}`)
			if !r.Success || len(r.Data) > limit || len(r.Data) < limit/3 && limit > 1000 && c.lines > 1 && !c.cut {
				t.Errorf("%s, limit %d: %d bytes", name, limit, len(r.Data))
			}
			shown := "[line cut: 2000 of "
			if limit == 1000 {
				shown = "[line cut: "
			}
			if long := c.cut || limit == 1000 && len(c.line) > 1000; long != strings.Contains(r.Data, shown) || long && !r.Truncated {
				t.Errorf("%s, limit %d: %.300s", name, limit, r.Data)
			}
			if c.cut && (whole(t, env) || !strings.Contains(r.Data, "goes on: start_line=1, start_column=")) {
				t.Errorf("%s, limit %d: cut, and counts as seen: %.300s", name, limit, r.Data)
			}
		}
	}
}

// TestFindingB2CutLineOfLargeFile has a file that is not held in memory shown in the same way as one that is.
func TestFindingB2CutLineOfLargeFile(t *testing.T) {
	lines := []string{"one", strings.Repeat("é", 400_000), "three", strings.Repeat("z", 2001), "five\r", ""}
	content := strings.Join(lines, "\n")
	shown := func(limit int64) string {
		env := many(t, 1, content)
		env.Limits.MaxFileBytes = limit
		if limit == 0 {
			hold(env, text.New(content))
		} else {
			env.Read = func(_ context.Context, p sandbox.Place) (filetime.Snapshot, error) {
				return filetime.Snapshot{}, filetime.TooLarge(p.Path(), 2000, 1000)
			}
		}
		r := call(t, env, `{"path":"f","start_line":1,"end_line":5}`)
		body, _, _ := strings.Cut(r.Data, "</file>")
		return body
	}
	held, streamed := shown(0), shown(1000)
	if held != streamed || !strings.Contains(held, "[line cut: 2000 of 400000 characters]") || !strings.Contains(held, "   5 | five\n") {
		t.Errorf("held:\n%.5000s\nstreamed:\n%.5000s", held, streamed)
	}
}

// Whatever the ends of lines and the limits are: pages joined together are the file.
func TestPagesAreTheFile(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		var want []string
		for i := range 100 {
			want = append(want, strings.Repeat("z\r", i%7)+"z")
		}
		env := many(t, 1, strings.Join(want, eol)+eol)
		env.Limits.MaxReadBytes = 40
		var got []string
		for next := 1; next > 0; {
			r := call(t, env, fmt.Sprintf(`{"path":"f","start_line":%d}`, next))
			if !r.Success {
				t.Fatal(r.Data)
			}
			for line := range strings.SplitSeq(r.Data, "\n") {
				if _, s, ok := strings.Cut(line, " | "); ok {
					got = append(got, s)
				}
			}
			next = 0
			if _, after, ok := strings.Cut(r.Data, "(continue with start_line="); ok {
				fmt.Sscan(strings.TrimSuffix(after, ")"), &next)
			}
		}
		if !slices.Equal(got, want) || !whole(t, env) {
			t.Errorf("%q: %q", eol, got)
		}
	}
}

// Each part of a long line can be read: the answers say how to go on, their parts joined are the line, and all of them count as all of it.
func TestFaultW18LongLine(t *testing.T) {
	long := "\uFEFF" + strings.Repeat("ab é日😀 ", 3000) + "end"
	for name, content := range map[string]string{"first": long + "\nlast\n", "only": long, "behind": "a\nb\n" + strings.TrimPrefix(long, "\uFEFF") + "\r\n"} {
		for _, limit := range []int64{1 << 20, 1000} { // held, and read from the disk as it is too large to be held
			env := many(t, 1, content)
			env.Limits.MaxFileBytes = limit
			if limit == 1000 {
				env.Read = func(context.Context, sandbox.Place) (filetime.Snapshot, error) {
					return filetime.Snapshot{}, &filetime.Error{Code: filetime.FileTooLarge, Message: "too large"}
				}
			}
			var got strings.Builder
			line := strings.Count(content[:strings.Index(content, "ab é")], "\n") + 1
			if r := call(t, env, fmt.Sprintf(`{"path":"f","end_line":%d}`, line)); !strings.Contains(r.Data, fmt.Sprintf("(line %d goes on: start_line=%[1]d, start_column=2001)", line)) {
				t.Fatalf("%s: …%s", name, r.Data[max(0, len(r.Data)-200):])
			}
			for column, width := 1, 700; column > 0; width += 611 {
				more := ""
				if width%2 == 1 {
					more = fmt.Sprintf(`,"end_column":%d`, column+width-1)
				}
				r := call(t, env, fmt.Sprintf(`{"path":"f","start_line":%d,"start_column":%d%s}`, line, column, more))
				if !r.Success {
					t.Fatal(r.Data)
				}
				_, shown, _ := strings.Cut(r.Data, " | ")
				shown, _, _ = strings.Cut(strings.TrimPrefix(shown, "… "), "\n")
				shown, _, _ = strings.Cut(shown, " … [line cut")
				shown, _, _ = strings.Cut(shown, " [line cut")
				got.WriteString(shown)
				v := r.Value.(*value)
				if v.StartLine != line || v.StartColumn != column || v.EndColumn != column+utf8.RuneCountInString(shown)-1 {
					t.Fatalf("%s: %+v for %d characters", name, v, utf8.RuneCountInString(shown))
				}
				if column = v.EndColumn + 1; !strings.Contains(r.Data, fmt.Sprintf("of %d", utf8.RuneCountInString(long)-1)) {
					t.Fatalf("%s: %s", name, r.Data)
				}
				if strings.HasSuffix(shown, "end") {
					break
				}
			}
			if got.String() != strings.TrimPrefix(long, "\uFEFF") {
				t.Errorf("%s, limit %d: the parts are not the line", name, limit)
			}
			if limit > 1000 {
				for from := 1; from < line+2; from++ {
					if from != line {
						call(t, env, fmt.Sprintf(`{"path":"f","start_line":%d,"end_line":%[1]d}`, from))
					}
				}
				if !whole(t, env) {
					t.Errorf("%s: read in parts is not read whole", name)
				}
			}
		}
	}
	env := many(t, 3, "ab\n")
	for args, want := range map[string]string{
		`"start_line":2,"start_column":2`:              "   2 | … b [line cut: characters 2-2 of 2]",
		`"start_line":2,"start_column":1`:              "   2 | ab\n</file>",
		`"start_line":2,"end_line":2,"end_column":1`:   "   2 | a … [line cut: 1 of 2 characters]",
		`"start_line":2,"start_column":3`:              "Line 2 of f has 2 characters: there is no column 3.",
		`"start_line":9,"start_column":1`:              "there is no line 9",
		`"start_line":1,"end_line":2,"start_column":1`: "of one line",
		`"offset":1,"start_column":1`:                  "cannot be combined",
		`"start_column":2,"end_column":1`:              "lies before",
		`"start_line":1,"start_column":0`:              "Parameter validation failed",
		`"start_line":1,"startColumn":2,"endColumn":2`: "… b [line cut",
	} {
		if r := call(t, env, `{"path":"f",`+args+`}`); !strings.Contains(r.Data, want) {
			t.Errorf("%s: %s", args, r.Data)
		}
	}
}

func TestF148Seen(t *testing.T) {
	env := many(t, 10, "x\n")
	if env.FileTime.Knows(env.Paths.Cwd + "/f") {
		t.Error("seen before it was read")
	}
	call(t, env, `{"path":"f"}`)
	if !whole(t, env) {
		t.Error("not seen")
	}
}

func TestPlan(t *testing.T) {
	env := many(t, 1, "x\n")
	tool := New()
	p, err := toolstest.Plan(t.Context(), tool, env, json.RawMessage(`{"path":"@f","offset":3}`))
	if err != nil {
		t.Fatal(err)
	}
	path := env.Paths.Cwd + "/f"
	if p.Run == nil || p.Locations[0] != (tools.Location{Path: path, Line: 4}) {
		t.Errorf("%+v", p)
	}
	if got, err := tool.Needs(env, json.RawMessage(`{"path":"@f"}`)); err != nil || len(got) != 1 || got[0].Act != tools.Reads || got[0].Place.Path() != path {
		t.Errorf("needs %v, %v", got, err)
	}
	if spec := tool.Spec(); spec.Danger != tools.Safe || !spec.Kind.ReadOnly() || spec.Description == "" {
		t.Errorf("%+v", spec)
	}
}

func TestCancelled(t *testing.T) {
	env := many(t, 300_000, "x x x\n")
	p, err := toolstest.Plan(t.Context(), New(), env, json.RawMessage(`{"path":"f","offset":1,"limit":2}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := &filetime.Error{Message: "why"}
	cancel(why)
	if _, err := p.Run(ctx); err != why {
		t.Errorf("%v", err)
	}
}

func BenchmarkRead(b *testing.B) {
	env := toolstest.Workspace(b, &txtar.Archive{Files: []txtar.File{
		{Name: "buffer/f", Data: []byte(strings.Repeat("\treturn nil, fmt.Errorf(x)\n", 300_000))},
	}})
	hold(env, text.New(strings.Repeat("\treturn nil, fmt.Errorf(x)\n", 300_000)))
	tool := New()
	for b.Loop() {
		if r, _ := toolstest.Call(b.Context(), tool, env, `{"path":"f","start_line":250000}`); !r.Success {
			b.Fatal(r.Data)
		}
	}
}

// hold makes the file f say t.
func hold(env *tools.Env, t text.Text) {
	h := held{snap: filetime.Snapshot{Path: env.Paths.Cwd + "/f", Text: t, Rev: 1, Exists: true}}
	env.FileTime = filetime.New(h, "s", nil)
	env.Read = func(context.Context, sandbox.Place) (filetime.Snapshot, error) { return h.snap, nil }
}

// held are files of which one never changes.
type held struct {
	filetime.Files
	snap filetime.Snapshot
}

func (h held) History(string, uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	return nil, h.snap, true
}
