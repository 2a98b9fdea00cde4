package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUserRules(t *testing.T) {
	dir := t.TempDir()
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	at := func(name string) string {
		return userRules(func(key string) string {
			return map[string]string{"XDG_CONFIG_HOME": filepath.Join(dir, name)}[key]
		}, log)
	}
	for name, text := range map[string]string{"ann": "Speak plainly.\n", "bob": ""} {
		if err := os.MkdirAll(filepath.Join(dir, name, "tandem"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "tandem", "AGENTS.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"ann": "Speak plainly.\n", "bob": "", "nobody": ""} {
		if got := at(name); got != want || said.Len() > 0 {
			t.Errorf("%s: %q %s", name, got, &said)
		}
	}
	if got := userRules(func(string) string { return "" }, log); got != "" || said.Len() > 0 {
		t.Errorf("%q %s", got, &said)
	}
	if err := os.MkdirAll(filepath.Join(dir, "odd", "tandem", "AGENTS.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := at("odd"); got != "" || !strings.Contains(said.String(), "it is not a regular file") {
		t.Errorf("%q %s", got, &said)
	}
}
