package git

// What git takes as a repository, and what of one it executes, follows from names and texts alone:
// nothing in this file and in settings.go opens a file. A folder is a repository by what is in it
// and not by its name: git looks for one in each folder from the present one upwards, first at .git
// there and then at the folder itself.

import (
	"strings"

	"tandem/sandbox/lazy"
)

// Executed are the names in a repository of what git executes or reads settings from, and of what
// says where these lie.
func Executed() []string {
	return []string{"hooks", "config", "config.worktree", "info", "modules", "worktrees", "commondir", "gitdir"}
}

// Data are the names without which git does not take a folder as a repository, beside HEAD.
func Data() []string { return []string{"objects", "refs"} }

// IsRepository says that git takes a folder as a repository, from what is in it. It says so of some
// folders that git refuses for what their HEAD says.
func IsRepository(has func(name string) bool) bool {
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

var head = lazy.Regexp{Text: `^(ref:\s*refs/\S|[0-9a-fA-F]{40})`}

// IsHead says that git takes a text as that of HEAD.
func IsHead(text string) bool { return head.Get().MatchString(text) }

// Pointer is the repository that the text of a .git file names, relative to the folder of the file.
func Pointer(text string) (repository string, ok bool) {
	text = strings.TrimRight(text, "\r\n")
	repository, ok = strings.CutPrefix(text, "gitdir: ")
	return repository, ok && !strings.Contains(text, "\n")
}

var hooks = lazy.Regexp{Text: `^((pre|post)-[a-z-]+|applypatch-msg|prepare-commit-msg|commit-msg|fsmonitor-watchman|update|` +
	`push-to-checkout|proc-receive|reference-transaction|sendemail-validate|p4-[a-z-]+)(\.[a-z]+)?$`}

// IsHook says that a name is that of a hook.
func IsHook(name string) bool { return hooks.Get().MatchString(strings.ToLower(name)) }
