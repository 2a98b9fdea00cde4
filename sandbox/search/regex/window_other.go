//go:build !amd64

package regex

func vectors() bool { return false }

func scan(*[width][2][16]byte, *byte, int) (at int, found bool) { return 0, false }
