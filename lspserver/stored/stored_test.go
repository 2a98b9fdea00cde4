package stored

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
)

// TestHungDisk has a mount whose server is gone: who waits for it gets an answer all the same.
func TestHungDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		start := time.Now()
		_, err := Bounded("/far/f", DiskTimeout, func() (int, error) {
			<-gone
			return 1, nil
		})
		var refused *filetime.Error
		if !errors.As(err, &refused) || refused.Reason != "timeout" || time.Since(start) != DiskTimeout {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		close(gone)
		if n, err := Bounded("/far/f", DiskTimeout, func() (int, error) { return 2, nil }); n != 2 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}
