package planted

import (
	"fmt"
	"strings"

	"tandem/sandbox"
)

// Guard is one command's look at the workspace.
type Guard struct {
	Paths      *sandbox.Paths
	Quarantine *Quarantine // nil moves nothing, and all is told
	// Session and Call are whose command it is. Name writes a path for a text.
	Session, Call string
	Name          func(path string) string

	before *Listing
}

// Begin lists what is there. It is called before the command is started.
func (g *Guard) Begin() { g.before = Look(g.Paths, MaxEntries) }

// End finds what the command has planted, moves it away, and says so in whole sentences. It is called after the command has ended and
// before anything else is done.
func (g *Guard) End() (said []string) {
	after := Look(g.Paths, MaxEntries)
	var moved, back, mended, left, failed []string
	count := 0
	for _, f := range Compare(g.before, after) {
		name := g.Name(f.Path)
		if len(f.Why) > 0 {
			keys := make([]string, len(f.Why))
			for i, why := range f.Why {
				keys[i] = why.Key
			}
			name += " (" + strings.Join(keys, ", ") + ")"
		}
		switch {
		case f.Action == Count:
			count++
		case f.Action == Tell, g.Quarantine == nil:
			left = append(left, name)
		case f.Action == Mend:
			if err := mend(f); err != nil {
				failed = append(failed, fmt.Sprintf("%s (%v)", name, err))
			} else {
				mended = append(mended, name)
			}
		default:
			if _, err := g.Quarantine.Take(f, g.Session, g.Call); err != nil {
				failed = append(failed, fmt.Sprintf("%s (%v)", name, err))
			} else if f.Action == Revert {
				back = append(back, name)
			} else {
				moved = append(moved, name)
			}
		}
	}
	const later = "programs of the user execute or read it later, outside of the sandbox"
	if len(moved) > 0 {
		said = append(said, fmt.Sprintf("The command made %s. That was moved into quarantine: %s. "+
			"Do not make it again: the user puts it back by `tandem quarantine restore`.", listed(moved), later))
	}
	if len(back) > 0 {
		said = append(said, fmt.Sprintf("The command changed %s. The former text was put back, and the new one is in quarantine: %s. "+
			"Do not change it again: the user gets the new text by `tandem quarantine list`.", listed(back), later))
	}
	if len(mended) > 0 {
		said = append(said, fmt.Sprintf("The command removed %s, without which git takes another folder as the repository: it was put back.", listed(mended)))
	}
	if len(failed) > 0 {
		said = append(said, fmt.Sprintf("The command made or changed %s, which could not be moved into quarantine: %s. Tell the user.", listed(failed), later))
	}
	if len(left) > 0 {
		said = append(said, fmt.Sprintf("The command made or changed %s, which was left as it is: %s. Tell the user.", listed(left), later))
	}
	if count > 0 {
		said = append(said, fmt.Sprintf("In folders that the command made are files that editors, shells or agents read (%d): they were left as they are.", count))
	}
	if g.before.Cut || after.Cut {
		said = append(said, fmt.Sprintf("The workspace has more than %d entries: the deepest folders were not searched for files that are executed later.", MaxEntries))
	}
	return said
}

// listed are names in one line, the first few of many.
func listed(names []string) string {
	const most = 10
	if over := len(names) - most; over > 0 {
		names = append(names[:most:most], fmt.Sprintf("%d more", over))
	}
	return strings.Join(names, ", ")
}
