package registry

import (
	"regexp"
	"sync"

	"tandem/agent/config"
	"tandem/agent/model"
)

// prices are those of the services' own lists, in US dollars for a million tokens, as of November
// 2026 and without what very long prompts cost more. The configuration takes precedence.
func prices() map[string]model.Price {
	return map[string]model.Price{
		"anthropic/claude-fable-5-1":  {Input: 10, Output: 50, CachedInput: 0.25, CacheWrite: 12.5},
		"anthropic/claude-opus-5-5":   {Input: 4, Output: 20, CachedInput: 0.2, CacheWrite: 5},
		"anthropic/claude-opus-5":     {Input: 5, Output: 25, CachedInput: 0.5, CacheWrite: 6.25},
		"anthropic/claude-opus-4-8":   {Input: 5, Output: 25, CachedInput: 0.5, CacheWrite: 6.25},
		"anthropic/claude-opus-4-7":   {Input: 5, Output: 25, CachedInput: 0.5, CacheWrite: 6.25},
		"anthropic/claude-opus-4-6":   {Input: 5, Output: 25, CachedInput: 0.5, CacheWrite: 6.25},
		"anthropic/claude-opus-4-5":   {Input: 5, Output: 25, CachedInput: 0.5, CacheWrite: 6.25},
		"anthropic/claude-sonnet-5-5": {Input: 2, Output: 10, CachedInput: 0.1, CacheWrite: 2.5},
		"anthropic/claude-sonnet-5":   {Input: 2, Output: 10, CachedInput: 0.2, CacheWrite: 2.5},
		"anthropic/claude-sonnet-4-6": {Input: 3, Output: 15, CachedInput: 0.3, CacheWrite: 3.75},
		"anthropic/claude-sonnet-4-5": {Input: 3, Output: 15, CachedInput: 0.3, CacheWrite: 3.75},
		"anthropic/claude-haiku-5-5":  {Input: 0.1, Output: 0.5, CachedInput: 0.01, CacheWrite: 0.125},
		"anthropic/claude-haiku-4-5":  {Input: 1, Output: 5, CachedInput: 0.1, CacheWrite: 1.25},
		"openai/gpt-6.1-sol":          {Input: 2, Output: 10, CachedInput: 0.1, CacheWrite: 2.5},
		"openai/gpt-6-sol":            {Input: 2, Output: 10, CachedInput: 0.2, CacheWrite: 2.5},
		"openai/gpt-6-luna":           {Input: 0.1, Output: 0.5, CachedInput: 0.01, CacheWrite: 0.125},
		"openai/gpt-5":                {Input: 1.25, Output: 10, CachedInput: 0.125, CacheWrite: 1.25},
		"openai/gpt-5-mini":           {Input: 0.25, Output: 2, CachedInput: 0.025, CacheWrite: 0.25},
	}
}

var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-20\d\d-?\d\d-?\d\d$`) })

// priceOf is nil where the price is not known. A service at another address than its own has prices
// of its own.
func priceOf(provider, id string, p config.Provider, own bool) *model.Price {
	if c, ok := p.Prices[id]; ok {
		price := model.Price(c)
		return &price
	}
	price, ok := prices()[provider+"/"+dated().ReplaceAllString(id, "")]
	if !ok || !own {
		return nil
	}
	return &price
}
