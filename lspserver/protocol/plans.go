package protocol

// PlansParams of tandem/plan/list.
type PlansParams struct {
	SessionID string `json:"sessionId"`
}

// Plan is a change that waits for the user.
type Plan struct {
	PlanID     string     `json:"planId"`
	ToolCallID string     `json:"toolCallId"`
	Title      string     `json:"title"`
	Kind       string     `json:"kind" enum:"edit"`
	State      string     `json:"state" enum:"queued,approved,stale" doc:"approved is on its way; stale fits the text no more, and can only be discarded."`
	Reason     string     `json:"reason,omitempty" enum:"text,depends" doc:"Why it is stale: its text was changed, or a plan that it needs is gone."`
	URIs       []string   `json:"uris"`
	Needs      []string   `json:"needs,omitempty" doc:"The plans without which it cannot be approved: approve them before it, or with it."`
	Diff       []FileDiff `json:"diff" doc:"What it changes as things stand, after all plans before it. Ranges are of the text after it."`
	Hunks      []PlanHunk `json:"hunks" doc:"The parts of it that can be approved alone; their numbers are their places in this list."`
	URI        string     `json:"uri,omitempty" doc:"Of a stale plan: the file that it does not fit."`
	Text       *string    `json:"text,omitzero" doc:"What that file says."`
}

// PlanHunk is a part of a plan, in whole lines.
type PlanHunk struct {
	URI     string `json:"uri"`
	Line    int    `json:"line" doc:"Its first line from 0, in the text before the plan."`
	OldText string `json:"oldText"`
	NewText string `json:"newText"`
}

// PlansResult of tandem/plan/list, in the order in which the plans land.
type PlansResult struct {
	Plans []Plan `json:"plans"`
}

// ApproveParams of tandem/plan/approve.
type ApproveParams struct {
	SessionID string   `json:"sessionId"`
	PlanIDs   []string `json:"planIds,omitempty" doc:"All that are not stale if absent or empty."`
	Hunks     []int    `json:"hunks,omitempty" doc:"Of one plan, the numbers of the hunks that land; the rest of it waits on. All if absent or empty."`
}

// PlanApproval is what became of one plan.
type PlanApproval struct {
	PlanID string     `json:"planId"`
	Result ToolResult `json:"result" doc:"EDIT_CONFLICT with the reason text or depends where it cannot land; result is {path, text} then, if the file's text is known."`
}

// ApproveResult of tandem/plan/approve, in the order in which the plans were to land.
type ApproveResult struct {
	Results []PlanApproval `json:"results"`
}

// DiscardPlansParams of tandem/plan/discard.
type DiscardPlansParams struct {
	SessionID string   `json:"sessionId"`
	PlanIDs   []string `json:"planIds,omitempty" doc:"All if absent or empty."`
}

// PlanDidChangeParams of tandem/plan/didChange.
type PlanDidChangeParams struct {
	SessionID string   `json:"sessionId"`
	PlanIDs   []string `json:"planIds"`
}
