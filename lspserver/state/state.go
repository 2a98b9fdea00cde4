// Package state is what outlives a process: where it lies, whether it can be trusted, and how all
// of it is deleted.
package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/filetime/locks"
	"tandem/tools/mcp"
)

// Dir is the folder of all that outlives a process. It need not be there.
func Dir(cfg config.Config) string {
	if cfg.StateDir != "" {
		return cfg.StateDir
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tandem")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		// Not the folder for temporary files: anybody may have made ours there, to read along.
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	if !filepath.IsAbs(home) {
		home = os.DevNull // not a folder: nothing is kept then, and a warning says so
	}
	return filepath.Join(home, ".local", "state", "tandem")
}

// StorePath is the database of the sessions.
func StorePath(cfg config.Config) string { return filepath.Join(Dir(cfg), "sessions.db") }

// OpenStore opens the database of the sessions, and makes it where it is missing.
func OpenStore(cfg config.Config) (store.Store, error) {
	return store.Open(StorePath(cfg), store.Options{})
}

// Stored says whether the database exists.
func Stored(cfg config.Config) bool {
	_, err := os.Stat(StorePath(cfg))
	return err == nil
}

// LogFile is the log of the servers.
func LogFile(cfg config.Config) string {
	return cmp.Or(cfg.Log.File, filepath.Join(Dir(cfg), "tandem.log"))
}

// Locks is the folder of the locks that processes share, "" where another user could change it.
func Locks(cfg config.Config) string {
	dir := lockDir(cfg)
	if store.Private(Dir(cfg)) != nil || store.Private(dir) != nil {
		return "" // the store says why
	}
	return dir
}

func lockDir(cfg config.Config) string { return filepath.Join(Dir(cfg), "locks") }

// Quarantine is the folder of what commands have planted in workspaces. It is there once something
// is in it.
func Quarantine(cfg config.Config) string { return filepath.Join(Dir(cfg), "quarantine") }

// Pins keep what the tools of MCP servers were.
func Pins(cfg config.Config) mcp.Pins { return pins(pinned(cfg)) }

func pinned(cfg config.Config) string { return filepath.Join(Dir(cfg), "mcp") }

// pins is a folder with a file for each server.
type pins string

// Load implements mcp.Pins.
func (p pins) Load(name string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(string(p), filepath.Base(name)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// Save implements mcp.Pins.
func (p pins) Save(name string, data []byte) error {
	for _, dir := range []string{filepath.Dir(string(p)), string(p)} {
		if err := store.Private(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(string(p), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(string(p), filepath.Base(name)+".json"))
}

// Cache is where confined commands keep what they can make or download again, "" where the user has
// no folder for caches.
func Cache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tandem", "commands")
}

// Own are the paths that belong to Tandem itself: the state, the log, and the configuration with
// what lies beside it.
func Own(cfg config.Config) []string {
	paths := []string{Dir(cfg)}
	if file := config.UserFile(os.Getenv); file != "" {
		paths = append(paths, filepath.Dir(file), file)
	}
	if cfg.Log.File != "" {
		paths = append(paths, cfg.Log.File)
	}
	return paths
}

// Deleted is what DeleteAll has done.
type Deleted struct {
	// Sessions counts those that were deleted. Damaged is the database where it could not be read
	// and was removed whole.
	Sessions int
	Damaged  string
	// Open are the sessions that processes have open, which stay. Intents counts the changes in the
	// journal that have not ended; they stay too.
	Open    []store.Session
	Intents int
}

// DeleteAll deletes all that is kept, with the caches of commands and the quarantine, but for
// sessions that are open at this moment and changes that have not ended.
func DeleteAll(cfg config.Config) (done Deleted, err error) {
	if Stored(cfg) {
		if err := done.sessions(cfg); err != nil {
			return done, err
		}
	}
	// A server that runs goes on writing into the same file.
	if err := os.Truncate(LogFile(cfg), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return done, err
	}
	if err := os.RemoveAll(pinned(cfg)); err != nil {
		return done, err
	}
	if err := os.RemoveAll(Quarantine(cfg)); err != nil {
		return done, err
	}
	if cache := Cache(); cache != "" {
		if err := os.RemoveAll(cache); err != nil {
			return done, err
		}
	}
	return done, locks.Empty(lockDir(cfg))
}

func (d *Deleted) sessions(cfg config.Config) error {
	st, err := OpenStore(cfg)
	if errors.Is(err, store.ErrDamaged) {
		d.Damaged = StorePath(cfg)
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(d.Damaged + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	c, err := st.Collect(0, time.Now().Add(24*time.Hour))
	d.Sessions = c.Sessions
	if err == nil {
		d.Open, _, err = st.Sessions(store.Query{})
	}
	if err == nil {
		var journal store.Stats
		journal, err = st.Stats()
		d.Intents = journal.Intents
	}
	return errors.Join(err, st.Close())
}

// Named finds the one session whose id begins so, with or without its "s-".
func Named(st store.Store, start string) (string, error) {
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
