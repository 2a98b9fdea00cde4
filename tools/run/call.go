package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/userinfo"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/schema"
)

// Why a call's context ended.
var (
	errTimeout       = errors.New("the tool's time is over")
	errTurnCancelled = errors.New("the turn was cancelled by a person")
	errSibling       = errors.New("a command of the same batch failed")
)

// call is one call on its way through the stages.
type call struct {
	Call
	ctx  context.Context
	host *Host
	// cancelTurn is pulled where a person answers a question by ending the turn.
	cancelTurn func(cause error)
	where      *slot // nil until it is known
	batch      int
	group      string
	begun      time.Time

	tool    tools.Tool
	env     *tools.Env
	normal  bool // checked is set
	checked schema.Checked
	title   string
	needs   []tools.Need // as they were judged before there was a plan
	plan    *tools.Plan
	judged  gate.Decision // by a person too, where one was asked
	failed  string        // the stage that failed, "" while none has
	// lost is why no sandbox could confine the call's command, though there is one; "" as long as one can.
	lost string
	// before are the warnings of the attempt that was lost.
	before []string
	// feedback is what the person said with their answer.
	feedback string
	landed   filetime.Landed
	effects  tools.Effects // of a command
	result   tools.Result
	phase    string // that the result is told with

	mu    sync.Mutex // guards state and the order of events: progress comes from other goroutines
	state State

	pause pause // of a running call
}

// stage is one step of a call.
type stage struct {
	name string
	do   func(*call) error
	// always stages happen to every call; the others are left out once one of them has failed.
	always bool
}

// stages are the way of every call, in order. A new concern is one more entry.
func stages() []stage {
	return []stage{
		{name: "resolve", do: (*call).resolve},
		{name: "normalise", do: (*call).normalise},
		{name: "validate", do: (*call).validate},
		{name: "needs", do: (*call).need},
		{name: "policy", do: (*call).policy},
		{name: "plan", do: (*call).makePlan},
		{name: "permission", do: (*call).permission},
		{name: "execute", do: (*call).execute},
		{name: "truncate", do: (*call).truncate, always: true},
		{name: "record", do: (*call).record, always: true},
		{name: "audit", do: (*call).audit, always: true},
		{name: "emit", do: (*call).emit, always: true},
	}
}

// run carries the call out. It always gives a Result, whatever the tool does.
func (c *call) run() tools.Result {
	c.begun = c.host.now()
	var trace []tools.Stage
	list := stages()
	for i := 0; i < len(list); i++ {
		s := list[i]
		if c.failed != "" && !s.always {
			continue
		}
		since := c.host.now()
		err := catch(func() error { return s.do(c) })
		switch {
		case err == nil:
		case c.loses(err):
			i = slices.IndexFunc(list, func(s stage) bool { return s.name == "needs" }) - 1
		case s.always: // the outcome stands: what has landed has landed
			c.log(err)
		default:
			c.failed = s.name
			if worse := catch(func() error { c.result = c.failure(err); return nil }); worse != nil {
				c.result = tools.Fail(tools.ExecutionError, "", "Exception: %s", clip(err.Error(), 500))
				c.log(worse)
			}
		}
		trace = append(trace, tools.Stage{Stage: s.name, MS: milliseconds(c.host.now().Sub(since))})
		if c.host.Trace {
			c.result.Meta.Trace = trace
		}
	}
	return c.result
}

