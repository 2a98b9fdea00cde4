package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver/state"
	"tandem/lspserver/terminal"
	"tandem/sandbox"
	"tandem/tools"
)

// settings are those that hold in the folder of the process.
func (c *cli) settings() config.Config {
	in := c.options(nil, nil).Inputs
	if dir, err := os.Getwd(); err == nil {
		in.Workspace = dir
	}
	cfg, _ := config.Load(in) // what is wrong is said where the agent runs
	return cfg
}

// withStore runs f with the sessions that are kept; where there are none yet it makes no file for them.
func (c *cli) withStore(f func(store.Store) error) error {
	cfg := c.settings()
	if !state.Stored(cfg) {
		return f(store.NewMemory(store.Quota, time.Now))
	}
	st, err := state.OpenStore(cfg)
	if err != nil {
		return err
	}
	return errors.Join(f(st), st.Close())
}

type sessionCmd struct {
	List   sessionListCmd   `cmd:"" help:"List the sessions that are kept, the last used first."`
	Show   sessionShowCmd   `cmd:"" help:"Print a session to read."`
	Export sessionExportCmd `cmd:"" help:"Print a session as Markdown, or everything that is kept of it as JSON lines."`
	Delete sessionDeleteCmd `cmd:"" help:"Forget sessions; with --all everything that Tandem has kept."`
	GC     sessionGCCmd     `cmd:"" name:"gc" help:"Forget what is old, or too much."`
	Kept   sessionKeptCmd   `cmd:"" help:"List what files said before changes of the last two weeks, or print one of those texts."`
}

type sessionListCmd struct {
	All    bool   `help:"Those of all folders, not only of this one."`
	Here   bool   `hidden:"" help:"What holds without --all."`
	Search string `help:"Only those in which this was said." placeholder:"TEXT"`
	JSON   bool   `name:"json" help:"Print them as JSON."`
}

// Run lists the sessions.
func (l *sessionListCmd) Run(c *cli) error {
	q := store.Query{Text: l.Search}
	if !l.All {
		var err error
		if q.Cwd, err = os.Getwd(); err != nil {
			return err
		}
	}
	return c.withStore(func(st store.Store) error {
		found, _, err := st.Sessions(q)
		if err != nil {
			return err
		}
		if l.JSON {
			type line struct {
				ID        string    `json:"sessionId"`
				Cwd       string    `json:"cwd"`
				Title     string    `json:"title"`
				UpdatedAt time.Time `json:"updatedAt"`
				PID       int       `json:"pid,omitzero"`
			}
			lines := []line{}
			for _, s := range found {
				lines = append(lines, line{s.ID, s.Cwd, s.Title, s.Updated.UTC(), s.PID})
			}
			return terminal.PrintJSON(lines)
		}
		for _, s := range found {
			open := ""
			if s.PID != 0 {
				open = fmt.Sprintf("  (open in process %d)", s.PID)
			}
			fmt.Fprintf(terminal.Stdout(), "%s  %s  %s  %s%s\n", s.ID, s.Updated.Format("2006-01-02 15:04"), terminal.OneLine(s.Cwd), terminal.OneLine(s.Title), open)
		}
		if len(found) == 0 {
			none := "no sessions"
			if !l.All {
				none += " of " + q.Cwd + "; --all lists those of all folders"
			}
			fmt.Fprintln(terminal.Stderr(), none)
		}
		return nil
	})
}

type sessionShowCmd struct {
	ID string `arg:"" name:"id" help:"The session, or how its name begins."`
}

// Run prints the session.
func (s *sessionShowCmd) Run(c *cli) error {
	return c.withPast(s.ID, func(past *agent.Past) error {
		_, err := io.WriteString(terminal.Stdout(), past.Markdown())
		return err
	})
}

type sessionExportCmd struct {
	ID     string `arg:"" name:"id" help:"The session, or how its name begins."`
	Format string `help:"markdown or jsonl." enum:"markdown,jsonl" default:"markdown"`
}

// Run prints the session, as it is where the output is no terminal.
func (x *sessionExportCmd) Run(c *cli) error {
	return c.withPast(x.ID, func(past *agent.Past) error {
		text, err := past.Markdown(), error(nil)
		if x.Format == "jsonl" {
			text, err = past.JSONL()
		}
		if err != nil {
			return err
		}
		return terminal.ForProgram(text)
	})
}

