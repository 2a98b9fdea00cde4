package prompt

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/sandbox/lazy"
)

// Editor is the context of a message in the editor. All paths are absolute.
type Editor struct {
	// Active is the document with the cursor, "" where there is none. Line and Column count from 1; 0 is unknown.
	Active       string
	Line, Column int
	// Selection is the selected text of Active, which stands in the lines From to To; it may be empty although lines are.
	Selection string
	From, To  int
	// Top and Bottom are the lines of Active that can be seen; 0 is unknown.
	Top, Bottom int
	// Open are the other documents that can be seen or have been used, the latest first.
	Open []string
}

// MaxSelection is the limit in bytes of a selection for the model.
const MaxSelection = 8 << 10

// maxOpen limits the further documents for the model.
const maxOpen = 20

// Render gives the text to append to a message, or "".
func (e Editor) Render(root string) string {
	var lines []string
	if e.Active != "" {
		at := ""
		if e.Line > 0 {
			at = fmt.Sprintf(", cursor at line %d", e.Line)
			if e.Column > 0 {
				at += fmt.Sprintf(", column %d", e.Column)
			}
		}
		if e.Top > 0 {
			at += ", lines " + span(e.Top, e.Bottom) + " can be seen"
		}
		if e.From > 0 && strings.TrimSpace(e.Selection) == "" {
			at += ", lines " + span(e.From, e.To) + " are selected"
		}
		lines = append(lines, "In front of the person: "+shown(root, e.Active)+at)
		if strings.TrimSpace(e.Selection) != "" {
			path := shown(root, e.Active)
			lines = append(lines, between(selectionMark, fmt.Sprintf(" path=%q lines=%q", path, span(e.From, e.To)),
				clip(strings.TrimSuffix(e.Selection, "\n"), MaxSelection, "read "+path+" for the rest")))
		}
	}
	var open []string
	for _, p := range e.Open {
		if p != e.Active {
			open = append(open, shown(root, p))
		}
	}
	if n := len(open) - maxOpen; n > 0 {
		open = append(open[:maxOpen], fmt.Sprintf("and %d more", n))
	}
	if len(open) > 0 {
		lines = append(lines, "Also open: "+strings.Join(open, ", "))
	}
	if lines == nil {
		return ""
	}
	return "<" + editorMark + ">\n" + strings.Join(lines, "\n") + "\n</" + editorMark + ">"
}

func span(from, to int) string {
	if from == to {
		return strconv.Itoa(from)
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// Private says that a path is of a kind that holds keys or passwords: a model is told of it only when a person names
// it.
func Private(path string) bool {
	path = strings.ToLower(filepath.ToSlash(path))
	for folder := range strings.SplitSeq(filepath.Dir(path), "/") {
		if slices.Contains([]string{".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".git"}, folder) {
			return true
		}
	}
	name := filepath.Base(path)
	switch filepath.Ext(name) {
	case ".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks":
		return true
	case ".example", ".sample", ".template", ".pub":
		return false
	}
	for _, p := range []string{".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"} {
		if name == p || strings.HasPrefix(name, p+".") {
			return true
		}
	}
	switch stem, ext, _ := strings.Cut(name, "."); ext {
	case "", "json", "yaml", "yml", "toml", "txt", "ini":
		if stem == "credentials" || stem == "secrets" || stem == "secret" {
			return true
		}
	}
	return slices.Contains([]string{
		".envrc", ".netrc", "_netrc", ".git-credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".htpasswd",
	}, name)
}

var mention = lazy.Regexp{Text: `(?:^|[\s("'` + "`" + `])@([^\s"'` + "`" + `]+)`}

// Mentions are the words that a text names with @, at most 50, without punctuation behind them.
func Mentions(text string) []string {
	const most = 50
	var out []string
	for _, m := range mention.Get().FindAllStringSubmatch(text, most) {
		out = append(out, strings.TrimRight(m[1], ".,;:!?)]}"))
	}
	return out
}

// mentioned gives the paths that a text names with @. Whether there is anything of that name is not looked at.
func mentioned(root, text string) []string {
	var out []string
	for _, path := range Mentions(text) {
		if filepath.IsLocal(path) {
			out = append(out, folderOr(path, filepath.Join(root, path)))
		} else if filepath.IsAbs(path) {
			out = append(out, folderOr(path, filepath.Clean(path)))
		}
	}
	return out
}

// folderOr gives the clean path, or something in it where it was written as a folder.
func folderOr(written, clean string) string {
	if strings.HasSuffix(written, "/") {
		return filepath.Join(clean, RulesFile)
	}
	return clean
}

// Paths gives the absolute paths of the files that a message is about: those that are attached or named with @, and the
// one that is in front of the person.
func Paths(root string, blocks []Block, e Editor) []string {
	var out []string
	for _, b := range blocks {
		if b.Type == "text" {
			out = append(out, mentioned(root, b.Text)...)
		}
		if u, err := url.Parse(b.URI); err == nil && u.Scheme == "file" {
			out = append(out, u.Path)
		}
	}
	if e.Active != "" {
		out = append(out, e.Active)
	}
	return out
}
