//go:build linux

package disk

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// power knows what a power cut would take at this moment: the bytes of files that were written and not synced, and what was
// done in folders that were not.
type power struct {
	files   map[uint64]bool // by inode
	folders map[string]bool
	// later says that a text may take its path before it is on the disk, since others save the file meanwhile.
	later  bool
	errors []string
	ends   int
	root   string
}

// named takes in that a name of a folder was changed; as is the one that something has by now.
func (d *simDir) named(err error, in *simDir, as string) error {
	p := d.s.power
	if p == nil || err != nil {
		return err
	}
	p.folders[d.path], p.folders[in.path] = true, true
	if as != "" && !strings.HasPrefix(as, TempPrefix) && !p.later {
		if st, err := in.Dir.Stat(as); err == nil && p.files[st.Ino] {
			p.errors = append(p.errors, as+" is in place before its bytes are on the disk")
		}
	}
	return nil
}

// ended is told that the journal has the end of a change.
func (p *power) ended(o Outcome) {
	if o != Landed {
		return
	}
	p.ends++
	for f := range p.folders {
		if dir, err := System(nil).Open(f); err == nil { // one that is gone holds nothing
			_ = dir.Close()
			p.errors = append(p.errors, "the journal has an end before the folder "+f+" is on the disk")
		}
	}
	_ = filepath.WalkDir(p.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		dir, err := System(nil).Open(filepath.Dir(path))
		if err != nil {
			return nil
		}
		defer dir.Close()
		if st, err := dir.Stat(e.Name()); err == nil && p.files[st.Ino] {
			p.errors = append(p.errors, "the journal has an end before the bytes of "+e.Name()+" are on the disk")
		}
		return nil
	})
}

// TestFindingT1PowerCut wants what docs/files.md promises of a power cut: a text is on the disk before it takes its path, or
// right after it where others save the file all the time, and the journal has the end of a change only when the bytes and the
// folders are there.
func TestFindingT1PowerCut(t *testing.T) {
	dir := memory(t)
	runs := 0
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			for at, calls := 0, 0; at <= calls && (at == 0 || sc.other != nil); at++ {
				runs++
				w := sc.begun(t, filepath.Join(dir, fmt.Sprint(runs)), at, 0)
				w.sim.power = &power{files: map[uint64]bool{}, folders: map[string]bool{}, later: at > 0 || sc.busy, root: w.dir}
				if !sc.run(w) {
					t.Fatal("it did not come to its end")
				}
				if at == 0 {
					calls = w.sim.calls
				}
				if found := w.sim.power.errors; len(found) > 0 {
					slices.Sort(found)
					t.Fatalf("the other at %d: %q\n%q", at, slices.Compact(found), w.sim.log)
				}
				if at == 0 && w.sim.power.ends == 0 && w.err == nil {
					t.Errorf("no change has ended: %q", w.sim.log)
				}
				w.end()
			}
		})
	}
	t.Logf("%d runs", runs)
}
