package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
)

// plainly is opened in a client that knows nothing of Tandem but LSP.
func plainly(t *testing.T, have Features) (*Workspace, *buffer, string) {
	t.Helper()
	w, b, path := opened(t, doc)
	have.Plain = true
	w.o.Features = have
	return w, b, path
}

func edit(t *testing.T, w *Workspace, path, old, now string) (filetime.Landed, error) {
	t.Helper()
	s, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return w.Commit(t.Context(), replaceIn(s, old, now))
}

func code(t *testing.T, err error, want filetime.Code, reason string) {
	t.Helper()
	var e *filetime.Error
	if !errors.As(err, &e) || e.Code != want || e.Reason != reason {
		t.Errorf("%v, want %s %s", err, want, reason)
	}
}

// What a plain client has open is never written on disk behind it, saved or not; what is closed goes there.
func TestFindingL2OpenDocumentsStayOffTheDisk(t *testing.T) {
	for _, dirty := range []bool{false, true} {
		w, b, path := plainly(t, Features{})
		want := doc
		if dirty {
			b.typeAt(0, "x")
		}
		for _, place := range []filetime.Apply{"", filetime.OnDisk} {
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			c := replaceIn(s, "four", "FOUR")
			c.Apply = place
			_, err = w.Commit(t.Context(), c)
			code(t, err, filetime.Unsupported, "no_apply_edit")
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("on disk: %q", got)
		}
		other := filepath.Join(filepath.Dir(path), "closed.txt")
		if err := os.WriteFile(other, []byte("four\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := edit(t, w, other, "four", "FOUR"); err != nil {
			t.Error(err)
		}
		if got, _ := os.ReadFile(other); string(got) != "FOUR\n" || b.tries != 0 {
			t.Errorf("closed: %q, %d edits asked for", got, b.tries)
		}
	}
}

// A client may tell late of what it has applied: the edit is not sent once more, and no other is until it has told.
func TestFindingL2SilenceIsNoRefusal(t *testing.T) {
	const want = "one two\nthree FOUR\nfive six\n"
	synctest.Test(t, func(t *testing.T) {
		w, b, path := plainly(t, Features{Apply: true, Versions: true})
		b.late = 6 * time.Second
		if _, err := edit(t, w, path, "four", "FOUR"); err != nil || b.tries != 1 || b.text != want {
			t.Errorf("%v after %d tries: %q", err, b.tries, b.text)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, b, path := plainly(t, Features{Apply: true, Versions: true})
		b.late = delivery.QuietTime + 30*time.Second
		_, err := edit(t, w, path, "four", "FOUR")
		code(t, err, filetime.Unknown, "held")
		began := time.Now()
		_, err = edit(t, w, path, "six", "SIX")
		code(t, err, filetime.Timeout, "held")
		if b.tries != 1 || time.Since(began) != delivery.QuietTimeout {
			t.Errorf("%d tries, %v", b.tries, time.Since(began))
		}
		time.Sleep(10 * time.Second)
		b.late = 0
		if _, err = edit(t, w, path, "six", "SIX"); err != nil { // which waits for the first one's echo
			t.Error(err)
		}
		if want := "one two\nthree FOUR\nfive SIX\n"; b.text != want || b.tries != 2 {
			t.Errorf("%q after %d tries", b.text, b.tries)
		}
	})
	// It is closed, or saved, without a word of the edit: the next one goes on.
	for _, then := range []func(w *Workspace, b *buffer){
		func(w *Workspace, b *buffer) { w.Saved(b.uri, nil) },
		func(w *Workspace, b *buffer) {
			w.Close(b.uri)
			w.Open(b.uri[len("file://"):], b.uri, b.ver, b.text)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, b, path := plainly(t, Features{Apply: true, Versions: true})
			b.drop = true
			_, err := edit(t, w, path, "four", "FOUR")
			code(t, err, filetime.Unknown, "held")
			b.drop = false
			then(w, b)
			if _, err = edit(t, w, path, "four", "FOUR"); err != nil || b.text != want {
				t.Errorf("%v: %q", err, b.text)
			}
		})
	}
}

// The cancel of a turn does not wait for a client that says nothing.
func TestFindingL2SilenceEndsWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, path := plainly(t, Features{Apply: true, Versions: true})
		b.drop = true
		s, err := w.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err = w.Commit(ctx, replaceIn(s, "four", "FOUR"))
		code(t, err, filetime.Unknown, "held")
		if took := time.Since(began); took > time.Second+delivery.EchoTimeout {
			t.Errorf("it took %v", took)
		}
	})
}

// An edit without a version is sent when nobody types: nothing would keep it from going to the wrong place.
func TestFindingL2NoVersionNoHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, path := plainly(t, Features{Apply: true})
		b.blind = true
		var last, sent time.Time
		b.before = func(int) { sent = time.Now() }
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 30 {
				time.Sleep(100 * time.Millisecond)
				b.typeAt(0, "k")
				last = time.Now()
			}
		}()
		time.Sleep(time.Second)
		if _, err := edit(t, w, path, "four", "FOUR"); err != nil || b.tries != 1 {
			t.Errorf("%v after %d tries", err, b.tries)
		}
		<-done
		if sent.Sub(last) < delivery.BlindGap {
			t.Errorf("sent %v after a key", sent.Sub(last))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, b, path := plainly(t, Features{Apply: true})
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					b.typeAt(0, "k")
				}
			}
		}()
		time.Sleep(time.Second)
		_, err := edit(t, w, path, "four", "FOUR")
		close(stop)
		<-done
		code(t, err, filetime.Timeout, "editor_busy")
		if b.tries != 0 {
			t.Errorf("%d edits were sent", b.tries)
		}
	})
}

// The repair of an edit at a wrong place goes on after its call; where the client says that it applied the repair and tells of
// nothing, no other edit is sent until it tells of anything.
func TestFindingL2SilenceAboutARepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, path := plainly(t, Features{Apply: true, Versions: true})
		b.blind = true
		b.before = func(try int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			switch try {
			case 1:
				b.change([]text.Edit{{Start: 8, End: 8, New: "typed "}})
			default:
				b.says = "busy"
			}
		}
		_, err := edit(t, w, path, "four", "FOUR")
		var failed *filetime.Error
		if !errors.As(err, &failed) || failed.Reason == filetime.Held {
			t.Fatal(err)
		}
		b.mu.Lock()
		b.before, b.says, b.drop = nil, "", true
		tries := b.tries
		b.mu.Unlock()
		time.Sleep(delivery.RevertTime + time.Minute)
		b.mu.Lock()
		more := b.tries - tries
		b.mu.Unlock()
		if more != 1 {
			t.Errorf("the repair was sent %d times more", more)
		}
		_, err = edit(t, w, path, "six", "SIX")
		code(t, err, filetime.Timeout, filetime.Held)
		b.drop = false
		b.typeAt(0, "k")
		if _, err = edit(t, w, path, "six", "SIX"); err != nil {
			t.Error(err)
		}
	})
}
