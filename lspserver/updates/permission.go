package updates

import (
	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/tools/run"
)

// The ids of the answers to a question for permission.
const (
	allowOnce  = "allow_once"
	rejectOnce = "reject_once"
)

// Permission is a question for permission of a session; changes larger than maxDiff are shown as a unified diff alone.
func Permission(session string, q run.Question, maxDiff int) protocol.PermissionParams {
	p := protocol.PermissionParams{
		SessionID: session,
		ToolCall: protocol.Update{
			SessionUpdate: "tool_call_update", ToolCallID: q.Call.ID, Title: q.Plan.Title, Kind: string(q.Plan.Kind),
			Status: "pending", RawInput: RawInput(q.Call.Arguments),
		},
		Options: []protocol.PermissionOption{
			{OptionID: allowOnce, Name: "Allow", Kind: allowOnce},
			{OptionID: rejectOnce, Name: "Reject", Kind: rejectOnce},
		},
		Meta: &protocol.Meta{Tandem: protocol.PermissionMeta{Danger: string(q.Plan.Danger), Reason: show.Visible(q.Reason, false)}},
	}
	for _, l := range q.Plan.Locations {
		p.ToolCall.Locations = append(p.ToolCall.Locations, protocol.Location{Path: l.Path, Line: l.Line})
	}
	content := previewContent(q.Diffs, maxDiff)
	if command := q.Plan.Command(); command != "" {
		block := Text(command)
		content = append(content, protocol.ToolContent{Type: "content", Content: &block})
	}
	if len(content) > 0 {
		p.ToolCall.Content = content
	}
	return p
}

// Answer is what a person answered to Permission; ok is false for an answer that was not on offer.
func Answer(r protocol.PermissionResult) (a run.Answer, ok bool) {
	a.Option = r.Outcome.OptionID
	if r.Meta != nil {
		a.Feedback = r.Meta.Tandem.Feedback
	}
	switch {
	case r.Outcome.Outcome == "cancelled":
		a.Outcome = run.Cancelled
	case r.Outcome.Outcome == "selected" && a.Option == allowOnce:
		a.Outcome = run.Allowed
	case r.Outcome.Outcome == "selected" && a.Option == rejectOnce:
		a.Outcome = run.Rejected
	default:
		return run.Answer{Outcome: run.Unanswered}, false
	}
	return a, true
}