// loses says that a call goes back to its needs: its command was not run, since the sandbox that there is failed. What it needs now is
// the command without one, which is judged and asked about as such, once.
func (c *call) loses(err error) bool {
	if c.lost != "" || !errors.Is(err, sandbox.ErrNotConfined) {
		return false
	}
	_, why, _ := strings.Cut(err.Error(), sandbox.ErrNotConfined.Error()+": ")
	c.before = c.result.Warnings
	c.lost = "the one that there is failed (" + cmp.Or(why, err.Error()) + ")"
	return true
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// prepare goes as far as can be gone without doing anything, for the scheduler and for the first news of the call. What
// fails here fails again in its own stage.
func (c *call) prepare() {
	c.title = show.Visible(c.Name, false)
	err := catch(func() error {
		if err := c.find(); err != nil {
			return nil
		}
		c.title = c.tool.Spec().Name
		if err := c.normalise(); err != nil {
			return err
		}
		if t := c.tool.Title(c.checked.Args); t != "" {
			c.title = show.Visible(t, false)
		}
		return nil
	})
	if err != nil {
		c.log(err)
	}
}

// resolve finds the tool, and fails where it was taken out since the request that the call answers.
func (c *call) resolve() error {
	if err := c.alive(); err != nil {
		return err
	}
	if err := c.host.Budget.take(); err != nil {
		return err
	}
	return c.find()
}

func (c *call) find() error {
	if c.tool == nil {
		if c.tool = c.host.Tools.Get(c.Name); c.tool != nil {
			c.env = c.host.Env(c.Call)
			c.env.Progress, c.env.MayRead, c.env.Read = c.progress, c.mayRead, c.judgedRead(c.env.Read)
			c.env.Again = c.again
			if c.env.Runner != nil {
				c.env.Runner = &judgedRunner{c.env.Runner, c}
			}
		}
	}
	offer := c.host.Tools
	if c.host.Present != nil {
		offer = c.host.Present()
	}
	if c.tool != nil && offer.Holds(c.tool) {
		return nil
	}
	if by := offer.DroppedBy(c.Name); by != "" {
		return tools.Refuse(tools.ToolNotFound, "disabled", "Tool %q is disabled by %s. Do it with another tool.", c.Name, by)
	}
	hint := "Use one of the tools that you were offered."
	if near := offer.Nearest(c.Name); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, ", ") + "?"
	}
	return tools.Refuse(tools.ToolNotFound, "unknown", "Tool %q does not exist. %s", clip(c.Name, 60), hint)
}

func (c *call) normalise() error {
	if !c.normal {
		c.checked = c.tool.Schema().Check(c.Arguments, c.host.Coerce)
		c.normal = true
	}
	return nil
}

func (c *call) validate() error {
	if len(c.checked.Issues) > 0 {
		return tools.Invalid(c.checked.Issues)
	}
	c.env.Checked = true
	return nil
}

// need finds what the call is about to touch.
func (c *call) need() (err error) {
	c.needs, err = c.tool.Needs(c.env, c.checked.Args)
	c.env.Needs = c.needs
	return err
}

// makePlan lets the tool work out what it will do. What cannot be done ends here, before anybody is asked.
func (c *call) makePlan() error {
	leave, err := c.place()
	if err != nil {
		return err
	}
	defer leave()
	ctx, done := c.limited()
	defer done()
	plan, err := patient(ctx, c.grace(), func(ctx context.Context) (*tools.Plan, error) {
		return c.tool.Plan(ctx, c.env, c.checked.Args)
	})
	if err != nil {
		return c.why(ctx, err)
	}
	if plan == nil || (plan.Change == nil) == (plan.Run == nil) {
		return errors.New("the tool made no plan that can be carried out")
	}
	if plan.Needs == nil {
		plan.Needs = c.needs
	}
	if err := plan.Unjudged(c.needs); err != nil {
		return fmt.Errorf("a fault of the tool %s: %w; nothing was done", c.tool.Spec().Name, err)
	}
	if plan.Locations == nil {
		for _, n := range plan.Needs {
			if path := n.Place.Path(); path != "" {
				plan.Locations = append(plan.Locations, tools.Location{Path: path})
			}
		}
	}
	if plan.Title = show.Visible(plan.Title, false); plan.Title == "" {
		plan.Title = c.title
	}
	if plan.Kind == "" {
		plan.Kind = c.tool.Spec().Kind
	}
	if ch := plan.Change; ch != nil {
		ch.Session, ch.Call, ch.Turn, ch.Tool = c.env.Session, c.env.Call, c.env.Turn, c.tool.Spec().Name
		ch.Apply = c.host.Apply
		if ch.Label == "" {
			ch.Label = plan.Title
		}
		for i, f := range ch.Files {
			ch.Files[i].OneName = !slices.ContainsFunc(plan.Needs, func(n tools.Need) bool {
				return n.Place.Path() == f.Path && n.Place.Class().Is(sandbox.Linked)
			})
		}
	}
	c.mu.Lock()
	c.plan = plan
	c.mu.Unlock()
	return nil
}

// place waits until the call may run. One that only asks a person or takes a note needs none: it must not hold the others
// up.
func (c *call) place() (leave func(), err error) {
	if c.tool.Spec().Kind == tools.Think {
		return func() {}, nil
	}
	leave, err = c.host.Places.take(c.ctx)
	if err != nil {
		return nil, c.why(c.ctx, err)
	}
	return leave, nil
}

