package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"tandem/agent/config"
	"tandem/lspserver/terminal"
)

type configCmd struct {
	Show   configShowCmd   `cmd:"" help:"Print the effective configuration of a folder, without secrets."`
	Path   configPathCmd   `cmd:"" help:"Print the paths of the configuration files."`
	Schema configSchemaCmd `cmd:"" help:"Print the JSON Schema of the configuration, for editors."`
}

type configShowCmd struct {
	Origin bool   `help:"Show where each value was set: file, line and column."`
	JSON   bool   `name:"json" help:"Print JSON. Without --origin that is the default."`
	Cwd    string `help:"Workspace folder." default:"." type:"existingdir"`
}

// Run prints the configuration, and its problems on standard error.
func (s *configShowCmd) Run(c *cli) error {
	loaded, err := c.load(s.Cwd)
	if err != nil {
		return err
	}
	if s.Origin && s.JSON {
		return terminal.PrintJSON(struct {
			Values   []config.Value   `json:"values"`
			Problems []config.Problem `json:"problems"`
		}{loaded.Values(), append([]config.Problem{}, loaded.Problems...)})
	}
	for _, p := range loaded.Problems {
		fmt.Fprintln(terminal.Stderr(), "!", p)
	}
	if !s.Origin {
		return terminal.PrintJSON(loaded.Redacted())
	}
	w := tabwriter.NewWriter(terminal.Stdout(), 0, 0, 2, ' ', 0)
	for _, v := range loaded.Values() {
		from := []string{}
		for _, o := range v.Origins {
			from = append(from, o.String())
		}
		value, err := json.Marshal(v.Value)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", terminal.OneLine(v.Key), value, terminal.OneLine(cmp.Or(strings.Join(from, ", "), "default")))
	}
	return w.Flush()
}

type configPathCmd struct {
	Cwd string `help:"Workspace folder." default:"." type:"existingdir"`
}

// Run prints the paths, the user's own first.
func (p *configPathCmd) Run(c *cli) error {
	folder, err := filepath.Abs(p.Cwd)
	if err != nil {
		return err
	}
	for _, path := range c.inputs(folder).Files() {
		there := ""
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			there = " (does not exist)"
		}
		fmt.Fprintln(terminal.Stdout(), terminal.OneLine(path)+there)
	}
	return nil
}

type configSchemaCmd struct{}

// Run prints the schema.
func (configSchemaCmd) Run() error {
	fmt.Print(config.Schema())
	return nil
}

// load returns the effective configuration of a folder.
func (c *cli) load(folder string) (config.Loaded, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return config.Loaded{}, err
	}
	return new(config.Loader).Load(c.inputs(folder)), nil
}

// inputs are the layers of the configuration from files, the environment and the command line.
// folder may be empty.
func (c *cli) inputs(folder string) config.Inputs {
	in := config.Inputs{UserFile: config.UserFile(os.Getenv), Workspace: folder}
	flags := map[string]string{}
	if c.Mode != "" {
		flags["mode"] = c.Mode
	}
	switch model := c.modelName(); {
	case model == "":
	case c.Model == os.Getenv("TANDEM_MODEL"):
		in.Env = jsonLayer(map[string]string{"model": model})
	default:
		flags["model"] = model
	}
	in.Flags = jsonLayer(flags)
	return in
}

// modelName is the model of the command line or the environment, "" for none. The path of a script
// is made absolute.
func (c *cli) modelName() string {
	if path, ok := strings.CutPrefix(c.Model, "script:"); ok {
		if abs, err := filepath.Abs(path); err == nil {
			return "script:" + abs
		}
	}
	return c.Model
}

// jsonLayer encodes values as JSON, nil if there are none.
func jsonLayer(values map[string]string) []byte {
	if len(values) == 0 {
		return nil
	}
	raw, err := json.Marshal(values)
	if err != nil { // a map of strings
		panic(err)
	}
	return raw
}
