package overlay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
)

// queue puts a change at the end of the queue. What has happened in its files already is no part of
// it, and a change without a rest is no plan.
func (o *Files) queue(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	if !c.CanWait() {
		return filetime.Landed{}, &filetime.Error{
			Code: filetime.Unsupported, Reason: "plan", Message: "Only edits of text and new files can be planned. Nothing was done.",
		}
	}
	files := make([]*file, len(c.Files))
	for i, e := range c.Files {
		f, err := o.project(ctx, e.Path)
		if err != nil {
			return filetime.Landed{}, err
		}
		files[i] = f
	}
	o.mu.Lock()
	defer o.unlock()
	var landed filetime.Landed
	var entries []*entry
	for i, e := range c.Files {
		l, made, err := o.judge(files[i], e)
		if err != nil {
			return filetime.Landed{}, err
		}
		landed.Files, entries = append(landed.Files, l), append(entries, made)
	}
	if !slices.ContainsFunc(landed.Files, func(l filetime.LandedFile) bool { return !l.Already }) {
		return landed, nil
	}
	p := o.add(c)
	for i, f := range files {
		if l := &landed.Files[i]; !l.Already {
			f.push(p, entries[i])
			l.Rev = f.record(entries[i].set, filetime.Revision{Author: filetime.Agent, Session: c.Session, Call: c.Call, Ours: true}).rev
		}
	}
	landed.Plan = p.id
	o.news = append(o.news, o.describe(p))
	return landed, nil
}

// judge works an edit out over the projection.
func (o *Files) judge(f *file, e filetime.FileEdit) (filetime.LandedFile, *entry, error) {
	o.sync(f)
	switch exists := f.exists(); {
	case e.Create && exists:
		return filetime.LandedFile{}, nil, &filetime.Error{
			Code: filetime.FileExists, Reason: "exists", Path: e.Path, Now: f.now, Known: true,
			Message: fmt.Sprintf("%s exists by now. Nothing was done. Read it before you change it.", e.Path),
		}
	case !e.Create && !exists:
		return filetime.LandedFile{}, nil, &filetime.Error{
			Code: filetime.EditConflict, Reason: "deleted", Path: e.Path,
			Message: fmt.Sprintf("%s was deleted since you read it. Nothing was done.", e.Path),
		}
	}
	since, by, last := text.Set(nil), e.By, filetime.User
	if !e.Create {
		since, by, last = o.until(f, e)
	}
	r := text.Rebase(e.Base, e.Edits, since)
	if len(r.Conflicts) > 0 {
		return filetime.LandedFile{}, nil, filetime.Collision(e, since, f.now, r.Conflicts, last)
	}
	shown := text.Canonical(e.Base, since)
	l := filetime.LandedFile{
		Path: e.Path, Before: f.now, After: r.Set.Apply(f.now), Set: r.Set, Rev: f.rev, Created: e.Create, Mode: e.Mode, Applied: true,
		Already: len(r.Set) == 0 && !e.Create, Source: sourcePlan, Rebased: shown, Over: len(shown), By: by, SameLine: r.SameLine, Ties: r.Ties,
	}
	return l, &entry{
		create: e.Create, mode: e.Mode, oneName: e.OneName, base: e.Base, edits: e.Edits, since: since, by: by,
		before: f.now, set: r.Set, after: l.After,
	}, nil
}

// add puts a plan at the end of the queue.
func (o *Files) add(c filetime.Change) *plan {
	o.number++
	c.Files, c.Waits, c.Apply = nil, nil, ""
	p := &plan{id: "plan_" + strconv.Itoa(o.number), state: Queued, change: c}
	o.plans = append(o.plans, p)
	return p
}

func (f *file) push(p *plan, e *entry) {
	e.plan = p
	p.count++
	f.entries = append(f.entries, e)
}

// find gives the plans with these ids, in the order of the queue; none are all.
func (o *Files) find(ids []string) ([]*plan, error) {
	for _, id := range ids {
		if !slices.ContainsFunc(o.plans, func(p *plan) bool { return p.id == id }) {
			return nil, &UnknownError{"plan " + strconv.Quote(id)}
		}
	}
	var out []*plan
	for _, p := range o.plans {
		if len(ids) == 0 || slices.Contains(ids, p.id) {
			out = append(out, p)
		}
	}
	return out, nil
}

