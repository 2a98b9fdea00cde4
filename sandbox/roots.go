package sandbox

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Roots are the folders that Places lie below. Each is held open while Paths have it for a root, until their Close, and otherwise
// only during a call. The fields are set before the first call and stay as they are; all methods may be called concurrently.
type Roots struct {
	// Home is the absolute home folder, "" for none: some names hold keys only there.
	Home string
	// Own are absolute paths of files and folders, which need not exist, of the class Internal. Symbolic links on the way to
	// them are followed, so what a link of the configuration leads to is Internal too.
	Own []string

	mu       sync.Mutex
	held     map[string]*root
	home     string   // without links
	internal []string // Own, and where its links led when look was called last
	walks    bool     // a test wants it as where the kernel has no openat2
}

// root is a folder that is held open, and its canonical path.
type root struct {
	set   *Roots
	path  string
	names int // of the path

	mu     sync.Mutex
	users  int         // Paths, and calls under way: the folder is held while there are any
	handle *os.File    // may be nil
	info   fs.FileInfo // of the folder that is held
	gone   bool        // another folder has its path: it is never opened anew
}

// add makes a canonical path a root. Where another folder has come to stand at the path of one that is there, the new one is
// the root from now on; Places below the other one stay there.
func (s *Roots) add(canonical string) *root {
	if info, err := os.Stat(canonical); err == nil && !info.IsDir() {
		canonical = filepath.Dir(canonical) // who is allowed one file has its folder for a root: Paths judges the rest
	}
	s.look()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.held[canonical]
	if r == nil || r.replaced() {
		if r != nil {
			r.retire()
		}
		r = &root{set: s, path: canonical, names: len(namesOf(canonical))}
		if s.held == nil {
			s.held = map[string]*root{}
		}
		s.held[canonical] = r
	}
	return r
}

// look finds out where the links of Own lead now.
func (s *Roots) look() {
	home, internal := "", make([]string, 0, 2*len(s.Own))
	if s.Home != "" {
		home = Canonical(s.Home)
	}
	for _, own := range s.Own {
		internal = append(internal, filepath.Clean(own), Canonical(own))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home, s.internal = home, internal
}

// Add makes an absolute path a root, as a folder of the workspace is. Symbolic links on the way to it are followed, now.
func (s *Roots) Add(path string) {
	if real, err := realpath(filepath.Clean(path)); err == nil && filepath.IsAbs(path) {
		s.add(real)
	}
}

// Wide says that a folder is too much to be a root without a question: the top, the home folder, what lies above it, and what the
// configuration or the state lies in. Symbolic links on the way to it are followed.
func (s *Roots) Wide(folder string) bool {
	folder = Canonical(folder)
	holds := func(path string) bool {
		return path != "" && (Canonical(path) == folder || within(folder, Canonical(path)) || within(folder, filepath.Clean(path)))
	}
	return folder == "/" || holds(s.Home) || slices.ContainsFunc(s.Own, func(own string) bool { return within(folder, filepath.Clean(own)) })
}

// Place gives a canonical path its Place below the innermost root that it lies in, whoever added that. It judges no right: that is
// for Paths, and so is the class that decides who is asked. The error, for a path below no root, is a *PathError.
func (s *Roots) Place(canonical string) (Place, error) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	return innermost(all, canonical)
}

// innermost gives a canonical path its Place below the innermost of some roots.
func innermost(roots []*root, canonical string) (Place, error) {
	canonical = filepath.Clean(canonical)
	var best *root
	for _, r := range roots {
		if (canonical == r.path || within(r.path, canonical)) && (best == nil || len(r.path) > len(best.path)) {
			best = r
		}
	}
	if best == nil {
		return Place{}, refuse("OUTSIDE_ROOTS", "outside", canonical,
			"%s lies in no folder of the workspace. Ask the user to open its folder.", shorten(canonical))
	}
	return best.place(relative(best.path, canonical)), nil
}

// place is the Place of a clean path below the root.
func (r *root) place(rel string) Place {
	p := Place{root: r, rel: rel}
	p.class = r.set.classOfPath(p.Path(), r.names)
	return p
}

