package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// The audit is a hash chain: an append-only list of records, each with the SHA-256 of itself and of
// the hash before it, so that a record cannot be changed, inserted or taken out without the hashes
// after it changing too. All processes append to the one chain, each in its own transactions. A
// record has a text besides, of which only the hash is in the chain: it is deleted with its
// session, and the record stays. Collect drops whole records, the oldest first. Both put a record
// of that into the chain, without which it does not verify.

// AuditRecord is a record of the audit.
type AuditRecord struct {
	// Seq counts the records from 1.
	Seq     int64
	Time    time.Time
	Session string
	// Call is the id of the call that the record is of.
	Call string
	Body json.RawMessage
	// Text is "" where the session was deleted.
	Text string
	// Hash is the hexadecimal hash of the record and all before it.
	Hash string
}

// AuditQuery selects records of the audit. Empty fields select all.
type AuditQuery struct {
	Session string
	Since   time.Time
}

// AuditState is what VerifyAudit found.
type AuditState struct {
	// Records is the number of records, First the number of the oldest one: those before it were
	// dropped for their age.
	Records, First int64
	// Head is the hash of the newest record. Who keeps it elsewhere can tell later that the chain
	// up to it is the same.
	Head string
}

// TamperedError is a chain that does not verify.
type TamperedError struct {
	// Seq is the first record that is wrong.
	Seq    int64
	Reason string
}

func (e *TamperedError) Error() string {
	return fmt.Sprintf("the audit was changed from outside: record %d %s", e.Seq, e.Reason)
}

// keepAudit is how long Collect leaves records of the audit.
const keepAudit = 365 * 24 * time.Hour

// link is a record as it is chained.
type link struct {
	seq, at       int64 // at in microseconds
	session, call string
	body          []byte // packed
	text          []byte // packed, nil where it was deleted
	textHash      []byte
	hash          []byte
}

// linkOf is an entry of a session as a record.
func linkOf(p *packer, session string, e Entry) link {
	l := link{at: e.Time.UnixMicro(), session: session, call: e.Call, body: p.pack(e.Body), text: p.pack([]byte(e.Text))}
	l.textHash = textHash(l.text)
	return l
}

func textHash(text []byte) []byte {
	h := sha256.Sum256(text)
	return h[:]
}

