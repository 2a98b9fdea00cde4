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

// settings is the effective configuration of the working directory.
func (c *cli) settings() config.Config {
	in := c.options(nil, nil).Inputs
	if dir, err := os.Getwd(); err == nil {
		in.Workspace = dir
	}
	cfg, _ := config.Load(in) // problems are reported where the agent runs
	return cfg
}

// withStore runs f with the session store. If there is none yet, f gets an empty one in memory and
// no file is created.
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
	List   sessionListCmd   `cmd:"" help:"List the stored sessions, most recent first."`
	Show   sessionShowCmd   `cmd:"" help:"Print a session."`
	Export sessionExportCmd `cmd:"" help:"Print a session as Markdown, or all its stored data as JSON lines."`
	Delete sessionDeleteCmd `cmd:"" help:"Delete sessions, or with --all everything that Tandem has stored."`
	GC     sessionGCCmd     `cmd:"" name:"gc" help:"Delete old sessions, or the oldest ones above a size limit."`
	Kept   sessionKeptCmd   `cmd:"" help:"List the backups of changed files from the last two weeks, or print one."`
}

type sessionListCmd struct {
	All    bool   `help:"List the sessions of all folders."`
	Here   bool   `hidden:"" help:"The default without --all."`
	Search string `help:"Only sessions that contain TEXT." placeholder:"TEXT"`
	JSON   bool   `name:"json" help:"Print JSON."`
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
				none += " in " + q.Cwd + "; --all lists those of all folders"
			}
			fmt.Fprintln(terminal.Stderr(), none)
		}
		return nil
	})
}

type sessionShowCmd struct {
	ID string `arg:"" name:"id" help:"Session ID, or the start of one."`
}

// Run prints the session.
func (s *sessionShowCmd) Run(c *cli) error {
	return c.withSession(s.ID, func(past *agent.Past) error {
		_, err := io.WriteString(terminal.Stdout(), past.Markdown())
		return err
	})
}

type sessionExportCmd struct {
	ID     string `arg:"" name:"id" help:"Session ID, or the start of one."`
	Format string `help:"Output format: markdown or jsonl." enum:"markdown,jsonl" default:"markdown"`
}

// Run prints the session, unescaped if the output is no terminal.
func (x *sessionExportCmd) Run(c *cli) error {
	return c.withSession(x.ID, func(past *agent.Past) error {
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

// withSession runs f with the session whose ID starts with start.
func (c *cli) withSession(start string, f func(*agent.Past) error) error {
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
	ID  []string `arg:"" optional:"" name:"id" help:"Session IDs, or the start of each."`
	All bool     `help:"Delete everything: all sessions, the backups of changed files and the log."`
}

// Run deletes sessions.
func (d *sessionDeleteCmd) Run(c *cli) error {
	if d.All == (len(d.ID) > 0) {
		return usageError("name the sessions to delete, or use --all")
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

// deleteAll deletes everything that is stored, and reports what could not be deleted.
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
		return fmt.Errorf("the write-ahead journal still has %s. If no Tandem is running, a crash interrupted them: "+
			"open a folder with Tandem once, which recovers them, then delete again", tools.Count(done.Intents, "unfinished change"))
	}
	return nil
}

type sessionKeptCmd struct {
	Path string `arg:"" optional:"" help:"Only backups of this file."`
	Show string `help:"Print the backup whose hash is HASH, or starts with it." placeholder:"HASH"`
}

// Run lists the backups or prints one.
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
			return fmt.Errorf("no backup has a hash that starts with %s; 'tandem session kept' lists them", k.Show)
		}
		return nil
	})
}

type sessionGCCmd struct {
	MaxSize state.Size `help:"Delete the least recently used sessions until the store fits into SIZE." default:"512MiB" placeholder:"SIZE"`
	MaxAge  state.Age  `help:"Delete sessions not used for TIME, such as 90d or 36h." placeholder:"TIME"`
}

// Run deletes old sessions, and the oldest above the size limit.
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
		fmt.Fprintf(terminal.Stdout(), "deleted %s (%s); %s in use\n", tools.Count(done.Sessions, "session"), state.Size(done.Bytes), state.Size(left))
		return err
	})
}
