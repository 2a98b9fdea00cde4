package wire

import (
	"regexp"
	"strconv"
	"strings"
)

// TooLong reports whether the message of an error is about the length of the conversation.
func TooLong(message string) bool {
	lower := strings.ToLower(message)
	says := func(words string) bool { return strings.Contains(lower, words) }
	for _, words := range []string{
		"maximum context length", "prompt is too long", "input is too long", "maximum prompt length", "maximum model length",
		"prompt too long", "context length is only", "reduce the length of the messages", "exceeds the available context size",
		"exceed context limit", "context the overflows", "exceeds token limit",
	} {
		if says(words) {
			return true
		}
	}
	window := says("context window") || says("context length")
	return (says("input token count") || says("prompt token count")) && says("exceeds") || window && (says("exceed") ||
		says("too long") || says("too large") || says("longer than") || says("greater than") || says("not enough"))
}

// WindowIn is the context window that a refusal names, in tokens; 0 for none. The patterns are
// compiled where they are needed, since hardly any process needs them.
func WindowIn(message string) int64 {
	message = strings.ToLower(regexp.MustCompile(`(\d),(\d{3})`).ReplaceAllString(message, "$1$2"))
	for _, p := range []string{ // the first that matches counts: most texts name the size of the request too
		`(?:context|prompt|model) length (?:is |of )?(?:only )?\(?(\d+)`, // OpenAI, vLLM, xAI, LM Studio, SGLang
		`> (\d+)`, // Anthropic
		`maximum number of tokens allowed \((\d+)`, // Gemini
		`context size \((\d+)`,                     // llama.cpp
		`(\d+) maximum context length`,             // Mistral
		`limit is (\d+)`,                           // Cerebras
		`exceeds the limit of (\d+)`,               // GitHub Copilot
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
