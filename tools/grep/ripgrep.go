package grep

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/tools"
)

// maxRecord is how long one line of ripgrep's output may be; what is longer is left out.
const maxRecord = 8 << 20

// ripgrep searches with the program rg.
type ripgrep struct{}

func (r ripgrep) files(ctx context.Context, env *tools.Env, q *query, to sink) error {
	args := []string{"--sort=path", "--hidden", "--no-require-git", "--no-ignore-global"}
	if q.Glob != "" && q.file == "" {
		args = append(args, "--glob="+q.Glob)
	}
	if q.kind != "" && q.file == "" {
		args = append(args, "--type="+q.kind)
	}
	args = append(args, "--glob=!.git", "--glob=!"+tree.TempPrefix+"*")
	for _, b := range q.buffers {
		args = append(args, "--glob=!/"+quote(b.path))
	}
	place := "./" + q.file
	f := &filter{to: to, q: q}
	// It reads the files that say what is ignored before it looks what they are, and would wait for a pipe.
	if q.tree.Blocks() {
		return errUnavailable
	}
	searching, stop := context.WithCancelCause(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		t := time.NewTimer(slow)
		defer t.Stop()
		select {
		case <-searching.Done():
		case <-t.C:
			if q.tree.BlocksBelow(searching) {
				stop(errUnavailable)
			}
		}
	}()
	err := r.disk(searching, env, q, args, place, f)
	if errors.Is(context.Cause(searching), errUnavailable) {
		err = errUnavailable
	}
	stop(nil)
	<-looked
	return err
}

// slow is how long a search takes that may be waiting for something.
const slow = time.Second

func (r ripgrep) disk(ctx context.Context, env *tools.Env, q *query, args []string, place string, f *filter) error {
	if q.OutputMode == content || q.Multiline {
		return r.run(ctx, env, q, append(args, "--json"), place, "", &records{to: f})
	}
	args = append(args, "--count", "--null", "--with-filename")
	if q.OutputMode == names {
		args = append(args, "--max-count=1")
	}
	return r.run(ctx, env, q, args, place, "", &tallies{to: f})
}

// filter drops the files that ripgrep searches though they are ignored, because a glob names them, and those that hold keys.
type filter struct {
	to   sink
	q    *query
	drop bool
}

func (f *filter) start(path string) bool {
	f.drop = f.q.file == "" && (f.q.Glob != "" && f.q.tree.Ignored(path) || f.q.tree.Withholds(path))
	return f.drop || f.to.start(path)
}

func (f *filter) line(l line) bool { return f.drop || f.to.line(l) }
func (f *filter) total(n int) bool { return f.drop || f.to.total(n) }

func (r ripgrep) text(ctx context.Context, env *tools.Env, q *query, text string, to sink) error {
	if text == "" {
		return nil
	}
	return r.run(ctx, env, q, []string{"--json"}, "-", text, &records{to: to})
}

// reader takes in one piece of output after the other, ending with sep, and answers whether more is wanted.
type reader interface {
	take(piece []byte) bool
}

