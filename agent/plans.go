package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"tandem/agent/store"
	"tandem/filetime"
	"tandem/filetime/overlay"
	texts "tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
)

// Plan is a change that waits for the user's approval. UnknownPlanError is the error for one, or for a hunk of one, that there is not.
type (
	Plan             = overlay.Plan
	UnknownPlanError = overlay.UnknownError
)

// plans are the calls of a session whose changes wait; the changes are in the overlay of its reach. The zero value has none.
type plans struct {
	mu    sync.Mutex
	calls map[string]run.Call // by the id of the call
}

// saw takes in an event of a call that was queued: its arguments are judged again when it is approved.
func (p *plans) saw(e run.Event) {
	if e.State != run.Completed || e.Result == nil {
		return
	}
	if _, ok := e.Result.Value.(tools.Queued); ok {
		p.keep(e.Call)
	}
}

func (p *plans) keep(c run.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[string]run.Call{}
	}
	p.calls[c.ID] = c
}

func (p *plans) call(id string) (c run.Call, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok = p.calls[id]
	return c, ok
}

// keptPlan is a plan in the store. Files are those of one that waits, over the texts of the entry's blobs.
type keptPlan struct {
	ID     string         `json:"id"`
	State  overlay.State  `json:"state"`
	Reason overlay.Reason `json:"reason,omitempty"`
	Path   string         `json:"path,omitempty"`
	Tool   string         `json:"tool"`
	Label  string         `json:"label"`
	Files  []keptEdit     `json:"files,omitempty"`
}

// keptEdit is the edit of one file.
type keptEdit struct {
	Path    string      `json:"path"`
	Create  bool        `json:"create,omitzero"`
	Mode    fs.FileMode `json:"mode,omitzero"`
	OneName bool        `json:"oneName,omitzero"`
	Edits   texts.Set   `json:"edits"`
}

// planned stores plans that have changed, and tells the client and, of what became of them, the model.
func (s *Session) planned(changed []Plan) {
	var entries []store.Entry
	var ids []string
	for _, p := range changed {
		entries = append(entries, s.record.plan(p))
		if news := newsOf(p.ID, p.State, p.Change.Label); news != "" {
			s.window.Note(news)
		}
		if !slices.Contains(ids, p.ID) {
			ids = append(ids, p.ID)
		}
	}
	s.outbox.put(Event{Plans: ids}, s.record.soon(entries...))
}

// plan is the entry of a plan. One that is over a text which is too large to be kept is stale in the next process.
func (r *record) plan(p Plan) store.Entry {
	k := keptPlan{ID: p.ID, State: p.State, Reason: p.Reason, Path: p.Path, Tool: p.Change.Tool, Label: p.Change.Label}
	var blobs []store.Blob
	if p.State == overlay.Queued || p.State == overlay.Approved {
		for _, e := range p.Change.Files {
			k.Files = append(k.Files, keptEdit{Path: e.Path, Create: e.Create, Mode: e.Mode, OneName: e.OneName, Edits: e.Edits})
			blobs = append(blobs, store.Blob{Data: e.Base.String()})
		}
		if slices.ContainsFunc(blobs, func(b store.Blob) bool { return len(b.Data) > maxBlob }) {
			blobs = nil
		}
	}
	e := r.entry(p.Change.Turn, store.Plan, p.Change.Call, "", body{Plan: &k})
	e.Blobs = blobs
	return e
}

// newsOf is what the model is told of a plan; "" is nothing.
func newsOf(id string, state overlay.State, label string) string {
	switch state {
	case overlay.Done:
		return fmt.Sprintf("The user has approved %s (%s): it is in the files now.", id, label)
	case overlay.Discarded:
		return fmt.Sprintf("The user has discarded %s (%s): it is in no file, and no more in what you read. "+
			"Read what it changed again before you change that.", id, label)
	case overlay.Stale:
		return fmt.Sprintf("%s (%s) cannot be approved any more: what it changes was changed or discarded meanwhile. It is no more in what you read. "+
			"Read the files again, and plan it anew if it is still wanted.", id, label)
	}
	return ""
}

// pastPlans are the plans of a stored session.
type pastPlans struct {
	list  []Plan // in the order of the queue
	calls []run.Call
	news  []string // that no message of the model's user has told
}

