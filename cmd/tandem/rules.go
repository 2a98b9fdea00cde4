package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"tandem/agent/config"
	"tandem/agent/prompt"
)

// userRules are the user's own rules for every session: the file AGENTS.md beside their
// configuration.
func userRules(getenv func(string) string, log *slog.Logger) string {
	beside := config.UserFile(getenv)
	if beside == "" {
		return ""
	}
	path := filepath.Join(filepath.Dir(beside), prompt.RulesFile)
	text, err := config.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the rules cannot be read", "path", path, "error", config.Reason(err))
	}
	return string(text)
}
