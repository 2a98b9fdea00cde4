package git

import (
	"path"
	"slices"
	"strings"

	"tandem/sandbox/lazy"
)

// Setting is one entry of a configuration. Key is its section and its name, joined by a dot, in
// lower case and without what stands between the two; or it is a line that can be read in several
// ways.
type Setting struct {
	Key, Value string
	plain      bool
}

// runs are the keys of a repository's configuration whose value git executes, or that make it read
// more configuration, each as section.key; the names between the two do not matter.
var runs = lazy.Regexp{Text: `^(core\.(fsmonitor|hookspath|sshcommand|pager|editor|askpass|gitproxy|alternaterefscommand)|` +
	`sequence\.editor|pager\..*|diff\.(external|command|textconv)|merge\.driver|(merge|diff)tool\.(cmd|path)|` +
	`filter\.(clean|smudge|process)|credential\.helper|gpg\.program|remote\.(uploadpack|receivepack|vcs)|` +
	`uploadpack\.packobjectshook|includeif?\.path|include\.path|interactive\.difffilter|(browser|man)\.(cmd|path)|` +
	`trailer\.(command|cmd)|protocol\.allow|sendemail\..*|ssh\.variant|hook\..*|tar\.command|gui\..*|guitool\..*|instaweb\..*|` +
	`submodule\.update|alias\..*|url\..*|init\.templatedir|credential\.usehttppath|options\.strategy)$`}

var keyName = lazy.Regexp{Text: `^[a-z][-a-z0-9]*$`}

// Settings are the entries of a configuration that execute something. What may be read in two ways
// counts as one: a line that cannot be parsed, and one that goes on in the next.
func Settings(text string) []Setting {
	return slices.DeleteFunc(settingsIn(text), func(s Setting) bool { return s.plain && (!runs.Get().MatchString(s.Key) || s.harmless()) })
}

// Todo are the lines of the todo list of a rebase that execute something.
func Todo(text string) (found []Setting) {
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.FieldsFunc(line, func(r rune) bool { return r <= ' ' })
		if len(words) > 0 && (words[0] == "exec" || words[0] == "x") {
			found = append(found, Setting{Key: "exec", Value: line})
		}
	}
	return found
}

// Strategy is the name of a strategy of merging, if git takes it as a path: it runs git-merge-NAME,
// and looks for that in its own folders unless there is a slash in it.
func Strategy(name string) (found []Setting) {
	if strings.Contains(name, "/") {
		found = []Setting{{Key: "strategy", Value: name}}
	}
	return found
}

// Value is that of the last entry with a key; "" is none.
func Value(text, key string) (value string) {
	for _, s := range settingsIn(text) {
		if s.plain && s.Key == key {
			value = unquoted(s.Value)
		}
	}
	return value
}

// settingsIn are all of a configuration, and the lines that are none.
func settingsIn(text string) (found []Setting) {
	section := ""
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, `\`) {
			found = append(found, Setting{Key: line})
			continue
		}
		if strings.HasPrefix(line, "[") {
			name, rest, ok := sectionOf(line)
			if !ok {
				found = append(found, Setting{Key: line})
				continue
			}
			section, line = name, rest
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if keyName.Get().MatchString(key) {
			found = append(found, Setting{section + "." + key, value, true})
		} else {
			found = append(found, Setting{Key: line})
		}
	}
	return found
}

// harmless says by the value that an entry executes nothing after all.
func (s Setting) harmless() bool {
	switch s.Key {
	case "core.fsmonitor":
		return slices.Contains([]string{"true", "false", "0", "1", "yes", "no", "on", "off"}, strings.ToLower(s.Value))
	case "submodule.update":
		return !strings.ContainsAny(s.Value, `!"\`)
	case "options.strategy": // of sequencer/opts
		return len(Strategy(s.Value)) == 0
	}
	return strings.HasPrefix(s.Key, "alias.") && !strings.ContainsAny(s.Value, `!"\`)
}

// Role is what the path that a setting names is to git.
type Role uint8

// The roles.
const (
	Hooks   Role = iota + 1 // a folder of hooks
	Include                 // a further configuration
	Program                 // a file that is executed
)

// Named is a path that a setting names.
type Named struct {
	Path string
	Role Role
	// Known says of a folder of hooks that it has other files too: it is the topmost folder of a
	// work tree.
	Known bool
}

// NamedBy are the paths that the settings of a configuration name. config is its path, trees are
// the topmost folders of its work trees, home the home folder.
func NamedBy(text, config, home string, trees []string) (found []Named) {
	for _, s := range Settings(text) {
		role, names := s.names()
		starts := trees
		if role == Include {
			starts = []string{path.Dir(config)}
		}
		for _, name := range names {
			if below, ok := strings.CutPrefix(name, "~/"); ok && home != "" {
				name = path.Join(home, below)
			}
			for _, start := range starts {
				n := Named{From(start, name), role, false}
				n.Known = role == Hooks && slices.Contains(trees, n.Path)
				if !slices.Contains(found, n) {
					found = append(found, n)
				}
			}
		}
	}
	return found
}

// From is a path that starts from a folder unless it is absolute.
func From(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// names are the paths that a setting names, as they are written. That of Include starts from the
// folder of the configuration, others from the topmost folder of the work tree. What is run only by
// its own name, an alias, names none.
func (s Setting) names() (Role, []string) {
	value := unquoted(s.Value)
	switch {
	case s.Key == "core.hookspath":
		return Hooks, []string{value}
	case s.Key == "include.path", s.Key == "includeif.path":
		return Include, []string{value}
	case strings.HasPrefix(s.Key, "alias."), strings.HasPrefix(s.Key, "url."):
		return Program, nil
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t;|&()<>'`$!", r) })
	return Program, slices.DeleteFunc(words, func(w string) bool { return !strings.Contains(w, "/") })
}

// escapes are what git writes behind a backslash in a value, beside characters that stand for
// themselves.
var escapes = strings.NewReplacer("n", "\n", "t", "\t", "b", "\b")

// unquoted is a value without its quotes, its escapes and the comment behind it.
func unquoted(value string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && i+1 < len(value):
			i++
			b.WriteString(escapes.Replace(value[i : i+1]))
		case c == '"':
			quoted = !quoted
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// sectionOf parses the head of a section, and gives its name without what stands in quotes or
// behind a dot, and what follows. A section without a name is none.
func sectionOf(line string) (section, rest string, ok bool) {
	quoted := false
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			section = strings.ToLower(line[1:i])
			if at := strings.IndexAny(section, " \t\"."); at >= 0 {
				section = section[:at]
			}
			return section, strings.TrimSpace(line[i+1:]), section != ""
		}
	}
	return "", "", false
}
