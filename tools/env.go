package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/effects/autorun"
	"tandem/sandbox/search/index"
	"tandem/tools/jobs"
	"tandem/tools/outputs"
)

// Env is what a tool may touch; each call gets its own.
type Env struct {
	Session, Call string
	Turn          int
	Paths         *sandbox.Paths
	FileTime      *filetime.FileTime
	// Needs are those of the call as they were judged; Needs of the tool is called without.
	Needs []Need
	// Judged is set by the pipeline.
	Judged Judged
	// Read gives what a file says now, unsaved text included; see filetime.Files. The pipeline refuses files that Needs does not
	// cover.
	Read        func(ctx context.Context, p sandbox.Place) (filetime.Snapshot, error)
	Searches    SearchSources
	Commands    CommandEnv
	Limits      Limits
	RequireRead bool
	Person      Person
	// Undo takes the session's own changes back; nil where the host keeps none of them.
	Undo Undo
	// Tasks is the session's task list; nil where it has none.
	Tasks Tasks
	// Catalogue is what the model has of the tools; nil where no model of ours is shown them.
	Catalogue *Catalogue
	// Outputs are the session's answers that were too long for its model; nil keeps none.
	Outputs *outputs.Outputs
	// WebSearch is the service that web_search asks; nil where the person has configured none.
	WebSearch *WebSearch
	Servers   CodeServers
	Now       func() time.Time
}

// Place is that of the first need, for a tool that has one need.
func (e *Env) Place() sandbox.Place { return e.Needs[0].Place }

// Name is an absolute path as it stands in a text for a model or a person: Paths.Rel in one line, with nothing invisible in it.
func (e *Env) Name(path string) string { return show.Visible(e.Paths.Rel(path), false) }

// Judged is what the pipeline has judged of a call besides its needs, and how more is judged. The zero value is that of a call which no
// pipeline carries out: nothing is checked, every place may be read, none is refused.
type Judged struct {
	// Context ends when nobody waits for the needs of the call any more. nil never ends.
	Context context.Context
	// Checked says that the arguments have been validated and hold the defaults; a tool that finds them unchecked validates them itself.
	Checked bool
	// Allows says that a call of read_file for a place would go on without a question.
	Allows func(sandbox.Place) bool
	// Denies reports whether a rule refuses the call for a place.
	Denies func(sandbox.Place) bool
	// More judges what has only shown while a call runs, see Again.
	More func(ctx context.Context, title string, args json.RawMessage, needs []Need) error
}

// Waiting is Context, or one that never ends.
func (j Judged) Waiting() context.Context {
	if j.Context == nil {
		return context.Background()
	}
	return j.Context
}

// MayRead says that a call of read_file for a place would go on without a question.
func (j Judged) MayRead(p sandbox.Place) bool { return j.Allows == nil || j.Allows(p) }

// Denied reports whether a rule refuses the call for a place: a search leaves it out.
func (j Judged) Denied(p sandbox.Place) bool { return j.Denies != nil && j.Denies(p) }

// Again judges what has only shown now, while a call runs, as if the call had these arguments and needs, and asks the person under title
// where that takes it. The person's time is not the call's. An error ends the call; errors.ErrUnsupported says that nothing can be
// judged here.
func (j Judged) Again(ctx context.Context, title string, args json.RawMessage, needs []Need) error {
	if j.More == nil {
		return errors.ErrUnsupported
	}
	return j.More(ctx, title, args, needs)
}

// Person is the person at the editor, as a running call reaches them. The zero value is nobody.
type Person struct {
	// Show shows how a running call gets on; never blocks.
	Show func(Progress)
	// Answer puts a question and returns when there is an answer, ctx has ended, or the question's Timeout has passed since it was
	// shown, which is context.DeadlineExceeded. "" is no answer.
	Answer func(ctx context.Context, q Clarification) (answer string, err error)
	// Pause pauses the time limit of the call.
	Pause func() (resume func())
}

// Progress shows how a running call gets on; it never blocks.
func (p Person) Progress(now Progress) {
	if p.Show != nil {
		p.Show(now)
	}
}

// Asked reports whether anybody can be asked at all.
func (p Person) Asked() bool { return p.Answer != nil }

// Clarify puts a question, see Answer; errors.ErrUnsupported says that nobody can be asked.
func (p Person) Clarify(ctx context.Context, q Clarification) (answer string, err error) {
	if p.Answer == nil {
		return "", errors.ErrUnsupported
	}
	return p.Answer(ctx, q)
}

// Asking pauses the time limit of the call while a person answers a question other than Judged.Again's; answered resumes it.
func (p Person) Asking() (answered func()) {
	if p.Pause == nil {
		return func() {}
	}
	return p.Pause()
}

// CommandEnv is where the commands of a session run.
type CommandEnv struct {
	// Runner runs the commands that Needs name, and no other.
	Runner sandbox.Runner
	// Confined is the profile of a command that the model writes, where something confines it; 0 is sandbox.Loopback.
	Confined sandbox.Profile
	// Autorun looks for what commands put into the workspace that would be executed later; nil does not look.
	Autorun *autorun.Guard
	// Jobs are the session's commands in the background; nil where it has none. Continues says that a command for which nobody has
	// named a time becomes one after Limits.BashTimeout, instead of being ended.
	Jobs      *jobs.Jobs
	Continues bool
}

// Profile is that of a command which the model writes, where something confines it.
func (c CommandEnv) Profile() sandbox.Profile { return cmp.Or(c.Confined, sandbox.Loopback) }

// Outlasts says that a command becomes a job when its answer is due, where named says whether somebody has named a time for it.
func (c CommandEnv) Outlasts(named bool) bool { return c.Continues && c.Jobs != nil && !named }

// SearchSources is what searches look at besides the disk.
type SearchSources struct {
	// Unsaved lists the paths of the documents that are open with unsaved text, so that searches read the buffers; nil is none.
	Unsaved func() []string
	// Indexes are what searches remember of the files; nil remembers nothing.
	Indexes *index.Indexes
}

// Buffers are the paths of the documents with unsaved text.
func (s SearchSources) Buffers() []string {
	if s.Unsaved == nil {
		return nil
	}
	return s.Unsaved()
}

// CodeServers are the language servers of a session, and what they said.
type CodeServers struct {
	// Languages asks them about code; nil where there are none.
	Languages Languages
	// Findings remembers what they said of files before the session changed them; nil remembers nothing.
	Findings *Findings
}

// Ask gives who is to be asked; the error is a *NoServerError.
func (c CodeServers) Ask() (Languages, error) {
	if c.Languages == nil {
		return nil, &NoServerError{}
	}
	return c.Languages, nil
}

// Compares reports whether what they find in a file can be compared with what they found before.
func (c CodeServers) Compares() bool { return c.Languages != nil && c.Findings != nil }

// New are those of a list that were not known before the session changed the file; all are where nothing is remembered.
func (c CodeServers) New(path string, list []Finding) []Finding {
	if c.Findings == nil {
		return list
	}
	return c.Findings.New(path, list)
}
