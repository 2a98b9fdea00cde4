package regex

import "golang.org/x/sys/cpu"

// vectors says that scan may be called.
func vectors() bool { return cpu.X86.HasAVX2 }

// scan finds the first place of n bytes that the tables may allow, or says up to where there is none: at most 33 bytes before the end.
//
//go:noescape
func scan(halves *[width][2][16]byte, text *byte, n int) (at int, found bool)
