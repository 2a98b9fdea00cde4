package agent

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/agent/config"
	"tandem/agent/prompt"
	"tandem/filetime"
	"tandem/filetime/overlay"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/effects/autorun"
	"tandem/tools"
	"tandem/tools/hooks"
	"tandem/tools/run"
)

// reach is what the calls of a session can touch: its folders and what lies below its roots, what its model has seen of the files, and
// what its commands leave there. Paths and guard are replaced as a whole when the settings or the folders change: running calls go on
// with those that they began with.
type reach struct {
	id, cwd   string
	workspace Workspace
	shared    Shared
	now       func() time.Time
	places    *run.Slots
	files     *overlay.Files // the workspace with what waits for approval
	plans     plans
	fileTime  *filetime.FileTime
	rules     *rules
	findings  tools.Findings
	languages tools.Languages // nil where there are none
	// coded says that there is reason to offer the tools that ask language servers.
	coded func() bool

	mu      sync.Mutex
	config  config.Config
	folders []*sandbox.Folder // cwd is the first
	paths   *sandbox.Paths
	guard   *autorun.Guard
	autorun []string // a sentence for each file that runs later and was found since the last prompt
	added   []string // folders that no prompt has named yet
}

// newReach makes the reach of a session in some folders, Options.Cwd first. env gives the whole environment of a call, planned is called
// with plans that have changed. It must be configured before any other method is called.
func newReach(o Options, more []string, env func() *tools.Env, planned func([]overlay.Plan)) *reach {
	r := &reach{id: o.ID, cwd: o.Cwd, workspace: o.Workspace, shared: o.Shared, now: o.Now, coded: func() bool { return false }}
	for _, path := range slices.Concat([]string{o.Cwd}, more) {
		r.folders = append(r.folders, sandbox.OpenFolder(path))
	}
	r.rules = &rules{files: o.Workspace, log: o.Log, root: o.Cwd, read: map[string]bool{}, fresh: map[string]bool{}, shows: r.shows}
	r.places = run.NewSlots(r.maxCalls, o.Shared.Places)
	r.files = overlay.New(o.Workspace, planned)
	r.fileTime = filetime.New(r.files, o.ID, func(path string) {
		r.rules.see(path)
		o.Workspace.Seen(path)
	})
	if o.Shared.Languages != nil {
		r.languages = o.Shared.Languages(env)
		r.coded = sync.OnceValue(func() bool { return r.languages.Serves(o.Cwd) })
	}
	return r
}

// configure replaces the configuration.
func (r *reach) configure(c config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config = c
	r.confine()
}

// reopen opens the folders anew by path: one may have been replaced by another.
func (r *reach) reopen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.folders = slices.Clone(r.folders) // running calls use the old ones
	for i, f := range r.folders {
		r.folders[i] = f.Again()
	}
	r.confine()
}

// add adds folders to the session's, and gives those that are new.
func (r *reach) add(folders ...string) (fresh []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := pathsOf(r.folders)
	r.folders = slices.Clone(r.folders) // running calls use the old ones
	for _, path := range folders {
		if !slices.Contains(known, path) {
			known, fresh = append(known, path), append(fresh, path)
			r.folders = append(r.folders, sandbox.OpenFolder(path))
		}
	}
	if len(fresh) > 0 {
		r.added = append(r.added, fresh...)
		r.confine()
	}
	return fresh
}

// takeAdded gives the folders that were added since it was last called, for the model: a line each, and their rules. The system prompt
// may have named them already.
func (r *reach) takeAdded(ctx context.Context) string {
	r.mu.Lock()
	added := r.added
	r.added = nil
	r.mu.Unlock()
	var lines []string
	var found []prompt.Rule
	for _, path := range added {
		lines = append(lines, "The user has added the folder "+show.Visible(path, false)+" to the workspace.")
		if rule, ok := r.rules.of(ctx, path); ok {
			found = append(found, rule)
		}
	}
	return joined(strings.Join(lines, "\n"), prompt.Rules(found))
}

