package backend

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/lspserver/workspace"
	"tandem/sandbox/effects"
	"tandem/tools"
	"tandem/tools/run"
)

// maxEffects is how many changes of one command can be undone. Review shows each of them.
const maxEffects = 1000

// maxNamed is how many files are named in a question.
const maxNamed = 5

// tick is how coarse the times of files are.
const tick = 20 * time.Millisecond

// beforeCommand saves what a command of a session has to see, and looks at the files that it may change.
func (b *Backend) beforeCommand(ctx context.Context, se *Session, c run.Command) run.Began {
	began := run.Began{Warnings: b.ws.SaveForCommand(ctx)}
	if c.Unwatched {
		return began
	}
	me := b.commands.begin()
	mark := b.ws.Mark() // first, so that an edit of another session that lands before the look is told from the command
	before := b.memory.Before(ctx, c.Paths, c.Seen)
	began.Ended = func(ctx context.Context) tools.Effects {
		b.indexes.Invalidate()
		found := before.After(ctx)
		return b.effects(c.Change, mark, found, b.commands.end(me), func(late filetime.Change, l filetime.Landed) {
			b.Guard("a change of a command", func() { b.late(se, late, l) })
		})
	}
	return began
}

// forGood names the files that a command may change for good.
func (b *Backend) forGood(ctx context.Context, c run.Command) string {
	if c.Unwatched {
		return ""
	}
	beyond := b.memory.Before(ctx, c.Paths, c.Seen).Beyond()
	var named []string
	for _, path := range slices.Sorted(maps.Keys(beyond)) {
		if len(named) == maxNamed {
			named = append(named, fmt.Sprintf("%d more", len(beyond)-maxNamed))
			break
		}
		named = append(named, fmt.Sprintf("%s (%s)", b.Short(path), beyond[path]))
	}
	if len(named) == 0 {
		return ""
	}
	return "What it changes in these files cannot be undone: " + strings.Join(named, ", ") + "."
}

// mixed says that a change may be by one of several commands that ran at the same time.
func mixed(f effects.Change, others []command) bool {
	return slices.ContainsFunc(others, func(c command) bool {
		return !f.After.Exists || f.After.Changed.After(c.began.Add(-tick)) && (c.ended.IsZero() || f.After.Changed.Before(c.ended.Add(tick)))
	})
}

// late takes in a change of a command that the editor has read after the call had ended.
func (b *Backend) late(se *Session, c filetime.Change, l filetime.Landed) {
	b.landed(se, c, l)
	b.stale(l)
	se.Commanded(c, l)
	for _, f := range l.Files {
		se.news.hunksChanged(f.Path)
	}
}

// effects lands what a command has changed, as far as its former content is kept.
func (b *Backend) effects(
	c filetime.Change, mark *workspace.Mark, found effects.Changes, others []command, late func(filetime.Change, filetime.Landed),
) tools.Effects {
	out := tools.Effects{Moved: map[string]string{}, Ignored: found.Ignored, Cut: found.Cut, Deep: found.Deep}
	how := map[string]string{}
	leave := func(path, how, why string) { out.Left = append(out.Left, tools.Left{Path: path, How: how, Why: why}) }
	var kept []workspace.Effect
	for _, f := range found.Files {
		how[f.Path] = f.How()
		if f.From != "" {
			out.Moved[f.Path] = f.From
		}
		why := cmp.Or(f.Before.Why, f.After.Why)
		switch {
		case why == "" && mixed(f, others):
			why = "another command ran at the same time, and may have done it"
		case why == "" && len(kept) == maxEffects:
			why = "more than 1,000 changed files"
		}
		if why != "" {
			leave(f.Path, f.How(), why)
			continue
		}
		e := workspace.Effect{
			Path: f.Path, Before: f.Before.Content, After: f.After.Content, Created: !f.Before.Exists, Deleted: !f.After.Exists, Mode: f.After.Mode,
		}
		if e.Deleted {
			e.Mode = f.Before.Mode
		}
		if f.Before.Exists && f.After.Exists {
			if f.Before.Mode != f.After.Mode {
				leave(f.Path, "changed the mode of", f.Before.Mode.String()+" to "+f.After.Mode.String())
			}
			if bytes.Equal(e.Before, e.After) {
				continue
			}
		}
		kept = append(kept, e)
	}
	l := mark.Land(c, kept, late)
	out.Change, out.Landed, out.Awaited = l.Change, l.Landed, l.Awaited
	for _, path := range slices.Sorted(maps.Keys(l.Left)) {
		leave(path, how[path], l.Left[path].Error())
	}
	return out
}
