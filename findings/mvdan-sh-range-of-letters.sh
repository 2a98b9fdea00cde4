#!/usr/bin/env bash
# A range of letters from Z to a has a backslash in it: mvdan.cc/sh makes it a word, and bash makes it an empty one.
#
# One would guess that {Z..a} is the characters between both in bash and in a library that expands braces as bash does. Bash puts the
# character \ into the text and then takes it for a quoting sign, which it removes. So the two make other words of one line.
#
# Package: mvdan.cc/sh/v3 v3.14.1, seen with bash 5.2.
# Tandem expands braces itself where a line is to be known word for word, and only ranges within A to Z or within a to z (tools/shell,
# expanded in words.go).
set -euo pipefail
command -v go >/dev/null || { echo "go is not installed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

func main() {
	file, err := syntax.NewParser().Parse(strings.NewReader("echo {Z..a}"), "")
	if err != nil {
		panic(err)
	}
	words, err := expand.Fields(&expand.Config{}, file.Stmts[0].Cmd.(*syntax.CallExpr).Args[1:]...)
	if err != nil {
		panic(err)
	}
	for _, w := range words {
		fmt.Printf("<%s>", w)
	}
}
GO
export GOFLAGS=-mod=mod
{ go mod init finding && go get mvdan.cc/sh/v3@v3.14.1; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
library=$(go run .) || exit 2
shell=$(bash -c 'printf "<%s>" {Z..a}')
printf 'the library %s\nbash        %s\n' "$library" "$shell"
[ "$library" = '<Z><[><\><]><^><_><`><a>' ] && [ "$shell" = '<Z><[><><]><^><_><`><a>' ] || { echo "changed"; exit 1; }
echo "as before: a backslash in one, an empty word in the other"
