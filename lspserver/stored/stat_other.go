//go:build !linux && !darwin

package stored

import (
	"io/fs"
	"time"
)

// identify knows of nothing here that would tell two states of a file apart which have one size and
// one time. So no state is resyncIfUnsure to be the last one: each time the file is read again.
func (s *Stat) identify(fs.FileInfo) { s.ChangeTime = time.Unix(1<<40, 0) }
