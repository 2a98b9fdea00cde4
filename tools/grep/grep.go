// Package grep is the tool grep: text in files, as ripgrep finds it. Unsaved text is searched in
// place of what is on disk.
package grep

import (
	"cmp"
	"context"
	_ "embed"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/schema"
)

//go:embed grep.md
var description string

// The output modes.
const (
	content = "content"
	names   = "files_with_matches"
	counts  = "count"
)

type input struct {
	Pattern    string   `json:"pattern" desc:"A regular expression." minlen:"1" alias:"regex,query"`
	Path       string   `json:"path" desc:"Directory or file." default:"." alias:"directory,dir,dir_path" nocoerce:"true"`
	Glob       string   `json:"glob,omitempty" desc:"Such as src/**/*.ts." alias:"include,include_pattern,file_pattern" nocoerce:"true"`
	Type       string   `json:"type,omitempty" desc:"Only this type: go, py." shown:"false"`
	OutputMode string   `json:"output_mode" default:"content" enum:"content,files_with_matches,count"`
	IgnoreCase bool     `json:"case_insensitive,omitempty" desc:"Ignore case." alias:"ignore_case,-i"`
	Word       bool     `json:"word,omitempty" desc:"Whole words." shown:"false" alias:"-w"`
	Fixed      bool     `json:"fixed,omitempty" desc:"Take the pattern literally." alias:"fixed_strings,literal,-F"`
	Multiline  bool     `json:"multiline,omitempty" desc:"Matches may span lines, . too." alias:"-U"`
	Before     int      `json:"before,omitempty" desc:"Lines before." min:"0" max:"100" alias:"-B,before_context"`
	After      int      `json:"after,omitempty" desc:"Lines after." min:"0" max:"100" alias:"-A,after_context"`
	Context    int      `json:"context,omitempty" desc:"Before and after." shown:"false" min:"0" max:"100" alias:"-C,context_lines"`
	Offset     int      `json:"offset,omitempty" desc:"Results to skip." min:"0"`
	HeadLimit  int      `json:"head_limit" desc:"Results at most." default:"100" shown:"nodefault" min:"1" alias:"limit,max_results,max_matches"`
	_          struct{} `always:"-n,line_numbers"`
}

// New makes the tool.
func New() tools.Tool { return define(engine{}) }

func define(s searcher) tools.Tool {
	// More searches than there are processors end no sooner when they run at once, and hold
	// everybody else up.
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "grep", Aliases: []string{"search_code", "search_files", "search_file_content", "grep_search", "grep_files"}, Kind: tools.Search, Category: "search",
			Description: strings.TrimSpace(description), Danger: tools.Safe, Class: tools.ClassRead,
			Together: tools.WithReads, NotDestructive: true, Source: "builtin", Pages: true,
		},
		Title:   func(in input) string { return "Search " + in.Pattern },
		Subject: func(in input) string { return in.Pattern },
		Needs:   func(env *tools.Env, in input) ([]tools.Need, error) { return tools.ToRead(env, in.narrowed(env).Path) },
		Plan: func(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
			p, err := plan(env, in, s)
			if err != nil {
				return nil, err
			}
			search := p.Run
			p.Run = func(ctx context.Context) (tools.Result, error) {
				if ctx.Err() != nil {
					return tools.Result{}, context.Cause(ctx)
				}
				select {
				case places <- struct{}{}:
					leave := sync.OnceFunc(func() { <-places })
					defer leave()
					defer context.AfterFunc(ctx, leave)() // also where it hangs in a file system that does not answer
					return search(ctx)
				case <-ctx.Done():
					return tools.Result{}, context.Cause(ctx)
				}
			}
			return p, nil
		},
	})
}

// narrowed has the directory to look in, which the glob may begin with, and what of the glob is
// below it.
func (in input) narrowed(env *tools.Env) input {
	in.Path, in.Glob = tools.Narrow(env, in.Path, in.Glob)
	return in
}

