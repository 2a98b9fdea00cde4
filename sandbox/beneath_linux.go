package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Flags for opening a Place.
const (
	forReading = unix.O_RDONLY | dontWait
	forFolder  = unix.O_RDONLY | unix.O_DIRECTORY
	forLooking = unix.O_PATH
)

// holdRoot opens a folder by its canonical path, following no link.
func holdRoot(path string) (*os.File, error) {
	top, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(top)
	fd, _, err := beneath(top, relative("/", path), unix.O_PATH|unix.O_DIRECTORY, false)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// unlinked says that a clean absolute path has no symbolic link as far as it exists. false proves
// nothing: the kernel may lack openat2.
func unlinked(path string) bool {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		return err
	})
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}

// open opens a clean path below the root. crossed says that it crosses a mount.
func (r *root) open(rel string, flags int) (f *os.File, crossed bool, err error) {
	folder, err := r.folder()
	if err != nil {
		return nil, false, err
	}
	defer r.release()
	var st unix.Stat_t
	if flags == forReading && unix.Fstatat(int(folder.Fd()), rel, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFCHR, unix.S_IFBLK, unix.S_IFIFO, unix.S_IFSOCK: // opening it may do something
			return nil, false, ErrNotRegular
		}
	}
	fd, crossed, err := beneath(int(folder.Fd()), rel, flags, r.set.walks)
	if flags == forFolder && errors.Is(err, unix.EACCES) { // its files can be opened although it cannot be listed
		fd, crossed, err = beneath(int(folder.Fd()), rel, forLooking|unix.O_DIRECTORY, r.set.walks)
	}
	if err != nil {
		return nil, false, err
	}
	return os.NewFile(uintptr(fd), join(r.path, rel)), crossed, nil
}

func (r *root) stat(rel string) (fs.FileInfo, error) {
	f, _, err := r.open(rel, forLooking)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// beneath opens a clean path below a folder without following any link. If the kernel, or a filter
// of the container, has no openat2, or walk is set, it opens name by name; a bind mount of the same
// device is not noticed then.
func beneath(folder int, rel string, flags int, walk bool) (fd int, crossed bool, err error) {
	const inside = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW), Resolve: inside | unix.RESOLVE_NO_XDEV}
	open := func() error { return unix.ENOSYS }
	if !walk {
		open = func() (err error) { fd, err = unix.Openat2(folder, rel, &how); return err }
	}
	err = again(open)
	if errors.Is(err, unix.EXDEV) {
		how.Resolve, crossed = inside, true
		err = again(open)
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return byName(folder, rel, flags)
	}
	return fd, crossed, err
}

// byName is beneath without openat2.
func byName(folder int, rel string, flags int) (fd int, crossed bool, err error) {
	at := folder
	defer func() {
		if at != folder {
			_ = unix.Close(at)
		}
	}()
	var root, here unix.Stat_t
	if err := unix.Fstat(folder, &root); err != nil {
		return -1, false, err
	}
	names := strings.Split(path.Clean(rel), "/")
	for i, name := range names {
		how := unix.O_PATH | unix.O_DIRECTORY
		if i == len(names)-1 {
			how = flags
		}
		err := again(func() (err error) {
			fd, err = unix.Openat(at, name, how|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
			return err
		})
		if errors.Is(err, unix.ENOTDIR) && unix.Fstatat(at, name, &here, unix.AT_SYMLINK_NOFOLLOW) == nil &&
			here.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = unix.ELOOP
		}
		if err == nil {
			if err = unix.Fstat(fd, &here); err != nil {
				_ = unix.Close(fd)
			}
		}
		if err != nil {
			return -1, false, err
		}
		crossed = crossed || here.Dev != root.Dev
		if i < len(names)-1 {
			if at != folder {
				_ = unix.Close(at)
			}
			at = fd
		}
	}
	return fd, crossed, nil
}

// again repeats a system call that was interrupted by a signal, or by a concurrent rename.
func again(call func() error) error {
	for range 1000 {
		if err := call(); !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
	return unix.EAGAIN
}
