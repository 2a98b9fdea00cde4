package filetime

import (
	"cmp"
	"slices"

	"tandem/filetime/text"
)

// PastTexts is how many of the latest texts of a file a Past knows.
const PastTexts = 1024

// Past finds the revision whose text a change leads back to, among the latest texts of a file. It
// keeps fingerprints, not texts: whoever has kept the text of the revision compares it. The zero
// value is ready for use.
type Past struct {
	printer text.Printer
	texts   []pastText // ascending by rev
}

type pastText struct{ rev, print, restores uint64 }

// Add records that revision rev has text t. It may be the latest known one, or a later one.
func (p *Past) Add(rev uint64, t text.Text) {
	if n := len(p.texts); n > 0 && p.texts[n-1].rev == rev {
		return
	}
	at := pastText{rev: rev, print: p.printer.Print(t)}
	for _, was := range slices.Backward(p.texts[max(0, len(p.texts)-PastTexts):]) {
		if was.print == at.print {
			at.restores = was.rev
			break
		}
	}
	if len(p.texts) == 2*PastTexts {
		p.texts = slices.Clone(p.texts[PastTexts:])
	}
	p.texts = append(p.texts, at)
}

// Restores is the latest revision before rev that had the text of rev, 0 for none.
func (p *Past) Restores(rev uint64) uint64 {
	i, ok := slices.BinarySearchFunc(p.texts, rev, func(t pastText, rev uint64) int { return cmp.Compare(t.rev, rev) })
	if !ok {
		return 0
	}
	return p.texts[i].restores
}
