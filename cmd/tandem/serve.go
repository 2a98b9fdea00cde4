package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/lspserver"
	"tandem/lspserver/wire"
	"tandem/sandbox"
	"tandem/tools/builtin"
)

type serveCmd struct{}

// Run answers the editor that started the process.
func (serveCmd) Run(ctx context.Context, c *cli) error {
	if !c.Stdio {
		return errNoTransport
	}
	in, err := nonblocking(os.Stdin)
	if err != nil {
		return err
	}
	logs := newLogs(os.Stderr)
	defer logs.close()
	o := c.options(logs.logger())
	o.Watch, o.Orphaned, o.Started, o.Store = true, orphaned, logs.configure, openStore
	code := lspserver.Serve(ctx, wire.Join(in, os.Stdout), o)
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

type usageError string

func (e usageError) Error() string { return string(e) }

const errNoTransport = usageError("serve needs --stdio: editors speak to it over standard input and output")

// nonblocking makes reads of a pipe end when it is closed.
func nonblocking(f *os.File) (*os.File, error) {
	if err := syscall.SetNonblock(int(f.Fd()), true); err != nil {
		return nil, err
	}
	return os.NewFile(f.Fd(), f.Name()), nil
}

// options wires a server together.
func (c *cli) options(log *slog.Logger) lspserver.Options {
	flags := map[string]string{}
	if path, ok := strings.CutPrefix(c.Model, "script:"); ok {
		if abs, err := filepath.Abs(path); err == nil {
			c.Model = "script:" + abs
		}
	}
	if c.Model != "" {
		flags["model"] = c.Model
	}
	if c.Mode != "" {
		flags["mode"] = c.Mode
	}
	raw, err := json.Marshal(flags)
	if err != nil { // a map of strings
		panic(err)
	}
	return lspserver.Options{
		Version: version,
		Inputs:  config.Inputs{UserFile: config.UserFile(os.Getenv), Flags: raw},
		Opener: func(cfg config.Config) model.Opener {
			return &registry.Registry{Config: cfg, Getenv: os.Getenv, Discover: true, Command: printed}
		},
		Tools:  builtin.Tools(),
		Runner: &sandbox.Local{},
		Log:    log,
	}
}

// printed is what a command of the configuration prints, such as one that gives a key. It has the whole environment, since
// programs that keep keys live from it.
func printed(argv []string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	r, err := (&sandbox.Local{}).Run(context.Background(), sandbox.Command{
		Argv: argv, Dir: dir, Env: os.Environ(), Timeout: 10 * time.Second, Grace: time.Second,
	})
	switch {
	case err != nil:
		return "", err
	case r.TimedOut:
		return "", errors.New("it did not end within 10 seconds")
	case r.ExitCode != 0:
		return "", fmt.Errorf("it ended with %d: %s", r.ExitCode, strings.TrimSpace(r.Stderr))
	}
	return r.Stdout, nil
}

// orphaned tells when the process with an id is gone.
func orphaned(ctx context.Context, pid int) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if syscall.Kill(pid, 0) == syscall.ESRCH {
					close(gone)
					return
				}
			}
		}
	}()
	return gone
}

// inProcess starts a server in this process and gives the editor's end of the connection.
func (c *cli) inProcess(ctx context.Context, log *slog.Logger) io.ReadWriteCloser {
	ours, theirs := net.Pipe()
	go lspserver.Serve(ctx, theirs, c.options(log))
	return ours
}

// logs write to standard error until the configuration names a level and a file.
type logs struct {
	level slog.LevelVar
	out   *tee
}

func newLogs(w io.Writer) *logs { return &logs{out: &tee{first: w}} }

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l.out, &slog.HandlerOptions{Level: &l.level}))
}

func (l *logs) configure(cfg config.Config) {
	if err := l.level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		l.logger().Warn("log.level", "error", err)
	}
	path := cfg.Log.File
	if path == "" {
		path = filepath.Join(stateDir(cfg), "tandem.log")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.logger().Warn("no log file", "error", err)
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		l.logger().Warn("no log file", "error", err)
		return
	}
	l.out.file(f)
}

func (l *logs) close() { l.out.file(nil) }

// stateDir is where what outlives the process lies.
func stateDir(cfg config.Config) string {
	if cfg.StateDir != "" {
		return cfg.StateDir
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tandem")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "tandem")
	}
	return filepath.Join(home, ".local", "state", "tandem")
}
