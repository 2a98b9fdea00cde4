//go:build !linux

package main

import "context"

// waitForExit waits for the exit of a process, or the end of ctx, and reports whether the process
// exited.
func waitForExit(ctx context.Context, pid int) bool { return pollForExit(ctx, pid) }
