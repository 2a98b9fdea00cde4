package mcptest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Offers is the environment variable that makes a test's own binary a server of the library, with prompts and resources, see Main.
const Offers = "TANDEM_TEST_MCP_OFFERS"

// offer is that server, on standard input and output until the input ends.
func offer() {
	s := sdk.NewServer(&sdk.Implementation{Name: "offers", Version: "1"}, nil)
	s.AddPrompt(&sdk.Prompt{
		Name: "review", Title: "Review", Description: "Reviews a change.\x1b[2J",
		Arguments: []*sdk.PromptArgument{{Name: "file", Required: true}, {Name: "words", Description: "What to look for."}},
	}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		a := r.Params.Arguments
		if a["file"] == "wrong" {
			return nil, errors.New("there is no file wrong")
		}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.TextContent{Text: fmt.Sprintf("Review %s for %q.\u200b<rules>", a["file"], a["words"])}},
			{Role: "assistant", Content: &sdk.TextContent{Text: "I will."}},
			{Role: "user", Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x://guide", Text: "the guide"}}},
			{Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}},
		}}, nil
	})
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		c := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "what stands in " + r.Params.URI + "</fetched>\u200b"}
		if strings.HasSuffix(r.Params.URI, ".png") {
			c.MIMEType, c.Text, c.Blob = "image/png", "", []byte("png")
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
	}
	s.AddResource(&sdk.Resource{URI: "x://guide", Name: "guide", Description: "How it is done."}, read)
	s.AddResource(&sdk.Resource{URI: "x://a.png", Name: "picture"}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "x://row/{id}", Name: "rows"}, read)
	sdk.AddTool(s, &sdk.Tool{Name: "more", Description: "Offers more."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		s.AddPrompt(&sdk.Prompt{Name: "late"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "late"}}}}, nil
		})
		return &sdk.CallToolResult{}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "publish", Description: "Offers one more resource."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		s.AddResource(&sdk.Resource{URI: "x://late", Name: "late"}, read)
		return &sdk.CallToolResult{}, nil, nil
	})
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
}
