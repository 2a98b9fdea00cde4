// Package toolsearch is the tool tool_search: it gives a model the parameters of tools that it was
// told of by name alone.
package toolsearch

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed toolsearch.md
var description string

type input struct {
	Query string `json:"query" desc:"select:name,name, or words to look for." minlen:"1" maxlen:"1000"`
	Limit int    `json:"limit" desc:"Tools at most." shown:"false" min:"1" max:"20" default:"5" alias:"max_results"`
}

type value struct {
	Tools   []found  `json:"tools"`
	Missing []string `json:"missing,omitempty"`
}

type found struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: tools.ToolSearch, Aliases: []string{"ToolSearch"}, Kind: tools.Search, Category: "tools",
			Description: strings.TrimSpace(description), Danger: tools.Safe, Class: tools.ClassRead,
			Together: tools.WithReads, NotDestructive: true, Source: tools.SourceBuiltin, Pages: true,
		},
		Title: func(in input) string { return "Find tools: " + in.Query },
		Needs: tools.Always[input](tools.Need{Act: tools.Nothing}),
		Plan: func(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
			if env.Catalogue == nil {
				return nil, tools.Refuse(tools.Unsupported, "no_catalogue", "Tool search is not available here. Use the tools that you have.")
			}
			return &tools.Plan{
				Title: "Find tools: " + in.Query, Kind: tools.Search, Danger: tools.Safe, Semantic: "search",
				Run: func(context.Context) (tools.Result, error) { return search(env.Catalogue, in), nil },
			}, nil
		},
	})
}

// search finds tools and loads them, so that the next request has them in full.
func search(c *tools.Catalogue, in input) tools.Result {
	list, missing := tools.Find(c.Offer().All(), in.Query, in.Limit)
	v := value{Tools: []found{}}
	var names, lines []string
	for _, t := range list {
		spec := t.Spec()
		names = append(names, spec.Name)
		lines = append(lines, tools.Schema(t))
		v.Tools = append(v.Tools, found{spec.Name, spec.Description, t.Schema().JSON()})
	}
	note := ""
	for _, name := range missing {
		v.Missing = append(v.Missing, show.Clip(name, maxShown))
		note += fmt.Sprintf("\nTool not found: %q.", show.Visible(show.Clip(name, maxShown), false))
	}
	if len(list) == 0 && len(missing) > 0 {
		r := tools.Fail(tools.ToolNotFound, "unknown", "%s Look for words of what it would do instead, or use the tools that you have.", note[1:])
		r.Value = v
		return r
	}
	if len(list) == 0 {
		return tools.Result{
			Success: true, Value: v, Summary: "No tool fits",
			Data: fmt.Sprintf("No tool fits %q. Use other words, or work with the tools that you have.", show.Visible(show.Clip(in.Query, maxShown), false)),
		}
	}
	c.Load(names...)
	return tools.Result{
		Success: true, Value: v, Summary: "Found " + strings.Join(names, ", "),
		Data: "Found " + tools.Count(len(list), "tool") + ". You can call what is listed here now:\n" + strings.Join(lines, "\n") + note,
	}
}

// maxShown is how many characters are shown of what was asked for.
const maxShown = 80
