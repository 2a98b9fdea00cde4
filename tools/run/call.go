package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
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
	"tandem/tools/syntax"
)

// Why a call's context ended.
var (
	errTimeout       = errors.New("the tool's time is over")
	errTurnCancelled = errors.New("the turn was cancelled by a person")
	errSibling       = errors.New("a command of the same batch failed")
)

// look is what language servers said of a file before an edit.
type look struct {
	findings []tools.Finding
	err      error
}

// call is one call on its way through the stages.
type call struct {
	Call
	ctx  context.Context
	host *Host
	// cancelTurn is pulled where a person answers a question by ending the turn.
	cancelTurn func(cause error)
	where      *slot // nil until it is known
	hooking    bool  // its hooks run ahead of it; under Stream.mu
	batch      int
	group      string
	begun      time.Time

	late    *tools.Set // with a tool that was made known for the call
	tool    tools.Tool
	env     *tools.Env
	normal  bool // checked is set
	checked schema.Checked
	hooked  hooked
	title   string
	renders func(tools.Showing) *tools.Render // nil where the tool leaves that to the host
	needs   []tools.Need                      // as they were judged before there was a plan
	plan    *tools.Plan
	judged  gate.Decision // by a person too, where one was asked
	// question is what a person is asked, see safety.
	question Question
	failed   string        // the stage that failed, "" while none has
	trace    []tools.Stage // those that are over
	// lost is why no sandbox could confine the call's command, though there is one; "" as long as one can.
	lost string
	// before are the warnings of the attempt that was lost.
	before []string
	// tried counts the attempts that have failed for a reason that may pass.
	tried int
	// feedback is what the person said with their answer.
	feedback string
	claims   []*claim
	landed   filetime.Landed
	found    map[string]look // by path, of the files that are edited
	effects  tools.Effects   // of a command
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
		{name: "before-hooks", do: (*call).beforeHooks},
		{name: "needs", do: (*call).need},
		{name: "admission", do: (*call).admission},
		{name: "plan", do: (*call).makePlan},
		{name: "policy", do: (*call).policy},
		{name: "safety", do: (*call).safety},
		{name: "permission", do: (*call).permission},
		{name: "claim", do: (*call).claim},
		{name: "cache", do: (*call).cache},
		{name: "execute", do: (*call).execute},
		{name: "after-hooks", do: (*call).afterHooks, always: true},
		{name: "truncate", do: (*call).truncate, always: true},
		{name: "record", do: (*call).record, always: true},
		{name: "ast-invalidation", do: (*call).invalidate, always: true},
		{name: "syntax", do: (*call).syntax, always: true},
		{name: "audit", do: (*call).audit, always: true},
		{name: "emit", do: (*call).emit, always: true},
	}
}

