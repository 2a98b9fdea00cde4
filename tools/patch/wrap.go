package patch

import (
	"encoding/json"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/sandbox/lazy"
)

var (
	heredoc = lazy.Regexp{Text: `^\s*(?:\S*apply_patch\s+|applypatch\s+|cat\s+)?<<-?\s*(["']?)([^\s"'<>|;&]+)(["']?)(?:\s*\|\s*apply_patch)?\s*$`}
	word    = lazy.Regexp{Text: `<<-?\s*["']?([^\s"'<>|;&]+)`}
	fence   = lazy.Regexp{Text: "^\\s*```+[\\w-]*\\s*$"}
	// command is what a line of a shell calls to apply the patch. An option that would apply it otherwise, such as -R, is none of it.
	command = lazy.Regexp{Text: `(?:\S*apply_patch\b|\bapplypatch\b|\bcat\s+<<|\b(?:git\s+apply|patch)(?:\s+(?:-p\s*[01]|-[uv]|--verbose|--whitespace=\w+|-))*\s+<<)`}
	// change is a command that changes the folder, with where to.
	change = lazy.Regexp{Text: `(?:^|[;&|({"'])\s*(?:cd|pushd)(?:\s+--)?(?:\s+("[^"]*"|'[^']*'|[^\s;&|"')}]+))?\s*(?:>\s*/dev/null\s*)?(?:$|[;&|)}])`}
	// script is the begin of a shell's command line that is one word in quotes.
	script = lazy.Regexp{Text: `^\s*(?:\S*/)?(?:ba|da|z|k)?sh\s+(?:-\w+\s+)+(["'])`}
	quoted = lazy.Regexp{Text: `apply_patch\s+(["'])$`}
	// environment is a line that some services want behind the first mark.
	environment = lazy.Regexp{Text: `^\s*\*\*\* Environment ID:`}
	// mark is a line of the grammar in any case and with any blanks, as models also write it.
	mark = lazy.Regexp{Text: `(?i)^\*\*\*+\s*(?:(begin\s+patch|end\s+patch|end\s+of\s+file)[\s*]*$|((?:add|delete|update)\s+file|move\s+to):(.*))`}
	// version is the signature of git's mails, below the line "-- ".
	version = lazy.Regexp{Text: `^\d+(?:\.\w+)+`}
)

// decoded is the text of a patch that was encoded once more: as the one text with a patch in a JSON value, or as the inside of a JSON string.
func decoded(s string) string {
	line := strings.TrimSpace(s)
	var value any
	if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") {
		if json.Unmarshal([]byte(line), &value) == nil {
			if all := texts(value); len(all) == 1 {
				return all[0]
			}
			patches := slices.DeleteFunc(texts(value), func(t string) bool { return !strings.Contains(t, begin) && !strings.Contains(t, "\n+++ ") })
			if len(patches) == 1 {
				return patches[0]
			}
		}
	}
	var inside string
	if !strings.Contains(line, "\n") && strings.HasPrefix(line, begin+`\n`) && json.Unmarshal([]byte(`"`+line+`"`), &inside) == nil {
		return inside
	}
	return s
}

// texts are the strings in a JSON value.
func texts(value any) (out []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, v := range value {
			out = append(out, texts(v)...)
		}
	case map[string]any:
		for _, v := range value {
			out = append(out, texts(v)...)
		}
	}
	return out
}

// canonical is a line, a mark of the grammar with its own case and blanks.
func canonical(line string) string {
	m := mark.Get().FindStringSubmatch(line)
	if m == nil {
		return line
	}
	name := strings.Join(strings.Fields(m[1]+m[2]), " ")
	for _, known := range []string{begin, end, endOfFile, addFile, delFile, updFile, moveTo} {
		if strings.EqualFold(name, strings.TrimSuffix(known[len("*** "):], ":")) {
			if strings.TrimSpace(m[3]) == "" {
				return known
			}
			return known + " " + strings.TrimPrefix(m[3], " ")
		}
	}
	return line
}

