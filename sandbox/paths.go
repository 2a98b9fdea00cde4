package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
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

// Paths is the one resolver of the paths that tools are given, and what confines them. The fields are set before the
// first call and stay as they are; then all methods may be called concurrently. Roots are resolved once, at first use:
// a root that is later replaced by a link to elsewhere leads nowhere.
type Paths struct {
	// Cwd is the absolute directory that relative paths start from.
	Cwd string
	// Read and Write are the absolute roots; what may be written may be read too.
	Read, Write []string
	// Unrestricted takes the confinement away; Strict refuses relative paths.
	Unrestricted, Strict bool
	// Home is what ~ stands for.
	Home string
	// Folders are those that the work began in; no path may be used while one of them is replaced, see Intact.
	Folders []*Folder
	// InPlace says of a file that a change of it goes to an editor, which saves in place and so into every name that the file has:
	// such a file is Linked where it has several. It is called with a canonical path; nil is never.
	InPlace func(path string) bool
	// Roots is what the roots are added to, which are held open until Close. nil is one for these Paths alone. What others add to
	// it changes no answer: a path is judged below these roots.
	Roots *Roots

	once        sync.Once
	cwd         string
	read, write []string
	roots       []*root

	mu             sync.Mutex
	holding, ended bool
}

// Close ends the hold on the roots. What is under way goes on, and so may what comes later.
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

// PathError says why a path may not be used. Code is the code of the wire, Reason one word in lower case, Message a
// sentence for the model.
type PathError struct {
	Code, Reason, Path, Message string
}

func (e *PathError) Error() string { return e.Message }

func refuse(code, reason, path, format string, args ...any) error {
	return &PathError{code, reason, path, fmt.Sprintf(format, args...)}
}

// Resolve makes the path that arg means absolute and clean, looking at no file: a leading @ is a mention, ~ the home
// directory, file: URIs are understood. Variables are never expanded. An error is a *PathError.
func (p *Paths) Resolve(arg string) (abs string, err error) {
	s := strings.TrimPrefix(arg, "@")
	switch {
	case s == "":
		return "", refuse("READ_ERROR", "invalid_path", arg, "The path is empty: name a file or a directory.")
	case strings.ContainsRune(s, 0):
		return "", refuse("READ_ERROR", "invalid_path", arg, "The path %q contains a NUL byte.", shorten(arg))
	case strings.Contains(s, "://") || hasScheme(s, "file") || hasScheme(s, "untitled"):
		if s, err = fromURI(s); err != nil {
			return "", err
		}
	case s == "~" || strings.HasPrefix(s, "~/"):
		if p.Home == "" {
			return "", refuse("READ_ERROR", "invalid_path", arg, "There is no home directory for %q: use another path.", arg)
		}
		s = p.Home + s[1:]
	}
	if !filepath.IsAbs(s) {
		if p.Strict {
			return "", refuse("INVALID_ARGS", "relative", arg, "%q is a relative path: give the absolute one.", shorten(arg))
		}
		s = p.Cwd + "/" + s
	}
	s = filepath.Clean(s)
	long := len(s) > maxPath
	for name := range strings.SplitSeq(s, "/") {
		long = long || len(name) > maxName
	}
	if long {
		return "", refuse("READ_ERROR", "name_too_long", arg, "The path %q is too long for a file.", shorten(arg))
	}
	return s, nil
}

func hasScheme(s, scheme string) bool {
	return len(s) > len(scheme) && s[len(scheme)] == ':' && strings.EqualFold(s[:len(scheme)], scheme)
}

// fromURI gives the path of a file: URI of this host; no other URI names a file.
func fromURI(s string) (string, error) {
	bad := func(why string) error {
		return refuse("INVALID_ARGS", "invalid_uri", s, "%q %s: give a path or a file:///… URI.", shorten(s), why)
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", bad("is no URI")
	case u.Scheme != "file":
		return "", bad("names no file")
	case u.Host != "" && u.Host != "localhost" || u.User != nil:
		return "", bad("is a file of another host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || !strings.HasPrefix(u.Path, "/"):
		return "", bad("is no plain file URI")
	case strings.ContainsRune(u.Path, 0):
		return "", bad("contains a NUL byte")
	}
	return u.Path, nil
}

// Readable resolves arg, follows its symbolic links, also those of the part that exists of a path that does not, and
// gives its Place if that lies within a root and is not Internal. The path itself need not exist. An error is a *PathError.
func (p *Paths) Readable(arg string) (Place, error) {
	abs, canonical, err := p.canonical(arg)
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

// Writable is Readable for a path that will be written to. What belongs to a repository's own .git is refused too, and
// so is the configuration, also under another name.
func (p *Paths) Writable(arg string) (Place, error) {
	abs, canonical, err := p.canonical(arg)
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
		return Place{}, refuse("PROTECTED_PATH", "protected", arg,
			"Path %q%s belongs to git itself and is never written by a tool. Use git commands.",
			shorten(arg), via(abs, canonical))
	default:
		place.class = class
	}
	return place, nil
}

func internal(arg, abs, canonical string) error {
	return refuse("PROTECTED_PATH", "protected", arg,
		"Path %q%s is Tandem's own configuration or state, which says what you may do: only a person changes it.",
		shorten(arg), via(abs, canonical))
}

// Intact fails where one of the Folders is replaced: whoever began to work in it meant the one that was there. The error is a
// *PathError with its path.
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

// Root is the root that a canonical path lies in, "/" where it lies in none.
func (p *Paths) Root(canonical string) string {
	p.prepare()
	for _, roots := range [][]string{p.read, p.write} {
		if root := rootOf(roots, canonical); root != "" {
			return root
		}
	}
	return "/"
}

// Rel is abs as people and models are shown it: relative to Cwd, with forward slashes, where it lies within it.
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

func (p *Paths) canonical(arg string) (abs, canonical string, err error) {
	p.prepare()
	if err = p.Intact(); err != nil {
		return "", "", err
	}
	if abs, err = p.Resolve(arg); err != nil {
		return "", "", err
	}
	p.Roots.look()
	if p.straight(abs) {
		return abs, abs, nil
	}
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

// straight says that something stands at a clean absolute path below a root and that no link is on the way: one look from the
// root tells it, where each name would have to be read as a link otherwise.
func (p *Paths) straight(abs string) bool {
	if runtime.GOOS != "linux" || rootOf(p.read, abs) == "" && rootOf(p.write, abs) == "" {
		return false
	}
	place, err := innermost(p.roots, abs)
	if err != nil {
		return false
	}
	info, err := place.Stat()
	return err == nil && info.Mode()&fs.ModeSymlink == 0
}

// realpath follows every symbolic link of the clean absolute path, as the kernel would, and keeps the rest of the path
// from the first name on that does not exist. A link to nowhere is followed too, for a file made through it would come
// to be there.
func realpath(path string) (string, error) {
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
			// Nothing is there, so nothing can lead elsewhere.
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
	return root != "" && strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// inOwn tells whether one of the names of a path is that of a row of the class Own, however it is spelt.
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

// shorten keeps a path that somebody made up from flooding a message.
func shorten(s string) string {
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}
