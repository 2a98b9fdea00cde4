package workspace

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/lspserver/stored"
)

// TestF152WrittenInPlace reads a file that another program writes in place: what is read between its truncation and its last write is
// no text of the file, unless the program leaves it so.
func TestF152WrittenInPlace(t *testing.T) {
	const before, after = "one\ntwo\nthree\n", "typed\none\ntwo\nthree\n"
	rows := []struct {
		name string
		// program has the file open for writing, truncated.
		program func(f *os.File)
		want    string
		waited  time.Duration
	}{
		{"writes it", func(f *os.File) { time.Sleep(12 * time.Millisecond); _, _ = f.WriteString(after); _ = f.Close() }, after, 15 * time.Millisecond},
		{"writes it in two parts", func(f *os.File) {
			_, _ = f.WriteString(after[:8])
			time.Sleep(12 * time.Millisecond)
			_, _ = f.WriteString(after[8:])
			_ = f.Close()
		}, after, 15 * time.Millisecond},
		{"leaves it empty", func(f *os.File) { _ = f.Close() }, "", 0},
		{"keeps it open", func(f *os.File) { time.Sleep(time.Minute); _ = f.Close() }, "", stored.WriteWait},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if runtime.GOOS != "linux" && strings.Contains(row.name, "parts") {
				t.Skip("without leases only an empty file is read again")
			}
			w, b, path := opened(t, before)
			w.Close(b.uri)
			was, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
				if err != nil {
					t.Fatal(err)
				}
				var program sync.WaitGroup
				program.Go(func() { row.program(f) })
				synctest.Wait()
				defer program.Wait()
				start := time.Now()
				now, err := w.Read(t.Context(), path)
				if err != nil || now.Text.String() != row.want {
					t.Errorf("read %q, %v, want %q", now.Text, err, row.want)
				}
				if took := time.Since(start); took != row.waited && runtime.GOOS == "linux" {
					t.Errorf("waited %v, want %v", took, row.waited)
				}
			})
			if revs, _, ok := w.History(path, was.Rev); !ok || len(revs) != 1 {
				t.Errorf("%+v: one change of the file", revs)
			}
		})
	}
}

// A file that is kept open by the program that truncated it is waited for once, also where it is no text by then.
func TestF152WaitsOnce(t *testing.T) {
	w, b, path := opened(t, "one\ntwo\nthree\n")
	w.Close(b.uri)
	if _, err := w.Read(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("\x00"); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("without leases only an empty file is read again")
	}
	for _, want := range []time.Duration{stored.WriteWait, 0, 0} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			if _, err := w.Read(t.Context(), path); err == nil || time.Since(start) != want {
				t.Errorf("%v after %v, want an error after %v", err, time.Since(start), want)
			}
		})
	}
}
