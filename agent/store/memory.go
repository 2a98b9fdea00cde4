package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// NewMemory makes a Store that ends with the process. It keeps to quota by forgetting the sessions that were not used
// for longest, and where that is not enough, texts.
func NewMemory(quota int64, now func() time.Time) Store {
	return &memory{quota: quota, now: now, sessions: map[string]*kept{}, blobs: map[string]*shared{}}
}

type memory struct {
	quota int64
	now   func() time.Time

	mu       sync.Mutex
	sessions map[string]*kept
	blobs    map[string]*shared
	size     int64
}

type kept struct {
	Session
	held    bool
	entries []Entry
	size    int64
}

// shared is a blob and how many entries have it.
type shared struct {
	data string
	uses int
}

func (m *memory) Save(s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.sessions[s.ID]
	if k == nil {
		k = &kept{}
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

// put keeps a text, unless there is no room for it.
func (m *memory) put(hash, data string) {
	b := m.blobs[hash]
	if b == nil {
		if m.size+int64(len(data)) > m.quota {
			if m.collect(m.quota-int64(len(data)), time.Time{}); m.size+int64(len(data)) > m.quota {
				return
			}
		}
		b = &shared{data: strings.Clone(data)}
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
	delete(m.sessions, id)
	m.size -= k.size
	for _, e := range k.entries {
		for _, b := range e.Blobs {
			s := m.blobs[b.Hash]
			if s == nil {
				continue
			}
			if s.uses--; s.uses == 0 {
				delete(m.blobs, b.Hash)
				m.size -= int64(len(s.data))
			}
		}
	}
}

func (m *memory) Sessions(q Query) (found []Session, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	after, id, paged := page(q.After)
	for _, k := range m.sessions {
		if q.Cwd != "" && k.Cwd != q.Cwd || q.Text != "" && !k.says(lower(q.Text)) {
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

func (k *kept) says(text string) bool {
	return strings.Contains(lower(k.Title), text) ||
		slices.ContainsFunc(k.entries, func(e Entry) bool { return strings.Contains(lower(e.Text), text) })
}

// lower is what SQLite makes of letters: those of ASCII alone.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// cut takes a page off the sessions, which may be one more than limit.
func cut(found []Session, limit int) ([]Session, string) {
	if limit <= 0 || len(found) <= limit {
		return found, ""
	}
	last := found[limit-1]
	return found[:limit], strconv.FormatInt(last.Updated.UnixMicro(), 10) + " " + last.ID
}

// page reads what cut wrote.
func page(after string) (updated int64, id string, ok bool) {
	at, id, ok := strings.Cut(after, " ")
	updated, err := strconv.ParseInt(at, 10, 64)
	return updated, id, ok && err == nil
}

func (m *memory) Entries(id string) (Session, []Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.sessions[id]; k != nil {
		return k.Session, slices.Clone(k.entries), nil
	}
	return Session{}, nil, ErrUnknown
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
	var free []*kept
	for _, k := range m.sessions {
		if !k.held {
			free = append(free, k)
		}
	}
	slices.SortFunc(free, func(a, b *kept) int { return a.Updated.Compare(b.Updated) })
	for _, k := range free {
		if k.Updated.Before(before) || m.size > most {
			m.forget(k.ID)
			c.Sessions++
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
	return nil
}

func hashOf(data string) string {
	h := sha256.Sum256([]byte(data))
	return hex.EncodeToString(h[:])
}
