package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processes are a process and what it has started that still runs, keepers of commands included.
func (p *process) processes() []int {
	pids := []int{p.Process.Pid}
	for i := 0; i < len(pids); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, list := range lists {
			text, _ := os.ReadFile(list) // one that has ended has none
			for field := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(field); err == nil {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}

// allCPU is the processor time of a process and of all below it that still run.
func (p *process) allCPU() (sum time.Duration, err error) {
	const sched = 2 // as in cpu
	for _, pid := range p.processes() {
		var t unix.Timespec
		if unix.ClockGettime(int32(^pid<<3|sched), &t) == nil { // it may have ended
			sum += time.Duration(t.Nano())
		}
	}
	if sum == 0 {
		err = fmt.Errorf("the processor time of %s is not known", p.Path)
	}
	return sum, err
}

// memory is what lies in the machine's memory of a process and of all below it, in bytes: as a sum,
// and with pages that several of them share counted once.
func (p *process) memory() (resident, shared float64, err error) {
	for _, pid := range p.processes() {
		f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			if pid == p.Process.Pid {
				return 0, 0, err
			}
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			name, rest, _ := strings.Cut(lines.Text(), ":")
			var kb float64
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				continue
			}
			switch name {
			case "Rss":
				resident += kb * 1024
			case "Pss":
				shared += kb * 1024
			}
		}
		_ = f.Close()
	}
	return resident, shared, nil
}
