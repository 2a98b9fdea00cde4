package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tandem/sandbox/git"
)

// commonHere is what commondir says while a command runs: that the repository is in the folder
// where it is.
const commonHere = ".\n"

// gitGuard holds what must be in each repository while a command may write there. Git reads hooks
// and settings from files that a repository need not have: from the folder that commondir names,
// and from hooks. What is not there cannot be a mount point, so a command could make it, and the
// next git of a person would run what it names. Both are made without changing what the repository
// is. commondir goes with the last command that needs it; the lock counts them, those of other
// processes too.
type gitGuard []*os.File

// guardGit makes what is missing in repositories. What cannot be made because the file system does
// not permit it, a command cannot make either.
func guardGit(repositories []repository) (gitGuard, error) {
	var g gitGuard
	for _, r := range repositories {
		err := g.add(r.at)
		if r.common != "" { // else a commit could not note what it did
			if err2 := os.Mkdir(filepath.Join(r.common, "logs"), 0o777); err2 != nil && !errors.Is(err2, fs.ErrExist) {
				err = errors.Join(err, err2)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EROFS) {
			g.release()
			return nil, fmt.Errorf("%w: %w", ErrNotConfined, err)
		}
	}
	return g, nil
}

func (g *gitGuard) add(dotGit string) error {
	common := dotGit
	if to := git.Text(filepath.Join(dotGit, "commondir")); to != "" && to != commonHere {
		common = git.From(dotGit, strings.TrimSpace(to))
	} else if err := os.Mkdir(filepath.Join(dotGit, "hooks"), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if strings.Contains(strings.ToLower(git.Text(filepath.Join(common, "config"))), "worktreeconfig") {
		f, err := os.OpenFile(filepath.Join(dotGit, "config.worktree"), os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
		if err != nil && !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENXIO) {
			return err
		}
		_ = f.Close()
	}
	name := filepath.Join(dotGit, "commondir")
	for {
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := makeWhole(name, commonHere); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			continue
		case err != nil: // a link: it is there
			return nil
		}
		if err := flock(f, unix.LOCK_SH); err != nil {
			_ = f.Close()
			return err
		}
		if sameFile(f, name) {
			*g = append(*g, f)
			return nil
		}
		_ = f.Close() // it was removed before it was locked
	}
}

// release removes what was made for commands alone, where no other command needs it.
func (g gitGuard) release() {
	for _, f := range g {
		text := make([]byte, len(commonHere)+1)
		n, _ := f.ReadAt(text, 0)
		if string(text[:n]) == commonHere && flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil && sameFile(f, f.Name()) {
			_ = os.Remove(f.Name())
		}
		_ = f.Close()
	}
}

// makeWhole makes a file that nobody sees without its text.
func makeWhole(name, text string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".tandem-tmp-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), name)
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// sameFile says that a file has a name still.
func sameFile(f *os.File, name string) bool {
	a, err := f.Stat()
	b, err2 := os.Lstat(name)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// guarded are the repositories that a command of a profile may write in.
func (p *Paths) guarded(profile Profile) []repository {
	if p == nil || !slices.Contains([]Profile{Write, Loopback, Proxy}, profile) {
		return nil
	}
	p.prepare()
	return slices.DeleteFunc(p.repositories(), func(r repository) bool { return r.shown })
}
