package review

import (
	"slices"

	"tandem/filetime/text"
)

const (
	maxStates     = 256
	maxStateBytes = 4 << 20 // of the differences
	pieceBytes    = 64
)

// states is a bounded list of earlier states of a weave. The newest is whole, and each older one is
// its difference to the next, so the list takes about the memory of the changes.
// Clones of a weave share it, so what it points to is never changed.
type states struct {
	older  []stateDelta
	newest *state
}

// state is what was known of the text of a revision; rev is 0 where it stood before the history
// began, which does not name it then.
type state struct {
	rev    uint64
	text   text.Text
	pieces []piece
}

// stateDelta leads from the next state to an older one.
type stateDelta struct {
	rev    uint64
	size   int // of the older text
	text   text.Set
	pieces []pieceRun
}

// pieceRun is a run of pieces that are others in the older state: those of now from A0 to A1.
type pieceRun struct {
	text.Run
	older []piece
}

// keep adds a state. It replaces the newest if that has the same revision and text.
func (p *states) keep(s state) {
	if p.newest == nil {
		p.newest = &s
		return
	}
	last, older := *p.newest, p.older
	if last.rev == s.rev && last.text.Equal(s.text) {
		n := len(older)
		if n == 0 || len(pieceRuns(s.pieces, last.pieces)) == 0 {
			p.newest = &s
			return
		}
		last, older = older[n-1].apply(last), older[:n-1]
	}
	d := stateDelta{rev: last.rev, size: last.text.Len(), text: text.Delta(s.text, last.text), pieces: pieceRuns(s.pieces, last.pieces)}
	older = append(slices.Clip(older[max(0, len(older)+1-maxStates):]), d)
	bytes := 0
	for i := len(older) - 1; i >= 0; i-- {
		if bytes += older[i].bytes(); bytes > maxStateBytes {
			older = slices.Clone(older[i+1:])
			break
		}
	}
	p.older, p.newest = older, &s
}

// find returns the newest state that has the text t and is not of a later revision than rev.
func (p states) find(rev uint64, t text.Text) (state, bool) {
	if p.newest == nil {
		return state{}, false
	}
	may := func(d stateDelta) bool { return d.rev <= rev && d.size == t.Len() }
	s := *p.newest
	if s.rev <= rev && s.text.Equal(t) {
		return s, true
	}
	first := slices.IndexFunc(p.older, may)
	for i := len(p.older) - 1; first >= 0 && i >= first; i-- {
		s = p.older[i].apply(s)
		if may(p.older[i]) && s.text.Equal(t) {
			return s, true
		}
	}
	return state{}, false
}

// apply returns the older state.
func (d stateDelta) apply(next state) state {
	var out []piece
	at := 0
	for _, r := range d.pieces {
		out = append(append(out, next.pieces[at:r.A0]...), r.older...)
		at = r.A1
	}
	return state{d.rev, d.text.Apply(next.text), append(out, next.pieces[at:]...)}
}

// bytes estimates the memory of a difference.
func (d stateDelta) bytes() int {
	n := 80
	for _, e := range d.text {
		n += 32 + len(e.New)
	}
	for _, r := range d.pieces {
		n += pieceBytes * (1 + len(r.older))
		for _, p := range r.older {
			n += len(p.text)
		}
	}
	return n
}

func pieceRuns(now, older []piece) (out []pieceRun) {
	same := func(a, b piece) bool {
		return a.size == b.size && a.insertedBy == b.insertedBy && a.deletedBy == b.deletedBy && a.text == b.text &&
			slices.Equal(a.formerDeleters, b.formerDeleters)
	}
	for _, r := range text.Runs(now, older, same) {
		out = append(out, pieceRun{r, slices.Clone(older[r.B0:r.B1])})
	}
	return out
}
