package backend

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/agent"
	"tandem/sandbox"
	"tandem/sandbox/tree"
)

// The limits of a listing, for which a completion waits while the user types.
const (
	mostListed = 50_000
	listingFor = 400 * time.Millisecond
	// listingLasts is the lifetime of a cached listing.
	listingLasts = 5 * time.Second
)

// listing is a cache of the files and folders below a session's folders.
type listing struct {
	mu   sync.Mutex
	made time.Time
	all  []Mention
}

// Mention is what a message can name. Of a file or a folder Label is the path relative to its root, prefixed by the root's
// name unless it is the first, with a final slash for a folder. Insert is the text for the message: the path relative
// to the first root, or the absolute one. Of a resource and a command both are the name, see agent.Session.
type Mention struct {
	Label, Insert string
	Kind          MentionKind

	path string
}

// MentionKind is what a Mention is of.
type MentionKind string

// The kinds.
const (
	MentionFile     MentionKind = "file"
	MentionFolder   MentionKind = "folder"
	MentionResource MentionKind = "resource"
	MentionCommand  MentionKind = "command"
	// MentionSymbol is something that language servers know; the others are what they hold against files and what is selected.
	MentionSymbol      MentionKind = "symbol"
	MentionSelection   MentionKind = "selection"
	MentionDiagnostics MentionKind = "diagnostics"
)

// of gives the files and folders below the folders, without ignored ones and those not found within the time limit.
func (l *listing) of(ctx context.Context, folders []string, now time.Time) ([]Mention, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.made.IsZero() && now.Sub(l.made) < listingLasts && !now.Before(l.made) {
		return l.all, nil
	}
	short, cancel := context.WithTimeout(ctx, listingFor)
	defer cancel()
	var all []Mention
	for i, folder := range folders {
		err := below(short, folder, mostListed-len(all), func(canonical, rel string) {
			m := Mention{path: canonical, Label: rel, Insert: rel, Kind: MentionFile}
			if strings.HasSuffix(rel, "/") {
				m.Kind = MentionFolder
			}
			if i > 0 {
				m.Label = filepath.Base(folder) + "/" + rel
				m.Insert = strings.TrimSuffix(folder, "/") + "/" + rel
			}
			all = append(all, m)
		})
		if err != nil && (ctx.Err() != nil || i == 0 && !errors.Is(err, context.DeadlineExceeded)) {
			return nil, err // a further folder that is missing is left out
		}
	}
	if len(all) > 0 || short.Err() == nil { // a large folder is not walked for each key, and nothing found in time is no listing
		l.all, l.made = all, now
	}
	return all, nil
}

// below calls found for up to most files and folders below a folder, with the canonical path and the relative one,
// which ends in a slash for folders.
func below(ctx context.Context, folder string, most int, found func(canonical, rel string)) error {
	in := &sandbox.Paths{Cwd: folder, Read: []string{folder}}
	defer in.Close()
	place, err := in.Readable(".")
	if err != nil {
		return err
	}
	real := place.Path()
	t, err := tree.Open(place)
	if err != nil {
		return err
	}
	_, err = t.Walk(ctx, 0, func(e tree.Entry) error {
		if most--; most < 0 {
			return fs.SkipAll
		}
		rel := e.Path
		if e.Type.IsDir() {
			rel += "/"
		}
		found(filepath.Join(real, e.Path), rel)
		return nil
	})
	return err
}

// How long a completion waits for language servers, beside files and where symbols alone are asked for; leastOfSymbol is from how many
// letters on they are asked.
const (
	besideFiles   = 250 * time.Millisecond
	symbolsAlone  = 3 * time.Second
	leastOfSymbol = 2
)

// symbols are what the language servers of a session know by a part of a name.
func (se *Session) symbols(ctx context.Context, part string, limit time.Duration) (out []Mention) {
	if len(part) < leastOfSymbol || strings.ContainsAny(part, "/") {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, name := range se.Symbols(short, part) {
		out = append(out, Mention{Label: name, Insert: agent.MentionSymbol + name, Kind: MentionSymbol})
	}
	return out
}

// Complete gives up to limit mentions that match a prefix, the best first, from the folders, the MCP servers and the language servers of a
// session, or from the folders of the workspace if id is empty; commands, and nothing else, for a prefix that begins with a slash, and
// symbols alone for one that begins as their mentions do.
func (b *Backend) Complete(ctx context.Context, id, prefix string, limit int) ([]Mention, error) {
	folders, list := b.Folders(), &listing{}
	var commands, more []Mention
	if id != "" {
		se, err := b.Find(id)
		if err != nil {
			return nil, err
		}
		folders, list = se.Folders(), &se.mentions
		for _, c := range se.Commands() {
			commands = append(commands, Mention{Label: c.Name, Insert: c.Name, Kind: MentionCommand})
		}
		for _, r := range se.Resources() {
			more = append(more, Mention{Label: r.Mention, Insert: r.Mention, Kind: MentionResource})
		}
		if part, is := strings.CutPrefix(prefix, agent.MentionSymbol); is {
			return fitting(se.symbols(ctx, part, symbolsAlone), nil, part, limit), nil
		}
		for _, word := range []MentionKind{MentionSelection, MentionDiagnostics} {
			if prefix != "" && strings.HasPrefix(string(word), prefix) {
				more = append(more, Mention{Label: string(word), Insert: string(word), Kind: word})
			}
		}
		more = append(more, se.symbols(ctx, prefix, besideFiles)...)
	}
	if name, is := strings.CutPrefix(prefix, "/"); is {
		return fitting(commands, nil, name, limit), nil
	}
	all, err := list.of(ctx, folders, b.o.Now())
	if err != nil {
		return nil, err
	}
	all = slices.Concat(all, more)
	open := map[string]int{}
	for i, d := range b.ws.Shown() {
		open[d.Path] = len(all) - i // the higher, the more recently used
	}
	return fitting(all, open, prefix, limit), nil
}

// fitting gives the paths that match a prefix, ranked by the quality of the match, then open documents, then length.
func fitting(from []Mention, open map[string]int, prefix string, limit int) []Mention {
	prefix = strings.ToLower(prefix)
	type found struct {
		Mention
		fit, open   int
		depth, size int
	}
	var all []found
	for _, m := range from {
		if fit, ok := fits(strings.ToLower(m.Label), prefix); ok {
			all = append(all, found{m, fit, open[m.path], strings.Count(strings.TrimSuffix(m.Label, "/"), "/"), len(m.Label)})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.fit, b.fit), cmp.Compare(b.open, a.open), cmp.Compare(a.depth, b.depth),
			cmp.Compare(a.size, b.size), cmp.Compare(a.Label, b.Label))
	})
	var out []Mention
	for _, f := range all[:min(limit, len(all))] {
		out = append(out, f.Mention)
	}
	return out
}

// fits ranks the match of a path, 0 being the best; both are in lower case.
func fits(p, prefix string) (fit int, ok bool) {
	name := path.Base(p)
	switch {
	case strings.HasPrefix(p, prefix):
		return 0, true
	case strings.HasPrefix(name, prefix):
		return 1, true
	case strings.Contains(name, prefix):
		return 2, true
	case strings.Contains(p, prefix):
		return 3, true
	}
	at := 0
	for i := range len(p) {
		if at < len(prefix) && p[i] == prefix[at] {
			at++
		}
	}
	return 4, at == len(prefix)
}
