package show

import (
	"fmt"
	"strings"
)

const noNewline = "\\ No newline at end of file\n"

// unified writes the runs with their context. It gives up past the limit.
func (d *differ) unified(runs []run) (string, bool) {
	var b strings.Builder
	b.WriteString(d.header())
	context := max(d.o.Context, 0)
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && runs[n].a0-runs[n-1].a1 <= 2*context {
			n++
		}
		group := runs[:n]
		runs = runs[n:]
		before := min(context, group[0].a0, group[0].b0)
		last := group[n-1]
		after := min(context, len(d.a)-last.a1, len(d.b)-last.b1)
		a0, a1 := group[0].a0-before, last.a1+after
		b0, b1 := group[0].b0-before, last.b1+after
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", lineRange(a0, a1), lineRange(b0, b1))
		at := a0
		for _, r := range group {
			write(&b, ' ', d.a[at:r.a0])
			write(&b, '-', d.a[r.a0:r.a1])
			write(&b, '+', d.b[r.b0:r.b1])
			at = r.a1
		}
		write(&b, ' ', d.a[at:a1])
		if b.Len() > d.o.MaxBytes {
			return "", false
		}
	}
	return b.String(), true
}

func (d *differ) header() string {
	from := d.f.Path
	var b strings.Builder
	if d.o.OldPath != "" && d.o.OldPath != d.f.Path {
		from = d.o.OldPath
		fmt.Fprintf(&b, "diff --git %s %s\nrename from %s\nrename to %s\n",
			quote("a/"+from), quote("b/"+d.f.Path), quote(from), quote(d.f.Path))
	}
	if d.f.Additions+d.f.Deletions == 0 {
		return b.String() // renamed, but the same
	}
	old, new := name("a/"+from), name("b/"+d.f.Path)
	if d.o.Created {
		old = "/dev/null"
	}
	if d.o.Deleted {
		new = "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", old, new)
	return b.String()
}

// name is a path as it stands after --- or +++: a tab ends one that has blanks.
func name(path string) string {
	if q := quote(path); q != path || !strings.Contains(path, " ") {
		return q
	}
	return path + "\t"
}

// quote writes a path as git does, in C's way where it has to.
func quote(path string) string {
	if strings.IndexFunc(path, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7F }) < 0 {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7F:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func lineRange(from, to int) string {
	if to-from == 1 {
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", number(from, to), to-from)
}

func write(b *strings.Builder, sign byte, lines []string) {
	for _, l := range lines {
		b.WriteByte(sign)
		b.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			b.WriteString("\n" + noNewline)
		}
	}
}
