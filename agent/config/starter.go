package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SchemaFile lies beside the person's configuration, so that editors find it.
const SchemaFile = "config.schema.json"

// Choice is a model that could answer, and why it is offered.
type Choice struct{ Model, Why string }

// WriteNew makes a file with its folder. A file that is there already is an error; with force it is replaced, and a copy
// stays beside it under its name with .bak at the end.
func WriteNew(path, text string, dir, mode fs.FileMode, force bool) error {
	if err := os.MkdirAll(filepath.Dir(path), dir); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case errors.Is(err, fs.ErrExist) && !force:
		return fmt.Errorf("%s already exists; --force replaces it and keeps the old one as %s.bak", path, filepath.Base(path))
	case errors.Is(err, fs.ErrExist):
		return replace(path, text, mode)
	case err != nil:
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// replace keeps the old file beside the new one. A link stays one.
func replace(path, text string, mode fs.FileMode) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := spare(path+".bak", old, mode); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

// spare keeps a text in a new file: an existing one may be the only copy of a text.
func spare(path string, text []byte, mode fs.FileMode) error {
	for n := range 100 {
		name := path
		if n > 0 {
			name = fmt.Sprintf("%s.%d", path, n)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			if there, err := os.ReadFile(name); err == nil && bytes.Equal(there, text) {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	}
	return fmt.Errorf("%s has 100 backups beside it already: delete those that you do not need", path)
}

// UserStarter is a person's configuration to begin with. Commented lines are valid settings once the // is removed.
func UserStarter(chosen Choice, others []Choice) string {
	var b strings.Builder
	b.WriteString(`{
  // The settings of Tandem: every editor and every folder. 'tandem config show --origin' prints what holds and why.
  "$schema": "./` + SchemaFile + `",

`)
	off := ""
	if chosen.Model == "" {
		off = "// "
		b.WriteString("  // The model that answers, as provider/model. None was found: set a key in the environment, or start a local service.\n")
	} else {
		fmt.Fprintf(&b, "  // The model that answers, as provider/model. Chosen because %s.\n", chosen.Why)
	}
	fmt.Fprintf(&b, "  %s\"model\": %s,\n", off, quoted(cmp.Or(chosen.Model, "anthropic/claude-sonnet-5-5")))
	for _, o := range others {
		fmt.Fprintf(&b, "  // \"model\": %s, // %s\n", quoted(o.Model), o.Why)
	}
	b.WriteString(`
  // Models that answer when that one cannot.
  // "fallbackModels": [],

  // Another service: "api" is anthropic, openai (Responses) or openai-chat (Chat Completions). The key itself stays in the
  // environment, or with a program that prints it.
  // "providers": {"mine": {"api": "openai-chat", "baseUrl": "http://127.0.0.1:8080/v1", "apiKeyEnv": "MY_KEY"}},

  // What a turn may use; 0 is no limit.
  // "budget": {"maxTurnRequests": 100, "maxCostUsd": 0},

  // Tools that are neither offered nor run, such as "bash".
  // "disabledTools": [],

  // What happens without asking: "readOnly" (nothing but looking), "plan", "ask", "acceptEdits", "auto".
  "mode": "ask"
}
`)
	return b.String()
}

// WorkspaceStarter is a folder's configuration to begin with.
func WorkspaceStarter() string {
	return `{
  // What holds for everybody who works in this folder. It only ever makes things stricter than a person's own settings.

  // Tools that are neither offered nor run here.
  // "disabledTools": ["bash"],

  // Tools whose calls are refused, and those that a person is asked about in every mode.
  // "permissions": {"deny": [{"tool": "write_file"}], "ask": [{"tool": "bash"}]},

  // Folders of this one below which files may be changed; they have to be there.
  // "writeRoots": ["src"],

  // What a turn may use at most.
  // "budget": {"maxTurnRequests": 50, "maxToolCalls": 200},

  // Refuse to change text that the model has not seen.
  "requireRead": true
}
`
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil { // a string
		panic(err)
	}
	return string(raw)
}
