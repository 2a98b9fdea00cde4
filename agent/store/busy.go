package store

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// busyWait and stuckWait are SQLite's busy timeouts in milliseconds: the usual one, and the one
// after a timeout.
const busyWait, stuckWait = 5000, 100

// lockWait is the state of waiting for another process that holds SQLite's write lock.
type lockWait struct {
	at    time.Time // of the last timeout
	short bool      // the connection's timeout is stuckWait
}

// begin begins a transaction for a caller that has waited since came. It fails at once if a timeout
// happened meanwhile: a queue of writers waits for busyWait together, not each. d.writing is held.
func (d *database) begin(came time.Time) (*sql.Tx, error) {
	if d.stuck.at.After(came) {
		return nil, d.locked()
	}
	tx, err := d.db.Begin()
	switch {
	case busy(err):
		d.stuck.at = time.Now()
		if !d.stuck.short {
			_, err := d.db.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", stuckWait))
			d.stuck.short = err == nil
		}
		return nil, d.locked()
	case err == nil && d.stuck.short:
		if _, err := tx.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", busyWait)); err == nil {
			d.stuck.short = false
		}
	}
	return tx, err
}

// busy says that another connection holds a lock.
func busy(err error) bool { return codeOf(err) == sqlite3.SQLITE_BUSY }

// locked is the error that names the process with the write lock.
func (d *database) locked() error {
	if pid := lockHolder(d.path); pid != 0 {
		return fmt.Errorf("the process %d is writing to it and does not come to an end", pid)
	}
	return errors.New("another process is writing to it and does not come to an end")
}

// lockHolder is the process that holds SQLite's write lock, 0 if unknown. The lock is a POSIX lock
// on byte 120 of the -shm file. That file must not be opened here: closing it would release this
// process's own POSIX locks.
func lockHolder(path string) int {
	const writes = 120
	ino := inode(path + "-shm")
	if ino == 0 {
		return 0
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		// 1: POSIX ADVISORY WRITE pid device:device:inode from to
		l := strings.Fields(s.Text())
		if len(l) != 8 || l[3] != "WRITE" || !strings.HasSuffix(l[5], fmt.Sprintf(":%d", ino)) {
			continue
		}
		pid, err1 := strconv.Atoi(l[4])
		from, err2 := strconv.Atoi(l[6])
		to, err3 := strconv.Atoi(l[7])
		if errors.Join(err1, err2, err3) == nil && from <= writes && writes <= to {
			return pid
		}
	}
	return 0
}
