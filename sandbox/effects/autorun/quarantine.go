package autorun

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tandem/sandbox/git"
)

// Quarantine is a folder with what was taken out of workspaces. Each thing has a folder of its own
// there, with its description and its content. It may be used by several processes at once.
type Quarantine struct {
	// Dir is its absolute path; it is made when it is needed, for its owner alone.
	Dir string
	Now func() time.Time
}

// Quarantined describes one thing in the quarantine.
type Quarantined struct {
	ID   string `json:"id"`
	Root string `json:"root"`
	// Path is where it stood, relative to the root. Mode is that of fs.FileMode. Link is where a
	// link led.
	Path    string      `json:"path"`
	Mode    fs.FileMode `json:"mode"`
	Link    string      `json:"link,omitempty"`
	Time    time.Time   `json:"time"`
	Session string      `json:"session"`
	Call    string      `json:"call"`
}

const (
	description = "about.json"
	content     = "content"
)

// take moves what was found away, and puts back what was there before the command where that is
// known. What has been replaced by a folder since, or has gone, is an error.
func (q *Quarantine) take(f finding, session, call string) (t Quarantined, err error) {
	top, err := os.OpenRoot(filepath.FromSlash(f.Now.Root))
	if err != nil {
		return t, err
	}
	defer top.Close()
	name := filepath.FromSlash(f.name())
	info, err := top.Lstat(name)
	if err != nil {
		return t, err
	}
	if info.IsDir() {
		return t, errors.New("it is a folder by now")
	}
	var random [4]byte
	_, _ = rand.Read(random[:])
	now := q.Now()
	t = Quarantined{
		ID: now.UTC().Format("20060102-150405-") + hex.EncodeToString(random[:]), Root: f.Now.Root, Path: f.name(), Mode: info.Mode(),
		Time: now, Session: session, Call: call,
	}
	dir := filepath.Join(q.Dir, t.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return t, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		t.Link, err = top.Readlink(name)
	case info.Mode().IsRegular():
		err = copied(top, name, filepath.Join(dir, content))
	}
	if err != nil {
		return t, errors.Join(err, os.RemoveAll(dir))
	}
	about, err := json.Marshal(t)
	if err == nil {
		err = written(filepath.Join(dir, description), bytes.NewReader(about))
	}
	if err == nil {
		err = top.Remove(name)
	}
	if err == nil && f.Action == actionRevert {
		err = f.back(top)
	}
	return t, err
}

// mend puts back what is gone.
func mend(f finding) error {
	top, err := os.OpenRoot(filepath.FromSlash(f.Now.Root))
	if err != nil {
		return err
	}
	defer top.Close()
	return f.back(top)
}

// back puts back what was there before. With the HEAD of a repository comes what git wants beside
// it.
func (f finding) back(top *os.Root) error {
	name := filepath.FromSlash(f.name())
	if f.Was.Kind == kindHead {
		for _, folder := range git.Data() {
			if err := top.MkdirAll(filepath.Join(filepath.Dir(name), folder), 0o777); err != nil {
				return err
			}
		}
	}
	if err := put(top, name, f.Was.Mode, f.Was.Text, strings.NewReader(f.Was.Text)); !errors.Is(err, fs.ErrExist) || f.Action != actionMend {
		return err
	}
	return nil
}

// copied copies a regular file.
func copied(top *os.Root, name, to string) error {
	from, err := top.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, errors.New("it is no regular file by now"))
	}
	return written(to, from)
}

func written(to string, from io.Reader) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}

// put makes a file or a link where nothing stands.
func put(top *os.Root, name string, mode fs.FileMode, link string, from io.Reader) error {
	if mode&fs.ModeSymlink != 0 {
		return top.Symlink(link, name)
	}
	f, err := top.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Chmod(mode.Perm()), f.Close())
}

// List gives what is in the quarantine, the oldest first.
func (q *Quarantine) List() (all []Quarantined, err error) {
	entries, err := os.ReadDir(q.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(q.Dir, e.Name(), description))
		var t Quarantined
		if err == nil && json.Unmarshal(text, &t) == nil && t.ID == e.Name() {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Quarantined) int { return a.Time.Compare(b.Time) })
	return all, err
}

// Restore puts a thing back to where it stood, and takes it out of the quarantine. It fails if
// something stands there.
func (q *Quarantine) Restore(id string) (Quarantined, error) {
	all, err := q.List()
	if err != nil {
		return Quarantined{}, err
	}
	i := slices.IndexFunc(all, func(t Quarantined) bool { return t.ID == id })
	if i < 0 {
		return Quarantined{}, fmt.Errorf("there is no %q in the quarantine: list them by tandem quarantine list", id)
	}
	t := all[i]
	dir, name := filepath.Join(q.Dir, t.ID), filepath.FromSlash(t.Path)
	top, err := os.OpenRoot(filepath.FromSlash(t.Root))
	if err != nil {
		return t, err
	}
	defer top.Close()
	if !t.Mode.IsRegular() && t.Mode&fs.ModeSymlink == 0 {
		return t, fmt.Errorf("%s was no file (%v): it cannot be put back", t.Path, t.Mode)
	}
	if err := top.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return t, err
	}
	var from io.Reader = strings.NewReader("")
	if t.Mode.IsRegular() {
		f, err := os.Open(filepath.Join(dir, content))
		if err != nil {
			return t, err
		}
		defer f.Close()
		from = f
	}
	err = put(top, name, t.Mode, t.Link, from)
	if errors.Is(err, fs.ErrExist) {
		return t, fmt.Errorf("%s is there already: move it away first", filepath.Join(filepath.FromSlash(t.Root), name))
	}
	if err != nil {
		return t, err
	}
	return t, os.RemoveAll(dir)
}
