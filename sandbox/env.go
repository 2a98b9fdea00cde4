package sandbox

import (
	"slices"
	"strings"
)

// Environment is the environment that commands get out of base: where programs, the home and temporary files are, the
// language, the terminal, the caches of build tools, and what extra names. An entry of extra is a name to hand on or a
// whole "NAME=value". What looks like the name of a key or a password is never handed on, also when it is named.
func Environment(base, extra []string) []string {
	var out []string
	add := func(entry string) {
		name, _, _ := strings.Cut(entry, "=")
		if name == "" || looksSecret(name) {
			return
		}
		out = slices.DeleteFunc(out, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		out = append(out, entry)
	}
	for _, entry := range base {
		name, _, ok := strings.Cut(entry, "=")
		if ok && (handedOn(name) || slices.Contains(extra, name)) {
			add(entry)
		}
	}
	for _, entry := range extra {
		if strings.Contains(entry, "=") {
			add(entry)
		}
	}
	return out
}

func handedOn(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR",
		"XDG_CACHE_HOME", "GOPATH", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "CCACHE_DIR", "PIP_CACHE_DIR",
		"UV_CACHE_DIR", "NPM_CONFIG_CACHE", "npm_config_cache", "YARN_CACHE_FOLDER", "GRADLE_USER_HOME", "JAVA_HOME":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}
