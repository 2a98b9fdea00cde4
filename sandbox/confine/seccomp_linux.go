//go:build linux && (amd64 || arm64)

package confine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seccomp installs a filter of system calls for the calling thread and its children. It needs
// no_new_privs. The kernel sends listener a notification for each socket(2) that the filter
// refuses. listener is -1 below another filter with a listener, such as that of a container, as the
// kernel allows one: the filter itself refuses those sockets then.
func seccomp(network Network, namespaces bool) (listener int, err error) {
	install := func(refusal uint32, flags uintptr) (int, error) {
		code := filter(network, namespaces, refusal)
		program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
		fd, _, no := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
		runtime.KeepAlive(code)
		if no != 0 {
			return -1, no
		}
		return int(fd), nil
	}
	if fd, err := install(notified, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER); err == nil {
		return fd, nil
	}
	_, err = install(eacces, 0)
	return -1, err
}

// namespaceFlags are those flags of clone that make namespaces. clone has no flag for a time
// namespace.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID |
	unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// refused are the system calls that answer EPERM whatever their arguments are: they look into other
// processes, make or enter namespaces, change mounts, or belong to an administrator, and each has
// been a way into the kernel.
var refused = append([]uintptr{
	// other processes
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	// large and seldom used parts of the kernel
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_FANOTIFY_INIT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_LOOKUP_DCOOKIE,
	// namespaces and mounts
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	// the machine
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	unix.SYS_NFSSERVCTL,
}, refusedHere...)

// absent are those that answer ENOSYS, as in a kernel without them: programs have another way then.
// The flags of clone3 and the mode of openat2 are in memory, where a filter does not see them.
var absent = []uintptr{
	unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT,
}

// moded is a system call that gives a file a mode: the number of the argument that is the mode, and
// of the one that are the flags of open, 0 where there is none. The mode counts only if the flags
// make a file.
type moded struct {
	call        uintptr
	mode, flags uint32
}

// modes are those calls, which are refused a mode with set-user-ID or set-group-ID: whoever starts
// such a file outside of the sandbox has the rights of its owner. mkdir takes no such mode.
var modes = append([]moded{
	{unix.SYS_FCHMOD, 1, 0}, {unix.SYS_FCHMODAT, 2, 0}, {unix.SYS_FCHMODAT2, 2, 0}, {unix.SYS_MKNODAT, 2, 0}, {unix.SYS_OPENAT, 3, 2},
}, modesHere...)

// shared are the ways to other processes of the user that an IPC namespace cuts off: shared memory,
// semaphores, message queues.
var shared = []uintptr{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// What a filter answers.
const (
	allowed = unix.SECCOMP_RET_ALLOW
	killed  = unix.SECCOMP_RET_KILL_PROCESS
	eperm   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	eacces  = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	enosys  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	// notified leaves the answer to the listener, see Refuse.
	notified = unix.SECCOMP_RET_USER_NOTIF
)

// Where a filter finds the number of a system call, its architecture and the lower half of an
// argument (struct seccomp_data). Both architectures are little-endian, and the kernel takes int
// arguments from the lower half alone.
const (
	numberAt = 0
	archAt   = 4
)

func argument(n uint32) uint32 { return 16 + 8*n }

// x32 marks the system calls of the x32 ABI of amd64, which would go past a comparison of numbers.
const x32 = 0x4000_0000

// filter gives the seccomp program for a network. A call of another architecture ends the process.
// refusal is the answer to a socket of AF_UNIX, AF_INET or AF_INET6 that the network does not have.
func filter(network Network, namespaces bool, refusal uint32) (code []unix.SockFilter) {
	ask := func(op uint16, k uint32, yes, no uint8) {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | op, Jt: yes, Jf: no, K: k})
	}
	read := func(at uint32) {
		code = append(code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at})
	}
	answer := func(a uint32) { code = append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: a}) }
	// call is the part of the program for one system call; then makes what decides about it, which
	// ends with an answer.
	call := func(number uintptr, then func()) {
		ask(unix.BPF_JEQ, uint32(number), 0, 0)
		at := len(code)
		then()
		code[at-1].Jf = uint8(len(code) - at)
	}
	all := func(numbers []uintptr, a uint32) {
		for _, n := range numbers {
			call(n, func() { answer(a) })
		}
	}

	read(archAt)
	ask(unix.BPF_JEQ, arch, 1, 0)
	answer(killed)
	read(numberAt)
	if runtime.GOARCH == "amd64" {
		ask(unix.BPF_JGE, x32, 0, 1)
		answer(enosys)
	}
	all(refused, eperm)
	all(absent, enosys)
	for _, m := range modes {
		call(m.call, func() {
			if m.flags != 0 {
				read(argument(m.flags))
				ask(unix.BPF_JSET, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 1, 0)
				answer(allowed)
			}
			read(argument(m.mode))
			ask(unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID, 0, 1)
			answer(eperm)
			answer(allowed)
		})
	}
	call(unix.SYS_CLONE, func() {
		read(argument(0))
		ask(unix.BPF_JSET, namespaceFlags, 0, 1)
		answer(eperm)
		answer(allowed)
	})
	call(unix.SYS_IOCTL, func() { // typing into a terminal
		read(argument(1))
		ask(unix.BPF_JEQ, unix.TIOCSTI, 1, 0)
		ask(unix.BPF_JEQ, tiocLinux, 0, 1)
		answer(eperm)
		answer(allowed)
	})
	call(unix.SYS_SOCKET, func() {
		read(argument(0))
		ask(unix.BPF_JEQ, unix.AF_UNIX, 0, 1)
		answer(refusal)
		if network == NoNetwork || !namespaces {
			ask(unix.BPF_JEQ, unix.AF_INET, 1, 0)
			ask(unix.BPF_JEQ, unix.AF_INET6, 0, 1)
			answer(refusal)
			answer(eacces)
			return
		}
		ask(unix.BPF_JEQ, unix.AF_INET, 4, 0)
		ask(unix.BPF_JEQ, unix.AF_INET6, 3, 0)
		ask(unix.BPF_JEQ, unix.AF_NETLINK, 0, 3) // which interfaces there are
		read(argument(2))
		ask(unix.BPF_JEQ, unix.NETLINK_ROUTE, 0, 1)
		answer(allowed)
		answer(eacces)
	})
	call(unix.SYS_SOCKETPAIR, func() {
		read(argument(0))
		ask(unix.BPF_JEQ, unix.AF_UNIX, 0, 1)
		answer(allowed)
		answer(eacces)
	})
	if !namespaces {
		all(shared, eacces)
		call(unix.SYS_PRLIMIT64, func() { // the limits of other processes
			read(argument(0))
			ask(unix.BPF_JEQ, 0, 0, 1)
			answer(allowed)
			answer(eperm)
		})
	}
	answer(allowed)
	return code
}

// tiocLinux is TIOCLINUX, which pastes into a console.
const tiocLinux = 0x541c
