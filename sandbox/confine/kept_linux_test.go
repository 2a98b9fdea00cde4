package confine

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRulesetKept: a ruleset is made once for a policy, and again for another one, for another kind
// of process, and where what it was made of has changed.
func TestRulesetKept(t *testing.T) {
	folder := t.TempDir()
	at := filepath.Join(folder, "a")
	must(t, os.Mkdir(at, 0o700))
	read := Policy{Rules: []Rule{{"/", Read}, {"/etc/passwd", Hidden}, {at, Write}}, Network: NoNetwork}
	written := Policy{Rules: []Rule{{"/", Read}, {"/etc/passwd", Hidden}, {at, Read}}, Network: NoNetwork}
	var l Landlock
	defer l.forget()
	made := func(p Policy, namespaces bool) bool {
		t.Helper()
		valid := l.valid(p, namespaces)
		before := l.fd
		fd, err := l.ruleset(p, namespaces)
		must(t, err)
		if valid && fd != before {
			t.Error("a valid ruleset was made again")
		}
		return !valid
	}
	steps := []struct {
		what       string
		change     func()
		policy     Policy
		namespaces bool
		made       bool
	}{
		{"the first", func() {}, read, true, true},
		{"the same", func() {}, read, true, false},
		{"without namespaces", func() {}, read, false, true},
		{"another policy", func() {}, written, false, true},
		{"the same again", func() {}, written, false, false},
		{"another network", func() {}, Policy{Rules: written.Rules, Network: Loopback}, false, true},
		{"the policy before", func() {}, written, false, true},
		{"another folder at a path", func() {
			must(t, os.Mkdir(at+"2", 0o700), os.Remove(at), os.Rename(at+"2", at))
		}, written, false, true},
		{"none at a path", func() { must(t, os.Remove(at)) }, written, false, true},
		{"one anew", func() { must(t, os.Mkdir(at, 0o700)) }, written, false, true},
	}
	for _, s := range steps {
		if s.change(); made(s.policy, s.namespaces) != s.made {
			t.Errorf("%s: made is %t", s.what, !s.made)
		}
	}
}

// TestListedFolderChanges: a change of a folder whose names have become rules is noticed, and one
// that might not be noticed keeps the ruleset from being kept.
func TestListedFolderChanges(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	for what, change := range map[string]func(folder string){
		"a name more": func(folder string) { must(t, os.WriteFile(folder+"/b", nil, 0o600)) },
		"a name less": func(folder string) { must(t, os.Remove(folder+"/a")) },
		"another file": func(folder string) {
			must(t, os.WriteFile(folder+"/c", nil, 0o600), os.Rename(folder+"/c", folder+"/a"))
		},
		"another folder":  func(folder string) { must(t, os.Rename(folder, folder+"2"), os.Mkdir(folder, 0o700)) },
		"no folder":       func(folder string) { must(t, os.RemoveAll(folder)) },
		"a link":          func(folder string) { must(t, os.Rename(folder, folder+"2"), os.Symlink(folder+"2", folder)) },
		"a file, by mode": func(folder string) { must(t, os.Chmod(folder, 0o750)) },
	} {
		folder := filepath.Join(t.TempDir(), "folder")
		must(t, os.Mkdir(folder, 0o700), os.WriteFile(folder+"/a", nil, 0o600), os.Chtimes(folder, long, long))
		s := seenAt(folder, true)
		if !s.same() {
			t.Errorf("%s: nothing has changed", what)
		}
		if s.settled(time.Now()) || !s.settled(time.Now().Add(time.Hour)) {
			t.Errorf("%s: a folder that was just changed is settled, or one that was not is not", what)
		}
		if change(folder); s.same() {
			t.Errorf("%s is not noticed", what)
		}
	}
	if s := seenAt(filepath.Join(t.TempDir(), "none"), false); !s.same() || !s.settled(time.Now()) {
		t.Error("what is not there")
	}
}
