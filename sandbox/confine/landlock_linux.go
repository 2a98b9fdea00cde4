package confine

import (
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock must offer. The ABI of a kernel is the version of what it knows, see ABI.
const (
	// LeastABI is enough beside namespaces: files can be moved between folders from ABI 2 on (Linux
	// 5.19). Truncation (3) and signals (6) are held by the mounts and the PID namespace.
	LeastABI = 2
	// LeastABIAlone is enough without them: signals to other processes are bounded from ABI 6 on
	// (Linux 6.12).
	LeastABIAlone = 6
)

// The rights that Landlock knows for files. Making devices is given to nobody.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	writeRights = math.MaxUint64 &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
)

// rightsOf are the rights for files that an ABI handles.
func rightsOf(abi int) uint64 {
	all := uint64(1)<<13 - 1
	if abi >= 2 {
		all |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		all |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		all |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return all
}

// ABI gives the version of Landlock that the kernel has. An error means that it has none, or that
// it is switched off.
func ABI() (int, error) {
	abi, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if no != 0 {
		return 0, fmt.Errorf("the kernel has no Landlock: %w", no)
	}
	return int(abi), nil
}

// Landlock keeps the ruleset of the last policy for the next command. A rule of Landlock is about an
// inode, so a ruleset is valid while the policy is the same, its paths lead to the same inodes, and
// no folder that was listed for it has changed. A stale one would give less than the policy, never
// more: what came into a folder has no rule. It is not safe for concurrent use. The zero value is
// ready.
type Landlock struct {
	policy     Policy
	namespaces bool
	fd         int // valid if seen is not nil
	seen       []seenPath
}

// seenPath is what a path led to when a ruleset was made.
type seenPath struct {
	path   string
	listed bool // it is a folder whose names have become rules
	stat   unix.Stat_t
	absent bool
}

// young is how old the last change of a folder must be at least when it is listed: a later change
// within the resolution of its time would not be noticed.
const young = time.Second

func seenAt(path string, listed bool) (s seenPath) {
	s.path, s.listed = path, listed
	s.absent = unix.Lstat(path, &s.stat) != nil
	return s
}

// same reports whether the path leads to the same, and a listed folder has the same names.
func (s seenPath) same() bool {
	now := seenAt(s.path, s.listed)
	switch {
	case s.absent || now.absent:
		return s.absent == now.absent && !s.listed
	case s.stat.Dev != now.stat.Dev || s.stat.Ino != now.stat.Ino || s.stat.Mode != now.stat.Mode:
		return false
	}
	return !s.listed || s.stat.Mtim == now.stat.Mtim && s.stat.Ctim == now.stat.Ctim
}

// settled reports whether a later change of a listed folder will be noticed.
func (s seenPath) settled(now time.Time) bool {
	return !s.listed || !s.absent && now.Sub(time.Unix(s.stat.Ctim.Unix())) > young
}

// valid reports whether the kept ruleset is the one of a policy.
func (l *Landlock) valid(p Policy, namespaces bool) bool {
	return l.seen != nil && l.namespaces == namespaces && l.policy.Network == p.Network && slices.Equal(l.policy.Rules, p.Rules) &&
		!slices.ContainsFunc(l.seen, func(s seenPath) bool { return !s.same() })
}

// forget closes the kept ruleset.
func (l *Landlock) forget() {
	if l.seen != nil {
		_ = unix.Close(l.fd)
		l.seen = nil
	}
}

// ruleset gives the descriptor of a ruleset that gives what a policy gives. It is valid until the
// next call.
func (l *Landlock) ruleset(p Policy, namespaces bool) (fd int, err error) {
	if l.valid(p, namespaces) {
		return l.fd, nil
	}
	l.forget()
	now := time.Now()
	seen := make([]seenPath, 0, 2*len(p.Rules))
	for _, r := range p.Rules {
		seen = append(seen, seenAt(r.Path, false))
	}
	if fd, err = landlock(p, namespaces, func(dir string) []string {
		seen = append(seen, seenAt(dir, true))
		return list(dir)
	}); err != nil {
		return -1, err
	}
	l.policy, l.namespaces, l.fd, l.seen = p, namespaces, fd, seen
	l.policy.Rules = slices.Clone(p.Rules)
	if slices.ContainsFunc(seen, func(s seenPath) bool { return !s.settled(now) }) {
		l.policy.Rules = nil // of this command alone: no policy is without rules
	}
	return fd, nil
}

// landlock gives the descriptor of a ruleset that gives what a policy gives. All rights that the
// kernel knows are handled, so that what no rule gives is refused. list gives the names in a folder,
// without links.
func landlock(p Policy, namespaces bool, list func(dir string) []string) (ruleset int, err error) {
	abi, err := ABI()
	if err != nil {
		return -1, err
	}
	attr, err := rulesetOf(abi, p.Network, namespaces)
	if err != nil {
		return -1, err
	}
	fd, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if no != 0 {
		return -1, no
	}
	for _, g := range grants(p, namespaces, list) {
		if err := allow(int(fd), g, attr.Handled_access_fs); err != nil {
			_ = unix.Close(int(fd))
			return -1, fmt.Errorf("%s: %w", g.path, err)
		}
	}
	return int(fd), nil
}

// rulesetOf is what a ruleset handles: all that the ABI knows. Where there is a network namespace
// it holds the network, and TCP is refused only if there is to be none.
func rulesetOf(abi int, network Network, namespaces bool) (attr unix.LandlockRulesetAttr, err error) {
	least := LeastABIAlone
	if namespaces {
		least = LeastABI
	}
	if abi < least {
		return attr, fmt.Errorf("the kernel has ABI %d, and %d is the least", abi, least)
	}
	attr.Handled_access_fs = rightsOf(abi)
	if abi >= 4 && (network == NoNetwork || !namespaces) {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr, nil
}

// grant is what Landlock gives: rights for a path and everything below it.
type grant struct {
	path   string
	rights uint64
}

// grants are what a policy gives, in terms of Landlock: a grant holds for everything below its
// path, and nothing can be taken away from it. So a folder that is read but for hidden ones below
// it is replaced by what is in it. Beside mounts, which put something empty over what is hidden, it
// can be listed nevertheless. A folder that may be written is given as a whole, and the rules below
// it change nothing. list gives the names in a folder, without links.
func grants(p Policy, namespaces bool, list func(dir string) []string) (out []grant) {
	rules := p.sorted()
	for i, r := range rules {
		if r.Access == Private {
			rules[i].Access = Hidden
			if namespaces {
				rules[i].Access = Write
			}
		}
	}
	all := slices.Clone(rules)
	rules = slices.DeleteFunc(rules, func(r Rule) bool {
		return slices.ContainsFunc(all, func(o Rule) bool { return o.Access == Write && o.Path != r.Path && covers(o.Path, r.Path) })
	})
	hiddenBelow := func(dir string) bool {
		return slices.ContainsFunc(rules, func(r Rule) bool { return r.Access == Hidden && r.Path != dir && covers(dir, r.Path) })
	}
	var read func(name string)
	read = func(name string) {
		if !hiddenBelow(name) {
			out = append(out, grant{name, readRights})
			return
		}
		names := list(name)
		for _, r := range rules { // where the folder cannot be listed
			if rest, below := strings.CutPrefix(r.Path, strings.TrimSuffix(name, "/")+"/"); below {
				first, _, _ := strings.Cut(rest, "/")
				names = append(names, first)
			}
		}
		slices.Sort(names)
		for _, n := range slices.Compact(names) {
			child := path.Join(name, n)
			if !slices.ContainsFunc(rules, func(r Rule) bool { return r.Path == child }) {
				read(child)
			}
		}
	}
	for _, r := range rules {
		switch r.Access {
		case Write:
			out = append(out, grant{r.Path, writeRights})
		case Read:
			if namespaces && hiddenBelow(r.Path) {
				out = append(out, grant{r.Path, unix.LANDLOCK_ACCESS_FS_READ_DIR})
			}
			read(r.Path)
		}
	}
	return out
}

// list gives the names in a folder without those of links, nothing where it cannot be listed.
func list(dir string) (names []string) {
	fd, err := open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
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

// open opens a path without following a link in any part of it.
func open(path string, flags uint64) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

// allow adds a grant to a ruleset. What is not there, is a link or cannot be reached gets no
// rights.
func allow(ruleset int, g grant, handled uint64) error {
	fd, err := open(g.path, unix.O_PATH|unix.O_NOFOLLOW)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
		return nil
	default:
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	rights := g.rights & handled
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK, unix.S_IFSOCK:
		return nil
	default:
		rights &= fileRights
	}
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if no != 0 {
		return no
	}
	return nil
}

// restrictSelf puts the calling thread, and what it starts, under a ruleset. It needs no_new_privs.
func restrictSelf(ruleset int) error {
	if _, _, no := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); no != 0 {
		return no
	}
	return nil
}
