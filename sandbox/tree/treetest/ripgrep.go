// Package treetest finds ripgrep, with which walks and searches are compared, and makes trees that are odd.
package treetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// least is the first version of ripgrep whose answers count.
const least = 15

// Ripgrep is the path of the program: the one that TANDEM_RIPGREP names, the one that .ci/ripgrep has installed, or that of the PATH. Where
// none is new enough the test is skipped.
func Ripgrep(t testing.TB) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	why := ""
	for _, name := range []string{os.Getenv("TANDEM_RIPGREP"), filepath.Join(cache, "tandem-ripgrep", "package", "bin", "rg"), "rg"} {
		if name == "" {
			continue
		}
		out, err := exec.Command(name, "--version").Output()
		line, _, _ := strings.Cut(string(out), "\n")
		version, _, _ := strings.Cut(strings.TrimPrefix(line, "ripgrep "), ".")
		if n, _ := strconv.Atoi(version); err == nil && n >= least {
			return name
		}
		why += "; " + name + " is " + strconv.Quote(line)
	}
	t.Skipf("no ripgrep from %d on (.ci/ripgrep installs one)%s", least, why)
	return ""
}
