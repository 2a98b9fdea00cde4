package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the processor time that it has used, to the nanosecond: what /proc tells has ticks of 10
// ms, in which a read of a file takes less than a tenth of one.
func (p *process) cpu() (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED: the clock of clock_getcpuclockid
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.Process.Pid<<3|sched), &t); err != nil {
		return 0, fmt.Errorf("the processor time of %s: %w", p.Path, err)
	}
	return time.Duration(t.Nano()), nil
}
