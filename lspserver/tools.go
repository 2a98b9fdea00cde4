package lspserver

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"

	"tandem/agent"
	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/tools"
	"tandem/tools/run"
)

func (s *server) toolRoutes(r *wire.Router) {
	handle(r, protocol.ToolsList, s.listTools)
	handle(r, protocol.ToolsGet, s.getTool)
	handle(r, protocol.ToolsSearch, s.searchTools)
	handleExact(r, protocol.ToolsCall, s.callTool)
	handleInOrder(r, protocol.ToolsRegister, s.registerTools)
	handleInOrder(r, protocol.ToolsUnregister, s.unregisterTools)
	handleExact(r, protocol.ToolsBatch, s.batchTools)
	handle(r, protocol.ToolsAssess, s.assess)
	handle(r, protocol.PermissionsList, s.listRules)
	handle(r, protocol.PermissionsSet, s.setRules)
}

func (s *server) listTools(_ context.Context, p protocol.ListToolsParams) (protocol.ListToolsResult, error) {
	of, err := s.toolsOf(p.SessionID)
	if err != nil {
		return protocol.ListToolsResult{}, err
	}
	set := of.set
	if p.Provider != "" {
		set = s.b.Tools().Narrow(tools.ForProvider(p.Provider, s.b.API(p.Provider)))
	}
	list := set.List()
	if p.IncludeDisabled {
		list = slices.DeleteFunc(set.All(), func(t tools.Tool) bool { return set.DroppedBy(t.Spec().Name) == "provider" })
	}
	r := protocol.ListToolsResult{Tools: []protocol.ToolInfo{}}
	for _, t := range list {
		spec := t.Spec()
		switch {
		case p.Kind != "" && p.Kind != string(spec.Kind),
			p.ReadOnly != nil && *p.ReadOnly != spec.Kind.ReadOnly():
			continue
		}
		info := toolInfo(set, of.offer, t)
		if stage, _ := of.drops(t); stage != "" && info.Enabled {
			info.Enabled, info.DisabledBy = false, stage
		}
		if info.Enabled && of.offer.Hides(t) && !p.IncludeDeferred || !info.Enabled && !p.IncludeDisabled {
			continue
		}
		r.Tools = append(r.Tools, info)
	}
	if p.Explain {
		r.Dropped = droppedOf(set, of.drops)
	}
	return r, nil
}

// onOffer is a set, what a request shows of it, and what says at which stage a tool is left out of that and why.
type onOffer struct {
	set   *tools.Set
	offer tools.Offer
	drop  func(tools.Spec) (stage, reason string)
}

// drops says too that tool_search is of no use where nothing is deferred.
func (o onOffer) drops(t tools.Tool) (stage, reason string) {
	stage, reason = o.drop(t.Spec())
	if stage == "" && t.Spec().Name == tools.ToolSearch && !slices.Contains(o.offer.Full, t) {
		return "pool", "no tool is deferred"
	}
	return stage, reason
}

// toolsOf gives the tools of a session, of all sessions where id is "".
func (s *server) toolsOf(id string) (onOffer, error) {
	if id == "" {
		return onOffer{s.b.Tools(), s.b.Offer(), s.b.Drops()}, nil
	}
	se, err := s.b.Find(id)
	if err != nil {
		return onOffer{}, err
	}
	return onOffer{se.Tools(), se.Offer(), se.Drops}, nil
}

func (s *server) getTool(_ context.Context, p protocol.GetToolParams) (*protocol.ToolInfo, error) {
	of, err := s.toolsOf(p.SessionID)
	if err != nil {
		return nil, err
	}
	t := of.set.Get(p.Name)
	if t == nil {
		return nil, nil
	}
	return new(toolInfo(of.set, of.offer, t)), nil
}

