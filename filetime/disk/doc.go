// Package disk changes files without ever losing what somebody else saved: each change is a compare-and-swap, written
// down in a journal before it begins, and recovered from there after a crash.
package disk
