//go:build !linux && !darwin

package terminal

import "os"

// dropTyped always fails here: what was typed before a question cannot be told from an answer to
// it, so nobody is asked and whatever needs permission is denied.
func dropTyped(*os.File) error { return errNoTerminal }

// window knows nothing here.
func window(*os.File) (rows, columns int) { return 0, 0 }
