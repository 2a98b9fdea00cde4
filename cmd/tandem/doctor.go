package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/agent/store"
	"tandem/sandbox"
)

type doctorCmd struct {
	JSON    bool          `name:"json" help:"Print the findings as JSON."`
	Offline bool          `help:"Do not ask the model's service whether it is there."`
	Timeout time.Duration `help:"How long the model's service may take to answer." default:"5s"`
	Cwd     string        `help:"The workspace folder." default:"." type:"existingdir"`
}

// finding is what one look has shown. Status is "ok", "note" (worth knowing), "warn" (works, but not as it could) or
// "fail" (does not work). Next is what to do.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"`
}

const (
	fine  = "ok"
	note  = "note"
	warn  = "warn"
	fails = "fail"
)

// Run looks at everything and ends with 1 where something does not work.
func (d *doctorCmd) Run(ctx context.Context, c *cli) error {
	loaded, err := c.load(d.Cwd)
	if err != nil {
		return err
	}
	x := &examination{cfg: loaded.Config, getenv: os.Getenv, find: find}
	x.version()
	x.configuration(loaded, c.inputs(d.Cwd).Files())
	x.model(ctx, d.Offline, d.Timeout)
	x.program(ctx, "ripgrep", "rg", "searches use a slower engine of Tandem's own", "install ripgrep")
	x.program(ctx, "git", "git", "commands of the agent cannot use it", "install git")
	x.path()
	x.state()
	x.store()
	x.inotify("/proc/sys/fs/inotify")
	x.editors()
	x.sandbox((&sandbox.Local{}).Level())
	broken := slices.ContainsFunc(x.findings, func(f finding) bool { return f.Status == fails })
	if d.JSON {
		err = printJSON(struct {
			OK       bool      `json:"ok"`
			Findings []finding `json:"findings"`
		}{!broken, x.findings})
	} else {
		for _, f := range x.findings {
			mark := map[string]string{fine: "✓", note: "·", warn: "!", fails: "✗"}[f.Status]
			fmt.Fprintf(stdout(), "%s %-13s %s\n", mark, f.Check, f.Detail)
			if f.Next != "" {
				fmt.Fprintf(stdout(), "%17s→ %s\n", "", f.Next)
			}
		}
	}
	if broken && err == nil {
		err = exitCode(1)
	}
	return err
}

// examination gathers findings.
type examination struct {
	cfg    config.Config
	getenv func(string) string
	// find gives the path of a program, "" where it is not on the path.
	find     func(name string) string
	findings []finding
}

func (x *examination) add(check, status, detail, next string) {
	x.findings = append(x.findings, finding{check, status, detail, next})
}

func (x *examination) version() {
	detail := fmt.Sprintf("tandem %s, %s/%s", version, runtime.GOOS, runtime.GOARCH)
	self, err := os.Executable()
	if err == nil {
		detail += ", " + self
	}
	if x.find("tandem") == "" {
		x.add("version", note, detail, "put tandem on the PATH, or tell your editor where it is")
		return
	}
	x.add("version", fine, detail, "")
}

func (x *examination) configuration(l config.Loaded, files []string) {
	for _, p := range l.Problems {
		status, next := note, ""
		switch {
		case p.Bad && p.Unserved:
			status = warn
		case p.Bad:
			status, next = fails, "correct it; docs/configuration.md and 'tandem config schema' list every key"
		}
		x.add("configuration", status, p.String(), next)
	}
	if l.WriteRoots != nil && len(l.WriteRoots) == 0 {
		x.add("configuration", warn, `"writeRoots" is []: files may be changed anywhere`, "name the folders, or take the key away for the workspace alone")
	}
	var read []string
	for _, f := range files {
		if _, ok := l.Texts[f]; !ok {
			continue
		}
		read = append(read, f)
		schema := filepath.Join(filepath.Dir(f), schemaFile)
		if text, err := os.ReadFile(schema); err == nil && string(text) != config.Schema() {
			x.add("configuration", note, schema+" is that of another version, so editors complete other keys",
				"tandem config schema > "+schema)
		}
	}
	switch {
	case len(files) == 0:
		x.add("configuration", warn, "there is no home folder to look for a configuration in", "set HOME or XDG_CONFIG_HOME")
	case len(read) == 0:
		x.add("configuration", note, "nothing is set: there is no "+strings.Join(files, " and no "), "'tandem init' writes one to begin with")
	case len(l.Problems) == 0:
		x.add("configuration", fine, strings.Join(read, ", "), "")
	}
}

