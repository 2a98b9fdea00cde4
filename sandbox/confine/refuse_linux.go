package confine

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sockets are the kinds of sockets that a command has asked for and was refused.
type Sockets struct {
	// Network are those of TCP and UDP, Unix those of the file system and the abstract ones.
	Network, Unix bool
}

// Refuse answers the system calls that a listener of Restrict reports with EACCES, and reports
// each. It returns when the command and all that it has started has ended, or when the file is
// closed. proc is where the file system proc is mounted, in which the processes of the command have
// the numbers that this process sees.
func Refuse(listener *os.File, proc string, report func(Sockets)) {
	raw, err := listener.SyscallConn()
	if err != nil {
		return
	}
	// The runtime's poller tells of new events once, and the read of a listener without any would
	// block.
	_ = raw.Read(func(fd uintptr) (done bool) {
		for {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(ready, 0); err != nil {
				return err != unix.EINTR
			}
			if ready[0].Revents&unix.POLLIN == 0 {
				return ready[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
			}
			refuse(fd, proc, report)
		}
	})
}

// room is more than the kernel's struct seccomp_notif (80 bytes) and seccomp_notif_resp (24 bytes)
// take, with what later kernels may add.
const room = 512

// refuse answers one call.
func refuse(fd uintptr, proc string, report func(Sockets)) {
	var call, answer [room]byte // the kernel takes a notification into zeros alone
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&call[0]))); no != 0 {
		return // the call was interrupted, or its process has ended
	}
	field := func(at int) uint64 { return binary.NativeEndian.Uint64(call[at:]) }
	family, kind := uint32(field(32)), uint32(field(40))
	// Before the answer: the process waits until then.
	if family != unix.AF_UNIX {
		report(Sockets{Network: true})
	} else if !nameService(proc, int(binary.NativeEndian.Uint32(call[8:])), kind, field(24)) {
		report(Sockets{Unix: true})
	}
	binary.NativeEndian.PutUint64(answer[:], field(0))
	eacces := -int32(unix.EACCES)
	binary.NativeEndian.PutUint32(answer[16:], uint32(eacces))
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer[0])))
}

// nameService reports whether a Unix socket is that of the C library itself, which looks users up
// with it (nscd, and modules of the name service) and has another way where it gets none. Most
// programs do: git, ls -l, id. at is where the process goes on after the call.
func nameService(proc string, pid int, kind uint32, at uint64) bool {
	if kind != unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK && kind != unix.SOCK_DGRAM|unix.SOCK_CLOEXEC { // nscd; syslog
		return false
	}
	maps, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "maps"))
	if err != nil {
		return false
	}
	here := mapped(string(maps), at)
	if !strings.HasPrefix(here, "libc.so") && !strings.HasPrefix(here, "libc-2") {
		return false // a program without the C library, such as one in Go
	}
	caller, err := returnAddress(proc, pid)
	if err != nil {
		return true
	}
	from := mapped(string(maps), caller)
	return from == here || strings.HasPrefix(from, "libnss_")
}

// returnAddress is where the function that a thread is in goes on, if it has put nothing on the
// stack: so does socket of the C library.
func returnAddress(proc string, pid int) (uint64, error) {
	if runtime.GOARCH != "amd64" {
		return 0, unix.ENOSYS // it is in a register
	}
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "syscall"))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 9 {
		return 0, fmt.Errorf("no registers: %w", err)
	}
	sp, err := strconv.ParseUint(fields[7], 0, 64)
	if err != nil {
		return 0, err
	}
	memory, err := os.Open(filepath.Join(proc, strconv.Itoa(pid), "mem"))
	if err != nil {
		return 0, err
	}
	defer memory.Close()
	var word [8]byte
	if _, err := memory.ReadAt(word[:], int64(sp)); err != nil {
		return 0, err
	}
	return binary.NativeEndian.Uint64(word[:]), nil
}

// mapped is the name of the file that is mapped at an address.
func mapped(maps string, at uint64) string {
	for line := range strings.Lines(maps) {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		first, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil && first <= at && at < end {
			return filepath.Base(fields[5])
		}
	}
	return ""
}
