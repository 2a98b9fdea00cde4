package mcp

//lint:file-ignore SA1019 Servers ask for roots in all versions of the protocol but the newest, which is not spoken here.

import (
	"context"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// capable are the capabilities that a server is told of. It may ask for the folders of the session, and the person where they can be
// asked.
func (s *Servers) capable() *sdk.ClientCapabilities {
	c := &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}}
	if s.o.Clarify != nil {
		c.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
	}
	return c
}

// rooted has a client tell the folders of the session, that of the session first: a server may take the first one for its working
// folder. The library would sort them by name.
func (s *Servers) rooted(c *sdk.Client) {
	roots := []*sdk.Root{}
	for _, f := range s.o.Folders {
		roots = append(roots, &sdk.Root{URI: (&url.URL{Scheme: "file", Path: f}).String()})
	}
	c.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "roots/list" {
				return &sdk.ListRootsResult{Roots: roots}, nil
			}
			return next(ctx, method, req)
		}
	})
}
