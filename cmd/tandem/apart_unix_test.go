//go:build unix

package main

import "syscall"

// apart leaves the terminal that the tests were started on: the programs that they start would ask there.
func apart() { _, _ = syscall.Setsid() }
