package tools

import (
	"fmt"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text/show"
)

// Effects are what a command has changed in files. Landed are those of them that can be undone: they are the files of Change, which is
// in the records and in review as an edit is.
type Effects struct {
	Change filetime.Change
	Landed filetime.Landed
	// Awaited are paths of open documents whose change can be undone once the editor has read the file again.
	Awaited []string
	// Moved has the former paths of files that were renamed, by the present ones.
	Moved map[string]string
	// Left are the changes that cannot be undone.
	Left []Left
	// Ignored are paths that git ignores, and below which something has changed.
	Ignored []string
	// Cut is why not all files were looked at, "" if they were.
	Cut string
	// Deep says that some were not looked at whose paths are longer than the system takes.
	Deep bool
}

// Left is a change that cannot be undone, and why. How is modified, created, deleted or "changed the mode of".
type Left struct{ Path, How, Why string }

const (
	// maxTold is how many files are named for a model, maxIgnored how many ignored paths.
	maxTold    = 40
	maxIgnored = 5
)

// Told words the effects for a model, a line each; "" is none.
func (e Effects) Told(env *Env) string {
	var lines []string
	gone := map[string]bool{}
	for _, from := range e.Moved {
		gone[from] = true
	}
	for _, f := range e.Landed.Files {
		from, moved := e.Moved[f.Path]
		switch {
		case moved:
			lines = append(lines, "renamed "+env.Name(from)+" -> "+env.Name(f.Path))
		case f.Created:
			lines = append(lines, "created "+env.Name(f.Path))
		case f.Deleted && gone[f.Path]: // it is told with its new path
		case f.Deleted:
			lines = append(lines, "deleted "+env.Name(f.Path))
		default:
			lines = append(lines, "modified "+env.Name(f.Path))
		}
	}
	for _, p := range e.Awaited {
		lines = append(lines, "modified "+env.Name(p)+" (open in the editor)")
	}
	var b strings.Builder
	block(&b, "changed files:", lines)
	lines = nil
	for _, l := range e.Left {
		lines = append(lines, fmt.Sprintf("%s %s (%s)", l.How, env.Name(l.Path), show.Visible(l.Why, false)))
	}
	block(&b, "changed, and cannot be undone:", lines)
	if n := len(e.Ignored); n > 0 {
		var names []string
		for _, p := range e.Ignored[:min(n, maxIgnored)] {
			names = append(names, env.Name(p))
		}
		if n > maxIgnored {
			names = append(names, fmt.Sprintf("%d more", n-maxIgnored))
		}
		fmt.Fprintf(&b, "changed in what git ignores, which is not listed and cannot be undone: %s\n", strings.Join(names, ", "))
	}
	if e.Cut != "" {
		fmt.Fprintf(&b, "Not all changes could be found: %s.\n", e.Cut)
	}
	if e.Deep {
		b.WriteString("Changes in folders whose paths are longer than 4096 bytes are not found.\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func block(b *strings.Builder, head string, lines []string) {
	if len(lines) == 0 {
		return
	}
	if n := len(lines); n > maxTold {
		lines = append(slices.Clone(lines[:maxTold]), fmt.Sprintf("… %d more", n-maxTold))
	}
	fmt.Fprintf(b, "%s\n  %s\n", head, strings.Join(lines, "\n  "))
}
