package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

const (
	maxCandidates = 3
	minSimilarity = 0.4
	maxPlaceBytes = 4 << 10 // bytes of a place that are compared
	maxFileBytes  = 2 << 20 // bytes of a file that are searched line by line
)

// similar returns the places of a text that are most like old.
func (t Text) similar(old string) []Candidate {
	out := similar(project(t.String(), leading).s, old)
	for i := range out {
		out[i].Line = t.lineOfRow(out[i].Line-1) + 1
	}
	return out
}

// similar returns the places of a text in rows that are most like old, each with its row for its
// line. It only suggests: nothing is ever edited at such a place.
func similar(text, old string) []Candidate {
	lines, quoted := strings.Split(text, "\n"), strings.Split(strings.Trim(old, "\r\n"), "\n")
	starts := sameLines(lines, quoted)
	if len(starts) == 0 && len(text) <= maxFileBytes {
		starts = similarLines(lines, quoted)
	}
	g := newBigrams(strings.Join(quoted, "\n"))
	var all []Candidate
	for _, s := range starts {
		s = max(0, min(s, len(lines)-1))
		place := strings.Join(lines[s:min(len(lines), s+len(quoted))], "\n")
		if score := g.similarity(place); score >= minSimilarity {
			all = append(all, Candidate{Line: s + 1, Text: place, Score: score})
		}
	}
	slices.SortStableFunc(all, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Line, b.Line))
	})
	var out []Candidate
	for _, c := range all {
		apart := func(o Candidate) bool { return abs(o.Line-c.Line) >= len(quoted) }
		if len(out) < maxCandidates && !slices.ContainsFunc(out, func(o Candidate) bool { return !apart(o) }) {
			out = append(out, c)
		}
	}
	return out
}

func abs(n int) int { return max(n, -n) }

// sameLines returns the lines at which a place would begin that has most lines in
// common with the quotation.
func sameLines(lines, quoted []string) []int {
	at := map[string][]int{}
	for i, q := range quoted {
		if q = strings.TrimSpace(q); len(q) > 3 && len(at[q]) < 4 {
			at[q] = append(at[q], i)
		}
	}
	votes := map[int]int{}
	for i, line := range lines {
		line = strings.TrimSpace(line)
		for _, k := range at[line] {
			votes[i-k] += len(line)
		}
	}
	return topKeys(votes)
}

// similarLines returns the same for the lines most like the longest of the quotation.
func similarLines(lines, quoted []string) []int {
	long := 0
	for i, q := range quoted {
		if len(strings.TrimSpace(q)) > len(strings.TrimSpace(quoted[long])) {
			long = i
		}
	}
	g := newBigrams(quoted[long])
	votes := map[int]int{}
	for i, line := range lines {
		if s := g.similarity(line); s >= minSimilarity {
			votes[i-long] = int(s * 1000)
		}
	}
	return topKeys(votes)
}

// topKeys returns the keys with the most votes, best first.
func topKeys(votes map[int]int) []int {
	keys := slices.SortedFunc(maps.Keys(votes), func(a, b int) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b))
	})
	return keys[:min(len(keys), 4*maxCandidates)]
}

// bigrams are the pairs of neighbouring bytes of a text, blanks left out.
type bigrams struct {
	count map[[2]byte]int
	n     int
}

func newBigrams(s string) bigrams {
	g := bigrams{count: map[[2]byte]int{}}
	eachBigram(s, func(p [2]byte) { g.count[p]++; g.n++ })
	return g
}

func eachBigram(s string, f func([2]byte)) {
	last := byte(0)
	for i := range min(len(s), maxPlaceBytes) {
		c := s[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			continue
		}
		if last != 0 {
			f([2]byte{last, c})
		}
		last = c
	}
}

// similarity returns how similar a text is, from 0 to 1 (Sørensen-Dice).
func (g bigrams) similarity(s string) float64 {
	var taken []([2]byte)
	n := 0
	eachBigram(s, func(p [2]byte) {
		n++
		if g.count[p] > 0 {
			g.count[p]--
			taken = append(taken, p)
		}
	})
	for _, p := range taken {
		g.count[p]++
	}
	if n+g.n == 0 {
		return 0
	}
	return 2 * float64(len(taken)) / float64(n+g.n)
}