// confine makes paths and guard anew. r.mu is held.
func (r *reach) confine() {
	if r.paths != nil {
		defer r.paths.Close()
	}
	folders := pathsOf(r.folders)
	paths := &sandbox.Paths{
		Cwd: r.cwd, Home: r.shared.home(), Strict: r.config.StrictPaths, Folders: r.folders, Roots: r.shared.Roots,
		InPlace: r.workspace.InPlace, Unsaved: r.unsaved,
		Read: slices.Concat(folders, r.absolute(r.config.ReadRoots)), Write: folders,
		Unrestricted: r.config.WriteRoots != nil && len(r.config.WriteRoots) == 0,
	}
	if len(r.config.WriteRoots) > 0 {
		paths.Write = r.absolute(r.config.WriteRoots)
	}
	r.paths = paths
	r.guard = &autorun.Guard{
		Paths: paths, Session: r.id, Now: r.now, Wrote: r.workspace.Wrote,
		Name: func(path string) string { return show.Visible(paths.Rel(path), false) },
	}
	if r.shared.Quarantine != "" {
		r.guard.Quarantine = &autorun.Quarantine{Dir: r.shared.Quarantine, Now: r.now}
	}
}

func pathsOf(folders []*sandbox.Folder) (out []string) {
	for _, f := range folders {
		out = append(out, f.Path())
	}
	return out
}

func (r *reach) absolute(paths []string) (out []string) {
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.cwd, p)
		}
		out = append(out, p)
	}
	return out
}

// close closes the folders, and ends the hold on the roots.
func (r *reach) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paths != nil {
		r.paths.Close()
	}
	for _, f := range r.folders {
		f.Close()
	}
}

// roots are the paths of the folders.
func (r *reach) roots() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return pathsOf(r.folders)
}

// current are the paths as of now.
func (r *reach) current() *sandbox.Paths {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paths
}

// intact fails where one of the folders is replaced; see sandbox.Paths.Intact.
func (r *reach) intact() error { return r.current().Intact() }

// shows says that the model may read a path without permission: it and the target of its symbolic links lie below the
// roots and are no files that usually hold keys or passwords.
func (r *reach) shows(path string) bool {
	real, err := r.current().Readable(path)
	return err == nil && !prompt.Private(path) && !prompt.Private(real.Path())
}

// names are those in a folder that the model may list without permission.
func (r *reach) names(dir string) ([]string, error) {
	place, err := r.current().Readable(dir)
	if err != nil {
		return nil, err
	}
	d, err := place.Dir()
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // it was only read
	return d.Readdirnames(-1)
}

// secret says that a path names a file that usually holds keys.
func (r *reach) secret(path string) bool {
	if len(path) > 4096 || strings.ContainsAny(path, "\n\x00") {
		return false
	}
	place, err := r.current().Readable(path)
	return err == nil && place.Class().Is(sandbox.Secret)
}

// maxCalls is the limit on the session's concurrent calls.
func (r *reach) maxCalls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(1, r.config.Limits.MaxConcurrency)
}

// autorunFound adds sentences on files that run later and were found outside of a call, for the next prompt.
func (r *reach) autorunFound(found []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.autorun = append(r.autorun, found...)
}

// checkAutorun looks for files that run later, put there since the last call by what still runs.
func (r *reach) checkAutorun() []string {
	r.mu.Lock()
	guard := r.guard
	r.mu.Unlock()
	return guard.Check("")
}

// takeAutorun gives what was found since it was last called, a line each.
func (r *reach) takeAutorun() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := strings.Join(r.autorun, "\n")
	r.autorun = nil
	return news
}

// programs start the hooks of the session.
func (r *reach) programs() hooks.Programs {
	r.mu.Lock()
	defer r.mu.Unlock()
	return hooks.Programs{Runner: r.runner(), Folder: r.folders[0]}
}

