#!/usr/bin/env bash
# mvdan.cc/sh refuses a script for the name that let gives a value to, where bash takes the name from a variable.
#
# One would guess that a parser of bash refuses no script that bash runs without a word. bash evaluates the words of let when it runs them;
# the parser reads them as expressions, in which a name must stand before "=". So the whole script is refused for one such line, which
# cpuUsage.sh of VS Code has (microsoft/vscode, src/vs/base/node/cpuUsage.sh: let $1=$1+$VALUE).
#
# Package: mvdan.cc/sh/v3 v3.14.1.
# Tandem tells of faults of structure alone after an edit of a script (tools/syntax, decision 0116).
set -euo pipefail
command -v go >/dev/null || { echo "go is not installed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"mvdan.cc/sh/v3/syntax"
)

func main() {
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(os.Stdin, "")
	fmt.Println(err)
}
GO
printf '%s\n' 'set -- x' 'let $1=1+2' 'echo "$x"' >script
export GOFLAGS=-mod=mod
{ go mod init finding && go get mvdan.cc/sh/v3@v3.14.1; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
bash -n script || { echo "bash refuses it"; exit 2; }
printf 'bash prints %s\n' "$(bash script)"
saw=$(go run . <script 2>&1) || { echo "$saw"; exit 2; }
echo "the parser: $saw"
[ "$saw" = '2:7: `=` must follow a name' ] || { echo "changed"; exit 1; }
echo "as before: the script runs, and is refused"
