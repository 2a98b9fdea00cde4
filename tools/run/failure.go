package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
)

// speaks says that an error is one that a model is meant to read.
func speaks(err error) bool {
	var refusal *tools.Refusal
	var conflict *filetime.Conflict
	var file *filetime.Error
	var path *sandbox.PathError
	var joined *tools.Joined
	return errors.As(err, &joined) || errors.As(err, &refusal) || errors.As(err, &conflict) || errors.As(err, &file) || errors.As(err, &path)
}

// failure is the Result that an error stands for.
func (c *call) failure(err error) tools.Result {
	var refusal *tools.Refusal
	var conflict *filetime.Conflict
	var file *filetime.Error
	var path *sandbox.PathError
	var part *filetime.Incomplete
	var joined *tools.Joined
	switch {
	case errors.As(err, &joined):
		var each []tools.Result
		for _, err := range joined.Errs {
			r := c.failure(err)
			r.Speak(c.host.Validation.Language)
			each = append(each, r)
		}
		return joined.Join(each)
	case errors.As(err, &part):
		r := c.failure(part.Err)
		if report := part.Report(); report != "" {
			r.Data += "\n" + report
		}
		return r
	case errors.As(err, &refusal):
		return refusal.Result
	case errors.As(err, &path):
		return tools.Result{Error: filetime.Code(path.Code), Reason: path.Reason, Data: path.Message}
	case errors.As(err, &conflict):
		return c.conflict(conflict)
	case errors.As(err, &file):
		r := tools.Refused(context.WithoutCancel(c.ctx), c.env, file)
		if file.Known {
			e := tools.Places(c.env)
			e.Lines(file.Now, 1, tools.Lines(file.Now))
			c.saw(e, file.Path, file.Now)
			r.Data += fmt.Sprintf("\nThe file says now (%s):\n%s", tools.Count(tools.Lines(file.Now), "line"), e)
		}
		return r
	case errors.Is(err, sandbox.ErrNotConfined):
		r := tools.Fail(tools.GateDenied, "denied", "The command was not run: %v.", err)
		r.Denial = &tools.Denial{Reason: err.Error(), Layer: gate.LayerSandbox, Source: "policy"}
		return r
	case errors.Is(err, errTimeout):
		return tools.Fail(filetime.Timeout, "tool_timeout",
			"The tool was stopped: it did not finish within %v. Ask for less at once, or do it another way.",
			c.env.Limits.ToolTimeout)
	case errors.Is(err, context.DeadlineExceeded):
		return tools.Fail(filetime.Timeout, "deadline", "The time limit for this call has passed. Ask for less at once.")
	case errors.Is(err, errSibling):
		return tools.Fail(tools.SiblingCancelled, "sibling", siblingFailed)
	case errors.Is(err, errTurnCancelled), errors.Is(err, context.Canceled), c.ctx.Err() != nil && errors.Is(err, context.Cause(c.ctx)):
		if c.began() {
			return tools.Fail(filetime.Cancelled, "turn",
				"Cancelled by the user while it was running: part of its work may have been done.")
		}
		return tools.Fail(filetime.Cancelled, "turn", "Cancelled by the user before it began: nothing was done.")
	}
	c.log(err)
	if sandbox.Exhausted(err) {
		return tools.Fail(tools.ExecutionError, "too_many_files", "Too many files are open: %s. Try again when fewer commands run, or ask "+
			"the user to raise the limit of open files (ulimit -n).", show.Clip(err.Error(), 500))
	}
	return tools.Fail(tools.ExecutionError, "", "Exception: %s\nThis is a fault of the tool, not of the arguments.",
		show.Clip(err.Error(), 500))
}

// began reports whether the call was carried out, or has begun to be.
func (c *call) began() bool {
	c.life.mu.Lock()
	defer c.life.mu.Unlock()
	return c.life.state.order() >= Executing.order()
}

// around is how many lines before and after a conflict are shown.
const around = 3

// place is one hunk of a conflict for a program.
type place struct {
	Line   int    `json:"line"`
	Base   string `json:"base"`
	Yours  string `json:"yours"`
	Theirs string `json:"theirs"`
	// BaseLine is where Base stood in the text that the edit was made for; Current are the lines of the present text
	// around the place, from line First on.
	BaseLine int    `json:"baseLine"`
	First    int    `json:"firstLine"`
	Current  string `json:"current"`
}

// conflict words a conflict so that it is also how the model catches up: what it shows counts as seen.
func (c *call) conflict(k *filetime.Conflict) tools.Result {
	name := c.env.Name(k.Path)
	who, author := "the user", "user"
	switch k.Author {
	case filetime.Disk:
		who, author = "something outside the editor", "disk"
	case filetime.Agent:
		who, author = "another edit by an agent", "agent"
	case filetime.Command:
		who, author = "a command that was run", "agent"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Edit conflict in %s: %s changed the same text since it was read. Nothing was applied.\n", name, who)
	places := []place{}
	room, full := tools.Places(c.env).Room, false // for all places together
	shown := func(what string, fill func(*tools.Excerpt)) *tools.Excerpt {
		e := tools.Places(c.env)
		e.Room = room
		fill(e)
		room, full = e.Room, full || e.Full()
		fmt.Fprintf(&b, "%s:\n%s", what, cmp.Or(e.String(), "(no lines)\n"))
		return e
	}
	for _, h := range k.Hunks {
		last := h.Line + max(strings.Count(h.Now, "\n"), 1) - 1
		p := place{Line: h.Line, Base: h.Base, Yours: h.Ours, Theirs: h.Now, BaseLine: h.BaseLine, First: max(1, h.Line-around)}
		p.Current = show.Clip(k.Now.Slice(k.Now.LineStart(p.First-1), k.Now.LineStart(last+around)), 2000)
		if places = append(places, p); full {
			continue
		}
		b.WriteString("\n")
		shown("As you read it", func(e *tools.Excerpt) { e.Part(h.Base, h.BaseLine) })
		shown("As your edit would have it", func(e *tools.Excerpt) { e.Part(h.Ours, h.BaseLine) })
		what := "As it is now"
		if h.Now == "" {
			what = "It is gone now"
		}
		c.saw(shown(what+", with the lines around", func(e *tools.Excerpt) { e.Lines(k.Now, h.Line-around, last+around) }), k.Path, k.Now)
	}
	if full {
		b.WriteString("\nNot all of it is shown here: read the file with read_file.\n")
	}
	b.WriteString("\nIf the change is still wanted, make it again on the text as it is now (it counts as read), " +
		"and keep what was changed meanwhile.")
	r := tools.Fail(filetime.EditConflict, "changed", "%s", b.String())
	r.Value = struct {
		Path   string  `json:"path"`
		Author string  `json:"author"`
		Places []place `json:"conflicts"`
	}{k.Path, author, places}
	return r
}

// saw notes that the model has been shown e, if it is still what the file says.
func (c *call) saw(e *tools.Excerpt, path string, now text.Text) {
	if snap, err := c.host.Files.Read(context.WithoutCancel(c.ctx), path); err == nil && snap.Text.Equal(now) {
		e.Seen(c.env.FileTime, snap)
	}
}
