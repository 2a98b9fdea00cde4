package keeper

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// Bounds are what a keeper confines a command to. In namespaces the policy is made of mounts too;
// without them Landlock and seccomp hold alone, see confine.Restrict.
type Bounds struct {
	// Policy has its rules sorted by their paths.
	Policy confine.Policy
	// Marks say, for paths of rules, which file or folder it must be that stands there.
	Marks map[string]Mark
	// Switched are paths of rules that let write, which Keeper.Access makes read-only and back
	// while the command runs. In namespaces alone.
	Switched []string
}

// Mark tells a file or a folder from all others. The zero value is none.
type Mark struct{ Dev, Ino uint64 }

func markOf(s *unix.Stat_t) Mark { return Mark{s.Dev, s.Ino} }

// encode gives the bounds as text: nothing for none, else the policy and the mark of each of its
// rules.
func (b *Bounds) encode() string {
	if b == nil {
		return ""
	}
	fields := []string{b.Policy.Encode(), string(join(b.Switched))}
	for _, r := range b.Policy.Rules {
		m := b.Marks[r.Path]
		fields = append(fields, string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, m.Dev), m.Ino)))
	}
	return string(join(fields))
}

func decodeBounds(s string) (*Bounds, error) {
	if s == "" {
		return nil, nil
	}
	fields, err := split([]byte(s))
	if err != nil || len(fields) < 2 {
		return nil, errMessage
	}
	b := &Bounds{Marks: map[string]Mark{}}
	if b.Policy, err = confine.Decode(fields[0]); err != nil {
		return nil, err
	}
	if b.Switched, err = split([]byte(fields[1])); err != nil {
		return nil, err
	}
	sorted := slices.IsSortedFunc(b.Policy.Rules, func(x, y confine.Rule) int { return strings.Compare(x.Path, y.Path) })
	if marks := fields[2:]; !sorted || len(marks) != len(b.Policy.Rules) {
		return nil, errMessage
	}
	for i, m := range fields[2:] {
		if len(m) != 16 {
			return nil, errMessage
		}
		b.Marks[b.Policy.Rules[i].Path] = Mark{binary.BigEndian.Uint64([]byte(m)), binary.BigEndian.Uint64([]byte(m[8:]))}
	}
	return b, nil
}
