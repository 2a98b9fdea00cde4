package lspserver

import (
	"context"

	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
)

// registerTools is done before later messages are handled, so that they find the tools.
func (s *server) registerTools(_ context.Context, p protocol.RegisterToolsParams) (func(context.Context) (protocol.Empty, error), error) {
	specs, err := toolSpecs(p.Tools)
	if err == nil {
		err = s.b.Register(specs, p.Replace)
	}
	return empty, err
}

func (s *server) unregisterTools(_ context.Context, p protocol.UnregisterToolsParams) (func(context.Context) (protocol.Empty, error), error) {
	names := make([]string, len(p.Names))
	for i, n := range p.Names {
		names[i] = clone(n)
	}
	return empty, s.b.Unregister(names)
}

func empty(context.Context) (protocol.Empty, error) { return protocol.Empty{}, nil }

// toolSpecs converts the client's descriptions of its tools.
func toolSpecs(list []protocol.ToolSpec) ([]backend.ToolSpec, error) {
	var out []backend.ToolSpec
	for _, p := range list {
		spec, err := backend.ToolDescription(p).Spec()
		if err != nil {
			return nil, invalid("%v", err)
		}
		out = append(out, spec)
	}
	return out, nil
}
