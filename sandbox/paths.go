package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Limits of a path in bytes, those of Linux.
const (
	maxPath = 4095
	maxName = 255
	maxLink = 40
)

// Paths resolves the paths in the arguments of tools and confines them to roots. The fields are set
// before the first call and then constant; all methods may be called concurrently. Roots are
// resolved once, at first use: what a root is later replaced by is never entered.
type Paths struct {
	// Cwd is the absolute directory that relative paths start from.
	Cwd string
	// Read and Write are the absolute roots; what may be written may be read too.
	Read, Write []string
	// Unrestricted permits all paths; Strict refuses relative ones.
	Unrestricted, Strict bool
	// Home is what ~ stands for.
	Home string
	// Folders are the session's; no path may be used while one of them is replaced, see Intact.
	Folders []*Folder
	// InPlace says, for a canonical path, that a change goes to an editor, which saves in place: a
	// file with several names (hard links) is Linked then. nil is never.
	InPlace func(path string) bool
	// Unsaved gives the canonical paths of the documents with unsaved text, which may not be on
	// disk. nil is none.
	Unsaved func() []string
	// Roots holds the roots open until Close, also those of other Paths, below which no path is
	// judged here. nil is a new one.
	Roots *Roots

	once        sync.Once
	cwd         string
	read, write []string
	roots       []*root

	mu             sync.Mutex
	holding, ended bool
	found          []string // see Found
}

// Close releases the roots. Calls may go on, and open them for each call.
func (p *Paths) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.holding {
		p.holding = false
		for _, r := range p.roots {
			r.release()
		}
	}
}

// PathError says why a path may not be used. Code is the code of the wire, Reason one word in lower
// case, Message a sentence for the model.
type PathError struct {
	Code, Reason, Path, Message string
}

func (e *PathError) Error() string { return e.Message }

func refuse(code, reason, path, format string, args ...any) error {
	return &PathError{code, reason, path, fmt.Sprintf(format, args...)}
}

// Readable resolves path, follows its symbolic links, and gives its Place if that is below a root
// and not Internal. The path need not exist. An error is a *PathError.
func (p *Paths) Readable(path string) (Place, error) { return p.readable(path, p.Resolve) }

func (p *Paths) readable(arg string, resolve resolver) (Place, error) {
	abs, canonical, err := p.canonical(arg, resolve)
	if err != nil {
		return Place{}, err
	}
	if !p.Unrestricted && rootOf(p.read, canonical) == "" && rootOf(p.write, canonical) == "" {
		scope := strings.Join(append(p.Read[:len(p.Read):len(p.Read)], except(p.Write, p.Read)...), ", ")
		return Place{}, refuse("OUTSIDE_ROOTS", "outside", arg, "Path %q%s is not within the allowed read scope %s. "+
			"Use a path below that, or ask the user to add the folder to the workspace or to the setting readRoots.",
			shorten(arg), via(abs, canonical), scope)
	}
	place, err := innermost(p.roots, canonical)
	if err == nil && place.class.Is(Internal) {
		err = internal(arg, abs, canonical)
	}
	if err != nil {
		return Place{}, err
	}
	return place, nil
}

// ClassOf is the class of a canonical path by its names, wherever it lies: that of its Place where
// it has one.
func (p *Paths) ClassOf(canonical string) Class {
	p.prepare()
	names := 0
	for _, r := range p.roots {
		if canonical == r.path || within(r.path, canonical) {
			names = max(names, r.names)
		}
	}
	return p.Roots.classOfPath(canonical, names)
}

// HoldsKeys says that path is a file or a folder that is there and holds keys or passwords, by its
// name, in a root or not.
func (p *Paths) HoldsKeys(path string) bool {
	abs, err := p.Resolve(path)
	if err != nil {
		return false
	}
	real := Canonical(abs)
	return p.ClassOf(real).Is(Secret) && there(real)
}

// Writable is Readable for a path that will be written. It also refuses .git, and the configuration
// under another name.
func (p *Paths) Writable(path string) (Place, error) { return p.writable(path, p.Resolve) }

func (p *Paths) writable(arg string, resolve resolver) (Place, error) {
	abs, canonical, err := p.canonical(arg, resolve)
	if err != nil {
		return Place{}, err
	}
	if !p.Unrestricted && rootOf(p.write, canonical) == "" {
		return Place{}, refuse("OUTSIDE_WRITE_ROOTS", "outside", arg, "Path %q%s is not within the allowed write scope %s. "+
			"Use a path below that, or ask the user to add the folder to the workspace or to the setting writeRoots.",
			shorten(arg), via(abs, canonical), strings.Join(p.Write, ", "))
	}
	place, err := innermost(p.roots, canonical)
	if err != nil {
		return Place{}, err
	}
	class, further := place.identified()
	if further && p.InPlace != nil && p.InPlace(canonical) {
		class |= Linked
	}
	switch class |= place.class; {
	case class.Is(Internal), class.Is(Own) && inOwn(canonical, ".tandem"):
		return Place{}, internal(arg, abs, canonical)
	case class.Is(Own):
		return Place{}, protected(arg, abs, canonical)
	default:
		place.class = class
	}
	return place, nil
}

// EntryName is WritableName for what stands at a path itself: a symbolic link in the last name is
// not followed.
func (p *Paths) EntryName(arg string) (Place, error) {
	p.prepare()
	abs, err := p.target(arg)
	if err != nil {
		return Place{}, err
	}
	if info, err := os.Lstat(abs); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return p.writable(arg, func(string) (string, error) { return abs, nil })
	}
	folder, err := p.Writable(filepath.Dir(abs))
	if err != nil {
		return Place{}, err
	}
	place := folder.Join(filepath.Base(abs))
	switch class := place.Class(); {
	case class.Is(Internal), class.Is(Own) && inOwn(place.Path(), ".tandem"):
		return Place{}, internal(arg, abs, place.Path())
	case class.Is(Own):
		return Place{}, protected(arg, abs, place.Path())
	}
	return place, nil
}

