package patch

import (
	"fmt"
	"strconv"
	"strings"

	"tandem/filetime/text"
	"tandem/sandbox/lazy"
)

// Op is what an operation of a patch does to a file.
type Op string

// The operations. An update may move the file too.
const (
	Add    Op = "add"
	Delete Op = "delete"
	Update Op = "update"
)

// operation is one file of a patch. line is where it begins in the patch, from 1.
type operation struct {
	op       Op
	path, to string
	line     int
	content  string // of an added file
	hunks    []hunk
	program  bool // the file that is added may be executed
}

// hunk is one place of an update. bare is how many blank lines at its end have no mark before them,
// and may separate it from what follows.
type hunk struct {
	block text.Block
	line  int
	bare  int
}

// ParseError says which line of a patch, from 1, is not what it has to be.
type ParseError struct {
	Line        int
	Found, Want string
}

func (e *ParseError) Error() string {
	const most = 80
	found := "the end of the patch"
	if e.Line > 0 {
		if r := []rune(e.Found); len(r) > most {
			e.Found = string(r[:most]) + "…"
		}
		found = fmt.Sprintf("line %d, %q", e.Line, e.Found)
	}
	return fmt.Sprintf("Patch parse error: %s: %s", found, e.Want)
}

// The marks of the grammar.
const (
	begin     = "*** Begin Patch"
	end       = "*** End Patch"
	addFile   = "*** Add File:"
	delFile   = "*** Delete File:"
	updFile   = "*** Update File:"
	moveTo    = "*** Move to:"
	endOfFile = "*** End of File"
	devNull   = "/dev/null"
)

// parser reads the lines of a patch, one after the other.
type parser struct {
	lines []string
	first int // the number of lines[0]
	at    int
	ops   []operation
	// folder is where the command line around the patch changes to, "" if it does not.
	folder string
	// elsewhere is a line by which it changes to a folder that is not known here, "" if none does.
	elsewhere string
}

// parse reads a patch: the grammar of the tool's description, or a unified diff, as diff and git
// write it. An error is a *ParseError.
func parse(s string) ([]operation, error) {
	p := &parser{first: 1}
	s = decoded(strings.TrimPrefix(s, "\uFEFF"))
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		p.lines = append(p.lines, canonical(strings.TrimSuffix(line, "\r")))
	}
	p.unwrap()
	for {
		p.blanks()
		if p.at == len(p.lines) {
			break
		}
		if err := p.operation(); err != nil {
			return nil, err
		}
	}
	if len(p.ops) == 0 {
		return nil, &ParseError{Want: "it has no operation. " + wantOperation}
	}
	if p.elsewhere != "" {
		return nil, &ParseError{Line: 1, Found: p.elsewhere, Want: "the folder that it changes to is not known here. Leave that out, and name the files from the workspace"}
	}
	p.below()
	return p.ops, nil
}

const wantOperation = "Expected is *** Add File: path, *** Update File: path or *** Delete File: path"

// fail is about the line that the parser stands at.
func (p *parser) fail(format string, args ...any) error { return p.failAt(p.at, format, args...) }

func (p *parser) failAt(at int, format string, args ...any) error {
	e := &ParseError{Want: fmt.Sprintf(format, args...)}
	if at < len(p.lines) {
		e.Line, e.Found = p.number(at), p.lines[at]
	}
	return e
}

func (p *parser) number(at int) int { return p.first + at }

// here is the line that the parser stands at, "" at the end.
func (p *parser) here() string { return p.ahead(0) }

func (p *parser) ahead(n int) string {
	if p.at+n < len(p.lines) {
		return p.lines[p.at+n]
	}
	return ""
}

func (p *parser) blanks() {
	for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
}

// marked gives what follows a mark and a blank in a line: a name may begin and end with further
// blanks.
func marked(line, mark string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimLeft(line, " \t"), mark)
	return strings.TrimPrefix(rest, " "), ok
}

// operation reads one operation, or a mark around operations.
func (p *parser) operation() error {
	line := strings.TrimSpace(p.here())
	if line == begin || line == end {
		p.at++
		return p.after(line)
	}
	for _, o := range []struct {
		mark string
		op   Op
		read func(*operation) error
	}{{addFile, Add, p.added}, {delFile, Delete, p.deleted}, {updFile, Update, p.updated}} {
		path, ok := marked(p.here(), o.mark)
		if !ok {
			continue
		}
		if strings.TrimSpace(path) == "" {
			return p.fail("it names no file. Expected is %s path", o.mark)
		}
		op := operation{op: o.op, path: path, line: p.number(p.at)}
		p.at++
		if err := o.read(&op); err != nil {
			return err
		}
		p.ops = append(p.ops, op)
		return nil
	}
	if p.unified() {
		return p.diff()
	}
	if strings.HasPrefix(line, "***") {
		return p.fail("it is no operation. %s", wantOperation)
	}
	return p.fail("it belongs to no operation. %s", wantOperation)
}

// after sees to it that nothing follows the end but another patch.
func (p *parser) after(mark string) error {
	p.blanks()
	if next := strings.TrimSpace(p.here()); mark == end && p.at < len(p.lines) && next != begin && next != end {
		return p.fail("the patch has ended before. Expected is nothing after %s", end)
	}
	return nil
}

