package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Entry is a folder of a PATH. Why says what keeps programs from being looked for in it, "" for
// nothing.
type Entry struct{ Dir, Why string }

// SearchPath judges the folders of a PATH. One that is relative is another one in every folder, in
// one that others may write anybody can put a program, and so can a repository in one below a root.
func SearchPath(path string, roots []string) (entries []Entry) {
	for _, dir := range filepath.SplitList(path) {
		switch e := (Entry{Dir: filepath.Clean(dir)}); {
		case dir == "":
		case slices.ContainsFunc(entries, func(have Entry) bool { return have.Dir == e.Dir }):
		case !filepath.IsAbs(dir):
			entries = append(entries, Entry{e.Dir, "it is relative"})
		case inside(e.Dir, roots):
			entries = append(entries, Entry{e.Dir, "it is in the workspace"})
		default:
			e.Why = writable(e.Dir)
			entries = append(entries, e)
		}
	}
	return entries
}

// writable says why others can put files into a folder, "" where they cannot. What is not there yet
// is judged by the folder that it would come to be in.
func writable(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch sticky := err == nil && info.Mode()&fs.ModeSticky != 0 && at != real; {
		case err != nil && at != "/" && errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "it cannot be looked at"
		case info.Mode().Perm()&0o002 != 0 && !sticky:
			return fmt.Sprintf("everybody may write %s", at)
		case foreign(info):
			return fmt.Sprintf("%s belongs to another user", at)
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// folders are those of PATH that were judged fit, without those below a root. A root that is the
// whole file system leaves them all.
func (l *Local) folders(roots []string) (dirs []string) {
	l.judged.Do(func() {
		for _, e := range SearchPath(lookup(l.environ(), "PATH"), nil) {
			if e.Why == "" {
				l.path = append(l.path, e.Dir)
			}
		}
	})
	key := strings.Join(roots, "\x00")
	l.finding.Lock()
	defer l.finding.Unlock()
	dirs, ok := l.outside[key]
	if ok {
		return dirs
	}
	for _, dir := range l.path {
		if !inside(dir, roots) {
			dirs = append(dirs, dir)
		}
	}
	if l.outside == nil {
		l.outside = map[string][]string{}
	}
	l.outside[key] = dirs
	return dirs
}

// Find looks for a program in the folders that a person has named, then in those of PATH that were
// judged fit, without those below the roots. A program that is a link into a root does not count.
// An absolute path is its own answer.
func (l *Local) Find(name string, in Surroundings) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if strings.ContainsRune(name, '/') {
		return "", fmt.Errorf("%s is relative: name the program, or give its absolute path", name)
	}
	key := strings.Join(append([]string{name}, slices.Concat(in.Path, []string{""}, in.Roots)...), "\x00")
	l.finding.Lock()
	path := l.found[key]
	l.finding.Unlock()
	if path != "" && executable(path) {
		return path, nil
	}
	path = func() string {
		for _, dir := range in.Path {
			if path := filepath.Join(dir, name); executable(path) {
				return path
			}
		}
		for _, dir := range l.folders(in.Roots) {
			path := filepath.Join(dir, name)
			if executable(path) && !inside(path, in.Roots) {
				return path
			}
		}
		return ""
	}()
	if path == "" {
		return "", fmt.Errorf("there is no program %s on the PATH; folders below the workspace, relative ones and those that "+
			"others may write do not count", name)
	}
	l.finding.Lock()
	defer l.finding.Unlock()
	if l.found == nil {
		l.found = map[string]string{}
	}
	l.found[key] = path
	return path, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// inside tells whether a path, by its name or by where it leads, is one of the roots or lies below.
func inside(path string, roots []string) bool {
	real := Canonical(path)
	return slices.ContainsFunc(roots, func(root string) bool {
		for _, r := range []string{filepath.Clean(root), Canonical(root)} {
			if r != "/" && (path == r || real == r || within(r, path) || within(r, real)) {
				return true
			}
		}
		return false
	})
}

func (l *Local) environ() []string {
	if l.Environ != nil {
		return l.Environ
	}
	return os.Environ()
}

// environment is what a command gets: what Environment hands on, without a PATH that leads into a
// root and without temporary files in one.
func (l *Local) environment(in Surroundings) []string {
	env := Environment(l.environ(), slices.Concat(l.Pass, in.Pass))
	if !l.named(in, "PATH") {
		env = set(env, "PATH", strings.Join(slices.Concat(in.Path, l.folders(in.Roots)), ":"))
	}
	if tmp := lookup(env, "TMPDIR"); tmp != "" && !l.named(in, "TMPDIR") && (!filepath.IsAbs(tmp) || inside(tmp, in.Roots)) {
		env = set(env, "TMPDIR", "")
	}
	return env
}

// named says that a person has set a variable for commands.
func (l *Local) named(in Surroundings, name string) bool {
	return slices.ContainsFunc(slices.Concat(l.Pass, in.Pass), func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

func lookup(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// set gives env with a variable set; "" takes it away.
func set(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, name+"=") })
	if value == "" {
		return env
	}
	return append(env, name+"="+value)
}
