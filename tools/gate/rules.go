package gate

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/rule"
	"tandem/tools/shell"
)

// Rule is the one type of a rule.
type Rule = rule.Rule

// MostOf is the greatest act that a name in Rule.Act stands for; tools.Unknown is any.
func MostOf(act string) tools.Act {
	switch act {
	case rule.Create:
		return tools.Creates
	case rule.Edit:
		return tools.Edits
	case rule.Replace:
		return tools.Replaces
	}
	return tools.Unknown
}

// actOf is the name of an act in rules; "" is any.
func actOf(most tools.Act) string {
	switch most {
	case tools.Creates:
		return rule.Create
	case tools.Edits:
		return rule.Edit
	case tools.Replaces:
		return rule.Replace
	}
	return ""
}

// name is the rule in a sentence: where it is written, and its id.
func (r *compiled) name() string { return cmp.Or(r.Source, "a rule") + " (" + r.id + ")" }

// here says that a rule is for sessions in a folder. What forbids is for the folders below too.
func here(r Rule, cwd string) bool {
	return r.Workspace == "" || r.Workspace == cwd || r.Effect != Allow && strings.HasPrefix(cwd, strings.TrimSuffix(r.Workspace, "/")+"/")
}

// compiled is a Rule that is ready to be compared. base is the folder that relative patterns start from, cwd that of the session, which
// relative arguments start from.
type compiled struct {
	Rule
	most   tools.Act
	id     string
	allows bool
	base   string
	cwd    string
	tool   glob
	params []param
	words  []word // of the command
}

// param is a pattern of one parameter, as a text and as a path.
type param struct {
	name       string
	text, path glob
}

func compile(r Rule, cwd string) *compiled {
	out := &compiled{
		Rule: r, most: MostOf(r.Act), id: r.ID(), allows: r.Effect == Allow, base: cmp.Or(r.Workspace, cwd), cwd: cwd, words: wordsOf(r.Params[rule.CommandParam]),
	}
	tool := strings.ToLower(r.Tool)
	_, err := path.Match(tool, "")
	out.tool = glob{pattern: tool, needle: needle(tool), broken: err != nil}
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		pattern := r.Params[name]
		at := pattern
		if strings.HasSuffix(at, "/") {
			at += "**"
		}
		out.params = append(out.params, param{name, globOf(pattern, out.allows), globOf(path.Clean(at), out.allows)})
	}
	return out
}

// ID is that of the rule, made once.
func (r *compiled) ID() string { return r.id }

// match is how sure it is that a pattern covers something. maybe stands for what is known at run time only.
type match uint8

const (
	no match = iota
	maybe
	yes
)

// about reports whether the rule is about a tool.
func (r *compiled) about(s tools.Spec) bool {
	return (r.Class == "" || r.Class == s.Class) && slices.ContainsFunc(namesOf(s), func(name string) bool {
		ok, err := path.Match(r.tool.pattern, name)
		return ok || err != nil && !r.allows
	})
}

// namesOf are the names of a tool, in small letters.
func namesOf(s tools.Spec) (names []string) {
	for _, name := range append([]string{s.Name}, s.Aliases...) {
		names = append(names, strings.ToLower(name))
	}
	return names
}

// covers says whether the rule, which is about the tool, covers a need of a call; of a command line it is about one simple command.
func (r *compiled) covers(c *subject, n tools.Need, part part) match {
	switch {
	case !r.Holds(c.Turn, c.now),
		r.allows && r.most != tools.Unknown && (n.Act > r.most || n.Act == tools.Unknown),
		r.allows && r.Scripts != "" && r.Scripts != n.Scripts,
		r.allows && r.Profile != "" && (n.Act != tools.Runs || n.Profile.String() != r.Profile),
		r.Files != nil && !slices.Contains(r.Files, n.Place.Path()):
		return no
	}
	all := yes
	for i := range r.params {
		if all = min(all, r.fits(c, n, part, &r.params[i])); all == no {
			return no
		}
	}
	return all
}

