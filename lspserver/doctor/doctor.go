// Package doctor looks for missing programs, wrong settings and other faults on a machine, and says
// what to do about them.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/agent/store"
	"tandem/lspserver/state"
	"tandem/sandbox"
	"tandem/tools"
)

// Finding is what one look has shown. Status is "ok", "note" (worth knowing), "warn" (works, but
// not as it could) or "fail" (does not work). Next is what to do.
type Finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"`
}

// The values of Finding.Status.
const (
	fine  = "ok"
	note  = "note"
	warn  = "warn"
	Fails = "fail"
)

// Examine looks at all of it. files are those that the configuration is read from.
func (x *Examination) Examine(ctx context.Context, loaded config.Loaded, files []string) []Finding {
	x.cfg = loaded.Config
	x.version()
	x.configuration(loaded, files)
	x.model(ctx)
	x.program(ctx, "git", "git", "the agent's commands cannot use it", "install git")
	x.path()
	x.servers()
	x.plugins()
	x.state()
	x.store()
	x.inotify("/proc/sys/fs/inotify")
	x.searches(ctx)
	x.editors()
	var runner sandbox.Local
	defer runner.Close()
	x.sandbox(runner.Level())
	return x.findings
}

// Mark is the sign of the status for a person.
func (f Finding) Mark() string {
	return map[string]string{fine: "✓", note: "·", warn: "!", Fails: "✗"}[f.Status]
}

// Examination is one look at everything. Its fields are set before Examine is called, once.
type Examination struct {
	Version string
	Getenv  func(string) string
	// Find gives the path of a program, "" where it is not on the path.
	Find func(name string) string
	// Roots are the folders of the workspace, from which no program is run.
	Roots []string
	// Command is what a command of the configuration prints, such as one that gives a key.
	Command func(argv []string) (string, error)
	// Offline asks no service of a model; else one may take Timeout to answer. So may the look
	// through a root.
	Offline bool
	Timeout time.Duration

	cfg      config.Config
	findings []Finding
}

func (x *Examination) add(check, status, detail, next string) {
	x.findings = append(x.findings, Finding{check, status, detail, next})
}

func (x *Examination) version() {
	detail := fmt.Sprintf("tandem %s, %s/%s", x.Version, runtime.GOOS, runtime.GOARCH)
	self, err := os.Executable()
	if err == nil {
		detail += ", " + self
	}
	if x.Find("tandem") == "" {
		x.add("version", note, detail, "add tandem to the PATH, or set its path in your editor")
		return
	}
	x.add("version", fine, detail, "")
}

func (x *Examination) configuration(l config.Loaded, files []string) {
	for _, p := range l.Problems {
		status, next := note, ""
		switch {
		case p.Bad && p.Unserved:
			status = warn
		case p.Bad:
			status, next = Fails, "fix it; docs/configuration.md and 'tandem config schema' list every key"
		}
		x.add("configuration", status, p.String(), next)
	}
	if l.WriteRoots != nil && len(l.WriteRoots) == 0 {
		x.add("configuration", warn, `"writeRoots" is []: files may be changed anywhere`, "list the folders, or remove the key to allow only the workspace")
	}
	var read []string
	for _, f := range files {
		if _, ok := l.Texts[f]; !ok {
			continue
		}
		read = append(read, f)
		schema := filepath.Join(filepath.Dir(f), config.SchemaFile)
		if text, err := os.ReadFile(schema); err == nil && string(text) != config.Schema() {
			x.add("configuration", note, schema+" is from another version, so editors complete the wrong keys",
				"tandem config schema > "+schema)
		}
	}
	switch {
	case len(files) == 0:
		x.add("configuration", warn, "there is no home folder, so no configuration of your own is read", "set HOME or XDG_CONFIG_HOME")
	case len(read) == 0:
		x.add("configuration", note, "no configuration file: there is no "+strings.Join(files, " and no "), "'tandem init' writes one")
	case len(l.Problems) == 0:
		x.add("configuration", fine, strings.Join(read, ", "), "")
	}
}

