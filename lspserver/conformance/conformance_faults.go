package conformance

import (
	"errors"
	"slices"
)

// reopen closes the documents of an edit and opens them again.
func (e *Editor) reopen(p applyParams) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range p.Edit.DocumentChanges {
		if d := e.docs[c.TextDocument.URI]; d != nil && !d.openedForEdit && !d.anew {
			e.close(d)
			again := e.open(d.path, d.text, false)
			again.onDisk, again.anew = d.onDisk, true
		}
	}
}

// overwrite puts text edits into the text that they were made for and makes that the document's.
func (e *Editor) overwrite(d *document, c documentChange) error {
	text, ok := d.was[*c.TextDocument.Version]
	if !ok {
		return errors.New("no such version")
	}
	var splices []Splice
	for _, t := range c.Edits {
		start, _ := e.o.Encoding.Offset(text, t.Range.Start)
		end, _ := e.o.Encoding.Offset(text, t.Range.End)
		splices = append(splices, Splice{start, end, d.lines(t.NewText)})
	}
	slices.SortStableFunc(splices, func(a, b Splice) int { return a.Start - b.Start })
	for _, s := range slices.Backward(splices) {
		text = text[:s.Start] + s.New + text[s.End:]
	}
	e.change(d, Applied, []Splice{difference(d.text, text)})
	return nil
}
