package confine

import (
	"fmt"
	"path"
	"strings"
)

// basics is what each program needs of macOS, and no more: what is not named is denied. Services
// are looked up by their names; those that start programs, open documents or send events to other
// programs are none of these.
const basics = `(version 1)
(deny default)
(allow process-exec process-fork)
(allow process-info* signal (target same-sandbox))
(allow sysctl-read)
(allow file-ioctl file-test-existence)
(allow pseudo-tty)
(allow ipc-posix-sem)
(allow system-socket (socket-domain AF_UNIX))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.logd"))
`

// Seatbelt gives a policy in the language of sandbox-exec, macOS's seatbelt. Of the rules of a
// profile the last one that fits decides, so those of the policy stand in the order of their paths,
// and the one with the longest path is the last.
//
// There are neither mounts nor namespaces: Private is Hidden, and each network is NoNetwork, as a
// policy says of such systems. What is a mount point elsewhere is pinned here: neither it nor a
// folder between it and the folder that may be written above it can be renamed or removed. Limits
// are not part of it.
func (p Policy) Seatbelt() (string, error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	var b, pins strings.Builder
	b.WriteString(basics)
	rules := p.sorted()
	for _, r := range rules {
		where := "(subpath " + quoted(r.Path) + ")"
		switch r.Access {
		case Read:
			fmt.Fprintf(&b, "(allow file-read* %s)\n(deny file-write* %s)\n", where, where)
		case Write:
			fmt.Fprintf(&b, "(allow file-read* file-write* %s)\n", where)
		case Hidden, Private:
			fmt.Fprintf(&b, "(deny file-read* file-write* %s)\n", where)
		}
	}
	pinned := map[string]bool{}
	for _, r := range rules {
		for at := r.Path; at != "/" && !pinned[at]; at = path.Dir(at) {
			if above := p.At(path.Dir(at)); above != Write {
				break // it can be neither renamed nor removed anyway
			}
			pinned[at] = true
			fmt.Fprintf(&pins, "(deny file-write-unlink (literal %s))\n", quoted(at))
		}
	}
	return b.String() + pins.String(), nil
}

// quoted writes a path as a text of the language, in which a backslash and a quotation mark are
// written with a backslash before them. Paths hold no NUL byte; every other byte stands for itself.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
