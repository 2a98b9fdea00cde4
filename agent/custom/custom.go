// Package custom reads what people write for their agent in Markdown files with front matter: commands, which are messages with a name, and
// skills, which are instructions for a kind of work. Front matter is YAML between two lines of three hyphens; members that are not named
// here, such as those of other agents, say nothing.
package custom

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"tandem/filetime/text/show"
	"tandem/sandbox/lazy"
	"tandem/tools/gate"
)

// Source is a folder of commands or of skills.
type Source struct {
	Dir string
	// Shared says that it lies in a folder of the workspace, whose author may be anybody.
	Shared bool
	// List gives the names in it, and Read the text of a file by its path in it. An error that is
	// fs.ErrNotExist says that there is none.
	List func() ([]string, error)
	Read func(name string) (string, error)
}

// Folder is a Source of the files in a folder, which fsys shows.
func Folder(dir string, fsys fs.FS) Source {
	return Source{
		Dir: dir,
		List: func() (names []string, err error) {
			entries, err := fs.ReadDir(fsys, ".")
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return names, err
		},
		Read: func(name string) (string, error) {
			raw, err := fs.ReadFile(fsys, filepath.ToSlash(name))
			return string(raw), err
		},
	}
}

const (
	maxFile  = 64 << 10 // bytes
	maxFiles = 100      // of a folder
	maxLine  = 200      // characters of a description
)

// Command is a message that a person sends by /NAME.
type Command struct {
	Name        string
	Description string    // in one line, may be empty
	Hint        string    // of its arguments, in one line, may be empty
	Model       string    // that answers it, "" for the session's
	Mode        gate.Mode // its turn may do no more than this, "" for as much as the session
	Path        string
	Shared      bool
	body        string
}

// front is the front matter of both.
type front struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Hint        any    `yaml:"argument-hint"`
	Model       string `yaml:"model"`
	Mode        string `yaml:"mode"`
}

var (
	names  = lazy.Regexp{Text: `^[A-Za-z0-9_-]{1,64}$`}
	places = lazy.Regexp{Text: `\$(ARGUMENTS\b|[1-9])`}
)

// Commands gives the commands of the sources by name, those of an earlier source in the place of a later one's. wrong says, in a sentence
// each, which files hold none and why.
func Commands(sources ...Source) (found []Command, wrong []string) {
	for _, s := range sources {
		entries, bad := s.list()
		wrong = append(wrong, bad...)
		for _, entry := range entries {
			base, is := strings.CutSuffix(entry, ".md")
			if !is || slices.ContainsFunc(found, func(c Command) bool { return c.Name == base }) {
				continue
			}
			c, err := s.command(base, entry)
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("The command %s cannot be used: %s.", filepath.Join(s.Dir, entry), show.Visible(err.Error(), false)))
				continue
			}
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return found, wrong
}

func (s Source) command(base, entry string) (c Command, err error) {
	if !names.Get().MatchString(base) {
		return c, errors.New("its name has other characters than letters, digits, - and _, or more than 64")
	}
	f, body, err := s.parse(entry)
	if err != nil {
		return c, err
	}
	c = Command{
		Name: base, Description: line(f.Description), Hint: line(hint(f.Hint)), Model: strings.TrimSpace(f.Model), Mode: gate.Mode(f.Mode),
		Path: filepath.Join(s.Dir, entry), Shared: s.Shared, body: body,
	}
	if c.Mode != "" && !c.Mode.Known() {
		return c, fmt.Errorf("there is no mode %q", f.Mode)
	}
	if s.Shared && strings.HasPrefix(c.Model, "script") {
		return c, errors.New("what comes with a workspace names no script as its model: that would make calls which nobody has asked for")
	}
	if strings.TrimSpace(body) == "" {
		return c, errors.New("it says nothing")
	}
	return c, nil
}

// list gives the names in the folder, which need not be there.
func (s Source) list() (entries, wrong []string) {
	entries, err := s.List()
	slices.Sort(entries)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, []string{fmt.Sprintf("%s cannot be read: %v.", s.Dir, err)}
	case len(entries) > maxFiles:
		return entries[:maxFiles], []string{fmt.Sprintf("%s has more than %d entries; the rest is passed over.", s.Dir, maxFiles)}
	}
	return entries, nil
}

