package agent

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tandem/agent/store"
)

// countingBlobs counts the texts that are read of a store.
type countingBlobs struct {
	store.Store
	read int
}

func (c *countingBlobs) Blob(hash string) (string, error) {
	c.read++
	return c.Store.Blob(hash)
}

// TestEventsOfAStoredSessionAreMadeOneByOne: the texts that calls have changed are read when the
// events of the call are wanted, so that a session of many edits of a large file does not lie in
// memory many times while it is loaded.
func TestEventsOfAStoredSessionAreMadeOneByOne(t *testing.T) {
	const calls = 20
	st := store.NewMemory(1<<20, time.Now)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := st.Save(store.Session{ID: "kept"}); err != nil {
		t.Fatal(err)
	}
	entry := func(kind store.Kind, call, body string, blobs ...store.Blob) store.Entry {
		return store.Entry{Time: time.Unix(1, 0), Turn: 1, Kind: kind, Call: call, Body: json.RawMessage(body), Blobs: blobs}
	}
	for i := range calls {
		call := fmt.Sprintf("call_%d", i)
		if err := st.Append("kept",
			entry(store.Call, call, `{"name":"edit_file","arguments":"{}"}`),
			entry(store.Result, call, `{"phase":"result","result":{"Success":true,"Data":"done","Value":{"z":1,"a":[2.50]}}}`),
			entry(store.Change, call, `{"path":"/w/a","operation":"edit"}`, store.Blob{Data: fmt.Sprint("before ", i)}, store.Blob{Data: fmt.Sprint("after ", i)}),
		); err != nil {
			t.Fatal(err)
		}
	}
	counted := &countingBlobs{Store: st}
	past, err := ReadPast(counted, "kept")
	if err != nil {
		t.Fatal(err)
	}
	if counted.read != 0 {
		t.Errorf("%d texts were read before an event was wanted", counted.read)
	}
	told := 0
	for e := range past.Events() {
		if e.Call == nil || e.Call.Result == nil {
			continue
		}
		told++
		files := e.Call.Result.Landed.Files
		if n := told - 1; len(files) != 1 || files[0].After.String() != fmt.Sprint("after ", n) {
			t.Errorf("event %d has %+v", told, files)
		}
		if raw, err := json.Marshal(e.Call.Result.Value); err != nil || string(raw) != `{"z":1,"a":[2.50]}` {
			t.Errorf("the value is %s, %v", raw, err)
		}
		if counted.read > 2*told {
			t.Fatalf("%d texts were read for %d calls", counted.read, told)
		}
		if told == calls/2 {
			break
		}
	}
	if counted.read != calls {
		t.Errorf("%d texts were read for half of %d calls", counted.read, calls)
	}
	all := 0
	for range past.Events() {
		all++
	}
	if all != 2*calls {
		t.Errorf("%d events of %d calls", all, calls)
	}
}

// TestStoredBodyWithoutAResult: an entry of a result that holds none is a call without a result.
func TestStoredBodyWithoutAResult(t *testing.T) {
	for raw, has := range map[string]bool{
		`{}`: false, `{"phase":"error"}`: false, `{"result":null}`: false,
		`{"result":{"Success":true}}`: true, `{"result":{"Data":"x"}}`: true, `{"result":{"Error":"UNKNOWN"}}`: true,
		`{"result":{"Success":true,"Data":"x","Value":null}}`: true,
	} {
		var b body
		if err := b.decode(store.Entry{Kind: store.Result, Body: json.RawMessage(raw)}); err != nil || (b.Result != nil) != has {
			t.Errorf("%s: %v %v", raw, b.Result, err)
		}
		if b.Result != nil && b.Result.Value != nil {
			t.Errorf("%s: a value %v", raw, b.Result.Value)
		}
	}
}
