// Package fetch is the tool fetch: what a URL on the public internet gives.
package fetch

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/web"
)

//go:embed fetch.md
var description string

// maxRedirects is how many redirects are followed.
const maxRedirects = 5

type input struct {
	URL      string `json:"url" desc:"https:// if it names no scheme." minlen:"1" alias:"uri" nocoerce:"true"`
	Format   string `json:"format" desc:"Of HTML." enum:"markdown,text,raw" default:"markdown"`
	MaxChars int    `json:"max_chars,omitempty" desc:"At most." min:"1" alias:"maxChars,max_length"`
}

type value struct {
	URL       string `json:"url"`
	Status    int    `json:"status"`
	Type      string `json:"contentType"`
	Bytes     int    `json:"bytes"`
	Truncated bool   `json:"truncated"`
	Content   string `json:"content"`
}

// fetcher is the tool.
type fetcher struct{ web.Client }

// New makes the tool. The zero value of client is what is shipped.
func New(client web.Client) tools.Tool {
	f := fetcher{client}
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "fetch", Aliases: []string{"WebFetch", "web_fetch"}, Kind: tools.Fetch, Category: "web",
			Description: strings.TrimSpace(description), Danger: tools.Moderate, Class: tools.ClassNetwork,
			Together: tools.WithReads, NotDestructive: true, Source: "builtin", Deferred: true, Pages: true, NoTimeout: true, Idempotent: true,
		},
		Title: func(in input) string {
			if u, err := web.Parse(in.URL); err == nil {
				return "Fetch " + u.String()
			}
			return "Fetch " + in.URL
		},
		Subject: func(in input) string {
			if u, err := web.Parse(in.URL); err == nil {
				return u.String()
			}
			return in.URL
		},
		Outcome: func(r *tools.Result) string {
			if v, ok := r.Value.(*value); ok {
				return fmt.Sprintf("status %d", v.Status)
			}
			return ""
		},
		Needs: func(_ *tools.Env, in input) ([]tools.Need, error) { return f.needs(in.URL) },
		Plan:  f.plan,
	})
}

// needs are those of a request. A host that is plainly not public is refused before anybody is
// asked; names are judged when they are connected to.
func (f fetcher) needs(raw string) ([]tools.Need, error) {
	u, err := web.Parse(raw)
	if err != nil {
		return nil, err
	}
	name := u.Hostname()
	addr, err := netip.ParseAddr(name)
	if local := name == "localhost" || strings.HasSuffix(name, ".localhost"); err == nil || local {
		if local {
			addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		if err := f.Refuses(addr); err != nil {
			return nil, web.Unreachable(name, err)
		}
	}
	return []tools.Need{{Act: tools.Reaches, Host: u.Host}}, nil
}

func (f fetcher) plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	u, err := web.Parse(in.URL)
	if err != nil {
		return nil, err
	}
	return &tools.Plan{
		Title: "Fetch " + u.String(), Kind: tools.Fetch, Danger: tools.Moderate, Semantic: "read",
		Run: func(ctx context.Context) (tools.Result, error) { return f.run(ctx, env, in, u) },
	}, nil
}

// run follows redirects: one to the same scheme, host and port is the same need, any other is
// judged anew.
func (f fetcher) run(ctx context.Context, env *tools.Env, in input, u *url.URL) (tools.Result, error) {
	for range maxRedirects + 1 {
		to, r, err := f.once(ctx, env, in, u)
		if err != nil || to == "" {
			return r, err
		}
		next, err := u.Parse(to)
		if err == nil {
			next, err = web.Parse(next.String())
		}
		if err != nil {
			return tools.Result{}, tools.Refuse(filetime.ReadError, "redirect", "%s redirects to %q, which cannot be fetched.", u, show.Visible(to, false))
		}
		if next.Scheme != u.Scheme || next.Host != u.Host {
			if err := f.redirected(ctx, env, in, u, next); err != nil {
				return tools.Result{}, err
			}
		}
		u = next
	}
	return tools.Result{}, tools.Refuse(filetime.ReadError, "redirect", "There are more than %d redirects; the last one leads to %s.", maxRedirects, u)
}

