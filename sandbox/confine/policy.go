// Package confine is the one description of what a command may reach, the Policy, and restricts a
// thread to it with what the kernel offers for a thread: capabilities, resource limits, Landlock
// and seccomp.
//
// Everything that enforces a policy is derived from the same value: the mounts that the keeper
// makes, the Landlock rules and the seccomp filter here, and what other systems have instead.
package confine

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Policy says what a command may reach. It is plain data: whoever runs commands makes one, and
// nothing changes it afterwards. Two policies are the same if their Encode is; that is also how a
// policy gets to another process and the key of a cache.
type Policy struct {
	// Rules say what may be done with files: for each file the rule with the longest path at or
	// above it decides alone, whatever the order of the rules. What no rule is about cannot be
	// reached, so a policy begins with {"/", Read} or lists all that a program needs.
	//
	// So "the workspace may be written, its Git hooks only read, and keys in the home folder not
	// even that" is
	//
	//	{"/", Read}, {"/home/u/.ssh", Hidden}, {"/home/u/app", Write}, {"/home/u/app/.git", Write}, {"/home/u/app/.git/hooks", Read}
	//
	// Paths are absolute, clean and canonical (no link on the way to the last name), hold no NUL
	// byte, and each has one rule. A path need not exist: then the rule says that it does not come
	// into being other than with that access.
	//
	// Where there are mounts, each path of a rule below a Write folder is a mount point, which
	// cannot be renamed, replaced or removed. That is what the rule for .git above is for: without
	// it the folder above the hooks could be renamed, and another one made with hooks of its own.
	// Landlock alone cannot take away what it gives above: below a Write folder it does not enforce
	// Read and Hidden.
	Rules []Rule
	// Network is what sockets reach.
	Network Network
	// Limits are those of each process, where they are above zero.
	Limits Limits
}

// Rule is what may be done with a path and all that lies below it.
type Rule struct {
	Path   string
	Access Access
}

// Access is what may be done with a file or a folder. The order is that of the rights.
type Access uint8

// The kinds of access.
const (
	// Hidden is neither read nor listed: an empty folder or an empty file stands in its place, or
	// opening it fails.
	Hidden Access = iota + 1
	// Read is read, listed and executed.
	Read
	// Write is also changed, made, renamed and removed.
	Write
	// Private is written, and begins as an empty folder that no other command shares and that ends
	// with the command, as for /tmp. Where there are no mounts it is Hidden.
	Private
)

// Network is what the sockets of a command reach. None of them reaches a socket of the host's file
// system or an abstract one; pairs of connected sockets (socketpair) are always there.
type Network uint8

// The networks.
const (
	// NoNetwork has no sockets at all.
	NoNetwork Network = iota + 1
	// Loopback has TCP and UDP in a network namespace of the command's own, in which there is
	// nothing but a loopback interface: servers and clients of one command reach each other. Where
	// there is no such namespace it is NoNetwork.
	Loopback
	// Proxy is Loopback, with a proxy of ours listening there that decides about each host. Where
	// there is no namespace it is NoNetwork.
	Proxy
)

// Limits bound each process of a command. Zero leaves a limit as it is. Dumps of memory (core
// files) are always off.
type Limits struct {
	// Files is how many files a process may have open (RLIMIT_NOFILE).
	Files uint64
	// Processes is how many processes and threads may run at once (RLIMIT_NPROC). The kernel counts
	// those of a user within a user namespace; without one it would count all that the user runs,
	// and is not set.
	Processes uint64
	// FileSize is how large a file may become, in bytes (RLIMIT_FSIZE).
	FileSize uint64
}

// At gives the access that a clean absolute path has, 0 where no rule is about it.
func (p Policy) At(name string) (a Access) {
	longest := 0
	for _, r := range p.Rules {
		if len(r.Path) > longest && covers(r.Path, name) {
			a, longest = r.Access, len(r.Path)
		}
	}
	return a
}

// covers says that a path is dir or lies below it.
func covers(dir, name string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// sorted are the rules by their paths, each after all that lie above it.
func (p Policy) sorted() []Rule {
	return slices.SortedFunc(slices.Values(p.Rules), func(a, b Rule) int { return cmp.Compare(a.Path, b.Path) })
}

// Check says what keeps a policy from being enforced.
func (p Policy) Check() error {
	rules := p.sorted()
	for i, r := range rules {
		switch {
		case !path.IsAbs(r.Path) || path.Clean(r.Path) != r.Path || strings.ContainsRune(r.Path, 0):
			return fmt.Errorf("a rule of the sandbox is about %q, which is no clean absolute path", r.Path)
		case r.Access < Hidden || r.Access > Private:
			return fmt.Errorf("a rule of the sandbox gives no access that there is to %q", r.Path)
		case i > 0 && rules[i-1].Path == r.Path:
			return fmt.Errorf("two rules of the sandbox are about %q", r.Path)
		}
	}
	if p.Network < NoNetwork || p.Network > Proxy {
		return errors.New("a policy of the sandbox does not say what its network is")
	}
	return nil
}

// Encode gives a policy as text, the same for the same policy. It holds NUL bytes between its
// parts; see Decode.
func (p Policy) Encode() string {
	parts := []string{strconv.Itoa(int(p.Network))}
	for _, n := range []uint64{p.Limits.Files, p.Limits.Processes, p.Limits.FileSize} {
		parts = append(parts, strconv.FormatUint(n, 10))
	}
	for _, r := range p.sorted() {
		parts = append(parts, strconv.Itoa(int(r.Access))+r.Path)
	}
	return strings.Join(parts, "\x00")
}

// Decode reads what Encode gives. The policy is one that Check accepts.
func Decode(s string) (p Policy, err error) {
	parts := strings.Split(s, "\x00")
	if len(parts) < 4 {
		return Policy{}, errors.New("this is no policy of the sandbox")
	}
	var n [4]uint64
	for i := range n {
		if n[i], err = strconv.ParseUint(parts[i], 10, 64); err != nil {
			return Policy{}, fmt.Errorf("this is no policy of the sandbox: %w", err)
		}
	}
	p.Network = Network(min(n[0], 255))
	p.Limits = Limits{n[1], n[2], n[3]}
	for _, part := range parts[4:] {
		if part == "" {
			return Policy{}, errors.New("this is no policy of the sandbox: a rule is empty")
		}
		p.Rules = append(p.Rules, Rule{Path: part[1:], Access: Access(part[0] - '0')})
	}
	if err := p.Check(); err != nil {
		return Policy{}, err
	}
	return p, nil
}