func protected(arg, abs, canonical string) error {
	return refuse("PROTECTED_PATH", "protected", arg,
		"Path %q%s belongs to git itself and is never written by a tool. Use git commands.", shorten(arg), via(abs, canonical))
}

func internal(arg, abs, canonical string) error {
	return refuse("PROTECTED_PATH", "protected", arg,
		"Path %q%s is Tandem's own configuration or state, which says what you may do: only a person changes it.",
		shorten(arg), via(abs, canonical))
}

// Intact fails if another folder has the path of one of the Folders. The error is a *PathError with
// that path.
func (p *Paths) Intact() error {
	for _, f := range p.Folders {
		if f.Replaced() {
			return refuse("OUTSIDE_ROOTS", "replaced", f.path, "The folder %q is not the one that this session began in: it was deleted and "+
				"made anew, or another one was put in its place. Nothing is read, changed or run until the user opens the session "+
				"again or begins a new one. Stop here and tell the user.", shorten(f.path))
		}
	}
	return nil
}

// Rel is abs for texts: relative to Cwd if it is below that, with forward slashes.
func (p *Paths) Rel(abs string) string {
	p.prepare()
	for _, base := range []string{p.cwd, p.Cwd} {
		if abs == base {
			return "."
		}
		if within(base, abs) {
			return filepath.ToSlash(strings.TrimPrefix(abs[len(base):], "/"))
		}
	}
	return filepath.ToSlash(abs)
}

func (p *Paths) prepare() {
	p.once.Do(func() {
		resolve := func(roots []string) (out []string) {
			for _, r := range roots {
				if real, err := realpath(filepath.Clean(r)); err == nil && filepath.IsAbs(r) {
					out = append(out, real)
				}
			}
			return out
		}
		p.read, p.write = resolve(p.Read), resolve(p.Write)
		if p.Roots == nil {
			p.Roots = &Roots{Home: p.Home}
		}
		all := slices.Concat(p.read, p.write)
		if p.Unrestricted {
			all = append(all, "/")
		}
		for _, path := range all {
			if r := p.Roots.add(path); !slices.Contains(p.roots, r) {
				p.roots = append(p.roots, r)
			}
		}
		p.hold()
		p.Roots.name(p)
		p.cwd = p.Cwd
		if real := resolve([]string{p.Cwd}); real != nil {
			p.cwd = real[0]
		}
	})
}

func (p *Paths) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holding = !p.ended; p.holding {
		for _, r := range p.roots {
			r.hold()
		}
	}
}

func (p *Paths) canonical(arg string, resolve resolver) (abs, canonical string, err error) {
	p.prepare()
	if err = p.Intact(); err != nil {
		return "", "", err
	}
	if abs, err = resolve(arg); err != nil {
		return "", "", err
	}
	p.Roots.look()
	canonical, err = realpath(abs)
	switch {
	case err == nil:
		return abs, canonical, nil
	case errors.Is(err, syscall.ELOOP):
		err = refuse("READ_ERROR", "symlink_loop", arg, "The symbolic links of %q lead in a circle.", shorten(arg))
	case errors.Is(err, syscall.ENAMETOOLONG):
		err = refuse("READ_ERROR", "name_too_long", arg, "The path %q leads to one that is too long.", shorten(arg))
	case errors.Is(err, fs.ErrPermission):
		err = refuse("READ_ERROR", "eacces", arg, "The path %q cannot be looked up: permission denied.", shorten(arg))
	default:
		err = refuse("READ_ERROR", "unreadable", arg, "The path %q cannot be looked up: %v.", shorten(arg), err)
	}
	return "", "", err
}

// realpath follows every symbolic link of the clean absolute path, as the kernel would, and keeps
// the rest of the path from the first name on that does not exist. A dangling link is followed too,
// since a file that is created through it would be there.
func realpath(path string) (string, error) {
	if unlinked(path) { // one system call instead of one for each name
		return path, nil
	}
	done, rest := "/", strings.Split(path, "/")
	links := 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		target, err := os.Readlink(next)
		switch {
		case err == nil:
			if links++; links > maxLink {
				return "", syscall.ELOOP
			}
			if filepath.IsAbs(target) {
				done = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		case errors.Is(err, syscall.EINVAL): // there, and no link
			done = next
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			return filepath.Join(append([]string{next}, rest...)...), nil
		default:
			return "", err
		}
	}
	if len(done) > maxPath {
		return "", syscall.ENAMETOOLONG
	}
	return done, nil
}

func rootOf(roots []string, path string) string {
	for _, r := range roots {
		if path == r || within(r, path) {
			return r
		}
	}
	return ""
}

// within tells whether path lies below root; both are clean.
func within(root, path string) bool {
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
	return ok && root != "" && strings.HasPrefix(below, "/")
}

// inOwn tells whether name, in any spelling, is one of the names of a path.
func inOwn(path, name string) bool {
	return slices.ContainsFunc(namesOf(path), func(n string) bool {
		stem, short := shortName(folded(n))
		return folded(n) == name || short && stem == shortened(name)
	})
}

func via(abs, canonical string) string {
	if abs == canonical {
		return ""
	}
	return fmt.Sprintf(" (which leads to %s)", canonical)
}

func except(list, without []string) (out []string) {
	for _, s := range list {
		if rootOf(without, s) != s {
			out = append(out, s)
		}
	}
	return out
}

// shorten limits the length of a path in a message.
func shorten(s string) string {
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}
