package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"tandem/agent/model"
)

// patience is how long all services on this machine together may take to say what they have.
const patience = 200 * time.Millisecond

// discover gives the name of a model that can be used without any configuration, and why it is that one; both are ""
// where there is none.
func (r *Registry) discover() (name, why string) {
	for _, p := range presets() {
		env := r.keyVariable(p.name)
		switch {
		case p.local:
		case r.Getenv(env) != "":
			return p.name + "/" + p.model, env + " is set"
		case len(r.Config.Providers[p.name].APIKeyCommand) > 0:
			return p.name + "/" + p.model, "providers." + p.name + ".apiKeyCommand is set"
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	type service struct {
		name, base string
		model      chan string
	}
	var services []service
	for _, p := range presets() {
		if p.local && p.discover {
			base := cmp.Or(r.Config.Providers[p.name].BaseURL, r.Getenv(variable(p.name, "BASE_URL")), p.baseURL)
			s := service{p.name, base, make(chan string, 1)}
			services = append(services, s)
			go func() { s.model <- r.first(ctx, s.base) }()
		}
	}
	for _, s := range services {
		if id := <-s.model; id != "" {
			return s.name + "/" + id, "it runs at " + s.base
		}
	}
	return "", ""
}

// first gives the first model that a service lists.
func (r *Registry) first(ctx context.Context, base string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/models", nil)
	if err != nil {
		return ""
	}
	resp, err := (&http.Client{Transport: r.Transport}).Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&list) != nil {
		return ""
	}
	for _, m := range list.Data {
		if m.ID != "" && !strings.Contains(m.ID, "embed") {
			return m.ID
		}
	}
	return ""
}

// announced is a model that was chosen for the person, which it says before its first answer.
type announced struct {
	model.Model
	why  string
	once sync.Once
}

func (m *announced) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	m.once.Do(func() {
		on(model.Delta{Notice: fmt.Sprintf(
			`No model is set: %s answers, because %s. Set "model" to choose another.`, m.Name(), m.why)})
	})
	return m.Model.Stream(ctx, r, on)
}
