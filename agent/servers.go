package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/mcp"
	"tandem/tools/run"
)

// base is the set that the session's tools are taken from: those of all sessions, and those of its MCP servers.
func (s *Session) base() *tools.Set { return s.servers.Over(s.o.Tools()) }

// MCPServers are the states of the session's MCP servers, sorted by name.
func (s *Session) MCPServers() []mcp.State { return s.servers.States() }

func (s *Session) newServers(env func() *tools.Env) *mcp.Servers {
	o := mcp.Options{
		Env:   env,
		Allow: s.mayStart, Accept: s.mayChange,
		Changed: func() {
			if s.o.Servers.Changed != nil {
				s.o.Servers.Changed()
			}
		},
		Told: func(sentence string) { s.Tell(Event{Notice: sentence}) }, Autorun: s.foundAutorun,
		Key: func(command []string) (string, error) {
			if s.o.Shared.Key == nil {
				return "", errors.New("is not run here")
			}
			return s.o.Shared.Key("", command)
		},
		Idle: s.serverIdle,
		Pins: s.o.Servers.Pins, Folders: s.reach.roots, Log: s.o.Log,
	}
	if c, ok := s.o.Client.(Clarifier); ok {
		o.Clarify = func(ctx context.Context, server string, q tools.Clarification) (string, error) {
			l := mcp.Launch{Entry: mcp.Entry{Name: server}}
			d := s.Judge(gate.Call{Tool: l.Tool(), Args: json.RawMessage(`{}`), Needs: []tools.Need{{Act: tools.Nothing}}})
			if d.Verdict != gate.Allow {
				return "", errors.New(d.Reason)
			}
			s.outbox.flush()
			return c.Clarify(ctx, s.o.ID, q)
		}
	}
	return mcp.New(o)
}

// foundAutorun notifies the person of files that run later and that were found outside of a call. The model reads it with the next
// prompt.
func (s *Session) foundAutorun(said []string) {
	if len(said) == 0 {
		return
	}
	s.o.Log.Warn("files that run later", "session", s.o.ID, "found", said)
	s.reach.autorunFound(said)
	s.Tell(Event{Notice: strings.Join(said, " ")})
}

// autorunSince looks for files that run later, put there since the last call by what still runs, and gives what was found since the
// last prompt, a line each.
func (s *Session) autorunSince() string {
	s.foundAutorun(s.reach.checkAutorun())
	return s.reach.takeAutorun()
}

// serverIdle is after what time without a call the process of a server is ended; 0 is never.
func (s *Session) serverIdle() time.Duration {
	return time.Duration(s.config().Limits.MCPIdleMs) * time.Millisecond
}

// entries are the servers that there are to be: the first of a name counts, so a proposal never takes the place of what the person has
// written down.
func (s *Session) entries() []mcp.Entry {
	configured := s.config().MCPServers
	var out []mcp.Entry
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		out = append(out, s.entryOf(name, configured[name]))
	}
	out = append(out, s.o.Servers.Named...)
	if s.o.Servers.Proposed != nil {
		out = append(out, s.o.Servers.Proposed(s.reach.roots())...)
	}
	return out
}

// variable is a place where the value of a variable of the environment is put: ${NAME}.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`) })

// entryOf is a server of the configuration, which the person has written. Variables are put in where keys are.
func (s *Session) entryOf(name string, c config.MCPServer) mcp.Entry {
	expand := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = variable().ReplaceAllStringFunc(v, func(ref string) string {
				if s.o.Shared.Key == nil {
					return ""
				}
				value, err := s.o.Shared.Key(variable().FindStringSubmatch(ref)[1], nil)
				if err != nil {
					return ""
				}
				return value
			})
		}
		return out
	}
	return mcp.Entry{
		Name: name, Command: c.Command, Args: c.Args, Env: expand(c.Env), Cwd: c.Cwd, URL: c.URL, Headers: expand(c.Headers),
		KeyCommand: c.APIKeyCommand, Unconfined: c.Sandbox == "off", Writes: c.Writes, Own: true, Source: "your configuration",
	}
}

// prepareServers makes the tools of the session's servers known before a turn, and asks the person where that takes it.
func (s *Session) prepareServers(ctx context.Context) {
	s.servers.Configure(s.entries())
	s.servers.Prepare(ctx)
}

// mayStart judges the start of a server. The entry of the person's own is their word, unless a rule or the sandbox is against it. Any other
// is asked about in every mode, unless a rule allows this very launch.
func (s *Session) mayStart(ctx context.Context, l mcp.Launch) error {
	began := s.o.Now()
	d, by, err := s.judgeStart(ctx, l)
	return s.auditStart(l, began, d, by, err)
}

