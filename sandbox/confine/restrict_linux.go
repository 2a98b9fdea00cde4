package confine

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Restrict restricts the calling thread, and every program that is started from it, to a policy;
// nothing takes that back. The caller has locked its goroutine to the thread, starts one command
// from it, and lets the thread end with the goroutine. The folder to start in is entered before:
// the thread has no capabilities afterwards.
//
// namespaces says that the process is in mount, PID, IPC and network namespaces of its own that
// were made for this policy. Without them Landlock and seccomp hold alone: there are no sockets
// then, whatever the policy's network is, Private is Hidden, and what Policy says of Landlock alone
// holds.
//
// Resource limits are those of the whole process, which therefore has one policy.
//
// listener is the descriptor of seccomp notifications, to be served with Refuse while the command
// runs; -1 if there is none.
//
// An error says which layer the kernel refused. Nothing may be started from the thread then.
func (l *Landlock) Restrict(p Policy, namespaces bool) (listener int, err error) {
	if err := p.Check(); err != nil {
		return -1, err
	}
	rules, err := l.ruleset(p, namespaces)
	if err != nil {
		return -1, fmt.Errorf("landlock: %w", err)
	}
	return restrict(p, namespaces, rules)
}

// restrict restricts the thread, to a ruleset of Landlock among others.
func restrict(p Policy, namespaces bool, rules int) (listener int, err error) {
	if err := limit(p.Limits, namespaces); err != nil {
		return -1, fmt.Errorf("resource limits: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("no_new_privs: %w", err)
	}
	if err := DropCapabilities(); err != nil {
		return -1, fmt.Errorf("capabilities: %w", err)
	}
	if err := restrictSelf(rules); err != nil {
		return -1, fmt.Errorf("landlock: %w", err)
	}
	if listener, err = seccomp(p.Network, namespaces); err != nil {
		return -1, fmt.Errorf("seccomp: %w", err)
	}
	return listener, nil
}

// limit sets the resource limits of this process, both the soft and the hard ones.
func limit(l Limits, namespaces bool) error {
	if !namespaces {
		l.Processes = 0
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	for which, most := range map[int]uint64{
		unix.RLIMIT_NOFILE: l.Files, unix.RLIMIT_NPROC: l.Processes, unix.RLIMIT_FSIZE: l.FileSize,
	} {
		var have unix.Rlimit
		if most == 0 {
			continue
		}
		if err := unix.Getrlimit(which, &have); err != nil {
			return err
		}
		most = min(most, have.Max) // a hard limit that is lower already stays
		if err := unix.Setrlimit(which, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// DropCapabilities takes all capabilities from the calling thread and from the programs that are
// started from it, also as root: with them they could read the memory, the environment and the
// messages of the server. Only what a set-user-ID program gets is left where this process may not
// bound it, and no_new_privs is not set.
func DropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return err
	}
	if have[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); ; c++ {
			has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
			if err != nil { // the kernel has no more
				break
			}
			if has == 0 {
				continue
			}
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return err
			}
		}
	}
	none := [2]unix.CapUserData{}
	defer runtime.KeepAlive(&none)
	return unix.Capset(&header, &none[0]) // the ambient ones go with the inheritable ones
}
