package lspserver

import (
	"cmp"
	"context"
	"strings"

	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

func (s *server) mentionRoutes(r *wire.Router) {
	handle(r, protocol.MentionsComplete, s.completeMention)
}

func (s *server) completeMention(ctx context.Context, p protocol.MentionParams) (protocol.MentionResult, error) {
	out := protocol.MentionResult{Items: []protocol.MentionItem{}}
	limit := min(cmp.Or(max(p.Limit, 0), 20), 200)
	found, err := s.b.Complete(ctx, p.SessionID, strings.TrimPrefix(p.Prefix, "@"), limit)
	for _, m := range found {
		item := protocol.MentionItem{Label: m.Label, Kind: string(m.Kind), Insert: "@" + m.Insert}
		if m.Kind == backend.MentionCommand {
			item.Insert = "/" + m.Insert
		}
		out.Items = append(out.Items, item)
	}
	return out, err
}
