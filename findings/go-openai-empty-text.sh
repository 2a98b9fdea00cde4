#!/usr/bin/env bash
# go-openai leaves out what is empty, also where the protocol requires it.
#
# One would guess that a message with the text "" is sent with "content": "", and a call with the arguments "" with
# "arguments": "": both are fields that Chat Completions requires, and the struct has them set. The library leaves both
# keys out, and tells no difference between "" and a field that was never set: services refuse the request for a key that
# the program did write. So the result of a command without output ends a conversation.
#
# Package: github.com/sashabaranov/go-openai v1.43.0 (omitempty on Content and Arguments).
# Tandem sends "(empty)" for a text and "{}" for arguments (agent/model/wire: Empty, Object).
set -euo pipefail
command -v go >/dev/null || { echo "go is not installed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"

	openai "github.com/sashabaranov/go-openai"
)

func main() {
	for _, m := range []openai.ChatCompletionMessage{
		{Role: "tool", ToolCallID: "call_1", Content: ""},
		{Role: "assistant", ToolCalls: []openai.ToolCall{{ID: "call_1", Type: "function", Function: openai.FunctionCall{Name: "now", Arguments: ""}}}},
	} {
		raw, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(raw))
	}
}
GO
{
	GOFLAGS=-mod=mod go mod init finding && GOFLAGS=-mod=mod go get github.com/sashabaranov/go-openai@v1.43.0
} >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
saw=$(GOFLAGS=-mod=mod go run . 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
if grep -q '"content"' <<<"$saw" || grep -q '"arguments"' <<<"$saw"; then
	echo "changed: an empty field is sent"
	exit 1
fi
echo "as before: neither content nor arguments is sent"
