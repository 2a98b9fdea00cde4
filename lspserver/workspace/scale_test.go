package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tandem/lspserver/workspace"
	"tandem/sandbox"
)

// TestFaultS10ManyOpenDocuments: to open a document takes as much, however many are open. It is the memory that is asked for that is
// compared: an index that grows, grows by doubling.
func TestFaultS10ManyOpenDocuments(t *testing.T) {
	const each = 4000
	dir, roots := t.TempDir(), &sandbox.Roots{}
	roots.Add(dir)
	w := workspace.New(workspace.Options{Roots: roots})
	defer w.Settle()
	opens := func(round int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range each {
			path := filepath.Join(dir, fmt.Sprintf("%d-%d.txt", round, i))
			w.Open(path, workspace.URI(path), 1, "x\n")
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	first := opens(0)
	for round := range 3 {
		if more := opens(1 + round); more > 2*first {
			t.Errorf("%d documents take %d bytes, and %d when %d are open", each, first, more, each*(1+round))
		}
	}
}

// TestFaultS10ClosedTextsGo: beside thousands of open documents the texts of files that are not open are dropped as else.
func TestFaultS10ClosedTextsGo(t *testing.T) {
	const open, read, kept = 1000, 4000, 1000
	dir, roots := t.TempDir(), &sandbox.Roots{}
	roots.Add(dir)
	w := workspace.New(workspace.Options{Roots: roots})
	defer w.Settle()
	for i := range open {
		path := filepath.Join(dir, fmt.Sprintf("open%d.txt", i))
		w.Open(path, workspace.URI(path), 1, "x\n")
	}
	for i := range read {
		path := filepath.Join(dir, fmt.Sprintf("read%d.txt", i))
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Read(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.States(nil)); n > open+kept {
		t.Errorf("%d files are known", n)
	}
	if n, _ := w.Documents(); n != open {
		t.Errorf("%d documents are open", n)
	}
}
