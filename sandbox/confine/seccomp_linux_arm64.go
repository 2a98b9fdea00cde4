package confine

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// refusedHere are those of the refused system calls that this architecture alone has: none.
var refusedHere []uintptr

// modesHere are those of modes that this architecture alone has: none.
var modesHere []moded
