// Package treetest finds ripgrep, with which walks and searches are compared, and makes trees that are odd.
package treetest

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
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

// Spelt says that the last name of a glob is spelt out, so that it brings back an ignored file.
func Spelt(glob string) bool {
	return !strings.ContainsAny(path.Base(strings.TrimSuffix(glob, "/")), "*?[{}\\")
}

// Files are the files below a folder that ripgrep lists with the option --hidden, those that a glob fits where it is not "", in the order
// of their paths. They begin with the folder. Ripgrep takes what is ignored where any glob fits; that is left out unless the name is spelt.
func Files(t testing.TB, program, dir, glob string) []string {
	t.Helper()
	files := list(t, program, dir, glob)
	if glob == "" || Spelt(glob) {
		return files
	}
	searched := list(t, program, dir, "")
	return slices.DeleteFunc(files, func(name string) bool {
		_, found := slices.BinarySearch(searched, name)
		return !found
	})
}

func list(t testing.TB, program, dir, glob string) []string {
	t.Helper()
	args := []string{"--no-config", "--no-messages", "--files", "--hidden", "--null"}
	if glob != "" {
		args = append(args, "--glob="+glob)
	}
	cmd := exec.Command(program, append(args, "--glob=!.git")...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if end, ok := err.(*exec.ExitError); err != nil && (!ok || end.ExitCode() > 1) {
		t.Fatalf("rg --files --glob=%s in %s: %v", glob, dir, err)
	}
	var files []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" {
			files = append(files, filepath.Join(dir, name))
		}
	}
	slices.Sort(files)
	return files
}
