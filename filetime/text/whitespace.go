package text

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// lexicon says how a language writes what is no code. All of them have /* */ too.
type lexicon struct {
	line   bool   // // begins a comment
	quotes string // signs around strings of one line, in which \ escapes
	raw    string // what stands on both sides of strings of several lines
	doubt  string // what begins a string of which it is not known here where it ends
}

// lexiconOf knows the languages in which blanks between tokens mean little and whose
// strings can be told without parsing.
func lexiconOf(language string) (lexicon, bool) {
	switch language {
	case "go":
		return lexicon{line: true, quotes: `"'`, raw: "`"}, true
	case "c", "cpp":
		return lexicon{line: true, quotes: `"'`, doubt: `R"`}, true
	case "java":
		return lexicon{line: true, quotes: `"'`, raw: `"""`}, true
	case "json", "jsonc":
		return lexicon{line: true, quotes: `"`}, true
	}
	return lexicon{}, false
}

// RulesFor returns the rules for a file: Whitespace as given, Language by what its name
// ends with.
func RulesFor(name string, whitespace bool) Rules {
	rules := Rules{Whitespace: whitespace}
	switch filepath.Ext(name) {
	case ".go":
		rules.Language = "go"
	case ".c", ".h":
		rules.Language = "c"
	case ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx":
		rules.Language = "cpp"
	case ".java":
		rules.Language = "java"
	case ".json", ".jsonc":
		rules.Language = "jsonc"
	}
	return rules
}

// reformats reports whether these rules let an edit win over blanks.
func (rules Rules) reformats() bool {
	_, ok := lexiconOf(rules.Language)
	return rules.Whitespace && ok
}

// scanner tells code from strings and comments, going forward only.
type scanner struct {
	lexicon
	s    string
	at   int
	end  string // what ends the string or the comment that at lies in; "\n" for any line end
	mid  bool   // at is not in the indentation of its line
	lost bool   // nothing is certain from here on
}

// code reports whether there is code at off, so that blanks may be put there: no string,
// no comment, no line for a preprocessor. The line end after a comment is code.
func (c *scanner) code(off int) bool {
	for c.at < off && !c.lost {
		c.step()
	}
	return c.at == off && !c.lost && (c.end == "" || c.end == "\n" && startsEOL(c.s[off:]))
}

func startsEOL(s string) bool { return s != "" && (s[0] == '\n' || s[0] == '\r') }

func (c *scanner) step() {
	rest := c.s[c.at:]
	eol := startsEOL(rest)
	escapes := rest[0] == '\\'
	quoted := c.end != "" && strings.Contains(c.quotes, c.end)
	switch {
	case c.end == "\n" && eol:
		c.end = ""
	case c.end != "" && c.end != "\n" && strings.HasPrefix(rest, c.end):
		c.at, c.end = c.at+len(c.end), ""
	case quoted && eol, // no string then, or one of a kind not known here
		escapes && startsEOL(rest[1:]) && (quoted || c.end == "" || c.end == "\n"), // the line goes on
		c.end == "" && c.doubt != "" && strings.HasPrefix(rest, c.doubt):
		c.lost = true
	case escapes && (quoted || c.end == `"""`):
		c.at += 2
	case c.end != "":
		c.at++
	case c.raw != "" && strings.HasPrefix(rest, c.raw):
		c.at, c.end, c.mid = c.at+len(c.raw), c.raw, true
	case strings.HasPrefix(rest, "/*"):
		c.at, c.end = c.at+2, "*/"
	case c.line && strings.HasPrefix(rest, "//"), rest[0] == '#' && !c.mid:
		c.at, c.end = c.at+1, "\n"
	case strings.IndexByte(c.quotes, rest[0]) >= 0:
		c.at, c.end, c.mid = c.at+1, rest[:1], true
	default:
		c.mid = !eol && (c.mid || blankRun(rest) == 0)
		c.at++
	}
}

// part is an edit among those in which blanks of the user's give way.
type part struct {
	Edit
	who  side
	new  string // what stands there in the end
	now  int    // bytes of the user's text that it stands for
	over bool   // the user's blanks in it give way
}

