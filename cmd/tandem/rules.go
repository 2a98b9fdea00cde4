package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"tandem/agent/config"
	"tandem/agent/custom"
	"tandem/agent/prompt"
)

// userRules are the user's own rules for every session: the file AGENTS.md beside their
// configuration.
func userRules(getenv func(string) string, log *slog.Logger) string {
	folder := userFolder(getenv)
	if folder == "" {
		return ""
	}
	path := filepath.Join(folder, prompt.RulesFile)
	text, err := config.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the rules cannot be read", "path", path, "error", config.Reason(err))
	}
	return string(text)
}

// userFolder is the folder of the user's configuration, "" without a home folder.
func userFolder(getenv func(string) string) string {
	if beside := config.UserFile(getenv); beside != "" {
		return filepath.Dir(beside)
	}
	return ""
}

// userCommands are the user's own commands, beside their configuration.
func userCommands(getenv func(string) string) []custom.Source {
	folder := userFolder(getenv)
	if folder == "" {
		return nil
	}
	dir := filepath.Join(folder, "commands")
	own := custom.Folder(dir, os.DirFS(dir))
	own.Read = func(name string) (string, error) { // which waits for no pipe
		text, err := config.ReadFile(filepath.Join(dir, name))
		return string(text), err
	}
	return []custom.Source{own}
}