// unwrap takes away what a patch is often wrapped in: words before and after it, a command line for a shell, a here-document,
// the fence of a code block, an indentation, the head of a mail, and blanks around the last mark.
func (p *parser) unwrap() {
	p.cut()
	p.trim()
	for n := len(p.lines); n > 0; n = len(p.lines) {
		head, last := p.lines[0], strings.TrimSpace(p.lines[n-1])
		m := heredoc.Get().FindStringSubmatch(head)
		fenced := fence.Get().MatchString(head)
		if m == nil && !fenced {
			break
		}
		if n > 1 && (m != nil && last == m[2] || fenced && fence.Get().MatchString(last)) {
			p.lines = p.lines[:n-1]
		}
		p.lines, p.first = p.lines[1:], p.first+1
		p.trim()
	}
	if n := len(p.lines); n > 0 && strings.TrimSpace(p.lines[n-1]) == end {
		p.lines[n-1] = end
	}
}

// trim takes away blank lines at both ends.
func (p *parser) trim() {
	for n := len(p.lines); n > 0 && strings.TrimSpace(p.lines[n-1]) == ""; n-- {
		p.lines = p.lines[:n-1]
	}
	for len(p.lines) > 0 && strings.TrimSpace(p.lines[0]) == "" {
		p.lines, p.first = p.lines[1:], p.first+1
	}
}

// cut takes away what stands before the first mark of a patch and behind the last one, if that is no operation.
func (p *parser) cut() {
	operates := func(line string) bool {
		return slices.ContainsFunc([]string{addFile, delFile, updFile}, func(m string) bool { return strings.HasPrefix(strings.TrimSpace(line), m) }) ||
			strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "diff --git ")
	}
	from := slices.IndexFunc(p.lines, func(line string) bool {
		before, ok := strings.CutSuffix(strings.TrimRight(line, " \t"), begin)
		return ok && (strings.TrimSpace(before) == "" || quoted.Get().MatchString(before))
	})
	if from < 0 {
		if !p.cutHeredoc(operates) {
			p.cutFences(operates)
		}
		return
	}
	if slices.ContainsFunc(p.lines[:from], operates) {
		return
	}
	p.dedent(from)
	head := slices.Clone(p.lines[:from+1])
	to := len(p.lines)
	for i, line := range slices.Backward(p.lines) {
		if strings.HasPrefix(strings.TrimSpace(line), end) {
			to = i + 1
			break
		}
	}
	behind := p.lines[to:]
	if !slices.ContainsFunc(behind, operates) {
		p.lines = p.lines[:to]
		if line := strings.TrimSpace(p.lines[to-1]); strings.HasPrefix(line, end) && strings.Trim(line[len(end):], `"' `) == "" {
			p.lines[to-1] = end
		}
	}
	p.lines, p.first = p.lines[from:], p.first+from
	p.lines[0] = begin
	p.trim()
	if n := len(p.lines); p.lines[n-1] != end {
		last := strings.Trim(p.lines[n-1], "\"' ")
		if slices.ContainsFunc(head, func(line string) bool {
			m := word.Get().FindStringSubmatch(line)
			return m != nil && m[1] == last || fence.Get().MatchString(line) && fence.Get().MatchString(last)
		}) {
			p.lines = p.lines[:n-1]
		}
	}
	p.shell(head)
	if len(p.lines) > 1 && environment.Get().MatchString(p.lines[1]) {
		p.lines[1] = ""
	}
}

// cutHeredoc leaves the unified diff of a here-document that a line of a shell applies.
func (p *parser) cutHeredoc(operates func(string) bool) bool {
	from, n := slices.IndexFunc(p.lines, operates), len(p.lines)
	for n > 0 && strings.TrimSpace(p.lines[n-1]) == "" {
		n--
	}
	if from < 1 || n < 2 {
		return false
	}
	m := word.Get().FindStringSubmatch(p.lines[from-1])
	if m == nil || !command.Get().MatchString(p.lines[from-1]) || strings.TrimSpace(p.lines[n-1]) != m[1] {
		return false
	}
	head := p.lines[:from]
	p.lines, p.first = p.lines[from:n-1], p.first+from
	p.shell(head)
	return true
}

