package effects

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dirHandle is an open folder. Entries are looked up in it, so that a link on the way to it is
// never followed.
type dirHandle int

func handle(f *os.File) dirHandle { return dirHandle(f.Fd()) }

func (d dirHandle) close() { _ = unix.Close(int(d)) }

func (d dirHandle) open(name string) (dirHandle, error) {
	fd, err := unix.Openat(int(d), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	return dirHandle(fd), err
}

func (d dirHandle) self() (stat, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(d), &st)
	return systemStat(&st), err
}

func (d dirHandle) stat(name string) (stat, error) {
	var st unix.Stat_t
	err := unix.Fstatat(int(d), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return systemStat(&st), err
}

func (d dirHandle) names() (names []string, err error) {
	if _, err := unix.Seek(int(d), 0, unix.SEEK_SET); err != nil {
		return nil, err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(int(d), buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n <= 0:
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func systemStat(st *unix.Stat_t) stat {
	return stat{
		ino: st.Ino, size: st.Size, mode: st.Mode, links: uint32(st.Nlink), mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}

func statOf(info fs.FileInfo) stat {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}
	}
	return stat{
		ino: st.Ino, size: st.Size, mode: st.Mode, links: uint32(st.Nlink), mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}

func sameOwner(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok && ok2 && x.Uid == y.Uid
}

// fileMode is the mode in Go's form.
func (s stat) fileMode() fs.FileMode { return s.kind() | fs.FileMode(s.mode&0o777) }

// kind is the type of the file, 0 for a regular one.
func (s stat) kind() fs.FileMode {
	switch s.mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}