func plan(env *tools.Env, in input, s searcher) (*tools.Plan, error) {
	q, err := parse(in.narrowed(env))
	if err != nil {
		return nil, err
	}
	q.asked = in.Glob
	place := env.Place()
	return &tools.Plan{
		Title: "Search " + in.Pattern, Kind: tools.Search, Danger: tools.Safe,
		Semantic: "search",
		Run: func(ctx context.Context) (tools.Result, error) {
			r, err := run(ctx, env, q, place, s)
			if err != nil || !r.Success || r.Summary != nothing(q) {
				return r, err
			}
			for _, o := range others(ctx, in, q) {
				q, err := parse(o.in.narrowed(env))
				if err != nil {
					continue
				}
				if r, err := run(ctx, env, q, place, s); err == nil && r.Summary != nothing(q) {
					r.Data += "\n(" + o.note(r.Data) + ")"
					return r, nil
				}
			}
			return r, err
		},
	}, nil
}

// other is what a search that has found nothing may mean; note says of its answer how it was taken.
type other struct {
	in   input
	note func(data string) string
}

// others are those of a search: its pattern in the other Unicode form, and as what cannot be told
// from it by its looks.
func others(ctx context.Context, in input, q *query) (out []other) {
	as := func(pattern string, fixed bool) input {
		again := in
		again.Pattern, again.Fixed = pattern, fixed
		return again
	}
	if form := text.OtherForm(in.Pattern); form != "" && !strings.Contains(in.Pattern, "[") { // of a set of signs it would be another set
		out = append(out, other{as(form, in.Fixed), func(string) string {
			return "this is the pattern in another Unicode form, NFC or NFD: letters with accents are one sign or several"
		}})
	}
	// A text of ASCII alone looks like no other such text.
	plain, ok := literal(in)
	ascii := !strings.ContainsFunc(plain, func(r rune) bool { return r >= utf8.RuneSelf })
	if ok && (!ascii || q.odd.Load()) && q.few(ctx) {
		out = append(out, other{as(text.LooksLike(plain), false), func(data string) string {
			data = data[:min(len(data), maxPattern)]
			has, sign := "the text has ", text.Odd(data, plain)
			if sign == "" {
				has, sign = "the pattern has ", cmp.Or(text.Odd(plain, data), "another sign")
			}
			sign, _, _ = strings.Cut(sign, " at column")
			return "the text is not the pattern, though it looks the same: " + has + sign
		}})
	}
	return out
}

// maxLiteral is how long a pattern may be that is compared by its looks.
const maxLiteral = 200

