package backend

import (
	"context"
	"maps"
	"slices"

	"tandem/agent/model"
	"tandem/sandbox"
)

// Status is how the backend does.
type Status struct {
	Store StoreState
	// Watcher says how files are watched, "off" where they are not.
	Watcher string
	// Sandbox is the zero Level where no commands are run.
	Sandbox sandbox.Level
	// Documents are open, of which Suspect may not be what the editor has.
	Documents, Suspect, Tools, Sessions int
	Models                              []string
	Usage                               model.Usage
	PerTool                             []ToolStats
	// Remarks are what is to be known of the configuration, each a sentence.
	Remarks []string
}

// Status answers at once, whatever else is going on.
func (b *Backend) Status(ctx context.Context) Status {
	r := Status{Store: b.storeState(ctx), Tools: len(b.Tools().List()), Watcher: "off"}
	if b.watcher != nil {
		r.Watcher = b.watcher.State()
	}
	if b.o.Runner != nil {
		r.Sandbox = b.o.Runner.Level()
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
	for _, name := range slices.Sorted(maps.Keys(b.stats)) {
		r.PerTool = append(r.PerTool, *b.stats[name])
	}
	return r
}
