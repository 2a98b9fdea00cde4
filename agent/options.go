package agent

import (
	"context"
	"log/slog"
	"time"

	"tandem/agent/custom"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/mcp"
	"tandem/tools/outputs"
	"tandem/tools/run"
)

// Options are what a session is made of. None of them changes in its life: what does is in Start. Log may be nil; all else must be set,
// except where noted.
type Options struct {
	ID string
	// Cwd is the absolute base of relative paths.
	Cwd string
	Own Own
	// Tools gives the present set of tools; it is called before each request to a model and before each call begins.
	Tools     func() *tools.Set
	Client    Client
	Workspace Workspace
	Review    Review // may be nil: no review of changes
	Shared    Shared
	Keeping   Keeping
	Servers   Servers
	// Attended says that a person's client has the session open: a command of a turn that is still running when its answer is due goes
	// on as a job.
	Attended bool
	// Locale is the language of the client's user, as LSP names it; "" where it does not say.
	Locale string
	Now    func() time.Time
	Log    *slog.Logger
}

// Own is what a person has written for their agent, for all folders. Both may be empty.
type Own struct {
	Rules    string // the text of their rules file
	Commands []custom.Source
}

// Start is what a session begins with. All of it may change later, by a method of the session.
type Start struct {
	Settings
	// More are the workspace's folders besides Options.Cwd.
	More []string
	// Mode and Model override the configuration's where they are not empty.
	Mode  gate.Mode
	Model string
	// Past is the stored session to continue, which the store has locked; may be nil.
	Past *Past
	// History is a conversation from elsewhere to begin with, where Past is nil. Its system messages follow the rules of the
	// system prompt. Every call in it has its result.
	History []model.Message
}

// Workspace is the files of all sessions, open documents included. No method but those of Files may block.
type Workspace interface {
	filetime.Files
	// Unsaved lists the canonical paths of the documents with unsaved text.
	Unsaved() []string
	// Seen is called with every path that the model sees.
	Seen(path string)
	// InPlace says that a change of a file goes to an editor, see sandbox.Paths.
	InPlace(path string) bool
	// Wrote says that since a time the editor has saved a file with this content, or a tool has landed it there; see autorun.Guard.
	Wrote(path, content string, since time.Time) bool
}

// Review follows the changes of files by one session, to show and undo them.
type Review interface {
	// Landed is called with every landed change and must not block. Stale is called after it with the files whose syntax is to be
	// looked at again.
	Landed(c filetime.Change, l filetime.Landed)
	Stale(l filetime.Landed)
	// BeforeCommand is called before a command runs, Unkept for the question about one; see run.Host.
	BeforeCommand(ctx context.Context, c run.Command) run.Began
	Unkept(ctx context.Context, c run.Command) string
	// Undo takes changes of the session back, for tools.
	Undo() tools.Undo
}

// Shared is what all sessions have together. All fields may be nil.
type Shared struct {
	// Roots is what the session's roots are added to; nil is one of this session alone.
	Roots  *sandbox.Roots
	Runner sandbox.Runner
	// Quarantine is the absolute folder for what commands plant in the workspace, see autorun.Quarantine. With "" it stays where it is,
	// and is reported.
	Quarantine string
	// Places is a semaphore on the running calls of all sessions; nil is no limit. The configuration limits one session's.
	Places *run.Slots
	// Claims are what calls of all sessions are about to change; nil takes none.
	Claims *run.Claims
	// Indexes are what searches of all sessions remember of the files; nil remembers nothing.
	Indexes *index.Indexes
	// Languages makes what asks language servers about code, with the environment that it starts some in.
	Languages func(env func() *tools.Env) tools.Languages
	// Key gives what a variable of the environment holds, else what a command prints; nil finds no key.
	Key func(variable string, command []string) (string, error)
	// Scratch makes a temporary file for answers that were too long for the model, which are kept until the session is closed; nil keeps
	// what memory can hold.
	Scratch func() (outputs.File, error)
}

// home is the folder that replaces ~ in paths, "" for none.
func (s Shared) home() string {
	if s.Roots == nil {
		return ""
	}
	return s.Roots.Home
}

// Keeping is what outlives the session.
type Keeping struct {
	// Store opens the store at the session's first write; nil keeps nothing.
	Store func() store.Store
	// Who is whom the records of the audit name; Redact takes secrets out of them, nil takes none out.
	Who    Who
	Redact func([]byte) []byte
	// Remember keeps a rule beyond the session and has every session follow it; nil where rules cannot be kept.
	Remember func(r gate.Rule) error
}

// Servers are the MCP servers of a session besides those of the configuration.
type Servers struct {
	// Named are those that the client has named for the session.
	Named []mcp.Entry
	// Proposed gives those that files of the folders name, about which a person is asked; may be nil.
	Proposed func(folders []string) []mcp.Entry
	// Pins keep what their tools were, see mcp.Options.
	Pins mcp.Pins
	// Changed is called when Tools or MCPServers gives something else, since a server has begun, failed or changed its tools. It must not
	// block. May be nil.
	Changed func()
}
