//go:build linux || darwin

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped throws away what was typed on a terminal and not read yet. An error says that f is no
// terminal, or errBackground that another job has its keyboard.
func dropTyped(f *os.File) error {
	fd := int(f.Fd())
	if job, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && job != unix.Getpgrp() {
		return errBackground
	}
	return flush(fd)
}

// window gives the size of a terminal in characters, 0 where it does not say.
func window(f *os.File) (rows, columns int) {
	w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(w.Row), int(w.Col)
}
