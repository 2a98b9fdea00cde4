// Package autorun finds what a command has put into the workspace that is executed later with the
// rights of the user, outside of the sandbox: hooks and settings of git, files of editors, shells
// and agents. It compares two listings, one from before the command and one from after it, and
// moves what it finds into a quarantine.
package autorun

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"tandem/sandbox/git"
)

// kind is what an entry is to the one who executes it.
type kind uint8

// The kinds.
const (
	kindLater    kind = iota + 1 // a file of the class LaterCode or Own, but for those of a repository
	kindHook                     // in the folder of hooks of a repository, or that folder as a link; or a program that a configuration names
	kindConfig                   // a configuration of git
	kindPointer                  // says where a repository, or a part of it, lies
	kindHead                     // the HEAD of a repository named .git, without which it is none
	kindTodo                     // what a rebase that has stopped goes on with
	kindStrategy                 // the name of a program that a rebase merges with
)

// executes is what git executes of a text of a kind.
var executes = map[kind]func(text string) []git.Setting{kindConfig: git.Settings, kindTodo: git.Todo, kindStrategy: git.Strategy}

// entry is a file, a link or another thing that is no folder. Text is what is in a file or a link,
// if Whole; a longer one, and one that cannot be read, is told from another by its Mark.
type entry struct {
	Kind  kind
	Mode  fs.FileMode
	Text  string
	Whole bool
	Mark  string
	// Folder is the folder whose entry has the name that decides: that of .vscode for
	// .vscode/tasks.json.
	Folder string
	// Root is the write root.
	Root string
}

func (e entry) same(o entry) bool {
	return e.Mode == o.Mode && e.Whole == o.Whole && e.Text == o.Text && (e.Whole || e.Mark == o.Mark)
}

// listing is what stands in the write roots at one time. Paths are absolute, with forward slashes.
type listing struct {
	Entries map[string]entry
	// Folders are those that were looked through.
	Folders map[string]bool
	// Repositories are the folders of git's own data. The value says that git takes it as a
	// repository.
	Repositories map[string]bool
	// Cut says that not all folders were looked through, Blind that something could not be opened
	// because too many files are open.
	Cut, Blind bool
}

// action is what is done about a finding.
type action uint8

// The actions.
const (
	actionTake   action = iota + 1 // it goes into the quarantine
	actionRevert                   // it goes there, and what was there before comes back
	actionTell                     // it stays and is told
	actionCount                    // it stays and is named: it came with a repository that is new itself, such as a clone
	actionMend                     // it is gone, and comes back
)

// finding is an entry that the command has made or changed. Was is what it was before.
type finding struct {
	Path   string
	Now    entry
	Was    entry
	Action action
	// Why is what is new of what git executes of a kindConfig, kindTodo or kindStrategy.
	Why []git.Setting
}

// compare gives what came to stand or changed between two listings and is executed later, sorted by
// path.
func compare(before, after *listing) (found []finding) {
	for at, now := range after.Entries {
		was, had := before.Entries[at]
		if had && was.same(now) || now.Kind == kindHead {
			continue
		}
		f := finding{Path: at, Now: now, Was: was, Action: actionTake}
		if of := executes[now.Kind]; of != nil {
			old := of(was.Text)
			f.Why = slices.DeleteFunc(of(now.Text), func(s git.Setting) bool { return slices.Contains(old, s) })
			if len(f.Why) == 0 && now.Whole && now.Mode.IsRegular() {
				continue
			}
		}
		if now.Kind == kindPointer && leads(at, now, after) {
			continue
		}
		known := before.Folders[now.Folder]
		switch {
		case had && was.Whole:
			f.Action = actionRevert
		case had, before.Cut && !known, before.Blind:
			f.Action = actionTell
		case now.Kind == kindLater && !known && now.Folder != now.Root && cloned(at, before, after):
			f.Action = actionCount
		}
		found = append(found, f)
	}
	for at, was := range before.Entries {
		if taken, there := after.Repositories[path.Dir(at)]; was.Kind != kindHead || !before.Repositories[path.Dir(at)] || taken || !there {
			continue
		}
		f := finding{Path: at, Now: was, Was: was, Action: actionMend}
		if now, there := after.Entries[at]; there {
			f.Now, f.Action = now, actionRevert
		}
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.Path, b.Path) })
	return found
}

// cloned says that a path lies in the work tree of a repository that is new.
func cloned(at string, before, after *listing) bool {
	for dir := path.Dir(at); dir != path.Dir(dir); dir = path.Dir(dir) {
		dotGit := path.Join(dir, ".git")
		if after.Repositories[dotGit] && !before.Repositories[dotGit] {
			return true
		}
		_, had := before.Entries[dotGit]
		if e := after.Entries[dotGit]; e.Kind == kindPointer && !had && leads(dotGit, e, after) { // a submodule or a further work tree
			return true
		}
	}
	return false
}

// name is the path of a finding below its root.
func (f finding) name() string {
	return path.Clean(strings.TrimPrefix(strings.TrimPrefix(f.Path, f.Now.Root), "/"))
}

// leads says that what a .git file or a commondir says leads where git itself has it lead: into a
// repository that was found below the write roots, which is examined too.
func leads(at string, e entry, now *listing) bool {
	if !e.Mode.IsRegular() || !e.Whole {
		return false
	}
	if path.Base(at) == "commondir" {
		text := strings.TrimRight(e.Text, "\r\n")
		return text == "." || text == "../.." && path.Base(path.Dir(path.Dir(at))) == "worktrees"
	}
	target, ok := git.Pointer(e.Text)
	return ok && now.Repositories[git.From(path.Dir(at), target)]
}
