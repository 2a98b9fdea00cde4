package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// System is the file system of the machine. open opens a folder by its absolute path, following no
// link; nil opens any.
func System(open func(path string) (*os.File, error)) FS {
	if open == nil {
		open = openAny
	}
	return system{open}
}

type system struct {
	open func(path string) (*os.File, error)
}

// folder is an open folder.
type folder struct {
	f    *os.File
	path string
}

func (d *folder) fd() int { return int(d.f.Fd()) }

func failed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// again makes a system call until no signal interrupts it.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (s system) Open(path string) (Dir, error) {
	f, err := s.open(path)
	if err != nil {
		return nil, err
	}
	return &folder{f, path}, nil
}

// openAny opens a folder by its absolute path from the top, following no link.
func openAny(path string) (*os.File, error) {
	const flags = unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fd := -1
	open := func(flags int) error {
		return again(func() (err error) {
			how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_SYMLINKS}
			if fd, err = unix.Openat2(unix.AT_FDCWD, path, &how); errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
				fd, err = unix.Open(path, flags, 0) // an old kernel, or a container that does not know the call
			}
			return err
		})
	}
	err := open(unix.O_RDONLY | flags)
	if errors.Is(err, unix.EACCES) { // files in it may be had although it cannot be listed
		err = open(unix.O_PATH | flags)
	}
	if err != nil {
		return nil, failed("open", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (d *folder) at(name string) string { return filepath.Join(d.path, name) }

func (d *folder) open(name string, flags int, mode fs.FileMode) (File, error) {
	fd := -1
	err := again(func() (err error) {
		fd, err = unix.Openat(d.fd(), name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(mode.Perm()))
		return err
	})
	if err != nil {
		return nil, failed("open", d.at(name), err)
	}
	return regular{os.NewFile(uintptr(fd), d.at(name))}, nil
}

func (d *folder) Open(name string) (File, error) {
	return d.open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
}

func (d *folder) Create(name string, mode fs.FileMode) (File, error) {
	return d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode)
}

func (d *folder) Anonymous(mode fs.FileMode) (File, error) {
	return d.open(".", unix.O_WRONLY|unix.O_TMPFILE, mode)
}

func (d *folder) Stat(name string) (Stat, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&st), failed("stat", d.at(name), err)
}

func (d *folder) Writable(name string) error {
	return failed("write", d.at(name), again(func() error { return unix.Faccessat(d.fd(), name, unix.W_OK, unix.AT_EACCESS) }))
}

func (d *folder) Mkdir(name string) error {
	return failed("mkdir", d.at(name), again(func() error { return unix.Mkdirat(d.fd(), name, 0o777) }))
}

func (d *folder) Link(name string, to Dir, as string) error {
	t := to.(*folder)
	return failed("link", t.at(as), again(func() error { return unix.Linkat(d.fd(), name, t.fd(), as, 0) }))
}

func (d *folder) rename(name string, t *folder, as string, flags uint) error {
	return failed("rename", t.at(as), again(func() error { return unix.Renameat2(d.fd(), name, t.fd(), as, flags) }))
}

func (d *folder) Rename(name, as string) error {
	return failed("rename", d.at(as), again(func() error { return unix.Renameat(d.fd(), name, d.fd(), as) }))
}

func (d *folder) Place(name string, to Dir, as string) error {
	return d.rename(name, to.(*folder), as, unix.RENAME_NOREPLACE)
}

func (d *folder) Exchange(a, b string) error { return d.rename(a, d, b, unix.RENAME_EXCHANGE) }

func (d *folder) Remove(name string) error {
	return failed("remove", d.at(name), again(func() error { return unix.Unlinkat(d.fd(), name, 0) }))
}

func (d *folder) Rmdir(name string) error {
	return failed("rmdir", d.at(name), again(func() error { return unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) }))
}

