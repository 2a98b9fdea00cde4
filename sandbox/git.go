package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/sandbox/git"
)

// maxRepositories is how many repositories below the roots are protected from commands before they
// run.
const maxRepositories = 64

// repository is a folder of git's own data that commands work with.
type repository struct {
	at     string
	common string
	// shown says that commands may only read it: the .git of the root leads there, and it does not
	// say that it belongs to the root.
	shown bool
}

// Found keeps what a look at the write roots has found: the folders of git's own data, the topmost
// first. Commands that begin later cannot change what git executes in them.
func (p *Paths) Found(repositories []string) {
	p.mu.Lock()
	p.found = repositories
	p.mu.Unlock()
	p.prepare()
	p.Roots.name(p)
}

// name finds out what git executes in the roots by the settings of their repositories.
func (s *Roots) name(p *Paths) {
	own := p.GitSettings()
	for _, root := range p.write {
		found := namedOf(root, p.Home, own)
		s.mu.Lock()
		if s.named == nil {
			s.named = map[string][]git.Named{}
		}
		s.named[root] = found
		s.mu.Unlock()
	}
}

// repositories are those that a command which may write works with: the ones of the roots, those
// that a look has found, and what lies in the folders modules and worktrees of all of these.
func (p *Paths) repositories() (all []repository) {
	add := func(r repository) {
		if len(all) < maxRepositories && !slices.ContainsFunc(all, func(o repository) bool { return o.at == r.at }) && isDir(r.at) {
			all = append(all, r)
		}
	}
	for _, root := range p.write {
		if dotGit := filepath.Join(root, ".git"); isDir(dotGit) && git.IsRepositoryAt(dotGit) {
			add(repository{at: dotGit})
		} else if r, ok := p.linked(root); ok {
			add(r)
		}
	}
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	for _, at := range found {
		if root := rootOf(p.write, at); root != "" && git.IsRepositoryAt(at) && Canonical(at) == at {
			add(repository{at: at})
		}
	}
	for i := 0; i < len(all); i++ {
		if all[i].common == "" && !all[i].shown {
			for _, below := range []string{"modules", "worktrees"} {
				repositoriesIn(filepath.Join(all[i].at, below), 4, func(at string) { add(repository{at: at}) })
			}
		}
	}
	return all
}

// repositoriesIn calls f with the repositories in a folder.
func repositoriesIn(folder string, depth int, f func(at string)) {
	for _, at := range filesIn(folder) {
		switch {
		case !isDir(at):
		case git.IsRepositoryAt(at):
			f(at)
		case depth > 0:
			repositoriesIn(at, depth-1, f)
		}
	}
}

// linked gives the repository that the .git of a root leads to, which is a file that names it or a
// symbolic link, if that lies outside of the write roots. Where it does not say itself that it
// belongs to the root, it is only shown: what stands in the root alone would open any repository of
// the user to commands.
func (p *Paths) linked(root string) (r repository, ok bool) {
	dotGit := filepath.Join(root, ".git")
	at := Canonical(dotGit)
	if target, ok := git.Pointer(git.Text(at)); ok {
		at = Canonical(git.From(root, target))
	}
	if r = (repository{at: at}); at == dotGit || !git.IsRepositoryAt(at) || rootOf(p.write, at) != "" {
		return r, false
	}
	if tree := git.Value(git.Text(filepath.Join(at, "config")), "core.worktree"); tree != "" {
		r.shown = Canonical(git.From(at, tree)) != root
		return r, true
	}
	r.shown = true
	if filepath.Base(filepath.Dir(at)) == "worktrees" && strings.TrimSpace(git.Text(filepath.Join(at, "commondir"))) == "../.." {
		r.common = filepath.Dir(filepath.Dir(at))
		back := strings.TrimSpace(git.Text(filepath.Join(at, "gitdir")))
		r.shown = !git.IsRepositoryAt(r.common) || back == "" || Canonical(git.From(at, back)) != dotGit
	}
	return r, true
}

// Linked are the folders outside of the write roots that commands may write, since git keeps the
// data of a root there.
func (p *Paths) Linked() (all []string) {
	p.prepare()
	for _, root := range p.write {
		if r, ok := p.linked(root); ok && !r.shown {
			all = append(all, r.at)
		}
	}
	return all
}

// GitSettings are the texts of the person's own configurations of git, by their paths.
func (p *Paths) GitSettings() map[string]string {
	texts := map[string]string{}
	for _, name := range []string{".gitconfig", ".config/git/config"} {
		if p.Home == "" {
			continue
		}
		at := filepath.Join(p.Home, name)
		if text := git.Text(Canonical(at)); text != "" {
			texts[filepath.ToSlash(at)] = text
		}
	}
	return texts
}

// namedOf is what the settings of the repository of a root name, that of a folder above it
// included. own are those of the person.
func namedOf(root, home string, own map[string]string) []git.Named {
	for top := root; ; top = filepath.Dir(top) {
		dotGit := filepath.Join(top, ".git")
		target, pointer := git.Pointer(git.Text(dotGit))
		if pointer {
			dotGit = git.From(top, target)
			if common := strings.TrimSpace(git.Text(filepath.Join(dotGit, "commondir"))); common != "" {
				dotGit = git.From(dotGit, common)
			}
		}
		if git.IsRepositoryAt(dotGit) {
			var found []git.Named
			for _, name := range []string{"config", "config.worktree"} {
				at := filepath.Join(dotGit, name)
				found = append(found, git.NamedBy(git.Text(at), at, home, []string{top})...)
			}
			for at, text := range own {
				found = append(found, git.NamedBy(text, at, home, []string{top})...)
			}
			return found
		}
		if top == filepath.Dir(top) {
			return nil
		}
	}
}

// namedIn is what the settings of the repository of a write root name.
func (s *Roots) namedIn(root string) []git.Named {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named[root]
}

// executes says that git executes what is at a canonical path, or reads settings from it, because a
// setting names it.
func executes(all []git.Named, canonical string) bool {
	return slices.ContainsFunc(all, func(n git.Named) bool {
		if n.Known {
			return filepath.Dir(canonical) == n.Path && git.IsHook(filepath.Base(canonical))
		}
		return canonical == n.Path || n.Role == git.Hooks && within(n.Path, canonical)
	})
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
