package lspserver

import (
	"context"
	"time"

	"tandem/agent"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

func (s *server) auditRoutes(r *wire.Router) {
	handle(r, protocol.AuditQuery, s.queryAudit)
}

func (s *server) queryAudit(_ context.Context, p protocol.AuditParams) (protocol.AuditResult, error) {
	const most = 1000
	r := protocol.AuditResult{Entries: []protocol.AuditEntry{}}
	q := agent.AuditQuery{Session: p.SessionID, Limit: most}
	if p.Limit < 0 {
		return r, invalid("limit is a number of entries, not %d.", p.Limit)
	}
	if p.Limit > 0 {
		q.Limit = p.Limit
	}
	if p.Since != "" {
		var err error
		if q.Since, err = time.Parse(time.RFC3339, p.Since); err != nil {
			return r, invalid("since is a time such as 2026-01-31T12:00:00Z, not %.40q.", p.Since)
		}
	}
	found, err := s.b.Audit(q)
	for _, a := range found {
		r.Entries = append(r.Entries, auditEntry(a))
	}
	return r, err
}

func auditEntry(a agent.Audited) protocol.AuditEntry {
	e := protocol.AuditEntry{
		Time: stamp(a.Time), SessionID: a.Session, CallID: a.Call, Tool: a.Tool, Args: a.Args, ArgsHash: a.ArgsHash,
		ResultHash: a.ResultHash, Decision: "deny", Rule: a.Rule, Layer: a.Layer, Sandbox: a.Sandbox, Error: a.Error, Pending: a.Pending,
		DurationMs: float64(a.DurationUs) / 1000,
		Who:        protocol.AuditWho{User: a.User, Client: a.Client, Agent: protocol.AuditAgent{Session: a.Session}},
	}
	if a.Allowed {
		e.Decision = "allow"
	}
	return e
}
