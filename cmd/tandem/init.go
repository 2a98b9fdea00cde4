package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tandem/agent/config"
	"tandem/agent/model/registry"
	"tandem/lspserver/terminal"
)

type initCmd struct {
	Workspace bool `help:"Write .tandem/config.json for everybody who works in this folder, instead of your own configuration."`
	Force     bool `help:"Replace an existing file. The old one is kept with the ending .bak."`
}

// Run writes a configuration with the detected models, and prints the next step.
func (i *initCmd) Run(c *cli) error {
	if i.Workspace {
		path := config.WorkspaceFile(".")
		if err := config.WriteNew(path, config.WorkspaceStarter(), 0o755, 0o644, i.Force); err != nil {
			return err
		}
		fmt.Fprintf(terminal.Stdout(), "wrote %s\nnext: uncomment the settings that you want, and commit the file\n", path)
		return nil
	}
	path := config.UserFile(os.Getenv)
	if path == "" {
		return errors.New("no home folder: set HOME or XDG_CONFIG_HOME")
	}
	// Detection uses the environment alone, since --force replaces the old file.
	found, idle := (&registry.Registry{Config: config.Default(), Getenv: os.Getenv}).Choices()
	var choices []config.Choice
	for _, f := range found {
		choices = append(choices, config.Choice{Model: f.Model, Why: f.Why})
	}
	var chosen config.Choice
	switch {
	case c.Model != "":
		chosen = config.Choice{Model: c.Model, Why: "you named it"}
	case len(choices) > 0:
		chosen, choices = choices[0], choices[1:]
	}
	if err := config.WriteNew(path, config.UserStarter(chosen, choices), 0o700, 0o600, i.Force); err != nil {
		return err
	}
	schema := filepath.Join(filepath.Dir(path), config.SchemaFile)
	if err := os.WriteFile(schema, []byte(config.Schema()), 0o600); err != nil {
		return err
	}
	fmt.Fprintln(terminal.Stdout(), "wrote", terminal.OneLine(path))
	if chosen.Model == "" {
		local, next := "no local model service is running", "start Ollama or LM Studio"
		if len(idle) > 0 {
			local, next = strings.Join(idle, ", "), "give it a model ('ollama pull NAME')"
		}
		fmt.Fprintf(terminal.Stdout(), "no model found: no API key is in the environment, and %s\n"+
			"next: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or %s, then run 'tandem doctor'\n", local, next)
		return nil
	}
	fmt.Fprintf(terminal.Stdout(), "model: %s, because %s\nnext: run 'tandem doctor', then 'tandem run \"what is in this folder?\"'\n", chosen.Model, chosen.Why)
	return nil
}
