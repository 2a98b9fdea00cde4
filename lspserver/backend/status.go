package backend

import (
	"context"
	"maps"
	"slices"
	"time"

	"tandem/agent/model"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/tools"
	"tandem/tools/run"
)

// Status is the state of the backend.
type Status struct {
	Store StoreState
	// Watcher is the method by which files are watched, or "off".
	Watcher string
	// Sandbox is the zero Level if there is no Runner.
	Sandbox sandbox.Level
	// Documents counts the open ones, Suspect those whose text may differ from the editor's.
	Documents, Suspect, Tools, Sessions int
	// Hits counts reads of files that were answered from memory, Misses the others.
	Hits, Misses int64
	Models       []string
	Usage        model.Usage
	PerTool      []ToolStats
	// Jobs are the commands that sessions run in the background, sorted by session.
	Jobs []Job
	// Servers are the MCP servers of the sessions, sorted by session and name.
	Servers []Server
	// Searched are the roots that were searched.
	Searched []index.State
	// Offer is what the next request of the session used last shows of the tools.
	Offer tools.Offer
	// Plugins are those of the configuration, in its order.
	Plugins []Plugin
	// Keys are the variables that keys of configured services are read from, sorted by service.
	Keys []KeyVariable
	// Remarks are notes on the configuration, each a sentence.
	Remarks []string
}

// KeyVariable is the environment variable that the key of a configured service is read from.
type KeyVariable struct{ Provider, Variable string }

// Job is a command that a session runs in the background.
type Job struct{ Session, ID, Title string }

// sandbox is the level of the commands under the configuration.
func (b *Backend) sandbox() sandbox.Level {
	c := b.config()
	return b.o.Runner.Level().Under(c.Sandbox.Level, c.Commands.Capabilities == "keep")
}

// awaitSandbox does tellSandbox after Options.SandboxTrial: the trial starts four processes, which
// would compete with the start of the editor.
func (b *Backend) awaitSandbox() {
	if b.o.SandboxTrial == 0 {
		b.tellSandbox()
		return
	}
	time.AfterFunc(b.o.SandboxTrial, func() { b.Later(func(context.Context) { b.tellSandbox() }) })
}

// tellSandbox finds out what confines commands, before the first one waits for that, and tells the user where it is less than
// it could be.
func (b *Backend) tellSandbox() {
	if b.o.Runner == nil || b.config().Sandbox.Level == "off" {
		return
	}
	if l := b.sandbox(); l.Below {
		b.log.Warn("the sandbox", "level", l.Name, "reason", l.Reason)
		b.face.Warn("the sandbox for commands is incomplete (level " + l.Name + "). Run 'tandem doctor' for the reason")
	}
}

// tellLost tells the user once that commands are not confined any more.
func (b *Backend) tellLost(now sandbox.Level) {
	if now.Confines() || now.Name == "" || !b.lost.CompareAndSwap(false, true) {
		return
	}
	b.log.Warn("the sandbox is lost", "level", now.Name, "reason", now.Reason)
	b.face.Warn("the sandbox for commands has failed. Until Tandem is restarted, each command asks for permission " +
		"or is refused: " + show.Visible(now.Reason, false))
}

// Status gives the state without waiting for a busy store.
func (b *Backend) Status(ctx context.Context) Status {
	r := Status{Store: b.keeper.state(ctx), Tools: len(b.Tools().List()), Watcher: "off"}
	if b.watcher != nil {
		r.Watcher = b.watcher.State()
	}
	if b.o.Runner != nil {
		r.Sandbox = b.sandbox()
	}
	r.Documents, r.Suspect = b.ws.Documents()
	if se := b.Latest(); se != nil {
		r.Offer = se.Offer()
	} else {
		r.Offer = b.Offer()
	}
	r.Hits, r.Misses = b.ws.Cache()
	r.Searched = b.indexes.States()
	cfg, sessions := b.config(), b.All()
	r.Models, r.Sessions, r.Plugins = b.Models(), len(sessions), b.toolbox.pluginList()
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		if v := cfg.Providers[name].APIKeyEnv; v != "" {
			r.Keys = append(r.Keys, KeyVariable{name, v})
		}
	}
	r.Remarks = b.settings.remarks()
	for _, se := range sessions {
		for _, j := range se.Jobs() {
			r.Jobs = append(r.Jobs, Job{se.id, j.ID, j.Title})
		}
		for _, v := range se.MCPServers() {
			r.Servers = append(r.Servers, Server{se.id, v})
		}
	}
	r.PerTool, r.Usage = b.tally.figures()
	return r
}

// Claims are what calls are about to change, of one session or with "" of all.
func (b *Backend) Claims(session string) []run.Claim { return b.claims.List(session) }
