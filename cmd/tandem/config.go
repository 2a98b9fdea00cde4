package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"tandem/agent/config"
)

type configCmd struct {
	Show   configShowCmd   `cmd:"" help:"Print the configuration as it holds in a folder, without what is secret."`
	Path   configPathCmd   `cmd:"" help:"Print where the configuration is read from."`
	Schema configSchemaCmd `cmd:"" help:"Print the JSON Schema of the configuration, for editors."`
}

type configShowCmd struct {
	Origin bool   `help:"Say where each value was set: file, line and column."`
	JSON   bool   `name:"json" help:"Print it as JSON, which it is anyway without --origin."`
	Cwd    string `help:"The workspace folder." default:"." type:"existingdir"`
}

// Run prints the configuration, and what is wrong with it on standard error.
func (s *configShowCmd) Run(c *cli) error {
	loaded, err := c.load(s.Cwd)
	if err != nil {
		return err
	}
	values, problems := shown(loaded)
	if s.Origin && s.JSON {
		return printJSON(struct {
			Values   []shownValue   `json:"values"`
			Problems []shownProblem `json:"problems"`
		}{values, problems})
	}
	for _, p := range loaded.Problems {
		fmt.Fprintln(stderr(), "!", p)
	}
	if !s.Origin {
		return printJSON(loaded.Redacted())
	}
	w := tabwriter.NewWriter(stdout(), 0, 0, 2, ' ', 0)
	for _, v := range values {
		from := "default"
		if len(v.Origins) > 0 {
			from = strings.Join(v.from(), ", ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", oneLine(v.Key), v.Value, oneLine(from))
	}
	return w.Flush()
}

// shownValue is a key as a program reads it.
type shownValue struct {
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Origins []shownOrigin   `json:"origins"`
}

type shownOrigin struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
}

func (v shownValue) from() (out []string) {
	for _, o := range v.Origins {
		out = append(out, config.Origin(o).String())
	}
	return out
}

// shownProblem is something that is wrong with the configuration as a program reads it.
type shownProblem struct {
	Bad     bool   `json:"bad"`
	Source  string `json:"source"`
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

func shown(l config.Loaded) (values []shownValue, problems []shownProblem) {
	values, problems = []shownValue{}, []shownProblem{}
	for _, v := range l.Values() {
		raw, err := json.Marshal(v.Value)
		if err != nil { // strings, numbers and booleans
			panic(err)
		}
		out := shownValue{Key: v.Key, Value: raw, Origins: []shownOrigin{}}
		for _, o := range v.Origins {
			out.Origins = append(out.Origins, shownOrigin(o))
		}
		values = append(values, out)
	}
	for _, p := range l.Problems {
		problems = append(problems, shownProblem{p.Bad, p.Source, p.Line, p.Column, p.Key, p.Message})
	}
	return values, problems
}

type configPathCmd struct {
	Cwd string `help:"The workspace folder." default:"." type:"existingdir"`
}

// Run prints the paths, the person's own first.
func (p *configPathCmd) Run(c *cli) error {
	folder, err := filepath.Abs(p.Cwd)
	if err != nil {
		return err
	}
	for _, path := range c.inputs(folder).Files() {
		there := ""
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			there = " (not there)"
		}
		fmt.Fprintln(stdout(), oneLine(path)+there)
	}
	return nil
}

type configSchemaCmd struct{}

// Run prints the schema.
func (configSchemaCmd) Run() error {
	fmt.Print(config.Schema())
	return nil
}

// load gives the configuration that holds in a folder.
func (c *cli) load(folder string) (config.Loaded, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return config.Loaded{}, err
	}
	return new(config.Loader).Load(c.inputs(folder)), nil
}

// inputs are the layers of the configuration that the program knows of by itself; folder may be empty.
func (c *cli) inputs(folder string) config.Inputs {
	in := config.Inputs{UserFile: config.UserFile(os.Getenv), Workspace: folder}
	flags := map[string]string{}
	if c.Mode != "" {
		flags["mode"] = c.Mode
	}
	switch model := c.modelName(); {
	case model == "":
	case c.Model == os.Getenv("TANDEM_MODEL"):
		in.Env = layer(map[string]string{"model": model})
	default:
		flags["model"] = model
	}
	in.Flags = layer(flags)
	return in
}

// modelName is the model that the command line or the environment names, "" for none; a script's path is absolute.
func (c *cli) modelName() string {
	if path, ok := strings.CutPrefix(c.Model, "script:"); ok {
		if abs, err := filepath.Abs(path); err == nil {
			return "script:" + abs
		}
	}
	return c.Model
}

// layer writes values as JSON, if there are any.
func layer(values map[string]string) []byte {
	if len(values) == 0 {
		return nil
	}
	raw, err := json.Marshal(values)
	if err != nil { // a map of strings
		panic(err)
	}
	return raw
}
