// Package registry finds the model that a name stands for: a provider's, a script, or the embedded one.
package registry

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/openaichat"
	"tandem/agent/model/script"
)

// Registry opens models by the configuration and the environment. It may be used concurrently.
type Registry struct {
	// Config says which model is the default and what providers there are besides those built in.
	Config config.Config
	// Getenv reads the environment, for keys and addresses.
	Getenv func(string) string
	// Transport carries the requests; nil is the default one.
	Transport http.RoundTripper
}

// preset is a service that needs no configuration.
type preset struct {
	baseURL string
	// local services need no key.
	local bool
}

const openaiChat = "openai-chat"

func presets() map[string]preset {
	return map[string]preset{
		"openai":     {baseURL: "https://api.openai.com/v1"},
		"deepseek":   {baseURL: "https://api.deepseek.com/v1"},
		"openrouter": {baseURL: "https://openrouter.ai/api/v1"},
		"ollama":     {baseURL: "http://127.0.0.1:11434/v1", local: true},
		"lmstudio":   {baseURL: "http://127.0.0.1:1234/v1", local: true},
		"llamacpp":   {baseURL: "http://127.0.0.1:8080/v1", local: true},
	}
}

// Names lists what can be opened now, the default first.
func (r *Registry) Names() []string {
	if r.Config.Model == "" || r.Config.Model == script.EmbeddedName {
		return []string{script.EmbeddedName}
	}
	return []string{r.Config.Model, script.EmbeddedName}
}

// KeyVariables lists the environment variables that may hold a key; commands must never see them.
func (r *Registry) KeyVariables() []string {
	var names []string
	for name := range presets() {
		names = append(names, variable(name, "API_KEY"))
	}
	for _, p := range r.Config.Providers {
		if p.APIKeyEnv != "" {
			names = append(names, p.APIKeyEnv)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func variable(provider, what string) string { return strings.ToUpper(provider) + "_" + what }

func unavailable(format string, args ...any) error {
	return &model.Error{Kind: "unavailable", Message: fmt.Sprintf(format, args...)}
}

// Open gives the model called name, or the default one for "". Errors are *model.Error with Kind "unavailable"; nothing
// is sent. Each call gives a model of its own: a script begins anew.
func (r *Registry) Open(name string) (model.Model, error) {
	name = cmp.Or(name, r.Config.Model, script.EmbeddedName)
	if name == script.EmbeddedName {
		return script.Embedded(r.advice()), nil
	}
	if path, ok := strings.CutPrefix(name, "script:"); ok {
		return openScript(name, path)
	}
	if name == "editor" {
		return nil, unavailable(`The model "editor" is not served yet. %s`, r.choices())
	}
	provider, id, ok := strings.Cut(name, "/")
	if !ok || provider == "" || id == "" {
		return nil, unavailable("The model %q names no provider: write provider/model. %s", name, r.choices())
	}
	return r.openProvider(provider, id)
}

func (r *Registry) openProvider(provider, id string) (model.Model, error) {
	p, configured := r.Config.Providers[provider]
	built, isPreset := presets()[provider]
	needsKey := p.APIKeyEnv != ""
	switch {
	case isPreset:
		p.API = cmp.Or(p.API, openaiChat)
		p.BaseURL = cmp.Or(p.BaseURL, r.Getenv(variable(provider, "BASE_URL")), built.baseURL)
		p.APIKeyEnv = cmp.Or(p.APIKeyEnv, variable(provider, "API_KEY"))
		needsKey = needsKey || !built.local
	case provider == "anthropic" && !configured:
		return nil, unavailable("The provider anthropic is not served yet. %s", r.choices())
	case !configured:
		return nil, unavailable("There is no provider %q. %s", provider, r.choices())
	}
	if p.API != openaiChat {
		return nil, unavailable(`The provider %q speaks no protocol that is served: set providers.%s.api to "openai-chat".`,
			provider, provider)
	}
	key := ""
	if p.APIKeyEnv != "" {
		key = r.Getenv(p.APIKeyEnv)
	}
	if key == "" && needsKey {
		return nil, unavailable("The provider %s needs a key: set the environment variable %s.", provider, p.APIKeyEnv)
	}
	m, err := openaichat.New(openaichat.Options{
		Provider: provider, Model: id, BaseURL: p.BaseURL, Key: key, KeyEnv: p.APIKeyEnv, Headers: p.Headers,
		Transport: r.Transport,
	})
	if err != nil {
		return nil, err
	}
	retry := r.Config.Retry
	return model.Retrying(m, retry.Attempts, time.Duration(retry.BackoffMs)*time.Millisecond), nil
}

// choices says what can be named instead.
func (r *Registry) choices() string {
	known := slices.Concat(slices.Collect(maps.Keys(presets())), slices.Collect(maps.Keys(r.Config.Providers)))
	slices.Sort(known)
	return fmt.Sprintf(`Known providers are %s; others are added under "providers". "script:/path" plays a script.`,
		strings.Join(slices.Compact(known), ", "))
}

// advice is how to get from the embedded model to a real one.
func (r *Registry) advice() string {
	var ready, hosted, local []string
	for _, name := range slices.Sorted(maps.Keys(presets())) {
		key := variable(name, "API_KEY")
		switch {
		case presets()[name].local:
			local = append(local, name)
		case r.Getenv(key) != "":
			ready = append(ready, fmt.Sprintf("%s is set, so %s/NAME is ready to use.", key, name))
		default:
			hosted = append(hosted, fmt.Sprintf("%s (key in %s)", name, key))
		}
	}
	lines := append([]string{`To use a real model, set "model" in the configuration to PROVIDER/NAME.`}, ready...)
	if len(hosted) > 0 {
		lines = append(lines, "Services: "+strings.Join(hosted, ", ")+".")
	}
	lines = append(lines, "On your own machine, without a key: "+strings.Join(local, ", ")+".",
		`Anything else that speaks Chat Completions can be added under "providers".`)
	return strings.Join(lines, "\n")
}

func openScript(name, path string) (model.Model, error) {
	if !filepath.IsAbs(path) {
		return nil, unavailable("The script %q needs an absolute path: script:/path.", path)
	}
	text, err := config.ReadFile(path)
	if err != nil {
		return nil, unavailable("The script %s cannot be read: %s.", path, config.Reason(err))
	}
	s, err := script.Parse(string(text))
	if err != nil {
		return nil, unavailable("The script %s has a mistake: %v.", path, err)
	}
	return script.New(name, s), nil
}