// sum is the hash of a record whose predecessor has the hash prev.
func (l *link) sum(prev []byte) []byte {
	h := sha256.New()
	field := func(b []byte) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(b)))
		h.Write(size[:])
		h.Write(b)
	}
	field(prev)
	for _, n := range []int64{l.seq, l.at} {
		field(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	field([]byte(l.session))
	field([]byte(l.call))
	field(l.body)
	field(l.textHash)
	return h.Sum(nil)
}

func (l *link) record() (AuditRecord, error) {
	a := AuditRecord{Seq: l.seq, Time: time.UnixMicro(l.at), Session: l.session, Call: l.call, Hash: hex.EncodeToString(l.hash)}
	body, err := unpack(l.body)
	if err == nil && l.text != nil {
		a.Text, err = unpack(l.text)
	}
	a.Body = json.RawMessage(body)
	return a, err
}

// Records of the store's own belong to no session, and have one of these instead of a call.
const (
	recordDropped = "dropped" // the body is a gap
	recordErased  = "erased"  // the body is the name of a session whose texts were deleted
)

// storeRecord is a record of the store's own.
func storeRecord(now time.Time, what string, body any) link {
	raw, _ := json.Marshal(body) //nolint:errchkjson // numbers and strings
	return linkOf(new(packer), "", Entry{Time: now, Call: what, Body: raw})
}

// gap says that the records up to Through were dropped, the newest of them with this hash. The
// chain begins after the newest gap.
type gap struct {
	Through int64  `json:"through"`
	Hash    string `json:"hash"`
}

// gapOf reads the body of a gap; none is that of a whole chain.
func gapOf(body []byte) (g gap, prev []byte, err error) {
	if body == nil {
		return g, nil, nil
	}
	raw, err := unpack(body)
	if err == nil {
		err = json.Unmarshal([]byte(raw), &g)
	}
	if err == nil {
		prev, err = hex.DecodeString(g.Hash)
	}
	return g, prev, err
}

// chain verifies records, one after another.
type chain struct {
	state       AuditState
	next        int64 // the number that comes next
	prev        []byte
	textMissing map[string]int64 // by session: the first record without its text, until the chain says that it was deleted
}

// newChain begins a verification after a gap, of which body is nil for none.
func newChain(body []byte) (*chain, error) {
	g, prev, err := gapOf(body)
	if err != nil {
		return nil, &TamperedError{1, "is missing, and the record of its deletion cannot be read"}
	}
	return &chain{textMissing: map[string]int64{}, next: g.Through + 1, prev: prev, state: AuditState{First: g.Through + 1}}, nil
}

func (c *chain) add(l link) error {
	switch {
	case l.seq > c.next:
		return &TamperedError{c.next, "is missing"}
	case l.seq < c.next:
		return &TamperedError{l.seq, "was dropped before"}
	case !bytes.Equal(l.sum(c.prev), l.hash):
		return &TamperedError{l.seq, "does not fit its hash"}
	case l.text != nil && !bytes.Equal(textHash(l.text), l.textHash):
		return &TamperedError{l.seq, "has another text"}
	}
	if _, known := c.textMissing[l.session]; l.text == nil && !known {
		c.textMissing[l.session] = l.seq
	}
	if l.session == "" && l.call == recordErased {
		var session string
		body, err := unpack(l.body)
		if err == nil {
			err = json.Unmarshal([]byte(body), &session)
		}
		if err != nil {
			return &TamperedError{l.seq, "cannot be read"}
		}
		delete(c.textMissing, session)
	}
	c.prev, c.state.Head = l.hash, hex.EncodeToString(l.hash)
	c.next++
	c.state.Records++
	return nil
}

// end gives the result; last is the number of the newest record that there ever was.
func (c *chain) end(last int64) (AuditState, error) {
	if c.next <= last {
		return c.state, &TamperedError{c.next, "is missing"}
	}
	for _, seq := range c.textMissing {
		return c.state, &TamperedError{seq, "has lost its text"}
	}
	return c.state, nil
}

// insertAudit appends records to the chain, in a transaction. The newest record is remembered: if
// another process has appended one since, that has the number of the first of these, and the newest
// is looked up.
func (d *database) insertAudit(tx *sql.Tx, links []link) error {
	insert := tx.Stmt(d.insertLink)
	for _, l := range links {
		for known := d.newestLink != nil; ; known = false {
			if !known {
				d.newestLink = &link{}
				if err := tx.Stmt(d.selectHead).QueryRow().Scan(&d.newestLink.seq, &d.newestLink.hash); err != nil && !errors.Is(err, sql.ErrNoRows) {
					return unaudited(err)
				}
			}
			l.seq = d.newestLink.seq + 1
			l.hash = l.sum(d.newestLink.hash)
			_, err := insert.Exec(l.seq, l.at, l.session, l.call, l.body, l.text, l.textHash, l.hash)
			if err == nil {
				break
			}
			if !known || codeOf(err) != sqlite3.SQLITE_CONSTRAINT {
				return unaudited(err)
			}
		}
		d.newestLink = &link{seq: l.seq, hash: l.hash}
	}
	return nil
}

func unaudited(err error) error { return fmt.Errorf("the audit cannot be written: %w", err) }

const linkColumns = "seq, time, session, call, body, text, texthash, hash"

// AuditRecords implements Store.
func (d *database) AuditRecords(q AuditQuery, visit func(AuditRecord) bool) error {
	where, args := "session <> ''", []any{}
	if q.Session != "" {
		where, args = "session = ?", append(args, q.Session)
	}
	if !q.Since.IsZero() {
		where, args = where+" AND time >= ?", append(args, q.Since.UnixMicro())
	}
	return links(d.finder, "WHERE "+where+" ORDER BY seq DESC", args, func(l link) error {
		a, err := l.record()
		if err == nil && !visit(a) {
			err = errEnough
		}
		return err
	})
}

// links visits records until visit returns an error.
func links(from querier, which string, args []any, visit func(link) error) error {
	return reason(rows(from, "SELECT "+linkColumns+" FROM audit "+which, args, func(scan scanner) error {
		var l link
		if err := scan(&l.seq, &l.at, &l.session, &l.call, &l.body, &l.text, &l.textHash, &l.hash); err != nil {
			return err
		}
		return visit(l)
	}))
}

// VerifyAudit implements Store. It reads one snapshot, whatever is appended or dropped meanwhile.
func (d *database) VerifyAudit() (s AuditState, err error) {
	ctx := context.Background()
	conn, err := d.finder.Conn(ctx)
	if err != nil {
		return s, err
	}
	defer conn.Close() //nolint:errcheck // returns it to the pool
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return s, reason(err)
	}
	defer func() {
		_, ended := conn.ExecContext(ctx, "ROLLBACK")
		err = errors.Join(err, ended)
	}()
	var body []byte
	var last int64
	err = conn.QueryRowContext(ctx, "SELECT (SELECT body FROM audit WHERE session = '' AND call = ? ORDER BY seq DESC LIMIT 1),"+
		" coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'audit'), 0)", recordDropped).Scan(&body, &last)
	if err != nil {
		return s, reason(err)
	}
	c, err := newChain(body)
	if err != nil {
		return s, err
	}
	if err := links(conn, "ORDER BY seq", nil, c.add); err != nil {
		return c.state, err
	}
	return c.end(last)
}

