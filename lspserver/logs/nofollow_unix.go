//go:build unix

package logs

import "syscall"

// noFollow refuses a file that is a link: another user might have laid it.
const noFollow = syscall.O_NOFOLLOW
