//go:build !linux

package main

import "context"

// awaitExit waits for the end of a process, or of ctx, and says which it was.
func awaitExit(ctx context.Context, pid int) bool { return pollExit(ctx, pid) }
