package lspserver

import (
	"context"
	"errors"

	"tandem/agent"
	"tandem/filetime/text/show"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

func (s *server) planRoutes(r *wire.Router) {
	handle(r, protocol.PlanList, s.listPlans)
	handle(r, protocol.PlanApprove, s.approvePlans)
	handle(r, protocol.PlanDiscard, s.discardPlans)
}

func (s *server) listPlans(_ context.Context, p protocol.PlansParams) (protocol.PlansResult, error) {
	r := protocol.PlansResult{Plans: []protocol.Plan{}}
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return r, err
	}
	for _, p := range se.Plans() {
		out := protocol.Plan{
			PlanID: p.ID, ToolCallID: p.Change.Call, Title: p.Change.Label, Kind: "edit", State: string(p.State), Reason: string(p.Reason),
			URIs: []string{}, Needs: p.Needs, Diff: []protocol.FileDiff{}, Hunks: []protocol.PlanHunk{},
		}
		if p.Path != "" {
			out.URI, out.Text = s.ws.URIOf(p.Path), new(p.Now.String())
			out.URIs = append(out.URIs, out.URI)
		}
		for _, f := range p.Files {
			uri := s.ws.URIOf(f.Path)
			diff := s.diffWithHunks(show.Diff(s.b.Short(f.Path), f.Before, f.After, show.Options{MaxBytes: s.b.MaxDiff(), Created: f.Created}), f.After)
			diff.Path = f.Path
			out.URIs, out.Diff = append(out.URIs, uri), append(out.Diff, diff)
			for _, h := range f.Hunks {
				out.Hunks = append(out.Hunks, protocol.PlanHunk{URI: uri, Line: h.Line - 1, OldText: h.Old, NewText: h.New})
			}
		}
		r.Plans = append(r.Plans, out)
	}
	se.View.Flush()
	return r, nil
}

func (s *server) approvePlans(ctx context.Context, p protocol.ApproveParams) (protocol.ApproveResult, error) {
	r := protocol.ApproveResult{Results: []protocol.PlanApproval{}}
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return r, err
	}
	if len(p.Hunks) > 0 && len(p.PlanIDs) != 1 {
		return r, invalid("hunks are those of one plan, and %d plans are named", len(p.PlanIDs))
	}
	done, err := se.ApprovePlans(ctx, p.PlanIDs, p.Hunks)
	if err != nil {
		return r, planError(err)
	}
	se.View.Flush()
	for _, d := range done {
		r.Results = append(r.Results, protocol.PlanApproval{PlanID: d.ID, Result: s.toolResult(d.Result)})
	}
	return r, nil
}

func (s *server) discardPlans(_ context.Context, p protocol.DiscardPlansParams) (protocol.Empty, error) {
	se, err := s.b.Find(p.SessionID)
	if err == nil {
		err = planError(se.DiscardPlans(p.PlanIDs))
	}
	return protocol.Empty{}, err
}

// planError is the error of a request about plans.
func planError(err error) error {
	var unknown *agent.UnknownPlanError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown):
		return invalid("The session has no %s; tandem/plan/list names those that there are.", unknown.What)
	}
	return backend.Refused(err)
}
