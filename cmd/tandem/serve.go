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
		return errNoStdio
	}
	return c.serveEditor(s.Trace, func(o lspserver.Options, conn editorConn) int { return lspserver.Serve(ctx, conn, o) })
}

// editorConn is the connection to an editor.
type editorConn = io.ReadWriteCloser

// serveEditor runs serve for the editor that started the process. trace is the file of the message
// trace, "" for none.
func (c *cli) serveEditor(trace string, serve func(o lspserver.Options, conn editorConn) (code int)) error {
	in, err := nonblocking(os.Stdin)
	if err != nil {
		return err
	}
	l := logs.New(os.Stderr, logs.Options{Version: version, Now: time.Now, Environ: os.Environ()})
	defer l.Close()
	o := c.options(l.Logger(), l.Hide)
	persist(&o, l)
	o.Watch, o.Orphaned, o.Started = true, watchParent, configureLog(l)
	o.Crashes = l.Crashes()
	o.SandboxTrial = sandboxTrial
	if trace != "" {
		record, closeFile, err := l.Trace(trace)
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		defer closeFile()
		o.Trace = record
	}
	enlargePipe(os.Stdout)
	// Returns the memory of a turn to the system once the editor is idle.
	if code := serve(o, newIdleConn(wire.Join(in, os.Stdout), 30*time.Second, debug.FreeOSMemory)); code != 0 {
		return exitCodeError(code)
	}
	return nil
}

// sandboxTrial is the time that an editor has for its own start before the sandbox is tried out.
const sandboxTrial = 2 * time.Second

type usageError string

func (e usageError) Error() string { return string(e) }

const errNoStdio = usageError("serve needs --stdio: it talks to editors over standard input and output")

// options wires a server together. hide is called with each key that a command of the configuration
// prints, so that logs redact it; may be nil.
func (c *cli) options(log *slog.Logger, hide func(key string)) lspserver.Options {
	keys := &keyCommands{hide: hide}
	return lspserver.Options{Version: version, Options: backend.Options{
		Inputs:   c.inputs(""),
		Opener:   opener(keys.output),
		Key:      registry.Keys{Getenv: os.Getenv, Command: keys.output}.Find,
		Opened:   keys.add,
		Rules:    func() string { return userRules(os.Getenv, log) },
		Commands: userCommands(os.Getenv),
		Tools:    builtin.Tools(),
		Runner:   &sandbox.Local{Cache: state.Cache()},
		Own:      state.Own, Quarantine: state.Quarantine, Scratch: state.Scratch, Pins: state.Pins,
		Log: log,
	}}
}

// opener returns a factory of model openers by configuration. command runs an apiKeyCommand.
func opener(command func(argv []string) (string, error)) func(config.Config, model.Lend) model.Opener {
	transport := sync.OnceValue(registry.Transport)
	return func(cfg config.Config, lend model.Lend) model.Opener {
		return &registry.Registry{
			Editor: lend, Config: cfg, Getenv: os.Getenv, Discover: true, Command: command, Transport: transport(),
		}
	}
}

// keyCommands runs the commands that print API keys. All methods may be called concurrently.
type keyCommands struct {
	hide func(key string) // may be nil

	mu      sync.Mutex
	folders []string // folders of present and past sessions
}

// add adds the folders of a session, in which no program is looked up. The home folder is exempt,
// see workspaceRoots.
func (k *keyCommands) add(folders ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, folder := range folders {
		for _, dir := range workspaceRoots(folder) {
			if !slices.Contains(k.folders, dir) {
				k.folders = append(k.folders, dir)
			}
		}
	}
}

// output returns the output of a command that prints a key.
func (k *keyCommands) output(argv []string) (string, error) {
	k.mu.Lock()
	folders := slices.Clone(k.folders)
	k.mu.Unlock()
	out, err := commandOutput(argv, folders...)
	if key, _, _ := strings.Cut(strings.TrimSpace(out), "\n"); k.hide != nil {
		k.hide(key)
	}
	return out, err
}

// commandOutput returns the output of a command of the configuration, such as an apiKeyCommand. The
// command gets the whole environment, which password managers need. Its program is never looked up
// in the working directory or in folders: a repository could plant one there.
func commandOutput(argv []string, folders ...string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	var runner sandbox.Local
	defer runner.Close()
	folder := sandbox.OpenFolder(dir)
	defer folder.Close()
	program, err := runner.Find(argv[0], sandbox.Surroundings{Roots: append(workspaceRoots(dir), folders...)})
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

// workspaceRoots is the working directory, which may contain programs of a repository; nil for the
// home folder, whose programs are the user's own.
func workspaceRoots(dir string) []string {
	if home, err := os.UserHomeDir(); err == nil && sandbox.Canonical(home) == sandbox.Canonical(dir) {
		return nil
	}
	return []string{dir}
}

// watchParent returns a channel that is closed when the process with an id exits, unless ctx ends
// before.
func watchParent(ctx context.Context, pid int) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		if waitForExit(ctx, pid) {
			close(gone)
		}
	}()
	return gone
}

// pollForExit is waitForExit by polling.
func pollForExit(ctx context.Context, pid int) bool {
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

// persist gives a server its persistent store, without the secrets that l knows, and its file locks
// between processes.
func persist(o *lspserver.Options, l *logs.Logs) {
	o.Locks, o.Store, o.Stored, o.Redact = state.Locks, state.OpenStore, state.Stored, l.Redact
}

// inProcess starts a server in this process and returns the editor's end of the connection.
func inProcess(ctx context.Context, o lspserver.Options) io.ReadWriteCloser {
	ours, theirs := net.Pipe()
	go lspserver.Serve(ctx, theirs, o)
	return ours
}

// configureLog returns a function that configures the log.
func configureLog(l *logs.Logs) func(config.Config) {
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
