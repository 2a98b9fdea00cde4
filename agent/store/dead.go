package store

import (
	"database/sql"
	"encoding/json"
	"strings"
	"time"
)

// MaxDead is how many dead letters a store keeps; a further one drops the oldest.
const MaxDead = 200

// Dead is an entry of the kind DeadLetter. It stays until it is discarded, its session is deleted,
// or MaxDead newer ones came.
type Dead struct {
	// ID is the letter's own, and never another's.
	ID      int64
	Time    time.Time
	Session string
	Call    string
	Body    json.RawMessage
}

const insertDeadLetter = "INSERT INTO dead_letter (time, session, call, body) VALUES (?,?,?,?)"

// insertDeadLetters adds letters, in a transaction.
func (d *database) insertDeadLetters(tx *sql.Tx, session string, letters []Entry) error {
	for _, e := range letters {
		if _, err := tx.Exec(insertDeadLetter, e.Time.UnixMicro(), session, e.Call, d.packer.pack(e.Body)); err != nil {
			return err
		}
	}
	_, err := tx.Exec("DELETE FROM dead_letter WHERE id <= (SELECT id FROM dead_letter ORDER BY id DESC LIMIT 1 OFFSET ?)", MaxDead)
	return err
}

// DeadLetters implements Store.
func (d *database) DeadLetters() (found []Dead, err error) {
	err = rows(d.finder, "SELECT id, time, session, call, body FROM dead_letter ORDER BY id DESC", nil, func(scan scanner) error {
		var l Dead
		var at int64
		var body []byte
		if err := scan(&l.ID, &at, &l.Session, &l.Call, &body); err != nil {
			return err
		}
		plain, err := unpack(body)
		l.Time, l.Body = time.UnixMicro(at), json.RawMessage(plain)
		found = append(found, l)
		return err
	})
	return found, reason(err)
}

// Discard implements Store.
func (d *database) Discard(ids ...int64) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	err = d.write(func(tx *sql.Tx) error {
		r, err := tx.Exec("DELETE FROM dead_letter WHERE id IN (?"+strings.Repeat(",?", len(ids)-1)+")", args...)
		if err != nil {
			return err
		}
		gone, err := r.RowsAffected()
		n = int(gone)
		return err
	})
	return n, err
}