// level is the name of the sandbox level of the session's commands; there must be a Runner.
func (r *reach) level() string {
	r.mu.Lock()
	runner := r.runner()
	r.mu.Unlock()
	return runner.Level().Name
}

// env is the part of the environment that is the same for all calls.
func (r *reach) env() *tools.Env {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &tools.Env{
		Session: r.id, Paths: r.paths, FileTime: r.fileTime, Read: r.read, Searches: tools.SearchSources{Unsaved: r.unsaved, Indexes: r.shared.Indexes},
		Commands:    tools.CommandEnv{Runner: r.runner(), Confined: confined(r.config.Sandbox.Network), Autorun: r.guard},
		Servers:     tools.CodeServers{Languages: r.languages, Findings: &r.findings},
		RequireRead: r.config.RequireRead, Limits: limitsOf(r.config.Limits), Now: r.now,
	}
}

func limitsOf(l config.Limits) tools.Limits {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	return tools.Limits{
		MaxToolOutputChars: l.MaxToolOutputChars, MaxConcurrency: l.MaxConcurrency,
		MaxReadBytes: l.MaxReadBytes, MaxFileBytes: int64(l.MaxFileBytes), MaxDiffBytes: l.MaxDiffBytes, MaxImageBytes: l.MaxImageBytes,
		ToolTimeout: ms(l.ToolTimeoutMs), BashTimeout: ms(l.BashTimeoutMs),
		BashReadOnlyTimeout: ms(l.BashReadOnlyTimeoutMs), KillGrace: ms(l.KillGraceMs), JobTime: ms(l.JobMs),
	}
}

func (r *reach) read(ctx context.Context, p sandbox.Place) (filetime.Snapshot, error) {
	return r.files.Read(ctx, p.Path())
}

// unsaved are the files whose text is not on disk as calls see it: unsaved documents, and files with changes that wait.
func (r *reach) unsaved() []string {
	out := slices.Concat(r.workspace.Unsaved(), r.files.Unlanded())
	slices.Sort(out)
	return slices.Compact(out)
}

// runner is a Runner with the configuration's search path and environment of commands. r.mu is held.
func (r *reach) runner() sandbox.Runner {
	if r.shared.Runner == nil {
		return nil
	}
	c := r.config.Commands
	hosts, _ := r.config.Sandbox.Network.Hosts()
	return &envRunner{
		Runner: r.shared.Runner, privileged: c.Capabilities == "keep", level: r.config.Sandbox.Level,
		in: sandbox.Surroundings{
			Paths: r.paths, Hosts: hosts,
			Roots: slices.Concat(pathsOf(r.folders), r.paths.Write), Path: r.absolute(c.Path), Pass: c.Env,
		},
	}
}

// confined is the profile of commands for a setting.
func confined(n config.Network) sandbox.Profile {
	switch _, proxied := n.Hosts(); {
	case proxied:
		return sandbox.Proxy
	case n == "deny":
		return sandbox.Write
	}
	return sandbox.Loopback
}

// envRunner is a Runner with a session's search path and environment.
type envRunner struct {
	sandbox.Runner
	in         sandbox.Surroundings
	privileged bool
	level      string // the setting
}

// Level is that of the commands of the session.
func (r *envRunner) Level() sandbox.Level {
	if r.level == "off" { // nothing has to be tried
		return sandbox.Level{}.Under(r.level, r.privileged)
	}
	return r.Runner.Level().Under(r.level, r.privileged)
}

// Find looks a program up in the session's search path.
func (r *envRunner) Find(name string, _ sandbox.Surroundings) (string, error) {
	return r.Runner.Find(name, r.in)
}

// Start starts c in the session's environment.
func (r *envRunner) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	c.Surroundings, c.Privileged = r.in, r.privileged
	return r.Runner.Start(ctx, c)
}