// searchTools finds tools, those that are deferred too.
func (s *server) searchTools(_ context.Context, p protocol.SearchToolsParams) (protocol.SearchToolsResult, error) {
	r := protocol.SearchToolsResult{Tools: []protocol.ToolInfo{}}
	of, err := s.toolsOf(p.SessionID)
	if err != nil {
		return r, err
	}
	if p.Limit < 0 {
		return r, invalid("limit must be >= 0, got %d", p.Limit)
	}
	found, _ := tools.Find(of.offer.All(), p.Query, cmp.Or(p.Limit, 5))
	for _, t := range found {
		r.Tools = append(r.Tools, toolInfo(of.set, of.offer, t))
	}
	return r, nil
}

// droppedOf says which tools are not offered: those that views of the set leave out, and those that are always refused.
func droppedOf(set *tools.Set, drops func(tools.Tool) (stage, reason string)) (out []protocol.DroppedTool) {
	for _, t := range set.All() {
		d := protocol.DroppedTool{Name: t.Spec().Name}
		if v := set.Dropping(d.Name); v != nil {
			d.Stage, d.Reason = droppedAt(*v)
		} else if d.Stage, d.Reason = drops(t); d.Stage == "" {
			continue
		}
		out = append(out, d)
	}
	return out
}

// droppedAt is the stage at which a view leaves tools out, and why.
func droppedAt(v tools.View) (stage, reason string) {
	switch {
	case v.Setting != "":
		return "enabled", "the setting " + v.Setting + " is missing"
	case v.By == "toolset":
		return "mode", "the setting toolset is simple"
	}
	return "enabled", "it is disabled by " + v.By
}

// toolInfo describes a tool of a set.
func toolInfo(set *tools.Set, offer tools.Offer, t tools.Tool) protocol.ToolInfo {
	spec := t.Spec()
	info := protocol.ToolInfo{
		Name: spec.Name, Aliases: spec.Aliases, Title: cmp.Or(spec.Title, spec.Name), Kind: string(spec.Kind), Category: spec.Category,
		Description: offer.Description(t), Parameters: t.Schema().JSON(), ReadOnly: spec.Kind.ReadOnly(),
		ConcurrencySafe: spec.Together == tools.WithReads, Destructive: !spec.NotDestructive, Danger: string(spec.Danger),
		PermissionClass: string(spec.Class), Interrupt: "cancel", InputStreaming: spec.InputStreaming,
		Providers: spec.Providers, Source: run.Source(spec), Deferred: offer.Deferred(t), Enabled: true,
	}
	if spec.Block {
		info.Interrupt = "block"
	}
	if spec.Source == tools.SourceClient && set.Covers(t, tools.SourceBuiltin) {
		info.Replaces = spec.Name
	}
	if by := set.DroppedBy(spec.Name); by != "" {
		info.Enabled, info.DisabledBy = false, by
	}
	return info
}

func (s *server) callTool(ctx context.Context, p protocol.CallToolParams) (protocol.ToolResult, error) {
	r, err := s.batchTools(ctx, protocol.BatchParams{
		SessionID: p.SessionID, Calls: []protocol.BatchCall{{CallID: p.CallID, Name: p.Name, Arguments: p.Arguments}},
		Apply: p.Apply, Trace: p.Trace,
	})
	if err != nil {
		return protocol.ToolResult{}, err
	}
	return r.Results[0], nil
}

func (s *server) batchTools(ctx context.Context, p protocol.BatchParams) (protocol.BatchResult, error) {
	out := protocol.BatchResult{Results: []protocol.ToolResult{}, Batches: [][]int{}}
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return out, err
	}
	apply := filetime.Apply(p.Apply)
	if !slices.Contains([]filetime.Apply{"", filetime.Auto, filetime.Editor, filetime.OnDisk, filetime.None}, apply) {
		return out, invalid("apply is one of auto, editor, disk and none, not %.40q", p.Apply)
	}
	calls := make([]run.Call, len(p.Calls))
	for i, c := range p.Calls {
		calls[i] = run.Call{ID: c.CallID, Name: c.Name, Arguments: c.Arguments}
		if len(c.Arguments) == 0 {
			calls[i].Arguments = json.RawMessage("{}")
		}
	}
	results, batches, err := se.CallTools(ctx, calls, agent.CallOptions{Apply: apply, Trace: p.Trace, Parallel: p.Parallel, DryRun: p.DryRun})
	if err != nil {
		return out, backend.Refused(err)
	}
	se.View.Flush()
	for _, r := range results {
		out.Results = append(out.Results, s.toolResult(r))
	}
	out.Batches = append(out.Batches, batches...)
	return out, nil
}