// reformatted splits edits of both sides that overlap between start and end into such
// as can land, if all that the user did to what the agent replaces is to change blanks
// of code. It returns nil where that is not so.
func (m *merger) reformatted(start, end int, ours, theirs Set) []part {
	if !m.rules.reformats() {
		return nil
	}
	for _, e := range theirs {
		if squeeze(m.base.Slice(e.Start, e.End)) != squeeze(e.New) {
			return nil
		}
	}
	blanks, ok := m.blanks(start, m.base.Slice(start, end), m.span(start, end, theirs))
	if !ok {
		return nil
	}
	var out []part
	for _, o := range ours {
		old := m.base.Slice(o.Start, o.End)
		if squeeze(old) == squeeze(o.New) {
			return nil // blanks on both sides
		}
		var in, beside Set
		first := m.startsLine(o.Start)
		for _, b := range blanks {
			switch {
			case b.End <= o.Start || b.Start >= o.End:
				beside = append(beside, b)
				first = first && b.End != o.Start
				if o.Start == b.Start && o.End == b.End {
					return nil // two insertions at one place
				}
			case b.Start < o.Start || b.End > o.End:
				return nil
			default:
				in = append(in, b)
			}
		}
		p := part{o, agent, o.New, o.End - o.Start, len(in) > 0}
		if p.over {
			now := m.span(o.Start, o.End, in)
			if p.new, ok = reindent(old, now, o.New, first); !ok {
				return nil
			}
			p.now = len(now)
		}
		out = append(out, p)
		blanks = beside
	}
	for _, b := range blanks {
		out = append(out, part{Edit: b, who: user})
	}
	slices.SortStableFunc(out, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	return out
}

// overBlanks lands parts.
func (m *merger) overBlanks(parts []part) {
	for _, p := range parts {
		if !p.over {
			m.alone(p.who, p.Edit)
			continue
		}
		m.Reformatted++
		grown := m.grownA
		m.alone(agent, Edit{p.Start, p.End, p.new})
		if p.new != p.New {
			m.theirs = append(m.theirs, Edit{p.Start + grown, p.Start + grown + len(p.New), p.new})
		}
		landed := &m.ours[len(m.ours)-1]
		landed.End = landed.Start + p.now
		m.grownA = grown + p.grow()
		m.grownU += p.now - (p.End - p.Start)
	}
	m.near = true
}

// blanks returns what changed from old, which stands in the base at an offset, to new,
// if that is blanks in code and neither a word nor an operator comes of it.
func (m *merger) blanks(at int, old, new string) (Set, bool) {
	if m.code == nil {
		l, _ := lexiconOf(m.rules.Language)
		m.code = &scanner{lexicon: l, s: m.base.String()}
	}
	var out Set
	before, _ := utf8.DecodeLastRuneInString(m.code.s[:at])
	for i, j := 0, 0; ; {
		n, k := blankRun(old[i:]), blankRun(new[j:])
		after, size := utf8.DecodeRuneInString(m.code.s[at+i+n:])
		if old[i:i+n] != new[j:j+k] {
			joins := (n == 0) != (k == 0) && bind(before, after)
			if joins || !m.code.code(at+i) || m.code.end == "\n" && !startsEOL(new[j:j+k]) {
				return nil, false
			}
			out = append(out, trim(m.base, Edit{at + i, at + i + n, new[j : j+k]}))
		}
		if i, j = i+n, j+k; i == len(old) || j == len(new) {
			return out, i == len(old) && j == len(new)
		}
		if !strings.HasPrefix(new[j:], old[i:i+size]) {
			return nil, false
		}
		i, j, before = i+size, j+size, after
	}
}

func blankRun(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

// bind reports whether two characters may mean one thing together and another apart.
func bind(l, r rune) bool {
	word := func(r rune) bool { return isWord(r) || r == '.' }
	alone := func(r rune) bool { return strings.ContainsRune("()[]{},; \t\r\n", r) }
	return word(l) && word(r) || !word(l) && !word(r) && !alone(l) && !alone(r)
}

// squeeze returns s without blanks and line ends.
func squeeze(s string) string { return strings.Join(strings.FieldsFunc(s, isSpace), "") }

func isSpace(r rune) bool { return isBlank(r) || r == '\r' || r == '\n' }

// reindent gives new, which was written for the text old, the indentation and the line
// ends of now, which is old with other blanks. It fails where the lines of old were
// moved in different ways. first says that old begins with a line.
func reindent(old, now, new string, first bool) (string, bool) {
	if head(old) != head(now) && !first || tail(old) != tail(now) {
		return "", false // the blanks belong to what stands beside
	}
	from, to := eolOf(old), eolOf(now)
	if from == "\r" || to == "\r" {
		return "", false
	}
	var by indentation
	had, has := indents(old, first), indents(now, first)
	moved := false
	for at, indent := range had {
		other, ok := has[at]
		if !ok {
			continue
		}
		var d indentation
		if other != indent {
			if d, ok = shiftOf(indent, other); !ok {
				return "", false
			}
		}
		if moved && d != by {
			return "", false
		}
		by, moved = d, true
	}
	var b strings.Builder
	for line := range strings.Lines(new) {
		if by.less && (first || b.Len() > 0) && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, by.piece) {
			return "", false
		}
		if first || b.Len() > 0 {
			line = by.apply(line)
		}
		b.WriteString(line)
	}
	new = b.String()
	if from != to && from != "" && to != "" {
		new = withEOL(strings.ReplaceAll(new, "\r\n", "\n"), to)
	}
	return new, true
}

// head and tail return the blanks at the start and the end of a text that are of its
// first and last line.
func head(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }
func tail(s string) string { return s[len(strings.TrimRight(s, " \t")):] }

// eolOf returns the line end that all lines of a text have, "\r" when there are several
// kinds and "" when there is none.
func eolOf(s string) string {
	n, crlf := countEOL(s), strings.Count(s, "\r\n")
	switch {
	case n == 0:
		return ""
	case n == crlf:
		return "\r\n"
	case n == strings.Count(s, "\n") && crlf == 0:
		return "\n"
	}
	return "\r"
}

// indents returns the indentation of each line that is not blank, by how many bytes
// other than blanks come before it; that of the first only where a line begins with it.
func indents(s string, first bool) map[int]string {
	out := map[int]string{}
	seen := 0
	for line := range strings.Lines(s) {
		if words := len(squeeze(line)); words > 0 {
			if first {
				out[seen] = head(line)
			}
			seen += words
		}
		first = true
	}
	return out
}
