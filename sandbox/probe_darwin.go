package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// seatbelt is the program that runs another one below a profile.
const seatbelt = "/usr/bin/sandbox-exec"

// probe tries the seatbelt out. What it gives is less than LevelFull, and about what LevelPart promises.
func (l *Local) probe() Level {
	if err := l.try(); err != nil {
		return Level{LevelNone, "commands run with all the rights of this user: the seatbelt of macOS cannot be had: " + err.Error() + caveat, true}
	}
	return Level{LevelPart, "commands run below the seatbelt of macOS (sandbox-exec), as it was just tried out; Tandem's developers have not tried it" +
		caveat, true}
}

// trial is what a confined command tries that it must not be able to do. It prints what it could do. The rest is seen from outside.
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

// try runs a command that tries what it must not be able to do.
func (l *Local) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "tandem-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dir = Canonical(dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.MkdirAll(at("inside/.git/hooks"), 0o700), os.Mkdir(at("outside"), 0o700), os.MkdirAll(at("home/.ssh"), 0o700),
		os.WriteFile(at("home/.ssh/id_ed25519"), []byte("key\n"), 0o600),
	); err != nil {
		return err
	}
	var reached atomic.Bool
	port := ""
	for _, address := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", at("outside/socket")}} {
		listener, err := net.Listen(address[0], address[1])
		if err != nil {
			return err
		}
		defer listener.Close()
		if tcp, ok := listener.Addr().(*net.TCPAddr); ok {
			port = strconv.Itoa(tcp.Port)
		}
		go func() {
			if c, err := listener.Accept(); err == nil {
				reached.Store(true)
				_ = c.Close()
			}
		}()
	}
	folder := OpenFolder(at("inside"))
	defer folder.Close()
	paths := &Paths{Cwd: folder.path, Write: []string{folder.path}, Read: []string{at("outside"), at("home")}, Home: at("home"), Roots: &Roots{Home: at("home")}}
	defer paths.Close()
	p, err := l.start(ctx, Command{
		Argv: []string{"/bin/bash", "-c", trial, "trial", strconv.Itoa(os.Getpid()), port}, Dir: folder, Profile: Loopback,
		Env: []string{"PATH=/usr/bin:/bin"}, Surroundings: Surroundings{Paths: paths}, Grace: time.Second,
	}, LevelPart)
	if err != nil {
		return err
	}
	o := p.Wait()
	said := strings.TrimSpace(o.Stdout)
	info, err := os.Stat(at("outside"))
	switch {
	case !there(at("inside/written")):
		return fmt.Errorf("the trial ended with %d: %s", o.ExitCode, strings.TrimSpace(o.Stdout+o.Stderr))
	case said != "":
		return errors.New(strings.ReplaceAll(said, "\n", "; "))
	case there(at("outside/written")), there(at("outside/link")), err != nil, info.Mode().Perm() != 0o700:
		return errors.New("it writes elsewhere")
	case !there(at("inside/.git/hooks")), there(at("inside/.git/hooks/pre-commit")):
		return errors.New("it changes hooks of git")
	case reached.Load():
		return errors.New("it connects to services")
	}
	return nil
}
