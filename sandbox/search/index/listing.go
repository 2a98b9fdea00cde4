package index

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"tandem/sandbox/tree"
)

// Walk is tree.Tree.Walk over the refreshed table, if there is a watched one. visit may not use the
// Indexes.
func (x *Indexes) Walk(ctx context.Context, t *tree.Tree, depth int, visit func(tree.Entry) error) (ignored int, err error) {
	i := x.indexFor(t)
	if i != nil {
		defer x.searches.begin()()
		if ok, ignored, err := i.walk(ctx, t, depth, visit); ok {
			return ignored, err
		}
	}
	return i.walkDisk(ctx, t, depth, visit)
}

// walkDisk is tree.Tree.Walk that counts the files for an index, which may be nil.
func (i *index) walkDisk(ctx context.Context, t *tree.Tree, depth int, visit func(tree.Entry) error) (ignored int, err error) {
	files := 0
	ignored, err = t.Walk(ctx, depth, func(e tree.Entry) error {
		if e.Type.IsRegular() {
			files++
		}
		return visit(e)
	})
	if i != nil && err == nil {
		i.noteWalk(t, files)
	}
	return ignored, err
}

// walk is Walk over the table; ok is false if it cannot answer.
func (i *index) walk(ctx context.Context, t *tree.Tree, depth int, visit func(tree.Entry) error) (ok bool, ignored int, err error) {
	if i.table.Load() != tableReady {
		return false, 0, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.w == nil {
		return false, 0, nil
	}
	root, ok := i.root(t)
	if !ok {
		return false, 0, nil
	}
	if err := i.refresh(ctx, root, prefix(t), nil); err != nil {
		return true, 0, err
	}
	top := i.top.down(t.Dir())
	if top == nil {
		return false, 0, nil
	}
	if _, known := named(t, top, prefix(t)); !known {
		return false, 0, nil
	}
	ignored, err = visitTable(ctx, t, top, prefix(t), depth, visit)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		err = nil
	}
	return true, ignored, err
}

// visitTable visits the entries of a table's folder. Their paths begin with at if they are in the
// tree.
func visitTable(ctx context.Context, t *tree.Tree, f *folder, at string, depth int, visit func(tree.Entry) error) (ignored int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	for _, name := range f.withheld {
		t.Withhold(t.Root().Join(f.join(name)))
	}
	ignored = len(f.ignored)
	named := namedIn(t, f, at)
	visitNamed := func(before string) error { // up to an entry
		for ; len(named) > 0 && (before == "" || named[0].name < before); named = named[1:] {
			ignored--
			err := visit(t.Named(strings.TrimPrefix(f.join(named[0].name), at), named[0].kind))
			if err != nil && !errors.Is(err, fs.SkipDir) {
				return err
			}
		}
		return nil
	}
	for _, e := range f.entries {
		if e.ident.Type == fs.ModeIrregular {
			continue
		}
		if err := visitNamed(e.name); err != nil {
			return ignored, err
		}
		if e.sub == nil && t.Pattern().Rejects(e.name) {
			continue
		}
		rel := strings.TrimPrefix(f.join(e.name), at)
		if t.Pattern().Excludes(rel, e.sub != nil) {
			continue
		}
		err := visit(t.Entry(rel, e.ident))
		switch {
		case errors.Is(err, fs.SkipDir) && e.sub != nil:
			continue
		case err != nil:
			return ignored, err
		}
		switch {
		case e.sub == nil, depth == 1:
		case t.Unreachable(e.sub.at):
			t.CountDeep(1)
		default:
			n, err := visitTable(ctx, t, e.sub, at, depth-1, visit)
			if ignored += n; err != nil {
				return ignored, err
			}
		}
	}
	return ignored, visitNamed("")
}

// root opens the root of the table for a tree in it; ok is false without a table.
func (i *index) root(t *tree.Tree) (root *tree.Tree, ok bool) {
	if i.top == nil {
		return nil, false
	}
	if t.Dir() == "." {
		return t, true
	}
	root, err := tree.Open(t.Root())
	return root, err == nil
}
