package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/tools"
)

// settle is how long a question stands before anything typed can be an answer to it.
const settle = 300 * time.Millisecond

// maxPage is how many rows a person is shown at a time at most, on a terminal of any height.
const maxPage = 40

// controlling is the name of the terminal that a process belongs to, whatever its input and output
// are.
const controlling = "/dev/tty"

// Reasons why nobody can be asked.
var (
	errNoTerminal = errors.New("there is no terminal")
	errBackground = errors.New("tandem runs in the background of its terminal")
)

// Person asks the person at a terminal. An answer is a line.
type Person struct {
	in  io.Reader
	out io.Writer
	// drop throws away what was typed and not read. An error says why nobody can be asked.
	drop func() error
	// size is that of the terminal in characters, 0 where it is not known.
	size func() (rows, columns int)
	// Wait returns after some time, or with an error once ctx has ended. On sets it; a test may set
	// another.
	Wait func(ctx context.Context, d time.Duration) error
}

// Controlling gives the person at the controlling terminal of the process, so that what is asked is
// read where the answer is typed, even if standard error is a file and standard input a pipe. It
// stays open until the process ends.
func Controlling() *Person {
	t, err := os.OpenFile(controlling, os.O_RDWR, 0)
	if err != nil {
		return &Person{drop: func() error { return errNoTerminal }}
	}
	return On(t)
}

