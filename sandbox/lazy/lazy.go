// Package lazy compiles regular expressions when they are first used. A package variable of its type
// costs nothing before main, and no allocation, unlike a function of sync.OnceValue.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression. Its methods may be called concurrently.
type Regexp struct {
	Text string

	once     sync.Once
	compiled *regexp.Regexp
}

// Get is the expression. It panics if Text is none.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.Text) })
	return r.compiled
}
