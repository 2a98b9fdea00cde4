package shell

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed options.txt
var optionsText string

// writing are the rows of options.txt.
var writing = sync.OnceValue(func() map[string]*program { return table(optionsText) })

// Known reports whether a table has every option of a command. Then no word of it is a program that
// the command runs, whatever its operands are: an allow rule with * may cover it.
func Known(argv []string) bool {
	if len(argv) == 0 || strings.Contains(argv[0], "/") {
		return false
	}
	if dashes := slices.Index(argv, "--"); dashes >= 0 {
		if slices.ContainsFunc(argv[dashes:], func(a string) bool { return len(a) > 2 && a[0] == '-' }) {
			return false
		}
	}
	if argv[0] == "test" || argv[0] == "[" {
		var words []value
		for _, a := range argv {
			words = append(words, exactly(a))
		}
		r := &reader{}
		r.tests(words, []string{""})
		return r.opaque == ""
	}
	if _, _, why := onlyReads(argv); why == "" {
		return true
	}
	if argv[0] == "git" && len(argv) > 1 && argv[1] == "--no-pager" {
		argv = slices.Delete(slices.Clone(argv), 1, 2)
	}
	p, words := rowOf(writing(), argv)
	if p == nil {
		return false
	}
	_, bad := p.reads(argv[words:])
	return bad == ""
}

// rowOf finds the row of a program, or of its subcommand of one word or two, and how many words its
// name has.
func rowOf(rows map[string]*program, argv []string) (p *program, words int) {
	for n := 1; n <= min(3, len(argv)); n++ {
		if row := rows[strings.Join(argv[:n], " ")]; row != nil {
			p, words = row, n
		}
	}
	return p, words
}

// builtinGit are the subcommands of git that a person knows, and that no alias can replace. What
// only reads has a row in programs.txt. Plumbing that writes is not here: it does what one of these
// does under another name.
var builtinGit = wordSet{list: "add am apply archive bisect branch bundle checkout cherry-pick clean clone commit config fetch format-patch gc init " +
	"lfs merge mv notes pull push rebase remote reset restore revert rm sparse-checkout stash submodule switch tag worktree diff log show " +
	"status help version reflog grep blame"}

// Spellings are the forms in which a prohibition is compared with a command: as it stands, by the
// name of its program, and for git without the options in front of its subcommand. A subcommand
// that is no known one is an alias or plumbing: "", which may be any.
func Spellings(argv []string) [][]string {
	forms := [][]string{argv}
	if len(argv) == 0 || argv[0] == "" {
		return forms
	}
	name := path.Base(argv[0])
	if name != argv[0] {
		forms = append(forms, append([]string{name}, argv[1:]...))
	}
	args := argv[1:]
	if sub, ok := strings.CutPrefix(name, "git-"); ok {
		name, args = "git", append([]string{sub}, args...)
		forms = append(forms, append([]string{name}, args...))
	}
	if name != "git" {
		return forms
	}
	front := len(args)
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		skip := 1
		if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}, args[0]) {
			skip = 2
		}
		args = args[min(skip, len(args)):]
	}
	switch {
	case len(args) == 0:
		return forms
	case len(args) < front:
		forms = append(forms, append([]string{name}, args...))
	}
	if row, _ := rowOf(programs(), append([]string{name}, args...)); row == nil && !builtinGit.has(args[0]) {
		forms = append(forms, []string{name, ""})
	}
	return forms
}
