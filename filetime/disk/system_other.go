//go:build !linux

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// System is the file system of the machine. Here it refuses everything: what Disk promises rests on
// system calls of Linux (exchanging two names, files without a name, leases), and no weaker promise
// has been tried out. Files that are open in the editor are still changed there, and an editor that
// saves files can be given closed ones too.
func System(func(path string) (*os.File, error)) FS { return system{} }

type system struct{}

// Open always fails.
func (system) Open(path string) (Dir, error) {
	return nil, &fs.PathError{
		Op: "change files in", Path: path,
		Err: fmt.Errorf("on %s Tandem changes files through the editor only: %w", runtime.GOOS, errors.ErrUnsupported),
	}
}

// Alone is File.Alone of any file that is open for reading: never sure, since there are no leases.
func Alone(*os.File) (alone, sure bool) { return false, false }