// policy refuses what no answer of a person would allow, before the tool reads anything for it.
func (c *call) policy() error { return c.judge(c.needs) }

// judge asks the gate about needs, and fails where it refuses.
func (c *call) judge(needs []tools.Need) error {
	needs = c.host.Keys.flagged(c.checked.Args, needs)
	d := c.host.Gate.Judge(gate.Call{Tool: c.tool, Args: c.checked.Args, Needs: needs, Turn: c.env.Turn})
	if c.lost != "" {
		d.Reason += ": " + c.lost
	}
	switch c.judged = d; d.Verdict {
	case gate.Allow, gate.Ask:
		return nil
	case gate.Queue:
		return tools.Refuse(tools.PlanMode, "plan", "The session only plans: %s. Nothing was done. Reads, searches and commands that only "+
			"read go on as ever. Say what you would do, and leave it to the user to change the mode.", d.Reason)
	}
	return denied(tools.Denial{Reason: d.Reason, Rule: d.Rule, Layer: d.Layer, Source: "policy"},
		"Permission denied: %s (%s %s). Nothing was done. This rule denies the same call every time: go on without it, "+
			"and tell the user what you could not do.", d.Reason, d.Layer, d.Rule)
}

// mayRead says that reading a place would be allowed without a question. A host without the tool has no rule about it.
func (c *call) mayRead(p sandbox.Place) bool {
	t := c.host.Tools.Get(tools.ReadFile)
	if t == nil {
		return c.host.Tools.DroppedBy(tools.ReadFile) == ""
	}
	need := tools.Need{Act: tools.Reads, Place: p, Arg: tools.PathArg}
	return c.host.Gate.Judge(gate.Call{Tool: t, Needs: []tools.Need{need}, Turn: c.env.Turn}).Verdict == gate.Allow
}

// permission judges what the plan has turned out to need, by what holds now, and asks a person where it takes that, with
// nothing of the call done yet and no time limit running.
func (c *call) permission() error {
	if err := c.judge(c.plan.Needs); err != nil {
		return err
	}
	if c.judged.Verdict == gate.Allow {
		return nil
	}
	diffs, err := c.preview()
	if err != nil {
		return err
	}
	option, err := c.consent(Question{Plan: c.plan, Args: c.checked.Args, Judged: c.judged, Diffs: diffs, Unkept: c.unkept()})
	if err != nil {
		return err
	}
	c.judged = gate.Decision{Verdict: gate.Allow, Rule: string(option), Layer: "person"}
	if c.plan.Change != nil {
		c.plan.Change.Allowed = true
	}
	return nil
}

// consent asks a person, and fails where they do not allow what is asked.
func (c *call) consent(q Question) (Option, error) {
	answer := Answer{Outcome: Unavailable}
	if q.Call, q.Tool, q.Turn = c.Call, c.tool, c.env.Turn; c.host.Asker != nil {
		answer = c.host.Asker.Ask(c.ctx, q)
	}
	if err := c.alive(); err != nil {
		return "", err
	}
	if answer.Outcome == Cancelled {
		c.cancelTurn(errTurnCancelled)
		return "", errTurnCancelled
	}
	switch answer.Outcome {
	case Allowed:
		c.feedback = feedback(answer)
		return answer.Option, nil
	case Unavailable:
		d := tools.Denial{Reason: "nobody is there who could be asked for permission", Layer: "person", Source: "unattended"}
		if q.Judged.Layer == gate.LayerSandbox {
			d.Layer = gate.LayerSandbox
		}
		return "", denied(d,
			"Permission denied: the user has to be asked first (%s), and nobody can be asked here. Calls of this kind cannot "+
				"run in this session at all. Nothing was done. Go on without them, and say what is left to do.", q.Judged.Reason)
	case Unanswered:
		return "", denied(tools.Denial{
			Reason: "the editor gave no valid answer to the question for permission", Layer: "person", Source: "unanswered",
		}, "Permission denied: the editor gave no valid answer to the question for permission. Nothing was done. "+
			"Stop here and tell the user that the question was not answered.")
	}
	d := tools.Denial{Reason: "the user denied this call", Layer: "person", Source: "user"}
	if answer.Outcome == RejectedBefore {
		return "", denied(d, "Permission denied: the user has denied this very call before, in this turn, and was not asked again. Nothing was "+
			"done. Do not repeat it. Say what you wanted to do and wait for what the user says.")
	}
	if c.feedback = feedback(answer); c.feedback != "" {
		return "", denied(d, "Permission denied: the user denied this call. Nothing was done. Do not reach the same end in another way; "+
			"do what follows from what the user says.")
	}
	return "", denied(d, "Permission denied: the user denied this call. Nothing was done. Stop here: do not reach the same end in "+
		"another way. Say what you wanted to do and wait for what the user says.")
}

