//go:build !unix

package workspace

import (
	"errors"
	"os"
)

// Flags of opening that there is no need of here.
const noFollow, dontBlock = 0, 0

// tryLock always fails: there are no locks here that end with their process. Two processes that change one file then find out
// by its text, as with any other program.
func tryLock(*os.File, bool) error { return errors.ErrUnsupported }

func unlock(*os.File) {}
