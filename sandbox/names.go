package sandbox

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/filetime/text"
	"tandem/sandbox/lazy"
)

// A name is a path as a model wrote it. It is literal: whatever signs it has, the file of that very
// name is meant. A further spelling counts only where nothing has the literal name, so that no file
// hides another one.
//
//   - ~/x and file:///x are spellings of an absolute path.
//   - @x, x:12 and file:x are abbreviations of x, for calls that read, and only where x is there.
//
// A call that makes something takes none of them: a file that is not there yet has no spelling but
// its path.

// resolver makes a path absolute and clean.
type resolver func(path string) (abs string, err error)

// Resolve makes a literal path absolute and clean without looking at any file. An error is a
// *PathError.
func (p *Paths) Resolve(path string) (abs string, err error) {
	switch {
	case path == "":
		return "", refuse("READ_ERROR", "invalid_path", path, "The path is empty: name a file or a directory.")
	case strings.ContainsRune(path, 0):
		return "", refuse("READ_ERROR", "invalid_path", path, "The path %q contains a NUL byte.", shorten(path))
	}
	abs = path
	if !filepath.IsAbs(abs) {
		if p.Strict {
			return "", refuse("INVALID_ARGS", "relative", path, "%q is a relative path: give the absolute one.", shorten(path))
		}
		abs = p.Cwd + "/" + abs
	}
	abs = filepath.Clean(abs)
	long := len(abs) > maxPath
	for name := range strings.SplitSeq(abs, "/") {
		long = long || len(name) > maxName
	}
	if long {
		return "", refuse("READ_ERROR", "name_too_long", path, "The path %q is too long for a file.", shorten(path))
	}
	return abs, nil
}

// ReadableName is Readable for a name in a call that only reads.
func (p *Paths) ReadableName(name string) (Place, error) { return p.readable(name, p.Meant) }

// WritableName is Writable for a name in a call that changes or makes what it names.
func (p *Paths) WritableName(name string) (Place, error) { return p.writable(name, p.target) }

// FolderName is Readable for the name of the folder that a command begins in, which may change what
// is there.
func (p *Paths) FolderName(name string) (Place, error) { return p.readable(name, p.target) }

// Literal reports whether a file, a folder or an unsaved document has the very name.
func (p *Paths) Literal(name string) bool {
	abs, err := p.Resolve(name)
	return err == nil && p.there(abs)
}

// Expand replaces ~ at the beginning of a path, as a shell does.
func (p *Paths) Expand(path string) string {
	if (path == "~" || strings.HasPrefix(path, "~/")) && p.Home != "" {
		return p.Home + path[1:]
	}
	return path
}

// Meant is the path that a name means in a call that reads. No link is followed. An error is a
// *PathError.
func (p *Paths) Meant(name string) (string, error) {
	literal, err := p.Resolve(name)
	if err == nil && p.there(literal) {
		return literal, nil
	}
	abs, spelled, wrong := p.spelling(name)
	if spelled && wrong == nil && p.there(abs) {
		return abs, nil
	}
	if full := p.Abbreviated(name); full != "" {
		return full, nil
	}
	if spelled {
		return abs, wrong
	}
	if err == nil {
		if same := p.alike(literal); same != "" && strings.Count(same, "/") == strings.Count(literal, "/") {
			return same, nil
		}
	}
	return literal, err
}

// target is the path that a name means in a call that changes or makes it.
func (p *Paths) target(name string) (string, error) {
	literal, err := p.Resolve(name)
	if err == nil && p.there(literal) {
		return literal, nil
	}
	abs, spelled, wrong := p.spelling(name)
	first, _, _ := strings.Cut(name, "/")
	if !spelled || p.there(p.Cwd+"/"+first) {
		if err == nil {
			class := p.ClassOf(Canonical(literal)) // what is protected is refused as that
			if same := p.alike(literal); same != "" && !class.Is(Own) && !class.Is(Internal) {
				return "", refuse("INVALID_ARGS", "lookalike", name, "%s is not there, and %s is, whose name looks the same: they differ in signs "+
					"that cannot be seen or told apart, or in how letters with accents are put together (Unicode NFC, NFD). Nothing was done. "+
					"Name it by exactly these letters, or give the new file another name.",
					strconv.QuoteToASCII(shorten(name)), strconv.QuoteToASCII(shorten(same)))
			}
		}
		return literal, err
	}
	if wrong == nil && !p.there(abs) && p.inside(abs) {
		wrong = refuse("INVALID_ARGS", "spelling", name, "%q is not there, and what is made is named by its path: give %q.", shorten(name), shorten(abs))
	}
	return abs, wrong
}

