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

// ground is what a keeper that is pid 1 makes once: it stays as the host's files are seen, and each
// command has a copy of it (a mount namespace), which show brings to the rules of the command's
// policy. What the host changes meanwhile is therefore seen by the next command, and no mount
// outlives its command.
//
// The scratch is a tmpfs over the host's /proc, where nobody has anything to read. It holds the
// file systems of the namespaces and what stands in the place of hidden and private folders. The
// private ones keep what commands write there.
type ground struct {
	scratch *os.Root
	made    map[string]string // path of a rule → its folder or file in the scratch
}

// Where the scratch is, and what it holds beside the folders of ground.made.
const (
	scratchAt    = "/proc"
	hiddenFolder = "folder"
	hiddenFile   = "file"
)

// kernels are the private folders that are a file system of the namespaces, and where that is in
// the scratch.
var kernels = map[string]struct{ name, kind, options string }{
	"/proc":    {"proc", "proc", ""},
	"/dev/pts": {"pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"},
}

// newGround makes this process, which has just been started in namespaces of its own, a user of
// them, the same one as outside, and makes what its commands see. It switches the loopback
// interface on.
func newGround(uid, gid string) (*ground, error) {
	for _, f := range []struct{ name, text string }{
		{"setgroups", "deny"}, {"uid_map", uid + " " + uid + " 1"}, {"gid_map", gid + " " + gid + " 1"},
	} {
		if err := os.WriteFile("/proc/self/"+f.name, []byte(f.text), 0); err != nil {
			return nil, err
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("part with the mounts of the host: %w", err)
	}
	if err := unix.Mount("tmpfs", scratchAt, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700"); err != nil {
		return nil, fmt.Errorf("mount a tmpfs: %w", err)
	}
	scratch, err := os.OpenRoot(scratchAt)
	if err != nil {
		return nil, err
	}
	for _, k := range kernels {
		err := scratch.Mkdir(k.name, 0o755)
		if err == nil {
			err = unix.Mount(k.kind, path.Join(scratchAt, k.name), k.kind, unix.MS_NOSUID|unix.MS_NOEXEC, k.options)
		}
		if err != nil {
			return nil, fmt.Errorf("mount a %s: %w", k.kind, err)
		}
	}
	return &ground{scratch, map[string]string{}}, errors.Join(scratch.Mkdir(hiddenFolder, 0), scratch.WriteFile(hiddenFile, nil, 0), up())
}

// step is what is attached at the path of a rule: what is at from before anything is attached, ""
// for what hides. place is where in the scratch the path comes to lie, "" if that is not there.
type step struct {
	confine.Rule
	from, place string
}

// steps are those that a policy needs, each after what it lies in. They make the folders of the
// scratch that they show.
func (g *ground) steps(p confine.Policy) (out []step, err error) {
	// shown is how the rules before are: where the host has what lies below them, and where the
	// scratch has the folder that is seen instead.
	shown := make([]step, 0, len(p.Rules))
	for _, r := range p.Rules {
		if r.Path == "/" {
			shown = append(shown, step{Rule: r})
			continue
		}
		above := shown[0]
		for _, o := range shown[1:] {
			if strings.HasPrefix(r.Path, o.Path+"/") {
				above = o
			}
		}
		rest := strings.TrimPrefix(r.Path, strings.TrimSuffix(above.Path, "/"))
		this, below := step{Rule: r, from: above.from + rest}, step{Rule: r, from: above.from + rest}
		if above.place != "" {
			this.place = above.place + rest
		}
		needed := true
		k, kernel := kernels[r.Path]
		switch {
		case r.Access == confine.Private && kernel:
			this.from = path.Join(scratchAt, k.name)
			below.from = this.from
		case r.Access == confine.Hidden && this.place != "": // nothing is there
			below.place, needed = this.place, false
		case r.Access == confine.Hidden && !slices.ContainsFunc(p.Rules, func(o confine.Rule) bool {
			return o.Access != confine.Hidden && strings.HasPrefix(o.Path, r.Path+"/")
		}):
			this.from, below.place = "", hiddenFolder
		case r.Access == confine.Hidden, r.Access == confine.Private:
			if below.place, err = g.folder(r.Path); err != nil {
				return nil, err
			}
			this.from = path.Join(scratchAt, below.place)
		default: // a folder in one that may be written is a mount point too
			needed = this.place != "" || above.Access != r.Access || r.Access == confine.Write
		}
		if shown = append(shown, below); needed {
			out = append(out, this)
		}
	}
	return out, nil
}

// folder makes the folder of the scratch that stands at a path.
func (g *ground) folder(at string) (name string, err error) {
	if name, ok := g.made[at]; ok {
		return name, nil
	}
	name = strconv.Itoa(len(g.made))
	err = g.scratch.Mkdir(name, 0o755)
	if at == "/dev" {
		for link, to := range map[string]string{
			"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
		} {
			err = errors.Join(err, g.scratch.Symlink(to, name+"/"+link))
		}
	}
	if err == nil {
		g.made[at] = name
	}
	return name, err
}

// show makes the calling thread's copy of the ground what bounds say. The thread is in a mount
// namespace of its own. Everything that is to be seen is cloned first, then the world becomes
// read-only in one call, and then the clones are attached. A mount point cannot be renamed,
// replaced or removed by those who see it.
func (g *ground) show(b *Bounds) error {
	world := b.Policy.At("/")
	if world != confine.Read && world != confine.Write || b.Policy.At(scratchAt) != confine.Private {
		return errors.New("no rule gives the whole file system and a /proc")
	}
	steps, err := g.steps(b.Policy)
	if err != nil {
		return err
	}
	trees := make(map[string]int, len(steps))
	defer func() {
		for _, tree := range trees {
			_ = unix.Close(tree)
		}
	}()
	for _, s := range steps {
		tree, err := g.clone(s, b)
		switch {
		case absent(err):
		case err != nil:
			return fmt.Errorf("%s: %w", s.Path, err)
		default:
			trees[s.Path] = tree
		}
	}
	if world == confine.Read {
		if err := restrict(unix.AT_FDCWD, "/", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return fmt.Errorf("make everything read-only: %w", err)
		}
	}
	for _, s := range steps {
		if tree, ok := trees[s.Path]; ok {
			if err := g.attach(s, tree); err != nil {
				return fmt.Errorf("%s: %w", s.Path, err)
			}
		}
	}
	return nil
}

// clone takes the mount that a step attaches, with all mounts below it. In place of a link there is
// the file that it leads to, where the policy lets that be read.
func (g *ground) clone(s step, b *Bounds) (tree int, err error) {
	at, stat, err := open(cmp.Or(s.from, s.Path))
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(at) }()
	if mark := b.Marks[s.Path]; mark != (Mark{}) && mark != markOf(&stat) {
		return -1, errors.New("it is another one than was allowed")
	}
	kind := stat.Mode & unix.S_IFMT
	if s.from == "" || kind == unix.S_IFLNK {
		_ = unix.Close(at)
		switch {
		case kind == unix.S_IFDIR:
			at, _, err = open(path.Join(scratchAt, hiddenFolder))
		case s.from == "":
			at, _, err = open(path.Join(scratchAt, hiddenFile))
		default:
			s.Access = confine.Read
			at, err = g.follow(s.Path, b.Policy)
		}
		if err != nil {
			return -1, err
		}
	}
	tree, err = unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("clone its mount: %w", err)
	}
	attributes := uint64(unix.MOUNT_ATTR_NOSUID)
	if s.Access == confine.Read || s.Access == confine.Hidden {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	if s.Access != confine.Private && kind != unix.S_IFCHR { // private are also the terminals of the namespaces
		attributes |= unix.MOUNT_ATTR_NODEV
	}
	if err := restrict(tree, "", attributes); err != nil {
		_ = unix.Close(tree)
		return -1, fmt.Errorf("restrict its mount: %w", err)
	}
	return tree, nil
}

