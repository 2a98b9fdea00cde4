package sandbox

import (
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Class is what a file is for, as far as that decides who may read or write it: a set of restrictions. What is of several classes
// has the restrictions of all of them.
type Class uint8

// The restrictions.
const (
	writeAsks Class = 1 << iota
	readAsks
	writeNever
	readNever
	// Linked has further names (hard links), and a change would be written into all of them. Writing it asks.
	Linked
)

// The classes. Own and Internal together are what the documentation calls own: no mode, rule or answer lets a tool write it.
const (
	// Plain is every other file.
	Plain Class = 0
	// LaterCode runs later with the user's rights, or tells a program or a model what to do. Writing it asks in each mode that
	// writes at all, and no stored rule covers it.
	LaterCode = writeAsks
	// Own is .git in every form and .tandem. It may be read.
	Own = writeAsks | writeNever
	// Secret is where keys and passwords are kept. Reading and writing ask; searches and lists leave it out.
	Secret = writeAsks | readAsks
	// Internal is Tandem's own configuration, the rules beside it, the state and the audit. It may not even be read.
	Internal = Own | Secret | readNever
)

// Is says that what is of the class has every restriction of the other one.
func (c Class) Is(other Class) bool { return c&other == other }

// String names the class; one of several classes is named by all of them that say something more than the others.
func (c Class) String() string {
	switch {
	case c.Is(Internal):
		return "internal"
	case c.Is(Own | Secret):
		return "own and secret"
	case c.Is(Secret):
		return "secret"
	case c.Is(Own):
		return "own"
	case c.Is(LaterCode):
		return "later-code"
	case c.Is(Linked):
		return "linked"
	}
	return "plain"
}

// Unlisted says that searches and lists leave files of the class out.
func (c Class) Unlisted() bool { return c.Is(Secret) }

// row is one row of the table: one name or several consecutive ones, in lower case, at any depth, and all that lies below.
// A name may end in *. Rows with home hold for what stands directly in the home folder.
type row struct {
	names []string
	class Class
	home  bool
}

// table finds the rows by their first name, by the prefix that ends in *, and by the short name that file systems of DOS
// would give the first name.
type table struct {
	exact, short map[string][]row
	prefix       []row
}

var classes = sync.OnceValue(func() *table {
	t := &table{exact: map[string][]row{}, short: map[string][]row{}}
	add := func(class Class, home bool, patterns string) {
		for _, p := range strings.Fields(patterns) {
			r := row{strings.Split(p, "/"), class, home}
			if first := r.names[0]; strings.HasSuffix(first, "*") {
				t.prefix = append(t.prefix, r)
			} else {
				t.exact[first] = append(t.exact[first], r)
				t.short[shortened(first)] = append(t.short[shortened(first)], r)
			}
		}
	}
	add(Own, false, ".git .tandem")
	// Programs that run without a question: hooks, settings of editors and agents, jobs, shells, package managers; and what
	// models are told to do.
	add(LaterCode, false, `.gitmodules .gitconfig .husky .githooks .pre-commit-config.yaml lefthook.yml .lefthook.yml
		.vscode .idea .zed .fleet .helix .cursor .cursorrules .windsurf .windsurfrules .claude .claude.json .gemini .codex .continue
		.aider.conf.yml .mcp.json .devcontainer .devcontainer.json
		.github/workflows .github/actions .gitlab-ci.yml .circleci .travis.yml
		.envrc .direnv .tool-versions .mise.toml mise.toml .mise .asdfrc
		.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc
		.login .kshrc .inputrc .xprofile .xinitrc .xsession .pam_environment .config/fish .config/autostart .config/systemd .local/bin
		.nvim.lua .nvimrc .vimrc .gvimrc .exrc .vim .config/nvim .config/helix .config/zed .emacs .emacs.d .dir-locals.el .dir-locals-2.el
		.editorconfig .npmrc .yarnrc* .pnpmfile.cjs .pypirc pip.conf .cargo/config .cargo/config.toml .ripgreprc .gdbinit .lldbinit
		agents.md agents.override.md claude.md claude.local.md gemini.md .github/copilot-instructions.md`)
	add(Secret, false, `.env .env.* .netrc _netrc .git-credentials .pgpass .ssh .gnupg .aws .azure .kube .docker .password-store
		.config/gcloud .config/gh .vault-token id_rsa id_rsa.* id_dsa id_dsa.* id_ecdsa id_ecdsa.* id_ed25519 id_ed25519.*`)
	add(Secret, true, `.npmrc .pypirc .yarnrc* .mozilla .thunderbird .config/google-chrome .config/chromium .local/share/keyrings`)
	add(Internal, true, `.config/tandem .local/state/tandem`)
	return t
})

// classOf is the class of a clean absolute path by its names, whatever stands there. names are the path's, home is how many of
// them are those of the home folder, -1 where it does not lie below that, and root how many are those of the root: what the
// person works in as a whole is not later-code by the name of a folder above it.
func classOf(names []string, home, root int) (class Class) {
	t := classes()
	for i, name := range names {
		name = folded(name)
		rows := t.exact[name]
		if stem, ok := shortName(name); ok {
			rows = append(slices.Clone(rows), t.short[stem]...)
		}
		for _, r := range t.prefix {
			if strings.HasPrefix(name, strings.TrimSuffix(r.names[0], "*")) && !example(name) {
				rows = append(slices.Clone(rows), r)
			}
		}
		for _, r := range rows {
			if !class.Is(r.class) && !(r.home && i != home) && !(r.class == LaterCode && i+len(r.names) <= root) && r.follows(names[i:]) {
				class |= r.class
			}
		}
	}
	return class
}

// follows says that the names after the first are those of the row.
func (r row) follows(names []string) bool {
	if len(names) < len(r.names) {
		return false
	}
	for i, want := range r.names[1:] {
		if folded(names[i+1]) != want {
			return false
		}
	}
	return true
}

// example says that a file which is named like one that holds keys holds none.
func example(name string) bool {
	return slices.Contains([]string{".example", ".sample", ".template", ".dist", ".pub"}, path.Ext(name))
}

// folded is a name as a file system may read it that does not tell capital from small letters, ignores characters that are
// not seen (HFS+), drops dots and blanks at the end, or takes what follows a colon for a stream (NTFS).
func folded(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' || c == ':' {
			plain = false
			break
		}
	}
	if !plain {
		name, _, _ = strings.Cut(name, ":")
		name = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			least := r
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				least = min(least, f)
			}
			return unicode.ToLower(least)
		}, name)
	}
	return strings.TrimRight(name, ". ")
}

// shortened is what a short name of DOS begins with: six characters without dots.
func shortened(name string) string {
	stem := strings.TrimLeft(name, ".")
	if i := strings.LastIndexByte(stem, '.'); i > 0 {
		stem = stem[:i]
	}
	stem = strings.ReplaceAll(stem, ".", "")
	return stem[:min(6, len(stem))]
}

// shortName takes a folded name for a short name of DOS and gives its beginning.
func shortName(name string) (stem string, ok bool) {
	stem, number, ok := strings.Cut(name, "~")
	return stem, ok && stem != "" && len(stem) <= 6 && number != "" && number[0] >= '0' && number[0] <= '9'
}
