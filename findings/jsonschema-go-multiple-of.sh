#!/usr/bin/env bash
# jsonschema-go says that 0.3 is no multiple of 0.1.
#
# One would guess that a number which was written 0.3 in JSON passes "multipleOf": 0.1, since JSON's numbers are decimal. The library compares
# the binary values exactly: 0.3 is 5404319552844595/18014398509481984, which is no multiple of what 0.1 is in binary. 0.2 passes, by chance of
# its binary form. The words of the error show the fraction, which whoever sent 0.3 has never seen.
#
# Package: github.com/google/jsonschema-go v0.4.3. JSON Schema 2020-12, Validation, section 6.2.1.
# Tandem's own schemas have no fractions; those of others are checked by their servers too.
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
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(`{"type":"number","multipleOf":0.1}`), &s); err != nil {
		panic(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		panic(err)
	}
	for _, js := range []string{"0.2", "0.3", "0.7"} {
		var v any
		if err := json.Unmarshal([]byte(js), &v); err != nil {
			panic(err)
		}
		fmt.Println(js, r.Validate(v))
	}
}
GO
export GOFLAGS=-mod=mod
{ go mod init finding && go get github.com/google/jsonschema-go@v0.4.3; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
saw=$(go run . 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
grep -q '^0.3 .*not a multiple' <<<"$saw" || { echo "changed"; exit 1; }
echo "as before: 0.3 is refused"
