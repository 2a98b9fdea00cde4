package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// caveat is what Level says beside that nothing confines commands.
const caveat = ""

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the command has ended, which is not collected yet: as long as it is not, no other process
// group can get its number.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// dropCapabilities makes the programs that this thread starts have no capabilities, also as root: with them they could
// read this process's memory, environment and messages. The thread keeps its own, so that it can enter the folder to
// start in. It must not be used for anything else afterwards.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("capabilities cannot be looked at: %w", err)
	}
	if have[0].Permitted|have[1].Permitted == 0 {
		return nil
	}
	have[0].Inheritable, have[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &have[0]); err != nil { // takes the ambient ones away too
		return fmt.Errorf("capabilities cannot be dropped: %w", err)
	}
	if os.Getuid() != 0 && os.Geteuid() != 0 { // the bounding set gives nothing to programs of an ordinary user
		return nil
	}
	for c := uintptr(0); ; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil { // the kernel has no more
			return nil
		}
		if has == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && c == unix.CAP_SYS_PTRACE {
			return fmt.Errorf("capabilities cannot be dropped: %w", err)
		}
	}
}

// Conceal keeps other processes of the same person, such as the commands that are run, from reading this one's memory and
// environment, where keys are. It also means that no core is dumped.
func Conceal() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) } // cannot fail with these arguments
