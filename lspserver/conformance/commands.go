package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"tandem/sandbox"
)

// Commands is a sandbox.Runner that plays a script and starts no process. A block begins with "$ COMMAND" and says, a
// line each, what the command does: "out TEXT", "err TEXT", "write FILE "TEXT"", "remove FILE", "move FILE FILE", "mode FILE 755" (below its folder), "wait 2s", "hang"
// (until it is ended), "stubborn" (the same, and deaf to TERM), "exit N". Each block is played once. There are shells
// and no other programs: a tool that would like to use one of its own has to do without.
type Commands struct {
	level sandbox.Level

	mu       sync.Mutex
	blocks   []commandBlock
	problems []string
}

type commandBlock struct {
	line    int
	command string
	lines   []string
	played  bool
}

// NewCommands parses a script of commands; first is the line of the file at which it begins.
func NewCommands(script string, first int) (*Commands, error) {
	c := &Commands{level: sandbox.Level{Name: "none", Reason: "the commands are played"}}
	for i, line := range strings.Split(script, "\n") {
		if line = strings.TrimRight(line, " \t"); line == "" {
			continue
		}
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			c.blocks = append(c.blocks, commandBlock{line: first + i, command: command})
			continue
		}
		if len(c.blocks) == 0 {
			return nil, fmt.Errorf("%d: a command begins with $", first+i)
		}
		b := &c.blocks[len(c.blocks)-1]
		switch word, _, _ := strings.Cut(line, " "); word {
		case "out", "err", "write", "remove", "move", "mode", "wait", "hang", "stubborn", "exit":
			b.lines = append(b.lines, line)
		default:
			return nil, fmt.Errorf("%d: no command can %q", first+i, word)
		}
	}
	return c, nil
}

// Level says that nothing is confined.
func (c *Commands) Level() sandbox.Level { return c.level }

// Problems are the commands that nobody expected and those that were expected in vain.
func (c *Commands) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.problems
	for _, b := range c.blocks {
		if !b.played {
			out = append(out, fmt.Sprintf("%d: this command was never run: %s", b.line, b.command))
		}
	}
	return out
}

func (c *Commands) take(command string) (commandBlock, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.blocks {
		if b := &c.blocks[i]; b.command == command && !b.played {
			b.played = true
			return *b, true
		}
	}
	c.problems = append(c.problems, "nobody expected the command: "+command)
	return commandBlock{}, false
}

// Find finds shells, and nothing else.
func (c *Commands) Find(name string, _ sandbox.Surroundings) (string, error) {
	if name != "bash" && name != "sh" {
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	return "/bin/" + name, nil
}

// Start takes the block of the command, which follows "-c". It is played when its end is waited for.
func (c *Commands) Start(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	missing := &exec.Error{Name: cmd.Argv[0], Err: exec.ErrNotFound}
	if len(cmd.Argv) < 3 || cmd.Argv[1] != "-c" {
		return nil, missing
	}
	b, ok := c.take(cmd.Argv[2])
	if !ok {
		return nil, missing
	}
	return &scene{of: c, ctx: ctx, cmd: cmd, block: b}, nil
}

// scene is a command that is played once.
type scene struct {
	sandbox.Process // the scripts need no more of it

	of    *Commands
	ctx   context.Context
	cmd   sandbox.Command
	block commandBlock
}

// Wait plays the block.
func (s *scene) Wait() (out sandbox.Outcome) {
	began := time.Now()
	defer func() { out.Duration = time.Since(began) }()
	var limit <-chan time.Time
	if s.cmd.Timeout > 0 {
		limit = time.After(s.cmd.Timeout)
	}
	for _, line := range s.block.lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "out", "err":
			stream, kept := sandbox.Stdout, &out.Stdout
			if word == "err" {
				stream, kept = sandbox.Stderr, &out.Stderr
			}
			*kept += rest + "\n"
			if s.cmd.Output != nil {
				s.cmd.Output(stream, []byte(rest+"\n"))
			}
		case "write", "remove", "move", "mode":
			if err := change(s.cmd.Dir.Path(), word, rest); err != nil {
				s.of.problem(err.Error())
			}
		case "exit":
			n, err := strconv.Atoi(rest)
			if err != nil {
				s.of.problem(err.Error())
			}
			out.ExitCode = n
		case "wait", "hang", "stubborn":
			var over <-chan time.Time
			if word == "wait" {
				d, err := time.ParseDuration(rest)
				if err != nil {
					s.of.problem(err.Error())
				}
				over = time.After(d)
			}
			select {
			case <-over:
				continue
			case <-limit:
				out.TimedOut = true
			case <-s.ctx.Done():
				out.Cancelled = true
			}
			if word == "stubborn" {
				time.Sleep(s.cmd.Grace)
			}
			out.ExitCode = -1
			return out
		}
	}
	return out
}

func (c *Commands) problem(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, what)
}

func change(dir, how, rest string) error {
	name, quoted, _ := strings.Cut(rest, " ")
	switch how {
	case "remove":
		return os.Remove(filepath.Join(dir, filepath.FromSlash(name)))
	case "move":
		to := filepath.Join(dir, filepath.FromSlash(quoted))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(filepath.Join(dir, filepath.FromSlash(name)), to))
	case "mode":
		mode, err := strconv.ParseUint(quoted, 8, 9)
		return errors.Join(err, os.Chmod(filepath.Join(dir, filepath.FromSlash(name)), fs.FileMode(mode)))
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return fmt.Errorf("not a quoted string: %s", quoted)
	}
	at := filepath.Join(dir, filepath.FromSlash(name))
	return errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644))
}
