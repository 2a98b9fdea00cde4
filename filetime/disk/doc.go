// Package disk changes files without losing what other programs save at the same time: each change
// is a compare-and-swap, recorded in a write-ahead log (the Journal) and recovered from there after
// a crash.
package disk