// shell takes in what the command line before a patch says: the folder to which it changes, and the quotes in which the patch
// stands, where all quotes of the patch are written for those.
func (p *parser) shell(head []string) {
	at := len(head) - 1
	for at >= 0 && !command.Get().MatchString(head[at]) {
		at--
	}
	if at < 0 {
		return
	}
	for _, line := range head[:at+1] {
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		for {
			m := change.Get().FindStringSubmatchIndex(line)
			if m == nil {
				break
			}
			to := ""
			if m[2] >= 0 {
				to = strings.Trim(line[m[2]:m[3]], `"'`)
			}
			if to == "" || to == "-" || strings.ContainsAny(to, "$`*?") {
				p.elsewhere = strings.TrimSpace(line)
			}
			if p.folder == "" || filepath.IsAbs(to) || strings.HasPrefix(to, "~") {
				p.folder = to
			} else {
				p.folder = path.Join(p.folder, to)
			}
			line = line[max(m[1]-1, m[0]+1):] // what ends it may begin the next
		}
	}
	mark := script.Get().FindStringSubmatch(head[at])
	if mark == nil {
		mark = quoted.Get().FindStringSubmatch(strings.TrimSuffix(strings.TrimRight(head[at], " \t"), begin))
	}
	if mark != nil {
		p.unquote(mark[1])
	}
}

// unquote undoes what is written in place of the signs that end a word of a shell.
func (p *parser) unquote(mark string) {
	written := strings.NewReplacer(`\"`, `"`, `\$`, "$", "\\`", "`", `\\`, `\`)
	bare := regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*"`)
	if mark == "'" {
		written = strings.NewReplacer(`'\''`, "'", `'"'"'`, "'")
		bare = regexp.MustCompile(`'`)
	}
	plain := make([]string, len(p.lines))
	for i, line := range p.lines {
		if plain[i] = written.Replace(line); mark == "'" && bare.MatchString(strings.NewReplacer(`'\''`, "", `'"'"'`, "").Replace(line)) || mark == `"` && bare.MatchString(line) {
			return
		}
	}
	p.lines = plain
}

// cutFences leaves the code block of a unified diff that stands among words.
func (p *parser) cutFences(operates func(string) bool) {
	from := slices.IndexFunc(p.lines, func(line string) bool { return fence.Get().MatchString(line) })
	if from < 1 || slices.ContainsFunc(p.lines[:from], operates) {
		p.cutMail(operates)
		return
	}
	to := slices.IndexFunc(p.lines[from+1:], func(line string) bool { return strings.HasPrefix(line, "```") })
	if to < 0 || slices.ContainsFunc(p.lines[from+1+to:], operates) {
		return
	}
	p.lines, p.first = p.lines[from:from+to+2], p.first+from
}

// cutMail leaves the unified diff of what git format-patch and git show print: without their head, and without the signature.
func (p *parser) cutMail(operates func(string) bool) {
	from := max(slices.IndexFunc(p.lines, operates), 0)
	if from == 0 || !strings.HasPrefix(p.lines[from], "d") && (from+1 >= len(p.lines) || !strings.HasPrefix(p.lines[from+1], "+++ ")) {
		return
	}
	p.lines, p.first = p.lines[from:], p.first+from
	p.trim()
	if n := len(p.lines); n > 1 && p.lines[n-2] == "-- " && version.Get().MatchString(p.lines[n-1]) {
		p.lines = p.lines[:n-2]
	}
}

// dedent takes the blanks before the first mark from all lines of the patch, if each that is not blank has them.
func (p *parser) dedent(from int) {
	indent := p.lines[from][:len(p.lines[from])-len(strings.TrimLeft(p.lines[from], " \t"))]
	lines := slices.Clone(p.lines)
	for i := from; indent != "" && i < len(lines); i++ {
		rest, ok := strings.CutPrefix(lines[i], indent)
		if !ok && strings.TrimSpace(lines[i]) != "" {
			return
		}
		if lines[i] = canonical(rest); lines[i] == end {
			break
		}
	}
	p.lines = lines
}

// below puts the paths of operations below the folder to which the command line around the patch changes.
func (p *parser) below() {
	if p.folder == "" {
		return
	}
	join := func(name string) string {
		if name == "" || filepath.IsAbs(name) || strings.HasPrefix(name, "file:") || strings.HasPrefix(name, "~") {
			return name
		}
		return path.Join(p.folder, name)
	}
	for i, o := range p.ops {
		p.ops[i].path, p.ops[i].to = join(o.path), join(o.to)
	}
}