// feedback is what a person said with their answer, as the model reads it.
func feedback(a Answer) string {
	const most = 4000
	return strings.TrimSpace(clip(strings.ToValidUTF8(a.Feedback, "\uFFFD"), most))
}

// denied is a call that somebody refused; format tells the model what follows from that.
func denied(d tools.Denial, format string, args ...any) error {
	r := tools.Fail(tools.GateDenied, "denied", format, args...)
	r.Denial = &d
	return &tools.Refusal{Result: r}
}

// execute carries the plan out, under the time limit and, for a change, under the locks of its files.
func (c *call) execute() error {
	if err := c.alive(); err != nil {
		return err
	}
	leave, err := c.place()
	if err != nil {
		return err
	}
	c.leave(leave)
	defer c.leave(nil)
	if err := c.env.Paths.Intact(); err != nil { // a person may have thought for long
		return err
	}
	if err := c.intend(); err != nil {
		return err
	}
	c.enter(Executing, Event{Phase: "use"})
	ctx, done := c.limited()
	defer done()
	if since := c.host.now(); c.tool.Spec().Kind != tools.Think {
		defer func() { c.host.Budget.spend(c.host.now().Sub(since) - c.asking()) }()
	}
	if c.plan.Run != nil {
		began := c.beforeCommand(ctx)
		r, err := patient(ctx, c.grace(), c.plan.Run)
		if err == nil && !r.Success && errors.Is(context.Cause(ctx), errBudget) {
			why := c.host.Budget.stopped()
			r.Error, r.Reason, r.Data = why.Result.Error, why.Result.Reason, r.Data+"\n"+why.Result.Data
		}
		if err == nil && r.Error == filetime.Cancelled && errors.Is(context.Cause(ctx), errSibling) {
			r.Error, r.Reason, r.Data = tools.SiblingCancelled, "sibling", r.Data+"\n"+siblingFailed
		}
		for _, w := range began.Warnings {
			r.Data += "\n" + w
		}
		r.Warnings = append(r.Warnings, began.Warnings...)
		if began.Ended != nil { // whatever ended it, what it has changed is found
			c.affected(&r, began.Ended(context.WithoutCancel(ctx)))
		}
		c.result = r
		if err == nil && !r.Success && r.Error == "" {
			err = errors.New("the tool answered neither success nor an error")
		}
		return c.why(ctx, err)
	}
	var paths []string
	for _, f := range c.plan.Change.Files {
		paths = append(paths, f.Path)
	}
	// A landing is always waited for: nobody may be told that it failed while it is still on its way.
	unlock, err := c.host.Files.Lock(filetime.WithHolder(ctx, filetime.Holder{Session: c.env.Session, Call: c.ID}), paths...)
	if err != nil {
		return c.why(ctx, err)
	}
	defer unlock()
	c.landed, err = c.host.Files.Commit(ctx, *c.plan.Change)
	for _, f := range c.landed.Files {
		c.env.FileTime.Wrote(f)
	}
	if err != nil {
		return c.why(ctx, err)
	}
	c.result = c.plan.Done(c.landed)
	return nil
}

// command is what the host is told of a command; ok is false where the call runs none.
func (c *call) command() (about Command, ok bool) {
	if c.plan.Command() == "" {
		return Command{}, false
	}
	e := c.env
	about = Command{
		Change: filetime.Change{Session: e.Session, Call: e.Call, Turn: e.Turn, Tool: c.tool.Spec().Name, Label: c.plan.Title},
		Paths:  e.Paths, Seen: e.FileTime.Paths(), Unwatched: c.plan.GoesOn,
	}
	for _, n := range c.plan.Needs {
		about.Unwatched = about.Unwatched || n.Act == tools.Runs && n.Shell.ReadOnly
	}
	return about, true
}

