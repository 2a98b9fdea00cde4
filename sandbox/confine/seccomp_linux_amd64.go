package confine

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// refusedHere are those of the refused system calls that this architecture alone has.
var refusedHere = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB}

// modesHere are those of modes that this architecture alone has.
var modesHere = []moded{{unix.SYS_CHMOD, 1, 0}, {unix.SYS_MKNOD, 1, 0}, {unix.SYS_CREAT, 1, 0}, {unix.SYS_OPEN, 2, 1}}
