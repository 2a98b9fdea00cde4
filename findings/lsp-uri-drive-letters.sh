#!/usr/bin/env bash
# go.lsp.dev/uri takes a folder named "A:" for a drive, on systems that have no drives.
#
# One would guess that File and FsPath are inverse for an absolute path of the system that the program runs on. On Linux a folder may
# be called "A:". FsPath gives "a:/x" for "/A:/x": without the leading slash, so a path relative to the working folder, and in lower
# case. A program that opens what a URI names opens another file, or makes one.
#
# Package: go.lsp.dev/uri v1.0.1 (FsPath follows the rules of VS Code's uriToFsPath for every system).
# Tandem makes paths of URIs by itself (lspserver/fileuri).
set -euo pipefail
command -v go >/dev/null || { echo "go is not installed"; exit 2; }
[ "$(go env GOOS)" = linux ] || { echo "this is about Linux"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"

	"go.lsp.dev/uri"
)

func main() {
	u := uri.File("/A:/x")
	fmt.Println(u, u.FsPath())
	fmt.Println(uri.File("/home/me/A:/x").FsPath())
}
GO
export GOFLAGS=-mod=mod
{ go mod init finding && go get go.lsp.dev/uri@v1.0.1; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
saw=$(go run . 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
want='file:///a%3A/x a:/x
/home/me/A:/x'
[ "$saw" = "$want" ] || { echo "changed"; exit 1; }
echo "as before: /A:/x comes back as a:/x, deeper folders keep their name"