// parse reads a file.
func (s Source) parse(entry string) (f front, body string, err error) {
	body, err = s.Read(entry)
	switch {
	case err != nil:
		return f, "", err
	case len(body) > maxFile:
		return f, "", fmt.Errorf("it has more than %d bytes", maxFile)
	case !utf8.ValidString(body):
		return f, "", errors.New("it is no text")
	}
	lines := strings.Split(strings.TrimPrefix(strings.ReplaceAll(body, "\r\n", "\n"), "\ufeff"), "\n")
	rule := func(line string) bool { return strings.TrimRight(line, " \t") == "---" }
	end := slices.IndexFunc(lines[1:], rule)
	if !rule(lines[0]) || end < 0 {
		return f, strings.Join(lines, "\n"), nil
	}
	if err := yaml.Unmarshal([]byte(strings.Join(lines[1:end+1], "\n")), &f); err != nil {
		return f, "", fmt.Errorf("its front matter is no YAML that can be used: %w", err)
	}
	return f, strings.Join(lines[end+2:], "\n"), nil
}

// hint is a hint of arguments, which in brackets is a list in YAML.
func hint(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = fmt.Sprint(w)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// line is a text in one line that is not too long.
func line(s string) string {
	s = show.Visible(strings.Join(strings.Fields(s), " "), false)
	if r := []rune(s); len(r) > maxLine {
		s = string(r[:maxLine-1]) + "…"
	}
	return s
}

// Message is what the command says with arguments: $ARGUMENTS is all of them, $1 to $9 are single ones, with quotes around one that has
// blanks. Where the command names none of them, they stand below it.
func (c Command) Message(arguments string) string {
	arguments = strings.TrimSpace(arguments)
	words, named := split(arguments), false
	out := places.Get().ReplaceAllStringFunc(c.body, func(place string) string {
		named = true
		if place == "$ARGUMENTS" {
			return arguments
		}
		if n := int(place[1] - '1'); n < len(words) {
			return words[n]
		}
		return ""
	})
	out = strings.TrimSpace(out)
	if !named && arguments != "" {
		out += "\n\n" + arguments
	}
	return out
}

// split parts arguments at blanks. Quotes hold one together; one that is not closed goes to the end.
func split(s string) (words []string) {
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case (r == '"' || r == '\'') && word.Len() == 0: // within a word it is an apostrophe
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

// Skill is a folder with instructions for a kind of work, in its file SKILL.md. The model knows its name and description, and reads the rest
// when it needs it.
type Skill struct {
	Name        string
	Description string // in one line
	Path        string // of SKILL.md
	Shared      bool
}

// SkillFile is the name of the file that says what a skill is.
const SkillFile = "SKILL.md"

// maxSkills is how many the model is told of.
const maxSkills = 30

// Skills gives the skills of the sources by name, as Commands does.
func Skills(sources ...Source) (found []Skill, wrong []string) {
	for _, s := range sources {
		entries, bad := s.list()
		wrong = append(wrong, bad...)
		for _, entry := range entries {
			path := filepath.Join(entry, SkillFile)
			if slices.ContainsFunc(found, func(k Skill) bool { return k.Name == entry }) {
				continue
			}
			f, _, err := s.parse(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			switch {
			case err != nil:
			case !names.Get().MatchString(entry):
				err = errors.New("the name of its folder has other characters than letters, digits, - and _, or more than 64")
			case f.Name != "" && f.Name != entry:
				err = fmt.Errorf("its name is %q, and that of its folder %q", f.Name, entry)
			case strings.TrimSpace(f.Description) == "":
				err = errors.New("its front matter has no description, by which the model would know when to read it")
			case len(found) == maxSkills:
				err = fmt.Errorf("there are %d already", maxSkills)
			}
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("The skill %s cannot be used: %s.", filepath.Join(s.Dir, path), show.Visible(err.Error(), false)))
				continue
			}
			found = append(found, Skill{Name: entry, Description: line(f.Description), Path: filepath.Join(s.Dir, path), Shared: s.Shared})
		}
	}
	slices.SortFunc(found, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return found, wrong
}
