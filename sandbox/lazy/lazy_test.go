package lazy_test

import (
	"sync"
	"testing"

	"tandem/sandbox/lazy"
)

// TestRegexp: an expression is compiled once, whoever asks first, and not before.
func TestRegexp(t *testing.T) {
	r, bad := lazy.Regexp{Text: `^a+$`}, lazy.Regexp{Text: `(`}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if !r.Get().MatchString("aa") || r.Get().MatchString("ab") {
				t.Error("it is not the expression")
			}
		})
	}
	wg.Wait()
	defer func() {
		if recover() == nil {
			t.Error("an expression that is none was compiled")
		}
	}()
	bad.Get()
}
