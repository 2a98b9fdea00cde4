package keeper

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// Bounds are what a keeper confines its commands to.
type Bounds struct {
	// Policy has its rules sorted by their paths.
	Policy confine.Policy
	// Namespaces says that the keeper is pid 1 of mount, PID, IPC and network namespaces of its own, in which the policy is made
	// of mounts. Without them Landlock and seccomp hold alone, see confine.Restrict.
	Namespaces bool
	// Marks say, for paths of rules, which file or folder it must be that stands there.
	Marks map[string]Mark
	// UID and GID are those of the server.
	UID, GID int
}

// Mark tells a file or a folder from all others. The zero value is none.
type Mark struct{ Dev, Ino uint64 }

func markOf(s *unix.Stat_t) Mark { return Mark{s.Dev, s.Ino} }

// encode gives the bounds as text, the same for the same bounds.
func (b *Bounds) encode() string {
	if b == nil {
		return ""
	}
	var marks strings.Builder
	for _, r := range b.Policy.Rules {
		m := b.Marks[r.Path]
		fmt.Fprintf(&marks, "%x,%x;", m.Dev, m.Ino)
	}
	return fmt.Sprintf("%t %d %d %s %s", b.Namespaces, b.UID, b.GID, marks.String(), b.Policy.Encode())
}

func decodeBounds(s string) (*Bounds, error) {
	parts := strings.SplitN(s, " ", 5)
	if len(parts) != 5 {
		return nil, errMessage
	}
	b := &Bounds{Marks: map[string]Mark{}}
	var err error
	if b.Policy, err = confine.Decode(parts[4]); err != nil {
		return nil, err
	}
	if _, err := fmt.Sscan(strings.Join(parts[:3], " "), &b.Namespaces, &b.UID, &b.GID); err != nil {
		return nil, errMessage
	}
	marks := strings.Split(strings.TrimSuffix(parts[3], ";"), ";")
	if len(marks) != len(b.Policy.Rules) || !slices.IsSortedFunc(b.Policy.Rules, func(x, y confine.Rule) int { return strings.Compare(x.Path, y.Path) }) {
		return nil, errMessage
	}
	for i, r := range b.Policy.Rules {
		var m Mark
		if _, err := fmt.Sscanf(marks[i], "%x,%x", &m.Dev, &m.Ino); err != nil {
			return nil, errMessage
		}
		if m != (Mark{}) {
			b.Marks[r.Path] = m
		}
	}
	return b, nil
}