// List gives the queue, as things stand.
func (o *Files) List() (out []Plan) {
	o.mu.Lock()
	defer o.unlock()
	o.refresh()
	for _, p := range o.plans {
		out = append(out, o.describe(p))
	}
	return out
}

// refresh takes what has happened below all waiting edits into them.
func (o *Files) refresh() {
	for _, f := range o.files {
		if len(f.entries) > 0 {
			o.sync(f)
		}
	}
}

// Unlanded are the files with edits that wait.
func (o *Files) Unlanded() (paths []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for path, f := range o.files {
		if len(f.entries) > 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// describe is a plan for others.
func (o *Files) describe(p *plan) Plan {
	d := Plan{ID: p.id, State: p.state, Reason: p.reason, Path: p.path, Now: p.now, Change: p.change}
	for _, at := range o.parts(p) {
		e := at.entry()
		made := File{Path: at.f.path, Before: e.before, After: e.after, Set: e.set, Created: e.create}
		for _, g := range groups(e.before, e.set) {
			made.Hunks = append(made.Hunks, hunkOf(e.before, e.set[g[0]:g[1]]))
		}
		d.Files = append(d.Files, made)
		d.Change.Files = append(d.Change.Files, filetime.FileEdit{
			Path: at.f.path, Create: e.create, Mode: e.mode, OneName: e.oneName, Base: e.base, Edits: e.edits,
		})
		if _, err := at.alone(); err != nil {
			for _, before := range at.f.entries[:at.i] {
				if !slices.Contains(d.Needs, before.plan.id) {
					d.Needs = append(d.Needs, before.plan.id)
				}
			}
		}
	}
	return d
}

// part is an entry with its place.
type part struct {
	f *file
	i int
}

func (p part) entry() *entry { return p.f.entries[p.i] }

// parts are the entries of a plan, by path.
func (o *Files) parts(p *plan) (out []part) {
	for _, f := range o.files {
		if i := slices.IndexFunc(f.entries, func(e *entry) bool { return e.plan == p }); i >= 0 {
			out = append(out, part{f, i})
		}
	}
	slices.SortFunc(out, func(a, b part) int { return strings.Compare(a.f.path, b.f.path) })
	return out
}

// alone makes the edit of the base that an entry is without those before it. It fails where they
// have made what the entry changes.
func (p part) alone() (filetime.FileEdit, error) {
	e, f := p.entry(), p.f
	out := filetime.FileEdit{
		Path: f.path, Create: e.create, Mode: e.mode, OneName: e.oneName, Base: e.base, Edits: e.edits, Since: e.since, By: e.by, Rev: f.base.Rev,
	}
	if p.i == 0 {
		return out, nil
	}
	var needs []string
	for _, before := range f.entries[:p.i] {
		needs = append(needs, before.plan.id)
	}
	out.Since = text.Compose(e.since, f.back(p.i))
	if !f.base.Exists || !f.commutes(p.i, out, e.after) {
		return out, depends(f.path, needs...)
	}
	return out, nil
}

// commutes says that an edit of the base can land before the first n entries: these can be rebased
// over it, and then lead to want. An edit that deletes only what they insert has no conflict with
// the base, and yet needs them.
func (f *file) commutes(n int, e filetime.FileEdit, want text.Text) bool {
	r := text.Rebase(e.Base, e.Edits, e.Since)
	if len(r.Conflicts) > 0 {
		return false
	}
	theirs, below := r.Set, r.Set.Apply(f.base.Text)
	for _, e := range f.entries[:n] {
		r := text.Rebase(e.base, e.edits, text.Compose(e.since, theirs))
		if len(r.Conflicts) > 0 {
			return false
		}
		after := r.Set.Apply(below)
		theirs, below = difference(e.after, after, text.RebaseTheirs(e.before, theirs, e.set).Set), after
	}
	return below.Equal(want)
}

// groups are the ranges of a set whose edits no unchanged line parts.
func groups(before text.Text, set text.Set) (out [][2]int) {
	for i, e := range set {
		if n := len(out); n > 0 && before.Line(e.Start) <= before.Line(set[i-1].End) {
			out[n-1][1] = i + 1
		} else {
			out = append(out, [2]int{i, i + 1})
		}
	}
	return out
}

// hunkOf is a group of edits in whole lines.
func hunkOf(before text.Text, set text.Set) Hunk {
	first := before.Line(set[0].Start)
	start, end := before.LineStart(first), set[len(set)-1].End
	if line := before.Line(end); end > before.LineStart(line) || end == start {
		end = before.LineStart(line + 1)
	}
	var lines strings.Builder
	at := start
	for _, e := range set {
		lines.WriteString(before.Slice(at, e.Start) + e.New)
		at = e.End
	}
	return Hunk{Line: first + 1, Old: before.Slice(start, end), New: lines.String() + before.Slice(at, end)}
}

// Discard takes plans out of the queue, without any all. Those that stay are rebased over that.
func (o *Files) Discard(ids ...string) ([]Plan, error) {
	o.mu.Lock()
	defer o.unlock()
	o.refresh()
	found, err := o.find(ids)
	var out []Plan
	for _, p := range slices.Backward(found) { // what depends on another goes before it
		if p.state == Approved { // its fate is decided elsewhere
			continue
		}
		d := o.describe(p)
		d.State = Discarded
		out = append(out, d)
		o.close(p, d)
		o.remove(p, filetime.User)
		o.drop()
	}
	slices.Reverse(out)
	return out, err
}

// close takes a plan out of the list.
func (o *Files) close(p *plan, d Plan) {
	o.plans = slices.DeleteFunc(o.plans, func(q *plan) bool { return p == q })
	p.state = d.State
	o.news = append(o.news, d)
}

// Approve has a plan land in the base, or those hunks of it that are named, by the numbers that
// they have in Plan.Files, counted through. The rest of the plan waits on. The plan that it gives
// is what was to land, also after an error. The errors are those of Commit, *UnknownError, and an
// EDIT_CONFLICT for a plan that is stale or that needs another one.
func (o *Files) Approve(ctx context.Context, id string, hunks ...int) (Plan, filetime.Landed, error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return Plan{ID: id}, filetime.Landed{}, context.Cause(ctx)
	}
	p, d, c, err := o.begin(id, hunks)
	if err != nil {
		return d, filetime.Landed{}, err
	}
	landed, err := o.land(ctx, c)
	o.mu.Lock()
	defer o.unlock()
	o.settle(p, err)
	d.State, d.Reason, d.Path, d.Now = p.state, p.reason, p.path, p.now
	if err == nil {
		d.State = Done
		o.close(p, d)
	}
	return d, landed, err
}

// begin makes the change of the base that a plan is.
func (o *Files) begin(id string, hunks []int) (*plan, Plan, filetime.Change, error) {
	o.mu.Lock()
	defer o.unlock()
	o.refresh()
	found, err := o.find([]string{id})
	if err != nil {
		return nil, Plan{ID: id}, filetime.Change{}, err
	}
	p := found[0]
	if p.state == Stale {
		return nil, o.describe(p), filetime.Change{}, p.refusal()
	}
	if p, err = o.split(p, hunks); err != nil {
		return nil, Plan{ID: id}, filetime.Change{}, err
	}
	d, c := o.describe(p), p.change
	for _, at := range o.parts(p) {
		e, err := at.alone()
		if err != nil {
			return nil, d, c, err
		}
		c.Files = append(c.Files, e)
	}
	p.state, p.tried, c.Allowed = Approved, true, true
	return p, d, c, nil
}

// refusal is the error of a plan that is stale.
func (p *plan) refusal() error {
	message := "The text that the plan changes was changed meanwhile. Nothing was applied."
	if p.reason == ByDepends {
		message = "The plan changes what another plan was to make, which is not there any more. Nothing was applied."
	}
	return &filetime.Error{
		Code: filetime.EditConflict, Reason: string(p.reason), Path: p.path, Message: p.path + ": " + message, Now: p.now, Known: true,
	}
}

func (o *Files) land(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	var paths []string
	for _, e := range c.Files {
		paths = append(paths, e.Path)
	}
	unlock, err := o.base.Lock(filetime.WithHolder(ctx, filetime.Holder{Session: c.Session, Call: c.Call}), paths...)
	if err != nil {
		return filetime.Landed{}, err
	}
	defer unlock()
	return o.base.Commit(ctx, c)
}

// settle takes what has become of an approved plan into the queue.
func (o *Files) settle(p *plan, err error) {
	o.refresh()
	if err == nil { // what was there already has made no revision
		o.remove(p, filetime.Agent)
		o.drop()
		return
	}
	if p.state == Stale {
		return
	}
	p.state = Queued
	left := o.parts(p)
	var conflict *filetime.Conflict
	switch {
	case len(left) < p.count: // a part of it has landed
		o.stale(p, ByText, "", text.Text{})
	case errors.As(err, &conflict):
		o.stale(p, ByText, conflict.Path, conflict.Now)
	}
	o.drop()
}

// split makes the hunks that are chosen a plan of their own, before the rest; none are all.
func (o *Files) split(p *plan, chosen []int) (*plan, error) {
	if len(chosen) == 0 {
		return p, nil
	}
	all := 0
	parts := o.parts(p)
	for _, at := range parts {
		all += len(groups(at.entry().before, at.entry().set))
	}
	for _, n := range chosen {
		if n < 0 || n >= all {
			return nil, &UnknownError{fmt.Sprintf("hunk %d of %s", n, p.id)}
		}
	}
	q := &plan{state: Queued, change: p.change}
	number := 0
	for _, at := range parts {
		e, f := at.entry(), at.f
		var some, rest text.Set
		grown := 0
		for _, g := range groups(e.before, e.set) {
			in := slices.Contains(chosen, number)
			number++
			for _, edit := range e.set[g[0]:g[1]] {
				if in {
					some = append(some, edit)
					grown += len(edit.New) - (edit.End - edit.Start)
				} else {
					rest = append(rest, text.Edit{Start: edit.Start + grown, End: edit.End + grown, New: edit.New})
				}
			}
		}
		switch {
		case len(some) == 0:
			continue
		case len(rest) == 0:
			e.plan = q
			p.count--
		default:
			between := some.Apply(e.before)
			first := &entry{
				plan: q, mode: e.mode, oneName: e.oneName, base: e.before, edits: some, before: e.before, set: some, after: between,
			}
			e.base, e.edits, e.since, e.by, e.before, e.set = between, rest, nil, 0, between, rest
			f.entries = slices.Insert(f.entries, at.i, first)
		}
		q.count++
	}
	if p.count == 0 { // all of it is chosen
		for _, at := range o.parts(q) {
			at.entry().plan = p
			p.count++
		}
		return p, nil
	}
	o.number++
	q.id = "plan_" + strconv.Itoa(o.number)
	o.plans = slices.Insert(o.plans, slices.Index(o.plans, p), q)
	o.news = append(o.news, o.describe(q), o.describe(p))
	return q, nil
}

// Restore puts plans of an earlier overlay into the queue, in their order. What has happened since
// they were made is found by comparing texts; one that does not fit any more is stale.
func (o *Files) Restore(ctx context.Context, plans []Plan) {
	for _, was := range plans {
		files := make([]*file, len(was.Change.Files))
		var failed error
		for i, e := range was.Change.Files {
			if files[i], failed = o.project(ctx, e.Path); failed != nil {
				break
			}
		}
		o.mu.Lock()
		o.restore(was, files, failed)
		o.unlock()
	}
}

func (o *Files) restore(was Plan, files []*file, failed error) {
	var n int
	if _, err := fmt.Sscanf(was.ID, "plan_%d", &n); err == nil {
		o.number = max(o.number, n)
	}
	edits := was.Change.Files
	was.Change.Files = nil
	p := &plan{id: was.ID, state: was.State, reason: was.Reason, path: was.Path, now: was.Now, change: was.Change}
	o.plans = append(o.plans, p)
	if p.state == Stale {
		return
	}
	p.state = Queued
	if failed != nil {
		o.stale(p, ByText, "", text.Text{})
		return
	}
	already := true
	for i, e := range edits {
		f := files[i]
		if e.Create && f.exists() && f.now.Equal(e.Edits.Apply(text.Text{})) {
			continue
		}
		e.Since, e.Rev = nil, f.rev
		if !e.Create {
			e.Since = text.Diff(e.Base, f.now)
		}
		_, made, err := o.judge(f, e)
		if err != nil {
			o.stale(p, ByText, f.path, f.now)
			o.drop()
			return
		}
		already = already && len(made.set) == 0 && !made.create
		f.push(p, made)
		f.record(made.set, filetime.Revision{Author: filetime.Agent, Session: p.change.Session, Call: p.change.Call, Ours: true})
	}
	if already { // it landed right before the process ended
		d := o.describe(p)
		d.State = Done
		o.close(p, d)
		o.remove(p, filetime.Agent)
	}
}
