package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tandem/sandbox/keeper"
)

// probe tries the levels out, the highest first: what a confined command of this program can do
// says which one is in force.
func (l *Local) probe() (level Level, settled bool) {
	full := try(LevelFull, trialTime)
	if full == nil {
		return Level{Name: LevelFull, Reason: "commands run in namespaces with mounts of their own, below Landlock and seccomp"}, true
	}
	if undecided(full) {
		return unsettled(full), false
	}
	why := full.Error() + hint("/")
	part := try(LevelPart, trialTime)
	if part == nil {
		return Level{LevelPart, "commands run below Landlock and seccomp alone, so what runs later is not protected within the " +
			"workspace, and modes of files outside can be changed. There are no namespaces: " + why, true}, true
	}
	if undecided(part) {
		return unsettled(part), false
	}
	return Level{LevelNone, "commands run with all the rights of this user: no sandbox can be had. With namespaces: " + why +
		"; without: " + part.Error(), true}, true
}

// again tries one level out.
func (l *Local) again(level string) error { return try(level, trialTime) }

// try runs a command at a level that tries what it must not be able to do.
func try(level string, limit time.Duration) error {
	l := Local{system: system{alone: true}}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	g, err := newGrounds()
	if err != nil {
		return err
	}
	defer g.close()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	kind := "no namespaces"
	if level == LevelFull {
		kind = "full"
	}
	p, err := l.start(ctx, Command{
		Argv: []string{program, keeper.ProbeName, g.dir, strconv.Itoa(os.Getpid()), kind}, Dir: g.folder, Profile: Loopback, Env: []string{},
		Surroundings: Surroundings{Paths: g.paths, Path: []string{filepath.Dir(program)}}, Grace: time.Second,
	}, level)
	if ctx.Err() != nil && p == nil {
		return errSlow
	}
	if err != nil {
		return err
	}
	switch o := p.Wait(); {
	case ctx.Err() != nil:
		return errSlow
	case o.ExitCode != 0:
		return fmt.Errorf("the trial ended with %d: %s", o.ExitCode, strings.TrimSpace(o.Stdout+o.Stderr))
	case o.Stdout != "":
		return errors.New(strings.ReplaceAll(strings.TrimSpace(o.Stdout), "\n", "; "))
	}
	return nil
}

// hint says what is known to keep a system from having namespaces. root is where its files are.
func hint(root string) (why string) {
	for _, h := range []struct{ file, bad, says string }{
		{"proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns)"},
		{"proc/sys/kernel/unprivileged_userns_clone", "0", "user namespaces are switched off (kernel.unprivileged_userns_clone)"},
		{"proc/sys/user/max_user_namespaces", "0", "user namespaces are switched off (user.max_user_namespaces)"},
	} {
		if text, err := os.ReadFile(filepath.Join(root, h.file)); err == nil && strings.TrimSpace(string(text)) == h.bad {
			why += "; " + h.says
		}
	}
	status, _ := os.ReadFile(filepath.Join(root, "proc/self/status"))
	if strings.Contains(string(status), "\nSeccomp:\t2\n") {
		why += "; Tandem itself runs in a sandbox or a container"
	}
	return why
}
