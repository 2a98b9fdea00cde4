package keeper

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// view is what the commands of a keeper that is pid 1 see of the files: its mounts, derived from the rules of a policy.
//
// The whole world becomes read-only in one call. What may be written is a clone of its mount that was taken before, attached
// at its own path again; so is what is only read within it. Hidden and private folders are folders of one tmpfs, the
// scratch. A mount point cannot be renamed, replaced or removed by those who see it. But it can be by everybody else, and
// then the mount is gone; so the view is compared with the rules before each command.
type view struct {
	scratch  *os.Root
	at       *os.File          // the folder of scratch
	made     int               // how many things were made there
	covers   map[string]string // covered path → its folder in the scratch
	attached map[string]bool   // paths of rules
}

// way is how the rule for a path is brought about.
type way uint8

const (
	nothing way = iota // what lies above shows it as the rule says
	carry              // a clone of the mount in the host's view, taken before anything is attached
	inside             // a clone of the mount that was attached above
	cover              // a folder or a file of the scratch
	kernel             // a file system of the namespaces
)

// step is a rule and the way it is brought about. over is the covered path that it lies in, "" for none.
type step struct {
	confine.Rule
	how  way
	over string
}

// kernels are the private folders that are a file system of the namespaces.
var kernels = map[string]struct{ kind, options string }{
	"/proc":    {"proc", ""},
	"/dev/pts": {"devpts", "newinstance,ptmxmode=0666,mode=0620"},
}

// stepsOf gives the steps for rules, each after those that lie above it.
func stepsOf(rules []confine.Rule) []step {
	steps := make([]step, len(rules))
	for i, r := range rules {
		s := &steps[i]
		s.Rule = r
		if i == 0 {
			continue // it is about /
		}
		a := steps[0]
		for _, before := range steps[1:i] {
			if strings.HasPrefix(r.Path, before.Path+"/") {
				a = before
			}
		}
		if a.how == cover {
			s.over = a.Path
		}
		_, ours := kernels[r.Path]
		switch {
		case r.Access == confine.Private && ours:
			s.how = kernel
		case r.Access == confine.Private, r.Access == confine.Hidden && a.how != cover:
			s.how = cover
		case r.Access == confine.Hidden: // nothing is there
		case a.how == cover, a.Access == confine.Read && a.how != kernel && r.Access == confine.Write:
			s.how = carry
		case a.how == kernel, a.Access == confine.Write:
			s.how = inside
		}
	}
	return steps
}