// dropAudit drops the records before a time, and appends a gap. Gaps are dropped with what follows
// them.
func (d *database) dropAudit(tx *sql.Tx, before time.Time) (n int64, err error) {
	var through int64
	var hash []byte
	err = tx.QueryRow("SELECT seq, hash FROM audit WHERE session <> '' AND seq <"+
		" coalesce((SELECT min(seq) FROM audit WHERE time >= ?), (SELECT max(seq) + 1 FROM audit))"+
		" ORDER BY seq DESC LIMIT 1", before.UnixMicro()).Scan(&through, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := d.insertAudit(tx, []link{storeRecord(d.now(), recordDropped, gap{through, hex.EncodeToString(hash)})}); err != nil {
		return 0, err
	}
	r, err := tx.Exec("DELETE FROM audit WHERE seq <= ?", through)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// eraseAudit deletes the texts of a session's records.
func (d *database) eraseAudit(tx *sql.Tx, session string) error {
	r, err := tx.Exec("UPDATE audit SET text = NULL WHERE session = ? AND text IS NOT NULL", session)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return d.insertAudit(tx, []link{storeRecord(d.now(), recordErased, session)})
}

// shareOfAudit is the part of the quota that the audit may take: beyond it the older half is
// dropped.
const shareOfAudit = 4

// middleOfAudit is the time of the record in the middle, the zero time where the audit is smaller
// than its share of most bytes.
func (d *database) middleOfAudit(tx *sql.Tx, most int64) (time.Time, error) {
	var size, at int64
	err := tx.QueryRow("SELECT coalesce(sum(length(body) + length(coalesce(text, ''))), 0) FROM audit").Scan(&size)
	if err != nil || size <= most/shareOfAudit {
		return time.Time{}, err
	}
	err = tx.QueryRow("SELECT time FROM audit ORDER BY seq LIMIT 1 OFFSET (SELECT count(*) / 2 FROM audit)").Scan(&at)
	return time.UnixMicro(at), err
}