// toolResult converts a Result to its payload.
func (s *server) toolResult(r tools.Result) protocol.ToolResult {
	out := protocol.ToolResult{
		Success: r.Success, Data: r.Data, Context: r.Data, Error: string(r.Error), Reason: r.Reason, Summary: r.Line(),
		Result: r.Value, Warnings: r.Warnings, Truncated: r.Truncated, CallID: r.Call,
		DurationMs: float64(r.Duration.Microseconds()) / 1000,
	}
	for _, i := range r.Issues {
		out.Issues = append(out.Issues, protocol.Issue(i))
	}
	if d := r.Denial; d != nil {
		out.Denial = &protocol.Denial{Reason: d.Reason, Rule: d.Rule, Layer: d.Layer, Source: d.Source}
	}
	for _, p := range r.Parts {
		out.Content = append(out.Content, protocol.ContentPart{
			Type: string(p.Kind), Text: p.Text, MediaType: p.MIMEType, Name: p.Name, Data: base64.StdEncoding.EncodeToString(p.Data),
		})
	}
	if l := r.Landed; l != nil {
		out.Edit = s.editOf(*l, r.Call)
		applied := len(l.Files) > 0
		for _, f := range l.Files {
			applied = applied && f.Applied
		}
		out.Applied = &applied
	}
	switch len(r.Diffs) {
	case 0:
	case 1:
		out.Diff = s.fileDiff(r, 0)
	default:
		list := make([]protocol.FileDiff, len(r.Diffs))
		for i := range r.Diffs {
			list[i] = s.fileDiff(r, i)
		}
		out.Diff = list
	}
	out.Meta = s.metaOf(r.Meta)
	return out
}

// fileDiff is the payload of the i-th diff, with ranges in the text after the change.
func (s *server) fileDiff(r tools.Result, i int) protocol.FileDiff {
	if r.Landed == nil || i >= len(r.Landed.Files) {
		out := diffOf(r.Diffs[i])
		out.Hunks = []protocol.DiffHunk{}
		return out
	}
	return s.diffWithHunks(r.Diffs[i], r.Landed.Files[i].After)
}

// diffWithHunks is the payload of a diff; after is the text of its new lines.
func (s *server) diffWithHunks(d show.File, after text.Text) protocol.FileDiff {
	out := diffOf(d)
	out.Hunks = []protocol.DiffHunk{}
	for _, h := range d.Hunks {
		first := max(h.NewStart-1, 0)
		if h.NewLines == 0 {
			first = h.NewStart
		}
		hunk := protocol.DiffHunk{
			Range:   s.toRange(after, after.LineStart(first), after.LineStart(first+h.NewLines)),
			OldText: h.Old, NewText: h.New, Inline: inlineOf(h.Inline),
		}
		out.Hunks = append(out.Hunks, hunk)
	}
	return out
}

func inlineOf(spans []show.Span) (out []protocol.InlineSpan) {
	for _, span := range spans {
		out = append(out, protocol.InlineSpan(span))
	}
	return out
}

func (s *server) metaOf(m tools.Meta) *protocol.ResultMeta {
	out := &protocol.ResultMeta{
		EffectiveArgs: m.EffectiveArgs, Coerced: m.Coerced, Source: m.Source, Version: m.Version, Cache: m.Cache, Attempts: m.Attempts,
		Tier: m.Tier, RebasedOver: m.RebasedOver, Output: m.Output,
	}
	for _, p := range m.Modified {
		out.Modified = append(out.Modified, s.ws.URIOf(p))
	}
	for _, t := range m.Trace {
		out.Trace = append(out.Trace, protocol.TraceStage(t))
	}
	return out
}

func diffOf(d show.File) protocol.FileDiff {
	return protocol.FileDiff{
		Path: d.Path, Unified: d.Unified, Additions: d.Additions, Deletions: d.Deletions, Truncated: d.Truncated,
	}
}
