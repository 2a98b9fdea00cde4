//go:build linux && (amd64 || arm64)

package confine

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// answerOf runs a filter over one system call.
func answerOf(code []unix.SockFilter, arch, number uint32, args ...uint32) (answer uint32, err error) {
	var a uint32
	for at := 0; at < len(code); at++ {
		i := code[at]
		yes := false
		switch i.Code {
		case unix.BPF_RET | unix.BPF_K:
			return i.K, nil
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch n := int(i.K-16) / 8; {
			case i.K == numberAt:
				a = number
			case i.K == archAt:
				a = arch
			case i.K < 16 || i.K%8 != 0 || n > 5:
				return 0, fmt.Errorf("it reads at %d", i.K)
			case n < len(args):
				a = args[n]
			default:
				a = 0
			}
			continue
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ:
			yes = a == i.K
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JGE:
			yes = a >= i.K
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JSET:
			yes = a&i.K != 0
		default:
			return 0, fmt.Errorf("%+v", i)
		}
		if at += int(i.Jf); yes {
			at += int(i.Jt) - int(i.Jf)
		}
	}
	return 0, fmt.Errorf("it does not end")
}

// TestFilter gives each filter every system call there is: what is not listed is allowed.
func TestFilter(t *testing.T) {
	byArguments := []uintptr{unix.SYS_CLONE, unix.SYS_IOCTL, unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_PRLIMIT64}
	for _, network := range []Network{NoNetwork, Loopback, Proxy} {
		for _, namespaces := range []bool{false, true} {
			code := filter(network, namespaces, eacces)
			for n := range uint32(1000) {
				want := uint32(allowed)
				switch {
				case slices.Contains(refused, uintptr(n)):
					want = eperm
				case slices.Contains(absent, uintptr(n)):
					want = enosys
				case slices.Contains(shared, uintptr(n)) && !namespaces:
					want = eacces
				case slices.Contains(byArguments, uintptr(n)):
					continue // see the kernel's own answers in TestCaseS07Calls
				}
				if got, err := answerOf(code, arch, n); err != nil || got != want {
					t.Errorf("network %d, namespaces %v: call %d is answered with %#x, %v", network, namespaces, n, got, err)
				}
			}
			for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64, 0} {
				if got, err := answerOf(code, other, unix.SYS_GETPPID); other != arch && (err != nil || got != killed) {
					t.Errorf("architecture %#x: %#x, %v", other, got, err)
				}
			}
			if got, _ := answerOf(code, arch, x32|unix.SYS_GETPPID); runtime.GOARCH == "amd64" && got != enosys {
				t.Errorf("x32: %#x", got)
			}
		}
	}
}

// TestFilterModes: no call makes a file that runs with the rights of its owner or group; a mode that the kernel does not look at counts
// for nothing.
func TestFilterModes(t *testing.T) {
	code := filter(Loopback, true, eacces)
	for _, m := range modes {
		for mode, refused := range map[uint32]bool{0o755: false, 0o1777: false, 0o4755: true, 0o2755: true, 0o6000: true, unix.S_IFREG | 0o4755: true} {
			for _, flags := range []uint32{unix.O_RDONLY, unix.O_DIRECTORY, unix.O_CREAT, unix.O_TMPFILE | unix.O_RDWR} {
				args := make([]uint32, 6)
				args[m.flags], args[m.mode] = flags, mode
				want := uint32(allowed)
				if refused && (m.flags == 0 || flags == unix.O_CREAT || flags == unix.O_TMPFILE|unix.O_RDWR) {
					want = eperm
				}
				if got, err := answerOf(code, arch, uint32(m.call), args...); err != nil || got != want {
					t.Errorf("call %d, mode %o, flags %o: %#x, %v", m.call, mode, flags, got, err)
				}
			}
		}
	}
}
