// Package websearch is the tool web_search: what a service that the person has configured finds on
// the web.
package websearch

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/web"
)

//go:embed websearch.md
var description string

// maxExcerpt is how many characters of the text of one result the model gets.
const maxExcerpt = 1000

type input struct {
	Query string `json:"query" desc:"What to search for." minlen:"1"`
	Limit int    `json:"limit" desc:"Results at most." min:"1" max:"20" default:"5" alias:"max_results"`
}

type value struct {
	Query   string   `json:"query"`
	Results []result `json:"results"`
}

// result is one result, in the names that all services use.
type result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Content string `json:"content"`
}

type search struct{ web.Client }

// New makes the tool. The zero value of client is what is shipped.
func New(client web.Client) tools.Tool {
	s := search{client}
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "web_search", Aliases: []string{"tavily", "WebSearch", "google_web_search"}, Kind: tools.Fetch, Category: "web",
			Description: strings.TrimSpace(description), Danger: tools.Moderate, Class: tools.ClassNetwork,
			Together: tools.WithReads, NotDestructive: true, Source: "builtin", Deferred: true, NoTimeout: true, Idempotent: true,
		},
		Title:   title,
		Subject: func(in input) string { return in.Query },
		Needs: func(env *tools.Env, _ input) ([]tools.Need, error) {
			u, err := address(env)
			if err != nil {
				return nil, err
			}
			return []tools.Need{{Act: tools.Reaches, Host: u.Host}}, nil
		},
		Plan: s.plan,
	})
}

func title(in input) string { return "Search the web for " + show.Visible(in.Query, false) }

// unsupported is the refusal where the configuration does not say enough to search.
func unsupported(format string, args ...any) error {
	return tools.Refuse(tools.Unsupported, "setting", "The web cannot be searched: %s Go on without it, and tell the user.", fmt.Sprintf(format, args...))
}

// address is the URL that answers searches.
func address(env *tools.Env) (*url.URL, error) {
	if env.WebSearch == nil {
		return nil, unsupported("the setting webSearch.provider names no service.")
	}
	base := env.WebSearch.BaseURL
	switch {
	case base != "":
	case env.WebSearch.Provider == "tavily":
		base = "https://api.tavily.com"
	default:
		return nil, unsupported("the setting webSearch.baseUrl does not say where the service is.")
	}
	u, err := web.Parse(base)
	if err != nil {
		return nil, unsupported("the setting webSearch.baseUrl is no URL of a service.")
	}
	u.RawQuery = ""
	return u.JoinPath("search"), nil
}

func (s search) plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	u, err := address(env)
	if err != nil {
		return nil, err
	}
	key, err := env.WebSearch.Key()
	if err != nil {
		return nil, unsupported("%v.", err)
	}
	if key == "" && env.WebSearch.Provider == "tavily" {
		return nil, unsupported("the service needs a key. The environment variable %s holds none, and webSearch.apiKeyCommand prints none.", env.WebSearch.KeyEnv)
	}
	if key != "" && u.Scheme != "https" && !web.Here(u) {
		return nil, unsupported("its key would be sent to %s unencrypted. The setting webSearch.baseUrl needs https://.", u.Host)
	}
	return &tools.Plan{
		Title: title(in), Kind: tools.Fetch, Danger: tools.Moderate, Semantic: "search",
		Run: func(ctx context.Context) (tools.Result, error) { return s.run(ctx, env, in, u, key) },
	}, nil
}

// request is what a service wants to be asked.
func request(provider string, in input, u *url.URL, key string) (*http.Request, error) {
	method, to, body := http.MethodGet, *u, []byte(nil)
	if provider == "tavily" {
		text, err := json.Marshal(map[string]any{"query": in.Query, "max_results": in.Limit})
		if err != nil {
			return nil, err
		}
		method, body = http.MethodPost, text
	} else {
		to.RawQuery = url.Values{"q": {in.Query}, "format": {"json"}}.Encode()
	}
	r, err := http.NewRequest(method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r, nil
}

func (s search) run(ctx context.Context, env *tools.Env, in input, u *url.URL, key string) (tools.Result, error) {
	r, err := request(env.WebSearch.Provider, in, u, key)
	if err != nil {
		return tools.Result{}, err
	}
	client := s.Client
	client.Judge = web.Named(u, s.Refuses)
	answer, err := client.Do(ctx, env, r, u.Host)
	if err != nil {
		return tools.Result{}, err
	}
	if answer.Status != http.StatusOK {
		why := "Tell the user, who has configured the service."
		if answer.Location() != "" {
			why = "Redirects are not followed: the setting webSearch.baseUrl has to be where it leads to."
		} else if env.WebSearch.Provider == "searxng" && answer.Status == http.StatusForbidden {
			why = "A SearXNG answers so where its settings do not list json among search.formats."
		}
		refuse := tools.Refuse
		if answer.Passing() {
			refuse, why = tools.Transient, "It may answer later."
		}
		return tools.Result{}, refuse(filetime.ReadError, fmt.Sprintf("http_%d", answer.Status), "%s answers with the status %d. %s",
			u.Host, answer.Status, why)
	}
	var found struct{ Results []result }
	if err := json.Unmarshal(answer.Body, &found); err != nil {
		return tools.Result{}, tools.Refuse(filetime.ReadError, "format", "The answer of %s is not a search result of the service %s.",
			u.Host, env.WebSearch.Provider)
	}
	return worded(in, found.Results), nil
}

// worded formats the results for the model. Results that are not http or https pages are left out,
// since the tool fetch could not get them.
func worded(in input, found []result) tools.Result {
	v := &value{Query: in.Query, Results: []result{}}
	var b strings.Builder
	for _, f := range found {
		u, err := url.Parse(f.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			continue
		}
		if len(v.Results) == in.Limit {
			break
		}
		f = result{show.Line(f.Title), show.Line(f.URL), show.Line(f.Content)}
		if utf8.RuneCountInString(f.Content) > maxExcerpt {
			f.Content = web.First(f.Content, maxExcerpt) + "…"
		}
		v.Results = append(v.Results, f)
		fmt.Fprintf(&b, "%d. %s\n   %s\n", len(v.Results), cmp.Or(f.Title, "(no title)"), f.URL)
		if f.Content != "" {
			fmt.Fprintf(&b, "   %s\n", f.Content)
		}
	}
	r := tools.Result{Success: true, Value: v, Summary: fmt.Sprintf("Found %d pages", len(v.Results))}
	if len(v.Results) == 0 {
		r.Data = "Nothing was found. Try fewer or other words."
		return r
	}
	r.Data = web.Block(fmt.Sprintf("query=%q", show.Visible(in.Query, false)), strings.TrimSuffix(b.String(), "\n"))
	return r
}