// fits compares one parameter.
func (r *compiled) fits(c *subject, n tools.Need, part part, p *param) match {
	name, with := c.compared(r, n, p.name)
	switch with {
	case never:
		return no
	case always:
		return yes
	case byTouched:
		return r.touches(c, n, &p.path)
	case byCommand:
		return r.fitsCommand(n, part)
	case byPath:
		for _, t := range c.targets(r, n).known[:1:1] {
			if r.fitsPath(&p.path, t) {
				return yes
			}
		}
		if !r.allows && slices.ContainsFunc(c.targets(r, n).written, func(t target) bool { return r.fitsPath(&p.path, t) }) {
			return yes
		}
		return no
	}
	written, there := c.written(n, name)
	fits := there && p.text.fits(r.folded(written))
	if there && name == tools.PathArg { // of a tool that does not say where it is, such as one of a server
		if r.allows {
			fits = fits && p.path.fits(path.Clean(filepath.ToSlash(written)))
		} else {
			fits = fits || r.touches(c, n, &p.path) == yes
		}
	}
	if fits {
		return yes
	}
	return no
}

// touches says whether a need is about a path that a prohibition names, whichever parameter it stands in: its place as it is and as it
// was written, and what a command is known to write. maybe is a word of a command that may be such a path, and a folder that is read
// with all below it.
func (r *compiled) touches(c *subject, n tools.Need, pattern *glob) match {
	t := c.targets(r, n)
	fits := func(t target) bool { return r.fitsPath(pattern, t) }
	if pattern.broken || pattern.pattern == "." || strings.Contains(t.all.of(pattern), pattern.needle) { // most rules are about something else
		switch {
		case slices.ContainsFunc(t.known, fits), slices.ContainsFunc(t.written, fits):
			return yes
		case slices.ContainsFunc(t.words, fits):
			return maybe
		}
	}
	if n.Tree && below(pattern, t.known[0]) {
		return maybe
	}
	return no
}

// below reports whether a pattern may fit something below a folder.
func below(pattern *glob, folder target) bool {
	dir := folder.of(pattern)
	if dir == "." || dir == "/" || strings.HasPrefix(dir, pattern.fixed) {
		return true
	}
	rest, ok := strings.CutPrefix(pattern.fixed, dir)
	return ok && strings.HasPrefix(rest, "/")
}

// folded is a text without regard to the case of its letters, for what forbids.
func (r *compiled) folded(s string) string {
	if r.allows {
		return s
	}
	return strings.ToLower(s)
}

// fitsPath compares a path.
func (r *compiled) fitsPath(pattern *glob, t target) bool {
	at := t.of(pattern)
	if !path.IsAbs(pattern.pattern) && (at == "" || r.allows && !filepath.IsLocal(at) && !strings.HasPrefix(pattern.pattern, "../")) {
		return false
	}
	if pattern.pattern == "." && !r.allows { // the folder and all below
		return filepath.IsLocal(at)
	}
	for {
		if pattern.fits(at) {
			return true
		}
		above := path.Dir(at)
		if r.allows || above == at || above == "." {
			return false
		}
		at = above
	}
}

// fitsCommand compares a simple command. It is nil where nobody can tell what the line runs.
func (r *compiled) fitsCommand(n tools.Need, p part) match {
	if r.allows {
		wild := slices.ContainsFunc(r.words, word.wild)
		if !n.Shell.Literal || len(p.argv) == 0 || p.shifts || fit(r.words, p.argv, false) != yes || wild && !shell.Known(p.argv) {
			return no
		}
		return yes
	}
	if len(p.argv) == 0 {
		return maybe
	}
	most := no
	for _, argv := range p.spellings {
		most = max(most, fit(r.words, argv, true))
	}
	return most
}

// word is one word of a command pattern, in pieces: the odd ones stand for any characters.
type word struct {
	pieces []string
	rest   bool // any further words
}

func (w word) wild() bool { return w.rest || len(w.pieces) > 1 }