// model looks whether the model of the configuration can be had, then those that answer in its place.
func (x *examination) model(ctx context.Context, offline bool, timeout time.Duration) {
	r := &registry.Registry{Config: x.cfg, Getenv: x.getenv, Discover: true, Command: printed}
	if !offline {
		choices, idle := r.Choices()
		for _, said := range idle {
			x.add("local model", note, said, "'ollama pull NAME' fetches one; LM Studio loads one from its list")
		}
		for _, c := range choices {
			if c.Local {
				x.add("local model", fine, fmt.Sprintf("%s: %s", c.Model, c.Why), "")
			}
		}
	}
	for i, name := range append([]string{x.cfg.Model}, x.cfg.FallbackModels...) {
		check := "model"
		if i > 0 {
			check = "fallback"
		}
		if offline {
			m, err := r.Open(name)
			if err != nil {
				x.failed(check, registry.Checked{Model: name}, err)
			} else {
				x.chosen(check, registry.Checked{Model: m.Name()})
			}
			continue
		}
		asking, cancel := context.WithTimeout(ctx, timeout)
		c, err := r.Check(asking, name)
		if errors.Is(err, context.DeadlineExceeded) {
			err = &model.Error{Message: fmt.Sprintf("%s has not answered within %v.", c.Address, timeout)}
		}
		cancel()
		if err != nil {
			x.failed(check, c, err)
		} else {
			x.chosen(check, c)
		}
	}
}

func (x *examination) failed(check string, c registry.Checked, err error) {
	next := "correct it, then run 'tandem doctor' again"
	var m *model.Error
	switch {
	case !errors.As(err, &m):
	case m.Kind == "auth":
		next = "put a valid key into the environment of whatever starts Tandem"
	case c.Address != "":
		next = "check the network, proxies (HTTPS_PROXY, providers.NAME.proxy) and providers.NAME.baseUrl"
	case strings.Contains(m.Message, "needs a key"):
		next = "set the variable in the environment of whatever starts Tandem: editors started from a desktop do not read a shell's files"
	}
	x.add(check, fails, fmt.Sprintf("%s: %v", cmp.Or(c.Model, "the default model"), err), next)
}

func (x *examination) chosen(check string, c registry.Checked) {
	if c.Model == "script/embedded" {
		x.add(check, warn, "no model is set and none was found: the embedded script answers, which is no language model",
			"set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama or LM Studio, then run 'tandem init'")
		return
	}
	detail, status, next := c.Model, fine, ""
	if c.Why != "" {
		detail += ", because " + c.Why
	}
	if c.Address != "" {
		detail += ", answers at " + c.Address
	}
	switch {
	case c.Model == "editor":
		detail, status = "the editor lends its own, which only the editor can tell of", note
	case c.Listed != nil && !*c.Listed:
		detail, status = detail+", which does not list it", warn
		next = "check the name after the slash"
	}
	x.add(check, status, detail, next)
}

// program looks for a program and its version.
// path tells of the folders in which no program is looked for.
func (x *examination) path() {
	for _, e := range sandbox.SearchPath(x.getenv("PATH")) {
		if e.Why != "" {
			x.add("PATH", note, fmt.Sprintf("%s is not used for commands: %s", e.Dir, e.Why),
				"correct it, or name the folder in commands.path of your own configuration")
		}
	}
}

