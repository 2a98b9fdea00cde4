package lspserver

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/sandbox"
	"tandem/sandbox/tree"
)

func (s *server) mentionRoutes(r *wire.Router) {
	wire.Handle(r, "tandem/mentions/complete", s.completeMention)
}

// What a list of a folder may cost: it is made while somebody types.
const (
	mostListed = 50_000
	listingFor = 400 * time.Millisecond
	// listingLasts is how long a list is good for the next key.
	listingLasts = 5 * time.Second
)

// listing is what can be mentioned below a session's folder, as it was a moment ago.
type listing struct {
	mu    sync.Mutex
	made  time.Time
	paths []string // relative; those of folders end in a slash
}

// of gives the paths below a folder. What is ignored, and what was not found in time, is left out.
func (l *listing) of(ctx context.Context, folder string, now time.Time) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.made.IsZero() && now.Sub(l.made) < listingLasts && !now.Before(l.made) {
		return l.paths, nil
	}
	in := &sandbox.Paths{Cwd: folder, Read: []string{folder}}
	real, err := in.Readable(".")
	if err != nil {
		return nil, err
	}
	t, err := tree.Open(in, real)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var paths []string
	short, cancel := context.WithTimeout(ctx, listingFor)
	defer cancel()
	_, err = t.Walk(short, 0, func(e tree.Entry) error {
		switch {
		case len(paths) == mostListed:
			return fs.SkipAll
		case e.Type.IsDir():
			paths = append(paths, e.Path+"/")
		default:
			paths = append(paths, e.Path)
		}
		return nil
	})
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return nil, err
	}
	l.paths, l.made = paths, now
	return paths, nil
}

func (s *server) completeMention(ctx context.Context, p protocol.MentionParams) (protocol.MentionResult, error) {
	out := protocol.MentionResult{Items: []protocol.MentionItem{}}
	s.mu.Lock()
	var folder string
	if len(s.folders) > 0 {
		folder = s.folders[0]
	}
	s.mu.Unlock()
	list := &listing{}
	if p.SessionID != "" {
		se, err := s.find(p.SessionID)
		if err != nil {
			return out, err
		}
		folder, list = se.cwd, &se.mentions
	}
	if folder == "" {
		return out, nil
	}
	paths, err := list.of(ctx, folder, s.o.Now())
	if err != nil {
		return out, err
	}
	open := map[string]int{}
	for i, d := range s.ws.Shown() {
		if rel, ok := strings.CutPrefix(d.Path, strings.TrimSuffix(folder, "/")+"/"); ok {
			open[rel] = len(paths) - i // the higher, the later it was used
		}
	}
	for _, m := range fitting(paths, open, strings.TrimPrefix(p.Prefix, "@"), min(cmp.Or(max(p.Limit, 0), 20), 200)) {
		item := protocol.MentionItem{Label: m, Kind: "file", Insert: "@" + m}
		if strings.HasSuffix(m, "/") {
			item.Kind = "folder"
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// fitting gives the paths that a prefix may be the beginning of, the likeliest first: how well they fit counts most,
// then whether they are open, and short ones come before long ones.
func fitting(paths []string, open map[string]int, prefix string, limit int) []string {
	prefix = strings.ToLower(prefix)
	type found struct {
		path        string
		fit, open   int
		depth, size int
	}
	var all []found
	for _, p := range paths {
		if fit, ok := fits(strings.ToLower(p), prefix); ok {
			all = append(all, found{p, fit, open[p], strings.Count(strings.TrimSuffix(p, "/"), "/"), len(p)})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.fit, b.fit), cmp.Compare(b.open, a.open), cmp.Compare(a.depth, b.depth),
			cmp.Compare(a.size, b.size), cmp.Compare(a.path, b.path))
	})
	var out []string
	for _, f := range all[:min(limit, len(all))] {
		out = append(out, f.path)
	}
	return out
}

// fits says how well a path fits, 0 being the best; both are in lower case.
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
