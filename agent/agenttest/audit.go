// Package agenttest has a store for tests, and checks what sessions have left in theirs.
package agenttest

import (
	"strings"
	"testing"
	"time"

	"tandem/agent"
	"tandem/agent/store"
)

// Store gives a store in memory that a test can look into after its user has closed it: it is closed with the test.
func Store(t testing.TB) store.Store {
	st := store.NewMemory(store.Quota, time.Now)
	t.Cleanup(func() { _ = st.Close() }) // nothing of it is kept
	return lasting{st}
}

type lasting struct{ store.Store }

// Close waits until all is written.
func (l lasting) Close() error {
	_, err := l.RecoveredIntents("")
	return err
}

// Audited fails t unless the audit of st verifies, and has one record with an end of each call that ended, and none besides. The
// sessions must have ended.
func Audited(t testing.TB, st store.Store) {
	t.Helper()
	if _, err := st.VerifyAudit(); err != nil {
		t.Error(err)
	}
	type id struct{ session, call string }
	records, known := map[id]int{}, map[id]bool{}
	found, err := agent.ReadAudit(st, agent.AuditQuery{})
	if err != nil {
		t.Error(err)
	}
	for _, a := range found {
		if a.Pending {
			t.Errorf("the audit has no end of %s %s, a call of %s", a.Session, a.Call, a.Tool)
		}
		records[id{a.Session, a.Call}]++
	}
	all, _, err := st.Sessions(store.Query{})
	if err != nil {
		t.Error(err)
	}
	for _, s := range all {
		_, entries, err := st.Entries(s.ID, store.Call, store.Result)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			of := id{s.ID, e.Call}
			if n := records[of]; n > 1 || n == 0 && e.Kind == store.Result {
				t.Errorf("the audit has %d records of %s %s", n, s.ID, e.Call)
			}
			known[of] = true
		}
		for of := range records {
			call, _, _ := strings.Cut(of.call, "/") // the approval of what a call has planned has a record of its own
			if of.session == s.ID && !known[id{s.ID, call}] {
				t.Errorf("the audit has a record of %s %s, which nobody asked for", of.session, of.call)
			}
		}
	}
}
