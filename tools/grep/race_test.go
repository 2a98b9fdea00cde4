//go:build unix && race

package grep

// share is the part of the questions that is asked with the race detector, with which all takes many times as long.
const share = 7
