package index

import (
	"context"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"tandem/sandbox"
	"tandem/sandbox/search/trigrams"
	"tandem/sandbox/tree"
)

// candidate is a file to be searched.
type candidate struct {
	in   *folder // of which only at is used
	name string
}

// path is that of the file, relative to the root of the table.
func (c candidate) path() string { return c.in.join(c.name) }

// flat is the regular files of a table in the order of a walk.
type flat struct {
	files []flatFile
	// numbered are the places in files of those whose parts have a number, by it; -1 is none.
	numbered []int32
	// others are the places of those that have none, and are searched; several of those with more
	// than one part.
	others, several []int32
	counts          counts
	deep            int64 // folders that were not entered, see tree.Tree.Deep
}

type flatFile struct {
	candidate
	e *entry
}

func newFlat(t *tree.Tree, top *folder, segments int) *flat {
	l := &flat{numbered: make([]int32, segments*trigrams.Texts)}
	for n := range l.numbered {
		l.numbered[n] = -1
	}
	_ = top.each("", func(f *folder, e *entry) error {
		if e.sub != nil && t.Unreachable(e.sub.at) {
			l.deep++
		}
		if !e.regular() {
			return nil
		}
		l.counts.add(e)
		at := int32(len(l.files))
		switch {
		case e.text == textBinary:
			return nil
		case e.text >= 0:
			for n := range e.parts {
				l.numbered[e.text+n] = at
			}
			if e.parts > 1 {
				l.several = append(l.several, at)
			}
		default:
			l.others = append(l.others, at)
		}
		l.files = append(l.files, flatFile{candidate{f, e.name}, e})
		return nil
	})
	return l
}

// marked are the files with a part that is marked, and the others, in their order. Where a match
// needs no more than one line the parts are told apart, as what it needs may be in several else. It
// may be gone through when the table is another already.
func (l *flat) marked(has []*trigrams.Marks, oneLine bool) iter.Seq[candidate] {
	wanted := make([]uint64, (len(l.files)+63)/64)
	want := func(at int32) { wanted[at/64] |= 1 << (at % 64) }
	for n, m := range has {
		for text := range m.All() {
			if at := l.numbered[n*trigrams.Texts+text]; at >= 0 {
				want(at)
			}
		}
	}
	for _, at := range l.others {
		want(at)
	}
	if !oneLine {
		for _, at := range l.several {
			want(at)
		}
	}
	return func(yield func(candidate) bool) {
		for i, word := range wanted {
			for ; word != 0; word &= word - 1 {
				if !yield(l.files[i*64+bits.TrailingZeros64(word)].candidate) {
					return
				}
			}
		}
	}
}

// scan calls visit for the files of a tree that are wanted and may have one literal of each list,
// in the order of a walk; ok is false where that cannot be told now.
func (i *index) scan(
	ctx context.Context, t *tree.Tree, o Options, visit func(d *sandbox.Dir, name, path string) error,
) (ok bool, err error) {
	if i == nil || !i.awaitTable(ctx, t) {
		return false, nil
	}
	root, list, ok, err := i.candidates(ctx, t, o)
	if !ok || err != nil {
		return ok, err
	}
	if o.Narrowed != nil {
		o.Narrowed()
	}
	at := prefix(t)
	var d *sandbox.Dir
	var in *folder
	defer func() {
		if d != nil {
			d.Close()
		}
	}()
	for c := range list {
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		rel, below := strings.CutPrefix(c.path(), at)
		if !below || !t.Pattern().Fits(rel) || !o.Wants(rel) {
			continue
		}
		if c.in != in {
			if d != nil {
				d.Close()
			}
			in = c.in
			if d, err = root.OpenDir(in.at); err != nil {
				if err := root.Note(err); err != nil {
					return true, err
				}
				d = nil
			}
		}
		if d == nil {
			continue
		}
		if err := visit(d, c.name, rel); err != nil {
			return true, err
		}
	}
	return true, nil
}

