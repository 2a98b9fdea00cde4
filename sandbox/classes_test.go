package sandbox

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/sandbox/git"
)

// plainly is the class of a path by each row at each of its names.
func plainly(names []string, below depths, root int) (class Class) {
	t := classes()
	var all []row
	for _, rows := range t.exact {
		all = append(all, rows...)
	}
	for _, o := range t.open {
		all = append(all, o.row)
	}
	for i := range names {
		for _, r := range all {
			if i+len(r.names) > len(names) || !below.holds(r.in, i) || r.class == LaterCode && i+len(r.names) <= root {
				continue
			}
			fits := true
			for n, want := range r.names {
				name := folded(names[i+n])
				stem, short := shortName(name)
				fits = fits && (matches(want, name) || n == 0 && short && !strings.Contains(want, "*") && stem == shortened(want))
			}
			if fits {
				class |= r.class
			}
		}
	}
	return class
}

// TestClassesOfEntries: the classes that a folder gives for its entries are those of their paths, which each row of the table says, at
// each of their names.
func TestClassesOfEntries(t *testing.T) {
	var words []string
	for _, rows := range classes().exact {
		for _, r := range rows {
			words = append(words, strings.Join(r.names, "/"), r.names[len(r.names)-1])
			if n := len(r.names) - 1; n > 0 {
				words = append(words, strings.Join(r.names[:n], "/"))
			}
		}
	}
	for _, o := range classes().open {
		words = append(words, strings.ReplaceAll(strings.Join(o.names, "/"), "*", "x"), strings.ReplaceAll(o.names[0], "*", "x")+".pub")
	}
	words = append(words, "a", "b", "src", "home", "etc", "root", "me", "other", "own", "hooks", "GITHUB~1", "ssh~2", ".SSH", ".git ", "pre-commit", "Workflows")
	name := rapid.SampledFrom(words)
	plain := rapid.SampledFrom([]string{"home", "etc", "root", "me", "other", "own", "hooks", "a", ".config", ".github", "tandem", "pre-commit"})
	paths := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.OneOf(plain, plain, name), 0, 4).Draw(t, "path"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		s := &Roots{home: rapid.SampledFrom([]string{"", "/home/me", "/a/me", "/root"}).Draw(t, "home")}
		s.internal = rapid.SampledFrom([][]string{nil, {"/home/me/.config/tandem", "/own"}}).Draw(t, "own")
		s.machine.etc = rapid.SampledFrom([]string{"/etc", "/a/etc", "/b/etc"}).Draw(t, "etc")
		s.machine.homes = rapid.SampledFrom([][]string{nil, {"/home"}, {"/a/home"}}).Draw(t, "homes")
		s.machine.administrator = rapid.SampledFrom([]string{"", "/root", "/a/root"}).Draw(t, "administrator")
		if rapid.Bool().Draw(t, "settings of git") {
			s.named = map[string][]git.Named{"/": {
				{Path: "/hooks", Role: git.Hooks}, {Path: "/a", Role: git.Hooks, Known: true}, {Path: paths.Draw(t, "named")},
			}}
		}
		special := slices.DeleteFunc(slices.Concat(s.internal, s.machine.homes, []string{s.home, s.machine.etc, s.machine.administrator}),
			func(path string) bool { return path == "" })
		paths := rapid.OneOf(paths, rapid.Map(rapid.SampledFrom(special), path.Dir), rapid.SampledFrom(special))
		name := rapid.OneOf(name, rapid.Map(rapid.SampledFrom(special), path.Base))
		top := path.Clean(paths.Draw(t, "root"))
		r := &root{set: s, path: top, names: len(namesOf(top))}
		rel := "."
		if rapid.Bool().Draw(t, "not the root itself") {
			rel = path.Join(".", paths.Draw(t, "below"))
		}
		if folder := paths.Draw(t, "folder"); within(top, folder) && rapid.Bool().Draw(t, "that folder") {
			rel = relative(top, folder)
		}
		in, join := r.classes(rel), r.place(rel).Joiner()
		for _, entry := range rapid.SliceOfN(rapid.OneOf(plain, name), 1, 8).Draw(t, "entries") {
			if strings.Contains(entry, "/") {
				entry = path.Base(entry)
			}
			p := r.place(path.Join(rel, entry))
			if got := in(entry); got != p.class {
				t.Errorf("%s: %v in its folder, %v by its path", p.Path(), got, p.class)
			}
			for _, odd := range []string{entry, rel + "/" + entry, entry + "/..", "../" + entry, "", ".", "/" + entry, "x//" + entry, entry + "/b"} {
				if got, want := join(odd), r.place(rel).Join(odd); got != want {
					t.Errorf("%q below %s: %v, want %v", odd, rel, got, want)
				}
			}
			below, _ := places(s.home, s.machine, p.Path(), r.names)
			if got, want := classOf(namesOf(p.Path()), below, r.names), plainly(namesOf(p.Path()), below, r.names); got != want {
				t.Errorf("%s: %v by the table, want %v", p.Path(), got, want)
			}
		}
	})
}

// TestClassesBesideWhatCounts: each path that counts by itself is the folder, in it or above it.
func TestClassesBesideWhatCounts(t *testing.T) {
	for name, set := range map[string]func(s *Roots, at string){
		"home":          func(s *Roots, at string) { s.home = at },
		"own":           func(s *Roots, at string) { s.internal = []string{at} },
		"etc":           func(s *Roots, at string) { s.machine.etc = at },
		"homes":         func(s *Roots, at string) { s.machine.homes = []string{at} },
		"administrator": func(s *Roots, at string) { s.machine.administrator = at },
		"hooks": func(s *Roots, at string) {
			s.named = map[string][]git.Named{"/a": {{Path: at, Role: git.Hooks}}}
		},
		"known hooks": func(s *Roots, at string) {
			s.named = map[string][]git.Named{"/a": {{Path: at, Role: git.Hooks, Known: true}}}
		},
	} {
		s := &Roots{}
		s.machine.etc = "/elsewhere"
		set(s, "/a/b/c")
		r := &root{set: s, path: "/a", names: 1}
		others := 0
		for _, rel := range []string{".", "b", "b/c", "b/c/d"} {
			in := r.classes(rel)
			for _, entry := range []string{"b", "c", "x", ".npmrc", "shadow", ".git", "pre-commit"} {
				p := r.place(path.Join(rel, entry))
				if p.class != Plain {
					others++
				}
				if got := in(entry); got != p.class {
					t.Errorf("%s at /a/b/c: %s: %v in its folder, %v by its path", name, p.Path(), got, p.class)
				}
			}
		}
		if others < 5 {
			t.Errorf("%s: only %d are not plain", name, others)
		}
	}
}
