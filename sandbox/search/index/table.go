package index

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/tree"
)

// entry is a file, folder or other entry at its last check.
type entry struct {
	name  string
	ident sandbox.Ident
	// text is the number of the first part of the file's text in the index, or one of the values
	// below; parts is the number of parts.
	text, parts int32
	sub         *folder // of a folder
}

func (e *entry) regular() bool { return e.sub == nil && e.ident.Type == 0 }

// The states of a file without a number.
const (
	textUnread    int32 = -1 - iota // it is searched, and may be indexed
	textUnindexed                   // it is searched, and not indexed
	textOverLimit                   // the same, since the index is as large as it may be
	textBinary                      // it is binary and not searched
)

// folder is a folder at its last check, with its entries except ignored and secret ones.
type folder struct {
	at      string // its path relative to the table's root
	ident   sandbox.Ident
	settled bool // see sandbox.Ident
	// watched: it has an inotify watch. valid: the watch has reported no event since the last
	// check.
	watched, valid bool
	// parentRules are the ignore rules inherited from parent folders, rules those that apply inside
	// it.
	parentRules, rules *tree.Rules
	ruleFiles          []ruleFileIdent
	entries            []*entry // by name
	subs               []*folder
	ignored            []ignored // entries left out as ignored, by name
	withheld           []string  // and as secret
}

// ignored is an entry that is left out unless a pattern names it.
type ignored struct {
	name string
	kind fs.FileMode
}

// ruleFileIdent is the identity of an ignore file when it was read.
type ruleFileIdent struct {
	name    string
	ident   sandbox.Ident
	there   bool
	settled bool
}

func (f *folder) join(name string) string {
	if f.at == "." {
		return name
	}
	return f.at + "/" + name
}

func (f *folder) find(name string) *entry {
	if i, found := slices.BinarySearchFunc(f.entries, name, byName); found {
		return f.entries[i]
	}
	return nil
}

func byName(e *entry, name string) int { return strings.Compare(e.name, name) }

// refresh updates a table.
type refresh struct {
	t        *tree.Tree
	w        *watch // may be nil
	now      time.Time
	under    string      // with a slash at its end, or "": other folders are skipped
	parallel func() bool // see index.refresh
	// A refresh ends after twice maxFiles, since there can be no index then; 0 is no limit. found
	// counts the listed files.
	maxFiles int
	found    atomic.Int64
	// changed: an entry differs. relisted: a folder was listed again.
	changed, relisted atomic.Bool
}

// forEach calls do for each folder of a list: one after the other on a thread of low priority until
// parallel becomes true, then on all processors.
func forEach[T any](p *refresh, list []T, do func(T)) {
	if p.parallel != nil && !p.parallel() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			lower() // for this goroutine alone, which ends when a scan waits
			for len(list) > 0 && !p.parallel() {
				do(list[0])
				list = list[1:]
			}
		}()
		<-done
	}
	workers := min(runtime.GOMAXPROCS(0), (len(list)+7)/8)
	if workers <= 1 {
		for _, x := range list {
			do(x)
		}
		return
	}
	var working sync.WaitGroup
	var next atomic.Int64
	for range workers {
		working.Go(func() {
			for n := int(next.Add(1)); n <= len(list); n = int(next.Add(1)) {
				do(list[n-1])
			}
		})
	}
	working.Wait()
}

// collectInvalid adds the folders from f on that are not valid to levels, by depth.
func (f *folder) collectInvalid(levels [][]*folder, depth int) [][]*folder {
	if len(levels) == depth {
		levels = append(levels, nil)
	}
	if !f.valid {
		levels[depth] = append(levels[depth], f)
	}
	for _, sub := range f.subs {
		levels = sub.collectInvalid(levels, depth+1)
	}
	return levels
}

// run checks a folder and all below it that are not valid, level by level.
func (p *refresh) run(ctx context.Context, top *folder, parentRules *tree.Rules) error {
	type task struct {
		f     *folder
		above *tree.Rules
	}
	for level := []task{{top, parentRules}}; len(level) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p.maxFiles > 0 && int(p.found.Load()) > 2*p.maxFiles { // the others need not be seen
			return tooMany(p.maxFiles)
		}
		var look []task
		for _, t := range level {
			if !t.f.valid || t.f.parentRules != t.above {
				look = append(look, t)
			}
		}
		forEach(p, look, func(t task) { p.check(t.f, t.above) })
		var below []task
		for _, t := range level {
			for _, sub := range t.f.subs {
				if p.t.Unreachable(sub.at) {
					continue
				}
				if p.under == "" || strings.HasPrefix(p.under, sub.at+"/") || strings.HasPrefix(sub.at+"/", p.under) {
					below = append(below, task{sub, t.f.rules})
				}
			}
		}
		level = below
	}
	return nil
}

