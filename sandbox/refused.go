package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"tandem/sandbox/confine"
)

// Refusal is why a confined command may not change, or not see, what is at a path. The zero value
// is that its policy does not refuse it.
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

// Refuses looks a path up in the policy of commands of a profile that begin in the folder dir, at a
// level.
func (p *Paths) Refuses(profile Profile, level, dir, path string) Refusal {
	full := level == LevelFull
	if !full && level != LevelPart {
		return 0
	}
	path = Canonical(path)
	rules := policy(profile, Surroundings{Paths: p}, dir, full, "", "")
	written := func(r confine.Rule) bool {
		return r.Access == confine.Write && (confine.Policy{Rules: []confine.Rule{r}}).At(path) > 0
	}
	if !full && slices.ContainsFunc(rules.Rules, written) {
		return 0 // Landlock takes nothing away below what may be written
	}
	switch rules.At(path) {
	case confine.Hidden:
		if there(path) {
			return Hidden
		}
	case confine.Read:
		switch {
		case !full && !legible(path): // so nobody knows who refuses it
		case rootOf(p.write, path) == "":
			return Outside
		case profile == ReadOnly:
			return Still
		default:
			return Protected
		}
	}
	return 0
}

// legible reports whether the user may read what is at a path, if anything is.
func legible(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return errors.Is(err, fs.ErrNotExist)
	}
	f, err := os.Open(path)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
}
