package sandbox

import (
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Sub opens a folder in the folder.
func (d *Dir) Sub(name string) (*Dir, error) {
	fd, crossed, err := beneath(int(d.f.Fd()), name, forFolder, d.root.set.walks)
	if err != nil {
		return nil, d.Place(name).failed("open", err)
	}
	p := Place{root: d.root, rel: path.Join(d.rel, name)}
	return newDir(p.root, p.rel, os.NewFile(uintptr(fd), p.Path()), crossed || d.crossed), nil
}

// Read reads a file of the folder that its listing calls regular into buf, as much as has room.
// rest is nil, or what follows, until it is closed. The errors are those of Place.Open.
func (d *Dir) Read(name string, buf []byte) (n int, rest io.ReadCloser, err error) {
	fd, crossed, err := beneath(int(d.f.Fd()), name, forReading, d.root.set.walks)
	if err != nil {
		return 0, nil, d.Place(name).failed("open", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || crossed || d.crossed || st.Nlink > 1 || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return readPlace(d.Place(name), buf) // which judges it
	}
	for n < len(buf) {
		got := 0
		err := again(func() (err error) { got, err = unix.Read(fd, buf[n:]); return err })
		if err != nil {
			_ = unix.Close(fd)
			return n, nil, d.Place(name).failed("read", err)
		}
		if n += got; got == 0 || int64(n) == st.Size && n < len(buf) {
			return n, nil, unix.Close(fd)
		}
	}
	return n, os.NewFile(uintptr(fd), name), nil
}

// Ident looks at an entry, "." for the folder itself.
func (d *Dir) Ident(name string) (Ident, error) {
	var st unix.Stat_t
	var err error
	if name == "." {
		err = unix.Fstat(int(d.f.Fd()), &st)
	} else {
		err = unix.Fstatat(int(d.f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return Ident{}, d.Place(name).failed("stat", err)
	}
	i := Ident{device: uint64(st.Dev), inode: st.Ino, linked: st.Nlink > 1, size: st.Size, modified: st.Mtim.Nano(), change: st.Ctim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		i.Type, i.linked = fs.ModeDir, false
	case unix.S_IFLNK:
		i.Type = fs.ModeSymlink
	case unix.S_IFIFO:
		i.Type = fs.ModeNamedPipe
	case unix.S_IFSOCK:
		i.Type = fs.ModeSocket
	case unix.S_IFCHR:
		i.Type = fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		i.Type = fs.ModeDevice
	default:
		i.Type = fs.ModeIrregular
	}
	return i, nil
}

// Remote says that the folder is on a file system that others may change unnoticed, or that no
// Ident can be had there.
func (d *Dir) Remote() bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(d.f.Fd()), &st); err != nil {
		return true
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC,
		unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC:
		return true
	}
	return false
}
