package text

import "strings"

// maxAhead limits how far Runs looks for an element that both sequences have.
const maxAhead = 32

// Runs returns the runs in which a and b differ, in order. It is meant for successive versions,
// which share most of their elements: it looks a few elements ahead only, so it is cheap, and a run
// may be longer than necessary.
func Runs[T any](a, b []T, equal func(x, y T) bool) (out []Run) {
	m, n := len(a), len(b)
	i, j := 0, 0
	for i < m && j < n && equal(a[i], b[j]) {
		i, j = i+1, j+1
	}
	for m > i && n > j && equal(a[m-1], b[n-1]) {
		m, n = m-1, n-1
	}
	for i < m || j < n {
		if i < m && j < n && equal(a[i], b[j]) {
			i, j = i+1, j+1
			continue
		}
		r := Run{i, m, j, n}
	search:
		for ahead := 1; ahead <= maxAhead; ahead++ {
			for x := range ahead + 1 {
				y := ahead - x
				if i+x < m && j+y < n && equal(a[i+x], b[j+y]) {
					r.A1, r.B1 = i+x, j+y
					break search
				}
			}
		}
		out = append(out, r)
		i, j = r.A1, r.B1
	}
	return out
}

// Delta returns edits that turn a into b, a later or earlier version of the same document. It
// compares the chunks that the two do not share and no others, so it costs far less than [Diff]; an
// edit may be as long as a chunk. Its strings are no parts of a or b.
func Delta(a, b Text) Set {
	from, to := a.chunks().parts, b.chunks().parts
	var out Set
	i, off := 0, 0
	for _, r := range Runs(from, to, func(x, y string) bool { return x == y }) {
		for ; i < r.A0; i++ {
			off += len(from[i])
		}
		e := Edit{Start: off, End: off, New: strings.Join(to[r.B0:r.B1], "")}
		for ; i < r.A1; i++ {
			e.End += len(from[i])
		}
		off = e.End
		if e = trim(a, e); e.Start < e.End || e.New != "" {
			e.New = strings.Clone(e.New)
			out = append(out, e)
		}
	}
	return out
}
