package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tandem/filetime/disk"
)

// NewMemory makes a Store in memory. Over quota it deletes the least recently used sessions, then
// stores no more blobs.
func NewMemory(quota int64, now func() time.Time) Store {
	return &memory{
		quota: quota, now: now, sessions: map[string]*sessionRow{}, blobs: map[string]*blobRow{}, intents: map[int64]*intentRow{},
	}
}

type memory struct {
	quota int64
	now   func() time.Time

	mu             sync.Mutex
	sessions       map[string]*sessionRow
	blobs          map[string]*blobRow
	intents        map[int64]*intentRow
	last           int64 // the newest intent
	audit          []link
	deadLetters    []Dead // the oldest first
	lastDeadLetter int64  // the newest that there ever was
	size           int64
}

type sessionRow struct {
	Session
	held    bool
	entries []Entry
	size    int64
}

// blobRow is a blob with its reference count.
type blobRow struct {
	data string
	uses int
}

func (m *memory) Save(s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.sessions[s.ID]
	if k == nil {
		k = &sessionRow{}
		m.sessions[s.ID] = k
		s.Created = m.now()
	} else {
		s.Created = k.Created
	}
	s.Updated, s.PID = m.now(), 0
	s.More = slices.Clone(s.More)
	k.Session, k.held = s, true
	return nil
}

func (m *memory) Take(id string) (Session, []Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.sessions[id]
	if k == nil {
		return Session{}, nil, ErrUnknown
	}
	k.held = true
	return k.Session, slices.Clone(k.entries), nil
}

func (m *memory) Append(id string, entries ...Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.sessions[id]
	if k == nil {
		return ErrUnknown
	}
	k.Updated = m.now()
	for _, e := range entries {
		if e.Kind == Audit {
			m.chain(linkOf(new(packer), id, e))
			continue
		}
		if e.Kind == DeadLetter {
			m.addDeadLetter(id, e)
			continue
		}
		e.Blobs = slices.Clone(e.Blobs)
		for i, b := range e.Blobs {
			e.Blobs[i] = Blob{Hash: hashOf(b.Data)}
			m.put(e.Blobs[i].Hash, b.Data)
		}
		n := int64(len(e.Body) + len(e.Text) + 64)
		k.size, m.size = k.size+n, m.size+n
		k.entries = append(k.entries, e)
	}
	if m.size > m.quota {
		m.collect(m.quota, time.Time{})
	}
	return nil
}

// Intend implements Store. Nothing survives the process.
func (m *memory) Intend(id string, _ bool, entries ...Entry) error { return m.Append(id, entries...) }

// chain appends a record to the audit.
func (m *memory) chain(l link) {
	var prev []byte
	if n := len(m.audit); n > 0 {
		prev, l.seq = m.audit[n-1].hash, m.audit[n-1].seq
	}
	l.seq++
	l.hash = l.sum(prev)
	m.audit = append(m.audit, l)
	m.size += l.size()
}

func (l *link) size() int64 { return int64(len(l.body) + len(l.text)) }

// eraseAudit deletes the texts of a session's records.
func (m *memory) eraseAudit(session string) {
	done := false
	for i := range m.audit {
		if l := &m.audit[i]; l.session == session && l.text != nil {
			m.size -= int64(len(l.text))
			l.text, done = nil, true
		}
	}
	if done {
		m.chain(storeRecord(m.now(), recordErased, session))
	}
}

// AuditRecords implements Store.
func (m *memory) AuditRecords(q AuditQuery, visit func(AuditRecord) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range slices.Backward(m.audit) {
		if l.session == "" || q.Session != "" && l.session != q.Session || !q.Since.IsZero() && l.at < q.Since.UnixMicro() {
			continue
		}
		a, err := l.record()
		if err != nil || !visit(a) {
			return err
		}
	}
	return nil
}

// VerifyAudit implements Store.
func (m *memory) VerifyAudit() (AuditState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var start []byte
	for _, l := range m.audit {
		if l.session == "" && l.call == recordDropped {
			start = l.body
		}
	}
	c, err := newChain(start)
	if err != nil {
		return AuditState{}, err
	}
	for _, l := range m.audit {
		if err := c.add(l); err != nil {
			return c.state, err
		}
	}
	return c.end(0)
}

// dropAudit drops the records before a time, and says how many.
func (m *memory) dropAudit(before time.Time) int64 {
	n := slices.IndexFunc(m.audit, func(l link) bool { return l.at >= before.UnixMicro() })
	if n < 0 {
		n = len(m.audit)
	}
	for n > 0 && m.audit[n-1].session == "" {
		n--
	}
	if n == 0 {
		return 0
	}
	newest := m.audit[n-1]
	m.chain(storeRecord(m.now(), recordDropped, gap{newest.seq, hex.EncodeToString(newest.hash)}))
	for _, l := range m.audit[:n] {
		m.size -= l.size()
	}
	m.audit = slices.Delete(m.audit, 0, n)
	return int64(n)
}

