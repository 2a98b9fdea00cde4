package backend_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent"
	"tandem/agent/store"
	"tandem/lspserver/backend"
	"tandem/tools/run"
)

var write = flag.String("write", "", "write a store of the present version to testdata/stores under this name")

// fixture is the folder that the stores of testdata were written in. It need not be there.
const fixture = "/tmp/tandem-store-fixture"

// TestStoresOfEarlierVersions goes on with sessions that earlier versions kept. Each version that changes what is kept adds a
// store: go test ./lspserver/backend -run TestStoresOfEarlierVersions -write=NAME.
func TestStoresOfEarlierVersions(t *testing.T) {
	if *write != "" {
		writeStore(t, filepath.Join("testdata", "stores", *write+".db"))
	}
	files, err := filepath.Glob("testdata/stores/*.db")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stores: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".db"), func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kept := filepath.Join(state, "sessions.db")
			if err := os.WriteFile(kept, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			id := moved(t, kept, dir)
			f := &face{}
			b := start(t, f, state, "say and on\n", dir)
			defer b.End()
			se, err := b.Load(context.Background(), id, "")
			if err != nil {
				t.Fatal(err)
			}
			told := strings.Join(f.said(), "\n")
			for _, want := range []string{"user: change it", "call: Edit a.txt result", "says: done", "user: again", "says: nothing to do"} {
				if !strings.Contains(told, want) {
					t.Errorf("%q is missing of\n%s", want, told)
				}
			}
			if se.Title() != "change it" {
				t.Errorf("the title is %q", se.Title())
			}
			records, err := b.Records(se, "", nil, true)
			if err != nil || len(records) != 2 {
				t.Fatalf("%d records, %v", len(records), err)
			}
			if r := records[0]; r.Operation != agent.OpEdit || r.Before == nil || *r.Before != "one\ntwo\n" || *r.After != "one\n2\n" {
				t.Errorf("the change is %+v", r)
			}
			if r := records[1]; r.Operation != agent.OpUndo {
				t.Errorf("what was rejected is %+v", r)
			}
			if r := prompted(t, b, se, "more"); r.Turn != 3 || r.Stop != agent.EndTurn {
				t.Errorf("the next turn is %+v", r)
			}
			text, err := b.Export(id, "markdown")
			if err != nil || !strings.Contains(text, "nothing to do") || !strings.Contains(text, "and on") {
				t.Errorf("the export is %v\n%s", err, text)
			}
		})
	}
}

// moved makes the one session of a store that of another folder, and gives its id.
func moved(t *testing.T, file, dir string) string {
	t.Helper()
	st, err := store.Open(file, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	all, _, err := st.Sessions(store.Query{Limit: 10})
	if err != nil || len(all) != 1 || all[0].Cwd != fixture {
		t.Fatalf("the store has %+v, %v", all, err)
	}
	if _, err := st.VerifyAudit(); err != nil {
		t.Error(err)
	}
	k, _, err := st.Take(all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	k.Cwd = dir
	if err := st.Save(k); err != nil {
		t.Fatal(err)
	}
	if err := st.Release(k.ID); err != nil {
		t.Fatal(err)
	}
	return k.ID
}

// writeStore keeps a session of two turns: an edit that is allowed and rejected afterwards, and an answer.
func writeStore(t *testing.T, to string) {
	t.Helper()
	if err := os.Mkdir(fixture, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fixture)
	if err := os.WriteFile(filepath.Join(fixture, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	b := start(t, &face{answer: run.Allowed}, state, "think it over\ncall read_file {\"path\":\"a.txt\"}\n\n"+
		"call edit_file {\"path\":\"a.txt\",\"old_text\":\"two\",\"new_text\":\"2\"}\n\nsay done\n\nsay nothing to do\n", fixture)
	se, err := b.New(backend.NewSession{Mode: "acceptEdits"})
	if err != nil {
		t.Fatal(err)
	}
	prompted(t, b, se, "change it")
	if done, err := se.Reject(context.Background(), "", nil); err != nil || len(done.Changed) != 1 {
		t.Fatalf("rejected %+v, %v", done, err)
	}
	prompted(t, b, se, "again")
	b.Shutdown()
	b.End()
	raw, err := os.ReadFile(filepath.Join(state, "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