func (p *pastPlans) add(st store.Store, e store.Entry, k *keptPlan, call *pastCall) {
	if k == nil {
		return
	}
	if news := newsOf(k.ID, k.State, k.Label); news != "" {
		p.news = append(p.news, news)
	}
	i := slices.IndexFunc(p.list, func(q Plan) bool { return q.ID == k.ID })
	if k.State == overlay.Done || k.State == overlay.Discarded {
		if i >= 0 {
			p.list = slices.Delete(p.list, i, i+1)
		}
		return
	}
	plan := Plan{
		ID: k.ID, State: k.State, Reason: k.Reason, Path: k.Path,
		Change: filetime.Change{Call: e.Call, Turn: e.Turn, Tool: k.Tool, Label: k.Label},
	}
	for i, f := range k.Files {
		edit := filetime.FileEdit{Path: f.Path, Create: f.Create, Mode: f.Mode, OneName: f.OneName, Edits: f.Edits}
		if i >= len(e.Blobs) {
			plan.State, plan.Reason = overlay.Stale, overlay.ByText
			break
		}
		base, err := st.Blob(e.Blobs[i].Hash)
		edit.Base = texts.New(base)
		if err != nil || edit.Edits.Validate(edit.Base) != nil {
			plan.State, plan.Reason = overlay.Stale, overlay.ByText
			break
		}
		plan.Change.Files = append(plan.Change.Files, edit)
	}
	if call != nil {
		p.calls = append(p.calls, call.Call)
	}
	if i >= 0 {
		p.list[i] = plan
		return
	}
	p.list = append(p.list, plan)
}

// restorePlans puts the plans of a stored session back into the queue.
func (s *Session) restorePlans(past *Past) {
	if past == nil {
		return
	}
	for _, c := range past.plans.calls {
		s.reach.plans.keep(c)
	}
	for i := range past.plans.list {
		past.plans.list[i].Change.Session = s.o.ID
	}
	s.reach.files.Restore(s.ctx, past.plans.list)
	for _, news := range past.plans.news {
		s.window.Note(news)
	}
}

// Plans lists the changes that wait, in the order in which they will land.
func (s *Session) Plans() []Plan { return s.reach.files.List() }

// Approval is what became of a plan that was approved.
type Approval struct {
	ID     string
	Result tools.Result
}

// ApprovePlans has waiting changes land, in the order of the queue; without ids all that are not stale. hunks, of one plan, are the numbers
// of those of its hunks that land: the others wait on. Each is judged once more, since rules and folders may have changed. The error is an
// *UnknownPlanError or ErrClosed; then nothing has happened.
func (s *Session) ApprovePlans(ctx context.Context, ids []string, hunks []int) ([]Approval, error) {
	found, err := s.choosePlans(ids, hunks)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	s.working.Add(1)
	s.mu.Unlock()
	defer s.working.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	var out []Approval
	for _, p := range found {
		out = append(out, Approval{p.ID, s.approve(ctx, p, hunks)})
	}
	s.outbox.flush()
	return out, nil
}

// choosePlans are the plans that an approval is about.
func (s *Session) choosePlans(ids []string, hunks []int) (out []Plan, err error) {
	list := s.Plans()
	for _, id := range ids {
		i := slices.IndexFunc(list, func(p Plan) bool { return p.ID == id })
		if i < 0 {
			return nil, &UnknownPlanError{What: fmt.Sprintf("plan %q", id)}
		}
		count := 0
		for _, f := range list[i].Files {
			count += len(f.Hunks)
		}
		for _, n := range hunks {
			if n < 0 || n >= count {
				return nil, &UnknownPlanError{What: fmt.Sprintf("hunk %d of %s", n, id)}
			}
		}
	}
	for _, p := range list {
		if len(ids) == 0 && p.State == overlay.Queued || slices.Contains(ids, p.ID) {
			out = append(out, p)
		}
	}
	return out, nil
}

// approve has one plan land, and does what a call does after its change: the audit, the record and the review have it.
func (s *Session) approve(ctx context.Context, p Plan, hunks []int) (r tools.Result) {
	began := s.o.Now()
	turn := p.Change.Turn
	record := run.Record{ // a record of its own beside that of the call, which only queued the change
		Call: run.Call{ID: p.Change.Call + "/" + p.ID, Name: p.Change.Tool}, Tool: p.Change.Tool, Began: began, Allowed: true, Rule: "plan/approve", Layer: "person",
		Plan: &tools.Plan{Title: p.Change.Label, Kind: tools.Edit, Change: &p.Change}, Attempts: 1,
	}
	env := s.env(turn, run.Call{ID: p.Change.Call}, s.Tools)
	defer func() {
		r.Speak(s.language(0, s.config().Messages))
		r.Call, r.Duration = p.Change.Call, max(0, s.o.Now().Sub(began))
	}()
	call, known := s.reach.plans.call(p.Change.Call)
	record.Args = call.Arguments
	if err := s.judgePlan(ctx, env, p, call, known); err != nil {
		return failed(ctx, env, err)
	}
	if s.o.Keeping.Store != nil {
		audit := auditor{record: s.record, who: s.o.Keeping.Who, turn: turn, redact: s.o.Keeping.Redact}
		if err := audit.Intend(record); err != nil {
			return tools.Fail(tools.GateDenied, "denied", "Permission denied: %v. What changes something is not done without a record of it.", err)
		}
		defer func() {
			record.Result, record.Duration = &r, max(0, s.o.Now().Sub(began))
			audit.Ended(record)
		}()
	}
	approved, landed, err := s.reach.files.Approve(ctx, p.ID, hunks...)
	if len(landed.Files) > 0 {
		s.landed(approved.Change, landed)
	}
	if err != nil {
		return failed(ctx, env, err)
	}
	r = tools.Result{Success: true, Landed: &landed}
	var names []string
	for _, f := range landed.Files {
		names = append(names, env.Name(f.Path))
		r.Diffs = append(r.Diffs, tools.Diff(env, f))
		if f.Applied && !f.Already {
			r.Meta.Modified = append(r.Meta.Modified, f.Path)
		}
		r.Meta.RebasedOver += f.Over
	}
	r.Data = fmt.Sprintf("%s has landed in %s.", p.ID, strings.Join(names, ", "))
	for _, w := range landed.Warnings {
		r.Warnings = append(r.Warnings, env.Name(w.Path)+" "+w.Says)
		r.Data += "\n" + r.Warnings[len(r.Warnings)-1]
	}
	return r
}

