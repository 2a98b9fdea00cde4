package tree

import (
	"context"
	"errors"
	"io/fs"
	"strings"
)

// Walk is Tree.Walk over the refreshed table, if there is a watched one. visit may not use the
// Indexes.
func (x *Indexes) Walk(ctx context.Context, t *Tree, depth int, visit func(Entry) error) (ignored int, err error) {
	i := x.indexFor(t)
	if i != nil {
		defer x.searches.begin()()
		if ok, ignored, err := i.walk(ctx, t, depth, visit); ok {
			return ignored, err
		}
	}
	files := 0
	ignored, err = t.Walk(ctx, depth, func(e Entry) error {
		if e.Type.IsRegular() {
			files++
		}
		return visit(e)
	})
	if i != nil && depth == 0 {
		i.noteWalk(t, files)
	}
	return ignored, err
}

// walk is Walk over the table; ok is false if it cannot answer.
func (i *index) walk(ctx context.Context, t *Tree, depth int, visit func(Entry) error) (ok bool, ignored int, err error) {
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
	top := i.top.down(t.dir)
	if top == nil {
		return false, 0, nil
	}
	if _, known := t.named(top, prefix(t)); !known {
		return false, 0, nil
	}
	ignored, err = t.visit(ctx, top, prefix(t), depth, visit)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		err = nil
	}
	return true, ignored, err
}

// visit visits the entries of a table's folder. Their paths begin with at if they are in the tree.
func (t *Tree) visit(ctx context.Context, f *folder, at string, depth int, visit func(Entry) error) (ignored int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	t.withheld.Add(int64(len(f.withheld)))
	for _, name := range f.withheld {
		if t.OnWithheld != nil {
			t.OnWithheld(t.at(strings.TrimPrefix(f.join(name), at)))
		}
	}
	ignored = len(f.ignored)
	named := t.namedIn(f, at)
	visitNamed := func(before string) error { // up to an entry
		for ; len(named) > 0 && (before == "" || named[0].name < before); named = named[1:] {
			ignored--
			err := visit(Entry{Path: strings.TrimPrefix(f.join(named[0].name), at), Type: named[0].kind, tree: t})
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
		if e.sub == nil && t.only.rejects(e.name) {
			continue
		}
		rel := strings.TrimPrefix(f.join(e.name), at)
		if t.only.judge(rel, e.sub != nil) == excludes {
			continue
		}
		err := visit(Entry{Path: rel, Type: e.ident.Type, tree: t})
		switch {
		case errors.Is(err, fs.SkipDir) && e.sub != nil:
			continue
		case err != nil:
			return ignored, err
		}
		if e.sub != nil && depth != 1 && !t.tooDeep(e.sub.at) {
			n, err := t.visit(ctx, e.sub, at, depth-1, visit)
			if ignored += n; err != nil {
				return ignored, err
			}
		}
	}
	return ignored, visitNamed("")
}

// root opens the root of the table for a tree in it; ok is false without a table.
func (i *index) root(t *Tree) (root *Tree, ok bool) {
	if i.top == nil {
		return nil, false
	}
	if t.dir == "." {
		return t, true
	}
	root, err := Open(t.root)
	return root, err == nil
}
