//go:build unix && !race

package grep

// share is the part of the questions that is asked: all of them.
const share = 1
