package patch

import (
	"strconv"
	"strings"

	"tandem/filetime/text"
)

// unified says that the head of a file of a unified diff stands here.
func (p *parser) unified() bool {
	line := p.here()
	return strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "Index: ") && p.at+1 < len(p.lines) ||
		strings.HasPrefix(line, "--- ") && strings.HasPrefix(p.ahead(1), "+++ ")
}

// diff reads one file of a unified diff: its head, as diff or git write it, and its hunks.
func (p *parser) diff() error {
	o := operation{op: Update, line: p.number(p.at)}
	renamed, head := false, p.at
	for git := false; ; p.at++ {
		line := p.here() // none at the end, which ends it
		value := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
		switch {
		case value("diff --git "):
			if git {
				return p.named(o, renamed, head)
			}
			git = true
			o.path, o.to = gitPaths(strings.TrimPrefix(line, "diff --git "))
		case value("index "), value("similarity index "), value("dissimilarity index "), value("==="), value("Index: "):
		case value("new file mode "):
			o.op = Add
			if mode := strings.TrimPrefix(line, "new file mode "); mode == "100755" {
				o.program = true
			} else if mode != "100644" {
				return p.fail("only files can be added, with the mode 100644 or 100755")
			}
		case value("deleted file mode "):
			o.op = Delete
		case value("old mode "), value("new mode "):
			return p.fail("a patch cannot change the mode of a file. Do that with a command")
		case value("copy from "), value("copy to "):
			return p.fail("a patch cannot copy a file. Expected is *** Add File: with its lines")
		case value("Binary files "), value("GIT binary patch"):
			return p.fail("a patch cannot change a file that is not text")
		case value("rename from "):
			o.path, renamed = unquoted(strings.TrimPrefix(line, "rename from ")), true
		case value("rename to "):
			o.to, renamed = unquoted(strings.TrimPrefix(line, "rename to ")), true
		case value("--- ") && strings.HasPrefix(p.ahead(1), "+++ "):
			return p.filed(&o, renamed)
		default:
			return p.named(o, renamed, head)
		}
	}
}

// named takes a file of which a diff by git has no hunks: an empty one, or one that is only moved.
func (p *parser) named(o operation, renamed bool, head int) error {
	switch {
	case o.path == "":
		return p.failAt(head, "it names no file. Expected are --- a/path and +++ b/path")
	case renamed && o.to == "":
		return p.failAt(head, "it does not say what %s is renamed to", o.path)
	case o.op == Update && !renamed:
		return p.failAt(head, "the update of %s has no hunk. Expected are --- a/path and +++ b/path", o.path)
	case !renamed:
		o.to = ""
	}
	p.ops = append(p.ops, o)
	return nil
}

// filed reads the lines --- and +++, and the hunks.
func (p *parser) filed(o *operation, renamed bool) error {
	from, to := filename(p.here()[4:]), filename(p.ahead(1)[4:])
	bareFrom, okFrom := strings.CutPrefix(from, "a/")
	bareTo, okTo := strings.CutPrefix(to, "b/")
	if (okFrom || from == devNull) && (okTo || to == devNull) {
		if from != devNull {
			from = bareFrom
		}
		if to != devNull {
			to = bareTo
		}
	}
	at := p.at
	p.at += 2
	switch {
	case from == devNull && to == devNull, from == "", to == "":
		return p.failAt(at, "it names no file. Expected are --- a/path and +++ b/path")
	case from == devNull:
		o.op, o.path, o.to = Add, to, ""
	case to == devNull:
		o.op, o.path, o.to = Delete, from, ""
	default:
		o.op, o.path, o.to = Update, from, ""
		if from != to {
			o.to = to
		}
	}
	start := p.at
	if err := p.hunks(o); err != nil {
		return err
	}
	if o.op == Add {
		if err := p.content(o); err != nil {
			return err
		}
	}
	if o.op == Update && len(o.hunks) == 0 && !renamed {
		return p.failAt(start, "the update of %s has no hunk. Expected is @@ -1,2 +1,2 @@, or @@", o.path)
	}
	p.ops = append(p.ops, *o)
	return nil
}

// content makes the hunks of a file that is added its content.
func (p *parser) content(o *operation) error {
	var b strings.Builder
	for _, h := range o.hunks {
		lines := h.block.Lines[:len(h.block.Lines)-h.bare]
		for _, l := range lines {
			if l.Op != text.Add && (l.Op != text.Keep || l.Text != "") {
				return p.failAt(h.line-p.first, "each line of a file that is added begins with +")
			}
			b.WriteString(l.Text + "\n")
		}
		if o.content = b.String(); h.block.Open {
			o.content = strings.TrimSuffix(o.content, "\n")
		}
	}
	o.hunks = nil
	return nil
}

// filename is the path of a line --- or +++, without the time that diff writes behind it.
func filename(s string) string {
	path, _, _ := strings.Cut(s, "\t")
	return unquoted(strings.TrimRight(path, " "))
}

// unquoted reads a path that git has quoted as a string of C.
func unquoted(s string) string {
	if s = strings.TrimSpace(s); strings.HasPrefix(s, `"`) {
		if plain, err := strconv.Unquote(s); err == nil {
			return plain
		}
	}
	return s
}

// gitPaths are the two paths of a line of git, where that tells them apart: they are the same, but
// for a/ and b/.
func gitPaths(s string) (from, to string) {
	if n := len(s) / 2; len(s)%2 == 1 && s[n] == ' ' {
		a, okA := strings.CutPrefix(unquoted(s[:n]), "a/")
		b, okB := strings.CutPrefix(unquoted(s[n+1:]), "b/")
		if okA && okB && a == b {
			return a, b
		}
	}
	return "", ""
}