// model looks whether the model of the configuration can be had, then those that answer in its
// place.
func (x *Examination) model(ctx context.Context) {
	r := &registry.Registry{Config: x.cfg, Getenv: x.Getenv, Discover: true, Command: x.Command}
	if !x.Offline {
		choices, idle := r.Choices()
		for _, said := range idle {
			x.add("local model", note, said, "'ollama pull NAME' downloads one; in LM Studio load one from its list")
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
		if x.Offline {
			m, err := r.Open(name)
			if err != nil {
				x.failed(check, registry.Checked{Model: name}, err)
			} else {
				x.chosen(check, registry.Checked{Model: m.Name()})
			}
			continue
		}
		asking, cancel := context.WithTimeout(ctx, x.Timeout)
		c, err := r.Check(asking, name)
		if errors.Is(err, context.DeadlineExceeded) {
			err = &model.Error{Message: fmt.Sprintf("%s did not answer within %v.", c.Address, x.Timeout)}
		}
		cancel()
		if err != nil {
			x.failed(check, c, err)
		} else {
			x.chosen(check, c)
		}
	}
}

func (x *Examination) failed(check string, c registry.Checked, err error) {
	next := "fix it, then run 'tandem doctor' again"
	var m *model.Error
	switch {
	case !errors.As(err, &m):
	case m.Kind == "auth":
		next = "set a valid key in the environment that Tandem is started with"
	case c.Address != "":
		next = "check the network, proxies (HTTPS_PROXY, providers.NAME.proxy) and providers.NAME.baseUrl"
	case strings.Contains(m.Message, "needs a key"):
		next = "set the variable in the environment that Tandem is started with; editors started from a desktop do not read shell profiles"
	}
	x.add(check, Fails, fmt.Sprintf("%s: %v", cmp.Or(c.Model, "the default model"), err), next)
}

func (x *Examination) chosen(check string, c registry.Checked) {
	if c.Model == "script/embedded" {
		x.add(check, warn, "no model is configured and none was found, so a built-in script answers, which is not a language model",
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
		detail, status = "the editor's own model, which only the editor can check", note
	case c.Listed != nil && !*c.Listed:
		detail, status = detail+", which does not list this model", warn
		next = "check the name after the slash"
	}
	x.add(check, status, detail, next)
}

// path tells of the folders in which no program is looked for.
func (x *Examination) path() {
	for _, e := range sandbox.SearchPath(x.Getenv("PATH"), x.Roots) {
		if e.Why != "" {
			x.add("PATH", note, fmt.Sprintf("%s is not used for commands: %s", e.Dir, e.Why),
				"fix the PATH, or add the folder to commands.path in your own configuration")
		}
	}
}

// program looks for a program and its version.
func (x *Examination) program(ctx context.Context, check, name, without, next string) {
	if x.Find(name) == "" {
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
	program, err := runner.Find(name, sandbox.Surroundings{Roots: x.Roots})
	var out sandbox.Outcome
	if err == nil {
		out, err = sandbox.Run(ctx, &runner, sandbox.Command{
			Argv: []string{program, "--version"}, Dir: folder, Profile: sandbox.Unconfined, Timeout: 5 * time.Second, Grace: time.Second,
		})
	}
	line, _, _ := strings.Cut(out.Stdout, "\n")
	if err != nil || out.ExitCode != 0 || out.TimedOut {
		x.add(check, warn, fmt.Sprintf("%s does not run: %s", x.Find(name), cmp.Or(strings.TrimSpace(out.Stderr), fmt.Sprint(err))), next)
		return
	}
	x.add(check, fine, line, "")
}

// state looks whether what outlives a process can be written, without writing anything.
func (x *Examination) state() {
	dir := state.Dir(x.cfg)
	have := dir
	for have != filepath.Dir(have) {
		if info, err := os.Stat(have); err == nil && info.IsDir() {
			break
		} else if err == nil {
			x.add("state", Fails, have+" is not a folder", "remove it, or set stateDir to another folder")
			return
		}
		have = filepath.Dir(have)
	}
	if err := writable(have); err != nil {
		x.add("state", Fails, fmt.Sprintf("%s cannot be written: %v", have, err), "make it writable, or set stateDir to another folder")
		return
	}
	if err := store.Private(dir); err != nil {
		x.add("state", Fails, err.Error(), "nothing is stored until then")
		return
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		x.add("state", warn, dir+" is readable by other users, and contains your sessions and file texts", "chmod 700 "+dir)
		return
	}
	detail := dir
	if have != dir {
		detail += " (will be created)"
	}
	x.add("state", fine, detail, "")
}

// store looks whether the sessions that are kept can be read.
func (x *Examination) store() {
	path := state.StorePath(x.cfg)
	if !state.Stored(x.cfg) {
		x.add("sessions", fine, "none stored yet", "")
		return
	}
	st, err := state.OpenStore(x.cfg)
	if err != nil {
		next := "check its permissions and the free space of its disk"
		switch {
		case errors.Is(err, store.ErrNewer):
			next = "use the newer Tandem, or move the file away"
		case errors.Is(err, store.ErrDamaged):
			next = "'tandem session delete --all' deletes it; move it away to keep it"
		}
		x.add("sessions", Fails, err.Error(), next)
		return
	}
	defer st.Close()
	all, _, err := st.Sessions(store.Query{})
	var used int64
	if err == nil {
		used, err = st.Size()
	}
	if err != nil {
		x.add("sessions", Fails, fmt.Sprintf("%s: %v", path, err), "'tandem session delete --all' deletes it")
		return
	}
	x.add("sessions", fine, fmt.Sprintf("%s in %s, %s", tools.Count(len(all), "session"), path, state.Size(used)), "")
}

// inotify looks at how many folders the system watches for one user.
func (x *Examination) inotify(dir string) {
	limit := func(name string) int {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		n, bad := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil || bad != nil {
			return -1
		}
		return n
	}
	watches, instances := limit("max_user_watches"), limit("max_user_instances")
	detail := fmt.Sprintf("inotify limits: %d folders, %d watchers", watches, instances)
	switch {
	case watches < 0 || instances < 0:
		x.add("watching", note, "the inotify limits cannot be read; folders that the system does not watch are polled", "")
	case watches < 8192 || instances < 32:
		x.add("watching", warn, detail+" for all programs together, which is few; folders above the limit are polled",
			"sysctl fs.inotify.max_user_watches=65536 fs.inotify.max_user_instances=128")
	default:
		x.add("watching", fine, detail, "")
	}
}

// editors looks for editors and for Tandem in them.
func (x *Examination) editors() {
	home := x.Getenv("HOME")
	for _, e := range []struct {
		name, program, next string
		places              []string
	}{
		{"VS Code", "code", "code --install-extension tandem.vsix", []string{
			".vscode/extensions/tandem.tandem-*", ".vscode-server/extensions/tandem.tandem-*",
		}},
		{"Neovim", "nvim", "add editors/nvim to its runtimepath, see docs/neovim.md", []string{
			".config/nvim/lua/tandem", ".config/nvim/pack/*/*/*/lua/tandem", ".local/share/nvim/site/pack/*/*/*/lua/tandem",
			".local/share/nvim/lazy/*/lua/tandem",
		}},
	} {
		if x.Find(e.program) == "" {
			continue
		}
		where := ""
		for _, p := range e.places {
			if found, _ := filepath.Glob(filepath.Join(home, p)); len(found) > 0 {
				where = found[0]
			}
		}
		if where == "" {
			x.add(e.name, note, "installed, but Tandem was not found in the usual folders for plug-ins", e.next)
			continue
		}
		x.add(e.name, fine, where, "")
	}
}

func (x *Examination) sandbox(l sandbox.Level) {
	l = l.Under(x.cfg.Sandbox.Level, x.cfg.Commands.Capabilities == "keep")
	switch {
	case l.Name == sandbox.LevelFull:
		x.add("sandbox", fine, l.Name+": "+l.Reason, "")
	case l.Confines():
		x.add("sandbox", warn, l.Name+": "+l.Reason, "allow user namespaces for the full sandbox; sandbox.level strict refuses anything less")
	case x.cfg.Sandbox.Level == "strict":
		x.add("sandbox", warn, "none, and sandbox.level is strict, so every command is refused: "+l.Reason, `set sandbox.level to "auto" to be asked before every command instead`)
	default:
		x.add("sandbox", note, "none: "+l.Reason+"; you are asked before every command", "")
	}
}
