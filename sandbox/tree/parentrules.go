package tree

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// maxRuleFile limits how much is read of an ignore file above a root.
const maxRuleFile = 1 << 20

// rulesAbove returns the ignore rules of the folders above a root, as ripgrep reads them. Links are
// followed; only regular files are opened.
func rulesAbove(root string) (l Rules) {
	names := components(strings.Trim(filepath.ToSlash(root), "/"))
	l.global = global(names)
	at := string(filepath.Separator)
	for i := range names {
		l = l.in(names[:i], func(name string) (string, bool) { return readRuleFile(filepath.Join(at, name)) },
			func(name string) bool { _, err := os.Stat(filepath.Join(at, name)); return err == nil })
		at = filepath.Join(at, names[i])
	}
	return l
}

// in adds the rules that a folder brings; read gives what is in one of its files, has tells whether
// there is an entry. What git ignores in a repository around another one is not said of that.
func (l Rules) in(folder []string, read func(name string) (string, bool), has func(name string) bool) Rules {
	for _, name := range repositories() {
		if has(name) {
			l.repository, l.git = true, l.global
			if text, ok := read(path.Join(common(folder, read), exclude)); ok {
				l.git = l.git.add(text, folder)
			}
			break
		}
	}
	for _, name := range RuleFiles() {
		if (name != gitIgnore || l.repository) && has(name) {
			if text, ok := read(name); ok {
				of := l.ruleFile(name)
				*of = of.add(text, folder)
			}
		}
	}
	return l
}

// common is the folder that has what the working trees of a repository share, relative to the top
// of one of them. That of another tree than the first has a file .git, which says where.
func common(folder []string, read func(name string) (string, bool)) string {
	text, ok := read(".git")
	if !ok {
		return ".git"
	}
	relative := func(name string) string {
		if filepath.IsAbs(name) {
			name, _ = filepath.Rel("/"+path.Join(folder...), name)
		}
		return filepath.ToSlash(name)
	}
	line := func(text string) string {
		line, _, _ := strings.Cut(text, "\n")
		return strings.TrimSuffix(line, "\r")
	}
	dir, ok := strings.CutPrefix(line(text), "gitdir: ")
	if !ok {
		return ".git"
	}
	dir = relative(dir)
	text, ok = read(path.Join(dir, "commondir"))
	if !ok {
		return ".git"
	}
	if to := line(text); strings.HasPrefix(to, ".") {
		return path.Join(dir, to)
	}
	return relative(line(text))
}

func readRuleFile(name string) (string, bool) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRuleFile))
	return string(text), err == nil
}

var excludesFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?im)^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$`) })

// global are the rules of a person for all repositories: of the file that git's setting
// core.excludesFile names, or of the one that it looks at by default. They are about what is below
// a folder.
func global(folder []string) ruleList {
	home, config := os.Getenv("HOME"), os.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	name := filepath.Join(config, "git/ignore")
	for _, in := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(config, "git/config")} {
		text, ok := readRuleFile(in)
		if !ok {
			continue
		}
		if found := excludesFile().FindStringSubmatch(text); found != nil {
			name = strings.ReplaceAll(found[1], "~", home)
			break
		}
	}
	text, ok := readRuleFile(name)
	if !ok || !filepath.IsAbs(name) {
		return ruleList{}
	}
	return ruleList{}.add(text, folder)
}