// put stores a text, unless it exceeds the quota.
func (m *memory) put(hash, data string) {
	if m.blobs[hash] == nil {
		if m.size+int64(len(data)) > m.quota {
			if m.collect(m.quota-int64(len(data)), time.Time{}); m.size+int64(len(data)) > m.quota {
				return
			}
		}
	}
	m.ref(hash, data)
}

// ref stores a text, or increments its reference count.
func (m *memory) ref(hash, data string) {
	b := m.blobs[hash]
	if b == nil {
		b = &blobRow{data: strings.Clone(data)}
		m.blobs[hash] = b
		m.size += int64(len(data))
	}
	b.uses++
}

func (m *memory) Release(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.sessions[id]; k != nil {
		k.held = false
		return nil
	}
	return ErrUnknown
}

func (m *memory) Delete(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[id] == nil {
		return ErrUnknown
	}
	m.forget(id)
	return nil
}

func (m *memory) forget(id string) {
	k := m.sessions[id]
	m.eraseAudit(id)
	m.dropDeadLetters(func(l Dead) bool { return l.Session == id })
	delete(m.sessions, id)
	m.size -= k.size
	for _, e := range k.entries {
		for _, b := range e.Blobs {
			m.unref(b.Hash)
		}
	}
	for i, j := range m.intents {
		switch {
		case j.Session != id:
		case j.outcome != disk.Open:
			m.drop(i)
		default:
			m.empty(j)
		}
	}
}

// empty drops the bytes of an open intent and marks it as forgotten, so that it is deleted when it
// ends.
func (m *memory) empty(j *intentRow) {
	for _, b := range j.kept {
		m.unref(b.Hash)
	}
	j.kept, j.forgotten = nil, true
	j.bare()
}

// unref decrements the reference count of a text and deletes it at 0.
func (m *memory) unref(hash string) {
	s := m.blobs[hash]
	if s == nil {
		return
	}
	if s.uses--; s.uses == 0 {
		delete(m.blobs, hash)
		m.size -= int64(len(s.data))
	}
}

func (m *memory) Sessions(q Query) (found []Session, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	after, id, paged := page(q.After)
	if !paged && q.After != "" {
		return nil, "", ErrCursor
	}
	for _, k := range m.sessions {
		if q.Cwd != "" && k.Cwd != q.Cwd || q.Text != "" && !k.matches(lower(q.Text)) {
			continue
		}
		if u := k.Updated.UnixMicro(); !paged || u < after || u == after && k.ID > id {
			found = append(found, k.Session)
		}
	}
	slices.SortFunc(found, func(a, b Session) int {
		return cmp.Or(cmp.Compare(b.Updated.UnixMicro(), a.Updated.UnixMicro()), cmp.Compare(a.ID, b.ID))
	})
	found, next = cut(found, q.Limit)
	return found, next, nil
}

func (k *sessionRow) matches(text string) bool {
	return strings.Contains(lower(k.Title), text) ||
		slices.ContainsFunc(k.entries, func(e Entry) bool { return strings.Contains(lower(e.Text), text) })
}

// lower folds ASCII letters alone, as SQLite's lower does.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// cut truncates the sessions to limit and gives the cursor of the next page.
func cut(found []Session, limit int) ([]Session, string) {
	if limit <= 0 || len(found) <= limit {
		return found, ""
	}
	last := found[limit-1]
	return found[:limit], strconv.FormatInt(last.Updated.UnixMicro(), 10) + " " + last.ID
}

// page parses a cursor of cut.
func page(after string) (updated int64, id string, ok bool) {
	at, id, ok := strings.Cut(after, " ")
	updated, err := strconv.ParseInt(at, 10, 64)
	return updated, id, ok && err == nil
}

func (m *memory) Entries(id string, kinds ...Kind) (Session, []Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.sessions[id]
	if k == nil {
		return Session{}, nil, ErrUnknown
	}
	return k.Session, slices.DeleteFunc(slices.Clone(k.entries), func(e Entry) bool {
		return len(kinds) > 0 && !slices.Contains(kinds, e.Kind)
	}), nil
}

func (m *memory) Blob(hash string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.blobs[hash]; b != nil {
		return b.data, nil
	}
	return "", ErrGone
}

func (m *memory) Size() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size, nil
}

func (m *memory) Collect(most int64, before time.Time) (Collected, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.collect(most, before), nil
}

func (m *memory) collect(most int64, before time.Time) (c Collected) {
	had := m.size
	old := m.now().Add(-keepIntents)
	if before.After(old) {
		old = before
	}
	for _, id := range slices.Sorted(maps.Keys(m.intents)) {
		if j := m.intents[id]; j.outcome != disk.Open && (j.ended.Before(old) || m.size > most) {
			m.drop(id)
			c.Intents++
		}
	}
	aged := m.now().Add(-keepAudit)
	if before.After(aged) {
		aged = before
	}
	c.Records = m.dropAudit(aged)
	var free []*sessionRow
	for _, k := range m.sessions {
		if !k.held {
			free = append(free, k)
		}
	}
	slices.SortFunc(free, func(a, b *sessionRow) int { return a.Updated.Compare(b.Updated) })
	for _, k := range free {
		if k.Updated.Before(before) || m.size > most {
			m.forget(k.ID)
			c.Sessions++
		}
	}
	for _, j := range m.intents {
		if j.outcome == disk.Open && j.Time.UnixMicro() < before.UnixMicro() && m.sessions[j.Session] == nil {
			m.empty(j)
		}
	}
	c.Bytes = had - m.size
	return c
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.sessions {
		k.held = false
	}
	for _, j := range m.intents {
		j.held = false
	}
	return nil
}

