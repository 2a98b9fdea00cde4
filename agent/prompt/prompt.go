// Package prompt writes the texts for a model: the system prompt, and a user's message with its attachments.
package prompt

import (
	"cmp"
	_ "embed"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/sandbox/lazy"
)

//go:embed system.md
var systemText string

// System has the variables of the system prompt. It is made once for a session: the common prefix of all requests can
// be cached.
type System struct {
	// Root is the base of relative paths, More are further folders of the workspace.
	Root string
	More []string
	Date time.Time
	// Platform is the operating system and the machine, such as linux/amd64.
	Platform string
	// Tools are the names of the tools on offer.
	Tools []string
	// Rules are the person's own and those of the workspace's folders, the nearest last.
	Rules []Rule
	// Skills are instructions that the model reads when it needs them.
	Skills []Skill
}

// Skill is a file with instructions for a kind of work.
type Skill struct {
	Name, Description, Path string
	// Shared says that it comes with the workspace.
	Shared bool
}

// BeforeBash names the tools on offer that do what a model would else do with bash, which is on offer too.
func (s System) BeforeBash() string {
	if !slices.Contains(s.Tools, "bash") {
		return ""
	}
	var names []string
	for _, t := range []string{"read_file", "list_files", "glob", "grep", "edit_file", "write_file"} {
		if slices.Contains(s.Tools, t) {
			names = append(names, t)
		}
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// Render gives the system prompt.
func (s System) Render() string {
	var more, instead, rules string
	for _, folder := range s.More {
		more += "\nAlso part of it: " + folder
	}
	if names := s.BeforeBash(); names != "" {
		instead = ": " + names + " before bash"
	}
	for _, r := range s.Rules {
		rules += "\n\n" + r.String()
	}
	if len(s.Skills) > 0 {
		rules += "\n\nSkills: before work that one of these is for, read its file with read_file and go by it. It allows nothing that is not allowed without it."
		for _, k := range s.Skills {
			from := ""
			if k.Shared {
				from = ", of this workspace"
			}
			rules += fmt.Sprintf("\n- %s (%s%s): %s", k.Name, s.within(k.Path), from, foreign(k.Description))
		}
	}
	return strings.NewReplacer(
		"{{root}}", s.Root, "{{more}}", more, "{{date}}", s.Date.Format("Mon 2006-01-02"), "{{platform}}", s.Platform,
		"{{instead of bash}}", instead, "{{rules}}", rules,
	).Replace(systemText)
}

// within is a path as the model is to name it.
func (s System) within(path string) string {
	if rel, err := filepath.Rel(s.Root, path); err == nil && filepath.IsLocal(rel) {
		return name(filepath.ToSlash(rel))
	}
	return name(path)
}

// Block is one part of a user's message; the types are those of the Agent Client Protocol.
type Block struct {
	// Type is "text", "resource_link", "resource", "image" or "audio".
	Type string
	// Text is the text of a text block or what a resource holds.
	Text string
	// URI names a resource; a fragment such as #L10-L12 says which lines of it are meant.
	URI      string
	Name     string
	MIMEType string
	// Data is an image.
	Data []byte
}

const maxImage = 5 << 20

// Pictures gives the blocks that are images which a model can be shown.
func Pictures(blocks []Block) []Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b Block) bool { return !b.picture() })
}

func (b Block) picture() bool {
	return b.Type == "image" && len(b.Data) > 0 && len(b.Data) <= maxImage &&
		slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.MIMEType)
}

// Unseen names the blocks that no model can be given.
func Unseen(blocks []Block) (names []string) {
	for _, b := range blocks {
		if b.unseen() {
			names = append(names, b.called())
		}
	}
	return names
}

func (b Block) unseen() bool {
	switch b.Type {
	case "text", "resource_link":
		return false
	case "resource":
		return b.Text == "" && !strings.HasPrefix(b.MIMEType, "text/") && b.MIMEType != ""
	}
	return !b.picture()
}

func (b Block) called() string {
	return strings.TrimSpace(name(cmp.Or(b.MIMEType, b.Type) + " " + b.Name))
}

// User gives a person's message: texts as they are, attached text between marks, links as @path, and a remark in place
// of what cannot be given to a model.
func User(root string, blocks []Block) string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.unseen():
			parts = append(parts, fmt.Sprintf("(Attached, but it cannot be shown to you: %s)", b.called()))
		case b.Type == "text":
			parts = append(parts, b.Text)
		case b.Type == "resource_link":
			where, lines := place(root, b.URI)
			if lines != "" {
				lines = " (lines " + lines + ")"
			}
			if where != name(b.URI) {
				where = "@" + where
			}
			parts = append(parts, fmt.Sprintf("Attached: %s%s", where, lines))
		case b.Type == "resource":
			where, lines := place(root, b.URI)
			if lines != "" {
				lines = fmt.Sprintf(" lines=%q", lines)
			}
			text := strings.TrimSuffix(b.Text, "\n")
			parts = append(parts, between(attachedMark, fmt.Sprintf(" path=%q%s", where, lines), text))
		default:
			parts = append(parts, strings.TrimSpace("(Attached image: "+name(b.Name))+")")
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" }), "\n\n")
}

// Shown gives a person's message as a transcript has it: what was typed, and the names of what was attached.
func Shown(root string, blocks []Block) string {
	var parts, attached []string
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "resource_link", "resource":
			where, lines := place(root, b.URI)
			if lines != "" {
				where += ":" + lines
			}
			attached = append(attached, where)
		default:
			attached = append(attached, b.called())
		}
	}
	if len(attached) > 0 {
		parts = append(parts, "Attached: "+strings.Join(attached, ", "))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" }), "\n\n")
}

var lineRange = lazy.Regexp{Text: `^L?(\d+)(?:[-:]L?(\d+))?$`}

// place gives the path that a URI names, relative to root where it lies below, and the lines that its fragment names.
func place(root, uri string) (path, lines string) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return name(uri), ""
	}
	if m := lineRange.Get().FindStringSubmatch(u.Fragment); m != nil {
		lines = m[1]
		if m[2] != "" && m[2] != m[1] {
			lines += "-" + m[2]
		}
	}
	return shown(root, u.Path), lines
}

// shown gives a path as a model is to see it: relative to root where it lies below, in one line.
func shown(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return name(path)
}
