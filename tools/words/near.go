package words

// Distance is how many bytes must be put in, taken out or changed to get from a to b (Levenshtein).
// It takes the product of their lengths, so names that a model or a file may have made long are cut
// first.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// Slip says that written is name but for one letter too many, too few, changed, or in the place of
// its neighbour. Names that are farther apart, or of fewer than four letters, may well mean
// different things.
func Slip(written, name string) bool {
	if len(name) < 4 {
		return false
	}
	at := 0
	for at < min(len(written), len(name)) && written[at] == name[at] {
		at++
	}
	a, b := written[at:], name[at:]
	return min(len(a), len(b)) > 0 && a[1:] == b[1:] || len(a) > 0 && a[1:] == b || len(b) > 0 && a == b[1:] ||
		min(len(a), len(b)) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}