// prefix is what the paths in a table begin with that lie in a tree.
func prefix(t *tree.Tree) string {
	if t.Dir() == "." {
		return ""
	}
	return t.Dir() + "/"
}

// candidates are the files that scan visits where they are below the tree and wanted, as they are
// when it is called.
func (i *index) candidates(ctx context.Context, t *tree.Tree, o Options) (root *tree.Tree, list iter.Seq[candidate], ok bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if root, ok = i.root(t); !ok {
		return nil, nil, false, nil
	}
	at := prefix(t)
	if err := i.refresh(ctx, root, at, nil); err != nil {
		return nil, nil, true, err
	}
	named, known := named(t, i.top.down(t.Dir()), at)
	if !known {
		return nil, nil, false, nil
	}
	if i.flat == nil {
		i.flat = newFlat(root, i.top, len(i.segments))
	}
	t.CountDeep(i.flat.deep)
	var has []*trigrams.Marks
	for _, s := range i.segments {
		has = append(has, s.Match(o.Need))
	}
	list = i.flat.marked(has, o.OneLine)
	if len(named) > 0 {
		list = inOrder(append(named, slices.Collect(list)...))
	}
	dirty, now := 0, i.indexes.Now()
	for _, n := range i.flat.others {
		if e := i.flat.files[n].e; e.text == textUnread && e.ident.Settled(now) {
			if dirty++; e.ident.Size() > Head { // one of these costs each search as much as many others
				dirty += maxUnindexed
			}
		}
	}
	unheard := i.w == nil && !i.indexes.unwatched && !now.Before(i.watchDue)
	if dirty >= maxUnindexed || 8*dirty > i.files || i.needsRebuild(i.flat.counts) || unheard {
		i.build(t)
	}
	if i.w != nil && !i.checking && now.After(i.checkDue) {
		i.checking = true
		i.indexes.RunInBackground(func(ctx context.Context) { i.check(ctx, root) })
	}
	return root, list, true, nil
}

// namedIn are the entries of a folder that are ignored, and come by all the same.
func namedIn(t *tree.Tree, f *folder, at string) (out []ignored) {
	if t.Pattern() == nil {
		return nil
	}
	for _, e := range f.ignored {
		if t.Pattern().TakesIgnored(strings.TrimPrefix(f.join(e.name), at), e.kind.IsDir()) {
			out = append(out, e)
		}
	}
	return out
}

// named are the files of a table that are ignored, and come by all the same, below a folder whose
// path is at; known is false where there is such a folder, since a table does not have what is in
// it.
func named(t *tree.Tree, f *folder, at string) (files []candidate, known bool) {
	if t.Pattern() == nil || f == nil {
		return nil, f != nil
	}
	for _, e := range namedIn(t, f, at) {
		switch {
		case e.kind.IsDir():
			return nil, false
		case e.kind.IsRegular():
			files = append(files, candidate{f, e.name})
		}
	}
	for _, sub := range f.subs {
		if rel, below := strings.CutPrefix(sub.at, at); below && t.Pattern().Excludes(rel, true) {
			continue
		}
		more, known := named(t, sub, at)
		if !known {
			return nil, false
		}
		files = append(files, more...)
	}
	return files, true
}

// down is a folder of a table by its path from f on, nil where there is none.
func (f *folder) down(rel string) *folder {
	if rel == "." {
		return f
	}
	for name := range strings.SplitSeq(rel, "/") {
		e := f.find(name)
		if e == nil || e.sub == nil {
			return nil
		}
		f = e.sub
	}
	return f
}

// inOrder are files in the order of a walk.
func inOrder(list []candidate) iter.Seq[candidate] {
	slices.SortFunc(list, func(a, b candidate) int {
		return slices.Compare(strings.Split(a.path(), "/"), strings.Split(b.path(), "/"))
	})
	return slices.Values(list)
}
