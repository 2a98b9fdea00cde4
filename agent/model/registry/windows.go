package registry

import (
	"cmp"
	"strings"
	"sync"
)

// windows are context windows by the beginning of a model's name, for models that have the same one
// wherever they are served. The window of a model that is missing is learned from its service's
// first refusal, so a wrong figure is worse than none.
func windows() []struct {
	prefix string
	tokens int64
} {
	return []struct {
		prefix string
		tokens int64
	}{
		{"claude-sonnet-4-5", 200_000},
		{"claude-haiku-4-5", 200_000},
		{"claude-opus-4-5", 200_000},
		{"claude-3", 200_000},
		{"gpt-4-1", 1_047_576},
		{"gpt-4o", 128_000},
		{"gpt-5", 272_000},
		{"o4-mini", 200_000},
		{"o3", 200_000},
		{"gemini-2", 1_048_576},
	}
}

// windowFields are the names under which services list the context window of a model: OpenRouter,
// vLLM, LM Studio.
type windowFields struct {
	ContextLength int64 `json:"context_length"`
	MaxModelLen   int64 `json:"max_model_len"`
	Loaded        int64 `json:"loaded_context_length"`
}

func (f windowFields) tokens() int64 { return cmp.Or(f.Loaded, f.MaxModelLen, f.ContextLength) }

// windowList is what services have listed. The zero value is ready.
type windowList struct {
	mu     sync.Mutex
	tokens map[string]int64 // by full name
}

func (l *windowList) add(name string, tokens int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tokens > 0 {
		if l.tokens == nil {
			l.tokens = map[string]int64{}
		}
		l.tokens[name] = tokens
	}
}

func (l *windowList) of(name string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tokens[name]
}

// Window is the context window of a model: the configured one, else what its service has listed,
// else that of a table. A service on this machine is no subject of the table: its user has decided
// how much it can read.
func (r *Registry) Window(name string) int64 {
	provider, id, ok := strings.Cut(name, "/")
	if !ok {
		return 0
	}
	p := r.Config.Providers[provider]
	if n := p.Windows[id]; n > 0 {
		return int64(n)
	}
	if n := r.listed.of(name); n > 0 {
		return n
	}
	if built, ok := presetOf(provider); !ok || built.local {
		return 0
	}
	id = strings.ReplaceAll(id[strings.LastIndexByte(id, '/')+1:], ".", "-") // OpenRouter writes claude-sonnet-4.5
	for _, w := range windows() {
		if strings.HasPrefix(id, w.prefix) {
			return w.tokens
		}
	}
	return 0
}
