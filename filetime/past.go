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

// Add records that revision rev, which is later than all others, has text t.
func (p *Past) Add(rev uint64, t text.Text) {
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

// Last is the latest revision, 0 for none.
func (p *Past) Last() uint64 {
	if len(p.texts) == 0 {
		return 0
	}
	return p.texts[len(p.texts)-1].rev
}

// Restores is the latest revision before rev that had the text of rev, 0 for none.
func (p *Past) Restores(rev uint64) uint64 {
	i, ok := slices.BinarySearchFunc(p.texts, rev, func(t pastText, rev uint64) int { return cmp.Compare(t.rev, rev) })
	if !ok {
		return 0
	}
	return p.texts[i].restores
}