func (d *folder) Names() ([]string, error) {
	fd := -1
	err := again(func() (err error) {
		fd, err = unix.Openat(d.fd(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, failed("open", d.path, err)
	}
	h := os.NewFile(uintptr(fd), d.path)
	defer h.Close()
	return h.Readdirnames(-1)
}

func (d *folder) Sync() error {
	return failed("sync", d.path, again(func() error { return unix.Fsync(d.fd()) }))
}

func (d *folder) Close() error { return d.f.Close() }

// regular is an open file, which need not be regular.
type regular struct{ *os.File }

func (f regular) fd() int { return int(f.Fd()) }

func (f regular) Name(in Dir, name string) error {
	d := in.(*folder)
	return failed("link", d.at(name), again(func() error {
		return unix.Linkat(unix.AT_FDCWD, f.proc(), d.fd(), name, unix.AT_SYMLINK_FOLLOW)
	}))
}

func (f regular) Stat() (Stat, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstat(f.fd(), &st) })
	return statOf(&st), failed("stat", f.File.Name(), err)
}

func (f regular) Xattrs() (map[string][]byte, error) {
	list, err := f.grown(func(b []byte) (int, error) { return unix.Flistxattr(f.fd(), b) })
	out := map[string][]byte{}
	for name := range strings.SplitSeq(string(list), "\x00") {
		if name == "" || err != nil {
			continue
		}
		var value []byte
		value, err = f.grown(func(b []byte) (int, error) { return unix.Fgetxattr(f.fd(), name, b) })
		switch {
		case err == nil:
			out[name] = value
		case errors.Is(err, unix.ENODATA), errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOTSUP):
			err = nil // it does not exist any more, or this user may not read it
		}
	}
	if errors.Is(err, unix.ENOTSUP) {
		err = nil
	}
	return out, failed("xattr", f.File.Name(), err)
}

// grown reads what may be of any size.
func (f regular) grown(read func([]byte) (int, error)) ([]byte, error) {
	for size := 256; ; size *= 4 {
		b := make([]byte, size)
		n, err := read(b)
		if !errors.Is(err, unix.ERANGE) || size > 1<<20 {
			return b[:max(0, n)], err
		}
	}
}

func (f regular) SetXattr(name string, value []byte) error {
	if value == nil {
		return failed("xattr", f.File.Name(), unix.Fremovexattr(f.fd(), name))
	}
	return failed("xattr", f.File.Name(), unix.Fsetxattr(f.fd(), name, value, 0))
}

func (f regular) Alone() (alone, sure bool) {
	// A read lease is granted only while no process has the file open for writing; one that opens
	// it so waits.
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err != nil {
		return false, errors.Is(err, unix.EAGAIN)
	}
	// A process that waits and gets a signal begins again and has not the file open in between, but
	// the lease is still to be broken.
	kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
	return err == nil && kind == unix.F_RDLCK, true
}

// Alone is File.Alone of any file that is open for reading.
func Alone(f *os.File) (alone, sure bool) { return regular{f}.Alone() }

func (f regular) Again() (File, error) {
	fd := -1
	err := again(func() (err error) {
		fd, err = unix.Open(f.proc(), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, failed("open", f.File.Name(), err)
	}
	return regular{os.NewFile(uintptr(fd), f.File.Name())}, nil
}

// proc is a name that leads to the file, whatever its own is.
func (f regular) proc() string { return "/proc/self/fd/" + strconv.Itoa(f.fd()) }

func statOf(st *unix.Stat_t) Stat {
	s := Stat{
		Dev: st.Dev, Ino: st.Ino, Links: uint64(st.Nlink), Size: st.Size, Mode: fs.FileMode(st.Mode & 0o777),
		UID: int(st.Uid), GID: int(st.Gid), ModTime: time.Unix(st.Mtim.Unix()),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		s.Mode |= fs.ModeDir
	case unix.S_IFLNK:
		s.Mode |= fs.ModeSymlink
	default:
		s.Mode |= fs.ModeIrregular
	}
	for bit, mode := range map[uint32]fs.FileMode{
		unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky,
	} {
		if st.Mode&bit != 0 {
			s.Mode |= mode
		}
	}
	return s
}
