package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/sandbox/confine"
	"tandem/sandbox/git"
)

// rules are what a policy says of files: a path has one access.
type rules map[string]confine.Access

// set gives what is there an access, whatever it had. Links on the way to it are followed.
func (r rules) set(access confine.Access, paths ...string) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		if path = Canonical(path); there(path) {
			r[path] = access
		}
	}
}

// put is set for paths that were canonical when they were judged: a link that stands there now is
// not followed.
func (r rules) put(access confine.Access, paths ...string) {
	for _, path := range paths {
		if there(path) {
			r[path] = access
		}
	}
}

func (r rules) sorted() (out []confine.Rule) {
	for path, access := range r {
		out = append(out, confine.Rule{Path: path, Access: access})
	}
	slices.SortFunc(out, func(a, b confine.Rule) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// limits bound each process of a confined command. Processes are counted within its user namespace.
var limits = confine.Limits{Processes: 4096}

// policy is what a command of a profile may reach; see Surroundings for whose files. It is made of
// what is there now, so it is made anew for each command. dir is the folder that it begins in.
// namespaces says that there are mounts to make it of; temp is the folder for temporary files where
// there are none, and cache the one for caches, "" for none.
func policy(profile Profile, in Surroundings, dir string, namespaces bool, temp, cache string) confine.Policy {
	p, r := in.Paths, rules{}
	r.set(confine.Read, "/")
	r.set(confine.Hidden, os.Getenv("XDG_RUNTIME_DIR")) // sockets of services, also in the next line
	r.set(confine.Hidden, services()...)
	r.set(confine.Private, "/tmp", "/var/tmp", "/dev", "/dev/shm", "/dev/pts")
	r.set(confine.Write, "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
	if namespaces {
		r.set(confine.Private, "/proc")
		for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"} { // root could change the host by them
			r.set(confine.Read, "/proc/"+name)
		}
	} else {
		r.set(confine.Write, temp)
	}
	var read, write []string
	roots := &Roots{}
	if p != nil {
		p.prepare()
		roots = p.Roots
		read, write = p.read, p.write
		if p.Unrestricted {
			write = append(slices.Clone(write), "/")
			r.set(confine.Read, "/sys")
		}
	}
	others := r.machine(roots)
	r.hide(roots, roots.Home)
	for _, own := range roots.Own {
		r.set(confine.Hidden, own)
	}
	r.put(confine.Read, read...)
	var repositories []repository
	if p != nil {
		repositories = p.repositories()
	}
	for _, repo := range repositories {
		if !repo.shown || r.at(repo.at) == confine.Private { // what is hidden stays so, whatever a root leads to
			r.see([]string{repo.at, repo.common})
		}
	}
	if profile == ReadOnly {
		r.put(confine.Read, write...)
		r.tools(roots, others, in.Path)
		r.see([]string{dir})
		r.set(confine.Write, cache)
		for _, root := range slices.Concat(read, write) {
			r.protect(p, root, false)
		}
		return confine.Policy{Rules: r.sorted(), Network: confine.NoNetwork, Limits: limits}
	}
	r.put(confine.Write, write...)
	r.tools(roots, others, in.Path)
	r.see([]string{dir})
	r.set(confine.Write, cache)
	for _, root := range slices.Concat(read, write) {
		r.protect(p, root, slices.Contains(write, root))
	}
	for _, repo := range repositories {
		r.repository(p, repo)
	}
	network := map[Profile]confine.Network{Write: confine.NoNetwork, Loopback: confine.Loopback, Proxy: confine.Proxy}[profile]
	return confine.Policy{Rules: r.sorted(), Network: network, Limits: limits}
}

// services are the folders where services have their sockets. NixOS has its programs beside them.
func services() []string {
	if !there("/run/current-system") {
		return []string{"/run", "/var/run"}
	}
	all, _ := filepath.Glob("/run/*")
	return slices.DeleteFunc(all, func(path string) bool {
		return slices.Contains([]string{"current-system", "booted-system", "opengl-driver", "opengl-driver-32", "wrappers"}, filepath.Base(path))
	})
}

// see gives folders that nothing is seen of to be read.
func (r rules) see(folders []string) {
	for _, folder := range folders {
		if r.covered(Canonical(folder)) {
			r.set(confine.Read, folder)
		}
	}
}

// tools gives folders with programs to be read. A program in the home folder of another user comes
// with what is installed beside its folder, and without keys.
func (r rules) tools(roots *Roots, others, folders []string) {
	opened := map[string]bool{} // home folders with programs
	for _, folder := range folders {
		at := Canonical(folder)
		if !r.covered(at) {
			continue
		}
		if home := rootOf(others, at); home != "" {
			if beside := filepath.Dir(at); within(home, beside) {
				at = beside
			}
			opened[home] = true
		}
		r.set(confine.Read, at)
	}
	for home := range opened {
		r.hide(roots, home)
	}
}

// machine hides what only some users of the system may read, and gives the home folders of others.
// The person's own can be read wherever it lies.
func (r rules) machine(roots *Roots) (others []string) {
	roots.look()
	roots.mu.Lock()
	machine, home := roots.machine, roots.home
	roots.mu.Unlock()
	for _, keys := range keysIn(inEtc, machine.etc) {
		r.put(confine.Hidden, keys)
		r.set(confine.Hidden, keys) // and what a link leads to
	}
	r.put(confine.Hidden, machine.kept()...)
	for _, other := range machine.users() {
		if other != home {
			others = append(others, other)
		}
	}
	r.put(confine.Hidden, others...)
	r.put(confine.Read, home)
	return others
}

// at gives the access that a path has: the innermost rule decides, as in a confine.Policy.
func (r rules) at(path string) confine.Access {
	access, ok := r[path]
	for ; !ok && path != filepath.Dir(path); access, ok = r[path] {
		path = filepath.Dir(path)
	}
	return access
}

// covered says that a path cannot be seen.
func (r rules) covered(path string) bool {
	access := r.at(path)
	return access == confine.Hidden || access == confine.Private
}

// hide hides what holds keys in the home folder.
func (r rules) hide(roots *Roots, home string) {
	if home == "" {
		return
	}
	home = Canonical(home)
	for _, dir := range []string{home, filepath.Join(home, ".config"), filepath.Join(home, ".local/share")} {
		r.each(roots, dir, func(path string, class Class) {
			if class.Is(Secret) {
				r[path] = confine.Hidden
			}
		})
	}
}

// protect gives what stands in a root its access by its class. Below what a command may not change
// it makes no difference what runs later. What a command makes anew, and what lies deeper, is not
// known here.
func (r rules) protect(p *Paths, root string, writes bool) {
	r.each(p.Roots, root, func(path string, class Class) {
		switch {
		case class.Is(Secret):
			r[path] = confine.Hidden
		case !writes:
		case filepath.Base(path) == ".git" && isDir(path):
			r.repository(p, repository{at: path})
		case class.Is(LaterCode), class.Is(Own):
			r.executed(p, path)
		}
	})
	if !writes {
		return
	}
	for _, n := range p.Roots.namedIn(root) {
		switch {
		case !within(root, n.Path) && (n.Path != root || !n.Known):
		case n.Known:
			for _, at := range filesIn(n.Path) {
				if git.IsHook(filepath.Base(at)) {
					r.executed(p, at)
				}
			}
		case Canonical(n.Path) == n.Path:
			r.executed(p, n.Path)
		default:
			r.behind(p, n.Path)
		}
	}
}

// repository gives a folder of git's own data its access. It is a mount point of its own, which
// cannot be renamed, so nobody can put another one in its place; and so is that without which git
// takes another folder.
func (r rules) repository(p *Paths, repo repository) {
	if repo.shown {
		return
	}
	r.put(confine.Write, repo.at)
	for _, name := range git.Data() {
		if at := filepath.Join(repo.at, name); isDir(at) {
			r[at] = confine.Write
		}
	}
	for _, name := range git.Executed() {
		r.executed(p, filepath.Join(repo.at, name))
	}
	for _, at := range filesIn(filepath.Join(repo.at, "hooks")) {
		r.behind(p, at)
	}
	if repo.common != "" { // a commit writes these, and nothing else there
		for _, name := range append(git.Data(), "logs") {
			if at := filepath.Join(repo.common, name); isDir(at) {
				r[at] = confine.Write
			}
		}
	}
}

// executed makes a path read-only, and if it is a link, what that leads to.
func (r rules) executed(p *Paths, path string) {
	r.put(confine.Read, path)
	r.behind(p, path)
}

// behind makes read-only what a link leads to.
func (r rules) behind(p *Paths, path string) {
	if to := Canonical(path); to != path && rootOf(p.write, to) != "" && !slices.Contains(p.write, to) {
		r.put(confine.Read, to)
	}
}

// each calls f with what stands in a folder and is of a class, also where the class is that of
// several names.
func (r rules) each(roots *Roots, dir string, f func(path string, class Class)) {
	entries, _ := os.ReadDir(dir)
	depth, seen := len(namesOf(dir)), folders{}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		class := roots.classOfPath(path, depth)
		if class != Plain {
			f(path, class)
		}
		if class.Is(Secret) || class.Is(Own) {
			continue // and so is all below
		}
		for _, row := range classes().exact[folded(name)] {
			if len(row.names) == 1 {
				continue
			}
			for _, below := range seen.spelled(path, row.names[1:]) {
				if class := roots.classOfPath(below, depth); class != Plain {
					f(below, class)
				}
			}
		}
	}
}

// folders are the entries of folders that were listed: for each folded name those that have it.
type folders map[string]map[string][]string

// spelled are the paths below a folder whose names are these, in whatever spelling.
func (f folders) spelled(dir string, names []string) (paths []string) {
	if len(names) == 0 {
		return []string{dir}
	}
	if f[dir] == nil {
		f[dir] = map[string][]string{}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			f[dir][folded(e.Name())] = append(f[dir][folded(e.Name())], e.Name())
		}
	}
	for have, spellings := range f[dir] {
		if !matches(names[0], have) {
			continue
		}
		for _, name := range spellings {
			paths = append(paths, f.spelled(filepath.Join(dir, name), names[1:])...)
		}
	}
	return paths
}
