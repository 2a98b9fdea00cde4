package watch

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestF188EveryKindOfSave has a file saved in the ways that programs have, each of which must be told of.
func TestF188EveryKindOfSave(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")
	write := func(p, s string) {
		t.Helper()
		if err := os.WriteFile(p, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "one")
	write(other, "one")
	told := make(chan string, 64)
	w := New(func(p string) { told <- p }, slog.New(slog.DiscardHandler))
	defer w.Close()
	expect := func(want string) {
		t.Helper()
		deadline := time.After(5 * time.Second)
		for {
			select {
			case got := <-told:
				if got == want {
					return
				}
			case <-deadline:
				t.Fatalf("not told of %s", want)
			}
		}
	}
	w.Add(path)
	expect(path) // what happened before the watch was there
	w.Add(other)
	expect(other)

	write(path, "two")
	expect(path)
	write(path+".new", "three")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	expect(path)
	write(path, "four") // still watched after the file behind the name has changed
	expect(path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect(path)
	write(path, "five")
	expect(path)
	write(filepath.Join(dir, "unwatched"), "x")
	write(other, "six")
	expect(other)
	if err := w.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
}

func TestNothingIsOpenedBeforeTheFirstFile(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := New(func(string) {}, slog.New(slog.DiscardHandler))
	if w.w != nil {
		t.Error("a watch without a file")
	}
	w.Close()
	w.Add("/nowhere/at/all") // after Close it does nothing
	if w.w != nil {
		t.Error("a watch after Close")
	}
}

func TestAFolderThatIsMissing(t *testing.T) {
	w := New(func(string) {}, slog.New(slog.DiscardHandler))
	defer w.Close()
	w.Add(filepath.Join(t.TempDir(), "none", "a.txt"))
	if err := w.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
}
