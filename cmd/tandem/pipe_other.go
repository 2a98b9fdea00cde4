//go:build !linux

package main

import "os"

// widen leaves a pipe as it is.
func widen(*os.File) {}