// redirected has a redirect to another host judged, as if it had been asked for.
func (f fetcher) redirected(ctx context.Context, env *tools.Env, in input, from, to *url.URL) error {
	needs, err := f.needs(to.String())
	if err != nil {
		return err
	}
	in.URL = to.String()
	args, err := json.Marshal(in)
	if err != nil {
		return err
	}
	err = env.Judged.Again(ctx, fmt.Sprintf("Fetch %s (where %s redirects to)", to, from.Host), args, needs)
	if errors.Is(err, errors.ErrUnsupported) {
		return tools.Refuse(tools.NetworkDenied, "redirect", "%s redirects to another host: %s. Call fetch with that URL.", from, to)
	}
	return err
}

// once makes one request. to is where it redirects to, "" where the result is final.
func (f fetcher) once(ctx context.Context, env *tools.Env, in input, u *url.URL) (to string, r tools.Result, err error) {
	request, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return "", r, err
	}
	request.Header.Set("Accept", "text/html, text/markdown, text/plain, application/json, */*;q=0.1")
	answer, err := f.Do(ctx, env, request, u.String())
	if err != nil {
		return "", r, err
	}
	if to := answer.Location(); to != "" {
		return to, r, nil
	}
	r, err = result(ctx, env, in, u, answer)
	return "", r, err
}

// result is what the model gets of an answer.
func result(ctx context.Context, env *tools.Env, in input, u *url.URL, answer *web.Answer) (tools.Result, error) {
	body := answer.Body
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	if !textual(kind) && !utf8.Valid(body) {
		return tools.Result{}, tools.Refuse(filetime.BinaryFile, "binary", "%s is not text: its type is %s (%d bytes).", u, show.Visible(kind, false), len(body))
	}
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	if kind == "text/html" || kind == "application/xhtml+xml" {
		if text, err = readable(ctx, text, in.Format, u); err != nil {
			return tools.Result{}, tools.Refuse(filetime.ReadError, "html", "%s cannot be turned into %s: %v. Fetch it with format raw.", u, in.Format, err)
		}
	}
	v := &value{URL: u.String(), Status: answer.Status, Type: kind, Bytes: len(body), Truncated: answer.Cut}
	most := env.Limits.MaxToolOutputChars
	if in.MaxChars > 0 && (most <= 0 || in.MaxChars < most) {
		most = in.MaxChars
	}
	note := ""
	if all := utf8.RuneCountInString(text); most > 0 && all > most {
		text, v.Truncated = web.First(text, most), true
		note = fmt.Sprintf("\n(cut: these are %d of %d characters)", most, all)
	}
	if answer.Cut {
		note += fmt.Sprintf("\n(cut: no more than %d bytes are read)", len(body))
	}
	text = show.Visible(strings.ReplaceAll(text, "\r\n", "\n"), true)
	v.Content = text
	r := tools.Result{Success: true, Value: v, Truncated: v.Truncated}
	r.Summary = fmt.Sprintf("Fetched %s (%d bytes)", u, len(body))
	r.Data = web.Block(fmt.Sprintf("url=%q status=\"%d\" type=%q", u.String(), answer.Status, show.Visible(kind, false)), text) + note
	if answer.Status >= 400 {
		r.Retryable = answer.Passing()
		r.Success, r.Error, r.Reason = false, filetime.ReadError, fmt.Sprintf("http_%d", answer.Status)
		r.Data = fmt.Sprintf("%s answers with the status %d.\n%s", u, answer.Status, r.Data)
	}
	return r, nil
}

func textual(kind string) bool {
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-ndjson", "application/yaml", "application/toml":
		return true
	}
	return false
}
