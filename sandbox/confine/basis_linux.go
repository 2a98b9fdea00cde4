package confine

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Basis is what the Landlock rules of a thread were made of. They are about files, not about paths, and about those that were
// there; so while it holds, a thread that was restricted before is as good as a new one. One goroutine uses it at a time.
type Basis struct {
	granted []sight // what rules were made for
	listed  []sight // the folders whose entries were given each for itself
	made    time.Time
}

// settled is how old the last change of a folder must be for its time to tell it from the next one: file systems have times of
// up to two seconds (FAT).
const settled = 2 * time.Second

// sight is what stands at a path.
type sight struct {
	path     string
	err      error // a syscall.Errno
	dev, ino uint64
	kind     uint32
	changed  unix.Timespec // ctime: the last change, also of the entries
}

// is says that the same file stands at the path, whether it has changed or not.
func (s sight) is(o sight) bool {
	return s.err == o.err && s.dev == o.dev && s.ino == o.ino && s.kind == o.kind
}

// Holds says that Restrict would make the same rules now: the same files stand at the paths, and no entry was made, removed or
// renamed in the folders that were listed. If that is uncertain, it does not hold.
func (b *Basis) Holds() bool {
	for _, was := range b.listed {
		now := see(was.path, unix.O_RDONLY|unix.O_DIRECTORY)
		if !now.is(was) || now.changed != was.changed {
			return false
		}
		if was.err == nil && b.made.Sub(time.Unix(was.changed.Unix())) < settled {
			return false
		}
	}
	for _, was := range b.granted {
		if !see(was.path, unix.O_PATH|unix.O_NOFOLLOW).is(was) {
			return false
		}
	}
	return true
}

// list gives what is in a folder without links, nothing where it cannot be listed.
func (b *Basis) list(dir string) (names []string) {
	if b.made.IsZero() {
		b.made = time.Now()
	}
	fd, s := look(dir, unix.O_RDONLY|unix.O_DIRECTORY) // before the entries are read, so that what changes meanwhile is noticed
	b.listed = append(b.listed, s)
	if s.err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			names = append(names, e.Name())
		}
	}
	return names
}

// see is look without the descriptor.
func see(path string, flags uint64) sight {
	fd, s := look(path, flags)
	if s.err == nil {
		_ = unix.Close(fd)
	}
	return s
}

// look opens a path without following a link in any part of it. There is a descriptor if there is no error.
func look(path string, flags uint64) (fd int, s sight) {
	s.path = path
	fd, s.err = unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if s.err != nil {
		return -1, s
	}
	var stat unix.Stat_t
	if s.err = unix.Fstat(fd, &stat); s.err != nil {
		_ = unix.Close(fd)
		return -1, s
	}
	s.dev, s.ino, s.kind, s.changed = stat.Dev, stat.Ino, stat.Mode&unix.S_IFMT, stat.Ctim
	return fd, s
}
