package shell

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// program is a row of a table: the options that a program may be given, and what its operands are.
type program struct {
	options  map[string]option // by name, with the dashes
	operands []operand
	flags    map[string]bool // words in capitals about the row
}

// option is one permitted option. kind is of its value, "" where it has none.
type option struct {
	kind     string
	optional bool // the value, which then stands in the same word
	below    bool // operands are read with all that is below them
	first    bool // stands for the first operand
	shows    bool // content of what git tracks is shown
	instead  bool // something else is shown instead of such content
	many     bool // it may be given in one word with others: -abc
}

// operand is what one operand or several are. count is '1', '?' for one or none, '*' for any
// number.
type operand struct {
	kind  string
	count byte
}

//go:embed programs.txt
var programsText string

//go:embed runners.txt
var runnersText string

// programs are those that only read when they are given nothing but what their row permits; runners
// are those that run what their operands name.
var (
	programs = sync.OnceValue(func() map[string]*program { return table(programsText) })
	runners  = sync.OnceValue(func() map[string]*program { return table(runnersText) })
)

// table reads rows. A row is names, separated by a comma, a colon, and what is permitted; it goes
// on in the lines that begin with a blank. A name of several words is a program with its
// subcommands; one that begins with @ is not a program, but stands for options in the rows behind
// it.
func table(text string) map[string]*program {
	rows, sets := map[string]*program{}, map[string]string{}
	var list []string
	for line := range strings.Lines(text) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, " "):
			list[len(list)-1] += line
		default:
			list = append(list, line)
		}
	}
	for _, line := range list {
		names, permitted, ok := strings.Cut(line, ": ")
		if !ok {
			names, permitted = strings.TrimSuffix(line, ":"), ""
		}
		for set, options := range sets {
			permitted = strings.ReplaceAll(permitted, set, options)
		}
		if strings.HasPrefix(names, "@") {
			sets[names] = permitted
			continue
		}
		p := row(permitted)
		for name := range strings.SplitSeq(names, ", ") {
			if rows[name] != nil {
				panic("two rows of " + name)
			}
			rows[name] = p
		}
	}
	return rows
}

var optionSyntax = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(--?[A-Za-z0-9.][A-Za-z0-9._-]*|[(),!])(?:([:=])|(\?))?=?([a-z]*)([~^+%]*)$`)
})

// row reads what a row permits, word by word:
//
//	-abc         three options of one letter, which may stand in one word
//	-n:num       one that has a value of the kind num, in the same word or the next
//	-U?num       one that may have a value, in the same word
//	--all        a long option, which must be given by its whole name
//	--lines=num  a long one with a value, behind = or in the next word
//	--color?=text  a long one that may have a value, behind =
//	-name:text   in a row that says WHOLE, where one dash begins a long name; DASHES is that too, as Go reads options: two dashes
//	             are one, and a value may stand behind =
//
// ^ at the end says that operands are read with all that is below them, ~ that the option stands
// for the first operand, + that content of what git tracks is shown, % that something else is shown
// in its place. Words in capitals are operands by kind, with ? or * for their number, or say
// something of the row: see operandKinds.
func row(permitted string) *program {
	p := &program{options: map[string]option{}, flags: map[string]bool{}}
	fields := strings.Fields(permitted)
	for _, f := range fields {
		if f == "WHOLE" || f == "DASHES" {
			p.flags["WHOLE"], p.flags[f] = true, true
		}
	}
	for _, f := range fields {
		if c := f[0]; c >= 'A' && c <= 'Z' {
			kind, count := f, byte('1')
			if last := f[len(f)-1]; last == '?' || last == '*' {
				kind, count = f[:len(f)-1], last
			}
			if rowFlags.has(kind) {
				p.flags[kind] = true
				continue
			}
			p.operands = append(p.operands, operand{strings.ToLower(kind), count})
			continue
		}
		m := optionSyntax().FindStringSubmatch(f)
		if m == nil {
			panic(fmt.Sprintf("what is %q in %q?", f, permitted))
		}
		o := option{
			kind: m[4], optional: m[3] != "",
			below: strings.Contains(m[5], "^"), first: strings.Contains(m[5], "~"),
			shows: strings.Contains(m[5], "+"), instead: strings.Contains(m[5], "%"),
		}
		if (m[2] != "" || m[3] != "") != (o.kind != "") {
			panic(fmt.Sprintf("no kind of value in %q", f))
		}
		if name := m[1]; strings.HasPrefix(name, "--") || len(name) == 2 || p.flags["WHOLE"] || name[0] != '-' {
			o.many = len(name) == 2 && name[0] == '-' && !p.flags["WHOLE"]
			p.options[name] = o
		} else {
			for _, letter := range name[1:] {
				o.many = true
				p.options["-"+string(letter)] = o
			}
		}
	}
	return p
}

// rowFlags are the words in capitals that say something of a row: WHOLE and DASHES see row; NUMBERS
// are options such as -20; RAW has no options, all words are operands; SEARCHES looks for
// something; HERE reads the folder where no operand is named, and only what is visible unless an
// option with ^ is given; TRACKED shows content of what git tracks, unless an option with % says
// otherwise; PATHS says that operands behind -- are paths alone; ANY only reads whatever words it
// is given, options among them; the others are about runners, see runners.txt.
var rowFlags = wordSet{list: "WHOLE DASHES NUMBERS RAW SEARCHES HERE TRACKED PATHS MANY ANY SKIP ASSIGN LINE"}