// beforeCommand tells the host of a command that is about to run.
func (c *call) beforeCommand(ctx context.Context) Began {
	about, ok := c.command()
	if !ok || c.host.BeforeCommand == nil {
		return Began{}
	}
	return c.host.BeforeCommand(ctx, about)
}

// unkept is what a person who is asked is told of files that the command may change for good.
func (c *call) unkept() string {
	about, ok := c.command()
	if !ok || c.host.Unkept == nil {
		return ""
	}
	return c.host.Unkept(c.ctx, about)
}

// affected takes what a command has changed into its result.
func (c *call) affected(r *tools.Result, e tools.Effects) {
	c.effects = e
	told := e.Told(c.env)
	if told == "" {
		return
	}
	at := strings.LastIndexByte(r.Data, '\n') + 1
	if last := r.Data[at:]; strings.HasPrefix(last, "[Exit code: ") { // it stays the last line
		r.Data = r.Data[:at] + told + "\n" + last
	} else {
		r.Data += "\n" + told
	}
}

const siblingFailed = "A command that ran beside it failed, so it was stopped. Look at that one first; then ask for this one again if it is still of use."

// alive fails where the turn is over, so that nothing new is begun.
func (c *call) alive() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return nil
}

// limited gives the context that the tool works under.
func (c *call) limited() (context.Context, context.CancelFunc) {
	ctx := c.ctx
	if c.tool.Spec().Block {
		ctx = context.WithoutCancel(ctx)
	}
	d, cause := c.env.Limits.ToolTimeout, errTimeout
	if c.tool.Spec().NoTimeout {
		d = 0
	}
	// Nobody's time is counted while a person thinks.
	if left := c.host.Budget.left(); left > 0 && c.tool.Spec().Kind != tools.Think && (d == 0 || left < d) {
		d, cause = left, errBudget
	}
	if d > 0 {
		return context.WithTimeoutCause(ctx, d, cause)
	}
	return context.WithCancel(ctx)
}

// grace is how long a tool may take to notice that its time is over: a command is first asked to end, then killed.
func (c *call) grace() time.Duration { return c.env.Limits.KillGrace + 2*time.Second }

// why gives the cause of an error: where the context has ended and the error says no more than that, what ended it.
func (c *call) why(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || speaks(err) {
		return err
	}
	var part *filetime.Incomplete
	if errors.As(err, &part) { // what became of each file is still to be told
		return &filetime.Incomplete{Err: c.why(ctx, part.Err), Files: part.Files}
	}
	if errors.Is(context.Cause(ctx), errBudget) {
		return c.host.Budget.stopped()
	}
	return context.Cause(ctx)
}

// truncate cuts the middle out of an answer that is too long for the model, and leaves out of it what is too large.
func (c *call) truncate() error {
	r := &c.result
	r.Data = strings.ToValidUTF8(r.Data, "\uFFFD")
	if c.env == nil {
		return nil
	}
	if slices.ContainsFunc(c.needs, tools.Need.ReadsOwn) {
		if without := userinfo.Without(r.Data); without != r.Data {
			r.Data, r.Gaps = without, nil // nobody edits the settings of a repository by what they look like
		}
	}
	if slices.ContainsFunc(c.needs, func(n tools.Need) bool { return n.Place != (sandbox.Place{}) && n.Place.Class().Is(sandbox.Secret) }) {
		c.host.Keys.learn(r.Data)
	}
	limits := c.env.Limits
	if c.tool != nil && c.tool.Spec().Pages && r.Success {
		limits.MaxToolOutputChars = 0
	}
	used := utf8.RuneCountInString(r.Data)
	data, cut := cutMiddle(r.Data, r.Gaps, limits.MaxToolOutputChars)
	parts, cutToo := fit(r.Parts, used, limits)
	r.Data, r.Gaps, r.Parts, r.Truncated = data, nil, parts, r.Truncated || cut || cutToo
	return nil
}

