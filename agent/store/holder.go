package store

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// holder is a store of a process that has taken hold of sessions. An id of a process is given again one day; the time
// at which it started tells two apart, and the nonce two stores of one process.
type holder struct {
	pid   int
	start int64
	nonce string
}

// alive says whether a holder still is there. Where nothing is known of when processes started, a process of its id
// will do.
func (h holder) alive() bool {
	if h.pid == 0 {
		return false
	}
	if gone(h.pid) {
		return false
	}
	start := started(h.pid)
	return start == 0 || h.start == 0 || start == h.start
}

// started is when a process began, in a measure of the machine's; 0 where that is not told. One that has ended and
// that nobody has waited for yet has not begun to anybody's use.
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
