package main

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

	"tandem/agent/config"
	"tandem/agent/model/registry"
)

type initCmd struct {
	Workspace bool `help:"Write .tandem/config.json here, for everybody who works in this folder, instead of your own."`
	Force     bool `help:"Replace a file that is there already; the old one is kept with .bak at its end."`
}

// schemaFile lies beside the person's configuration, so that editors find it.
const schemaFile = "config.schema.json"

// Run writes a configuration with what was found, and says what comes next.
func (i *initCmd) Run(c *cli) error {
	if i.Workspace {
		path := config.WorkspaceFile(".")
		if err := i.write(path, workspaceText(), 0o755, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(stdout(), "wrote %s\nnext: take the // from what shall hold here, and keep the file with the code\n", path)
		return nil
	}
	path := config.UserFile(os.Getenv)
	if path == "" {
		return errors.New("there is no home folder: set HOME or XDG_CONFIG_HOME")
	}
	// What is found goes by the environment alone: an old file is what shall be replaced.
	choices, idle := (&registry.Registry{Config: config.Default(), Getenv: os.Getenv}).Choices()
	var chosen registry.Choice
	switch {
	case c.Model != "":
		chosen = registry.Choice{Model: c.Model, Why: "it was named"}
	case len(choices) > 0:
		chosen, choices = choices[0], choices[1:]
	}
	if err := i.write(path, userText(chosen, choices), 0o700, 0o600); err != nil {
		return err
	}
	schema := filepath.Join(filepath.Dir(path), schemaFile)
	if err := os.WriteFile(schema, []byte(config.Schema()), 0o600); err != nil {
		return err
	}
	fmt.Fprintln(stdout(), "wrote", oneLine(path))
	if chosen.Model == "" {
		local, next := "no local service runs", "start Ollama or LM Studio"
		if len(idle) > 0 {
			local, next = strings.Join(idle, ", "), "give it one ('ollama pull NAME')"
		}
		fmt.Fprintf(stdout(), "found no model: no key is in the environment, and %s\n"+
			"next: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or %s, then run 'tandem doctor'\n", local, next)
		return nil
	}
	fmt.Fprintf(stdout(), "model: %s, because %s\nnext: run 'tandem doctor', then 'tandem run \"what is in this folder?\"'\n", chosen.Model, chosen.Why)
	return nil
}

// write makes a file with its folder. It does not touch one that is there, or keeps a copy of it.
func (i *initCmd) write(path, text string, dir, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), dir); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case errors.Is(err, fs.ErrExist) && !i.Force:
		return fmt.Errorf("%s is there already; --force replaces it and keeps the old one as %s.bak", path, filepath.Base(path))
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

// spare keeps a text in a file of its own: one that is there already may be the only copy of what somebody wrote.
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
	return fmt.Errorf("there are 100 copies beside %s already: delete those that you do not need", path)
}

// userText is a person's configuration to begin with. What is commented out may be used by taking the // away.
func userText(chosen registry.Choice, others []registry.Choice) string {
	var b strings.Builder
	b.WriteString(`{
  // The settings of Tandem: every editor and every folder. 'tandem config show --origin' prints what holds and why.
  "$schema": "./` + schemaFile + `",

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

  // What happens without asking: "readOnly" (nothing but looking), "ask", "acceptEdits", "auto".
  "mode": "ask"
}
`)
	return b.String()
}

// workspaceText is a folder's configuration to begin with.
func workspaceText() string {
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
