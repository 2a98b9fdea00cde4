//go:build !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit returns when the command has ended.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// dropCapabilities does nothing: there are none here.
func dropCapabilities() error { return nil }

// Conceal does nothing here.
func Conceal() {}
