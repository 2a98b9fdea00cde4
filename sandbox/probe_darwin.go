package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// seatbelt is the program that runs another one below a profile.
const seatbelt = "/usr/bin/sandbox-exec"

// probe tries the seatbelt out. What it gives is less than LevelFull, and about what LevelPart
// promises.
func (l *Local) probe() (level Level, settled bool) {
	if err := l.try(); undecided(err) {
		return unsettled(err), false
	} else if err != nil {
		return Level{LevelNone, "commands run with all the rights of this user: the seatbelt of macOS cannot be had: " + err.Error() + caveat, true}, true
	}
	return Level{LevelPart, "commands run below the seatbelt of macOS (sandbox-exec), as it was just tried out; Tandem's developers have not tried it" +
		caveat, true}, true
}

// trial is what a confined command tries that it must not be able to do. It prints what it could
// do. The rest is seen from outside.
const trial = `echo x >written || echo "it cannot write where it may"
echo x >../outside/written
ln -s x ../outside/link
chmod 777 ../outside
echo x >.git/hooks/pre-commit
mv .git away
cat ../home/.ssh/id_ed25519 && echo "it reads keys"
kill -0 "$1" && echo "it sends signals"
(exec 3<>"/dev/tcp/127.0.0.1/$2") && echo "it connects"
nc -w 1 -U ../outside/socket </dev/null
/bin/launchctl list >/dev/null && echo "it asks launchd"
`

// again tries it out once more.
func (l *Local) again(string) error { return l.try() }

// try runs a command that tries what it must not be able to do.
func (l *Local) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), trialTime)
	defer cancel()
	g, err := newGrounds()
	if err != nil {
		return err
	}
	defer g.close()
	p, err := l.start(ctx, Command{
		Argv: []string{"/bin/bash", "-c", trial, "trial", strconv.Itoa(os.Getpid()), g.port}, Dir: g.folder, Profile: Loopback,
		Env: []string{"PATH=/usr/bin:/bin"}, Surroundings: Surroundings{Paths: g.paths}, Grace: time.Second,
	}, LevelPart)
	if err != nil {
		return err
	}
	o := p.Wait()
	if ctx.Err() != nil {
		return errSlow
	}
	said := strings.TrimSpace(o.Stdout)
	info, err := os.Stat(g.at("outside"))
	switch {
	case !there(g.at("inside/written")):
		return fmt.Errorf("the trial ended with %d: %s", o.ExitCode, strings.TrimSpace(o.Stdout+o.Stderr))
	case said != "":
		return errors.New(strings.ReplaceAll(said, "\n", "; "))
	case there(g.at("outside/written")), there(g.at("outside/link")), err != nil, info.Mode().Perm() != 0o700:
		return errors.New("it writes elsewhere")
	case !there(g.at("inside/.git/hooks")), there(g.at("inside/.git/hooks/pre-commit")):
		return errors.New("it changes hooks of git")
	case g.reached.Load():
		return errors.New("it connects to services")
	}
	return nil
}