// run carries the call out. It always gives a Result, whatever the tool does.
func (c *call) run() tools.Result {
	defer c.unclaim()
	c.begun = c.host.now()
	list := stages()
	ahead := map[string]time.Duration{"before-hooks": c.hooked.took} // what was done before the call's turn came
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
		c.trace = append(c.trace, tools.Stage{Stage: s.name, MS: milliseconds(c.host.now().Sub(since) + ahead[s.name])})
		if c.host.Trace {
			c.result.Meta.Trace = c.trace
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
	c.lost = "the sandbox that there is failed (" + cmp.Or(why, err.Error()) + ")"
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
		if r, ok := c.tool.(tools.Renderer); ok && len(c.checked.Issues) == 0 {
			c.renders = r.Renders(c.checked.Args)
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
	if err := c.resolveLate(); err != nil {
		return err
	}
	return c.find()
}

// resolveLate has a tool made known that is in no set yet.
func (c *call) resolveLate() error {
	h := c.host
	if c.tool != nil || h.Resolve == nil || h.Present == nil || h.Tools.Get(c.Name) != nil || h.Tools.Dropping(c.Name) != nil {
		return nil
	}
	there, err := h.Resolve(c.ctx, c.Name)
	if err := c.alive(); err != nil {
		return err
	}
	if err != nil {
		return tools.Refuse(tools.ToolNotFound, "off", "Tool %q cannot be had: %s. Go on without it, and tell the user.", clip(c.Name, 80),
			strings.TrimRight(show.Visible(err.Error(), false), "."))
	}
	if there {
		c.late = h.Present()
	}
	return nil
}

func (c *call) find() error {
	if c.tool == nil {
		if c.tool = c.host.Tools.Get(c.Name); c.tool == nil && c.late != nil {
			c.tool = c.late.Get(c.Name)
		}
		if c.tool != nil {
			c.env = c.host.Env(c.Call)
			c.env.Progress, c.env.MayRead, c.env.Read = c.progress, c.mayRead, c.judgedRead(c.env.Read)
			c.env.Again, c.env.Asking, c.env.Judging, c.env.Denied = c.again, c.thinking, c.ctx, c.refuses
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
	if v := offer.Dropping(c.Name); v != nil {
		if v.Setting != "" {
			return tools.Refuse(tools.Unsupported, "setting", "Tool %q needs the setting %s, which the user has not made. "+
				"Go on without it, and tell the user.", c.Name, v.Setting)
		}
		return tools.Refuse(tools.ToolNotFound, "disabled", "Tool %q is disabled by %s. Do it with another tool.", c.Name, v.By)
	}
	shown := tools.Offer{Full: offer.List()}
	if c.host.Offer != nil {
		shown = c.host.Offer(offer)
	}
	if near := shown.Nearest(c.Name); len(near) > 0 {
		return tools.Refuse(tools.ToolNotFound, "unknown", "Tool %q does not exist. Did you mean %s?", clip(c.Name, 60), strings.Join(near, ", "))
	}
	names, deferred := shown.Names()
	if deferred > 0 {
		return tools.Refuse(tools.ToolNotFound, "unknown", "Tool %q does not exist. The tools are %s; tool_search finds %d more.", clip(c.Name, 60),
			strings.Join(names, ", "), deferred)
	}
	return tools.Refuse(tools.ToolNotFound, "unknown", "Tool %q does not exist. The tools are %s.", clip(c.Name, 60), strings.Join(names, ", "))
}

func (c *call) normalise() error {
	if !c.normal {
		c.checked = c.tool.Schema().CheckIn(c.host.Messages, c.Arguments, c.host.Coerce)
		c.normal = true
	}
	return nil
}

func (c *call) validate() error {
	if len(c.checked.Issues) > 0 {
		return c.unseen(tools.Invalid(c.checked.Issues))
	}
	c.env.Checked = true
	return nil
}

// unseen adds the parameters to a refusal of arguments that were a guess, since the model was told of the tool by name alone.
func (c *call) unseen(err error) error {
	var refusal *tools.Refusal
	if all := c.env.Catalogue; all != nil && all.Offer().Deferred(c.tool) && errors.As(err, &refusal) {
		refusal.Result.Data += "\nThe tool and its parameters:\n" + tools.Schema(c.tool)
		all.Load(c.tool.Spec().Name)
	}
	return err
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
		for _, path := range tools.Targets(plan.Needs) {
			plan.Locations = append(plan.Locations, tools.Location{Path: path})
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
	leave, err = c.host.Slots.take(c.ctx)
	if err != nil {
		return nil, c.why(c.ctx, err)
	}
	return leave, nil
}

// admission refuses what no answer of a person would allow, before the tool reads anything for it.
func (c *call) admission() error { return c.judge(c.needs) }

// policy judges what the plan needs, which may be less than what was admitted.
func (c *call) policy() error { return c.judge(c.plan.Needs) }

// judge asks the gate about needs, and fails where it refuses.
func (c *call) judge(needs []tools.Need) error {
	needs = c.host.Keys.flagged(c.checked.Args, needs)
	d := c.host.Gate.Judge(gate.Call{Tool: c.tool, Args: c.checked.Args, Needs: needs, Turn: c.env.Turn, Context: c.ctx})
	if err := c.alive(); err != nil {
		return err
	}
	if c.lost != "" {
		d.Reason += "; " + c.lost
	}
	switch c.judged = d; d.Verdict {
	case gate.Allow, gate.Ask:
		return nil
	case gate.Queue:
		return tools.Refuse(tools.PlanMode, "plan", "The session only plans: %s. Nothing was done. Reads, searches and commands that only "+
			"read are still allowed. Say what you would do, and leave it to the user to change the mode.", d.Reason)
	}
	return denied(tools.Denial{Reason: d.Reason, Rule: d.Rule, Layer: d.Layer, Source: "policy"},
		"Permission denied: %s. Nothing was done. The same call is denied every time: go on without it, "+
			"and tell the user what you could not do.", d.Reason)
}

// mayRead says that reading a place would be allowed without a question. A host without the tool has no rule about it.
func (c *call) mayRead(p sandbox.Place) bool {
	t := c.host.Tools.Get(tools.ReadFile)
	if t == nil {
		return c.host.Tools.DroppedBy(tools.ReadFile) == ""
	}
	need := tools.Need{Act: tools.Reads, Place: p, Arg: tools.PathArg}
	return c.host.Gate.Judge(gate.Call{Tool: t, Needs: []tools.Need{need}, Turn: c.env.Turn, Context: c.ctx}).Verdict == gate.Allow
}

// refuses reports whether a rule refuses the call for a place that a search comes by.
func (c *call) refuses(p sandbox.Place) bool {
	need := tools.Need{Act: tools.Reads, Place: p, Arg: tools.PathArg}
	d := c.host.Gate.Judge(gate.Call{Tool: c.tool, Needs: []tools.Need{need}, Turn: c.env.Turn, Context: c.ctx})
	return d.Verdict == gate.Deny && d.Layer == gate.LayerRules
}

// safety works out what a person who is asked has to know: the change as of now, and the files of which nothing brings the text back.
func (c *call) safety() error {
	if c.judged.Verdict == gate.Allow {
		return nil
	}
	diffs, err := c.preview()
	c.question = Question{Plan: c.plan, Args: c.checked.Args, Diffs: diffs, Unkept: c.unkept()}
	return err
}

// permission asks a person where the policy takes that, with nothing of the call done yet and no time limit running.
func (c *call) permission() error {
	if c.judged.Verdict == gate.Allow {
		return nil
	}
	option, err := c.agreed(c.question)
	if err != nil {
		return err
	}
	c.judged = gate.Decision{Verdict: gate.Allow, Rule: string(option), Layer: "person"}
	if c.plan.Change != nil {
		c.plan.Change.Allowed = true
	}
	return nil
}

// agreed asks a person about the call and judges it again when the answer comes, by the mode, the rules and the files as they are by
// then. An answer allows what was asked: what is refused now stays refused, and what has become another question is asked again.
func (c *call) agreed(q Question) (Option, error) {
	for {
		asked, scripts := c.judged, scriptsOf(c.plan.Needs)
		q.Judged = asked
		option, err := c.consent(q)
		if err != nil {
			return "", err
		}
		now, err := c.needsNow()
		if err != nil {
			return "", err
		}
		if err := c.plan.Unjudged(now); err != nil {
			return "", denied(tools.Denial{Reason: "what the call is about has changed while the question stood", Layer: "person", Source: "changed"},
				"Permission denied: what the call is about has changed while the user was asked (%v). Nothing was done. If the call is still "+
					"right, send it again.", err)
		}
		if err := c.judge(now); err != nil {
			return "", err
		}
		worst := c.judged
		if err := c.judge(c.plan.Needs); err != nil {
			return "", err
		}
		if worst.Verdict < c.judged.Verdict || worst.Once {
			c.judged = worst
		}
		if scriptsOf(now) == scripts && (c.judged.Verdict == gate.Allow || !c.judged.Once || asked.Once) {
			return option, nil
		}
		for i, n := range c.plan.Needs {
			if n.Act == tools.Runs {
				c.plan.Needs[i].Scripts = scriptsOf(now)
			}
		}
	}
}

// needsNow are the needs of the call as they are by now.
func (c *call) needsNow() ([]tools.Need, error) {
	env := *c.env
	env.Needs = nil
	return c.tool.Needs(&env, c.checked.Args)
}

// scriptsOf are the scripts of the command in needs; see tools.Need.Scripts.
func scriptsOf(needs []tools.Need) string {
	for _, n := range needs {
		if n.Act == tools.Runs {
			return n.Scripts
		}
	}
	return ""
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
		return "", denied(d, "Permission denied: the user already denied this same call in this turn and was not asked again. Nothing was "+
			"done. Do not repeat it. Say what you wanted to do and wait for what the user says.")
	}
	if c.feedback = feedback(answer); c.feedback != "" {
		return "", denied(d, "Permission denied: the user denied this call. Nothing was done. Do not try to get the same result another way; "+
			"do what follows from what the user says.")
	}
	return "", denied(d, "Permission denied: the user denied this call. Nothing was done. Stop here: do not try to get the same result "+
		"another way. Say what you wanted to do and wait for the user's answer.")
}

// told is a warning as the model reads it.
func (c *call) told(w filetime.Warning) string { return c.env.Name(w.Path) + " " + w.Says }

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
		r, err := c.attempts(ctx)
		if err == nil && !r.Success && errors.Is(context.Cause(ctx), errBudget) {
			why := c.host.Budget.stopped()
			r.Error, r.Reason, r.Data = why.Result.Error, why.Result.Reason, r.Data+"\n"+why.Result.Data
		}
		if err == nil && r.Error == filetime.Cancelled && errors.Is(context.Cause(ctx), errSibling) {
			r.Error, r.Reason, r.Data = tools.SiblingCancelled, "sibling", r.Data+"\n"+siblingFailed
		}
		for _, w := range began.Warnings {
			r.Data = beforeExitCode(r.Data, c.told(w))
			r.Warnings = append(r.Warnings, c.told(w))
		}
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
		if paths = append(paths, f.Path); f.To != "" {
			paths = append(paths, f.To)
		}
	}
	var refusal error
	ctx = filetime.WithHolder(ctx, filetime.Holder{Call: c.ID})
	err = c.env.FileTime.WithLock(ctx, paths, func() error {
		// A landing is always waited for: nobody may be told that it failed while it is still on its way.
		c.landed, refusal = c.host.Files.Commit(ctx, *c.plan.Change)
		for _, f := range c.landed.Files {
			c.env.FileTime.Wrote(f)
		}
		return nil
	})
	switch {
	case err != nil:
		return c.why(ctx, err)
	case refusal != nil:
		return c.refused(c.why(ctx, refusal))
	}
	c.result = c.plan.Done(c.landed)
	return nil
}

// command is what the host is told of a command, or of a process at work; ok is false where the call has none.
func (c *call) command() (about Command, ok bool) {
	if c.plan.Command() == "" && !c.plan.Touches {
		return Command{}, false
	}
	e := c.env
	about = Command{
		Change: filetime.Change{Session: e.Session, Call: e.Call, Turn: e.Turn, Tool: c.tool.Spec().Name, Label: c.plan.Title},
		Paths:  e.Paths, Seen: e.FileTime.Paths(), Unwatched: c.plan.GoesOn,
	}
	for _, n := range c.plan.Needs {
		about.Unwatched = about.Unwatched || n.OnlyReads()
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
	if told := e.Told(c.env); told != "" {
		r.Data = beforeExitCode(r.Data, told)
	}
}

// beforeExitCode adds lines to what a command has printed. The exit code stays the last line.
func beforeExitCode(data, lines string) string {
	at := strings.LastIndexByte(data, '\n') + 1
	if last := data[at:]; strings.HasPrefix(last, "[Exit code: ") {
		return data[:at] + lines + "\n" + last
	}
	return data + "\n" + lines
}

const siblingFailed = "A command that ran beside it failed, so it was stopped. Look at that one first, then run this one again if it is still needed."

// refused is the error of a change that was not made, as the tool words it.
func (c *call) refused(err error) error {
	if err == nil || c.plan.Failed == nil {
		return err
	}
	return c.plan.Failed(err)
}

// alive fails where the turn is over, so that nothing new is begun.
func (c *call) alive() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return nil
}

// limited gives the context that the tool works under.
func (c *call) limited() (context.Context, context.CancelFunc) {
	ctx, free := c.ctx, func() {}
	if c.tool.Spec().Block || c.plan != nil && c.plan.Block {
		ctx, free = c.blocking()
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
		l, done := newLimit(ctx, d, cause)
		c.pause.mu.Lock()
		c.pause.limit = l
		c.pause.mu.Unlock()
		return l, func() { done(); free() }
	}
	ctx, done := context.WithCancel(ctx)
	return ctx, func() { done(); free() }
}

// blocking is the context of a call that a cancel waits for: only the end of Host.Life ends it.
func (c *call) blocking() (ctx context.Context, free func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.ctx))
	told := context.AfterFunc(c.ctx, func() {
		c.progress(tools.Progress{Text: "(cancelled: this finishes first; cancel once more to end it)\n"})
	})
	over := func() bool { return true }
	if life := c.host.Life; life != nil {
		over = context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	}
	return ctx, func() {
		told()
		over()
		cancel(nil)
	}
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

// truncate cuts the middle out of an answer that is too long for the model, keeps all of it for read_file, and leaves out what is too
// large.
func (c *call) truncate() error {
	r := &c.result
	r.Speak(c.host.Messages)
	if !utf8.ValidString(r.Data) {
		r.Data = strings.ToValidUTF8(r.Data, "\uFFFD")
	}
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
	shorten(r, c.env, limits)
	return nil
}

// effective are the arguments with all defaults, those that depend on the session too once there is a plan.
func (c *call) effective() json.RawMessage {
	if c.plan != nil && c.plan.Args != nil {
		return c.plan.Args
	}
	return c.checked.Args
}

// record notes what the call did: in its result, and with whoever keeps the changes.
func (c *call) record() error {
	m := &c.result.Meta
	if c.normal && len(c.checked.Issues) == 0 {
		m.EffectiveArgs = c.effective()
	}
	m.Coerced = c.checked.Coerced
	c.tellAttempts()
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
	if changed := c.changedArgs(); changed != "" {
		c.warn(changed)
	}
	for _, w := range c.before {
		if !slices.Contains(c.result.Warnings, w) {
			c.warn(w)
		}
	}
	if len(c.landed.Files) == 0 {
		return nil
	}
	c.result.Landed = &c.landed
	for _, w := range c.landed.Warnings {
		c.warn(c.told(w))
	}
	for _, f := range c.landed.Files {
		name := c.env.Name(f.Path)
		if f.Applied && !f.Already && !slices.Contains(m.Modified, f.Path) { // one that is replaced is removed and made
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

// invalidate has whoever knows the syntax of files by their former texts look at them again.
func (c *call) invalidate() error {
	if c.host.Stale == nil {
		return nil
	}
	for _, l := range []filetime.Landed{c.landed, c.effects.Landed} {
		if len(l.Files) > 0 {
			c.host.Stale(l)
		}
	}
	return nil
}

// syntax warns of files that do not parse after the change. Nothing is taken back for it: a change may take several edits.
func (c *call) syntax() error {
	for _, f := range c.landed.Files {
		if f.Already || f.Deleted || f.Entry != filetime.File || len(f.Set) == 0 {
			continue
		}
		if says := syntax.Broken(f.Path, f.Before.String(), f.After.String()); says != "" {
			c.warn(c.told(filetime.Warning{Path: f.Path, Says: says}))
		} else if !syntax.Parses(f.Path) {
			kind := strings.ToLower(path.Ext(f.Path))
			if why := c.lookAfter(f.Path); c.env.Findings != nil && syntax.Code(f.Path) && c.env.Findings.Unchecked(kind, why) && why != "" {
				c.warn("Not checked for syntax: " + strings.ReplaceAll(why, "KIND", kind))
			}
		}
	}
	return nil
}

// The limits of what language servers say after an edit.
const (
	awaited   = 500 * time.Millisecond
	mostFound = 5
)

// cache keeps what language servers hold against the files that a change is about to edit, unless that is kept already. Servers that do
// not run are not started for it, and what they know already is not waited for longer than what they find later.
func (c *call) cache() error {
	if c.plan.Change == nil || c.env.Languages == nil || c.env.Findings == nil {
		return nil
	}
	ctx, done := context.WithTimeout(c.ctx, awaited)
	defer done()
	c.found = map[string]look{}
	for _, f := range c.plan.Change.Files {
		if f.Delete || f.Entry != filetime.File || syntax.Parses(f.Path) && c.env.Findings.Kept(f.Path) {
			continue
		}
		var d tools.Diagnosis
		if !f.Create {
			now, err := c.host.Files.Read(ctx, f.Path)
			if err == nil {
				d, err = c.env.Languages.Glance(ctx, now, 0)
			}
			if err != nil {
				c.found[f.Path] = look{err: err}
				continue
			}
		}
		c.env.Findings.Keep(f.Path, d.Findings)
		c.found[f.Path] = look{findings: d.Findings}
	}
	return nil
}

const noServer = "there is no language server for KIND files."

// lookAfter warns of errors that language servers find in a file that was edited and that they did not find before. It returns a
// sentence about why the file was not checked, "" where it was; KIND in it is the ending of its name.
func (c *call) lookAfter(file string) (unchecked string) {
	if c.env.Languages == nil {
		return noServer
	}
	before, looked := c.found[file]
	if !looked || c.alive() != nil {
		return ""
	}
	now, err := c.host.Files.Read(c.ctx, file)
	if err != nil {
		return ""
	}
	var d tools.Diagnosis
	if err = before.err; err == nil {
		d, err = c.env.Languages.Glance(c.ctx, now, awaited)
	}
	var none *tools.NoServerError
	switch {
	case errors.As(err, &none) && none.Idle != "":
		return none.Idle + " is not running. diagnostics starts it."
	case errors.As(err, &none):
		return noServer
	case err != nil || !d.Fresh: // findings about an older text do not apply to this one
		return "the language server has not answered yet. See diagnostics."
	}
	list := slices.DeleteFunc(tools.NewFindings(before.findings, d.Findings), func(f tools.Finding) bool { return f.Severity != tools.SeverityError })
	for i, f := range list {
		if i == mostFound {
			c.warn(fmt.Sprintf("… %d more new errors: see diagnostics", len(list)-i))
			break
		}
		c.warn("New: " + f.At(c.env, f.Span.Line(now.Text)))
	}
	return ""
}

// warn adds a sentence to what the model and the person are told.
func (c *call) warn(says string) {
	c.result.Data += "\n" + says
	c.result.Warnings = append(c.result.Warnings, says)
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
	if r.Render == nil && c.renders != nil {
		r.Render = c.renders(tools.Showing{Phase: c.phase, Result: r})
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
		spec := c.tool.Spec()
		e.Tool, e.Kind, e.Source = spec.Name, spec.Kind, Source(spec)
	}
	if c.plan != nil {
		e.Kind, e.Title = c.plan.Kind, c.plan.Title
	}
	if e.Result == nil && c.renders != nil {
		e.Render = c.renders(tools.Showing{Phase: e.Phase, Progress: e.Progress})
	}
	c.host.Observe(e)
}

// Source is where a tool comes from; one that does not say is shipped.
func Source(s tools.Spec) string { return cmp.Or(s.Source, tools.SourceBuiltin) }

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