// record notes what the call did: in its result, and with whoever keeps the changes.
func (c *call) record() error {
	m := &c.result.Meta
	if c.normal && len(c.checked.Issues) == 0 {
		m.EffectiveArgs = c.checked.Args
	}
	m.Coerced = c.checked.Coerced
	if c.feedback != "" {
		c.result.Data += "\nThe user says: " + c.feedback
	}
	if l := c.effects.Landed; len(l.Files) > 0 {
		c.result.Effects = &l
		for _, f := range l.Files {
			m.Modified = append(m.Modified, f.Path)
		}
		if c.host.Landed != nil {
			c.host.Landed(c.effects.Change, l)
		}
	}
	for _, w := range c.before {
		if !slices.Contains(c.result.Warnings, w) {
			c.result.Data += "\n" + w
			c.result.Warnings = append(c.result.Warnings, w)
		}
	}
	if len(c.landed.Files) == 0 {
		return nil
	}
	c.result.Landed = &c.landed
	for _, w := range c.landed.Warnings {
		c.result.Data += "\n" + w
	}
	c.result.Warnings = append(c.result.Warnings, c.landed.Warnings...)
	for _, f := range c.landed.Files {
		name := c.env.Name(f.Path)
		if f.Applied && !f.Already {
			m.Modified = append(m.Modified, f.Path)
		}
		if f.Applied && !f.Already && !c.result.Success {
			c.result.Data += fmt.Sprintf("\n%s was changed already, before this failed.", name)
		}
		if f.SameLine {
			c.result.Warnings = append(c.result.Warnings,
				name+": somebody else changed a line that this edit changed too, or put text right beside it; both changes are in the text.")
		}
		m.RebasedOver += f.Over
		m.Attempts = max(m.Attempts, f.Attempts)
	}
	if len(c.landed.Files) == 1 {
		m.Source, m.Version = c.landed.Files[0].Source, c.landed.Files[0].BeforeVersion
	}
	if c.host.Landed != nil && len(m.Modified) > 0 {
		c.host.Landed(*c.plan.Change, c.landed)
	}
	if c.result.Diffs == nil {
		for _, f := range c.landed.Files {
			c.result.Diffs = append(c.result.Diffs, tools.Diff(c.env, f))
		}
	}
	return nil
}

// finish makes the result what is kept and given out.
func (c *call) finish() {
	r := &c.result
	if !r.Success && r.Error == "" {
		r.Error = tools.ExecutionError
	}
	if r.Success {
		r.Error = ""
	}
	if strings.TrimSpace(r.Data) == "" {
		r.Data = "(no output)"
	}
	r.Summary = show.Visible(r.Summary, false)
	r.Call, r.Duration = c.ID, max(0, c.host.now().Sub(c.begun))
	switch {
	case r.Success:
		c.phase = "result"
	case r.Error == tools.GateDenied, r.Error == tools.PlanMode:
		c.phase = "rejected"
	default:
		c.phase = "error"
	}
}

// emit gives the result out.
func (c *call) emit() error {
	c.enter(Executing, Event{Phase: "use"})
	c.enter(Completed, Event{Phase: c.phase, Result: &c.result})
	return nil
}

func (c *call) log(err error) {
	attrs := []any{"tool", c.Name, "call", c.ID, "error", err.Error()}
	var boom *crash
	if errors.As(err, &boom) {
		attrs = append(attrs, "stack", boom.stack)
	}
	c.host.log().Error("tool call", attrs...)
}

// enter brings the call into a state, once, and tells of it.
func (c *call) enter(s State, e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if order(s) <= order(c.state) {
		return
	}
	c.state = s
	c.tell(e)
}

// progress tells how a running call gets on. What comes after its end is dropped.
func (c *call) progress(p tools.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Executing {
		c.tell(Event{Phase: "progress", Progress: &p})
	}
}

func (c *call) tell(e Event) {
	if c.host.Observe == nil {
		return
	}
	e.Call, e.State, e.Batch, e.Group, e.At = c.Call, c.state, c.batch, c.group, c.host.now()
	e.Plan = c.plan
	e.Tool, e.Kind, e.Title = c.Name, tools.Other, c.title
	if c.tool != nil {
		e.Tool, e.Kind = c.tool.Spec().Name, c.tool.Spec().Kind
	}
	if c.plan != nil {
		e.Kind, e.Title = c.plan.Kind, c.plan.Title
	}
	c.host.Observe(e)
}

func order(s State) int {
	switch s {
	case Queued:
		return 1
	case Executing:
		return 2
	case Completed:
		return 3
	case Yielded:
		return 4
	}
	return 0
}

func (h *Host) now() time.Time {
	if h.Now == nil {
		return time.Now()
	}
	return h.Now()
}

func (h *Host) log() *slog.Logger {
	if h.Log == nil {
		return slog.Default()
	}
	return h.Log
}