func (r ripgrep) run(
	ctx context.Context, env *tools.Env, q *query, args []string, place, stdin string, to reader,
) error {
	program, err := env.Helpers.Find("rg", sandbox.Surroundings{})
	if err != nil {
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	argv := append([]string{program, "--no-config", "--no-messages", "--crlf"}, args...)
	for flag, set := range map[string]bool{
		"--ignore-case": q.IgnoreCase, "--word-regexp": q.Word, "--fixed-strings": q.Fixed, "--pcre2": q.perl && !q.Fixed,
	} {
		if set {
			argv = append(argv, flag)
		}
	}
	if q.Multiline {
		argv = append(argv, "--multiline", "--multiline-dotall")
	}
	if q.OutputMode == content {
		argv = append(argv, "--before-context="+strconv.Itoa(q.before), "--after-context="+strconv.Itoa(q.after))
	}
	argv = append(argv, "-e", q.Pattern, "--", place)
	dir, err := q.folder.Enter(nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	defer dir.Close()
	profile := sandbox.Unconfined
	if env.Helpers.Level().Confines() {
		profile = sandbox.ReadOnly
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var pending []byte
	enough, skipping := make(chan struct{}), false
	p, err := env.Helpers.Start(ctx, sandbox.Command{
		Argv: argv, Dir: dir, Profile: profile, Stdin: stdin, MaxOutput: 64 << 10,
		Output: func(s sandbox.Stream, chunk []byte) {
			if s != sandbox.Stdout || closed(enough) {
				return
			}
			for len(chunk) > 0 {
				end := bytes.IndexByte(chunk, '\n')
				if end < 0 {
					if skipping = skipping || len(pending)+len(chunk) > maxRecord; skipping {
						pending = pending[:0]
					} else {
						pending = append(pending, chunk...)
					}
					return
				}
				piece := chunk[:end]
				if len(pending) > 0 {
					piece = append(pending, piece...)
				}
				if !skipping && !to.take(piece) {
					close(enough)
					return
				}
				pending, skipping, chunk = pending[:0], false, chunk[end+1:]
			}
		},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	ended := make(chan sandbox.Outcome, 1)
	go func() { ended <- p.Wait() }()
	var o sandbox.Outcome
	select {
	case o = <-ended:
	case <-enough: // the program is stopped, which nobody has to wait for
	}
	switch {
	case closed(enough):
		return nil
	case o.TimedOut || o.Cancelled:
		return context.Canceled
	case o.ExitCode > 1:
		return r.complain(q, o)
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// complain words what ripgrep has against the question. With --no-messages it is silent about files that it cannot
// read.
func (ripgrep) complain(q *query, o sandbox.Outcome) error {
	said := strings.TrimSpace(o.Stderr)
	switch {
	case said == "" && o.ExitCode == 2:
		return nil
	case strings.Contains(said, "unrecognized file type"):
		return invalid("$.type", "file type",
			fmt.Sprintf("type %s is not known. Use glob instead, for example *.%s", q.kind, q.kind))
	case strings.Contains(said, "PCRE2 is not available"):
		return q.unsupported()
	case strings.Contains(said, "error: ") || strings.Contains(said, "PCRE2:"):
		if _, why, ok := strings.Cut(said, "error: "); ok {
			said = why
		}
		first, _, _ := strings.Cut(said, "\n")
		q.why = first
		return q.unsupported()
	case o.ExitCode == 127 || said == "":
		return errUnavailable
	}
	return tools.Refuse(filetime.ReadError, "search_failed", "The search failed: %.300s", said)
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

// records reads rg --json.
type records struct{ to sink }

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

func (r *records) take(piece []byte) bool {
	var e struct {
		Type string `json:"type"`
		Data struct {
			Path       textOrBytes `json:"path"`
			Lines      textOrBytes `json:"lines"`
			LineNumber int         `json:"line_number"`
			Submatches []span      `json:"submatches"`
		} `json:"data"`
	}
	if json.Unmarshal(piece, &e) != nil {
		return true
	}
	switch e.Type {
	case "begin":
		return r.to.start(strings.TrimPrefix(e.Data.Path.String(), "./"))
	case "match", "context":
		lines, n := mark(e.Data.Lines.String(), e.Data.Submatches), e.Data.LineNumber
		for _, l := range lines {
			l.n += n - 1
			if !r.to.line(l) {
				return false
			}
		}
	}
	return true
}

// tallies reads rg --count --null: a path, in which there may be line ends, NUL, a number.
type tallies struct {
	to   sink
	name []byte // the lines of the path so far
}

func (t *tallies) take(piece []byte) bool {
	name, count, ok := bytes.Cut(piece, []byte{0})
	t.name = append(t.name, name...)
	if !ok {
		t.name = append(t.name, '\n')
		return true
	}
	path := strings.TrimPrefix(string(t.name), "./")
	t.name = t.name[:0]
	n, err := strconv.Atoi(strings.TrimSpace(string(count)))
	return err != nil || t.to.start(path) && t.to.total(n)
}
