package confine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBasis: what a ruleset was made of no longer holds where another one would be made now.
func TestBasis(t *testing.T) {
	if _, err := ABI(); err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		change func(home, app string) error
		young  bool
		holds  bool
	}{
		"nothing":                      {change: func(string, string) error { return nil }, holds: true},
		"the clock may be too coarse":  {change: func(string, string) error { return nil }, young: true},
		"content":                      {change: func(home, _ string) error { return os.WriteFile(home+"/notes", []byte("x"), 0o600) }, holds: true},
		"an entry where one may write": {change: func(_, app string) error { return os.WriteFile(app+"/x", nil, 0o600) }, holds: true},
		"a new entry":                  {change: func(home, _ string) error { return os.WriteFile(home+"/new", nil, 0o600) }},
		"an entry that is gone":        {change: func(home, _ string) error { return os.Remove(home + "/notes") }},
		"an exchanged entry": {change: func(home, app string) error {
			return errors.Join(os.WriteFile(app+"/x", nil, 0o600), os.Rename(app+"/x", home+"/notes"))
		}},
		"an exchanged folder": {change: func(_, app string) error {
			return errors.Join(os.Rename(app, app+"2"), os.Mkdir(app, 0o700))
		}},
		"a link to the same folder": {change: func(_, app string) error {
			return errors.Join(os.Rename(app, app+"2"), os.Symlink(app+"2", app))
		}},
		"what was not there": {change: func(_, app string) error { return os.Mkdir(app+"/absent", 0o700) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			home, app := dir+"/home", dir+"/code/app"
			if err = errors.Join(err, os.MkdirAll(home+"/.ssh", 0o700), os.MkdirAll(app, 0o700), os.WriteFile(home+"/notes", nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			p := Policy{Network: NoNetwork, Rules: []Rule{{home, Read}, {home + "/.ssh", Hidden}, {app, Write}, {app + "/absent", Read}}}
			var b Basis
			rules, err := landlock(p, true, &b)
			if err != nil {
				t.Fatal(err)
			}
			_ = unix.Close(rules)
			if !c.young {
				b.made = b.made.Add(2 * settled)
			}
			if err := c.change(home, app); err != nil {
				t.Fatal(err)
			}
			if b.Holds() != c.holds {
				t.Errorf("it holds: %v", !c.holds)
			}
		})
	}
}
