package model

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// picky is a service that refuses tools, and maybe all requests, and keeps the names of the tools that it was offered.
type picky struct {
	refuses func(offered []ToolSpec) string
	status  int
	offered []string
}

func (p *picky) Name() string { return "p/m" }

func (p *picky) Stream(_ context.Context, r Request, on func(Delta)) (Response, error) {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	p.offered = append(p.offered, strings.Join(names, " "))
	if why := p.refuses(r.Tools); why != "" {
		return Response{}, &Error{Kind: "http", Status: p.status, Message: why}
	}
	on(Delta{Text: "Yes."})
	return Response{Stop: StopEnd}, nil
}

// first complains about the first of the odd tools that is offered.
func first(odd ...string) func([]ToolSpec) string {
	return func(offered []ToolSpec) string {
		for _, t := range offered {
			if slices.Contains(odd, t.Name) {
				return "p refused the request (400: Invalid schema for function '" + t.Name + "': type must be object)."
			}
		}
		return ""
	}
}

// TestFaultW9Refused sees that a service which refuses tools is asked without them, and that the person hears of it once.
func TestFaultW9Refused(t *testing.T) {
	tools := []ToolSpec{{Name: "read"}, {Name: "mcp__x__odd"}, {Name: "list"}, {Name: "mcp__x__other"}}
	for _, c := range []struct {
		name            string
		refuses         func([]ToolSpec) string
		status          int
		offered         []string
		notices         int
		fails, unhelped bool
	}{
		{"none", first(), 400, []string{"read mcp__x__odd list mcp__x__other", "read mcp__x__odd list mcp__x__other"}, 0, false, false},
		{
			"one", first("mcp__x__odd"), 400,
			[]string{"read mcp__x__odd list mcp__x__other", "read list mcp__x__other", "read list mcp__x__other"},
			1, false, false,
		},
		{
			"two, with another status", first("mcp__x__odd", "list"), 422,
			[]string{"read mcp__x__odd list mcp__x__other", "read list mcp__x__other", "read mcp__x__other", "read mcp__x__other"},
			2, false, false,
		},
		{"another status", first("mcp__x__odd"), 500, []string{"read mcp__x__odd list mcp__x__other", "read mcp__x__odd list mcp__x__other"}, 0, true, false},
		{
			"it does not help", func([]ToolSpec) string { return "The call of mcp__x__odd has no thought_signature." }, 400,
			[]string{
				"read mcp__x__odd list mcp__x__other", "read list mcp__x__other", "read mcp__x__odd list mcp__x__other", "read list mcp__x__other",
			},
			0, true, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &picky{refuses: c.refuses, status: c.status}
			m := WithoutRefused(p)
			notices := 0
			for range 2 {
				_, err := m.Stream(t.Context(), Request{Tools: tools}, func(d Delta) {
					if d.Notice != "" {
						notices++
						if !strings.Contains(d.Notice, "is left out from now on") {
							t.Error(d.Notice)
						}
					}
				})
				var e *Error
				if (err != nil) != c.fails || c.unhelped && (!errors.As(err, &e) || e.Message != "The call of mcp__x__odd has no thought_signature.") {
					t.Error(err)
				}
			}
			if !slices.Equal(p.offered, c.offered) || notices != c.notices {
				t.Errorf("%d notices, offered %q", notices, p.offered)
			}
		})
	}
	p := &picky{refuses: first("list"), status: 400}
	m := WithoutRefused(p)
	for _, schema := range []string{`{"type":"string"}`, `{"type":"object"}`} {
		_, _ = m.Stream(t.Context(), Request{Tools: []ToolSpec{{Name: "list", Parameters: []byte(schema)}}}, func(Delta) {})
	}
	if !slices.Equal(p.offered, []string{"list", "", "list", ""}) {
		t.Errorf("a tool that has changed was not offered again: %q", p.offered)
	}
}

// TestFaultW9Named sees which tool an error means.
func TestFaultW9Named(t *testing.T) {
	offered := []ToolSpec{{Name: "read"}, {Name: "fetch"}, {Name: "mcp__x__odd"}, {Name: "mcp__x__odd_one"}}
	for message, want := range map[string]int{
		"Invalid schema for function 'mcp__x__odd': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'.": 2,
		"Invalid schema for function 'mcp__x__odd_one': In context=(), object schema missing properties.":                        3,
		"tools.2.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12":                           2,
		"tools.1.custom.input_schema.type: Field required":                                                                       1,
		"* GenerateContentRequest.tools[0].function_declarations[3].parameters.properties: should be non-empty for OBJECT type":  3,
		"Invalid tools[0].parameters":                       0,
		"Failed to fetch the image: read timeout":           -1,
		"The function read has invalid parameters":          0,
		"Invalid 'tools[9].name'":                           -1,
		"Unrecognized request argument supplied: reasoning": -1,
		"Invalid tool name \"fetch\"":                       1,
		"mcp__x__oddity is unknown":                         -1,
	} {
		err := error(&Error{Kind: "http", Status: 400, Message: message})
		if got := refusedTool(err, offered); got != want {
			t.Errorf("%s: %d, not %d", message, got, want)
		}
	}
	if got := refusedTool(&Error{Kind: "context_window", Status: 400, Message: "'fetch'"}, offered); got >= 0 {
		t.Error("an error of another kind")
	}
}
