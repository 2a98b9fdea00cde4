package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Inputs are the layers of a configuration, the weakest first. Empty ones are passed over.
type Inputs struct {
	// UserFile is the path of the person's own file, see UserFile.
	UserFile string
	// Workspace is the folder whose .tandem/config.json is read. That file came with the folder, so it may only narrow
	// what is allowed.
	Workspace string
	// Client is the initializationOptions, Section the editor's "tandem" section, Flags what the command line sets; all
	// are JSON.
	Client, Section, Flags []byte
}

// UserFile is where the person's own file is looked for, "" where there is no home.
func UserFile(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "tandem", "config.json")
}

// Load puts the configuration together. It always gives one that can be used: a value that is wrong is reported and the
// layer below holds, except that a mode which is not known becomes "ask".
func Load(in Inputs) (Config, []Problem) {
	c := Default()
	var problems []Problem
	lay := func(source string, inFile bool, text []byte, accept func(d *decoder, base, c Config) Config) {
		d := &decoder{source: source, inFile: inFile, text: text}
		next := d.over(c)
		// What one layer turns off stays off, so that a project's policy holds in every editor.
		next.ToolsOff = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.ToolsOff, next.ToolsOff))))
		if accept != nil {
			next = accept(d, c, next)
		}
		c = next
		problems = append(problems, d.problems...)
	}
	file := func(path string, accept func(d *decoder, base, c Config) Config) {
		text, err := ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problems = append(problems, Problem{Bad: true, Source: path, Message: "cannot be read: " + Reason(err)})
		default:
			lay(path, true, text, accept)
		}
	}
	if in.UserFile != "" {
		file(in.UserFile, nil)
	}
	if in.Workspace != "" {
		file(filepath.Join(in.Workspace, ".tandem", "config.json"), func(d *decoder, base, c Config) Config {
			return narrow(d, in.Workspace, base, c)
		})
	}
	lay("initializationOptions", false, in.Client, nil)
	// The section can be changed while the server runs, so it is the newer word. An editor may take it from the workspace's
	// own settings.
	lay("the tandem section", false, in.Section, keepLimit)
	lay("the command line", false, in.Flags, keepLimit)
	return c, problems
}

// Reason is what is wrong with a file, without its path.
func Reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

const maxFile = 1 << 20

// ReadFile reads a regular file of at most 1 MiB; a pipe or a device in its place is an error, since it could block.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errors.New("it is larger than 1 MiB")
	}
	return text, err
}

// keepLimit refuses to lift the limit on where files may be changed.
func keepLimit(d *decoder, base, c Config) Config {
	if at, ok := d.at["writeRoots"]; ok && c.WriteRoots != nil && len(c.WriteRoots) == 0 {
		d.report(true, at, "writeRoots", `"writeRoots": [] is heeded in the user's file and in initializationOptions only`)
		c.WriteRoots = base.WriteRoots
	}
	return c
}

// narrow takes back what a workspace's file may not decide.
func narrow(d *decoder, workspace string, base, c Config) Config {
	refuse := func(key, why string) bool {
		at, set := d.at[key]
		if set {
			d.report(false, at, key, "%q is ignored here: %s", key, why)
		}
		return set
	}
	const own = "a workspace may not decide it"
	if refuse("model", own) {
		c.Model = base.Model
	}
	if refuse("fallbackModels", own) {
		c.FallbackModels = base.FallbackModels
	}
	if refuse("providers", own) {
		c.Providers = base.Providers
	}
	if refuse("readRoots", own) {
		c.ReadRoots = base.ReadRoots
	}
	if refuse("stateDir", own) {
		c.StateDir = base.StateDir
	}
	if refuse("log", own) {
		c.Log = base.Log
	}
	if refuse("retry", own) {
		c.Retry = base.Retry
	}
	const tighter = "a workspace may only make it stricter"
	if c.Mode == "auto" && base.Mode != "auto" && refuse("mode", tighter) {
		c.Mode = base.Mode
	}
	if base.RequireRead && !c.RequireRead && refuse("requireRead", tighter) {
		c.RequireRead = true
	}
	if base.StrictPaths && !c.StrictPaths && refuse("strictPaths", tighter) {
		c.StrictPaths = true
	}
	if c.Budget.MaxTurnRequests > base.Budget.MaxTurnRequests && refuse("budget", tighter) {
		c.Budget = base.Budget
	}
	if at, set := d.at["writeRoots"]; set {
		c.WriteRoots = narrowRoots(d, at, workspace, base.WriteRoots, c.WriteRoots)
	}
	return c
}

// narrowRoots keeps those of the wanted roots that lie below a root that is already allowed, as absolute paths without
// symbolic links. A wish that leaves nothing changes nothing.
func narrowRoots(d *decoder, at int, workspace string, allowed, wanted []string) []string {
	if len(wanted) == 0 {
		if wanted != nil || allowed != nil {
			d.report(false, at, "writeRoots", `"writeRoots" is ignored here: a workspace may only make it stricter`)
		}
		return allowed
	}
	unlimited := allowed != nil && len(allowed) == 0
	outer := allowed
	if allowed == nil {
		outer = []string{workspace}
	}
	var kept []string
	for _, w := range wanted {
		if !filepath.IsAbs(w) {
			w = filepath.Join(workspace, w)
		}
		real, err := filepath.EvalSymlinks(w)
		within := slices.ContainsFunc(outer, func(o string) bool {
			o, err := filepath.EvalSymlinks(o)
			return err == nil && (real == o || strings.HasPrefix(real, strings.TrimSuffix(o, "/")+"/"))
		})
		if err != nil || !(unlimited || within) {
			d.report(false, at, "writeRoots", "%q is ignored: it is no folder below those that may be written already", w)
			continue
		}
		kept = append(kept, real)
	}
	if kept == nil {
		return allowed
	}
	return kept
}