// classOfPath judges by the names of a canonical path, of which the first few are those of its root.
func (s *Roots) classOfPath(canonical string, root int) Class {
	s.mu.Lock()
	internal, top := s.internal, s.home
	s.mu.Unlock()
	if rootOf(internal, canonical) != "" {
		return Internal
	}
	home := -1
	if top != "" && within(top, canonical) {
		home = len(namesOf(top))
	}
	return classOf(namesOf(canonical), home, root)
}

// classOfFile judges what stands at a Place by its identity: whether it, or a folder that it lies in, is one of Own. With further,
// since it has names elsewhere, it may also be one of the files in those folders, or one of those that hold keys. info is nil
// where nothing stands there.
func (s *Roots) classOfFile(p Place, info fs.FileInfo, further bool) Class {
	var chain []fs.FileInfo
	if info != nil {
		chain = append(chain, info)
	}
	for folder := p; folder.rel != "."; {
		folder, _ = folder.Parent()
		if info, err := folder.Stat(); err == nil {
			chain = append(chain, info)
		}
	}
	is := func(path string) bool {
		there, err := os.Stat(path)
		return err == nil && slices.ContainsFunc(chain, func(i fs.FileInfo) bool { return os.SameFile(i, there) })
	}
	switch {
	case slices.ContainsFunc(s.Own, is), further && slices.ContainsFunc(s.Own, func(own string) bool {
		return slices.ContainsFunc(filesIn(own), is)
	}):
		return Internal
	case further && slices.ContainsFunc(s.secrets(p.root.path), is):
		return Secret
	}
	return Plain
}

// secrets are paths in the home folder, and of the topmost level of a root, at which keys are kept.
func (s *Roots) secrets(root string) []string {
	var out []string
	if s.Home != "" {
		for first, rows := range classes().exact {
			for _, r := range rows {
				if r.class == Secret {
					out = append(out, filepath.Join(s.Home, first, filepath.Join(r.names[1:]...)))
				}
			}
		}
		out = append(out, filesIn(filepath.Join(s.Home, ".ssh"))...)
	}
	for _, path := range filesIn(root) {
		if s.classOfPath(path, len(namesOf(root))).Unlisted() {
			out = append(out, path)
		}
	}
	return out
}

// filesIn are the paths of what stands in a folder.
func filesIn(folder string) (out []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		out = append(out, filepath.Join(folder, e.Name()))
	}
	return out
}

// namesOf are the names of a clean absolute path.
func namesOf(path string) []string {
	if path = strings.Trim(filepath.ToSlash(path), "/"); path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// relative is a clean path, which lies in base or is it, as seen from it.
func relative(base, path string) string {
	if rel := strings.Trim(strings.TrimPrefix(path, strings.TrimSuffix(base, "/")), "/"); rel != "" {
		return filepath.ToSlash(rel)
	}
	return "."
}

// replaced says that another folder stands at the root's path than the one that is held.
func (r *root) replaced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := os.Lstat(r.path)
	return err == nil && r.handle != nil && !os.SameFile(r.info, now)
}

// retire says that another folder has the root's path from now on.
func (r *root) retire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
}

// hold keeps the folder open, if it is there, until release.
func (r *root) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users++
	_ = r.opened() // what is not there yet, or cannot be opened, is tried again
}

// release ends one hold, or one use of folder.
func (r *root) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
}

// drop takes one user away, and closes the folder after the last one. r.mu is held.
func (r *root) drop() {
	if r.users--; r.users == 0 && r.handle != nil {
		_ = r.handle.Close()
		r.handle, r.info = nil, nil
	}
}

// opened opens the folder unless that is done. r.mu is held.
func (r *root) opened() error {
	if r.handle != nil {
		return nil
	}
	if r.gone {
		return fs.ErrNotExist
	}
	f, err := holdRoot(r.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	r.handle, r.info = f, info
	return nil
}

// folder gives the folder, for use until release, which must be called unless there is an error. While nothing, or something else,
// stands at the root's path, there is none: what is done by a path is done to what has that path.
func (r *root) folder() (*os.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.opened(); err != nil {
		return nil, err
	}
	r.users++
	now, err := os.Lstat(r.path)
	if err != nil || !os.SameFile(r.info, now) {
		r.drop()
		return nil, fs.ErrNotExist
	}
	return r.handle, nil
}
