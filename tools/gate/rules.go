package gate

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/shell"
)

// Rule says what becomes of the calls that it covers: all those of a tool, or those whose parameters fit patterns too.
//
// A path is compared as a glob: * stands for any characters but /, ** for any folders. A relative pattern starts from the
// session's folder. What is compared is the canonical path, behind symbolic links. A deny and an ask rule cover what lies below a
// folder that fits, compare also the path as it was written, and do not tell capital from small letters.
//
// A command is compared word by word, as the shell would run it: each simple command of the line by itself, never the text. The
// pattern is written like a command; * in a word stands for any characters, * or ** as the last word for any further words,
// quotes take their meaning away. An allow rule covers a line only if it covers all simple commands in it and there is nothing
// else in the line (shell.Command.Literal), and with a * only commands whose options are all in a table (shell.Known). A deny and
// an ask rule cover a line if they cover one of its commands, wherever it stands, in any of shell.Spellings.
//
// Any other parameter is compared as a glob of its text.
type Rule struct {
	Effect Verdict // Deny, Ask or Allow
	// Tool is a name or alias; * stands for any letters.
	Tool   string
	Params map[string]string
	// Class leaves only tools of that permission class; "" is any.
	Class tools.Class
	// Workspace is the canonical folder of the sessions that the rule is for; "" is all.
	Workspace string
	// Most is the greatest act that an allow rule covers, Profile the name of the only sandbox profile; "" and Unknown are any.
	Most    tools.Act
	Profile string
	// Scripts is what tools.Need.Scripts must be for an allow rule to cover a command; "" is anything.
	Scripts string `json:",omitempty"`
	// Files, where it is not nil, are the only files, by canonical path, and Turn, where it is not 0, the only turn: for answers.
	Files []string
	Turn  int
	// Scope is "session", "workspace" or "user"; Source is where the rule was written, for a person.
	Scope, Source string
}

// acts are the names of acts in rules, by what Rule.Most is.
func acts() map[tools.Act]string {
	return map[tools.Act]string{tools.Unknown: "", tools.Creates: "create", tools.Edits: "edit", tools.Replaces: "replace"}
}

// Act is Most as it stands in settings and payloads: create, edit, replace, or "" for any act.
func (r Rule) Act() string { return acts()[r.Most] }

// MostOf is the Most that a name stands for. ok is false for a name that is none, and then it is any act.
func MostOf(name string) (most tools.Act, ok bool) {
	for a, n := range acts() {
		if n == name {
			return a, true
		}
	}
	return tools.Unknown, false
}

// ID names a rule: the same one for the same rule in the same scope.
func (r Rule) ID() string {
	r.Source = ""
	if r.Scope != "session" { // the other scopes are told by Workspace
		r.Scope = ""
	}
	raw, _ := json.Marshal(r) // strings and numbers
	return fmt.Sprintf("r%x", sha256.Sum256(raw))[:11]
}

// String is the rule in a list: the tool, and what its parameters must be.
func (r Rule) String() string {
	out := r.Tool
	if r.Class != "" {
		out += " (" + string(r.Class) + ")"
	}
	for _, p := range slices.Sorted(maps.Keys(r.Params)) {
		switch v := r.Params[p]; {
		case p == commandParam || p == tools.PathArg:
			out += " " + v
		case p == "cwd" && v == ".":
		case p == "cwd":
			out += " in " + v
		default:
			out += fmt.Sprintf(" %s=%s", p, v)
		}
	}
	return out + r.condition()
}

// condition names the files that must stay as they are for the rule to hold.
func (r Rule) condition() string {
	names := scriptNames(r.Scripts)
	switch {
	case names == "":
		return ""
	case strings.Contains(names, ", "):
		return ", while " + names + " are unchanged"
	}
	return ", while " + names + " is unchanged"
}

// FilesText is what a rule of an answer is about if that is files: "edits of all files in this folder". kind is the tool's. "" is a
// rule about something else. The paths are relative to the session's folder, see In.
func (r Rule) FilesText(kind tools.Kind) string {
	if len(r.Params) != 1 || r.Params[commandParam] != "" || r.Params["url"] != "" {
		return ""
	}
	var files string
	for _, pattern := range r.Params {
		files = pattern
	}
	what := "all files "
	switch folder, below := strings.CutSuffix(files, "/**"); {
	case files == "*":
		files = "in this folder"
	case below:
		files = "below " + folder + "/"
	default:
		what = ""
	}
	switch {
	case kind == tools.Delete:
		return "deletion of " + what + files
	case kind == tools.Move:
		return "moves of " + what + files
	case r.Most == tools.Creates && what != "":
		return "new files " + files
	case r.Most == tools.Creates:
		return "creation of " + files
	case r.Most == tools.Replaces:
		return "any change of " + what + files
	}
	return "edits of " + what + files
}

// CallText is the rule without the name of a tool that a person does not know: the command line, or the address.
func (r Rule) CallText() string {
	switch {
	case r.Params[commandParam] != "":
		r.Tool = ""
	case r.Params["url"] != "":
		return "requests to " + r.Params["url"]
	}
	return strings.TrimPrefix(r.String(), " ")
}