// check compares a folder and its entries with the file system. One goroutine at a time may check a
// folder and those below it.
func (p *refresh) check(f *folder, parentRules *tree.Rules) {
	f.valid = false
	path := filepath.Join(p.t.Root().Path(), f.at)
	if !f.watched && p.w != nil {
		// Before the check, so that no change in between is missed.
		f.watched = p.w.add(path) == nil
	}
	d, err := p.t.OpenDir(f.at)
	if err != nil {
		_ = p.t.Note(err)
		p.drop(f)
		return
	}
	defer d.Close()
	ident, err := d.Ident(".")
	if err != nil {
		p.drop(f)
		return
	}
	if f.watched && !p.w.holds(path, ident) { // it gets one at the next check
		p.w.remove(path)
		f.watched = false
	}
	if !p.current(d, f, ident, parentRules) && !p.list(d, f, ident, parentRules) {
		p.drop(f)
		return
	}
	single := true
	for _, e := range f.entries {
		now, err := d.Ident(e.name)
		if err != nil {
			now = sandbox.Ident{Type: fs.ModeIrregular} // it was deleted
		}
		if now != e.ident {
			if e.sub != nil && !now.Same(e.ident) { // another folder has the name, or a mount has changed
				p.invalidate(e.sub)
			}
			e.ident, e.text = now, textUnread
			p.changed.Store(true)
		}
		single = single && !now.Linked()
	}
	// No event comes for a write through another hard link, for rules inside .git, and for an
	// unmount. The rules of the root are compared at each refresh.
	f.valid = f.watched && single && !d.Crossed() && (f.at == "." || !f.hasUnwatchedRules())
}

// drop forgets the entries of a folder that was deleted or replaced.
func (p *refresh) drop(f *folder) {
	p.invalidate(f)
	p.changed.Store(true)
	p.relisted.Store(true)
	f.ident, f.rules, f.entries, f.subs = sandbox.Ident{}, nil, nil, nil
}

// invalidate marks a folder and all below it as not valid and removes their watches, which may be
// on folders that were renamed.
func (p *refresh) invalidate(f *folder) {
	if f.watched && p.w != nil {
		p.w.remove(filepath.Join(p.t.Root().Path(), f.at))
	}
	f.valid, f.watched = false, false
	for _, sub := range f.subs {
		p.invalidate(sub)
	}
}

// invalidate marks a folder and all below it as not valid. Their watches stay.
func (f *folder) invalidate() {
	f.valid = false
	for _, sub := range f.subs {
		sub.invalidate()
	}
}

// hear handles an event at a path: it invalidates the folder of the path, and a folder at the path
// with all below it.
func (p *refresh) hear(top *folder, name string) {
	rel, below := strings.CutPrefix(name, p.t.Root().Path())
	if rel = strings.TrimPrefix(rel, "/"); !below || rel == "" {
		p.invalidate(top)
		return
	}
	f := top
	for {
		first, rest, more := strings.Cut(rel, "/")
		e := f.find(first)
		switch {
		case !more:
			if f.valid = false; e != nil && e.sub != nil {
				p.invalidate(e.sub)
			}
			return
		case e == nil || e.sub == nil: // it was renamed
			p.invalidate(f)
			return
		}
		f, rel = e.sub, rest
	}
}

// current reports whether listing a folder would give the same entries.
func (p *refresh) current(d *sandbox.Dir, f *folder, now sandbox.Ident, parentRules *tree.Rules) bool {
	if now != f.ident || !f.settled || f.parentRules != parentRules || f.rules == nil {
		return false
	}
	return f.sameRules(d)
}

// sameRules reports whether the ignore files of a folder are unchanged.
func (f *folder) sameRules(d *sandbox.Dir) bool {
	return !slices.ContainsFunc(f.ruleFiles, func(r ruleFileIdent) bool {
		now, err := d.Ident(r.name)
		return (err == nil) != r.there || r.there && (now != r.ident || !r.settled)
	})
}

