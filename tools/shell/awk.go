package shell

import "strings"

// awkWords are the words by which a program of awk does more than to print what it reads: it runs
// commands, reads further files, shows the environment, or loads code.
var awkWords = expression{text: `\b(?:system|getline|close|fflush|ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|extension|include|load)`}

// awkReads reports whether a program of awk only reads its input and prints. It says so of programs
// with no |, no comment, no @ and no backslash outside of a text, and with > in conditions alone.
// Where there is a slash, which may begin a regular expression, texts are not told from the rest.
func awkReads(program string) bool {
	if awkWords.match(program) || strings.ContainsAny(program, "#@`") {
		return false
	}
	prints, text := false, false
	slashes := strings.Contains(program, "/")
	for i := 0; i < len(program); i++ {
		switch c := program[i]; {
		case text:
			if c == '\\' {
				i++
			} else if c == '"' {
				text = false
			}
		case c == '"' && !slashes:
			text = true
		case c == '\\' && !slashes:
			return false
		case c == '{', c == '}', c == ';': // a line may end within what is printed
			prints = false
		case strings.HasPrefix(program[i:], "print"):
			prints = true
		case c == '>' && (prints || strings.Contains(program[:i], "print") && slashes):
			return false
		case c == '|':
			if !strings.HasPrefix(program[i:], "||") {
				return false
			}
			i++
		}
	}
	return !text
}
