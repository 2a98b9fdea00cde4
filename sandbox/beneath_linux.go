package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// What a Place is opened for.
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

// open opens what stands at a clean path below the root. crossed says that a mount lies on the way.
func (r *root) open(rel string, flags int) (f *os.File, crossed bool, err error) {
	folder, err := r.folder()
	if err != nil {
		return nil, false, err
	}
	defer r.release()
	fd, crossed, err := beneath(int(folder.Fd()), rel, flags, r.set.walks)
	if flags == forFolder && errors.Is(err, unix.EACCES) { // files in it may be had although it cannot be listed
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

// beneath opens what stands at a clean path below a folder, without following any link. Where the kernel, or the container
// that the process is in, has no openat2, or walk is set, it goes name by name; a mount of the same device is not noticed then.
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

// again makes a system call until no signal interrupts it, and no renaming elsewhere makes it begin anew.
func again(call func() error) error {
	for range 1000 {
		if err := call(); !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
	return unix.EAGAIN
}
