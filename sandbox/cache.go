package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unused is how long the cache of a workspace stays that no command uses.
const unused = 30 * 24 * time.Hour

// cache gives the folder in which a confined command keeps what it can make or download again, ""
// for none. What a command puts there runs in later ones, so those of other workspaces have another
// folder, and so has what is confined to ReadOnly: nothing of it runs where the workspace may be
// written.
func (l *Local) cache(c Command) string {
	if l.Cache == "" || c.Profile == ReadOnly && c.Keeps == "" || c.Surroundings.Paths == nil {
		return ""
	}
	of := c.Keeps
	if c.Profile != ReadOnly {
		c.Surroundings.Paths.prepare()
		of = strings.Join(c.Surroundings.Paths.write, "\x00")
	}
	key := sha256.Sum256([]byte(of))
	dir, now := filepath.Join(l.Cache, hex.EncodeToString(key[:8])), time.Now()
	if os.MkdirAll(dir, 0o700) != nil || os.Chtimes(dir, now, now) != nil {
		return ""
	}
	l.tidied.Do(func() { go tidy(l.Cache, now.Add(-unused)) })
	return Canonical(dir)
}

// tidy removes the folders that were not used since a time.
func tidy(dir string, since time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() && info.ModTime().Before(since) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// proxyURL is the way to the network of a command of a profile, "" for none.
func proxyURL(p Profile, level, address string) string {
	if p != Proxy || level != LevelFull {
		return ""
	}
	return "http://" + address
}
