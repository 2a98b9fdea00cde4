// Package shell tells what a command line for bash does, from its text alone: which commands it
// consists of, whether it provably only reads, how much it could break, and whether it is one that
// nobody may run.
//
// The answer "only reads" is an allow-list at each step: the characters of the text, the structure
// of the syntax tree, the words (literal ones), the programs, their options by exact name, and the
// number of their operands. Whatever is not in a list is opaque, which is the zero value. The
// answer "forbidden" is the opposite: it is looked for in every part of the tree, also in parts
// that are opaque, behind programs that run others, and in lines that are given to a further shell.
//
// That a line only reads is no protection: a repository's configuration may make git run programs.
// Such a line still runs in the sandbox. The files that it reads are in Reads, and whoever lets the
// line run without a question judges them first.
package shell

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLine is the length in bytes up to which a line is looked into. Of a longer one nothing is
// known.
const MaxLine = 16 << 10

// MaxArgument is what Linux takes as one argument of a program, in bytes, with the zero byte behind
// it.
const MaxArgument = 128 << 10

// Command is what is known of a command line. The zero value is a line of which nothing is known.
type Command struct {
	// Calls are the argument vectors of the simple commands in it, wherever they stand: also in
	// substitutions, behind programs that run others, and in lines that are given to a further
	// shell. A word that is known only at run time is "".
	Calls [][]string
	// Literal says that Calls is all that happens: literal words, joined by |, &&, || and ; alone,
	// without assignments, redirects of files, or programs that run others. Only then a rule may
	// allow it.
	Literal bool
	// ReadOnly says that it provably only reads, if what Reads names may be read. Searches says
	// that it looks for something.
	ReadOnly, Searches bool
	// Reads is what a line that only reads shows of files and folders, in order.
	Reads []Read
	// Writes is what the line is known to write, wherever that stands in it: what redirects lead
	// to, and operands of programs that write them. There may be more.
	Writes []Write
	// Named are the paths outside of the folder that the line begins in that stand in its words,
	// absolute or with ~ in front: whatever the line does with them, and whether or not they are
	// there.
	Named []string
	// Inside are the absolute paths in that folder that stand in its words, in the same way.
	Inside []string
	// Opaque is why it is not known to only read, for a person: half a sentence, "" where it is.
	Opaque string
	// Forbidden is why no mode, rule or answer lets it run; "" is not forbidden.
	Forbidden string
	// Danger is how much it could break: Safe where it only reads.
	Danger Danger
	// Risk is the first part that is dangerous, for a person, where it is Dangerous and not
	// Forbidden.
	Risk string
	// Removes are the absolute paths that it removes with all that is below them, where it is
	// Dangerous for that alone.
	Removes []string
}

// Doubted is the command without its claim to only read, for a reason: half a sentence.
func (c Command) Doubted(why string) Command {
	c.ReadOnly, c.Searches, c.Reads, c.Opaque, c.Danger = false, false, nil, why, min(c.Danger, Moderate)
	return c
}

// Read is one thing that a command which only reads shows: a path as it stands in the line,
// relative to the folder that the line runs in, and how much of it.
type Read struct {
	Path   string
	Extent Extent
	// Glob says that the path is a pattern of the shell with * and ?, and each file that fits is
	// read.
	Glob bool
	// Names says of what is below that each file is opened by its name, also what a link leads to,
	// and Split that the names are split at blanks before: where a name has one, nobody can tell
	// what is read.
	Names, Split bool
}

// Write is a path that a line writes, absolute or with ~ in front. In says that it is so only if
// there is a folder above it: the operand that something is copied to.
type Write struct {
	Path string
	In   bool
}

// Extent is how much is read of a path.
type Extent uint8

// The extents.
const (
	// Itself is the file, or the names in the folder.
	Itself Extent = iota
	// Below is the content of everything below it too, if it is a folder; Visible only of files
	// that are neither ignored by git nor have a name that begins with a dot.
	Below
	Visible
	// Tracked is the content of everything that git tracks in the repository that the path lies in,
	// TrackedBelow of that only what is at the path or below it.
	Tracked
	TrackedBelow
)

// Danger is how much a command line could break. The zero value is that nobody can say.
type Danger uint8

// The levels, from the greatest on.
const (
	Dangerous Danger = iota
	Moderate
	Safe
)

func (d Danger) String() string {
	switch d {
	case Safe:
		return "safe"
	case Moderate:
		return "moderate"
	}
	return "dangerous"
}

// Parse tells what is known of a line that bash runs in the absolute folder dir. keep are absolute
// folders which no command may delete, beside those of the system: the home folder and the roots of
// the workspace. It reads nothing but its arguments. Where ctx ends, nothing is known of the line.
func Parse(ctx context.Context, line, dir string, keep ...string) Command {
	if len(line) > MaxLine {
		return Command{Opaque: "is longer than 16 KiB", Risk: "a command line of more than 16 KiB, which nobody can check"}
	}
	s := newSearch(ctx, dir, keep)
	stmts, err := s.line(line)
	if ctx.Err() != nil {
		return Command{Opaque: "was not checked to its end"}
	}
	c := Command{Forbidden: s.forbidden, Danger: s.danger, Risk: s.risk, Calls: s.found, Writes: s.written, Named: s.named, Inside: s.inside}
	switch why := unreadable(line); {
	case why != "":
		c.Opaque = "has " + why
	case err != nil:
		c.Opaque = "cannot be parsed"
	default:
		c.Literal = !s.runs && structured(stmts) == "" && !readsFiles(stmts)
		if c.Reads, c.Searches, c.Opaque = readOnly(ctx, stmts, dir); c.Opaque == "" && s.danger == Dangerous {
			c.Opaque = "may be dangerous"
		}
	}
	if len(s.removed) > 0 {
		if c.Literal && c.Danger == Moderate && c.Forbidden == "" {
			c.Removes = s.removed
		}
		c.Danger = Dangerous
	}
	switch {
	case c.Forbidden != "":
		c.Danger, c.Risk, c.Reads, c.Opaque = Dangerous, "", nil, "is forbidden: "+c.Forbidden
	case c.Opaque != "":
		c.Reads, c.Searches = nil, false
	default:
		c.ReadOnly, c.Danger = true, Safe
	}
	return c
}

// unreadable names the first thing in a text that people or parsers may read in two ways; "" is
// nothing.
func unreadable(line string) string {
	if !utf8.ValidString(line) {
		return "bytes that are no text"
	}
	if strings.Contains(line, "\\\n") {
		return "a line that goes on behind a backslash"
	}
	for _, r := range line {
		switch {
		case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		case unicode.IsControl(r):
			return "control characters"
		case r < 0x7f || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || unicode.IsPunct(r) || unicode.IsSymbol(r):
			if unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) {
				return "characters that are not seen"
			}
		default:
			return "characters that are not seen"
		}
	}
	return ""
}
