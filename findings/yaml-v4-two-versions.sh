#!/usr/bin/env bash
# yaml v4 reads numbers by YAML 1.1 and words by YAML 1.2.
#
# One would guess that version 4 of the library follows one version of the format. "on" is a string, as YAML 1.2 has it (1.1: true). But 012 is
# ten, the octal number of YAML 1.1 (1.2: twelve, since octal is written 0o14, which is read too), and 1_000 is a thousand (1.2: a string). So a
# file mode 0644 and an identifier 012 change with the parser, and no version of the format explains all three.
#
# Package: go.yaml.in/yaml/v4 v4.0.0. YAML 1.2.2, section 10.3.2 (Core Schema).
# Tandem only finds out whether a file parses (tools/syntax) and takes no values from it.
set -euo pipefail
command -v go >/dev/null || { echo "go is not installed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

func main() {
	for _, text := range []string{"on", "012", "0o14", "1_000"} {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			panic(err)
		}
		fmt.Printf("%s: %T %v\n", text, v, v)
	}
}
GO
export GOFLAGS=-mod=mod
{ go mod init finding && go get go.yaml.in/yaml/v4@v4.0.0; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
saw=$(go run . 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
want='on: string on
012: int 10
0o14: int 12
1_000: int 1000'
[ "$saw" = "$want" ] || { echo "changed"; exit 1; }
echo "as before: words by YAML 1.2, numbers by 1.1"
