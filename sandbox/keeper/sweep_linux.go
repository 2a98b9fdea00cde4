package keeper

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// patience is how long a sweep goes on while nothing ends. What was killed may need that long
	// on a busy machine or a slow disk; what has not ended then belongs to another user or hangs in
	// the kernel.
	patience = 2 * time.Second
	// interval is the time between two looks of a sweep for what has been forked meanwhile.
	interval = 10 * time.Millisecond
)

// command is what a keeper runs: one program and all that descends from it.
type command struct {
	pid    int
	kill   func() (alive int) // kills all of it, as far as that is there already
	ended  bool               // the program itself
	others int                // how many others have ended
	status syscall.WaitStatus
	// dead says that a child has ended; it is collected before collected is answered. It is closed
	// when there are no children left.
	dead      chan struct{}
	collected chan struct{}
}

// watch serves dead. A process that has ended keeps its number until it is collected, so that no
// signal of run goes to another process that was given the same number.
func (c *command) watch() {
	defer close(c.dead)
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			return
		default:
			c.dead <- struct{}{}
			<-c.collected
		}
	}
}

// collect collects the children that have ended.
func (c *command) collect() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid <= 0:
			return
		case pid == c.pid:
			c.ended, c.status = true, status
		default:
			c.others++
		}
	}
}

// sweep kills everything below this process. It returns when there are no children left, or when
// those that there are do not die. collect must not be owed to watch.
func (c *command) sweep() End {
	if errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil), unix.ECHILD) {
		// As after most commands. What watch does last comes before the next command: its waitid
		// would wait for that one.
		<-c.dead
		return End{Status: c.status}
	}
	before := c.others
	c.kill()
	last := time.Now()
	again := time.NewTimer(interval)
	defer again.Stop()
	for {
		select {
		case _, more := <-c.dead:
			if !more {
				return End{Status: c.status, Background: c.others - before}
			}
			c.collect()
			c.collected <- struct{}{}
			last = time.Now()
		case <-again.C:
			if left := c.kill(); left > 0 && time.Since(last) > patience { // otherwise dead is about to be closed
				return End{Status: c.status, Background: c.others - before, Left: left}
			}
			again.Reset(interval)
		}
	}
}

// killNamespace kills all processes of the namespace that this one is the first of, but this one.
func killNamespace() (alive int) {
	if unix.Kill(-1, unix.SIGKILL) == nil {
		return 1 // at least
	}
	return 0
}

// killBelow kills everything below another process, a keeper, and gives how many processes do not
// die. What loses its parent meanwhile is still below the keeper, also where the keeper is stopped.
func killBelow(keeper int) (left int) {
	found := map[int]bool{}
	for last, none := time.Now(), 0; none < 2; time.Sleep(interval) { // one look may miss a child of one that just ended
		known, before := len(found), left
		switch left = killAll(keeper, found); {
		case left == 0:
			none++
		case len(found) > known || left < before:
			last, none = time.Now(), 0
		case time.Since(last) > patience:
			return left
		}
	}
	return left
}

// killAll kills the processes below root until no new ones are found, and gives how many have not
// ended yet. found gets those that had not. A process that KILL was sent to forks no more. One that
// was forked before may have been missed in the first look, and where its parent ended during the
// look, it is found in the next one.
func killAll(root int, found map[int]bool) (alive int) {
	for fresh := true; fresh; {
		fresh, alive = false, 0
		all := descendants(root)
		for pid := range all { // so that fewer of them fork while they are killed one after the other
			_ = unix.Kill(pid, unix.SIGSTOP)
		}
		for pid, ended := range all {
			_ = unix.Kill(pid, unix.SIGKILL) // also one whose first thread alone has ended
			if !ended {
				alive++
				fresh = fresh || !found[pid]
				found[pid] = true
			}
		}
	}
	return alive
}

// descendants are the processes below one, and whether they have ended and wait to be collected.
func descendants(root int) map[int]bool {
	below := map[int]bool{}
	children := listed
	if lists, _ := filepath.Glob("/proc/self/task/*/children"); len(lists) == 0 { // it is an option of the kernel (CONFIG_PROC_CHILDREN)
		children = everybody()
	}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, pid := range children(next[0]) {
			if _, ended, ok := status(pid); ok {
				below[pid] = ended
				next = append(next, pid)
			}
		}
	}
	return below
}

// listed gives the children of a process as the kernel lists them, one list for each thread.
func listed(parent int) (children []int) {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(parent) + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				children = append(children, pid)
			}
		}
	}
	return children
}

// everybody looks at all processes of the machine, and gives what tells the children of each.
func everybody() func(parent int) (children []int) {
	children := map[int][]int{}
	names, _ := os.ReadDir("/proc")
	for _, name := range names {
		if pid, err := strconv.Atoi(name.Name()); err == nil {
			if parent, _, ok := status(pid); ok {
				children[parent] = append(children[parent], pid)
			}
		}
	}
	return func(parent int) []int { return children[parent] }
}

// status gives the parent of a process and whether it has ended. It is not ok if there is no such
// process.
func status(pid int) (parent int, ended, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false, false
	}
	// PID (NAME) STATE PARENT …; the name may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return parent, fields[0][0] == 'Z' || fields[0][0] == 'X', err == nil
}
