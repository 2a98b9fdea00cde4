package tree

import (
	"cmp"
	"context"
)

// startWatch starts the watch of the folders; it stops when ctx ends. i.mu is held.
func (i *index) startWatch(ctx context.Context) {
	w, err := newWatch()
	if err != nil {
		return
	}
	i.w = w
	context.AfterFunc(ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.w == w {
			i.stopWatch()
		}
	})
}

// stopWatch stops the watch and invalidates all folders. i.mu is held.
func (i *index) stopWatch() {
	if i.w == nil {
		return
	}
	i.w.close()
	i.w, i.allValid = nil, false
	if i.top != nil {
		(&refresh{}).invalidate(i.top)
	}
}

// refresh updates the part of the table below under, all of it for "". It uses all processors once
// parallel returns true; nil is always. i.mu is held.
func (i *index) refresh(ctx context.Context, t *Tree, under string, parallel func() bool) error {
	if i.parentRules == nil || !i.parentRules.equal(&t.ignore) {
		rules := t.ignore
		i.parentRules, i.allValid = &rules, false
	}
	p := &refresh{t: t, w: i.w, now: i.indexes.Now(), under: under, parallel: parallel}
	if i.table.Load() != tableReady {
		p.maxFiles = i.indexes.maxFiles()
	}
	defer func() {
		if p.changed.Load() {
			i.flat = nil
		}
	}()
	if i.invalidated.Swap(false) {
		i.top.invalidate()
		i.allValid = false
	}
	if i.w != nil {
		paths, ok := i.w.since()
		if !ok {
			i.stopWatch()
			p.w = nil
		}
		for path := range paths {
			p.hear(i.top, path)
			i.allValid = false
		}
		// Folders above the root have no watch, so the root itself may have been replaced.
		d, err := t.open(".")
		if err != nil {
			return cmp.Or(t.note(err), err)
		}
		if now, err := d.Ident("."); err != nil || !now.Same(i.top.ident) {
			p.invalidate(i.top)
			i.allValid = false
		} else if i.top.hasUnwatchedRules() && !i.top.sameRules(d) {
			i.top.valid, i.allValid = false, false
		}
		d.Close()
	}
	if i.allValid {
		for _, level := range i.invalidFolders { // a check may drop folders below
			forEach(p, level, func(f *folder) { p.check(f, f.parentRules) })
		}
		if !p.relisted.Load() {
			return nil
		}
		i.allValid = false
	}
	err := p.run(ctx, i.top, i.parentRules)
	if err == nil {
		err = t.Incomplete()
	}
	if i.allValid = err == nil && under == "" && p.w != nil; i.allValid {
		i.invalidFolders = i.top.collectInvalid(nil, 0)
	}
	return err
}

// check rescans for changes without an event: writes through memory mappings or other hard links,
// and mounts.
func (i *index) check(ctx context.Context, t *Tree) {
	yields := &throttle{searches: &i.indexes.searches, now: i.indexes.Now, waitBudget: checkWaitBudget}
	began := i.indexes.Now()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		now := i.indexes.Now()
		worked := now.Sub(began) - yields.waited
		i.checking, i.checkDue = false, now.Add(min(max(checkInterval, checkDutyCycle*worked), maxCheckInterval))
	}()
	i.mu.Lock()
	if i.top == nil {
		i.mu.Unlock()
		return
	}
	list := []*folder{i.top}
	_ = i.top.each("", func(_ *folder, e *entry) error {
		if e.sub != nil && e.sub.valid {
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
	if !f.valid || i.w == nil {
		return
	}
	p := &refresh{t: t, w: i.w, now: i.indexes.Now()}
	if p.check(f, f.parentRules); !f.valid || p.relisted.Load() {
		i.allValid = false
	}
	if p.changed.Load() {
		i.flat = nil
	}
}
