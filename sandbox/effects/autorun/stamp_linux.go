package autorun

import (
	"io/fs"
	"syscall"
	"time"
)

// settles is how long a change may go on at the same time of the system, whose clock is coarse, and
// coarser on some file systems.
const settles = 2 * time.Second

// stamp tells a folder from any other one and from itself after a change. settled says that a later
// change has another time.
type stamp struct {
	dev, ino uint64
	changed  syscall.Timespec
	settled  bool
}

// stampOf is the stamp of what is read from now on.
func stampOf(info fs.FileInfo, now time.Time) stamp {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{uint64(s.Dev), s.Ino, s.Ctim, now.Sub(time.Unix(s.Ctim.Unix())) > settles}
}

// holds says that nothing has changed since.
func (s stamp) holds(now stamp) bool {
	return s.settled && s.dev == now.dev && s.ino == now.ino && s.changed == now.changed
}
