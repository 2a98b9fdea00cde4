//go:build !unix

package main

import (
	"os"
)

// noFollow is nothing here: a file in the state folder may be a link.
const noFollow = 0

// writable finds a folder without the mark that it is only to be read; the system's lists of rights may say otherwise.
func writable(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o200 == 0 {
		err = os.ErrPermission
	}
	return err
}

// nonblocking leaves a pipe as it is: a read of it ends only when the other side closes it.
func nonblocking(f *os.File) (*os.File, error) { return f, nil }

// noProcess says that no process has an id. Where one of another person has it, it may count as gone.
func noProcess(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		_ = p.Release()
	}
	return err != nil
}

// tryLock has no locks to take here, so nobody has one.
func tryLock(*os.File) bool { return true }
