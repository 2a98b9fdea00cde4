//go:build unix

package grep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/wire/wiretest"
	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/tools"
	"tandem/tools/toolstest"
)

func prepare(t *testing.T, env *tools.Env, flag string) bool {
	put := func(name, content string) {
		if err := os.WriteFile(filepath.Join(env.Paths.Cwd, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	switch flag {
	case "binary":
		put("prog", "match\x00match\n")
	case "odd":
		put("latin1.txt", "caf\xe9 match\n")
		put("dos.txt", "\uFEFFmatch one\r\nother\r\nmatch two\r\n")
		put("a[b]{c}.txt", "match in an odd name\n")
	case "config":
		put(".ripgreprc", "--pre=./evil\n")
		put("evil", "#!/bin/sh\ntouch executed\n")
		if err := os.Chmod(env.Paths.Cwd+"/evil", 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("RIPGREP_CONFIG_PATH", env.Paths.Cwd+"/.ripgreprc")
		t.Cleanup(func() {
			if _, err := os.Stat(env.Paths.Cwd + "/executed"); err == nil {
				t.Error("the program of the configuration was run")
			}
		})
	case "fifo":
		if err := syscall.Mkfifo(env.Paths.Cwd+"/pipe", 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		return false
	}
	return true
}

func TestCases(t *testing.T) { toolstest.Prepared(t, prepare, New()) }

func workspace(t *testing.T, files ...txtar.File) *tools.Env {
	return toolstest.Workspace(t, &txtar.Archive{Files: files})
}

func call(t *testing.T, tool tools.Tool, env *tools.Env, args string) tools.Result {
	t.Helper()
	r, _ := toolstest.Call(t.Context(), tool, env, args)
	return r
}

// The search ends soon after the limit, and going on from the offset that was named loses nothing.
func TestF165Pages(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "match %d\n", i)
	}
	tool := New()
	env := workspace(t, txtar.File{Name: "disk/a", Data: []byte("match a\n")}, txtar.File{Name: "disk/b", Data: []byte(b.String())},
		txtar.File{Name: "disk/c", Data: []byte("match c\n")})
	r := call(t, tool, env, `{"pattern":"match"}`)
	if !strings.HasPrefix(r.Data, "First 100 matches (more: offset=100):\n1. a:1 → match a\n2. b:1 → match 0\n") ||
		!strings.HasSuffix(r.Data, "\n100. b:99 → match 98") || !r.Truncated || told(t, r).Total != nil {
		t.Errorf("%.100s … %s", r.Data, r.Data[len(r.Data)-100:])
	}
	var all []string
	for offset := 0; ; {
		r := call(t, tool, env, fmt.Sprintf(`{"pattern":"match","offset":%d,"head_limit":700}`, offset))
		v := told(t, r)
		if len(v.Matches) == 0 {
			t.Fatal(r.Data)
		}
		for _, m := range v.Matches {
			all = append(all, m.Text)
		}
		if offset += len(v.Matches); !v.Truncated {
			break
		}
		if !strings.Contains(r.Data, fmt.Sprintf("offset=%d)", offset)) {
			t.Fatalf("offset %d: %s", offset, r.Data[len(r.Data)-100:])
		}
	}
	if len(all) != 3002 || all[3001] != "match c" || all[1701] != "match 1700" {
		t.Errorf("%d matches", len(all))
	}
	r = call(t, tool, env, `{"pattern":"match","offset":5000}`)
	if !r.Success || !strings.HasSuffix(r.Data, "none of them after the first 5000.") {
		t.Error(r.Data)
	}
}

// Lines count as seen in each file of an answer, however many there are. An answer beyond the usual length has some that do not, since
// the session keeps the text of each file that was seen.
func TestLinesOfManyFilesAreSeen(t *testing.T) {
	for _, c := range []struct {
		files, room, least, most int
		line                     string
	}{
		{700, 30_000, 700, 700, "m"},
		{300, 60_000, 300, 300, "m" + strings.Repeat("x", 150)},
		{1200, 1_000_000, 700, 900, "m" + strings.Repeat("x", 150)},
	} {
		var files []txtar.File
		for i := range c.files {
			files = append(files, txtar.File{Name: fmt.Sprintf("disk/%04d", i), Data: []byte(c.line + "\n")})
		}
		env := workspace(t, files...)
		env.Limits.MaxToolOutputChars = c.room
		r := call(t, New(), env, `{"pattern":"^m","head_limit":10000}`)
		seen := env.FileTime.Paths()
		if len(told(t, r).Matches) != c.files || len(seen) < c.least || len(seen) > c.most {
			t.Errorf("%d files in %d characters: %s, and %d are seen", c.files, len(r.Data), r.Summary, len(seen))
		}
		for i, p := range seen {
			if filepath.Base(p) != fmt.Sprintf("%04d", i) {
				t.Fatalf("%s is seen as number %d", p, i)
			}
		}
	}
}

// A line longer than can be shown is cut around the match and does not count as seen; a log of 100 MB is searched without
// being held.
func TestF092_F257LongAndLarge(t *testing.T) {
	tool := New()
	env := workspace(t, txtar.File{Name: "disk/min.js", Data: []byte(strings.Repeat("é", 5000) + "NEEDLE" + strings.Repeat("x", 9000) + "\n")})
	r := call(t, tool, env, `{"pattern":"NEEDLE"}`)
	if !strings.Contains(r.Data, "NEEDLE") || len(r.Data) > 700 || len(env.FileTime.Paths()) != 0 || strings.Count(r.Data, "…") != 2 {
		t.Errorf("%d bytes, seen %v: %s", len(r.Data), env.FileTime.Paths(), r.Data)
	}
	log, err := os.Create(env.Paths.Cwd + "/large.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	chunk := []byte(strings.Repeat(strings.Repeat("ordinary text ", 14)+"\n", 5000))
	for range 105 {
		if _, err := log.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.WriteString("NEEDLE\n"); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r = call(t, tool, env, `{"pattern":"NEEDLE","path":"large.log"}`)
	runtime.ReadMemStats(&after)
	if !strings.Contains(r.Data, "large.log:525001 → NEEDLE") {
		t.Error(r.Data)
	}
	// All that was allocated, whenever it was freed: who holds the file has allocated 110 MB.
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 && !wiretest.Raced() { // with the race detector a buffer is not used again
		t.Errorf("F092: %d MB were allocated", allocated>>20)
	}
}

func TestF166NoMatch(t *testing.T) {
	tool := New()
	r := call(t, tool, workspace(t, txtar.File{Name: "disk/a", Data: []byte("x\n")}), `{"pattern":"none"}`)
	if !r.Success || r.Data != "No matches for none in ." || *told(t, r).Total != 0 {
		t.Errorf("%+v", r)
	}
}

// A search that is ended before its end never says that there are no matches, and gives what it found.
func TestFindingB1CutShort(t *testing.T) {
	for name, c := range map[string]struct {
		over func(context.Context) (context.Context, func())
		code filetime.Code
		what string
	}{
		"time": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			return ctx, func() { <-ctx.Done(); cancel() }
		}, filetime.Timeout, "ran out of time"},
		"cancel": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel
		}, filetime.Cancelled, "was cancelled"},
	} {
		for _, found := range []int{0, 2} {
			env := workspace(t)
			q, err := parse(input{Pattern: "x", OutputMode: content, HeadLimit: 100})
			if err != nil {
				t.Fatal(err)
			}
			ctx, over := c.over(t.Context())
			// The search ends in the middle of the second file, as the walk of a folder does: without an error.
			s := stopping{found: found, then: over}
			place, err := env.Paths.Readable(".")
			if err != nil {
				t.Fatal(err)
			}
			r, err := run(ctx, env, q, place, s)
			if err != nil || r.Success || r.Error != c.code || !strings.Contains(r.Data, c.what) || !r.Truncated {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			if strings.Contains(r.Data, "No matches") || found > 0 != strings.Contains(r.Data, "1. a:1 → x\n2. a:2 → x") {
				t.Errorf("%s: %s", name, r.Data)
			}
			if v := told(t, r); len(v.Matches) != found || v.Total != nil {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
}

// stopping finds some lines, then what it searches for is over.
type stopping struct {
	found int
	then  func()
}

func (s stopping) files(_ context.Context, _ *query, to sink) error {
	f := found{hits: s.found}
	for i := range s.found {
		f.lines = append(f.lines, line{n: i + 1, text: "x", match: true})
	}
	to.take("a", f)
	s.then()
	return nil
}

func (s stopping) text(context.Context, *query, text.Text) found { return found{} }

func TestF096_F249NoShell(t *testing.T) {
	tool := New()
	env := workspace(t, txtar.File{Name: "disk/a", Data: []byte("x\n")})
	for _, p := range []string{"'; touch executed;'", "--pre=./evil", "-", "--", "$(touch executed)", "--files", "-e"} {
		arg, _ := json.Marshal(p)
		if r := call(t, tool, env, `{"pattern":`+string(arg)+`,"glob":"--files"}`); !r.Success {
			t.Errorf("%s: %+v", p, r)
		}
	}
	if _, err := os.Stat(env.Paths.Cwd + "/executed"); err == nil {
		t.Error("executed")
	}
}

func TestInvalid(t *testing.T) {
	tool := New()
	env := workspace(t, txtar.File{Name: "disk/a", Data: []byte("x\n")})
	for args, want := range map[string]string{
		`{"pattern":"*.go"}`: `pattern "*.go" is not a valid regular expression`, `{"pattern":"x","type":"nonsense"}`: "type nonsense is not known",
		`{"pattern":"x","glob":"[a"}`: "glob: ", `{"pattern":""}`: "pattern cannot be empty", `{"pattern":"a\u0000"}`: "NUL",
		`{"pattern":"x","output_mode":"json"}`: "output_mode must be one of", `{"pattern":"x","context":101}`: "<= 100",
	} {
		if r := call(t, tool, env, args); r.Error != tools.InvalidArgs || !strings.Contains(r.Data, want) || len(r.Issues) != 1 {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// Patterns that look around or refer back are searched by an engine that can.
func TestLookaround(t *testing.T) {
	env := workspace(t, txtar.File{Name: "disk/a", Data: []byte("foobar\nfoobaz é\nabab\n")})
	for pattern, want := range map[string]string{
		`foo(?=bar)`: "a:1 → foobar", `(ab)\\1`: "a:3 → abab", `(?<!x)baz`: "a:2 → foobaz é", `(?<=baz )\\w`: "a:2 → foobaz é",
	} {
		if r := call(t, New(), env, `{"pattern":"`+pattern+`"}`); !r.Success || !strings.Contains(r.Data, want) || strings.Contains(r.Data, "2. ") {
			t.Errorf("%s: %+v", pattern, r)
		}
	}
	if r := call(t, New(), env, `{"pattern":"foo\\Kbar"}`); r.Error != tools.InvalidArgs || !strings.Contains(r.Data, "looks around or refers back") {
		t.Errorf("%+v", r)
	}
}

func TestCancelled(t *testing.T) {
	tool := New()
	env := workspace(t, txtar.File{Name: "disk/a", Data: []byte("match\n")})
	p, err := toolstest.Plan(t.Context(), tool, env, json.RawMessage(`{"pattern":"match","path":"."}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if _, err := p.Run(ctx); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestPlan(t *testing.T) {
	env := workspace(t)
	tool := New()
	p, err := toolstest.Plan(t.Context(), tool, env, json.RawMessage(`{"pattern":"x","path":"."}`))
	if err != nil || p.Run == nil || p.Kind != tools.Search {
		t.Errorf("%+v, %v", p, err)
	}
	for path, code := range map[string]filetime.Code{"/etc": filetime.OutsideRoots, "none": filetime.ReadError, "none/none": filetime.ReadError} {
		if r := call(t, tool, env, `{"pattern":"x","path":"`+path+`"}`); r.Error != code {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// Whatever the files, the buffers and the question: both ways to search answer the same.
func TestSameAnswers(t *testing.T) {
	rg := oracle(t)
	texts := rapid.StringOfN(rapid.SampledFrom([]rune("ab1_ é\n\n(.{")), 0, 40, -1)
	patterns := rapid.SampledFrom([]string{
		"a", "ab", `\w+`, `\d`, `a\sb`, `^a`, `b$`, "é", "[^a]b", "(", "a{2}", "{", `\.`, ".", `a\nb`, "(?i)A", "a|b1", `\W`, "^$", `b\s+a`, "[[:alpha:]]1",
	})
	paths := []string{"a/b", "a.c", "a/d.go", "e.go"}
	check := func(t *rapid.T) {
		var files []txtar.File
		for _, p := range paths {
			if rapid.Bool().Draw(t, "exists") {
				files = append(files, txtar.File{Name: "disk/" + p, Data: []byte(texts.Draw(t, p))})
			}
			if rapid.IntRange(0, 3).Draw(t, "open") == 0 {
				files = append(files, txtar.File{Name: "buffer/" + p, Data: []byte(texts.Draw(t, p+" unsaved"))})
			}
		}
		args := map[string]any{"pattern": patterns.Draw(t, "pattern")}
		for _, name := range []string{"case_insensitive", "word", "fixed", "multiline"} {
			args[name] = rapid.IntRange(0, 3).Draw(t, name) == 0
		}
		for _, name := range []string{"before", "after", "offset"} {
			args[name] = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, name)
		}
		args["glob"] = rapid.SampledFrom([]string{"", "", "*.go", "!*.go", "a/*"}).Draw(t, "glob")
		args["output_mode"] = rapid.SampledFrom([]string{content, content, names, counts}).Draw(t, "mode")
		args["head_limit"] = rapid.SampledFrom([]int{3, 100}).Draw(t, "limit")
		js, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := os.MkdirTemp("", "grep")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		env := toolstest.Workspace(inDir{TB: dummy{}, dir: dir}, &txtar.Archive{Files: files})
		a, _ := toolstest.Call(context.Background(), define(rg), env, string(js))
		b, _ := toolstest.Call(context.Background(), define(engine{}), env, string(js))
		if d := cmp.Diff(a.Data, b.Data); d != "" {
			t.Fatalf("%s (-rg +engine):\n%s", js, d)
		}
		if d := cmp.Diff(told(t, a), told(t, b)); d != "" {
			t.Fatalf("%s (-rg +engine):\n%s", js, d)
		}
	}
	rapid.Check(t, check)
}

// inDir is a testing.TB of a workspace in one iteration of a property.
type inDir struct {
	testing.TB
	dir string
}

type dummy struct{ testing.TB }

func (d inDir) Helper()           {}
func (d inDir) TempDir() string   { return d.dir }
func (d inDir) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func FuzzPattern(f *testing.F) {
	for _, s := range []string{`a{2,3}`, `[^]a]\w`, `[\w-]`, `interface{}`, `func main() {`, `(?=x)`, `\p{L}`, `[[:alpha:]`, `a\`, `&&`, `[a&&b]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		q, err := parse(input{Pattern: pattern})
		if err == nil {
			newSearch(t.Context(), q).file(index.File{Head: []byte("func main() {\n\xff é\n")})
		}
	})
}

func BenchmarkGrep(b *testing.B) {
	env := toolstest.Workspace(b, &txtar.Archive{})
	env.Paths = &sandbox.Paths{Cwd: build.Default.GOROOT + "/src", Read: []string{build.Default.GOROOT}}
	for _, bb := range []struct {
		name string
		s    searcher
	}{{"rg", oracle(b)}, {"engine", engine{}}} {
		for _, pattern := range []string{"func ", "unobtainable needle"} {
			b.Run(bb.name+"/"+pattern, func(b *testing.B) {
				for b.Loop() {
					if r, _ := toolstest.Call(b.Context(), define(bb.s), env, `{"pattern":"`+pattern+`","output_mode":"files_with_matches"}`); !r.Success {
						b.Fatal(r.Data)
					}
				}
			})
		}
	}
}

// held counts the searches that run at once, each of which lasts until it may end.
type held struct {
	running, most atomic.Int32
	end           chan struct{}
}

func (h *held) text(context.Context, *query, text.Text) found { return found{} }

func (h *held) files(context.Context, *query, sink) error {
	if n := h.running.Add(1); n > h.most.Load() {
		h.most.Store(n)
	}
	<-h.end
	h.running.Add(-1)
	return nil
}

func TestSearchesTakeTurns(t *testing.T) {
	env := workspace(t, txtar.File{Name: "a.txt", Data: []byte("x")})
	synctest.Test(t, func(t *testing.T) {
		h := &held{end: make(chan struct{})}
		tool := define(h)
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Int32
		begin := func(ctx context.Context, n int) {
			for range n {
				go func() {
					toolstest.Call(ctx, tool, env, `{"pattern":"x"}`)
					ended.Add(1)
				}()
			}
			synctest.Wait()
		}
		begin(t.Context(), 40)
		begin(ctx, 10)
		cancel()
		synctest.Wait()
		if n := int(h.running.Load()); n != runtime.GOMAXPROCS(0) {
			t.Errorf("%d searches run at once", n)
		}
		close(h.end)
		synctest.Wait()
		if most, n := int(h.most.Load()), ended.Load(); most > runtime.GOMAXPROCS(0) || n != 50 {
			t.Errorf("%d searches ran at once, and %d calls have ended", most, n)
		}
	})
}

// An index says nothing about unsaved text, and an answer with one is that without.
func TestIndexAndBuffers(t *testing.T) {
	env := workspace(t, txtar.File{Name: "disk/a", Data: []byte("on disk\n")}, txtar.File{Name: "disk/b", Data: []byte("Needle here\n")},
		txtar.File{Name: "buffer/a", Data: []byte("a needle, unsaved\n")}, txtar.File{Name: "buffer/new", Data: []byte("needle\n")})
	built := make(chan struct{}, 10)
	env.Searches.Indexes = &index.Indexes{
		Now: func() time.Time { return time.Now().Add(time.Minute) }, Least: 1,
		RunInBackground: func(f func(context.Context)) { go func() { f(t.Context()); built <- struct{}{} }() },
	}
	for round := range 3 {
		for pattern, want := range map[string]string{
			"needle": "Found 2 matches in 2 files:\n1. a:1 → a needle, unsaved\n2. new:1 → needle", "on disk": "No matches for on disk in .",
			"(?i)NEEDLE h": "Found 1 match in 1 file:\n1. b:1 → Needle here", "[Nn]eedle.$": "No matches for [Nn]eedle.$ in .",
		} {
			if r := call(t, New(), env, `{"pattern":"`+pattern+`"}`); r.Data != want {
				t.Errorf("round %d, %s: %s", round, pattern, r.Data)
			}
		}
		for waits := round == 0; waits; { // what looks at the folders in the background may end before
			<-built
			waits = runtime.GOOS == "linux" && env.Searches.Indexes.States()[0].State != "ready"
		}
	}
	if s := env.Searches.Indexes.States(); len(s) != 1 || s[0].State != "ready" && runtime.GOOS == "linux" {
		t.Errorf("%+v", s)
	}
}

// toldValue is the value of an answer, as a program reads it.
type toldValue struct {
	Matches   []matchValue `json:"matches,omitzero"`
	Files     []string     `json:"files,omitzero"`
	Counts    []countValue `json:"counts,omitzero"`
	Total     *int         `json:"total,omitempty"`
	Truncated bool         `json:"truncated"`
}

type matchValue struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type countValue struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

func told(t rapid.TB, r tools.Result) *toldValue {
	t.Helper()
	text, err := json.Marshal(r.Value)
	var v toldValue
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

// TestValueWritesItself wants of values what an encoder makes of their parts.
func TestValueWritesItself(t *testing.T) {
	total := 7
	long := []matchValue{{"/a b", 1, "x\t\"\\"}, {"/a b", 20, "\uFFFD"}, {"/ü", 3, ""}, {"/a b", 1, "é"}}
	for range 1 << 13 { // some pieces of a text
		long = append(long, matchValue{"/c", len(long), strings.Repeat("y", 100)})
	}
	for _, want := range []toldValue{
		{Matches: []matchValue{}},
		{Matches: []matchValue{}, Total: &total},
		{Files: []string{"a", "b\""}, Total: &total},
		{Files: []string{}},
		{Counts: []countValue{{"a", 1}, {"", 30}}, Truncated: true},
		{Matches: long, Truncated: true},
	} {
		v := &value{mode: content, Total: want.Total, Truncated: want.Truncated}
		switch {
		case want.Files != nil:
			v.mode = names
		case want.Counts != nil:
			v.mode = counts
		}
		for _, m := range want.Matches {
			v.add(m.Path, hit{lines: []line{{n: m.Line - 1}, {n: m.Line, text: m.Text, match: true}}})
			v.Grown()
		}
		for _, f := range want.Files {
			v.add(f, hit{})
		}
		for _, c := range want.Counts {
			v.add(c.Path, hit{n: c.Count})
		}
		text, err := jsonv2.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := v.MarshalJSON(); err != nil || string(got) != string(text) {
				t.Errorf("%.500s, %v, want %.500s", got, err, text)
			}
		}
	}
}
