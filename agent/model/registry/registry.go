// Package registry opens models by name: a provider's, a script, or the embedded one.
package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/anthropic"
	"tandem/agent/model/openai"
	"tandem/agent/model/openaichat"
	"tandem/agent/model/script"
	"tandem/agent/model/wire"
)

// Registry opens models by the configuration and the environment. It may be used concurrently.
type Registry struct {
	// Config says which model is the default and what providers there are besides those built in.
	Config config.Config
	// Getenv reads the environment, for keys and addresses.
	Getenv func(string) string
	// Command runs an apiKeyCommand and gives what it prints; nil where no command may be run.
	Command func(argv []string) (string, error)
	// Discover lets Open look for a model when none is configured: that of the first service with a
	// key, else one that runs on this machine.
	Discover bool
	// Editor lends the editor's own models, "editor" and "editor/id"; nil where it has none.
	Editor model.Lend
	// Idle is how long a service may be silent; 0 is the default of wire.Service.
	Idle time.Duration
	// Transport carries the requests. An *http.Transport is cloned for a provider with a proxy or
	// certificates of its own. nil is the default transport.
	Transport http.RoundTripper

	listed windowList
}

// preset is a service that needs no configuration.
type preset struct {
	name, api, baseURL string
	// model is the one to begin with; local services are asked for theirs.
	model string
	// local services need no key. Those with a default port of their own are probed.
	local, discover bool
}

// editorIdle is how long an editor's model may be silent: it may have to ask its person first
// whether it may be used.
const editorIdle = 5 * time.Minute

const (
	messages        = "anthropic"
	responses       = "openai"
	chatCompletions = "openai-chat"
)

// presets are in the order of discovery.
func presets() []preset {
	return []preset{
		{name: "anthropic", api: messages, baseURL: "https://api.anthropic.com", model: "claude-sonnet-5-5"},
		{name: "openai", api: responses, baseURL: "https://api.openai.com/v1", model: "gpt-6.1-sol"},
		{name: "deepseek", api: chatCompletions, baseURL: "https://api.deepseek.com/v1", model: "deepseek-flash"},
		{name: "openrouter", api: chatCompletions, baseURL: "https://openrouter.ai/api/v1", model: "openrouter/auto"},
		{name: "ollama", api: chatCompletions, baseURL: "http://127.0.0.1:11434/v1", local: true, discover: true},
		{name: "lmstudio", api: chatCompletions, baseURL: "http://127.0.0.1:1234/v1", local: true, discover: true},
		{name: "llamacpp", api: chatCompletions, baseURL: "http://127.0.0.1:8080/v1", local: true},
	}
}

// presetOf gives the built-in service of that name.
func presetOf(name string) (preset, bool) {
	i := slices.IndexFunc(presets(), func(p preset) bool { return p.name == name })
	if i < 0 {
		return preset{}, false
	}
	return presets()[i], true
}

// Names lists what can be opened now, the default first.
func (r *Registry) Names() []string {
	names := append([]string{r.Config.Model}, r.Config.FallbackModels...)
	for _, p := range presets() {
		if r.Discover && !p.local && r.Getenv(r.keyVariable(p.name)) != "" {
			names = append(names, p.name+"/"+p.model)
		}
	}
	names = append(names, script.EmbeddedName)
	if r.Editor != nil {
		names = append(names, "editor")
	}
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(names, func(name string) bool {
		known := seen[name]
		seen[name] = true
		return known
	})
}

// API is the protocol that a provider speaks, "" where there is no such provider.
func (r *Registry) API(provider string) string {
	built, _ := presetOf(provider)
	return cmp.Or(r.Config.Providers[provider].API, built.api)
}

