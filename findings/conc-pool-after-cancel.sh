#!/usr/bin/env bash
# A ContextPool of conc goes on starting tasks after its context has ended, the waiting ones included.
#
# One would guess that a pool which was given a context starts no task once that has ended, and that its Wait returns the context's error.
# All tasks are begun, one after another as workers get free, and Go blocks for each of them as before; Wait returns nil. A task that does
# not look at the context that it is given is carried out in full.
#
# Package: github.com/sourcegraph/conc v0.3.0.
# Tandem's calls look at the context as their first step (tools/run, decision 0122).
set -euo pipefail
command -v go >/dev/null || { echo "go is not installed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO_SOURCE'
package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/sourcegraph/conc/pool"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	p := pool.New().WithMaxGoroutines(1).WithContext(ctx)
	var after atomic.Int32
	p.Go(func(context.Context) error { cancel(); return nil })
	for range 5 {
		p.Go(func(ctx context.Context) error {
			<-ctx.Done() // which is at once, for all of them
			after.Add(1)
			return nil
		})
	}
	err := p.Wait()
	fmt.Printf("started after the end of the context: %d of 5, error: %v\n", after.Load(), err)
}
GO_SOURCE
export GOFLAGS=-mod=mod
{ go mod init finding && go get github.com/sourcegraph/conc@v0.3.0; } >/dev/null 2>&1 || { echo "the module cannot be had"; exit 2; }
saw=$(go run . 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
case $saw in *"context: 5 of 5, error: <nil>"*) echo "as before: all five tasks were started" ;; *) echo "changed"; exit 1 ;; esac