// literal is the text that a pattern stands for; ok is false for any other pattern.
func literal(in input) (plain string, ok bool) {
	if len(in.Pattern) > maxLiteral || strings.ContainsAny(in.Pattern, "\n\r") {
		return "", false
	}
	if in.Fixed {
		return in.Pattern, true
	}
	var b strings.Builder
	for i := 0; i < len(in.Pattern); i++ {
		switch c := in.Pattern[i]; {
		case c == '\\' && i+1 < len(in.Pattern) && strings.IndexByte(`\.+*?()|[]{}^$-/"'#&~ `, in.Pattern[i+1]) >= 0:
			i++
			b.WriteByte(in.Pattern[i])
		case strings.IndexByte(`\+*?()|[]{}^$`, c) >= 0:
			return "", false
		default: // a dot is often one
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// The limits of files, and of bytes in them, that are searched again for what looks like a pattern:
// no index helps there.
const (
	maxLooked      = 5000
	maxLookedBytes = 64 << 20
)

// few reports whether the search is within these limits.
func (q *query) few(ctx context.Context) bool {
	files, bytes := 0, int64(0)
	if q.file == "" {
		_, _ = q.indexes.Walk(ctx, q.tree, 0, func(e tree.Entry) error {
			size, _ := e.Size()
			files, bytes = files+1, bytes+size
			if files > maxLooked || bytes > maxLookedBytes {
				return fs.SkipAll
			}
			return nil
		})
	}
	return files <= maxLooked && bytes <= maxLookedBytes
}

func nothing(q *query) string { return "No matches for " + q.Pattern }

func run(ctx context.Context, env *tools.Env, q *query, place sandbox.Place, s searcher) (tools.Result, error) {
	defer env.Searches.Indexes.Search()() // until it is recorded what was seen
	if err := q.open(ctx, env, place); err != nil {
		return tools.Result{}, err
	}
	c := newCollector(env, q)
	err := gather(ctx, s, q, c)
	switch {
	case ctx.Err() != nil:
		c.flush("")
		c.stopped = true // there may be more
		r := cutShort(ctx, c.result(env, q), c.results)
		see(context.WithoutCancel(ctx), env, q, c)
		return r, nil
	case err != nil:
		return tools.Result{}, err
	}
	r := c.result(env, q)
	if c.results == 0 {
		r.Data += q.missed(ctx)
	}
	r.Data += tools.Withheld(q.withheld) + tools.TooDeep(q.tree.Deep()) + tools.LeftOut(c.leftOut)
	see(context.WithoutCancel(ctx), env, q, c)
	return r, nil
}

// missed says what a search that found nothing may have missed: ignored files, signs of another
// dialect.
func (q *query) missed(ctx context.Context) (hint string) {
	if q.asked != "" && q.file == "" {
		ignored, _ := q.indexes.Walk(ctx, q.tree, 0, func(tree.Entry) error { return nil })
		hint = tools.NothingFits(q.asked, ignored)
	}
	if !q.Fixed && (strings.Contains(q.Pattern, `\|`) || strings.Contains(q.Pattern, `\(`) && strings.Contains(q.Pattern, `\)`)) {
		hint += "\nA backslash makes |, ( and ) literal here: without it they are alternatives and groups."
	}
	return hint
}

// gather lets s search the buffers first, then the disk, and brings both into the order of their
// paths.
func gather(ctx context.Context, s searcher, q *query, c *collector) error {
	for i := range q.buffers {
		b := &q.buffers[i]
		b.found = s.text(ctx, q, b.snap.Text)
	}
	c.buffers = q.buffers
	if q.file == "" || len(q.buffers) == 0 {
		if err := s.files(ctx, q, c); err != nil {
			return err
		}
	}
	c.flush("")
	return nil
}

// open finds out what lies at the path, and which unsaved texts belong to it.
func (q *query) open(ctx context.Context, env *tools.Env, place sandbox.Place) error {
	at, folder := place.Path(), place
	info, err := place.Stat()
	if err != nil || !info.IsDir() {
		folder, q.file = place.Parent()
	}
	q.dir, q.folder = folder.Path(), folder
	t, err := tree.Open(folder)
	if err != nil {
		return q.missing(env, at)
	}
	q.tree, q.indexes = t, env.Searches.Indexes
	if q.file == "" { // of those further down nothing is told: whether a search comes by them says what is in them
		if _, err := q.indexes.Walk(ctx, t, 1, func(tree.Entry) error { return nil }); err != nil {
			return err
		}
		q.withheld = t.Withheld()
	}
	t.Only(q.glob)
	if err = q.overlay(ctx, env); err == nil && q.file != "" && len(q.buffers) == 0 {
		err = q.searchable(env, at, info)
	}
	return err
}

// searchable refuses the one file to search where it is nothing that can be.
func (q *query) searchable(env *tools.Env, at string, info fs.FileInfo) error {
	name := env.Name(at)
	if info == nil {
		return q.missing(env, at)
	}
	if !info.Mode().IsRegular() {
		return tools.Refuse(filetime.ReadError, "not_regular", "%s is not a regular file and cannot be searched.", name)
	}
	f, err := q.tree.Open(q.file)
	if err != nil {
		return tools.Refuse(filetime.ReadError, "unreadable", "%s cannot be read: %v.", name, err)
	}
	defer f.Close()
	head := make([]byte, text.Sniffed)
	n, _ := io.ReadFull(f, head)
	if text.Binary(head[:n]) && !marked16(head[:n]) {
		return tools.Refuse(filetime.BinaryFile, "", "%s: Looks like a binary file. Binary files are not searched.", name)
	}
	return nil
}

func (q *query) missing(env *tools.Env, at string) error {
	return tools.Refuse(filetime.ReadError, "enoent", "File or directory not found: %s (ENOENT). Look for it with glob.",
		env.Name(at))
}

// overlay takes the documents with unsaved text that a search of the disk would have come by, or
// would if they were there.
func (q *query) overlay(ctx context.Context, env *tools.Env) error {
	for _, p := range env.Searches.Buffers() {
		rel, below := q.tree.Rel(p)
		if !below || q.file != "" && rel != q.file || q.file == "" && (!q.wants(rel) || q.tree.Ignored(rel) || q.tree.Withholds(rel)) {
			continue
		}
		snap, err := env.Read(ctx, q.folder.Join(rel))
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil && snap.Open {
			q.buffers = append(q.buffers, buffer{path: rel, snap: snap})
		}
	}
	slices.SortFunc(q.buffers, func(a, b buffer) int { return compare(a.path, b.path) })
	return nil
}

// wants tells whether a file that a walk comes by is searched. Of what a glob names the type is not
// asked, as with ripgrep.
func (q *query) wants(rel string) bool { return q.kind == "" || q.glob.Names() || q.hasType(rel) }

// mostSeen is how many bytes at the beginning of an answer have lines that count as seen: each of
// their files is read once more for that, and kept. An answer of the usual length has fewer.
const mostSeen = 128 << 10

// see records the lines that were shown whole and stand in the text as it is now. Files are read
// again for it, several at a time, and no more before they are recorded than the workspace keeps.
// It is not cancelled, since the answer that it is of is there.
func see(ctx context.Context, env *tools.Env, q *query, c *collector) {
	for files := range slices.Chunk(c.seen, 64) {
		seen := make([]func(), len(files))
		var next atomic.Int64
		var reading sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), len(files)) {
			reading.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
					snap, err := env.Read(ctx, q.folder.Join(files[i].path))
					if err != nil || !snap.Exists {
						continue
					}
					if lines := standing(snap.Text, files[i].lines); len(lines) > 0 {
						seen[i] = func() { env.FileTime.ReadLines(snap, lines) }
					}
				}
			})
		}
		reading.Wait()
		for _, record := range seen {
			if record != nil {
				record()
			}
		}
	}
}

// standing are the numbers of those lines, in ascending order, that are whole and that a text has
// under their numbers.
func standing(t text.Text, lines []line) (out []int) {
	numbers := make([]int, len(lines))
	for i, l := range lines {
		numbers[i] = l.n - 1
	}
	for i, at := range t.LineStarts(numbers) {
		l := lines[i]
		end := at + len(l.text)
		if !l.cut && l.n <= t.LineCount() && end <= t.Len() && t.Slice(at, end) == l.text && ends(t.Slice(end, min(end+2, t.Len()))) {
			out = append(out, l.n)
		}
	}
	return out
}

// ends reports whether a line ends before s.
func ends(s string) bool { return s == "" || s[0] == '\n' || s == "\r\n" }

func invalid(path, expected, message string) error {
	r := tools.Fail(tools.InvalidArgs, "pattern", "Parameter validation failed:\n%s", message)
	pointer := strings.ReplaceAll(path[1:], ".", "/")
	r.Issues = []schema.Issue{{Path: path, Pointer: pointer, Expected: expected, Received: "string", Message: message}}
	return &tools.Refusal{Result: r}
}
