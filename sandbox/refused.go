package sandbox

import (
	"tandem/sandbox/confine"
)

// Refusal is why a command at LevelFull may not change, or not see, what is at a path. The zero value is that its policy does not refuse it.
type Refusal uint8

// The refusals.
const (
	// Hidden is there and cannot be seen.
	Hidden Refusal = iota + 1
	// Outside lies in no folder that commands may write.
	Outside
	// Protected lies in such a folder, and is executed later, or says what is.
	Protected
	// Still lies in such a folder too, but the command only reads.
	Still
)

// Refuses looks a path up in the policy of commands of a profile that begin in the folder dir.
func (p *Paths) Refuses(profile Profile, dir, path string) Refusal {
	path = Canonical(path)
	switch policy(profile, Surroundings{Paths: p}, dir, true, "", "").At(path) {
	case confine.Hidden:
		if there(path) {
			return Hidden
		}
	case confine.Read:
		switch {
		case rootOf(p.write, path) == "":
			return Outside
		case profile == ReadOnly:
			return Still
		}
		return Protected
	}
	return 0
}
