package stored

import (
	"bytes"
	"slices"
)

// Nearest is the version of which data was made most probably: the first of those that it takes the
// least to make it of.
func Nearest(versions [][]byte, data []byte) int {
	best, least := 0, -1
	for i, v := range versions {
		if n := distance(v, data, least); least < 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// distance is how many lines are added to a, and twice how many are taken out of it, to make b:
// programs add lines more often. A line that is moved is taken out and added. With limit >= 0 the
// result may be any number from limit on if it is as much.
func distance(a, b []byte, limit int) int {
	start := common(a, b)
	start = bytes.LastIndexByte(a[:start], '\n') + 1
	a, b = a[start:], b[start:]
	end := 0
	for end < len(a) && end < len(b) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if i := bytes.IndexByte(a[len(a)-end:], '\n'); i >= 0 { // what comes before it may be part of a line
		end -= i + 1
		a, b = a[:len(a)-end], b[:len(b)-end]
	}
	if n := bytes.Count(b, []byte("\n")) - bytes.Count(a, []byte("\n")); limit >= 0 && max(n, -2*n) >= limit {
		return limit
	}
	at, added := map[string][]int{}, 0 // where b has each line
	for line := range bytes.Lines(b) {
		at[string(line)] = append(at[string(line)], added)
		added++
	}
	removed, pairs := 0, 0
	for line := range bytes.Lines(a) {
		removed++
		pairs += len(at[string(line)])
	}
	// The longest common subsequence (Hunt and Szymanski 1977) by its length: the lowest place in b
	// that one ends at. Where lines repeat too often for that, the first of a is taken for the
	// first of b, the second for the second.
	var ends []int
	for line := range bytes.Lines(a) {
		places := at[string(line)]
		if pairs > maxPairs && len(places) > 0 {
			at[string(line)], places = places[1:], places[:1]
		}
		for _, p := range slices.Backward(places) {
			if n, _ := slices.BinarySearch(ends, p); n < len(ends) {
				ends[n] = p
			} else {
				ends = append(ends, p)
			}
		}
	}
	return added - len(ends) + 2*(removed-len(ends))
}

// maxPairs is for how many pairs of like lines a common subsequence is looked for.
const maxPairs = 1 << 18

// common is how many bytes a and b begin with that are the same.
func common(a, b []byte) (n int) {
	const step = 1 << 10
	for n+step <= min(len(a), len(b)) && bytes.Equal(a[n:n+step], b[n:n+step]) {
		n += step
	}
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
