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

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyWait and stuckWait are how long a write waits for another process, in milliseconds: the first of several, and those
// after one that has waited in vain.
const busyWait, stuckWait = 5000, 100

// stuck is what is known of another process that does not let go of the database.
type stuck struct {
	at    time.Time // when somebody has last waited in vain
	brief bool      // the connection waits for stuckWait
}

// begin begins a transaction for somebody who came to write at some time. What has waited behind another that waited in vain
// has waited enough. d.writing is held.
func (d *database) begin(came time.Time) (*sql.Tx, error) {
	if d.stuck.at.After(came) {
		return nil, d.locked()
	}
	tx, err := d.db.Begin()
	var e *sqlite.Error
	switch {
	case errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY:
		d.stuck.at = time.Now()
		if !d.stuck.brief {
			_, err := d.db.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", stuckWait))
			d.stuck.brief = err == nil
		}
		return nil, d.locked()
	case err == nil && d.stuck.brief:
		if _, err := tx.Exec(fmt.Sprintf("PRAGMA busy_timeout = %d", busyWait)); err == nil {
			d.stuck.brief = false
		}
	}
	return tx, err
}

// locked says which process has the database.
func (d *database) locked() error {
	if pid := writer(d.path); pid != 0 {
		return fmt.Errorf("the process %d is writing to it and does not come to an end", pid)
	}
	return errors.New("another process is writing to it and does not come to an end")
}

// writer is the process that writes to a database, 0 where the system does not tell. The lock of those who write to the log
// is that of a byte of the file beside it, which must not be opened: to close it would let go of our own locks.
func writer(path string) int {
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