// withPast runs f with the session whose name begins so.
func (c *cli) withPast(start string, f func(*agent.Past) error) error {
	return c.withStore(func(st store.Store) error {
		id, err := state.Named(st, start)
		if err != nil {
			return err
		}
		past, err := agent.ReadPast(st, id)
		if err != nil {
			return err
		}
		return f(past)
	})
}

type sessionDeleteCmd struct {
	ID  []string `arg:"" optional:"" name:"id" help:"The sessions, or how their names begin."`
	All bool     `help:"Everything: all sessions with the texts of the files they changed, and the log."`
}

// Run forgets.
func (d *sessionDeleteCmd) Run(c *cli) error {
	if d.All == (len(d.ID) > 0) {
		return usageError("name the sessions to delete, or say --all")
	}
	if d.All {
		return deleteAll(c.settings())
	}
	return c.withStore(func(st store.Store) error {
		for _, start := range d.ID {
			id, err := state.Named(st, start)
			if err == nil {
				err = st.Delete(id)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(terminal.Stdout(), "deleted", id)
		}
		return nil
	})
}

// deleteAll deletes everything that is kept, and says what could not be deleted.
func deleteAll(cfg config.Config) error {
	done, err := state.DeleteAll(cfg)
	if done.Damaged != "" {
		fmt.Fprintln(terminal.Stdout(), "deleted the damaged", done.Damaged)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(terminal.Stdout(), "deleted %s and the log\n", tools.Count(done.Sessions, "session"))
	if len(done.Open) > 0 {
		var open []string
		for _, s := range done.Open {
			open = append(open, fmt.Sprintf("%s (process %d)", s.ID, s.PID))
		}
		return fmt.Errorf("still open, close them first: %s", strings.Join(open, ", "))
	}
	if done.Intents > 0 {
		return fmt.Errorf("the journal still has %d changes that have not ended. If no Tandem is running, a crash has cut them short:"+
			" open a folder with Tandem once, which judges them and clears up after them, then delete again", done.Intents)
	}
	return nil
}

type sessionKeptCmd struct {
	Path string `arg:"" optional:"" help:"Only of this file."`
	Show string `help:"Print the bytes of this hash, or how it begins." placeholder:"HASH"`
}

// Run lists or prints.
func (k *sessionKeptCmd) Run(c *cli) error {
	path := k.Path
	if path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		path = sandbox.Canonical(abs)
	}
	return c.withStore(func(st store.Store) error {
		found, err := st.Backups(path)
		if err != nil {
			return err
		}
		for _, b := range found {
			if k.Show == "" {
				fmt.Fprintf(terminal.Stdout(), "%.12s  %s  %s  %s  %s\n", b.Hash, b.Time.Format("2006-01-02 15:04:05"), terminal.OneLine(b.Path), b.Tool, b.Session)
			} else if strings.HasPrefix(b.Hash, k.Show) {
				data, err := st.Blob(b.Hash)
				if err != nil {
					return err
				}
				return terminal.ForProgram(data)
			}
		}
		if k.Show != "" {
			return fmt.Errorf("nothing is kept under %s; see 'tandem session kept'", k.Show)
		}
		return nil
	})
}

type sessionGCCmd struct {
	MaxSize state.Size `help:"Forget the sessions that were not used for longest until no more than this is kept." default:"512MiB" placeholder:"SIZE"`
	MaxAge  state.Age  `help:"Forget the sessions that were not used for so long, such as 90d or 36h." placeholder:"TIME"`
}

// Run forgets what is old or too much.
func (g *sessionGCCmd) Run(c *cli) error {
	return c.withStore(func(st store.Store) error {
		var before time.Time
		if g.MaxAge > 0 {
			before = time.Now().Add(-time.Duration(g.MaxAge))
		}
		done, err := st.Collect(int64(g.MaxSize), before)
		if err != nil {
			return err
		}
		left, err := st.Size()
		fmt.Fprintf(terminal.Stdout(), "deleted %s, %s; %s are in use\n", tools.Count(done.Sessions, "session"), state.Size(done.Bytes), state.Size(left))
		return err
	})
}