// On gives the person at a terminal.
func On(t *os.File) *Person {
	return &Person{
		in: t, out: visible{t},
		drop: func() error { return dropTyped(t) },
		size: func() (int, int) { return window(t) },
		Wait: func(ctx context.Context, d time.Duration) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

// letters are what is typed for an answer beside y.
var letters = [...]struct{ letter, option string }{
	{"t", "allow_turn"}, {"f", "allow_files"}, {"s", "allow_session"}, {"a", "allow_always"}, {"w", "allow_wide"}, {"d", "reject_always"},
}

// why is what is typed to reject and say why.
const why = "w"

// Permission asks whether a call may go on, and gives the id of the answer and what the person
// wrote with it. All of what it would do is shown first, page by page; anything but an answer that
// was offered after the last page is a no, and so is the end of ctx. An error says why nobody can
// be asked.
func (p *Person) Permission(ctx context.Context, q protocol.PermissionParams) (option, words string, err error) {
	const no = "reject_once"
	if err := p.drop(); err != nil {
		return no, "", err
	}
	height, columns := p.size()
	if columns <= 0 {
		columns = 80
	}
	page := maxPage
	if height > 0 {
		page = max(4, min(page, height-2)) // the prompt has a row, and the line that ends it another
	}
	all := question(q, columns)
	for from := 0; from < len(all); {
		to := min(len(all), from+page)
		fmt.Fprintln(p.out, strings.Join(all[from:to], "\n"))
		if from = to; from == len(all) {
			break
		}
		more, ok := p.line(ctx, fmt.Sprintf("-- %d of %d rows. Enter shows more, n denies: ", to, len(all)))
		if !ok || more != "" {
			return no, "", nil
		}
	}
	answer, ok := p.line(ctx, "Allow? [y/N] ")
	answer = strings.ToLower(answer)
	switch {
	case !ok:
		return no, "", nil
	case answer == "y" || answer == "yes":
		return "allow_once", "", nil
	case answer == why && explains(q):
		words, _ = p.line(ctx, "Why, or what instead? ")
		return no, words, nil
	}
	for _, l := range letters {
		if answer == l.letter && slices.ContainsFunc(q.Options, func(o protocol.PermissionOption) bool { return o.OptionID == l.option }) {
			return l.option, "", nil
		}
	}
	return no, "", nil
}

// explains says that a refusal can come with words: the question is about a call, whose model reads
// them.
func explains(q protocol.PermissionParams) bool {
	return q.ToolCall.ToolCallID != "" && slices.ContainsFunc(q.Options, func(o protocol.PermissionOption) bool { return o.OptionID == "reject_once" })
}

// line prompts for a line that is typed from now on. ok is false where none came. Once ctx has
// ended, a read of the terminal may still be under way, so p is not to be used again.
func (p *Person) line(ctx context.Context, prompt string) (line string, ok bool) {
	if p.Wait(ctx, settle) != nil || p.drop() != nil {
		return "", false
	}
	fmt.Fprint(p.out, prompt)
	type input struct {
		line string
		ok   bool
	}
	typed := make(chan input, 1)
	go func() {
		line, ok := p.read()
		typed <- input{line, ok}
	}()
	select {
	case i := <-typed:
		line, ok = i.line, i.ok
	case <-ctx.Done():
	}
	if !ok {
		fmt.Fprintln(p.out)
	}
	return line, ok
}

// read waits for a line.
func (p *Person) read() (line string, ok bool) {
	var typed []byte
	for one := make([]byte, 1); ; { // no more than the line: what follows it is dropped with the next prompt
		n, err := p.in.Read(one)
		switch {
		case n > 0 && one[0] == '\n':
			return strings.TrimSpace(string(typed)), true
		case n > 0:
			typed = append(typed, one[0])
		case err != nil:
			return "", false
		}
	}
}

// question words what a call would do, in rows of a terminal.
func question(q protocol.PermissionParams, columns int) []string {
	call := q.ToolCall
	var out []string
	if call.Kind == "execute" && len(call.Locations) > 0 {
		out = append(out, folded("Run a command in "+OneLine(call.Locations[0].Path), columns, "", "  ")...)
	} else {
		out = append(out, folded(OneLine(call.Title), columns, "", "  ")...)
	}
	var meta protocol.PermissionMeta
	if q.Meta != nil {
		meta = as[protocol.PermissionMeta](q.Meta.Tandem)
	}
	if meta.Reason != "" {
		out = append(out, folded(OneLine(meta.Reason), columns, "  ", "  ")...)
	}
	for _, c := range contentOf(call) {
		name, text := "", ""
		switch {
		case c.Type == "diff":
			name, text = "the change of "+OneLine(c.Path)+", ", unified(c)
			if text == "" && c.NewText != nil {
				text = *c.NewText
			}
		case c.Content != nil:
			text = c.Content.Text
		}
		out = append(out, between(name, text, columns)...)
	}
	if len(contentOf(call)) == 0 {
		raw, err := json.MarshalIndent(call.RawInput, "", "  ")
		if err != nil {
			raw = fmt.Append(nil, call.RawInput)
		}
		out = append(out, between("the arguments, ", string(raw), columns)...)
	}
	if explains(q) {
		out = append(out, "  "+why+": Reject, and say why")
	}
	for _, l := range letters {
		for _, o := range q.Options {
			if o.OptionID == l.option {
				out = append(out, folded(l.letter+": "+OneLine(o.Name), columns, "  ", "     ")...)
			}
		}
	}
	return out
}

// between is a text between margins, under a line with its size.
func between(name, text string, columns int) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	out := []string{fmt.Sprintf("  %s%s, %s:", name, tools.Count(len(lines), "line"), tools.Count(len(text), "byte"))}
	for _, l := range lines {
		out = append(out, folded(show.Visible(l, true), columns, "  | ", "  · ")...)
	}
	return out
}

// folded cuts a visible line into rows that fit, so that none of it can stand where something else
// would. The first row begins with one margin, the others with another. Widths are guessed too
// large rather than too small.
func folded(line string, columns int, first, others string) []string {
	room := max(10, columns-len([]rune(first))-1)
	var out []string
	var row strings.Builder
	margin, used := first, 0
	end := func() {
		out = append(out, margin+row.String())
		row.Reset()
		margin, used = others, 0
	}
	for _, r := range line {
		width := 1
		switch {
		case r == '\t':
			width = 8
		case r >= 0x1100:
			width = 2
		}
		if used+width > room && used > 0 {
			end()
		}
		row.WriteRune(r)
		used += width
	}
	end()
	return out
}

// unified is the diff of a change.
func unified(c protocol.ToolContent) string {
	if c.Meta == nil {
		return ""
	}
	return as[protocol.DiffMeta](c.Meta.Tandem).Unified
}

// contentOf is what a call shows.
func contentOf(u protocol.Update) []protocol.ToolContent {
	return as[[]protocol.ToolContent](u.Content)
}

// as reads a value that came as free JSON; of another shape it is the zero value.
func as[T any](v any) (out T) {
	raw, err := json.Marshal(v)
	if err == nil && json.Unmarshal(raw, &out) == nil {
		return out
	}
	var none T
	return none
}