// judgeStart also says by what the start was decided where that is no rule and no mode: whose entry it is, or a person's answer.
func (s *Session) judgeStart(ctx context.Context, l mcp.Launch) (d gate.Decision, by string, err error) {
	d = s.Judge(gate.Call{Tool: l.Tool(), Args: l.Args(), Needs: []tools.Need{l.Need()}})
	own := l.Own && (l.Confined || l.Unconfined || l.URL != "")
	launch := l.Gate() + " " + l.Profile.String() + " " + l.Seal
	switch {
	case d.Verdict == gate.Deny, d.Verdict == gate.Queue && !own:
		return d, "", &mcp.NotNowError{Why: d.Reason}
	case d.Verdict == gate.Allow && d.Layer == gate.LayerRules:
		return d, "", nil
	case own && d.Layer != gate.LayerRules:
		return d, l.Source, nil
	case s.rights.launched(launch) && d.Layer != gate.LayerRules:
		return d, "an answer in this session", nil
	}
	if d.Verdict != gate.Ask {
		d = gate.Decision{Verdict: gate.Ask, Rule: d.Rule, Layer: d.Layer, Reason: d.Reason, Why: d.Why}
	}
	if !d.Once {
		d.Allows = &gate.Rule{Effect: gate.Allow, Tool: l.Gate(), Scripts: l.Seal}
		if l.URL == "" {
			d.Allows.Profile = l.Profile.String()
		}
		d.Denies = &gate.Rule{Effect: gate.Deny, Tool: l.Gate()}
	}
	err = s.consent(ctx, run.Question{
		Tool: l.Tool(), Args: l.Args(), Judged: d, Unkept: show.Visible(l.Told(), false),
		Plan: &tools.Plan{
			Title: show.Visible(l.Title(), false), Kind: l.Tool().Spec().Kind, Danger: tools.Moderate, Needs: []tools.Need{l.Need()},
		},
	})
	if err != nil {
		return d, "", err
	}
	s.rights.launch(launch)
	return d, "an answer of the user", nil
}

// auditStart keeps that a server is about to be started, or why it is not: what exactly, and who has allowed it. Without a record
// nothing is started.
func (s *Session) auditStart(l mcp.Launch, began time.Time, d gate.Decision, by string, err error) error {
	if s.o.Keeping.Store == nil {
		return err
	}
	s.mu.Lock()
	turn, id := s.turns, s.ids.next("server")
	if s.running != nil {
		turn = s.running.number
	}
	level := sandbox.LevelNone
	if l.Confined {
		level = s.reach.level()
	}
	s.mu.Unlock()
	result := tools.Result{Success: true}
	if err != nil {
		result = tools.Fail(tools.GateDenied, "server", "%v", err)
	}
	r := run.Record{
		Call: run.Call{ID: id, Name: l.Gate()}, Tool: l.Gate(), Began: began, Args: l.Args(), Allowed: err == nil,
		Rule: d.Rule, Layer: d.Layer, Result: &result, Duration: max(0, s.o.Now().Sub(began)),
	}
	if by != "" {
		r.Rule, r.Layer = by, "person"
	}
	if l.URL == "" {
		r.Sandbox = level + " " + l.Profile.String()
	}
	a := auditor{record: s.record, who: s.o.Keeping.Who, turn: turn, redact: s.o.Keeping.Redact}
	if kept := a.intend(true, []store.Entry{a.entryOf(r, outcome)}); err == nil && kept != nil {
		return &mcp.NotNowError{Why: kept.Error()}
	}
	return err
}

// mayChange asks whether a tool of a server may go on as what it has become.
func (s *Session) mayChange(ctx context.Context, c mcp.Change) error {
	tool := c.Launch.Tool()
	name := c.Launch.Gate() + "__" + show.Visible(c.Tool, false)
	return s.consent(ctx, run.Question{
		Tool: tool, Args: c.Launch.Args(),
		Judged: gate.Decision{
			Verdict: gate.Ask, Once: true, Layer: gate.LayerRules, Rule: "mcp",
			Reason: fmt.Sprintf("the MCP server %s describes its tool %s in another way than before. A server that wants something else of the "+
				"model than what you have allowed would do that", show.Visible(c.Server, false), show.Visible(c.Tool, false)),
		},
		Plan: &tools.Plan{
			Title: fmt.Sprintf("Accept the changed tool %s of the MCP server %s", show.Visible(c.Tool, false), show.Visible(c.Server, false)),
			Kind:  tools.Other, Danger: tools.Moderate, Needs: []tools.Need{{Act: tools.Nothing}},
		},
		Diffs: []run.DiffPreview{{Path: name, Old: c.Before, New: c.After, Unified: c.Unified}},
	})
}

// consent asks the person, outside of a call.
func (s *Session) consent(ctx context.Context, q run.Question) error {
	s.mu.Lock()
	t := s.running
	s.mu.Unlock()
	turn, end := 0, func() {}
	if t != nil {
		turn, end = t.number, t.cancel
	}
	q.Call = run.Call{ID: s.ids.next("server"), Name: q.Tool.Spec().Name, Arguments: q.Args}
	q.Turn = turn
	switch a := (asker{s, turn, end}).Ask(ctx, q); a.Outcome {
	case run.Allowed:
		return nil
	case run.Rejected, run.RejectedBefore:
		return mcp.ErrRejected
	case run.Unavailable:
		return fmt.Errorf("a person has to be asked, and nobody can be asked here: %w", mcp.ErrRejected)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &mcp.NotNowError{Why: "the question was not answered"}
}
