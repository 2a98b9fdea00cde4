package store

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// holder identifies a store that locks sessions. The start time tells a process from a later one
// with the same id, the nonce two stores of one process.
type holder struct {
	pid   int
	start int64
	nonce string
}

// alive says whether the holder's process lives. Where start times are unknown, any process with
// its id counts.
func (h holder) alive() bool {
	if h.pid == 0 {
		return false
	}
	if Gone(h.pid) {
		return false
	}
	start := started(h.pid)
	return start == 0 || h.start == 0 || start == h.start
}

// started is the start time of a process in clock ticks since boot, 0 if unknown, -1 for a zombie.
func started(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	const state, start = 0, 19 // after the name, which may hold anything but ends with the last parenthesis
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) <= start {
		return 0
	}
	if s := fields[state]; s == "Z" || s == "X" {
		return -1
	}
	n, err := strconv.ParseInt(fields[start], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
