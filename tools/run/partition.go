package run

import (
	"context"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/tools"
)

// footprint is what the scheduler knows of a call: with whom it may run, and which files it is about.
type footprint struct {
	together tools.Together
	files    []string // canonical; only for OtherFiles
}

// asked is the class of calls that somebody wants to run together, whatever they do.
const asked tools.Together = 255

// batch is the calls that run at the same time.
type batch struct {
	begun    bool
	together tools.Together
	files    map[string]bool
	limit    int // how many of them run at once

	pool *batchPool    // nil while there has been no second call to run beside the first
	lone *call         // runs outside of the pool
	over chan struct{} // closed when lone has ended; nil without a pool

	commands context.Context // of the commands among them
	stop     context.CancelCauseFunc
}

// inBatch is the context of a call: ctx, and for a command also what ends the commands of its batch.
func (b *batch) inBatch(c *call, ctx context.Context) context.Context {
	if c.tool == nil || c.tool.Spec().Together != tools.Commands {
		return ctx
	}
	both, end := context.WithCancelCause(ctx)
	context.AfterFunc(b.commands, func() { end(context.Cause(b.commands)) })
	return both
}

// close ends the pool once its calls have ended.
func (b *batch) close() {
	if b.pool != nil {
		b.pool.close()
	}
}

// takes says whether a call may run together with all that are in the batch.
func (b *batch) takes(s footprint) bool {
	if b.begun && (b.together != s.together || s.together == tools.Alone) {
		return false
	}
	return !slices.ContainsFunc(s.files, func(f string) bool { return b.files[f] })
}

// add makes a call one of the batch, which takes it.
func (b *batch) add(s footprint) {
	if b.files == nil {
		b.files = map[string]bool{}
	}
	for _, f := range s.files {
		b.files[f] = true
	}
	b.begun, b.together = true, s.together
}

// Partition says which of the calls run together: the indexes of each batch, in order. Consecutive calls that only look
// form one, consecutive edits of different files too; every other call is alone. It is the plan that Batch carries out, as long as no
// hook changes what a call is about: hooks are not run here.
func Partition(host *Host, calls []Call) [][]int {
	var slots []footprint
	for _, c := range calls {
		p := &call{Call: c, host: host}
		p.prepare()
		slots = append(slots, p.footprint())
	}
	return partition(slots)
}

// partition is the pure part of Partition.
func partition(slots []footprint) (out [][]int) {
	var open batch
	for i, s := range slots {
		if len(out) == 0 || !open.takes(s) {
			open = batch{}
			out = append(out, nil)
		}
		open.add(s)
		out[len(out)-1] = append(out[len(out)-1], i)
	}
	return out
}

// footprint works out where a prepared call belongs: a function of the tool, its arguments and the files that they lead to.
// Whatever is not known to be safe is alone, and so is a call that will be refused.
func (c *call) footprint() (s footprint) {
	if c.host.Schedule.Parallel {
		return footprint{together: asked}
	}
	err := catch(func() error {
		if c.tool == nil || !c.args.valid() {
			return nil
		}
		switch c.tool.Spec().Together {
		case tools.Commands:
			if !c.host.Schedule.SerialCommands && c.onlyReads() {
				s.together = tools.Commands
			}
		case tools.WithReads:
			s.together = tools.WithReads
			if spec := c.tool.Spec(); spec.InOrder {
				s.files = []string{spec.Category} // no path: those are absolute
			}
		case tools.OtherFiles:
			if files := c.writes(); len(files) > 0 && !c.host.Schedule.Serial {
				s = footprint{together: tools.OtherFiles, files: files}
			}
		}
		return nil
	})
	if err != nil {
		return footprint{}
	}
	return s
}

// onlyReads says that the call is a command that provably only reads.
func (c *call) onlyReads() bool {
	needs, err := c.tool.Needs(c.env, c.args.checked.Args)
	return err == nil && len(needs) > 0 && needs[0].OnlyReads()
}

// fails says that the call is a command that failed, so that the commands beside it are ended. A search that finds nothing is none.
func (c *call) fails() bool {
	if c.tool == nil || c.tool.Spec().Together != tools.Commands || c.result.Success {
		return false
	}
	nothing := c.result.Error == tools.ExitCode(1) && len(c.needs) > 0 && c.needs[0].Shell.Searches
	return c.result.Error == filetime.Timeout || strings.HasPrefix(string(c.result.Error), "EXIT_CODE_") && !nothing
}

// writes gives the canonical paths of the files that the call changes; nil where that cannot be told.
func (c *call) writes() []string {
	needs, err := c.tool.Needs(c.env, c.args.checked.Args)
	if err != nil || slices.ContainsFunc(needs, func(n tools.Need) bool { return !n.Act.Writes() }) {
		return nil
	}
	return tools.Targets(needs)
}

// limit is how many calls of a batch run at once.
func (c *call) limit() int {
	if c.env == nil {
		return 1
	}
	return c.env.Limits.MaxConcurrency
}
