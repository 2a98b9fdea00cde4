package sandbox

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/sandbox/lazy"
)

// Environment is the environment that commands get out of base: where programs, the home and
// temporary files are, the language, the terminal, the caches of build tools, and what extra names.
// An entry of extra is a name to hand on or a whole "NAME=value". What looks like the name of a key
// or a password, and a URL with a user in it, is never handed on, also when it is named.
func Environment(base, extra []string) []string {
	var out []string
	add := func(entry string) {
		name, value, _ := strings.Cut(entry, "=")
		if name == "" || looksSecret(name) || userInURL.Get().MatchString(value) {
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
		"XDG_CACHE_HOME", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB",
		"CARGO_HOME", "RUSTUP_HOME", "CCACHE_DIR", "PIP_CACHE_DIR", "UV_CACHE_DIR", "NPM_CONFIG_CACHE", "npm_config_cache",
		"YARN_CACHE_FOLDER", "GRADLE_USER_HOME", "JAVA_HOME":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// shellNamed names bash in SHELL where it is the program and nothing is named. Else bash looks up
// the user's shell at each start, for which the C library asks a name service over a socket.
func shellNamed(env []string, program string) []string {
	if lookup(env, "SHELL") != "" || filepath.Base(program) != "bash" {
		return env
	}
	return set(env, "SHELL", program)
}

func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}

// userInURL finds a URL with the name or the password of a user.
var userInURL = lazy.Regexp{Text: `://[^/?#\s@]+@`}

// caches are the variables by which build tools are told where to keep what they can make or
// download again, and the folders below the one of ours. XDG_CACHE_HOME is that of all tools that
// know it.
var caches = [][2]string{
	{"XDG_CACHE_HOME", ""},
	{"GOCACHE", "go-build"},
	{"npm_config_cache", "npm"},
	{"PIP_CACHE_DIR", "pip"},
	{"UV_CACHE_DIR", "uv"},
	{"YARN_CACHE_FOLDER", "yarn"},
	{"YARN_GLOBAL_FOLDER", "yarn-berry"},
	{"CCACHE_DIR", "ccache"},
	{"GRADLE_USER_HOME", "gradle"},
	{"DOTNET_CLI_HOME", "dotnet"},
}

// installed are what tools keep below the cache folder of the user though it cannot be made again
// without a network. It is read where it is.
var installed = [][2]string{{"PLAYWRIGHT_BROWSERS_PATH", "ms-playwright"}, {"COREPACK_HOME", "node/corepack"}}

// toolchains are the folders in an environment in which tools are installed, or what they have
// downloaded.
func toolchains(env []string) (folders []string) {
	for _, name := range []string{"GOPATH", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "PLAYWRIGHT_BROWSERS_PATH", "COREPACK_HOME"} {
		for _, at := range filepath.SplitList(lookup(env, name)) {
			if filepath.IsAbs(at) {
				folders = append(folders, at)
			}
		}
	}
	return folders
}

// goProxy is what go asks for modules where a person has set nothing.
const goProxy = "https://proxy.golang" + ".org,direct"

// redirected gives the environment of a confined command, which cannot write in the home folder:
// the caches of build tools are folders below dir. The modules of Go and the packages of Cargo stay
// where they are, to be read, unless proxy is the URL of a way to the network: then what is
// downloaded goes below dir too, and Go takes the modules that the user has from there. What named
// says that a person has set stays.
func redirected(env []string, dir, proxy string, named func(name string) bool) []string {
	home := lookup(env, "HOME")
	users := cmp.Or(lookup(env, "XDG_CACHE_HOME"), filepath.Join(home, ".cache"))
	modules := lookup(env, "GOMODCACHE")
	if modules == "" {
		first, _, _ := strings.Cut(cmp.Or(lookup(env, "GOPATH"), filepath.Join(home, "go")), string(os.PathListSeparator))
		modules = filepath.Join(first, "pkg/mod")
	}
	put := func(name, value string) {
		if !named(name) {
			env = set(env, name, value)
		}
	}
	for _, i := range installed {
		at := filepath.Join(users, i[1])
		if info, err := os.Stat(at); err == nil && info.IsDir() && filepath.IsAbs(at) {
			put(i[0], at)
		}
	}
	for _, c := range caches {
		put(c[0], filepath.Join(dir, c[1]))
	}
	put("NPM_CONFIG_CACHE", "")
	if proxy == "" { // at once, instead of after minutes
		put("CARGO_NET_OFFLINE", "true")
		put("npm_config_fetch_retries", "0")
		return env
	}
	put("GOMODCACHE", filepath.Join(dir, "go-mod"))
	put("GOFLAGS", "-modcacherw") // so that it can be removed
	put("GOPROXY", (&url.URL{Scheme: "file", Path: filepath.ToSlash(modules) + "/cache/download"}).String()+","+
		cmp.Or(lookup(env, "GOPROXY"), goProxy))
	put("CARGO_HOME", filepath.Join(dir, "cargo"))
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		put(name, proxy)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		put(name, "localhost,127.0.0.1,::1")
	}
	put("NODE_USE_ENV_PROXY", "1")
	return env
}

// noTerminal are the variables of a command at whose terminal nobody sits. An editor would wait
// there for nobody: in its place stands a command that says what to pass and fails. git gives the
// first two to a shell. Other programs split the value into words as often as they give it to a
// shell, so it is an option that a program of every system refuses by its name.
var noTerminal = [][2]string{
	{"GIT_EDITOR", "echo 'No editor is opened here: pass the text with -m or -F, or --no-edit to keep it (git config: NAME VALUE).' >&2; false"},
	{"GIT_SEQUENCE_EDITOR", "echo 'No editor is opened here: set GIT_SEQUENCE_EDITOR to a command that changes the list, such as a sed -i.' >&2; false"},
	{"EDITOR", noEditor},
	{"VISUAL", noEditor},
	{"TERM", "dumb"},
}

const noEditor = "ls --no-editor-is-opened-here:pass-the-text-as-an-argument"

// unattended gives env with noTerminal, but for what named says that a person has set.
func unattended(env []string, named func(name string) bool) []string {
	for _, v := range noTerminal {
		if !named(v[0]) {
			env = set(env, v[0], v[1])
		}
	}
	return env
}

// inertSettings keep git from programs and repositories that a clone can carry: a folder of
// ordinary files that is laid out as a bare repository, the file system monitor, the check of
// signatures. The profile ReadOnly bounds what other settings make git run.
var inertSettings = [][2]string{{"safe.bareRepository", "explicit"}, {"core.fsmonitor", "false"}, {"log.showSignature", "false"}}

// inert gives the environment of a command that only reads: git has the settings above, takes no
// lock and fetches nothing.
func inert(env []string) []string {
	env = set(set(env, "GIT_OPTIONAL_LOCKS", "0"), "GIT_NO_LAZY_FETCH", "1")
	for i, s := range inertSettings {
		env = set(set(env, fmt.Sprintf("GIT_CONFIG_KEY_%d", i), s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d", i), s[1])
	}
	return set(env, "GIT_CONFIG_COUNT", strconv.Itoa(len(inertSettings)))
}