func (m *memory) Stats() (Stats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Stats{Size: m.size, Quota: m.quota, Sessions: len(m.sessions)}
	for _, j := range m.intents {
		if j.outcome == disk.Open {
			s.Intents++
		}
	}
	return s, nil
}

// intentRow is an intent. Its Before are in the blobs.
type intentRow struct {
	disk.Intent
	held      bool
	judged    bool
	forgotten bool // its session was deleted before it had ended
	outcome   disk.Outcome
	ended     time.Time
	kept      []Backup // references to blobs
}

// bare clears the bytes before.
func (j *intentRow) bare() {
	for i := range j.Files {
		j.Files[i].Before = nil
	}
}

// Begin implements disk.Journal.
func (m *memory) Begin(in disk.Intent) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	in.ID, in.Files = m.last, slices.Clone(in.Files)
	j := &intentRow{Intent: in, held: true}
	if in.Session != "" && m.sessions[in.Session] == nil {
		for _, other := range m.intents {
			j.forgotten = j.forgotten || other.Session == in.Session && other.forgotten
		}
	}
	for i := range in.Files {
		f := &in.Files[i]
		if f.Before == nil {
			continue
		}
		f.BeforeHash = cmp.Or(f.BeforeHash, hashOf(string(f.Before)))
		m.refFor(j, f.BeforeHash, f.Path, in.Time, string(f.Before))
		f.Before = []byte{} // the bytes are in the blobs
	}
	m.intents[in.ID] = j
	if m.size > m.quota {
		m.collect(m.quota, time.Time{})
	}
	return in.ID, nil
}

func (m *memory) refFor(j *intentRow, hash, path string, at time.Time, data string) {
	b := Backup{Hash: hash, Path: path, Time: time.UnixMicro(at.UnixMicro()), Session: j.Session, Tool: j.Tool}
	if !slices.ContainsFunc(j.kept, func(k Backup) bool { return k.Hash == hash && k.Path == path }) {
		j.kept = append(j.kept, b)
		m.ref(hash, data)
	}
}

// Backups implements Store.
func (m *memory) Backups(path string) (found []Backup, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(m.intents))) {
		of := slices.Clone(m.intents[id].kept)
		slices.SortFunc(of, func(a, b Backup) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Hash, b.Hash)) })
		found = append(found, slices.DeleteFunc(of, func(b Backup) bool { return path != "" && b.Path != path })...)
	}
	return found, nil
}

// Keep implements disk.Journal.
func (m *memory) Keep(intent int64, path string, data []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.intents[intent]
	if j == nil {
		return "", fmt.Errorf("there is no intent %d", intent)
	}
	hash := hashOf(string(data))
	m.refFor(j, hash, path, m.now(), string(data))
	return hash, nil
}

// End implements disk.Journal.
func (m *memory) End(id int64, o disk.Outcome) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.intents[id]
	if j == nil {
		return nil
	}
	j.outcome, j.ended = o, m.now()
	if !j.forgotten {
		return nil
	}
	j.kept = slices.DeleteFunc(j.kept, func(b Backup) bool { // the bytes before; those passed to Keep stay
		mine := slices.ContainsFunc(j.Files, func(f disk.Planned) bool { return f.BeforeHash == b.Hash })
		if mine {
			m.unref(b.Hash)
		}
		return mine
	})
	j.bare()
	if len(j.kept) == 0 {
		delete(m.intents, id)
	}
	return nil
}

// Orphans implements disk.Journal, with the intents left open by Close.
func (m *memory) Orphans() (found []disk.Intent, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.intents)) {
		j := m.intents[id]
		if j.held || j.outcome != disk.Open {
			continue
		}
		j.held, j.judged = true, true
		in := j.Intent
		in.Files = slices.Clone(in.Files)
		for i, f := range in.Files {
			if b := m.blobs[f.BeforeHash]; f.Before != nil && b != nil {
				in.Files[i].Before = []byte(b.data)
			}
		}
		found = append(found, in)
	}
	return found, nil
}

// RecoveredIntents implements Store.
func (m *memory) RecoveredIntents(session string) (found []RecoveredIntent, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.intents)) {
		if j := m.intents[id]; j.judged && !j.forgotten && j.Session == session {
			in := j.Intent
			in.Files = slices.Clone(in.Files)
			for i := range in.Files {
				in.Files[i].Before = nil
			}
			found = append(found, RecoveredIntent{in, j.outcome})
		}
	}
	return found, nil
}

func (m *memory) drop(id int64) {
	for _, b := range m.intents[id].kept {
		m.unref(b.Hash)
	}
	delete(m.intents, id)
}

func hashOf(data string) string {
	h := sha256.Sum256([]byte(data))
	return hex.EncodeToString(h[:])
}
