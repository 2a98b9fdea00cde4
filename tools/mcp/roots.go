package mcp

//lint:file-ignore SA1019 Servers ask for roots in all versions of the protocol.

import (
	"context"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// capable are the capabilities that a server is told of. It may ask for the folders of the session,
// and the person where they can be asked.
func (s *Servers) capable() *sdk.ClientCapabilities {
	c := &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}}
	if s.o.Clarify != nil {
		c.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
	}
	return c
}

// folders are those of the session.
func (s *Servers) folders() []string {
	if s.o.Folders == nil {
		return nil
	}
	return s.o.Folders()
}

// roots are the folders of the session, its own first: a server may take the first one for its
// working folder.
func (s *Servers) roots() []*sdk.Root {
	out := []*sdk.Root{}
	for _, f := range s.folders() {
		out = append(out, &sdk.Root{URI: (&url.URL{Scheme: "file", Path: f}).String()})
	}
	return out
}

// rooted has a client answer with the folders in their order. The library would sort them by name.
func (s *Servers) rooted(c *sdk.Client) {
	c.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "roots/list" {
				return &sdk.ListRootsResult{Roots: s.roots()}, nil
			}
			return next(ctx, method, req)
		}
	})
}