// attach shows a clone at the path of its step. What is not there any more needs none.
func (g *ground) attach(s step, tree int) error {
	if s.place != "" {
		if err := g.makePlace(s.place, tree); err != nil {
			return err
		}
	}
	at, _, err := open(s.Path)
	if absent(err) && s.place == "" {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// makePlace makes what a clone can be attached to, a folder or a file as it is one itself.
func (g *ground) makePlace(name string, tree int) error {
	var s unix.Stat_t
	if err := unix.Fstat(tree, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_IFMT == unix.S_IFDIR {
		return g.scratch.MkdirAll(name, 0o755)
	}
	if err := g.scratch.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := g.scratch.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	return err
}

// absent is for what is not there.
func absent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// open names what is at a path, a link itself included. No link on the way is followed.
func open(name string) (at int, s unix.Stat_t, err error) {
	at, err = unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err == nil {
		err = unix.Fstat(at, &s)
	}
	if err != nil && at >= 0 {
		_ = unix.Close(at)
		at = -1
	}
	return at, s, err
}

// follow names the file that a link leads to, where a policy lets that be read, otherwise what
// hides. No folder can be attached in the place of a link: where .git leads to one, a file says so,
// which is the same for git.
func (g *ground) follow(link string, p confine.Policy) (at int, err error) {
	var s unix.Stat_t
	if at, err = unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
		target, err := os.Readlink(path.Join(scratchAt, kernels["/proc"].name, "self/fd", strconv.Itoa(at)))
		access := p.At(target)
		if err == nil && unix.Fstat(at, &s) == nil && (access == confine.Read || access == confine.Write) {
			switch {
			case s.Mode&unix.S_IFMT == unix.S_IFREG:
				return at, nil
			case path.Base(link) == ".git":
				_ = unix.Close(at)
				return g.pointer(link, target)
			}
		}
		_ = unix.Close(at)
	}
	at, _, err = open(path.Join(scratchAt, hiddenFile))
	return at, err
}

// pointer makes a file by which git finds a repository from where a link stands.
func (g *ground) pointer(link, repository string) (at int, err error) {
	name, ok := g.made[link]
	if !ok {
		name = strconv.Itoa(len(g.made))
		g.made[link] = name
	}
	if err := g.scratch.WriteFile(name, []byte("gitdir: "+repository+"\n"), 0o644); err != nil {
		return -1, err
	}
	at, _, err = open(path.Join(scratchAt, name))
	return at, err
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

// listen gives a socket that listens at ProxyAddress. Whoever has it accepts connections of the
// network namespace.
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
