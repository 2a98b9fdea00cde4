package keeper

import (
	"bufio"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// access makes the mounts that Bounds.Switched names read-only, or lets them be written again: all
// of them or none. The kernel itself sees to it that no open file, and no mapping of one, writes to
// a mount that is read-only. 0 is success.
func (k *guard) access(spec *Spec, write bool) syscall.Errno {
	if k.mounts == nil || spec.Bounds == nil {
		return unix.ENOTSUP
	}
	done := make(chan error)
	go func() { // the thread ends with this goroutine: it is in the command's namespace
		runtime.LockOSThread()
		done <- k.remount(*spec.Bounds, write)
	}()
	err := <-done
	if err == nil {
		return 0
	}
	if no, plain := err.(syscall.Errno); plain {
		return no
	}
	return unix.EIO
}

// remount does the work of access in the calling thread, which it moves to the namespace of the
// command's mounts.
func (k *guard) remount(b Bounds, write bool) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Setns(int(k.mounts.Fd()), unix.CLONE_NEWNS); err != nil {
		return err
	}
	if !write {
		if err := covered(b); err != nil {
			return err
		}
	}
	for i, at := range b.Switched {
		if err := readOnly(at, !write); err != nil {
			for _, done := range b.Switched[:i] {
				_ = readOnly(done, write)
			}
			return err
		}
	}
	return nil
}

// readOnly sets or clears the attribute of the one mount at a path.
func readOnly(path string, on bool) error {
	at, _, err := open(path)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	attributes := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	if on {
		attributes = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	}
	return unix.MountSetattr(at, "", unix.AT_EMPTY_PATH, &attributes)
}

// covered fails where a file system is mounted below a switched path that no rule names: it would
// stay writable.
func covered(b Bounds) error {
	f, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			return unix.EINVAL
		}
		at := unescaped(fields[4])
		ruled := slices.ContainsFunc(b.Policy.Rules, func(r confine.Rule) bool { return r.Path == at })
		if !ruled && slices.ContainsFunc(b.Switched, func(s string) bool { return strings.HasPrefix(at, s+"/") }) {
			return unix.EXDEV
		}
	}
	return lines.Err()
}

// unescaped is a path of mountinfo, in which blanks and the like are octal numbers.
func unescaped(s string) string {
	before, rest, found := strings.Cut(s, `\`)
	if !found || len(rest) < 3 {
		return s
	}
	n, err := strconv.ParseUint(rest[:3], 8, 8)
	if err != nil {
		return s
	}
	return before + string([]byte{byte(n)}) + unescaped(rest[3:])
}

// forget closes the seccomp listener of a command that has ended.
func (k *guard) forget() {
	if k.listener != nil {
		_ = k.listener.Close()
		k.listener = nil
	}
	if k.mounts != nil {
		_ = k.mounts.Close()
		k.mounts = nil
	}
}