func (x *examination) program(ctx context.Context, check, name, without, next string) {
	if x.find(name) == "" {
		x.add(check, note, fmt.Sprintf("%s is not on the PATH: %s", name, without), next)
		return
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	var runner sandbox.Local
	defer runner.Close()
	folder := sandbox.OpenFolder(dir)
	defer folder.Close()
	program, err := runner.Find(name, sandbox.Surroundings{})
	var out sandbox.Outcome
	if err == nil {
		out, err = sandbox.Run(ctx, &runner, sandbox.Command{
			Argv: []string{program, "--version"}, Dir: folder, Profile: sandbox.Unconfined, Timeout: 5 * time.Second, Grace: time.Second,
		})
	}
	line, _, _ := strings.Cut(out.Stdout, "\n")
	if err != nil || out.ExitCode != 0 || out.TimedOut {
		x.add(check, warn, fmt.Sprintf("%s does not run: %s", x.find(name), cmp.Or(strings.TrimSpace(out.Stderr), fmt.Sprint(err))), next)
		return
	}
	x.add(check, fine, line, "")
}

// find gives the path of a program.
func find(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// state looks whether what outlives a process can be written, without writing anything.
func (x *examination) state() {
	dir := stateDir(x.cfg)
	have := dir
	for have != filepath.Dir(have) {
		if info, err := os.Stat(have); err == nil && info.IsDir() {
			break
		} else if err == nil {
			x.add("state", fails, have+" is no folder", "remove it, or set stateDir to another folder")
			return
		}
		have = filepath.Dir(have)
	}
	if err := writable(have); err != nil {
		x.add("state", fails, fmt.Sprintf("%s cannot be written: %v", have, err), "give yourself the right to, or set stateDir to another folder")
		return
	}
	if err := store.Private(dir); err != nil {
		x.add("state", fails, err.Error(), "nothing is kept there until then")
		return
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		x.add("state", warn, dir+" can be read by others, and holds what was said and changed", "chmod 700 "+dir)
		return
	}
	detail := dir
	if have != dir {
		detail += " (will be made)"
	}
	x.add("state", fine, detail, "")
}

// store looks whether the sessions that are kept can be read.
func (x *examination) store() {
	path := storePath(x.cfg)
	if !stored(x.cfg) {
		x.add("sessions", fine, "none are kept yet", "")
		return
	}
	st, err := openStore(x.cfg)
	if err != nil {
		next := "look at its rights and at the space on its disk"
		switch {
		case errors.Is(err, store.ErrNewer):
			next = "use the newer Tandem, or move the file away"
		case errors.Is(err, store.ErrDamaged):
			next = "'tandem session delete --all' deletes it; move it away to keep it"
		}
		x.add("sessions", fails, err.Error(), next)
		return
	}
	defer st.Close()
	all, _, err := st.Sessions(store.Query{})
	var used int64
	if err == nil {
		used, err = st.Size()
	}
	if err != nil {
		x.add("sessions", fails, fmt.Sprintf("%s: %v", path, err), "'tandem session delete --all' deletes it")
		return
	}
	x.add("sessions", fine, fmt.Sprintf("%s in %s, %s", count(len(all)), path, size(used)), "")
}

// inotify looks at how many folders the system watches for one user.
func (x *examination) inotify(dir string) {
	limit := func(name string) int {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		n, bad := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil || bad != nil {
			return -1
		}
		return n
	}
	watches, instances := limit("max_user_watches"), limit("max_user_instances")
	detail := fmt.Sprintf("at most %d folders, %d watchers", watches, instances)
	switch {
	case watches < 0 || instances < 0:
		x.add("watching", note, "the system's limits cannot be read; files that it does not watch are looked at now and then", "")
	case watches < 8192 || instances < 32:
		x.add("watching", warn, detail+" for all programs together, which is few; what is over that is looked at now and then",
			"sysctl fs.inotify.max_user_watches=65536 fs.inotify.max_user_instances=128")
	default:
		x.add("watching", fine, detail, "")
	}
}

// editors looks for editors and for Tandem in them.
func (x *examination) editors() {
	home := x.getenv("HOME")
	for _, e := range []struct {
		name, program, next string
		places              []string
	}{
		{"VS Code", "code", "code --install-extension tandem.vsix", []string{
			".vscode/extensions/tandem.tandem-*", ".vscode-server/extensions/tandem.tandem-*",
		}},
		{"Neovim", "nvim", "put editors/nvim on its runtime path, see docs/neovim.md", []string{
			".config/nvim/lua/tandem", ".config/nvim/pack/*/*/*/lua/tandem", ".local/share/nvim/site/pack/*/*/*/lua/tandem",
			".local/share/nvim/lazy/*/lua/tandem",
		}},
	} {
		if x.find(e.program) == "" {
			continue
		}
		where := ""
		for _, p := range e.places {
			if found, _ := filepath.Glob(filepath.Join(home, p)); len(found) > 0 {
				where = found[0]
			}
		}
		if where == "" {
			x.add(e.name, note, "is there; Tandem was not found in the usual places for its extensions", e.next)
			continue
		}
		x.add(e.name, fine, where, "")
	}
}

func (x *examination) sandbox(l sandbox.Level) {
	switch {
	case l.Name != "none":
		x.add("sandbox", fine, l.Name+": "+l.Reason, "")
	case x.cfg.Sandbox.Level == "strict":
		x.add("sandbox", warn, "none, and sandbox.level is strict: every command is refused", `"auto" asks before every command instead`)
	default:
		x.add("sandbox", note, "none: "+l.Reason+", so you are asked before every one of them", "")
	}
}
