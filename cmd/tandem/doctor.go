package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tandem/lspserver/doctor"
	"tandem/lspserver/terminal"
)

type doctorCmd struct {
	JSON    bool          `name:"json" help:"Print JSON."`
	Offline bool          `help:"Send no request to the model's service."`
	Timeout time.Duration `help:"Time limit for the answer of the model's service." default:"5s"`
	Cwd     string        `help:"Workspace folder." default:"." type:"existingdir"`
}

// Run examines the setup. The exit code is 1 if something does not work.
func (d *doctorCmd) Run(ctx context.Context, c *cli) error {
	loaded, err := c.load(d.Cwd)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(d.Cwd)
	if err != nil {
		return err
	}
	x := &doctor.Examination{
		Version: version, Getenv: os.Getenv, Find: findOnPath, Roots: workspaceRoots(dir), Command: func(argv []string) (string, error) { return commandOutput(argv, workspaceRoots(dir)...) }, Offline: d.Offline, Timeout: d.Timeout,
	}
	findings := x.Examine(ctx, loaded, c.inputs(d.Cwd).Files())
	broken := slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Status == doctor.Fails })
	if d.JSON {
		err = terminal.PrintJSON(struct {
			OK       bool             `json:"ok"`
			Findings []doctor.Finding `json:"findings"`
		}{!broken, findings})
	} else {
		for _, f := range findings {
			fmt.Fprintf(terminal.Stdout(), "%s %-13s %s\n", f.Mark(), f.Check, f.Detail)
			if f.Next != "" {
				fmt.Fprintf(terminal.Stdout(), "%17s→ %s\n", "", f.Next)
			}
		}
	}
	if broken && err == nil {
		err = exitCodeError(1)
	}
	return err
}

// findOnPath returns the path of a program on the PATH, or "".
func findOnPath(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}
