package wire

import (
	"regexp"
	"strconv"
	"strings"
)

// windowIn is the context window that a refusal names, in tokens; 0 for none. The patterns are
// compiled where they are needed, since hardly any process needs them.
func windowIn(message string) int64 {
	message = strings.ToLower(regexp.MustCompile(`(\d),(\d{3})`).ReplaceAllString(message, "$1$2"))
	for _, p := range []string{ // the first that matches counts: most texts name the size of the request too
		`(?:context|prompt|model) length (?:is |of )?(?:only )?\(?(\d+)`, // OpenAI, vLLM, xAI, LM Studio, SGLang
		`> (\d+)`, // Anthropic
		`maximum number of tokens allowed \((\d+)`, // Gemini
		`context size \((\d+)`,                     // llama.cpp
		`(\d+) maximum context length`,             // Mistral
		`limit is (\d+)`,                           // Cerebras
	} {
		found := regexp.MustCompile(p).FindStringSubmatch(message)
		if found == nil {
			continue
		}
		if n, err := strconv.ParseInt(found[1], 10, 64); err == nil && n >= 256 && n < 1e9 {
			return n
		}
	}
	return 0
}
