#!/usr/bin/env bash
# go.lsp.dev/jsonrpc2 takes a request with the id null for a notification.
#
# JSON-RPC 2.0 allows null as an id, though it advises against it, and says that a notification is a request *without* the member. One would
# guess that a server answers such a request with "id": null. The library decodes it as a notification, and a notification has no answer.
#
# Package: go.lsp.dev/jsonrpc2 v1.0.1. Specification: https://www.jsonrpc.org/specification, sections 4 and 4.1.
# Tandem's clients number their requests; no editor is known that sends null.
set -euo pipefail
command -v go >/dev/null || { echo "go is not installed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"

	"go.lsp.dev/jsonrpc2"
)

func main() {
	for _, id := range []string{`7`, `"7"`, `null`} {
		m, err := jsonrpc2.DecodeMessage([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`))
		fmt.Printf("%s: %T %v\n", id, m, err)
	}
}
GO
export GOFLAGS=-mod=mod
{ go mod init finding && go get go.lsp.dev/jsonrpc2@v1.0.1; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
saw=$(go run . 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
want='7: *jsonrpc2.Call <nil>
"7": *jsonrpc2.Call <nil>
null: *jsonrpc2.Notification <nil>'
[ "$saw" = "$want" ] || { echo "changed"; exit 1; }
echo "as before: with null it is a notification"