// list lists a folder again and keeps the state of its known entries.
func (p *refresh) list(d *sandbox.Dir, f *folder, ident sandbox.Ident, parentRules *tree.Rules) bool {
	p.changed.Store(true)
	p.relisted.Store(true)
	listed, has, err := tree.List(d)
	if err != nil {
		_ = p.t.Note(err)
		return false
	}
	files := p.ruleFiles(d, has) // before they are read, so that a later change is found
	rules := p.t.RulesIn(*parentRules, f.at, has)
	if p.t.Incomplete() != nil { // the rules may be missing
		return false
	}
	if f.rules == nil || !f.rules.Equal(&rules) {
		f.rules = &rules
	}
	old := folder{entries: f.entries, subs: f.subs}
	f.entries, f.subs, f.withheld, f.ignored = make([]*entry, 0, len(listed)), nil, nil, nil
	excludes, classes := p.t.Judge(f.rules, f.at), d.Classes()
	for _, l := range listed {
		name := l.Name()
		if tree.Hidden(name) {
			continue
		}
		if excludes(name, l.IsDir()) {
			f.ignored = append(f.ignored, ignored{name, l.Type()})
			continue
		}
		if classes(name).Unlisted() {
			f.withheld = append(f.withheld, name)
			continue
		}
		e := old.find(name)
		if e == nil || (e.sub != nil) != l.IsDir() {
			e = &entry{name: name, text: textUnread}
			if l.IsDir() {
				e.sub = &folder{at: f.join(name)}
			}
		}
		if f.entries = append(f.entries, e); e.sub != nil {
			f.subs = append(f.subs, e.sub)
		}
	}
	for _, sub := range old.subs {
		if !slices.Contains(f.subs, sub) {
			p.invalidate(sub)
		}
	}
	p.found.Add(int64(len(f.entries) - len(f.subs)))
	f.ident, f.settled, f.parentRules, f.ruleFiles = ident, ident.Settled(p.now), parentRules, files
	return true
}

// ruleFiles returns the identities of a folder's ignore files. has reports whether an entry exists.
func (p *refresh) ruleFiles(d *sandbox.Dir, has func(name string) bool) (out []ruleFileIdent) {
	for _, name := range tree.RuleFiles() {
		if !has(name) {
			continue
		}
		if ident, err := d.Ident(name); err == nil {
			out = append(out, ruleFileIdent{name, ident, true, ident.Settled(p.now)})
		}
	}
	if !has(gitFile) {
		return out
	}
	ident, err := d.Ident(gitFile)
	switch {
	case err != nil:
	case ident.Type == 0: // the rules are in another folder, so they never count as known
		out = append(out, ruleFileIdent{name: gitFile, ident: ident, there: true})
	default:
		ident, err := d.Ident(excludeFile)
		out = append(out, ruleFileIdent{excludeFile, ident, err == nil, err == nil && ident.Settled(p.now)})
	}
	return out
}

// The files of a repository that no watch covers.
const (
	gitFile     = ".git"
	excludeFile = gitFile + "/info/exclude"
)

// hasUnwatchedRules reports whether the ignore rules may change without an event in this folder.
func (f *folder) hasUnwatchedRules() bool {
	return slices.ContainsFunc(f.ruleFiles, func(r ruleFileIdent) bool { return r.name == gitFile || r.name == excludeFile })
}

// counts are the numbers of regular files, of files over the index's limit, and of indexed texts.
type counts struct{ files, overLimit, texts int }

func (f *folder) count() (c counts) {
	_ = f.each("", func(_ *folder, e *entry) error {
		if e.regular() {
			c.add(e)
		}
		return nil
	})
	return c
}

func (c *counts) add(e *entry) {
	if c.files++; e.text == textOverLimit {
		c.overLimit++
	}
	if e.text >= 0 {
		c.texts += int(e.parts)
	}
}

// each calls visit for the entries of a table in the order of a walk, a folder before its entries.
// visit may return fs.SkipDir and fs.SkipAll.
func (f *folder) each(under string, visit func(f *folder, e *entry) error) error {
	for _, e := range f.entries {
		if e.sub == nil {
			if err := visit(f, e); err != nil {
				return err
			}
			continue
		}
		if under != "" && !strings.HasPrefix(under, e.sub.at+"/") && !strings.HasPrefix(e.sub.at+"/", under) {
			continue
		}
		err := visit(f, e)
		if err == nil {
			err = e.sub.each(under, visit)
		}
		if err != nil && !errors.Is(err, fs.SkipDir) {
			return err
		}
	}
	return nil
}

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
func (i *index) refresh(ctx context.Context, t *tree.Tree, under string, parallel func() bool) error {
	if i.parentRules == nil || !i.parentRules.Equal(t.Rules()) {
		rules := *t.Rules()
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
		d, err := t.OpenDir(".")
		if err != nil {
			return cmp.Or(t.Note(err), err)
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
func (i *index) check(ctx context.Context, t *tree.Tree) {
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

func (i *index) checkOne(t *tree.Tree, f *folder) {
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
