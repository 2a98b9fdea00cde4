package sandbox

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tandem/sandbox/git"
)

// Roots are the folders that Places lie below. Each is held open while it is a root of Paths, until
// their Close, and otherwise only during a call. The fields are set before the first call and then
// constant; all methods may be called concurrently.
type Roots struct {
	// Home is the absolute home folder, "" for none: some names hold keys only there.
	Home string
	// Own are absolute paths of the class Internal, which need not exist. Symbolic links in them
	// are followed: the target of a link of the configuration is Internal too.
	Own []string

	mu       sync.Mutex
	held     map[string]*root
	home     string                 // without links
	machine  machine                // at the first call of look
	internal []string               // Own, and the targets of its links at the last call of look
	named    map[string][]git.Named // of each write root: what the settings of its repository name
	walks    bool                   // for tests: do not use openat2
}

// root is a folder that is held open, and its canonical path.
type root struct {
	set   *Roots
	path  string
	names int // of the path

	mu     sync.Mutex
	users  int         // reference count: Paths, and running calls
	handle *os.File    // may be nil
	info   fs.FileInfo // of handle
	gone   bool        // another folder has its path: it is never opened again
}

// add makes a canonical path a root. If another folder has the path of an existing root by now, it
// becomes a new root; Places below the old one stay there.
func (s *Roots) add(canonical string) *root {
	if info, err := os.Stat(canonical); err == nil && !info.IsDir() {
		canonical = filepath.Dir(canonical) // the root of a single file is its folder: Paths judges the rest
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

// look resolves the links of Own.
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
	if s.home, s.internal = home, internal; s.machine.etc == "" {
		s.machine = thisMachine()
	}
}

// Add makes an absolute path a root. Its symbolic links are resolved now.
func (s *Roots) Add(path string) {
	if real, err := realpath(filepath.Clean(path)); err == nil && filepath.IsAbs(path) {
		s.add(real)
	}
}

// Wide says that a folder must not become a root without a question: "/", the home folder, those
// above it, those that contain the configuration or the state, folders that the system consists of,
// and homes of others. Symbolic links are resolved.
func (s *Roots) Wide(folder string) bool {
	folder = Canonical(folder)
	holds := func(path string) bool {
		return path != "" && (Canonical(path) == folder || within(folder, Canonical(path)) || within(folder, filepath.Clean(path)))
	}
	return folder == filepath.Dir(folder) || systems(folder) || holds(s.Home) ||
		slices.ContainsFunc(s.Own, func(own string) bool { return within(folder, filepath.Clean(own)) })
}

// systems says that a canonical folder is one that a system consists of, or the home of some user.
// Behind the names that end in /** nobody has projects; of the others that end in /* this is said
// of what is directly in them.
func systems(folder string) bool {
	return slices.ContainsFunc(strings.Fields(`/etc/** /boot/** /proc/** /sys/** /bin/** /sbin/** /lib/** /lib32/** /lib64/** /usr/bin/**
		/usr/sbin/** /usr/lib/** /usr/lib64/** /usr/libexec/** /usr/share/** /usr/include/** /usr/* /usr/local/* /var/* /var/lib/* /var/spool/**
		/dev/* /run/* /run/user/* /opt /srv /mnt /media /tmp /root /home/* /Users/* /Volumes /System/** /Library/** /Applications/**
		/private /private/etc/** /private/var/* /private/tmp`), func(pattern string) bool {
		top, below := strings.CutSuffix(pattern, "/**")
		top, inside := strings.CutSuffix(top, "/*")
		return folder == top || below && within(top, folder) || inside && filepath.Dir(folder) == top
	})
}

// Place gives a canonical path its Place below the innermost of all roots. It judges no permission,
// which Paths does. The error, for a path below no root, is a *PathError.
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
			"%s is in no folder of the workspace. Ask the user to open its folder.", shorten(canonical))
	}
	return best.place(relative(best.path, canonical)), nil
}

// place is the Place of a clean path below the root.
func (r *root) place(rel string) Place {
	p := Place{root: r, rel: rel}
	p.class = r.set.classOfPath(p.Path(), r.names)
	return p
}

// classOfPath judges by the names of a canonical path, of which the first few are those of its
// root.
func (s *Roots) classOfPath(canonical string, root int) Class {
	s.mu.Lock()
	internal, top, machine, class := s.internal, s.home, s.machine, Plain
	for _, named := range s.named {
		if executes(named, canonical) {
			class = LaterCode
		}
	}
	s.mu.Unlock()
	if rootOf(internal, canonical) != "" {
		return Internal
	}
	below, others := places(top, machine, canonical, root)
	return class | others | classOf(namesOf(canonical), below, root)
}

