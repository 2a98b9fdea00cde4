package autorun

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/sandbox"
)

// Guard looks after the workspace of a session while its commands and servers run. What comes to
// stand there from the beginning of the first of them to the end of the last is theirs, if nobody
// else is known to have written it. A nil Guard looks at nothing. All methods may be called
// concurrently.
type Guard struct {
	Paths      *sandbox.Paths
	Quarantine *Quarantine // nil moves nothing, and all is told
	Session    string
	// Name writes a path for a text.
	Name func(path string) string
	// Wrote says that a person or another tool has written a file as it is now, since a time. nil
	// says so of none.
	Wrote func(path, content string, since time.Time) bool
	Now   func() time.Time // may be nil where Wrote is
	// MaxEntries is how many entries are looked at, 0 for 200,000.
	MaxEntries int

	mu          sync.Mutex
	looker      *looker
	running     []string        // who, as in Begin
	begun       time.Time       // of the first that runs
	before      *listing        // what is there by right
	first       map[string]bool // the repositories of the first look
	cutReported bool            // since the first that runs
}

// Begin is called before a command or a server is started, and each Begin has its End with the same
// who: a noun for the middle of a sentence, or "" for a command. It says what those that still run
// have planted.
func (g *Guard) Begin(call, who string) (said []string) {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) > 0 {
		said = g.sweep(call) // before who can have done anything
		g.running = append(g.running, who)
		return said
	}
	g.running, g.cutReported = append(g.running, who), false
	if g.Wrote != nil {
		g.begun = g.Now()
	}
	g.before = g.look()
	if g.first == nil {
		g.first = g.before.Repositories
	}
	var known []string // what a command has made itself, it may remove as well
	for at := range g.before.Repositories {
		if g.first[at] {
			known = append(known, at)
		}
	}
	slices.SortFunc(known, func(a, b string) int {
		return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
	})
	g.Paths.Found(known)
	return nil
}

// Check says what those that still run have planted. Where none runs it does nothing.
func (g *Guard) Check(call string) (said []string) {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) == 0 {
		return nil
	}
	return g.sweep(call)
}

// End finds what a command or a server has planted, moves it away, and says so in whole sentences.
// It is called after that has ended and before anything else is done.
func (g *Guard) End(call, who string) (said []string) {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	said = g.sweep(call)
	i := slices.Index(g.running, who)
	if g.running = slices.Delete(g.running, i, i+1); len(g.running) == 0 {
		g.before = nil
	}
	return said
}

// attribution is who may have planted what a sweep finds, for the beginning of a sentence: the one
// that runs, or one of several.
func (g *Guard) attribution() string {
	all := slices.Compact(slices.Sorted(slices.Values(g.running)))
	if all[0] == "" {
		all[0] = "the command"
	}
	if len(all) == 1 {
		return strings.ToUpper(all[0][:1]) + all[0][1:]
	}
	return "Something that runs in this session (" + strings.Join(all, ", ") + ")"
}

func (g *Guard) look() *listing {
	if g.looker == nil {
		g.looker = &looker{Paths: g.Paths, MaxEntries: g.MaxEntries}
	}
	return g.looker.look()
}

// sweep compares what is there with what may be. What it leaves or does not find fault with is
// there by right from now on.
func (g *Guard) sweep(call string) (said []string) {
	before, after := g.before, g.look()
	next := *before
	next.Entries = after.Entries
	defer func() { g.before = &next }()
	var moved, back, mended, left, cloned, failed []string
	for _, f := range compare(before, after) {
		if g.Wrote != nil && f.Action != actionMend && f.Now.Whole && f.Now.Mode.IsRegular() && g.Wrote(filepath.FromSlash(f.Path), f.Now.Text, g.begun) {
			continue
		}
		name := g.Name(f.Path)
		if len(f.Why) > 0 {
			keys := make([]string, len(f.Why))
			for i, why := range f.Why {
				keys[i] = why.Key
			}
			name += " (" + strings.Join(slices.Compact(keys), ", ") + ")"
		}
		switch {
		case f.Action == actionCount:
			cloned = append(cloned, name)
		case f.Action == actionTell, g.Quarantine == nil:
			left = append(left, name)
		case f.Action == actionMend:
			if err := mend(f); err != nil {
				failed = append(failed, fmt.Sprintf("%s (%v)", name, err))
			} else {
				mended = append(mended, name)
				next.Entries[f.Path] = f.Was
			}
		default:
			if _, err := g.Quarantine.take(f, g.Session, call); err != nil {
				failed = append(failed, fmt.Sprintf("%s (%v)", name, err))
			} else if f.Action == actionRevert {
				back = append(back, name)
				next.Entries[f.Path] = f.Was
			} else {
				moved = append(moved, name)
				delete(next.Entries, f.Path)
			}
		}
	}
	who := g.attribution()
	const later = "programs of the user execute or read it later, outside of the sandbox"
	if len(moved) > 0 {
		said = append(said, fmt.Sprintf("%s made %s. That was moved into quarantine: %s. "+
			"Do not make it again: the user puts it back by `tandem quarantine restore`.", who, listed(moved), later))
	}
	if len(back) > 0 {
		said = append(said, fmt.Sprintf("%s changed %s. The former text was put back, and the new one is in quarantine: %s. "+
			"Do not change it again: the user gets the new text by `tandem quarantine list`.", who, listed(back), later))
	}
	if len(mended) > 0 {
		said = append(said, fmt.Sprintf("%s removed %s, without which git takes another folder as the repository: it was put back.", who, listed(mended)))
	}
	if len(failed) > 0 {
		said = append(said, fmt.Sprintf("%s made or changed %s, which could not be moved into quarantine: %s. Tell the user.", who, listed(failed), later))
	}
	if len(left) > 0 {
		said = append(said, fmt.Sprintf("%s made or changed %s, which was left as it is: %s. Tell the user.", who, listed(left), later))
	}
	if len(cloned) > 0 {
		said = append(said, fmt.Sprintf("With a new repository came files that editors, shells or agents read, which were left as they are: %s.", listed(cloned)))
	}
	switch blind := before.Blind || after.Blind; {
	case blind:
		said = append(said, "Not all of the workspace was searched for files that are executed later: too many files are open.")
	case (before.Cut || after.Cut) && !g.cutReported:
		g.cutReported = true
		said = append(said, fmt.Sprintf("The workspace has more than %d entries: the deepest folders were not searched for files that are executed later.",
			cmp.Or(g.MaxEntries, maxEntries)))
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
