package backend

import (
	"testing"
	"time"

	"tandem/sandbox/effects"
)

// TestFaultT5WhoseChange: a change may be by another command where that ran when the file was changed, as far as the times of files tell,
// and wherever the file is gone, which has no time.
func TestFaultT5WhoseChange(t *testing.T) {
	began := time.Unix(1_000, 0)
	ended := began.Add(time.Minute)
	runs := []command{{began: began}}
	over := []command{{began: began, ended: ended}}
	at := func(d time.Duration) effects.File { return effects.File{Exists: true, Changed: began.Add(d)} }
	for name, c := range map[string]struct {
		after  effects.File
		others []command
		want   bool
	}{
		"none beside it":                   {at(0), nil, false},
		"before the other began":           {at(-time.Second), runs, false},
		"in the tick before that":          {at(-tick + 1), runs, true},
		"while the other runs":             {at(time.Hour), runs, true},
		"while the other ran":              {at(time.Second), over, true},
		"in the tick after its end":        {at(time.Minute + tick - 1), over, true},
		"after the other had ended":        {at(time.Minute + time.Second), over, false},
		"one of several":                   {at(time.Second), append([]command{{began: ended}}, over...), true},
		"deleted while the other ran":      {effects.File{}, over, true},
		"deleted with nothing beside that": {effects.File{}, nil, false},
	} {
		if got := mixed(effects.Change{After: c.after}, c.others); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestFaultT5CommandsBeside: a command runs beside those that have not ended before it began. They are kept as long as one that may ask runs.
func TestFaultT5CommandsBeside(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	a, c, d := &command{began: at(1), ended: at(3)}, &command{began: at(2)}, &command{began: at(4)}
	b := &overlapping{commands: []*command{a, c, d}}
	if out := b.end(d); len(out) != 1 || out[0] != *c {
		t.Errorf("beside the last: %+v", out)
	}
	if len(b.commands) != 3 {
		t.Errorf("%d are kept while one runs that began before they ended", len(b.commands))
	}
	if out := b.end(c); len(out) != 2 || out[0] != *a || out[1] != *d {
		t.Errorf("beside the first: %+v", out)
	}
	if len(b.commands) > 1 {
		t.Errorf("%d are kept, though none runs", len(b.commands))
	}
}
