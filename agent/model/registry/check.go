package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"tandem/agent/model"
	"tandem/agent/model/script"
	"tandem/agent/model/wire"
)

// Checked is the result of Check.
type Checked struct {
	// Model is its name, Why the reason where it was chosen for the person.
	Model, Why string
	// Address is where its service is, "" for a model that is on no network.
	Address string
	// Listed says whether the service lists the model; nil if it lists none.
	Listed *bool
}

// Check asks the service of a model, named as for Open, for the list of its models: nothing is
// charged for that, and it shows whether the service is there and takes the key. Errors are
// *model.Error, with the part of Checked that was known by then.
func (r *Registry) Check(ctx context.Context, name string) (Checked, error) {
	c := Checked{Model: cmp.Or(name, r.Config.Model)}
	if c.Model == "" && r.Discover {
		c.Model, c.Why = r.discover()
	}
	c.Model = cmp.Or(c.Model, script.EmbeddedName)
	provider, id, named := strings.Cut(c.Model, "/")
	switch {
	case provider == "editor": // only the editor knows
		return c, nil
	case c.Model == script.EmbeddedName, strings.HasPrefix(c.Model, "script:"), !named, id == "":
		_, err := r.open(c.Model)
		return c, err
	}
	service, api, err := r.service(provider, id)
	if err == nil && !slices.Contains([]string{messages, responses, chatCompletions}, api) {
		_, err = r.openProvider(provider, id) // says so
	}
	if err != nil {
		return c, err
	}
	client, err := wire.New(service)
	if err != nil {
		return c, err
	}
	c.Address = client.Address()
	ids, err := list(ctx, client, api)
	if err == nil && ids != nil {
		c.Listed = new(slices.Contains(ids, id))
	}
	return c, err
}

// list gives the models of a service, nil if it has no list.
func list(ctx context.Context, client *wire.Client, api string) ([]string, error) {
	path := "/models"
	if api == messages {
		path = "/v1/models?limit=1000"
	}
	x := client.Start(ctx)
	defer x.End()
	req, err := http.NewRequestWithContext(x.Context(), http.MethodGet, strings.TrimSuffix(client.BaseURL, "/")+path, nil)
	if err != nil {
		return nil, x.Fail(err)
	}
	if client.Key != "" && api == messages {
		req.Header.Set("X-Api-Key", client.Key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	} else if client.Key != "" {
		req.Header.Set("Authorization", "Bearer "+client.Key)
	}
	resp, err := x.Do(req)
	var said *model.Error
	if errors.As(err, &said) && (said.Status == http.StatusNotFound || said.Status == http.StatusMethodNotAllowed) {
		return nil, nil // it is there and has no such list
	}
	if err != nil {
		return nil, x.Fail(err)
	}
	var answer struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&answer) != nil {
		return nil, nil
	}
	var ids []string
	for _, m := range answer.Data {
		ids = append(ids, m.ID)
	}
	return ids, nil
}
