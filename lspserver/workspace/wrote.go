package workspace

import (
	"maps"
	"time"

	"tandem/filetime/text"
)

// maxWrote is how many files are remembered that were saved or changed by a tool.
const maxWrote = 1000

// wrote is the last text that the editor said to have saved to a file, or that a tool has landed there.
type wrote struct {
	text text.Text
	at   time.Time
}

// Wrote says that since a time the editor has said to have saved a file with this content, or a tool has landed it there. That a buffer
// has it says nothing: editors load anew what changes on disk.
func (w *Workspace) Wrote(path, content string, since time.Time) bool {
	w.mu.Lock()
	last, ok := w.wrote[path]
	w.mu.Unlock()
	return ok && !last.at.Before(since) && text.EqualLines(last.text, text.New(content))
}

// noteWritten remembers a text for Wrote. The oldest are forgotten.
func (w *Workspace) noteWritten(path string, t text.Text) {
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrote) >= maxWrote {
		maps.DeleteFunc(w.wrote, func(_ string, o wrote) bool { return now.Sub(o.at) > time.Hour })
	}
	if len(w.wrote) < maxWrote {
		w.wrote[path] = wrote{t, now}
	}
}
