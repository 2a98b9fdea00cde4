package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/sandbox"
)

// openStore opens what keeps the sessions.
func openStore(cfg config.Config) (store.Store, error) {
	return store.Open(storePath(cfg), store.Options{})
}

// stored says whether anything was ever kept.
func stored(cfg config.Config) bool {
	_, err := os.Stat(storePath(cfg))
	return err == nil
}

func storePath(cfg config.Config) string { return filepath.Join(stateDir(cfg), "sessions.db") }

// settings are those that hold in the folder of the process.
func (c *cli) settings() config.Config {
	in := c.options(nil).Inputs
	if dir, err := os.Getwd(); err == nil {
		in.Workspace = dir
	}
	cfg, _ := config.Load(in) // what is wrong is said where the agent runs
	return cfg
}

// withStore runs f with the sessions that are kept; where there are none yet it makes no file for them.
func (c *cli) withStore(f func(store.Store) error) error {
	cfg := c.settings()
	if _, err := os.Stat(storePath(cfg)); errors.Is(err, os.ErrNotExist) {
		return f(store.NewMemory(store.Quota, time.Now))
	}
	st, err := openStore(cfg)
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
			return printJSON(lines)
		}
		for _, s := range found {
			open := ""
			if s.PID != 0 {
				open = fmt.Sprintf("  (open in process %d)", s.PID)
			}
			fmt.Fprintf(stdout(), "%s  %s  %s  %s%s\n", s.ID, s.Updated.Format("2006-01-02 15:04"), oneLine(s.Cwd), oneLine(s.Title), open)
		}
		if len(found) == 0 {
			none := "no sessions"
			if !l.All {
				none += " of " + q.Cwd + "; --all lists those of all folders"
			}
			fmt.Fprintln(stderr(), none)
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
		_, err := io.WriteString(stdout(), past.Markdown())
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
		return forProgram(text)
	})
}

// withPast runs f with the session whose name begins so.
func (c *cli) withPast(start string, f func(*agent.Past) error) error {
	return c.withStore(func(st store.Store) error {
		id, err := named(st, start)
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

// named finds the one session whose name begins so.
func named(st store.Store, start string) (string, error) {
	all, _, err := st.Sessions(store.Query{})
	if err != nil {
		return "", err
	}
	var found []string
	for _, s := range all {
		if s.ID == start {
			return s.ID, nil
		}
		if strings.HasPrefix(s.ID, start) || strings.HasPrefix(s.ID, "s-"+start) {
			found = append(found, s.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("there is no session %s; see 'tandem session list --all'", start)
	}
	return "", fmt.Errorf("%d sessions begin with %s", len(found), start)
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
			id, err := named(st, start)
			if err == nil {
				err = st.Delete(id)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(stdout(), "deleted", id)
		}
		return nil
	})
}

// deleteAll deletes everything that is kept, but for sessions that are open at this moment: those are named.
func deleteAll(cfg config.Config) error {
	path := storePath(cfg)
	var open []string
	var journal store.Stats
	gone := 0
	if _, err := os.Stat(path); err == nil {
		st, err := openStore(cfg)
		switch {
		case errors.Is(err, store.ErrDamaged):
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
					return err
				}
			}
			fmt.Fprintln(stdout(), "deleted the damaged", path)
		case err != nil:
			return err
		default:
			c, err := st.Collect(0, time.Now().Add(24*time.Hour))
			gone = c.Sessions
			if err == nil {
				var left []store.Session
				left, _, err = st.Sessions(store.Query{})
				for _, s := range left {
					open = append(open, fmt.Sprintf("%s (process %d)", s.ID, s.PID))
				}
			}
			if err == nil {
				journal, err = st.Stats()
			}
			if err := errors.Join(err, st.Close()); err != nil {
				return err
			}
		}
	}
	log := cfg.Log.File
	if log == "" {
		log = filepath.Join(stateDir(cfg), "tandem.log")
	}
	// A server that runs goes on writing into the same file.
	if err := os.Truncate(log, 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := emptyLocks(filepath.Join(stateDir(cfg), "locks")); err != nil {
		return err
	}
	fmt.Fprintf(stdout(), "deleted %s and the log\n", count(gone))
	if len(open) > 0 {
		return fmt.Errorf("still open, close them first: %s", strings.Join(open, ", "))
	}
	if journal.Intents > 0 {
		return fmt.Errorf("the journal still has %d changes that have not ended. If no Tandem is running, a crash has cut them short:"+
			" open a folder with Tandem once, which judges them and clears up after them, then delete again", journal.Intents)
	}
	return nil
}

// emptyLocks takes out of the files of locks what killed processes have left there. The files stay, since a process may
// come to hold one at any moment.
func emptyLocks(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	for _, name := range files {
		f, openErr := os.OpenFile(name, os.O_RDWR|noFollow, 0)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		if tryLock(f) {
			err = errors.Join(err, f.Truncate(0))
		}
		err = errors.Join(err, f.Close())
	}
	return err
}

func count(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprint(n, " sessions")
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
				fmt.Fprintf(stdout(), "%.12s  %s  %s  %s  %s\n", b.Hash, b.Time.Format("2006-01-02 15:04:05"), oneLine(b.Path), b.Tool, b.Session)
			} else if strings.HasPrefix(b.Hash, k.Show) {
				data, err := st.Blob(b.Hash)
				if err != nil {
					return err
				}
				return forProgram(data)
			}
		}
		if k.Show != "" {
			return fmt.Errorf("nothing is kept under %s; see 'tandem session kept'", k.Show)
		}
		return nil
	})
}

type sessionGCCmd struct {
	MaxSize size `help:"Forget the sessions that were not used for longest until no more than this is kept." default:"512MiB" placeholder:"SIZE"`
	MaxAge  age  `help:"Forget the sessions that were not used for so long, such as 90d or 36h." placeholder:"TIME"`
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
		fmt.Fprintf(stdout(), "deleted %s, %s; %s are in use\n", count(done.Sessions), size(done.Bytes), size(left))
		return err
	})
}

// size is a number of bytes.
type size int64

// units of a size, the largest first.
func units() []struct {
	name  string
	bytes int64
} {
	return []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// UnmarshalText reads 512MiB, 10KiB or a number of bytes.
func (s *size) UnmarshalText(text []byte) error {
	for _, u := range units() {
		number, ok := strings.CutSuffix(string(text), u.name)
		if !ok && u.bytes > 1 {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.bytes {
			break
		}
		*s = size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size; write 512MiB", text)
}

func (s size) String() string {
	for _, u := range units() {
		if int64(s) >= u.bytes && u.bytes > 1 {
			return fmt.Sprintf("%.1f %s", float64(s)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d B", int64(s))
}

// age is a time that may be given in days.
type age time.Duration

// UnmarshalText reads 90d or what time.ParseDuration knows.
func (a *age) UnmarshalText(text []byte) error {
	const day = 24 * time.Hour
	if number, ok := strings.CutSuffix(string(text), "d"); ok {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			*a = age(time.Duration(n) * day)
			return nil
		}
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time; write 90d or 36h", text)
	}
	*a = age(d)
	return nil
}
