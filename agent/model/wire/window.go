package wire

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// windowPatterns find the size of the context window in the words of a refusal. The first that
// matches counts: most texts also name the size of the request.
var windowPatterns = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, p := range []string{
		`(?:context|prompt|model) length (?:is |of )?(?:only )?\(?(\d+)`, // OpenAI, vLLM, OpenRouter, xAI, LM Studio, SGLang
		`> (\d+)`, // Anthropic
		`maximum number of tokens allowed \((\d+)`, // Gemini
		`context size \((\d+)`,                     // llama.cpp
		`(\d+) maximum context length`,             // Mistral
		`limit is (\d+)`,                           // Cerebras
	} {
		all = append(all, regexp.MustCompile(p))
	}
	return all
})

// thousands are separators within a number.
var thousands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d),(\d{3})`) })

// windowIn is the context window that a refusal names, in tokens; 0 for none.
func windowIn(message string) int64 {
	message = strings.ToLower(thousands().ReplaceAllString(message, "$1$2"))
	for _, p := range windowPatterns() {
		found := p.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		if n, err := strconv.ParseInt(found[1], 10, 64); err == nil && n >= 256 && n < 1e9 {
			return n
		}
	}
	return 0
}
