package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/web"
)

// form is what a server wants to know of a person: a flat object.
type form struct {
	Properties map[string]field `json:"properties"`
	Required   []string         `json:"required"`
}

type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []struct {
		Const string `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
}

// maxFields is how many questions one request of a server may make.
const maxFields = 8

// maxPage is the length of the longest address of a page that a person is shown.
const maxPage = 2000

// The ids of the answers that are not the person's words.
const (
	yes     = "yes"
	decline = "decline"
)

// elicit answers the questions of a server by asking the person, one field after another. It is nil
// where nobody can be asked, so that the server is told that it cannot ask. A person is told who
// asks. What they do not answer is declined.
func (s *server) elicit() func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	if s.all.o.Clarify == nil {
		return nil
	}
	return func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		declined := &sdk.ElicitResult{Action: "decline"}
		raw, err := json.Marshal(r.Params.RequestedSchema)
		var f form
		if err != nil || json.Unmarshal(raw, &f) != nil || len(f.Properties) > maxFields {
			return declined, nil
		}
		page := ""
		if r.Params.Mode == "url" {
			u, err := url.Parse(r.Params.URL)
			if err != nil || u.Scheme != "https" && !(u.Scheme == "http" && web.Here(u)) || u.Host == "" || u.User != nil || len(r.Params.URL) > maxPage {
				return declined, nil
			}
			page = fmt.Sprintf("\nIt wants you to open this page of %s in your browser: %s\nOpen it yourself if you want that.",
				line(u.Host), line(r.Params.URL))
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(s.all.ctx, stop)()
		s.mu.Lock()
		call := s.lastCall
		s.mu.Unlock()
		defer s.thinks()()
		head := fmt.Sprintf("The MCP server %s asks: %s", line(s.entry.Name), show.Clip(line(r.Params.Message), 1000))
		ask := func(question string, options []tools.Choice) (string, error) {
			return s.all.o.Clarify(ctx, s.entry.Name, tools.Clarification{Call: call, Question: question, Options: options})
		}
		content := map[string]any{}
		if len(f.Properties) == 0 {
			answer, err := ask(head+page, []tools.Choice{{ID: decline, Label: "No"}, {ID: yes, Label: "Yes"}})
			if err != nil || answer != yes {
				return declined, nil
			}
			if page != "" {
				content = nil
			}
			return &sdk.ElicitResult{Action: "accept", Content: content}, nil
		}
		for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
			p := f.Properties[name]
			about := line(strings.Join([]string{p.Title, p.Description}, " "))
			if p.Title == "" {
				about = line(name + " " + p.Description)
			}
			answer, err := ask(head+"\n"+show.Clip(about, 500), p.options())
			if err != nil || answer == decline {
				return declined, nil
			}
			value, ok := p.value(answer)
			switch {
			case ok:
				content[name] = value
			case slices.Contains(f.Required, name):
				return declined, nil
			}
		}
		return &sdk.ElicitResult{Action: "accept", Content: content}, nil
	}
}

// options are the answers on offer, nil for any text. The first one refuses.
func (f field) options() []tools.Choice {
	out := []tools.Choice{{ID: decline, Label: "No answer"}}
	for i, o := range f.OneOf {
		out = append(out, tools.Choice{ID: strconv.Itoa(i), Label: show.Clip(line(o.Title), 80)})
	}
	for i, e := range f.Enum {
		label := e
		if i < len(f.EnumNames) {
			label = f.EnumNames[i]
		}
		out = append(out, tools.Choice{ID: strconv.Itoa(i), Label: show.Clip(line(label), 80)})
	}
	if f.Type == "boolean" {
		out = append(out, tools.Choice{ID: "true", Label: "Yes"}, tools.Choice{ID: "false", Label: "No"})
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

// value is an answer as the server wants it; ok is false where it is none.
func (f field) value(answer string) (value any, ok bool) {
	i, err := strconv.Atoi(answer)
	switch {
	case answer == "":
		return nil, false
	case len(f.OneOf) > 0:
		if err != nil || i < 0 || i >= len(f.OneOf) {
			return nil, false
		}
		return f.OneOf[i].Const, true
	case len(f.Enum) > 0:
		if err != nil || i < 0 || i >= len(f.Enum) {
			return nil, false
		}
		return f.Enum[i], true
	}
	switch f.Type {
	case "boolean":
		b, err := strconv.ParseBool(answer)
		return b, err == nil
	case "integer":
		return i, err == nil
	case "number":
		n, err := strconv.ParseFloat(answer, 64)
		return n, err == nil
	case "string", "":
		return answer, true
	}
	return nil, false
}
