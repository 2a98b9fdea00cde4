//go:build linux

package index

import (
	"context"
	"errors"
	"testing"
)

// TestOutlook compares what is foreseen of a root with what becomes of it.
func TestOutlook(t *testing.T) {
	p := workspace(t, ".git/HEAD=", ".gitignore=*.log\nout\n", "a=word\n", "b/c=word\n", "b/d.log=word\n", "out/e=word\n")
	tr, err := open(p, p.Cwd)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		least, most int
		few         bool
		reason      string
	}{
		{3, 3, false, ""},
		{4, 4, true, ""},
		{1, 2, false, "it has more than 2 files"},
	} {
		o, err := foresee(t.Context(), tr.Root(), c.least, c.most)
		if err != nil || o.Few != c.few || o.Reason != c.reason || o.Files != 3 || o.Folders != 2 || o.Watched == 0 {
			t.Errorf("at least %d, at most %d: %+v, %v", c.least, c.most, o, err)
		}
		x, settle := indexes(t)
		x.Least, x.Files = c.least, c.most
		holding(t, tr, x, "word")
		settle()
		s := x.States()[0]
		if has := s.State == "ready"; has != (!o.Few && o.Reason == "") || o.Reason != "" && s.Reason != o.Reason {
			t.Errorf("at least %d, at most %d: foreseen is %+v, and it became %+v", c.least, c.most, o, s)
		}
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("enough"))
	if _, err := Foresee(ended, tr.Root()); err == nil || err.Error() != "enough" {
		t.Error(err)
	}
}