// newView makes this process, which has just been started in namespaces of its own, a user of them: the same one as outside.
func newView(b *Bounds) (*view, error) {
	for _, f := range []struct{ name, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1", b.UID, b.UID)},
		{"gid_map", fmt.Sprintf("%d %d 1", b.GID, b.GID)},
	} {
		if err := os.WriteFile("/proc/self/"+f.name, []byte(f.text), 0); err != nil {
			return nil, err
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("part with the mounts of the host: %w", err)
	}
	return &view{covers: map[string]string{}, attached: map[string]bool{}}, nil
}

// begin makes the world what its rule says, and the scratch.
func (v *view) begin(world confine.Access) error {
	if world == confine.Read {
		if err := restrict(unix.AT_FDCWD, "/", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return fmt.Errorf("make everything read-only: %w", err)
		}
	}
	// The scratch has to be mounted somewhere. The /proc of the namespaces comes to lie over it.
	if err := unix.Mount("tmpfs", "/proc", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700"); err != nil {
		return fmt.Errorf("mount a tmpfs: %w", err)
	}
	var err error
	if v.scratch, err = os.OpenRoot("/proc"); err == nil {
		v.at, err = v.scratch.Open(".")
	}
	return err
}

// errChanged is for rules that a view cannot be brought to: a new one has to be made.
var errChanged = errors.New("what a rule is about was exchanged or made meanwhile")

// show brings the view to the rules of b.
func (v *view) show(b *Bounds) error {
	steps := stepsOf(b.Policy.Rules)
	if len(steps) == 0 || steps[0].Path != "/" || covered(steps[0].Access) {
		return errors.New("no rule gives the whole file system")
	}
	first := len(v.attached) == 0
	carried := map[string]int{}
	defer func() {
		for _, tree := range carried {
			_ = unix.Close(tree)
		}
	}()
	for _, s := range steps {
		if s.how != carry || v.attached[s.Path] && mountPoint(s.Path) {
			continue
		}
		if !first { // it lies where the host is not seen any more
			return errChanged
		}
		tree, err := clone(s.Path, s.Access, b.Marks[s.Path])
		switch {
		case absent(err):
		case err != nil:
			return fmt.Errorf("%s: %w", s.Path, err)
		default:
			carried[s.Path] = tree
		}
	}
	if first {
		if err := v.begin(steps[0].Access); err != nil {
			return err
		}
	}
	for _, s := range steps {
		if s.how == nothing || v.attached[s.Path] && mountPoint(s.Path) {
			continue
		}
		below := slices.ContainsFunc(steps, func(o step) bool { return o.over == s.Path })
		if err := v.attach(s, carried, below); err != nil && !absent(err) {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
	}
	return nil
}

// attach takes a step, other than those that need nothing. below says that more is to be attached in what is covered.
func (v *view) attach(s step, carried map[string]int, below bool) error {
	tree, folder := -1, true
	var err error
	switch s.how {
	case carry:
		var ok bool
		if tree, ok = carried[s.Path]; !ok {
			return nil // it is not there
		}
		folder, err = isFolder(tree)
	case inside:
		tree, err = clone(s.Path, s.Access, Mark{})
		if errors.Is(err, errLink) {
			tree, err = v.cover(s, false)
		}
	case cover:
		tree, err = v.cover(s, below)
	}
	if err != nil {
		return err
	}
	if s.how != carry && tree >= 0 {
		defer unix.Close(tree)
	}
	if s.over != "" {
		if err := v.place(s, folder); err != nil {
			return err
		}
	}
	v.attached[s.Path] = true
	if k, ok := kernels[s.Path]; ok && s.how == kernel {
		return unix.Mount(k.kind, s.Path, k.kind, unix.MS_NOSUID|unix.MS_NOEXEC, k.options)
	}
	at, err := open(s.Path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// cover makes what lies over a path that is hidden or private, or over a link: a folder or a file of the scratch. below says that
// more is to be attached in it.
func (v *view) cover(s step, below bool) (tree int, err error) {
	folder := s.Access == confine.Private
	if !folder {
		at, err := open(s.Path)
		if err != nil {
			return -1, err
		}
		folder, err = isFolder(at)
		_ = unix.Close(at)
		if err != nil {
			return -1, err
		}
	}
	v.made++
	name, mode := strconv.Itoa(v.made), os.FileMode(0)
	switch {
	case below: // in a folder with the sticky bit, devices could not be opened with O_CREAT, as shells do
		mode = 0o755
	case s.Access == confine.Private:
		mode = 0o777 | os.ModeSticky
	}
	if folder {
		v.covers[s.Path] = name
		err = v.scratch.Mkdir(name, 0o700)
	} else {
		err = v.scratch.WriteFile(name, nil, 0o600)
	}
	if err == nil && s.Path == "/dev" {
		for _, link := range []string{"fd", "stdin fd/0", "stdout fd/1", "stderr fd/2"} {
			from, to, _ := strings.Cut(link, " ")
			err = errors.Join(err, v.scratch.Symlink("/proc/self/"+cmp.Or(to, "fd"), name+"/"+from))
		}
		err = errors.Join(err, v.scratch.Symlink("pts/ptmx", name+"/ptmx"))
	}
	if err == nil {
		err = v.scratch.Chmod(name, mode)
	}
	if err != nil {
		return -1, err
	}
	tree, err = unix.OpenTree(int(v.at.Fd()), name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err == nil && s.Access != confine.Private {
		err = restrict(tree, "", unix.MOUNT_ATTR_RDONLY)
	}
	return tree, err
}

// place makes what the mount of a step is attached to, in the folder that covers its path.
func (v *view) place(s step, folder bool) error {
	name := v.covers[s.over] + strings.TrimPrefix(s.Path, s.over)
	if folder {
		return v.scratch.MkdirAll(name, 0o755)
	}
	if err := v.scratch.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := v.scratch.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	return err
}

// clone takes the mount of what is at a path, as it is seen now, with all mounts below it. mark says which file or folder it must
// be, where one is given.
func clone(name string, access confine.Access, mark Mark) (tree int, err error) {
	at, err := open(name)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	var s unix.Stat_t
	if err := unix.Fstat(at, &s); err != nil {
		return -1, err
	}
	if mark != (Mark{}) && mark != markOf(&s) {
		return -1, errChanged
	}
	from, kind := at, s.Mode&unix.S_IFMT
	if kind == unix.S_IFLNK { // what it leads to is shown in its place, where that is a file
		if from, err = unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return -1, errLink
		}
		defer unix.Close(from)
		if err := unix.Fstat(from, &s); err != nil || s.Mode&unix.S_IFMT != unix.S_IFREG {
			return -1, errLink
		}
		access = confine.Read
	}
	tree, err = unix.OpenTree(from, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("clone its mount: %w", err)
	}
	attributes := uint64(unix.MOUNT_ATTR_NOSUID)
	if kind != unix.S_IFCHR {
		attributes |= unix.MOUNT_ATTR_NODEV
	}
	if access == confine.Read {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	if err := restrict(tree, "", attributes); err != nil {
		_ = unix.Close(tree)
		return -1, fmt.Errorf("restrict its mount: %w", err)
	}
	return tree, nil
}

// errLink is for a link to what cannot be shown in its place.
var errLink = errors.New("it is a link")

// covered says that what the host has at a path is not seen.
func covered(a confine.Access) bool { return a == confine.Hidden || a == confine.Private }

// absent is for what is not there.
func absent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// open names what is at a path, a link itself included. No link on the way is followed.
func open(name string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
}

func isFolder(at int) (bool, error) {
	var s unix.Stat_t
	err := unix.Fstat(at, &s)
	return s.Mode&unix.S_IFMT == unix.S_IFDIR, err
}

// mountPoint says that a mount is attached at a path.
func mountPoint(name string) bool {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &s)
	return err == nil && s.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// restrict sets attributes of a mount and of all mounts below it.
func restrict(at int, name string, attributes uint64) error {
	return unix.MountSetattr(at, name, unix.AT_RECURSIVE|unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attributes})
}

// up switches the loopback interface of the network namespace on.
func up() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// listen gives a socket that listens at ProxyAddress. Whoever has it accepts connections of the network namespace.
func listen() ([]*os.File, error) {
	at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(ProxyAddress))
	l, err := net.ListenTCP("tcp4", at)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	f, err := l.File()
	return []*os.File{f}, err
}
