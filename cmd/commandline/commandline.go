// Package commandline parses the arguments of a program into a struct, whose tags declare commands,
// flags and arguments, and writes their help.
//
// A field with the tag cmd is a command, or a group of commands where its struct has such fields.
// One with the tag arg is an argument, any other a flag. Further tags: help, name, short, default,
// env, enum, placeholder, optional, hidden, and type, which is "path" or "existingdir".
package commandline

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"tandem/tools/words"
)

// Program is a program with its command line.
type Program struct {
	Name string
	// Version is printed for --version and -V.
	Version string
	// About is the text below its usage.
	About string
	// Columns is the width of its help.
	Columns int
	// Getenv looks up the variables that set flags, as os.LookupEnv does.
	Getenv func(name string) (string, bool)
}

// Parsed is what a command line asks for.
type Parsed struct {
	// Command is a pointer to the field of the command. It is nil if help or the version is asked for.
	Command any
	// Text is the help or the version that is asked for, or "".
	Text string
}

// helper is implemented by commands whose help has more than a line.
type helper interface{ Help() string }

// node is the program, a group of commands, or a command.
type node struct {
	name     string
	about    string
	detail   string
	parent   *node // nil for the program
	value    reflect.Value
	flags    []*flag
	args     []*argument
	commands []*node
}

type flag struct {
	value
	short       string
	placeholder string
	hidden      bool
	env         string
}

type argument struct {
	value
	optional bool
}

// value is a field that the command line sets.
type value struct {
	name     string
	about    string
	field    reflect.Value
	kind     string // of a path
	standard string // the default
	enum     []string
	set      bool
}

// Parse fills the struct that into points to. Arguments that do not fit are an error.
func (p Program) Parse(into any, args []string) (Parsed, error) {
	root := newNode(nil, p.Name, reflect.ValueOf(into).Elem())
	s := scan{at: root, args: args}
	err := s.run()
	switch {
	case s.help:
		return Parsed{Text: p.help(s.at)}, nil
	case s.version:
		return Parsed{Text: p.Name + " " + p.Version + "\n"}, nil
	}
	if err == nil {
		err = s.at.complete(p.Getenv)
	}
	if err != nil {
		return Parsed{}, err
	}
	return Parsed{Command: s.at.value.Addr().Interface()}, nil
}

// Paths are the commands and groups of commands of a struct, each with the names that lead to it.
func Paths(of any) [][]string {
	var paths [][]string
	var visit func(n *node)
	visit = func(n *node) {
		for _, c := range n.commands {
			paths = append(paths, c.path())
			visit(c)
		}
	}
	visit(newNode(nil, "", reflect.ValueOf(of).Elem()))
	return paths
}

func newNode(parent *node, name string, v reflect.Value) *node {
	n := &node{name: name, parent: parent, value: v}
	if h, ok := v.Addr().Interface().(helper); ok {
		n.detail = strings.TrimSpace(h.Help())
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := f.Tag
		is := func(name string) bool { _, ok := tag.Lookup(name); return ok }
		if !f.IsExported() {
			continue
		}
		named := value{
			name: cmp.Or(tag.Get("name"), kebab(f.Name)), about: tag.Get("help"), field: v.Field(i), kind: tag.Get("type"),
			standard: tag.Get("default"),
		}
		if is("enum") {
			named.enum = strings.Split(tag.Get("enum"), ",")
		}
		switch {
		case is("cmd"):
			c := newNode(n, named.name, v.Field(i))
			c.about = named.about
			n.commands = append(n.commands, c)
		case is("arg"):
			n.args = append(n.args, &argument{named, is("optional")})
		default:
			n.flags = append(n.flags, &flag{named, tag.Get("short"), tag.Get("placeholder"), is("hidden"), tag.Get("env")})
		}
	}
	return n
}

// kebab writes MaxSize as max-size.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// path is the names that lead to a command, without the program's.
func (n *node) path() []string {
	if n.parent == nil {
		return nil
	}
	return append(n.parent.path(), n.name)
}

// lineage is n and what it lies in, the program first.
func (n *node) lineage() []*node {
	if n == nil {
		return nil
	}
	return append(n.parent.lineage(), n)
}

// known are the flags that n takes, the program's first.
func (n *node) known() (flags []*flag) {
	for _, above := range n.lineage() {
		flags = append(flags, above.flags...)
	}
	return flags
}

