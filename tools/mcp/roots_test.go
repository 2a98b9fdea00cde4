package mcp

//lint:file-ignore SA1019 Servers ask for roots in all versions of the protocol but the newest, which is not spoken here.

import (
	"context"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server may take the first root for its working folder, as the reference server for files does.
func TestRootsBeginWithTheFolderOfTheSession(t *testing.T) {
	s := New(Options{Changed: func() {}, Folders: func() []string { return []string{"/z/session", "/a/more"} }})
	client := sdk.NewClient(&sdk.Implementation{Name: "tandem"}, &sdk.ClientOptions{Capabilities: s.capable()})
	s.rooted(client)
	here, there := sdk.NewInMemoryTransports()
	session := make(chan *sdk.ServerSession, 1)
	go func() {
		server := sdk.NewServer(&sdk.Implementation{Name: "server"}, nil)
		c, err := server.Connect(context.Background(), there, nil)
		if err != nil {
			t.Error(err)
		}
		session <- c
	}()
	c, err := client.Connect(context.Background(), here, &sdk.ClientSessionOptions{ProtocolVersion: protocolVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := (<-session).ListRoots(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, root := range r.Roots {
		uris = append(uris, root.URI)
	}
	if want := []string{"file:///z/session", "file:///a/more"}; !slices.Equal(uris, want) {
		t.Errorf("the roots are %q, want %q", uris, want)
	}
}