// scriptNames are the files of Rule.Scripts, without the hash.
func scriptNames(scripts string) string { return scripts[:max(0, strings.LastIndexByte(scripts, ' '))] }

// name is the rule in a sentence: where it is written, and its id.
func (r *rule) name() string { return cmp.Or(r.Source, "a rule") + " (" + r.id + ")" }

// commandParam is the name of the parameter that is a command line, in every tool that has one.
const commandParam = "command"

// here says that the rule is for sessions in a folder. What forbids is for the folders below too.
func (r Rule) here(cwd string) bool {
	return r.Workspace == "" || r.Workspace == cwd || r.Effect != Allow && strings.HasPrefix(cwd, strings.TrimSuffix(r.Workspace, "/")+"/")
}

// rule is a Rule that is ready to be compared. base is the folder that relative patterns start from, cwd that of the session, which
// relative arguments start from.
type rule struct {
	Rule
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

func compile(r Rule, cwd string) *rule {
	out := &rule{
		Rule: r, id: r.ID(), allows: r.Effect == Allow, base: cmp.Or(r.Workspace, cwd), cwd: cwd, words: wordsOf(r.Params[commandParam]),
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
func (r *rule) ID() string { return r.id }

// match is how sure it is that a pattern covers something. maybe stands for what is known at run time only.
type match uint8

const (
	no match = iota
	maybe
	yes
)

// about reports whether the rule is about a tool.
func (r *rule) about(s tools.Spec) bool {
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
func (r *rule) covers(c *subject, n tools.Need, part part) match {
	switch {
	case r.Turn != 0 && r.Turn != c.Turn,
		r.allows && r.Most != tools.Unknown && (n.Act > r.Most || n.Act == tools.Unknown),
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
func (r *rule) fits(c *subject, n tools.Need, part part, p *param) match {
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
func (r *rule) touches(c *subject, n tools.Need, pattern *glob) match {
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
func (r *rule) folded(s string) string {
	if r.allows {
		return s
	}
	return strings.ToLower(s)
}

// fitsPath compares a path.
func (r *rule) fitsPath(pattern *glob, t target) bool {
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
func (r *rule) fitsCommand(n tools.Need, p part) match {
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
		return &Rule{Effect: Allow, Tool: spec.Name, Params: map[string]string{arg: within}, Most: most},
			&Rule{Effect: Deny, Tool: spec.Name, Params: map[string]string{arg: these}}, edits
	}
	if len(asked) != 1 {
		return nil, nil, edits
	}
	n := asked[0]
	pair := func(allow, deny map[string]string, most tools.Act, profile string) (*Rule, *Rule, []string) {
		return &Rule{Effect: Allow, Tool: spec.Name, Params: allow, Most: most, Profile: profile, Scripts: n.Scripts},
			&Rule{Effect: Deny, Tool: spec.Name, Params: deny}, edits
	}
	switch {
	case n.Act == tools.Runs && n.Shell.Literal && len(n.Shell.Calls) == 1 && n.Arg != "":
		argv, at := quoted(n.Shell.Calls[0]), literal(n.Place.Path())
		return pair(map[string]string{commandParam: argv, n.Arg: at}, map[string]string{commandParam: argv}, 0, n.Profile.String())
	case n.Act == tools.Reaches && strings.HasPrefix(spec.Source, "mcp:"): // all calls of the tool
		return pair(nil, nil, 0, "")
	case n.Act == tools.Runs && strings.HasPrefix(spec.Source, "plugin:"):
		return pair(nil, nil, 0, n.Profile.String())
	case n.Act == tools.Reaches && n.Host != "":
		if u, ok := (&subject{Call: c}).text("url"); ok {
			if scheme, _, ok := strings.Cut(u, "://"); ok {
				at := map[string]string{"url": literal(strings.ToLower(scheme)+"://"+n.Host) + "/**"}
				return pair(at, at, 0, "")
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
	at, all := literal(folder.Path())+"/", "**"
	var names []string
	for _, n := range needs {
		name, err := filepath.Rel(folder.Path(), n.Place.Path())
		if err != nil {
			return "", "", 0
		}
		if names = append(names, literal(filepath.ToSlash(name))); folder.Rel() == "." {
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
	if exact == nil || exact.Params[commandParam] == "" {
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
		wide.Params[commandParam] = quoted(n.Shell.Calls[0][:1]) + " **"
		if compile(wide, "").fitsCommand(n, partsOf(n)[0]) != yes {
			return nil
		}
		return &wide
	}
	return nil
}

// literal is a glob that fits a text alone.
func literal(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, ",", `\,`).Replace(s)
}

// In is the rule with its paths relative to a folder that they lie in, as a person reads and keeps it.
func (r Rule) In(folder string) Rule {
	params := map[string]string{}
	for p, v := range r.Params {
		if params[p] = v; p == commandParam {
			continue
		}
		if rest, ok := strings.CutPrefix(v, literal(folder)+"/"); ok {
			params[p] = rest
		} else if v == literal(folder) {
			params[p] = "."
		}
	}
	r.Params = params
	return r
}
