package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/agent/store"
	"tandem/lspserver"
	"tandem/lspserver/backend"
	"tandem/lspserver/logs"
	"tandem/lspserver/state"
	"tandem/lspserver/wire"
	"tandem/sandbox"
	"tandem/tools/builtin"
)

type serveCmd struct {
	Trace string `help:"Write all messages to FILE. It contains your text, but no keys." placeholder:"FILE" type:"path"`
}

// Run answers the editor that started the process.
func (s serveCmd) Run(ctx context.Context, c *cli) error {
	if !c.Stdio {
		return errNoTransport
	}
	return c.answer(s.Trace, func(o lspserver.Options, conn conn) int { return lspserver.Serve(ctx, conn, o) })
}

// conn is the connection to an editor.
type conn = io.ReadWriteCloser

// answer has serve answer the editor that started the process; trace is a file for every message, "" for none.
func (c *cli) answer(trace string, serve func(o lspserver.Options, conn conn) (code int)) error {
	in, err := nonblocking(os.Stdin)
	if err != nil {
		return err
	}
	l := logs.New(os.Stderr, logs.Options{Version: version, Now: time.Now, Environ: os.Environ()})
	defer l.Close()
	o := c.options(l.Logger(), l.Hide)
	outlive(&o, l)
	o.Watch, o.Orphaned, o.Started = true, orphaned, configured(l)
	o.Crashes = l.Crashes()
	if trace != "" {
		record, closeFile, err := l.Trace(trace)
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		defer closeFile()
		o.Trace = record
	}
	widen(os.Stdout)
	// What a turn has needed goes back to the machine when the editor is left alone.
	if code := serve(o, newResting(wire.Join(in, os.Stdout), 30*time.Second, debug.FreeOSMemory)); code != 0 {
		return exitCode(code)
	}
	return nil
}

type usageError string

func (e usageError) Error() string { return string(e) }

const errNoTransport = usageError("serve needs --stdio: it talks to editors over standard input and output")

// options wires a server together. hide is told of each key that a command of the configuration prints; nil is nobody.
func (c *cli) options(log *slog.Logger, hide func(key string)) lspserver.Options {
	keys := &keys{hide: hide}
	return lspserver.Options{Version: version, Options: backend.Options{
		Inputs: c.inputs(""),
		Opener: opener(keys.printed),
		Key:    registry.Keys{Getenv: os.Getenv, Command: keys.printed}.Find,
		Opened: keys.add,
		Rules:  func() string { return userRules(os.Getenv, log) },
		Tools:  builtin.Tools(),
		Runner: &sandbox.Local{Cache: state.Cache()},
		Own:    state.Own, Quarantine: state.Quarantine, Scratch: state.Scratch, Pins: state.Pins,
		Log: log,
	}}
}

// opener gives what opens models by a configuration. command runs an apiKeyCommand.
func opener(command func(argv []string) (string, error)) func(config.Config, model.Lend) model.Opener {
	transport := sync.OnceValue(registry.Transport)
	return func(cfg config.Config, lend model.Lend) model.Opener {
		return &registry.Registry{
			Editor: lend, Config: cfg, Getenv: os.Getenv, Discover: true, Command: command, Transport: transport(),
		}
	}
}

// keys runs the commands that print keys. All methods may be called concurrently.
type keys struct {
	hide func(key string) // nil is nobody

	mu      sync.Mutex
	folders []string // in which sessions work, or have
}

// add is told of folders that a session works in. The home folder holds the person's own programs, see opened.
func (k *keys) add(folders ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, folder := range folders {
		for _, dir := range opened(folder) {
			if !slices.Contains(k.folders, dir) {
				k.folders = append(k.folders, dir)
			}
		}
	}
}

// printed is what a command prints that gives a key.
func (k *keys) printed(argv []string) (string, error) {
	k.mu.Lock()
	folders := slices.Clone(k.folders)
	k.mu.Unlock()
	out, err := printed(argv, folders...)
	if key, _, _ := strings.Cut(strings.TrimSpace(out), "\n"); k.hide != nil {
		k.hide(key)
	}
	return out, err
}

// printed is what a command of the configuration prints, such as one that gives a key. It has the whole environment, since
// programs that keep keys live from it. Programs are looked for neither in the folder that this process is in nor in some others.
func printed(argv []string, folders ...string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	var runner sandbox.Local
	defer runner.Close()
	folder := sandbox.OpenFolder(dir)
	defer folder.Close()
	program, err := runner.Find(argv[0], sandbox.Surroundings{Roots: append(opened(dir), folders...)})
	if err != nil {
		return "", err
	}
	r, err := sandbox.Run(context.Background(), &runner, sandbox.Command{
		Argv: append([]string{program}, argv[1:]...), Dir: folder, Profile: sandbox.Unconfined, Env: os.Environ(),
		Privileged: true, Leave: true, Timeout: 10 * time.Second, Grace: time.Second,
	})
	switch {
	case err != nil:
		return "", err
	case r.TimedOut:
		return "", errors.New("it did not exit within 10 seconds")
	case r.ExitCode != 0:
		return "", fmt.Errorf("exit code %d: %s", r.ExitCode, cmp.Or(strings.TrimSpace(r.Stderr), "no error output"))
	}
	return r.Stdout, nil
}

// opened is the folder that the editor is in, which may hold programs of a repository. The home folder holds the person's.
func opened(dir string) []string {
	if home, err := os.UserHomeDir(); err == nil && sandbox.Canonical(home) == sandbox.Canonical(dir) {
		return nil
	}
	return []string{dir}
}

// orphaned gives a channel that is closed when the process with an id has ended, unless ctx ends before.
func orphaned(ctx context.Context, pid int) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		if awaitExit(ctx, pid) {
			close(gone)
		}
	}()
	return gone
}

// pollExit is awaitExit by looking, again and again.
func pollExit(ctx context.Context, pid int) bool {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
			if store.Gone(pid) {
				return true
			}
		}
	}
}

// outlive makes a server keep what outlives it, without the secrets that l knows, and mind what other processes do to the same
// files.
func outlive(o *lspserver.Options, l *logs.Logs) {
	o.Locks, o.Store, o.Stored, o.Redact = state.Locks, state.OpenStore, state.Stored, l.Redact
}

// inProcess starts a server in this process and gives the editor's end of the connection.
func inProcess(ctx context.Context, o lspserver.Options) io.ReadWriteCloser {
	ours, theirs := net.Pipe()
	go lspserver.Serve(ctx, theirs, o)
	return ours
}

// configured gives what sets the log up by a configuration.
func configured(l *logs.Logs) func(config.Config) {
	return func(cfg config.Config) {
		l.Hide(os.Getenv(cfg.WebSearch.KeyEnv()))
		for _, p := range cfg.Providers {
			l.Hide(os.Getenv(p.APIKeyEnv))
			for name, value := range p.Headers {
				l.HideNamed(name, value)
			}
		}
		dir := state.Dir(cfg)
		if err := store.Private(dir); err != nil {
			l.Logger().Warn("neither a log file nor crash reports are written to the state folder", "error", err)
			l.Configure(cfg.Log.Level, cmp.Or(cfg.Log.File, os.DevNull), os.DevNull)
			return
		}
		l.Configure(cfg.Log.Level, state.LogFile(cfg), filepath.Join(dir, "crashes"))
	}
}
