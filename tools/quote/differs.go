package quote

import (
	"fmt"
	"strings"

	"tandem/filetime/text"
	"tandem/sandbox/lazy"
)

// fold takes a difference out of a line, by which a quotation and the text that it means often
// differ. says words the difference, from what the quotation, by its label, and what the file has
// there.
type fold struct {
	line func(string) string
	says func(label string, old, file []string) string
}

var (
	number = lazy.Regexp{Text: `^ *>? *\d+(?: [|→] ?|\t)`}
	blanks = lazy.Regexp{Text: `[ \t\x{00A0}]+`}
	quotes = strings.NewReplacer("“", "'", "”", "'", "„", "'", "«", "'", "»", "'", "‘", "'", "’", "'", "‚", "'", `"`, "'", "`", "'")
)

// folds are the differences that are looked for.
func folds() []fold {
	return []fold{
		{
			func(l string) string { return blanks.Get().ReplaceAllString(l, "") },
			func(string, []string, []string) string { return "spaces or tabs that the other has not" },
		},
		{
			text.Skeleton,
			func(label string, old, file []string) string {
				for i, l := range old {
					if odd := text.Odd(file[i], l); odd != "" {
						return "the file has " + odd + onLine(i) + ", which cannot be seen; " + label + " has not"
					}
					if odd := text.Odd(l, file[i]); odd != "" {
						return label + " has " + odd + onLine(i) + ", which cannot be seen; the file has not"
					}
				}
				return "signs that look the same"
			},
		},
		{
			func(l string) string { return strings.TrimSpace(blanks.Get().ReplaceAllString(l, " ")) },
			func(label string, old, file []string) string {
				for i, l := range old {
					switch had, has := indent(l), indent(file[i]); {
					case i == 0 && had == "": // a quotation may begin within a line
					case strings.Contains(has, "\t") && strings.Contains(had, " "):
						return "the file is indented with tabs, " + label + " with spaces"
					case strings.Contains(had, "\t") && strings.Contains(has, " "):
						return "the file is indented with spaces, " + label + " with tabs"
					}
				}
				return "other spaces or indentation"
			},
		},
		{
			quotes.Replace,
			func(label string, old, file []string) string {
				typographic := func(lines []string) bool {
					return strings.ContainsAny(strings.Join(lines, ""), "“”„«»‘’‚")
				}
				switch had, has := typographic(old), typographic(file); {
				case had && !has:
					return label + " has typographic quotes, the file plain ones"
				case has && !had:
					return "the file has typographic quotes, " + label + " plain ones"
				}
				return "other quotation marks"
			},
		},
		{strings.ToLower, func(string, []string, []string) string { return "capital and small letters" }},
	}
}

// onLine names a line of a quotation behind its first.
func onLine(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf(" of its line %d", i+1)
}

// maxFolded is how large a text is compared in this way.
const maxFolded = 2 << 20

// differs gives the line, from 1, at which old stands but for small differences, and what they are; 0 where it does not.
func differs(t text.Text, label, old string) (line int, how []string) {
	if t.Len() > maxFolded || strings.TrimSpace(old) == "" {
		return 0, nil
	}
	plain := func(s string) []string { return strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n") }
	file, quoted := plain(t.String()), plain(old)
	if bare, ok := unnumbered(quoted); ok {
		quoted, how = bare, []string{label + " has line numbers, which are not part of the file"}
	}
	some := folds()
	if line = at(file, quoted, some); line == 0 {
		return 0, nil
	}
	for i := 0; i < len(some); { // only those count that it takes
		rest := append(append([]fold{}, some[:i]...), some[i+1:]...)
		if n := at(file, quoted, rest); n > 0 {
			line, some = n, rest
		} else {
			i++
		}
	}
	for _, f := range some {
		how = append(how, f.says(label, quoted, file[line-1:line-1+len(quoted)]))
	}
	if len(how) == 0 {
		return 0, nil
	}
	return line, how
}

// indent is the blanks that a line begins with.
func indent(l string) string { return l[:len(l)-len(strings.TrimLeft(l, " \t"))] }

// unnumbered takes the line numbers away that read_file shows, if all lines have one.
func unnumbered(lines []string) ([]string, bool) {
	var out []string
	any := false
	for _, l := range lines {
		n := len(number.Get().FindString(l))
		if n == 0 && strings.TrimSpace(l) != "" {
			return nil, false
		}
		any = any || n > 0
		out = append(out, l[n:])
	}
	return out, any
}

// at is the line of file, from 1, in which quoted begins, both without some differences; 0 where it is not there.
func at(file, quoted []string, without []fold) int {
	folded := func(lines []string) string {
		var b strings.Builder
		for i, l := range lines {
			if i > 0 {
				b.WriteByte('\n')
			}
			for _, f := range without {
				l = f.line(l)
			}
			b.WriteString(l)
		}
		return b.String()
	}
	want := folded(quoted)
	if len(strings.TrimSpace(want)) < 2 {
		return 0
	}
	all := folded(file)
	i := strings.Index(all, want)
	if i < 0 {
		return 0
	}
	return strings.Count(all[:i], "\n") + 1
}
