#!/usr/bin/env bash
# The Go SDK of MCP cannot read the question for roots that the TypeScript SDK sends.
#
# In the protocol of 2026-07-28 a server asks by a result with "inputRequests". The parameters of roots/list are optional, and inputRequired.listRoots()
# of @modelcontextprotocol/server leaves them out. One would guess that both SDKs, which implement one specification, understand each other. The Go SDK
# decodes the missing parameters as JSON text and fails, so the whole call fails in a client made with it.
#
# Packages: github.com/modelcontextprotocol/go-sdk v1.8.0, @modelcontextprotocol/server 2.4.0.
# Tandem puts empty parameters in before the library decodes the result (tools/mcp).
set -euo pipefail
command -v node >/dev/null && command -v npm >/dev/null && command -v go >/dev/null || { echo "node, npm and go are needed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @modelcontextprotocol/server@2.4.0 >/dev/null 2>&1 || { echo "the package cannot be had"; exit 2; }
cat >say.mjs <<'JS'
import { inputRequired } from '@modelcontextprotocol/server';
console.log(JSON.stringify(inputRequired({ inputRequests: { r: inputRequired.listRoots() } })));
JS
node say.mjs >said.json || { echo "the package does not run"; exit 2; }
echo "TypeScript says: $(cat said.json)"
go mod init ask >/dev/null 2>&1
go get github.com/modelcontextprotocol/go-sdk@v1.8.0 >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	text, _ := os.ReadFile("said.json")
	var r mcp.CallToolResult
	fmt.Println(json.Unmarshal(text, &r))
}
GO
go mod tidy >/dev/null 2>&1 || true
saw=$(go run .) || { echo "the module does not run"; exit 2; }
echo "Go reads: $saw"
[ "$saw" = "unexpected end of JSON input" ] || { echo "changed"; exit 1; }
echo "as before: it cannot be read"
