//go:build !linux

package main

import "context"

// outlived waits for the end of a process, or of ctx, and says which it was.
func outlived(ctx context.Context, pid int) bool { return pollOutlived(ctx, pid) }