// Abbreviated is the path of the file or folder in the roots that a name abbreviates, "" where none
// is there.
func (p *Paths) Abbreviated(name string) string {
	p.prepare()
	for _, full := range abbreviations(name) {
		abs, err := p.Resolve(full)
		if to, spelled, wrong := p.spelling(full); spelled && (err != nil || !p.there(abs)) {
			abs, err = to, wrong
		}
		if err == nil && p.inside(abs) && p.there(abs) {
			return abs
		}
	}
	return ""
}

var lineSuffix = lazy.Regexp{Text: `^(.+?)(?::\d+){1,2}(?:-\d+)?:?$`}

// abbreviations are what a name may stand for, the longest first.
func abbreviations(name string) (out []string) {
	for _, s := range []string{name, strings.TrimPrefix(name, "@"), strings.TrimPrefix(name, "file:")} {
		if s != name {
			out = append(out, s)
		}
		if m := lineSuffix.Get().FindStringSubmatch(s); m != nil {
			out = append(out, m[1])
		}
	}
	return out
}

// spelling is the absolute path that a name with ~ or a URI spells; spelled is false for any other
// name.
func (p *Paths) spelling(name string) (abs string, spelled bool, err error) {
	scheme, rest, uri := strings.Cut(name, ":")
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		if p.Home == "" {
			return "", true, refuse("READ_ERROR", "invalid_path", name, "Home directory not found for %q: use another path.", name)
		}
		abs, err = p.Resolve(p.Expand(name))
	case uri && (strings.HasPrefix(rest, "//") || strings.EqualFold(scheme, "file") && strings.HasPrefix(rest, "/") || strings.EqualFold(scheme, "untitled")):
		if abs, err = fromURI(name); err == nil {
			abs, err = p.Resolve(abs)
		}
	default:
		return "", false, nil
	}
	return abs, true, err
}

// fromURI gives the path of a file: URI of this host; no other URI names a file.
func fromURI(s string) (string, error) {
	bad := func(why string) error {
		return refuse("INVALID_ARGS", "invalid_uri", s, "%q %s: give a path or a file:///… URI.", shorten(s), why)
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", bad("is not a valid URI")
	case u.Scheme != "file":
		return "", bad("is not the path of a file")
	case u.Host != "" && u.Host != "localhost" || u.User != nil:
		return "", bad("is a file of another host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || !strings.HasPrefix(u.Path, "/"):
		return "", bad("is not a plain file URI")
	case strings.ContainsRune(u.Path, 0):
		return "", bad("contains a NUL byte")
	}
	return u.Path, nil
}

// there says that something has an absolute path, on disk or as a document that was never saved.
func (p *Paths) there(abs string) bool {
	if _, err := os.Lstat(abs); err == nil {
		return true
	}
	return p.Unsaved != nil && slices.Contains(p.Unsaved(), Canonical(abs))
}

// inside says that an absolute path leads into a root: of what lies elsewhere not even its
// existence is told.
func (p *Paths) inside(abs string) bool {
	canonical, err := realpath(abs)
	return err == nil && (p.Unrestricted || rootOf(p.read, canonical) != "" || rootOf(p.write, canonical) != "")
}

// visible is what can be seen of a name.
func visible(name string) string { return strings.TrimSpace(text.Skeleton(name)) }

// alike is the path of the one file or folder whose names look like those of a path that is not
// there: they are the same but for signs of no width, blanks at their ends, other kinds of blanks
// and hyphens, letters of another script, and how letters with accents are put together (Unicode
// NFC, NFD). It is "" where there is none, or more than one.
//
// If the path ends in names that nothing has, it is the path of the last folder before them, if
// that one is found by its looks.
func (p *Paths) alike(abs string) string {
	if !p.inside(abs) {
		return ""
	}
	at, other := string(filepath.Separator), false
	for name := range strings.SplitSeq(strings.Trim(abs, "/"), "/") {
		next := filepath.Join(at, name)
		if _, err := os.Lstat(next); err != nil {
			var found []string
			entries, _ := os.ReadDir(at)
			for _, e := range entries {
				if visible(e.Name()) == visible(name) {
					found = append(found, e.Name())
				}
			}
			if len(found) != 1 {
				break
			}
			next, other = filepath.Join(at, found[0]), true
		}
		at = next
	}
	if !other || !p.inside(at) {
		return ""
	}
	return at
}