// places says in which places of the table a path lies. One in the home folder of another user is
// Secret.
func places(top string, machine machine, canonical string, root int) (below depths, class Class) {
	below = nowhere
	if top != "" && within(top, canonical) {
		below[inHome] = len(namesOf(top))
	} else if other := machine.home(canonical); other != "" && other != top {
		if below[inHome] = len(namesOf(other)); below[inHome] > root { // one that is opened, or holds what is, is read as any folder
			class = Secret
		}
	}
	if within(machine.etc, canonical) {
		below[inEtc] = len(namesOf(machine.etc))
	}
	return below, class
}

// classes gives the classes of the entries of a folder: those that their Places have. Where no path
// that counts by itself is the folder or in it, what all of them have in common is judged once.
func (r *root) classes(rel string) func(entry string) Class {
	s, folder, root := r.set, Place{root: r, rel: rel}.Path(), r.names
	about := func(path string) bool { return path != "" && (path == folder || within(folder, path)) }
	s.mu.Lock()
	top, machine := s.home, s.machine
	alike := !slices.ContainsFunc(s.internal, func(own string) bool { return about(own) || within(own, folder) }) &&
		!about(top) && !about(machine.etc) && !about(machine.administrator) && !slices.ContainsFunc(machine.homes, about)
	for _, named := range s.named {
		for _, n := range named {
			alike = alike && !about(n.Path) && !within(n.Path, folder)
		}
	}
	s.mu.Unlock()
	if !alike {
		return func(entry string) Class { return r.place(path.Join(rel, entry)).class }
	}
	below, others := places(top, machine, folder, root)
	in := classesIn(namesOf(folder), below, root)
	return func(entry string) Class { return others | in(entry) }
}

// classOfFile judges by device and inode number: whether the file, or a folder above it, is one of
// Own. With further names, it may also be one of the files in those folders, or one with keys. info
// is nil if nothing exists at the Place.
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

// secrets are the paths of the class Secret in the home folder, in the settings of the system and
// at the topmost level of a root.
func (s *Roots) secrets(root string) []string {
	s.mu.Lock()
	etc := s.machine.etc
	s.mu.Unlock()
	var out []string
	if s.Home != "" {
		out = slices.Concat(keysIn(anywhere, s.Home), keysIn(inHome, s.Home), filesIn(filepath.Join(s.Home, ".ssh")))
	}
	out = append(out, keysIn(inEtc, etc)...)
	for _, path := range filesIn(root) {
		if s.classOfPath(path, len(namesOf(root))).Unlisted() {
			out = append(out, path)
		}
	}
	return out
}

// keysIn are the paths in a folder that rows of a place say are Secret.
func keysIn(in place, folder string) (out []string) {
	for first, rows := range classes().exact {
		for _, r := range rows {
			if r.class != Secret || r.in != in {
				continue
			}
			at := filepath.Join(folder, first, filepath.Join(r.names[1:]...))
			if !strings.HasSuffix(at, "*") {
				out = append(out, at)
				continue
			}
			for _, found := range filesIn(filepath.Dir(at)) {
				if matches(filepath.Base(at), folded(filepath.Base(found))) {
					out = append(out, found)
				}
			}
		}
	}
	return out
}

// filesIn are the paths of the entries of a folder.
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

// relative is a clean path relative to base, which it is or lies below.
func relative(base, path string) string {
	if rel := strings.Trim(strings.TrimPrefix(path, strings.TrimSuffix(base, "/")), "/"); rel != "" {
		return filepath.ToSlash(rel)
	}
	return "."
}

// replaced says that another folder than the held one has the root's path.
func (r *root) replaced() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := os.Lstat(r.path)
	return err == nil && r.handle != nil && !os.SameFile(r.info, now)
}

// held describes the folder that is held, nil where none is.
func (r *root) held() fs.FileInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info
}

// retire says that another root has the path from now on.
func (r *root) retire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
}

// hold keeps the folder open, if it exists, until release.
func (r *root) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users++
	_ = r.opened() // on an error it is tried again at the next use
}

// release ends one hold, or one use of folder.
func (r *root) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
}

// drop decrements users, and closes the folder at 0. r.mu is held.
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

// folder gives the folder for use until release, which must be called unless there is an error. It
// fails while the root's path does not exist or is another folder's.
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
