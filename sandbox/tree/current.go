package tree

import (
	"cmp"
	"context"
)

// listen begins to hear of what happens in the folders, until ctx ends. i.mu is held.
func (i *index) listen(ctx context.Context) {
	w, err := newWatch()
	if err != nil {
		return
	}
	i.w = w
	context.AfterFunc(ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.w == w {
			i.deaf()
		}
	})
}

// deaf ends that: no folder is believed any more. i.mu is held.
func (i *index) deaf() {
	if i.w == nil {
		return
	}
	i.w.close()
	i.w, i.whole = nil, false
	if i.top != nil {
		(&pass{}).doubt(i.top)
	}
}

// refresh brings the part of the table up to date that lies at under, all of it where that is "". hurried says that all processors are to
// do it, and not this goroutine alone; nil is always. i.mu is held.
func (i *index) refresh(ctx context.Context, t *Tree, under string, hurried func() bool) error {
	if i.above == nil || !i.above.equal(&t.ignore) {
		above := t.ignore
		i.above, i.whole = &above, false
	}
	p := &pass{t: t, w: i.w, now: i.of.Now(), under: under, hurried: hurried}
	if i.table.Load() != usable {
		p.most = i.of.most()
	}
	defer func() {
		if p.changed.Load() {
			i.flat = nil
		}
	}()
	if i.doubted.Swap(false) {
		i.top.disbelieve()
		i.whole = false
	}
	if i.w != nil {
		paths, ok := i.w.since()
		if !ok {
			i.deaf()
			p.w = nil
		}
		for path := range paths {
			p.hear(i.top, path)
			i.whole = false
		}
		// What lies above the root has no watch: it may be another folder by now. Of what happens in it there are events.
		d, err := t.open(".")
		if err != nil {
			return cmp.Or(t.note(err), err)
		}
		if now, err := d.Ident("."); err != nil || !now.Same(i.top.ident) {
			p.doubt(i.top)
			i.whole = false
		} else if i.top.unheard() && !i.top.sameRules(d) {
			i.top.believed, i.whole = false, false
		}
		d.Close()
	}
	if i.whole {
		for _, level := range i.open { // a folder may drop what is below it
			together(p, level, func(f *folder) { p.check(f, f.above) })
		}
		if !p.listed.Load() {
			return nil
		}
		i.whole = false
	}
	err := p.refresh(ctx, i.top, i.above)
	if err == nil {
		err = t.Incomplete()
	}
	if i.whole = err == nil && under == "" && p.w != nil; i.whole {
		i.open = i.top.open(nil, 0)
	}
	return err
}

// check looks for what no event tells of: what is written by way of a mapping into memory, by a name elsewhere, or mounted.
func (i *index) check(ctx context.Context, t *Tree) {
	yields := &background{turns: &i.of.turns, now: i.of.Now, patience: checkWaits}
	began := i.of.Now()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		now := i.of.Now()
		worked := now.Sub(began) - yields.waited
		i.checking, i.checkDue = false, now.Add(min(max(checkEvery, checkShare*worked), checkMost))
	}()
	i.mu.Lock()
	if i.top == nil {
		i.mu.Unlock()
		return
	}
	list := []*folder{i.top}
	_ = i.top.each("", func(_ *folder, e *entry) error {
		if e.sub != nil && e.sub.believed {
			list = append(list, e.sub)
		}
		return nil
	})
	i.mu.Unlock()
	for _, f := range list {
		if yields.yield(ctx); ctx.Err() != nil {
			return
		}
		i.checkOne(t, f)
	}
}

func (i *index) checkOne(t *Tree, f *folder) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !f.believed || i.w == nil {
		return
	}
	p := &pass{t: t, w: i.w, now: i.of.Now()}
	if p.check(f, f.above); !f.believed || p.listed.Load() {
		i.whole = false
	}
	if p.changed.Load() {
		i.flat = nil
	}
}
