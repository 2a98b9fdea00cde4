package prompt

import (
	"fmt"
	"net/url"
	"strings"
)

// Editor is what a person has in front of them. All paths are absolute.
type Editor struct {
	// Active is the document with the cursor, "" where there is none. Line and Column count from 1; 0 is unknown.
	Active       string
	Line, Column int
	// Selection is the selected text of Active, which stands in the lines From to To.
	Selection string
	From, To  int
	// Open are the other documents that can be seen or have been used, the latest first.
	Open []string
}

// What of it a model is told at most: bytes of the selection, and number of documents.
const (
	maxSelection = 8 << 10
	maxOpen      = 20
)

// Render gives what is to be said of it beside a message, "" for nothing.
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
		lines = append(lines, "In front of the person: "+shown(root, e.Active)+at)
		if strings.TrimSpace(e.Selection) != "" {
			path := shown(root, e.Active)
			lines = append(lines, fmt.Sprintf("<selection path=%q lines=\"%d-%d\">\n%s\n</selection>", path, e.From, e.To,
				clip(strings.TrimSuffix(e.Selection, "\n"), maxSelection, "read "+path+" for the rest")))
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
	return "<editor>\n" + strings.Join(lines, "\n") + "\n</editor>"
}

// Paths gives the absolute paths of the files that a message is about.
func Paths(blocks []Block, e Editor) []string {
	var out []string
	for _, b := range blocks {
		if u, err := url.Parse(b.URI); err == nil && u.Scheme == "file" {
			out = append(out, u.Path)
		}
	}
	if e.Active != "" {
		out = append(out, e.Active)
	}
	return out
}