// complete sets the flags and arguments that the command line did not, and checks all of them.
func (n *node) complete(getenv func(string) (string, bool)) error {
	if len(n.commands) > 0 {
		return fmt.Errorf("expected one of %s", quoted(names(n.commands), 5))
	}
	for _, a := range n.args {
		if !a.set && !a.optional {
			return fmt.Errorf("expected %q", a.usage())
		}
		if err := a.complete(a.standard); err != nil {
			return fmt.Errorf("%s: %w", a.usage(), err)
		}
	}
	for _, f := range n.known() {
		standard := f.standard
		if f.env != "" {
			if v, ok := getenv(f.env); ok {
				standard = v
			}
		}
		if err := f.complete(standard); err != nil {
			return fmt.Errorf("--%s: %w", f.name, err)
		}
		if len(f.enum) > 0 && !slices.Contains(f.enum, f.field.String()) {
			allowed := slices.DeleteFunc(slices.Clone(f.enum), func(v string) bool { return v == "" }) // it means unset
			return fmt.Errorf(`--%s must be one of %s but got %q`, f.name, quoted(allowed, len(allowed)), f.field.String())
		}
	}
	return nil
}

func (v *value) complete(standard string) error {
	if v.set || standard == "" {
		return nil
	}
	return v.fill(standard)
}

// scan reads arguments one by one.
type scan struct {
	at   *node
	args []string // those that are left
	help bool

	version bool
}

func (s *scan) run() error {
	var first error
	for plain := false; len(s.args) > 0; {
		arg := s.args[0]
		s.args = s.args[1:]
		var err error
		switch {
		case plain || len(arg) < 2 || arg[0] != '-':
			err = s.positional(arg)
		case arg == "--":
			plain = true
		case strings.HasPrefix(arg, "--"):
			name, value, given := strings.Cut(arg[2:], "=")
			err = s.long(name, value, given)
		default:
			err = s.short(arg[1:])
		}
		if first == nil {
			first = err // a later argument may ask for help
		}
	}
	return first
}

func (s *scan) positional(arg string) error {
	if len(s.at.commands) > 0 {
		for _, c := range s.at.commands {
			if c.name == arg {
				s.at = c
				return nil
			}
		}
		return fmt.Errorf("unexpected argument %s%s", arg, similar(arg, names(s.at.commands)))
	}
	for _, a := range s.at.args {
		if !a.set || a.field.Kind() == reflect.Slice {
			if err := a.fill(arg); err != nil {
				return fmt.Errorf("%s: %w", a.usage(), err)
			}
			return nil
		}
	}
	return fmt.Errorf("unexpected argument %s", arg)
}

func (s *scan) long(name, value string, given bool) error {
	switch name {
	case "help":
		s.help = true
		return nil
	case "version":
		s.version = true
		return nil
	}
	candidates := []string{"--help", "--version"}
	for _, f := range s.at.known() {
		if f.name == name {
			return s.fill(f, value, given)
		}
		if !f.hidden {
			candidates = append(candidates, "--"+f.name)
		}
	}
	return fmt.Errorf("unknown flag --%s%s", name, similar("--"+name, candidates))
}

// short reads letters, of which the last may take a value.
func (s *scan) short(letters string) error {
	for i, r := range letters {
		letter := string(r)
		switch letter {
		case "h":
			s.help = true
			continue
		case "V":
			s.version = true
			continue
		}
		at := slices.IndexFunc(s.at.known(), func(f *flag) bool { return f.short == letter })
		if at < 0 {
			return fmt.Errorf("unknown flag -%s", letter)
		}
		f, rest := s.at.known()[at], letters[i+len(letter):]
		if f.boolean() {
			if err := s.fill(f, "", false); err != nil {
				return err
			}
			continue
		}
		return s.fill(f, strings.TrimPrefix(rest, "="), rest != "")
	}
	return nil
}

// fill sets a flag by its value, which was given with it or is the next argument.
func (s *scan) fill(f *flag, value string, given bool) error {
	switch {
	case given:
	case f.boolean():
		value = "true"
	case len(s.args) == 0 || strings.HasPrefix(s.args[0], "-"):
		return fmt.Errorf("--%s: expected a value", f.name)
	default:
		value = s.args[0]
		s.args = s.args[1:]
	}
	if err := f.fill(value); err != nil {
		return fmt.Errorf("--%s: %w", f.name, err)
	}
	return nil
}

func names(nodes []*node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.name)
	}
	return out
}

// quoted lists names, of which it leaves out those after the first few.
func quoted(names []string, few int) string {
	var out []string
	for i, n := range names {
		if i == few {
			out = append(out, "...")
			break
		}
		out = append(out, fmt.Sprintf("%q", n))
	}
	return strings.Join(out, ", ")
}

// similar suggests the candidates that a name may be a slip of.
func similar(name string, candidates []string) string {
	const slips = 2
	var near []string
	for _, c := range candidates {
		if strings.HasPrefix(c, name) || words.Distance(c, name) <= slips {
			near = append(near, c)
		}
	}
	switch len(near) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(", did you mean %q?", near[0])
	}
	return ", did you mean one of " + quoted(near, len(near)) + "?"
}
