//go:build !unix

package locks

import (
	"errors"
	"os"
)

const noFollow = 0

// tryLock always fails: no lock of this system ends with its process. Processes that change one
// file are then told apart by the compare-and-swap alone, as any other program.
func tryLock(*os.File, bool) error { return errors.ErrUnsupported }

func unlock(*os.File) {}
