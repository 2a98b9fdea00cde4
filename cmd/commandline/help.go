package commandline

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

const gap = 4 // columns between a name and its text

// help is that of a command, of a group of commands, or of the program.
func (p Program) help(n *node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n", strings.Join(strings.Fields(p.Name+" "+n.usage()), " "))
	text := func(t string) {
		if t != "" {
			b.WriteString("\n" + wrapped(t, p.Columns) + "\n")
		}
	}
	text(n.about)
	if text(n.detail); n.parent == nil {
		text(p.About)
	}
	var rows [][2]string
	for _, a := range n.args {
		rows = append(rows, [2]string{a.usage(), a.about})
	}
	p.table(&b, "Arguments", rows)
	rows = [][2]string{{"-h, --help", "Show context-sensitive help."}}
	if n.parent == nil {
		rows = append(rows, [2]string{"-V, --version", "Print the version."})
	}
	for i, above := range n.lineage() {
		for k, f := range above.flags {
			if i > 0 && k == 0 {
				rows = append(rows, [2]string{})
			}
			if !f.hidden {
				rows = append(rows, [2]string{f.usage(), f.explained()})
			}
		}
	}
	p.table(&b, "Flags", rows)
	if len(n.commands) == 0 {
		return b.String()
	}
	b.WriteString("\nCommands:\n")
	for i, c := range n.leaves() {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %s\n%s\n", c.usage(), indented(wrapped(c.about, p.Columns-gap), gap))
	}
	if n.parent == nil {
		fmt.Fprintf(&b, "\nRun \"%s <command> --help\" for more information on a command.\n", p.Name)
	}
	return b.String()
}

// leaves are the commands below n, groups left out.
func (n *node) leaves() (out []*node) {
	for _, c := range n.commands {
		if len(c.commands) == 0 {
			out = append(out, c)
		}
		out = append(out, c.leaves()...)
	}
	return out
}

// usage is a command with its arguments, in a line.
func (n *node) usage() string {
	parts := n.path()
	if len(n.commands) > 0 {
		parts = append(parts, "<command>")
	}
	for _, a := range n.args {
		parts = append(parts, a.usage())
	}
	if len(n.flags) > 0 || n.parent != nil && len(n.parent.flags) > 0 {
		parts = append(parts, "[flags]")
	}
	return strings.Join(parts, " ")
}

func (a *argument) usage() string {
	name := "<" + a.name + ">"
	if a.field.Kind() == reflect.Slice {
		name += " ..."
	}
	if a.optional {
		name = "[" + name + "]"
	}
	return name
}

func (f *flag) usage() string {
	name := "    --" + f.name
	if f.short != "" {
		name = "-" + f.short + ", --" + f.name
	}
	if f.boolean() {
		return name
	}
	standard := f.standard
	if standard != "" && f.field.Kind() == reflect.String {
		standard = fmt.Sprintf("%q", standard)
	}
	return name + "=" + cmp.Or(f.placeholder, standard, "VALUE")
}

func (f *flag) explained() string {
	if f.env == "" {
		return f.about
	}
	return strings.TrimSuffix(f.about, ".") + " ($" + f.env + ")."
}

// table writes names with their texts beside them. A row without a name is an empty line.
func (p Program) table(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, utf8.RuneCountInString(r[0]))
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, r := range rows {
		if r[0] == "" {
			b.WriteByte('\n')
			continue
		}
		first, more, _ := strings.Cut(wrapped(r[1], p.Columns-wide-gap-2), "\n")
		fmt.Fprintf(b, "  %-*s%s%s\n", wide, r[0], strings.Repeat(" ", gap), first)
		if more != "" {
			b.WriteString(indented(more, 2+wide+gap) + "\n")
		}
	}
}

func indented(text string, by int) string {
	space := strings.Repeat(" ", by)
	return space + strings.ReplaceAll(text, "\n", "\n"+space)
}

// wrapped breaks the paragraphs of a text. Lines that begin with a blank are kept as they are.
func wrapped(text string, columns int) string {
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, " ") {
			out = append(out, paragraph)
			continue
		}
		var b strings.Builder
		at := 0
		for word := range strings.FieldsSeq(paragraph) {
			n := utf8.RuneCountInString(word)
			switch {
			case at == 0:
			case at+1+n > columns:
				b.WriteByte('\n')
				at = 0
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += n
		}
		out = append(out, b.String())
	}
	return strings.Join(out, "\n\n")
}
