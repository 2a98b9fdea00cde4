//go:build !linux

package tree

// lower is for Linux only.
func lower() {}
