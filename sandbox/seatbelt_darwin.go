package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// confiner runs commands below the seatbelt.
type confiner struct {
	mu     sync.Mutex
	folder string // for temporary files of commands, made when the first one needs it
}

// temp is the folder that commands have for temporary files.
func (c *confiner) temp(string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.folder == "" {
		if dir, err := os.MkdirTemp("", "tandem-commands-"); err == nil {
			c.folder = Canonical(dir)
		}
	}
	return c.folder
}

func (c *confiner) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.folder != "" {
		_ = os.RemoveAll(c.folder)
		c.folder = ""
	}
}

// confined gives the command line that runs a command below the profile of its policy. release
// removes the profile, which lies in a folder of its own that no command may write.
func (c *confiner) confined(l launch) (argv []string, release func(), err error) {
	text, err := policy(l.profile, l.in, l.dir.path, false, c.temp(l.level), l.cache).Seatbelt()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "tandem-seatbelt-")
	if err != nil {
		return nil, nil, err
	}
	release = func() { _ = os.RemoveAll(dir) }
	profile := filepath.Join(dir, "profile.sb")
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		release()
		return nil, nil, err
	}
	return slices.Concat([]string{seatbelt, "-f", profile}, l.argv), release, nil
}
