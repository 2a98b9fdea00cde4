#!/usr/bin/env bash
# go.lsp.dev/protocol takes a change of a range for a whole text where a line is written 1.0.
#
# One would guess that {"line": 1.0} is line 1, since JSON has one kind of number and LSP's uinteger says nothing of how it is written, or
# that the message is refused. A content change is a union: the decoder tries the kinds one after another, and the one that is a whole text
# has no range to object to. So a change of one character is decoded, without an error, as the new text of the whole document.
#
# Package: go.lsp.dev/protocol v1.0.1.
# Tandem decodes content changes by itself (lspserver/protocol/textsync.go; line D1 of docs/faults.md).
set -euo pipefail
command -v go >/dev/null || { echo "go is not installed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"

	"go.lsp.dev/protocol"
)

func main() {
	for _, line := range []string{"1", "1.0"} {
		var p protocol.DidChangeTextDocumentParams
		err := protocol.Unmarshal([]byte(`{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[
			{"range":{"start":{"line":`+line+`,"character":0},"end":{"line":1,"character":2}},"text":"x"}]}`), &p)
		fmt.Printf("%s: %v", line, err)
		for _, c := range p.ContentChanges {
			fmt.Printf(" %T", c)
		}
		fmt.Println()
	}
}
GO
export GOFLAGS=-mod=mod
{ go mod init finding && go get go.lsp.dev/protocol@v1.0.1; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
saw=$(go run . 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
want='1: <nil> *protocol.TextDocumentContentChangePartial
1.0: <nil> *protocol.TextDocumentContentChangeWholeDocument'
[ "$saw" = "$want" ] || { echo "changed"; exit 1; }
echo "as before: with 1.0 the change is a whole text"
