//go:build unix

package grep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/filetime/text"
	"tandem/sandbox/tree"
	"tandem/sandbox/tree/treetest"
)

// ripgrep is the searcher that engine is compared with: the program rg, with the option --hidden.
type ripgrep struct{ program string }

// oracle finds the program; without it, or with one before 15, a test is skipped.
func oracle(t testing.TB) ripgrep {
	t.Helper()
	return ripgrep{treetest.Ripgrep(t)}
}

func (r ripgrep) files(ctx context.Context, q *query, to sink) error {
	args := []string{"--sort=path", "--hidden"}
	switch named := q.Glob != "" && q.file == ""; {
	case named && !strings.ContainsRune("!/", rune(q.Glob[0])) && !treetest.Spelt(q.Glob) && q.kind == "": // a --glob would bring back what is ignored
		args = append(args, "--type-add=asked:"+q.Glob, "--type=asked")
	case named:
		args = append(args, "--glob="+q.Glob)
	}
	if q.kind != "" && q.file == "" {
		args = append(args, "--type="+q.kind)
	}
	args = append(args, "--glob=!.git", "--glob=!"+tree.TempPrefix+"*")
	for _, b := range q.buffers {
		args = append(args, "--glob=!/"+quote(b.path))
	}
	path, f := "", found{}
	enough := false
	done := func() {
		if enough = enough || f.hits > 0 && !to.take(path, f); enough {
			return
		}
		f = found{}
	}
	err := r.run(ctx, q, args, "./"+q.file, "", func(e record) {
		if e.Type == "begin" {
			done()
			path = strings.TrimPrefix(e.Data.Path.String(), "./")
		}
		e.into(q, &f)
	})
	done()
	return err
}

func (r ripgrep) text(ctx context.Context, q *query, t text.Text) (f found) {
	_ = r.run(ctx, q, nil, "-", t.String(), func(e record) { e.into(q, &f) })
	return f
}

func (r ripgrep) run(ctx context.Context, q *query, args []string, place, stdin string, take func(record)) error {
	argv := append([]string{"--no-config", "--no-messages"}, args...)
	if strings.Contains(q.Pattern, "$") && !strings.Contains(q.Pattern, `\r`) {
		argv = append(argv, "--crlf")
	}
	switch {
	case q.OutputMode == counts: // with matches over several lines it counts those, of which --json tells the lines
		argv = append(argv, "--count", "--null", "--with-filename")
	case q.OutputMode == content || q.file != "" || place == "-":
		argv = append(argv, "--json")
	default:
		argv = append(argv, "--files-with-matches", "--null")
	}
	for flag, set := range map[string]bool{
		"--ignore-case": q.IgnoreCase, "--word-regexp": q.Word, "--fixed-strings": q.Fixed || strings.Contains(q.note, "literally"),
	} {
		if set {
			argv = append(argv, flag)
		}
	}
	if q.re.Multiline {
		argv = append(argv, "--multiline", "--multiline-dotall")
	}
	if q.OutputMode == content {
		argv = append(argv, "--before-context="+strconv.Itoa(q.before), "--after-context="+strconv.Itoa(q.after))
	}
	cmd := exec.CommandContext(ctx, r.program, append(argv, "-e", q.Pattern, "--", place)...)
	cmd.Dir, cmd.Stdin = q.dir, strings.NewReader(stdin)
	out, err := cmd.Output()
	if e, failed := err.(*exec.ExitError); err != nil && (!failed || e.ExitCode() > 1 && len(e.Stderr) > 0) {
		panic(string(e.Stderr))
	}
	if !slices.Contains(argv, "--json") {
		for len(out) > 0 {
			name, rest, _ := bytes.Cut(out, []byte{0})
			var e record
			e.Type, e.hits = "end", 1
			if out = rest; q.OutputMode == counts {
				count, rest, _ := bytes.Cut(rest, []byte("\n"))
				if e.hits, err = strconv.Atoi(strings.TrimSuffix(string(count), "\r")); err != nil {
					return err
				}
				out = rest
			}
			text := string(name)
			begin := record{Type: "begin"}
			begin.Data.Path.Text = &text
			take(begin)
			take(e)
		}
		return ctx.Err()
	}
	scan := bufio.NewScanner(bytes.NewReader(out))
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		var e record
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			return err
		}
		take(e)
	}
	return ctx.Err()
}

// quote escapes a path for use as a glob.
func quote(path string) string {
	var b strings.Builder
	for _, r := range path {
		if strings.ContainsRune(`*?[]{}\!`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

type textOrBytes struct {
	Text  *string `json:"text"`
	Bytes string  `json:"bytes"`
}

func (t textOrBytes) String() string {
	if t.Text != nil {
		return *t.Text
	}
	b, err := base64.StdEncoding.DecodeString(t.Bytes)
	if err != nil {
		return ""
	}
	return string(b)
}

// record is a line of rg --json.
type record struct {
	Type string `json:"type"`
	hits int    // that were counted
	Data struct {
		Path       textOrBytes `json:"path"`
		Lines      textOrBytes `json:"lines"`
		LineNumber int         `json:"line_number"`
		Submatches []struct{ Start, End int }
	} `json:"data"`
}

func (e record) into(q *query, f *found) {
	f.hits += e.hits
	if e.Type != "match" && e.Type != "context" {
		return
	}
	var matches []span
	for _, m := range e.Data.Submatches {
		matches = append(matches, span{m.Start, m.End})
	}
	if e.Type == "match" && matches == nil { // it is empty and at the end
		matches = []span{{}}
	}
	for _, l := range mark([]byte(e.Data.Lines.String()), matches) {
		l.n += e.Data.LineNumber - 1
		if l.match && !l.more {
			f.hits++
		}
		if q.OutputMode == content {
			text, cut := shorten(nil, bytes.TrimSuffix(l.whole, []byte("\r")), l.at)
			l.text, l.cut = strings.ToValidUTF8(string(text), "\uFFFD"), cut
			f.lines = append(f.lines, l.line)
		}
	}
}
