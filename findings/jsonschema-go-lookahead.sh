#!/usr/bin/env bash
# jsonschema-go refuses a whole schema for one pattern that Go's regular expressions do not have.
#
# JSON Schema says that patterns are regular expressions of ECMA-262, so "^(?!x)" is a valid one, and generators of schemas write such. One would
# guess that a library which cannot match a pattern ignores that keyword, or says so where it is used. Resolve fails for the whole schema,
# so a tool with many parameters cannot be checked, or listed, for one of them.
#
# Package: github.com/google/jsonschema-go v0.4.3, which the MCP SDK for Go uses too. JSON Schema 2020-12, Validation, section 6.3.3.
# Tandem leaves such keywords to the server and checks the rest (tools/schema; line W10 of docs/faults.md).
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

	"github.com/google/jsonschema-go/jsonschema"
)

func main() {
	for _, pattern := range []string{"^[a-z]+$", "^(?!x)[a-z]+$"} {
		var s jsonschema.Schema
		js, _ := json.Marshal(pattern)
		if err := json.Unmarshal([]byte(`{"type":"object","properties":{"a":{"type":"string","pattern":`+string(js)+`},"b":{"type":"integer"}}}`), &s); err != nil {
			panic(err)
		}
		_, err := s.Resolve(nil)
		fmt.Println(pattern, "refused:", err != nil)
	}
}
GO
export GOFLAGS=-mod=mod
{ go mod init finding && go get github.com/google/jsonschema-go@v0.4.3; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
saw=$(go run . 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
want='^[a-z]+$ refused: false
^(?!x)[a-z]+$ refused: true'
[ "$saw" = "$want" ] || { echo "changed"; exit 1; }
echo "as before: the whole schema is refused"