// wordsOf reads a command pattern.
func wordsOf(pattern string) []word {
	var words []word
	var now []string
	in, quote := false, rune(0)
	piece := func(s string) {
		if now == nil {
			now = []string{""}
		}
		now[len(now)-1] += s
	}
	end := func() {
		if in {
			words = append(words, word{pieces: now})
		}
		now, in = nil, false
	}
	escaped := false
	for _, c := range pattern {
		switch {
		case escaped:
			piece(string(c))
			escaped = false
		case c == '\\' && quote != '\'':
			in, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			piece(string(c))
		case c == '\'' || c == '"':
			in, quote = true, c
			piece("")
		case c == ' ' || c == '\t' || c == '\n':
			end()
		case c == '*':
			in = true
			piece("")
			now = append(now, "")
		default:
			in = true
			piece(string(c))
		}
	}
	end()
	if i := len(words) - 1; i >= 0 && len(words[i].pieces) > 1 && strings.Join(words[i].pieces, "") == "" {
		words[i] = word{rest: true}
	}
	return words
}

func (w word) fits(s string) bool {
	first := w.pieces[0]
	if len(w.pieces) == 1 {
		return s == first
	}
	last := w.pieces[len(w.pieces)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range w.pieces[1 : len(w.pieces)-1] {
		_, after, ok := strings.Cut(s, p)
		if !ok {
			return false
		}
		s = after
	}
	return true
}

// fit compares a pattern with a command. With open a word "" is one that is known at run time only, and a command that has the
// words of the pattern with others between them, such as options, may be covered.
func fit(words []word, argv []string, open bool) match {
	for i, w := range words {
		switch {
		case w.rest:
			return yes
		case i == len(argv):
			return no
		case open && argv[i] == "":
			return maybe
		case w.fits(argv[i]):
			continue
		case open && i == 1 && argv[0] == "git" && !strings.HasPrefix(argv[1], "-"): // another subcommand
		case open && i > 0 && scattered(words[i:], argv[i:]):
			return maybe
		}
		return no
	}
	if len(words) == len(argv) {
		return yes
	}
	return no
}

// scattered reports whether each of the words fits one of argv, or may.
func scattered(words []word, argv []string) bool {
	for _, w := range words {
		if !w.rest && !slices.ContainsFunc(argv, func(a string) bool { return a == "" || w.fits(a) }) {
			return false
		}
	}
	return true
}

// changesShell says that a command changes what those after it in the line do: where they run, or what their words mean.
func changesShell(argv []string) bool {
	switch argv[0] {
	case "cd", "pushd", "popd", "export", "alias", "unalias", "set", "shopt", "source", ".", "eval", "exec", "trap", "declare", "typeset",
		"readonly", "local", "hash", "enable", "unset", "builtin", "command", "umask", "ulimit", "read", "mapfile", "readarray", "printf",
		"getopts", "let":
		return true
	}
	return false
}

// quoted writes a command as a pattern that fits it alone.
func quoted(argv []string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%^"
	out := make([]string, len(argv))
	for i, a := range argv {
		if out[i] = a; a == "" || strings.Trim(a, plain) != "" {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// derive makes the rules that answer the question about needs for good, none of which covers more than a person can see in it:
// for a command its exact words, its folder, its sandbox profile and the scripts that it runs as they are; for files the same acts of the same
// tool in their common folder; for a host the same scheme and host. edits are the files where all needs are edits of files.
func derive(c Call, asked []tools.Need) (allows, denies *Rule, edits []string) {
	for _, n := range asked {
		if n.Act != tools.Creates && n.Act != tools.Edits || n.Place == (sandbox.Place{}) {
			edits = nil
			break
		}
		edits = append(edits, n.Place.Path())
	}
	spec := c.Tool.Spec()
	if within, these, most := folderOf(asked); within != "" {
		arg := asked[0].Arg
		return &Rule{Effect: Allow, Tool: spec.Name, Params: map[string]string{arg: within}, Act: actOf(most)},
			&Rule{Effect: Deny, Tool: spec.Name, Params: map[string]string{arg: these}}, edits
	}
	if len(asked) != 1 {
		return nil, nil, edits
	}
	n := asked[0]
	pair := func(allow, deny map[string]string, profile string) (*Rule, *Rule, []string) {
		return &Rule{Effect: Allow, Tool: spec.Name, Params: allow, Profile: profile, Scripts: n.Scripts},
			&Rule{Effect: Deny, Tool: spec.Name, Params: deny}, edits
	}
	switch {
	case n.Act == tools.Runs && n.Shell.Literal && len(n.Shell.Calls) == 1 && n.Arg != "":
		argv, at := quoted(n.Shell.Calls[0]), rule.Literal(n.Place.Path())
		return pair(map[string]string{rule.CommandParam: argv, n.Arg: at}, map[string]string{rule.CommandParam: argv}, n.Profile.String())
	case n.Act == tools.Reaches && strings.HasPrefix(spec.Source, "mcp:"): // all calls of the tool
		return pair(nil, nil, "")
	case n.Act == tools.Runs && strings.HasPrefix(spec.Source, "plugin:"):
		return pair(nil, nil, n.Profile.String())
	case n.Act == tools.Reaches && n.Host != "":
		if u, ok := (&subject{Call: c}).text("url"); ok {
			if scheme, _, ok := strings.Cut(u, "://"); ok {
				at := map[string]string{"url": rule.Literal(strings.ToLower(scheme)+"://"+n.Host) + "/**"}
				return pair(at, at, "")
			}
		}
	}
	return nil, nil, edits
}

// folderOf makes patterns of needs that all write files which one parameter names: of the folder that they have in common, and of the
// files alone. most is the greatest act. There are none where every file of the workspace would be covered.
func folderOf(needs []tools.Need) (within, these string, most tools.Act) {
	var folder sandbox.Place
	for i, n := range needs {
		if !n.Act.Writes() || n.Arg == "" || n.Arg != needs[0].Arg || n.Place == (sandbox.Place{}) {
			return "", "", 0
		}
		if most = max(most, n.Act); i == 0 {
			folder, _ = n.Place.Parent()
		}
		for !folder.Holds(n.Place) {
			if folder.Rel() == "." {
				return "", "", 0
			}
			folder, _ = folder.Parent()
		}
	}
	if len(needs) == 0 {
		return "", "", 0
	}
	at, all := rule.Literal(folder.Path())+"/", "**"
	var names []string
	for _, n := range needs {
		name, err := filepath.Rel(folder.Path(), n.Place.Path())
		if err != nil {
			return "", "", 0
		}
		if names = append(names, rule.Literal(filepath.ToSlash(name))); folder.Rel() == "." {
			if all = "*"; strings.Contains(name, "/") {
				return "", "", 0
			}
		}
	}
	if len(names) == 1 {
		return at + all, at + names[0], most
	}
	return at + all, at + "{" + strings.Join(names, ",") + "}", most
}

// Exact are the rules of the answers to a question about all of a call, whatever the mode says; nil where there are none: where each
// such call asks again, and where nobody can allow it.
func Exact(c Call) (allows, denies *Rule) {
	if d := New(Options{Mode: ModeAsk}).Judge(c); d.Once || d.Verdict == Deny {
		return nil, nil
	}
	allows, denies, _ = derive(c, slices.DeleteFunc(slices.Clone(c.Needs), func(n tools.Need) bool {
		return n.Act == tools.Reads // the operands of a command
	}))
	return allows, denies
}

// Wide is the rule that a person might write for calls like this one: that of an answer, or the wider one of a command, in the same folder
// and sandbox profile. nil where no rule can allow the call in a sandbox.
func Wide(c Call) *Rule {
	c.Needs = slices.Clone(c.Needs)
	for i := range c.Needs {
		c.Needs[i].Confined = true
	}
	exact, _ := Exact(c)
	return cmp.Or(widened(exact, c.Needs), exact)
}

// widened is the rule for a command's first word and anything after it, in place of one for its exact words; nil where an option of its
// program is not known, which may run another one, where there is nothing after the word, and where the pattern would not cover it.
func widened(exact *Rule, needs []tools.Need) *Rule {
	if exact == nil || exact.Params[rule.CommandParam] == "" {
		return nil
	}
	wide := *exact
	wide.Params = maps.Clone(exact.Params)
	for _, n := range needs {
		if n.Act != tools.Runs {
			continue
		}
		if len(n.Shell.Calls) == 0 || len(n.Shell.Calls[0]) == 1 {
			return nil
		}
		wide.Params[rule.CommandParam] = quoted(n.Shell.Calls[0][:1]) + " **"
		if compile(wide, "").fitsCommand(n, partsOf(n)[0]) != yes {
			return nil
		}
		return &wide
	}
	return nil
}
