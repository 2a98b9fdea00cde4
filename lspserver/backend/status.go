package backend

import (
	"context"
	"maps"
	"slices"

	"tandem/agent/model"
	"tandem/sandbox"
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
	Models                              []string
	Usage                               model.Usage
	PerTool                             []ToolStats
	// Jobs are the commands that sessions run in the background, sorted by session.
	Jobs []Job
	// Remarks are notes on the configuration, each a sentence.
	Remarks []string
}

// Job is a command that a session runs in the background.
type Job struct{ Session, ID, Title string }

// sandbox is the level of the commands under the configuration.
func (b *Backend) sandbox() sandbox.Level {
	c := b.config()
	return b.o.Runner.Level().Under(c.Sandbox.Level, c.Commands.Capabilities == "keep")
}

// tellSandbox finds out what confines commands, before the first one waits for that, and tells the user where it is less than
// it could be.
func (b *Backend) tellSandbox() {
	if b.o.Runner == nil || b.config().Sandbox.Level == "off" {
		return
	}
	if l := b.sandbox(); l.Below {
		b.log.Warn("the sandbox", "level", l.Name, "reason", l.Reason)
		b.face.Warn("the sandbox for commands is not complete here (level " + l.Name + "): 'tandem doctor' says why")
	}
}

// Status gives the state without waiting for a busy store.
func (b *Backend) Status(ctx context.Context) Status {
	r := Status{Store: b.storeState(ctx), Tools: len(b.Tools().List()), Watcher: "off"}
	if b.watcher != nil {
		r.Watcher = b.watcher.State()
	}
	if b.o.Runner != nil {
		r.Sandbox = b.sandbox()
	}
	r.Documents, r.Suspect = b.ws.Documents()
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Models, r.Sessions, r.Usage = b.opener.Names(), len(b.sessions), b.usage
	for _, p := range b.problems {
		r.Remarks = append(r.Remarks, p.String())
	}
	if b.cfg.WriteRoots != nil && len(b.cfg.WriteRoots) == 0 {
		r.Remarks = append(r.Remarks, `"writeRoots" is []: files may be changed anywhere`)
	}
	for _, id := range slices.Sorted(maps.Keys(b.sessions)) {
		for _, j := range b.sessions[id].Jobs() {
			r.Jobs = append(r.Jobs, Job{id, j.ID, j.Title})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.stats)) {
		r.PerTool = append(r.PerTool, *b.stats[name])
	}
	return r
}
