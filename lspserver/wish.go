package lspserver

import (
	"strings"

	"tandem/sandbox/lazy"
)

// A wish is what a person asks for in a comment: "tandem:" and what is to be done, in a comment of its own, which may go on for more lines, or
// in one behind code.

// wishes matches a line with a wish: what stands before it, and the wish.
var wishes = lazy.Regexp{Text: `^(.*?)(?i:\btandem):\s*(.*)$`}

// endOf is the sign that ends a comment which a sign opens, or a line within one; "" where it ends with its line.
func endOf(sign string) string {
	switch sign {
	case "/*", "*":
		return "*/"
	case "<!--":
		return "-->"
	case `"""`, "'''":
		return sign
	case "{-":
		return "-}"
	case "(*":
		return "*)"
	case "#|":
		return "|#"
	}
	return ""
}

// mostLines is how many lines a wish may have.
const mostLines = 30

// wish finds the wish that the line at belongs to, "" for none. line gives the text of a line, from 0, and whether there is one. first is the
// line where it begins.
func wish(line func(n int) (string, bool), at int) (text string, first int) {
	for first = at; first >= 0 && at-first < mostLines; first-- {
		if text, last := wishFrom(line, first); text != "" && last >= at {
			return text, first
		}
	}
	return "", 0
}

// wishFrom gives the wish that begins in a line, and its last line.
func wishFrom(line func(n int) (string, bool), first int) (text string, last int) {
	s, _ := line(first)
	m := wishes.Get().FindStringSubmatch(s)
	if m == nil {
		return "", 0
	}
	sign, alone, ok := signOf(m[1])
	if !ok {
		return "", 0
	}
	end := endOf(sign)
	said, over := cutEnd(m[2], end)
	parts := []string{said}
	for last = first; alone && !over && sign != "" && last-first+1 < mostLines; last++ {
		next, there := line(last + 1)
		next = strings.TrimSpace(next)
		if end == "" { // of lines that are comments each
			if next, there = strings.CutPrefix(next, sign); !there {
				break
			}
		} else if next != end {
			next = strings.TrimLeft(next, "*")
		}
		next, over = cutEnd(next, end)
		if !there || wishes.Get().MatchString(next) || next == "" && !over {
			break
		}
		parts = append(parts, next)
	}
	return strings.TrimSpace(strings.Join(parts, "\n")), last
}

// cutEnd is the text of a comment up to its end, and whether it ends there.
func cutEnd(s, end string) (text string, over bool) {
	if end != "" {
		s, _, over = strings.Cut(s, end)
	}
	return strings.TrimSpace(s), over
}

// signOf is what opens the comment that ends with before, and whether it stands alone in its line. ok is false where that is no comment, as
// within a string. Nothing at all before a wish is as good as a sign, in notes and in files without comments.
func signOf(before string) (sign string, alone, ok bool) {
	trimmed := strings.TrimSpace(before)
	if trimmed == "" {
		return "", true, true
	}
	for _, s := range []string{"<!--", "///", "//!", "/**", `"""`, "'''", "//", "/*", "--", "{-", "(*", "#|", "##", "#", ";;", ";", "%", "*", "rem"} {
		code, is := strings.CutSuffix(strings.ToLower(trimmed), s)
		if !is {
			continue
		}
		alone = strings.TrimSpace(code) == ""
		if s == "/**" {
			s = "/*"
		}
		if alone {
			return s, true, true
		}
		behind := strings.HasSuffix(code, " ") || strings.HasSuffix(code, "\t")
		quoted := strings.Count(code, `"`)%2 != 0 || strings.Count(code, "`")%2 != 0 || strings.Count(code, "'")%2 != 0
		plain := s == "*" || s == "rem" || s == "%" || s == `"""` || s == "'''" // more than a comment behind code
		return s, false, behind && !quoted && !plain
	}
	return "", false, false
}