// KeyVariables lists the environment variables that may hold a key; commands must never see them.
func (r *Registry) KeyVariables() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, variable(p.name, "API_KEY"))
	}
	for _, p := range r.Config.Providers {
		if p.APIKeyEnv != "" {
			names = append(names, p.APIKeyEnv)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// keyVariable is the variable that holds the key of a built-in service.
func (r *Registry) keyVariable(name string) string {
	return cmp.Or(r.Config.Providers[name].APIKeyEnv, variable(name, "API_KEY"))
}

func variable(provider, what string) string { return strings.ToUpper(provider) + "_" + what }

func unavailable(format string, args ...any) error {
	return &model.Error{Kind: "unavailable", Message: fmt.Sprintf(format, args...)}
}

func keyless(format string, args ...any) error {
	return &model.Error{Kind: "unavailable", Message: fmt.Sprintf(format, args...), NeedsKey: true}
}

// Open gives the model called name, or the default one for "". Errors are *model.Error with Kind
// "unavailable"; no request is sent, except that Discover asks services on this machine what they
// have. Each call gives a model of its own: a script begins anew.
func (r *Registry) Open(name string) (model.Model, error) {
	name, why := cmp.Or(name, r.Config.Model), ""
	if name == "" && r.Discover {
		name, why = r.discover()
	}
	m, err := r.open(cmp.Or(name, script.EmbeddedName))
	if err != nil {
		return nil, err
	}
	if len(r.Config.FallbackModels) > 0 && m.Name() != script.EmbeddedName {
		m = model.WithFallbacks(m, r.Config.FallbackModels, r.open)
	}
	if why != "" {
		m = &announced{Model: m, why: why}
	}
	return m, nil
}

func (r *Registry) open(name string) (model.Model, error) {
	if name == script.EmbeddedName {
		return script.Embedded(r.advice()), nil
	}
	if path, ok := strings.CutPrefix(name, "script:"); ok {
		return openScript(name, path)
	}
	provider, id, ok := strings.Cut(name, "/")
	if name == "editor" || ok && provider == "editor" {
		if r.Editor == nil {
			return nil, unavailable("This editor lends no model of its own: set \"model\" to another one, or use an editor "+
				"whose extension declares experimental.tandem.model and answers tandem/model/stream. %s", r.choices())
		}
		return openaichat.Editor(r.Editor, id, editorIdle), nil
	}
	if !ok || provider == "" || id == "" {
		return nil, unavailable("The model %q names no provider: write provider/model. %s", name, r.choices())
	}
	return r.openProvider(provider, id)
}

func (r *Registry) openProvider(provider, id string) (model.Model, error) {
	s, api, err := r.service(provider, id)
	if err != nil {
		return nil, err
	}
	var m model.Model
	switch api {
	case messages:
		m, err = anthropic.New(s)
	case responses:
		s.Hint = fmt.Sprintf(" A service without Responses needs providers.%s.api to be %q.", provider, chatCompletions)
		m, err = openai.New(s)
	case chatCompletions:
		m, err = openaichat.New(s)
	default:
		return nil, unavailable("The provider %q has no protocol: set providers.%s.api to %q, %q or %q.",
			provider, provider, messages, responses, chatCompletions)
	}
	if err != nil {
		return nil, err
	}
	retry := r.Config.Retry
	return model.Retrying(model.WithoutRefused(m), retry.Attempts, time.Duration(retry.BackoffMs)*time.Millisecond), nil
}

// service gives the client for a provider, and the protocol of its service.
func (r *Registry) service(provider, id string) (s wire.Service, api string, err error) {
	p, configured := r.Config.Providers[provider]
	built, isPreset := presetOf(provider)
	if !configured && !isPreset {
		return s, "", unavailable("There is no provider %q. %s", provider, r.choices())
	}
	needsKey := p.APIKeyEnv != "" || len(p.APIKeyCommand) > 0
	if isPreset {
		p.BaseURL = cmp.Or(p.BaseURL, r.Getenv(variable(provider, "BASE_URL")), built.baseURL)
		p.APIKeyEnv = cmp.Or(p.APIKeyEnv, variable(provider, "API_KEY"))
		needsKey = needsKey || !built.local
	}
	key, err := r.key(provider, p)
	if err != nil {
		return s, "", err
	}
	if key == "" && needsKey {
		return s, "", keyless("The provider %s needs a key: set the environment variable %s, or "+
			"providers.%s.apiKeyCommand to a command that prints it.",
			provider, cmp.Or(p.APIKeyEnv, variable(provider, "API_KEY")), provider)
	}
	transport, err := r.transport(provider, p)
	if err != nil {
		return s, "", err
	}
	return wire.Service{
		Provider: provider, Model: id, BaseURL: p.BaseURL, Key: key, KeyEnv: p.APIKeyEnv, Headers: p.Headers,
		InClear: p.SendKeyInClear,
		Idle:    r.Idle, Transport: transport, Price: priceOf(provider, id, p, p.BaseURL == built.baseURL),
	}, r.API(provider), nil
}

// key gives the provider's key, "" where there is none.
func (r *Registry) key(provider string, p config.Provider) (string, error) {
	key, err := Keys{r.Getenv, r.Command}.Find(p.APIKeyEnv, p.APIKeyCommand)
	if err != nil {
		return "", keyless("The key of the provider %s is not available: providers.%s.apiKeyCommand %v.", provider, provider, err)
	}
	return key, nil
}

// Keys finds the keys of services, those of models and others. It may be used concurrently.
type Keys struct {
	// Getenv and Command are those of a Registry.
	Getenv  func(string) string
	Command func(argv []string) (string, error)
}

// Find gives what the variable holds, else the first line that the command prints, and "" where
// there is neither. An error is the predicate of a sentence about the command.
func (k Keys) Find(variable string, command []string) (string, error) {
	if variable != "" {
		if key := strings.TrimSpace(k.Getenv(variable)); key != "" {
			return key, nil
		}
	}
	if len(command) == 0 {
		return "", nil
	}
	if k.Command == nil {
		return "", errors.New("is not run here")
	}
	out, err := k.Command(command)
	key, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	switch {
	case err != nil:
		return "", fmt.Errorf("failed: %w", err)
	case key == "":
		return "", errors.New("printed nothing")
	}
	return strings.TrimSpace(key), nil
}

// choices describes the names that can be opened.
func (r *Registry) choices() string {
	known := slices.Collect(maps.Keys(r.Config.Providers))
	for _, p := range presets() {
		known = append(known, p.name)
	}
	slices.Sort(known)
	return fmt.Sprintf(`Known providers are %s; others are added under "providers". "script:/path" plays a script.`,
		strings.Join(slices.Compact(known), ", "))
}

// advice says how to configure a real model.
func (r *Registry) advice() string {
	var ready, hosted, local []string
	for _, p := range presets() {
		key := variable(p.name, "API_KEY")
		switch {
		case p.local:
			local = append(local, p.name)
		case r.Getenv(key) != "":
			ready = append(ready,
				fmt.Sprintf("%s is set, so %s/NAME is ready to use, such as %s/%s.", key, p.name, p.name, p.model))
		default:
			hosted = append(hosted, fmt.Sprintf("%s (key in %s)", p.name, key))
		}
	}
	lines := append([]string{`To use a real model, set "model" in the configuration to PROVIDER/NAME.`}, ready...)
	if r.Editor != nil {
		lines = append(lines, `Your editor lends a model of its own: set "model" to "editor".`)
	}
	if len(hosted) > 0 {
		lines = append(lines, "Services: "+strings.Join(hosted, ", ")+".")
	}
	lines = append(lines, "On your own machine, without a key: "+strings.Join(local, ", ")+".",
		`Anything else that speaks Messages, Responses or Chat Completions can be added under "providers".`)
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
