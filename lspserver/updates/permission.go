package updates

import (
	"fmt"
	"slices"

	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/tools/gate"
	"tandem/tools/run"
)

// Permission is a question for permission of a session; changes larger than maxDiff are shown as a
// unified diff alone.
func Permission(session string, q run.Question, maxDiff int) protocol.PermissionParams {
	p := protocol.PermissionParams{
		SessionID: session,
		ToolCall: protocol.Update{
			SessionUpdate: "tool_call_update", ToolCallID: q.Call.ID, Title: q.Plan.Title, Kind: string(q.Plan.Kind),
			Status: "pending", RawInput: RawInput(q.Call.Arguments),
		},
		Meta: &protocol.Meta{Tandem: protocol.PermissionMeta{
			Danger: string(q.Plan.Danger), Reason: show.Visible(q.Judged.Why, false), SuggestedRule: suggested(q),
		}},
	}
	for _, o := range q.Options() {
		p.Options = append(p.Options, protocol.PermissionOption{OptionID: string(o), Name: nameOf(o, q), Kind: kindOf(o)})
	}
	for _, l := range q.Plan.Locations {
		p.ToolCall.Locations = append(p.ToolCall.Locations, protocol.Location{Path: l.Path, Line: l.Line})
	}
	content := previewContent(q.Diffs, maxDiff)
	if command := q.Plan.Command(); command != "" {
		block := Text(show.Visible(command, true))
		content = append(content, protocol.ToolContent{Type: "content", Content: &block})
	}
	if q.Unkept != "" {
		content = append(content, protocol.ToolContent{Type: "content", Content: new(Text(show.Visible(q.Unkept, false)))})
	}
	if len(content) > 0 {
		p.ToolCall.Content = content
	}
	return p
}

// kindOf is ACP's kind of an answer.
func kindOf(o run.Option) string {
	switch o {
	case run.AllowOnce, run.RejectOnce, run.RejectAlways:
		return string(o)
	}
	return string(run.AllowAlways)
}

// nameOf is an answer as a person reads it, with the rule that it makes.
func nameOf(o run.Option, q run.Question) string {
	switch o {
	case run.AllowOnce:
		return "Allow"
	case run.AllowTurn:
		return "Allow all edits of this turn"
	case run.AllowFiles:
		if len(q.Judged.Edits) > 1 {
			return fmt.Sprintf("Allow edits of these %d files in this session", len(q.Judged.Edits))
		}
		return "Allow edits of this file in this session"
	case run.AllowSession:
		return about("Allow", "for this session", "in this session", *q.Judged.Allows, q)
	case run.AllowAlways:
		return about("Always allow", "in this workspace", "in this workspace", *q.Judged.Allows, q)
	case run.AllowWide:
		return about("Always allow", "", "in this workspace, with any arguments", *q.Judged.Wide, q)
	case run.RejectAlways:
		return about("Never allow", "in this workspace", "in this workspace", *q.Judged.Denies, q)
	}
	return "Reject"
}

// about is an answer with its rule, which is shown whole: what is not shown must not be allowed.
func about(verb, fileScope, scope string, r gate.Rule, q run.Question) string {
	r = r.In(q.Folder)
	if files := r.FilesText(string(q.Plan.Kind)); files != "" {
		return verb + " " + show.Visible(files, false) + ", " + fileScope
	}
	return verb + " " + scope + ": " + show.Visible(r.CallText(), false)
}

// suggested is the rule that the answers for longer than once make, nil where there is none.
func suggested(q run.Question) *protocol.PermissionRule {
	if q.Judged.Allows == nil {
		return nil
	}
	r := Rule(q.Judged.Allows.In(q.Folder))
	return &r
}

// Rule is a rule as a payload.
func Rule(r gate.Rule) protocol.PermissionRule {
	return protocol.PermissionRule{
		ID: r.ID(), Tool: r.Tool, Params: r.Params, Class: string(r.Class), Effect: r.Effect.String(), Scope: r.Scope, Source: r.Source,
		Workspace: r.Workspace, Act: r.Act, Profile: r.Profile, Scripts: r.Scripts, Files: r.Files, Turn: r.Turn, Text: show.Visible(r.String(), false),
	}
}

// Answer is what a person answered to Permission; ok is false for an answer that was not on offer.
func Answer(q run.Question, r protocol.PermissionResult) (a run.Answer, ok bool) {
	a.Option = run.Option(r.Outcome.OptionID)
	if r.Meta != nil {
		a.Feedback = r.Meta.Tandem.Feedback
	}
	switch {
	case r.Outcome.Outcome == "cancelled":
		a.Outcome = run.Cancelled
	case r.Outcome.Outcome == "selected" && slices.Contains(q.Options(), a.Option):
		a.Outcome = a.Option.Outcome()
	default:
		return run.Answer{Outcome: run.Unanswered}, false
	}
	return a, true
}
