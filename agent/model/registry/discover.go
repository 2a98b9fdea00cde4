package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// patience is the time limit for the lists of all local services together.
const patience = 200 * time.Millisecond

// Choice is a model that can be had without any configuration, and why.
type Choice struct {
	Model, Why string
	// Local models run on this machine.
	Local bool
}

// Choices lists what can be had as things are: a model of each service with a key, then one of each
// that runs on this machine, in the order in which Open looks for one. Idle are the services that
// run here and have no model, in words.
func (r *Registry) Choices() (found []Choice, idle []string) {
	running, idle := r.running()
	return append(r.hosted(), running...), idle
}

// discover gives the name of a model that can be used without any configuration, and why it is that
// one; both are "" where there is none.
func (r *Registry) discover() (name, why string) {
	found := r.hosted()
	if len(found) == 0 {
		found, _ = r.running()
	}
	if len(found) == 0 {
		return "", ""
	}
	return found[0].Model, found[0].Why
}

// hosted are the models of services with a key.
func (r *Registry) hosted() []Choice {
	var found []Choice
	for _, p := range presets() {
		env := r.keyVariable(p.name)
		switch {
		case p.local:
		case strings.TrimSpace(r.Getenv(env)) != "":
			found = append(found, Choice{Model: p.name + "/" + p.model, Why: env + " is set"})
		case len(r.Config.Providers[p.name].APIKeyCommand) > 0:
			found = append(found, Choice{Model: p.name + "/" + p.model, Why: "providers." + p.name + ".apiKeyCommand is set"})
		}
	}
	return found
}

// running are the models of services on this machine, and those services that have none.
func (r *Registry) running() (found []Choice, idle []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	type service struct {
		name, base string
		there      bool
		model      chan string
	}
	var services []*service
	for _, p := range presets() {
		if p.local && p.discover {
			base := cmp.Or(r.Config.Providers[p.name].BaseURL, r.Getenv(variable(p.name, "BASE_URL")), p.baseURL)
			s := &service{name: p.name, base: base, model: make(chan string, 1)}
			services = append(services, s)
			go func() {
				var id string
				id, s.there = r.first(ctx, s.name, s.base)
				s.model <- id
			}()
		}
	}
	for _, s := range services {
		if id := <-s.model; id == "" && s.there {
			idle = append(idle, s.name+" runs at "+shown(s.base)+" and has no model")
		} else if id != "" {
			found = append(found, Choice{Model: s.name + "/" + id, Why: "it runs at " + shown(s.base), Local: true})
		}
	}
	return found, idle
}

// shown is an address for display.
func shown(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "an address"
	}
	text, _ := wire.Address(u)
	return text
}

// first gives the first model that a service lists; there says that it lists what it has.
func (r *Registry) first(ctx context.Context, provider, base string) (id string, there bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/models", nil)
	if err != nil {
		return "", false
	}
	resp, err := (&http.Client{Transport: r.Transport}).Do(req)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
			windowFields
		} `json:"data"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&list) != nil {
		return "", false
	}
	for _, m := range list.Data {
		r.listed.add(provider+"/"+m.ID, m.tokens())
	}
	for _, m := range list.Data {
		if m.ID != "" && !strings.Contains(m.ID, "embed") {
			return m.ID, true
		}
	}
	return "", true
}

// announced is a model that was chosen by discovery, which its first answer says in a Notice.
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