// added reads the lines of a file.
func (p *parser) added(o *operation) error {
	var b strings.Builder
	if strings.HasPrefix(p.here(), "@@") {
		p.at++
	}
	for blank := 0; p.at < len(p.lines); p.at++ {
		switch line := p.here(); {
		case strings.HasPrefix(line, "+"):
			b.WriteString(strings.Repeat("\n", blank) + line[1:] + "\n")
			blank = 0
		case strings.TrimSpace(line) == "": // a line without its mark, or one that separates
			blank++
		case strings.HasPrefix(line, `\ No newline`):
			o.content = strings.TrimSuffix(b.String(), "\n")
			p.at++
			return nil
		case p.operates():
			o.content = b.String()
			return nil
		default:
			return p.fail("each line of a file that is added begins with +")
		}
	}
	o.content = b.String()
	return nil
}

// operates says that an operation, or the end of the patch, stands here.
func (p *parser) operates() bool {
	return strings.HasPrefix(strings.TrimSpace(p.here()), "*** ") || p.unified()
}

// deleted passes over the lines of the file, which some models add.
func (p *parser) deleted(*operation) error {
	for p.at < len(p.lines) && !p.operates() && (strings.HasPrefix(p.here(), "-") || p.here() == "") {
		p.at++
	}
	return nil
}

// updated reads the hunks of a file.
func (p *parser) updated(o *operation) error {
	if to, ok := marked(p.here(), moveTo); ok {
		if o.to = to; strings.TrimSpace(to) == "" {
			return p.fail("it names no file. Expected is %s path", moveTo)
		}
		p.at++
	}
	if strings.HasPrefix(p.here(), "--- ") && strings.HasPrefix(p.ahead(1), "+++ ") {
		p.at += 2 // the head of a unified diff of the same file
	}
	start := p.at
	if err := p.hunks(o); err != nil {
		return err
	}
	if len(o.hunks) == 0 && o.to == "" {
		return p.failAt(start, "the update of %s has no hunk. Expected is @@, or a line that begins with a blank, - or +", o.path)
	}
	return nil
}

// hunks reads all hunks up to the next operation.
func (p *parser) hunks(o *operation) error {
	for {
		at := p.at
		p.blanks()
		if p.at == len(p.lines) || p.ends() {
			return nil
		}
		if !strings.HasPrefix(p.here(), "@@") {
			p.at = at
		}
		h := hunk{line: p.number(p.at)}
		if err := p.body(&h, p.head(&h)); err != nil {
			return err
		}
		o.hunks = append(o.hunks, h)
	}
}

// ends says that no hunk of this file stands here.
func (p *parser) ends() bool {
	line := p.here()
	return strings.HasPrefix(line, "*** ") && strings.TrimSpace(line) != endOfFile || p.unified()
}

// span is how many lines of a hunk are left by its head.
type span struct {
	old, new int
	known    bool
}

var ranges = lazy.Regexp{Text: `^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@+ ?(.*)$`}

// head reads the lines that begin with @@.
func (p *parser) head(h *hunk) (s span) {
	for ; strings.HasPrefix(p.here(), "@@"); p.at++ {
		if m := ranges.Get().FindStringSubmatch(p.here()); m != nil {
			number := func(s string) int {
				if n, err := strconv.Atoi(s); err == nil || s != "" {
					return n
				}
				return 1
			}
			s = span{number(m[2]), number(m[4]), true}
			h.block.Number, h.block.Section = number(m[3]), strings.TrimRight(m[5], " \t")
			h.block.AtStart = m[1] == "0" && s.old == 0
			continue
		}
		line := strings.TrimRight(strings.TrimPrefix(p.here(), "@@"), " \t")
		line = strings.TrimRight(strings.TrimSuffix(line, "@@"), " \t")
		line = strings.TrimPrefix(line, " ")
		if strings.TrimSpace(line) != "" && strings.Trim(line, ". \t") != "" {
			h.block.Under = append(h.block.Under, line)
		}
	}
	return s
}

// body reads the lines of a hunk.
func (p *parser) body(h *hunk, left span) error {
	b := &h.block
	add := func(op text.Op, line string) {
		b.Lines = append(b.Lines, text.Line{Op: op, Text: line})
		if h.bare = 0; op != text.Add {
			left.old--
		}
		if op != text.Remove {
			left.new--
		}
	}
	start := p.at
	for ; p.at < len(p.lines); p.at++ {
		line := p.here()
		if line == "" {
			bare := h.bare + 1
			add(text.Keep, "")
			h.bare = bare
			continue
		}
		if strings.TrimSpace(line) == endOfFile && line[0] == '*' {
			p.at++
			b.AtEnd = true
			break
		}
		if line[0] == '*' && strings.HasPrefix(line, "*** ") || strings.HasPrefix(line, "@@") || p.unified() && !left.holds(line) {
			break
		}
		switch op := text.Op(line[0]); {
		case op == text.Keep, op == text.Remove, op == text.Add:
			add(op, line[1:])
		case strings.HasPrefix(line, `\ No newline`):
			if n := len(b.Lines); n > 0 && b.Lines[n-1].Op != text.Remove {
				b.Open = true
			}
		default:
			return p.fail("a line of a hunk begins with a blank (unchanged), - (removed) or + (added)")
		}
	}
	if b.AtEnd { // nothing follows that they could separate it from
		b.Lines, h.bare = b.Lines[:len(b.Lines)-h.bare], 0
	}
	if len(b.Lines) == h.bare {
		return p.failAt(min(start, p.at), "the hunk before it is empty. Expected is a line that begins with a blank, - or +")
	}
	if b.AtStart && b.Old() != "" {
		b.AtStart = false
	}
	return nil
}

// holds says that the head of the hunk counts a line, though it looks like the head of a file: it
// removes "-- a text".
func (s span) holds(line string) bool {
	head := strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "--- a/") || strings.HasPrefix(line, "--- "+devNull)
	return s.known && s.old > 0 && s.new > 0 && !head
}
