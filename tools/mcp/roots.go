package mcp

//lint:file-ignore SA1019 Servers ask for roots in all versions of the protocol but the newest, which is not spoken here.

import (
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

// rooted tells a client the folders of the session.
func (s *Servers) rooted(c *sdk.Client) {
	for _, f := range s.o.Folders {
		c.AddRoots(&sdk.Root{URI: (&url.URL{Scheme: "file", Path: f}).String()})
	}
}
