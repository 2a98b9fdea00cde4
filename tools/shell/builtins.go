package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// enter judges cd.
func (r *reader) enter(words []value, in []string) (yes, no []string) {
	if r.entered++; len(words) != 2 || !words[1].exact || words[1].text == "" || strings.HasPrefix(words[1].text, "-") || r.entered > 2 || r.loops > 0 {
		r.refuse("changes the folder in a way that is not understood")
		return in, in
	}
	r.read(in, Read{Path: words[1].text})
	r.splits = r.splits || !plain.match(words[1].text)
	for _, dir := range in {
		yes = union(yes, []string{joinPath(dir, words[1].text)})
	}
	return yes, in
}

// readsLine judges the builtin read, which sets variables.
func (r *reader) readsLine(args []value) {
	var names []string
	raw := false
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case !a.exact:
			r.refuse("reads into a variable that is known only when it runs")
		case a.text == "-r":
			raw = true
		case a.text == "-d" && i+1 < len(args) && args[i+1].exact:
			i++
		default:
			names = append(names, a.text)
		}
	}
	v := r.stdin.loosened()
	if !raw || len(names) > 1 { // a line without its backslashes, or in parts
		v = v.split()
	}
	v.many = false
	for _, name := range names {
		r.set(name, v)
	}
	if len(names) == 0 {
		r.refuse("reads into a variable that is not named")
	}
}

// shellOption is a word of the builtin set after which a line runs less than without it, and
// nothing else: it ends at a failure or at a variable that is not set.
var shellOption = expression{whole: true, text: `[-+][eu]*o?|errexit|nounset|pipefail`}

// options judges the builtin set.
func (r *reader) options(args []value) {
	for _, a := range args {
		if !a.exact || !shellOption.match(a.text) {
			r.refuse("sets options of the shell that are not understood")
		}
	}
	if len(args) == 0 {
		r.refuse("shows all variables")
	}
}

// declares judges export and its kin: the variables that they name, and no options.
func (r *reader) declares(c *syntax.DeclClause, in []string) {
	for _, a := range c.Args {
		if a.Name == nil || a.Append || a.Index != nil || a.Array != nil {
			r.refuse("sets variables in a way that is not understood")
			return
		}
		if a.Naked {
			if !settable(a.Name.Value) {
				r.refuse("sets variables that programs or the shell may read")
			}
			continue
		}
		v := exactly("")
		if a.Value != nil {
			v = r.quoted(a.Value, in)
		}
		if !v.exact || !harmlessEnv.match(a.Name.Value+"="+v.text) {
			r.set(a.Name.Value, v)
		}
	}
	if len(c.Args) == 0 {
		r.refuse("shows all variables")
	}
}

// oneLine is the option of a shell that its line stands behind.
var oneLine = expression{whole: true, text: `-[eu]*c`}

// shellLine judges a line that is given to another shell. It sees no variable of this one, and
// changes none.
func (r *reader) shellLine(words []value, in []string) {
	if len(words) != 3 || !words[1].exact || !oneLine.match(words[1].text) || !words[2].exact {
		r.refuse("runs a shell with more than a line")
		return
	}
	text := words[2].text
	if why := unreadable(text); why != "" {
		r.refuse("has " + why)
		return
	}
	if r.through++; r.through > maxNested || !parsable(text) {
		r.refuse("has lines for shells that are not understood")
		return
	}
	defer func() { r.through-- }()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	switch {
	case err != nil:
		r.refuse("has a line for a shell that cannot be parsed")
	case words[0].text == "sh" && structured(file.Stmts) != "": // it may be a shell that reads more than words in another way
		r.refuse("has a line for sh, which " + structured(file.Stmts))
	default:
		n := r.settled(file.Stmts, in)
		r.refuse(n.opaque)
		r.searches, r.entered = r.searches || n.searches, n.entered
		r.read([]string{""}, n.reads...)
	}
}
