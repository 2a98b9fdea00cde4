//go:build !unix

package main

import "os"

// nonblocking leaves a pipe as it is: a read of it ends only when the other side closes it.
func nonblocking(f *os.File) (*os.File, error) { return f, nil }
