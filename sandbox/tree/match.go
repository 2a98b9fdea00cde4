package tree

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Matcher makes a function that tells whether a path relative to a directory, with forward slashes, fits pattern: *
// and ? stop at a slash, ** does not, {a,b} and [a-z] are alternatives. A pattern without a slash fits names at any
// depth.
func Matcher(pattern string) (func(path string) bool, error) {
	pattern = strings.TrimPrefix(pattern, "./")
	anywhere := !strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("%q is not a valid pattern of file names: a bracket or a brace is not closed", pattern)
	}
	return func(p string) bool {
		if anywhere {
			p = path.Base(p)
		}
		return doublestar.MatchUnvalidated(pattern, p)
	}, nil
}