// landed has the record and the review take in what an approved plan has changed.
func (s *Session) landed(c filetime.Change, l filetime.Landed) {
	c.Allowed = true
	s.record.add(s.record.landed(c.Turn, c.Call, l, true)...)
	if s.o.Review != nil {
		s.o.Review.Landed(c, l)
		s.o.Review.Stale(l)
	}
	var paths []string
	for _, f := range l.Files {
		if f.Applied && !f.Already {
			paths = append(paths, f.Path)
		}
	}
	if len(paths) > 0 {
		s.Tell(Event{Hunks: paths})
	}
}

// judgePlan judges the call of a plan again, by the rules and the mode of now. Approval answers what would be asked or queued; a denial stays,
// and the call must still be about the files of the plan.
func (s *Session) judgePlan(ctx context.Context, env *tools.Env, p Plan, call run.Call, known bool) error {
	if err := s.reach.intact(); err != nil {
		return err
	}
	refuse := func(d gate.Decision) error {
		r := tools.Fail(tools.GateDenied, "denied", "Permission denied: %s. Nothing was applied.", d.Reason)
		r.Denial = &tools.Denial{Reason: d.Reason, Rule: d.Rule, Layer: d.Layer, Source: "policy"}
		return &tools.Refusal{Result: r}
	}
	if len(p.Change.Files) == 0 { // it is stale, which Approve says
		return nil
	}
	if !known {
		return refuse(gate.Decision{Reason: "the call of the plan is not known any more"})
	}
	now := s.Assess(ctx, call)
	if now.Failed != nil || now.Decision.Verdict == gate.Deny {
		return refuse(now.Decision)
	}
	var needs []tools.Need
	for _, f := range p.Change.Files {
		need, ok := needOf(env, now.Needs, f)
		if !ok {
			return refuse(gate.Decision{Reason: "the path leads elsewhere by now: " + env.Name(f.Path)})
		}
		needs = append(needs, need)
	}
	if d := s.Judge(gate.Call{Tool: now.Tool, Args: now.Args, Needs: needs, Turn: p.Change.Turn, Context: ctx}); d.Verdict == gate.Deny {
		return refuse(d)
	}
	return nil
}

// needOf is the need of one file of a plan: that of the call, or one of a file below a folder that the call needs.
func needOf(env *tools.Env, needs []tools.Need, f filetime.FileEdit) (n tools.Need, ok bool) {
	act := tools.Edits
	if f.Create {
		act = tools.Creates
	}
	list, err := tools.ToWrite(env, act, f.Path)
	if err != nil || list[0].Place.Path() != f.Path {
		return n, false
	}
	for _, n := range needs {
		if list[0].Within(n) && n.Place.Path() == f.Path {
			return n, true
		}
	}
	n = list[0]
	n.Arg, n.Written = "", f.Path
	return n, slices.ContainsFunc(needs, n.Within)
}

// StalePlan is the Value of the result of a plan that could not land because of a text: Text is what the file says.
type StalePlan struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// failed is the result of a plan that was refused.
func failed(ctx context.Context, env *tools.Env, err error) tools.Result {
	var refusal *tools.Refusal
	var conflict *filetime.Conflict
	var file *filetime.Error
	switch {
	case errors.As(err, &refusal):
		return refusal.Result
	case errors.As(err, &conflict):
		r := tools.Fail(filetime.EditConflict, string(overlay.ByText), "%s", strings.ReplaceAll(conflict.Error(), conflict.Path, env.Name(conflict.Path)))
		r.Value = StalePlan{conflict.Path, conflict.Now.String()}
		return r
	case errors.As(err, &file):
		r := tools.Refused(ctx, env, file)
		if file.Known {
			r.Value = StalePlan{file.Path, file.Now.String()}
		}
		return r
	case ctx.Err() != nil:
		return tools.Fail(filetime.Cancelled, "cancelled", "Cancelled. Nothing was applied.")
	}
	return tools.Fail(tools.ExecutionError, "", "The plan was not applied: %v.", err)
}

// DiscardPlans takes waiting changes out of the queue, without ids all. The error is an *UnknownPlanError; then nothing has happened.
func (s *Session) DiscardPlans(ids []string) error {
	_, err := s.reach.files.Discard(ids...)
	s.outbox.flush()
	return err
}
