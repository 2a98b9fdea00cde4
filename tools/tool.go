// Package tools says what a tool is: its Spec, its Plan and its Result, and the Set of those that may be called. A tool is a
// pure function from arguments to a Plan: it asks nobody and changes nothing. The pipeline in tools/run shows the plan,
// gets permission, then carries it out.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools/rule"
	"tandem/tools/schema"
	"tandem/tools/words"
)

// Kind classifies what a tool does; the values are those of the Agent Client Protocol.
type Kind string

// The kinds. Only Read and Search leave the workspace as it is.
const (
	Read    Kind = "read"
	Search  Kind = "search"
	Edit    Kind = "edit"
	Delete  Kind = "delete"
	Move    Kind = "move"
	Execute Kind = "execute"
	Fetch   Kind = "fetch"
	Think   Kind = "think"
	Other   Kind = "other"
)

// ReadOnly says that tools of this kind change nothing.
func (k Kind) ReadOnly() bool { return k == Read || k == Search }

// Known says that there is such a kind.
func (k Kind) Known() bool {
	return slices.Contains([]Kind{Read, Search, Edit, Delete, Move, Execute, Fetch, Think, Other}, k)
}

// Danger is how much a call could break.
type Danger string

// The danger levels.
const (
	Safe      Danger = "safe"
	Moderate  Danger = "moderate"
	Dangerous Danger = "dangerous"
)

// Class is the permission class of a tool.
type Class = rule.Class

// The permission classes.
const (
	ClassRead    = rule.ClassRead
	ClassWrite   = rule.ClassWrite
	ClassExecute = rule.ClassExecute
	ClassNetwork = rule.ClassNetwork
)

// Together says with which other calls a call may run at the same time.
type Together uint8

// The scheduling classes. Undeclared is Alone.
const (
	Alone      Together = iota
	WithReads           // with every other call of this class
	OtherFiles          // with edits of other files
	Commands            // with other calls of this class, where each provably only reads; one that fails ends the others
)

// Spec is what a tool declares about itself.
type Spec struct {
	Name    string
	Aliases []string
	// Title names the tool for a person; "" is Name.
	Title string
	Kind  Kind
	// Category groups tools for people: "files", "search", "edit", "shell", …
	Category string
	// Description is what the model reads: when to use it, when not, how to mend an error.
	Description string
	Danger      Danger
	Class       Class
	Together    Together
	// InOrder lets calls of the tools of one category, of which Together says that they may run with others, go one after another in the
	// order of the request, since they work on one thing.
	InOrder bool
	// Unlisted says that a model which calls the tool is served, and that none is offered it: it knows the name from elsewhere.
	Unlisted bool
	// NotDestructive takes back the default that a tool may destroy something.
	NotDestructive bool
	// Idempotent says that a second call with the same arguments does no more than the first: one that failed for a reason that may
	// pass is made again. Calls of the kinds that only look are without it; changes and commands never are.
	Idempotent bool
	// Block lets a running call finish when the turn is cancelled; a second cancel, and the end of the session, end it.
	Block bool
	// InputStreaming shows a person the arguments while the model writes them.
	InputStreaming bool
	// Providers are those whose models take it, each by its name or by the protocol that it speaks; without any all do.
	Providers []string
	// Deferred says that few tasks need the tool: a model that can search for tools is told of it by name alone; see Offer.
	Deferred bool
	// Flag is the feature flag that an experimental tool stands behind; without it the tool cannot be had.
	Flag string
	// Source is "builtin", "plugin:<id>", "mcp:<server>", "client" or "turn".
	Source string
	// Pages says that the tool cuts its own output, so that the pipeline does not.
	Pages bool
	// NoTimeout says that the tool minds its time itself.
	NoTimeout bool
}

// Sources of tools that have no name of their own.
const (
	SourceBuiltin = "builtin"
	SourceClient  = "client"
	SourceTurn    = "turn"
)

// Limits are the sizes and times that a call must keep to.
type Limits struct {
	MaxToolOutputChars int
	MaxConcurrency     int
	MaxReadBytes       int
	MaxFileBytes       int64
	MaxDiffBytes       int
	MaxImageBytes      int // also of a document
	ToolTimeout        time.Duration
	BashTimeout        time.Duration
	// BashReadOnlyTimeout is that of a command that provably only reads; 0 is BashTimeout.
	BashReadOnlyTimeout time.Duration
	KillGrace           time.Duration
	// JobTime is how long a command runs at most that became a job when its answer was due.
	JobTime time.Duration
}

// WebSearch is a service that searches the web, as the person has configured it.
type WebSearch struct {
	// Provider is "tavily" or "searxng"; BaseURL is "" for the service's own address.
	Provider, BaseURL string
	// Key gives the service's key, "" where there is none. KeyEnv is the variable that it is looked for in.
	Key    func() (string, error)
	KeyEnv string
}

// Clarification is a question of the model's to the person. Timeout counts from when it is shown, not while it waits behind
// other questions; 0 is none.
type Clarification struct {
	Call     string
	Question string
	Options  []Choice
	Default  string
	Timeout  time.Duration
}

// Choice is one answer on offer.
type Choice struct{ ID, Label string }

// Progress is a piece of news from a running call: text that was printed, or how far it has come.
type Progress struct {
	Text         string
	Value, Total int64
}

// Location is a place that a call is about; Line is 1-based, 0 for the whole file. Path is absolute.
type Location struct {
	Path string
	Line int
}

// Plan is what a call will do, worked out without doing it. Exactly one of Change and Run is set.
type Plan struct {
	Title string
	Kind  Kind
	// Locations are for a person to follow; nil is the places of Needs.
	Locations []Location
	Danger    Danger
	// Needs are what the plan touches: among those that were judged before it was made, or less. nil is all of those.
	Needs []Need
	// Change is committed by the pipeline under the files' locks; Done then words the answer.
	Change *filetime.Change
	Done   func(filetime.Landed) Result
	// Failed words the error of a Change that was refused when it was previewed or committed; nil leaves it as it is.
	Failed func(error) error
	// Run does the work of a plan that changes no file of the workspace itself.
	Run func(ctx context.Context) (Result, error)
	// Block lets the call finish when the turn is cancelled, as Spec.Block does for all calls of a tool; a second cancel ends it.
	Block bool
	// GoesOn says that Run starts a command that goes on after the call.
	GoesOn bool
	// Touches says that Run has a process at work that may change files of the workspace though the plan runs no command: they are
	// looked at before and after.
	Touches bool
	// Semantic is "read", "search" or "write", for a client that folds what only looks.
	Semantic string
	// Args are the arguments with the defaults that depend on the session, for Meta.EffectiveArgs; nil is those that were checked.
	Args json.RawMessage
}

// Result is what a call answers, the same shape for success and failure. Success is the only flag; Error is set exactly
// when it is false.
type Result struct {
	Success bool
	// Data is plain language for the model; never empty.
	Data string
	// Said is what a failure's Data begins with, for Speak.
	Said  words.Text `json:"-"`
	Error filetime.Code
	// Reason is the detail of an error, one word in lower case.
	Reason string
	// Retryable says of a failure that its reason may pass by itself in a moment, such as a connection that broke: see Spec.Idempotent.
	Retryable bool `json:",omitempty"`
	// Parts are what the model gets after Data.
	Parts []Part `json:",omitempty"`
	// Summary is one line for a person, which a failure need not have: see Line.
	Summary string
	// Value is structured data for a program; anything that marshals to a JSON object.
	Value any
	Diffs []show.File
	// Landed is set for calls that change files; the editor's side turns it into a WorkspaceEdit.
	Landed *filetime.Landed
	// Effects are what a command changed in files; see the type Effects.
	Effects   *filetime.Landed
	Warnings  []string
	Issues    []schema.Issue
	Denial    *Denial
	Truncated bool
	// Gaps are where the tool itself left something out of Data, in order; the pipeline puts a mark there.
	Gaps []Gap
	// Again, if not nil, says that the model was sent these lines before and nothing has changed since; see Repeat.
	Again *Repeat `json:"-"`
	// Render is how a person is shown the result where the tool knows better than the editor's side; may be nil.
	Render *Render
	Meta   Meta
	// Duration and Call are filled by the pipeline.
	Duration time.Duration
	Call     string
}

// PartKind says what a Part is.
type PartKind string

// The kinds of parts.
const (
	TextPart     PartKind = "text"
	ImagePart    PartKind = "image"
	DocumentPart PartKind = "document"
)

// Part is a piece of a result. Text is that of a TextPart; an ImagePart and a DocumentPart have Data of a MIMEType, and Name,
// which may be empty, is what a person calls it. A model that cannot take a kind is told so in its place.
type Part struct {
	Kind     PartKind
	Text     string `json:",omitempty"`
	MIMEType string `json:",omitempty"`
	Name     string `json:",omitempty"`
	Data     []byte `json:",omitempty"`
}

// Describe names a part where its data cannot be shown.
func (p Part) Describe() string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s, %d bytes)", show.Visible(p.Name, false), show.Visible(p.MIMEType, false), len(p.Data)))
}

// Gap is text that a tool did not keep: so many bytes, with so many line ends among them, are missing from Data at the byte offset At.
type Gap struct {
	At           int
	Lines, Bytes int64
}

// Repeat is what of an answer a model may have already. Where a result stands in its messages that begins with Head and has the Lines, the
// model is sent Instead.
type Repeat struct{ Head, Lines, Instead string }

// Render is a result for a person: Markdown, and things to be drawn where a client can draw them.
type Render struct {
	Markdown string
	Widgets  []Widget
}

// Widget is something to be drawn; Type is "progress" (Value of Total), "collapsible" (Title over Markdown) or "diff" (of
// Path).
type Widget struct {
	Type            string
	Value, Total    int64
	Title, Markdown string
	Path            string
}

// Denial says who refused a call and why.
type Denial struct {
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
	Layer  string `json:"layer,omitempty"`
	Source string `json:"source,omitempty"`
}

// Meta is what a program may want to know about how a call went.
type Meta struct {
	EffectiveArgs json.RawMessage `json:"effectiveArgs,omitempty"`
	Coerced       []string        `json:"coerced,omitempty"`
	Modified      []string        `json:"modified,omitempty"`
	Source        string          `json:"source,omitempty"`
	Version       *int32          `json:"version,omitempty"`
	// Cache of a read is "hit" where the file was not read for it, else "miss".
	Cache       string `json:"cache,omitempty"`
	Attempts    int    `json:"attempts,omitempty"`
	Tier        string `json:"tier,omitempty"`
	RebasedOver int    `json:"rebasedOver,omitempty"`
	// Output is the id under which all of a result that was cut is kept, see Env.Outputs.
	Output string  `json:"output,omitempty"`
	Trace  []Stage `json:"trace,omitempty"`
}

// Stage is one step of the pipeline with its time in milliseconds.
type Stage struct {
	Stage string  `json:"stage"`
	MS    float64 `json:"ms"`
}

// The codes that tools and the pipeline add to those of filetime.
const (
	ToolNotFound        filetime.Code = "TOOL_NOT_FOUND"
	InvalidArgs         filetime.Code = "INVALID_ARGS"
	NoChange            filetime.Code = "NO_CHANGE"
	GateDenied          filetime.Code = "GATE_DENIED"
	TextNotFound        filetime.Code = "TEXT_NOT_FOUND"
	TextMultipleMatches filetime.Code = "TEXT_MULTIPLE_MATCHES"
	PatchParseError     filetime.Code = "PATCH_PARSE_ERROR"
	PatchFailed         filetime.Code = "PATCH_FAILED"
	Unsupported         filetime.Code = filetime.Unsupported
	ExecutionError      filetime.Code = "EXECUTION_ERROR"
	ClarifyTimeout      filetime.Code = "CLARIFY_TIMEOUT"
	BudgetExceeded      filetime.Code = "BUDGET_EXCEEDED"
	PlanMode            filetime.Code = "PLAN_MODE"
	SiblingCancelled    filetime.Code = "SIBLING_CANCELLED"
	Claimed             filetime.Code = "CLAIMED"
	NetworkDenied       filetime.Code = "NETWORK_DENIED"
)

// ExitCode is the code of a command that ended with n.
func ExitCode(n int) filetime.Code { return filetime.Code(fmt.Sprintf("EXIT_CODE_%d", n)) }

// Fail is a failed Result; format must give a whole sentence with the next step.
func Fail(code filetime.Code, reason, format string, args ...any) Result {
	said := words.Of(format, args...)
	return Result{Error: code, Reason: reason, Said: said, Data: said.String()}
}

// Speak has Data begin in another language, where it begins as Fail worded it.
func (r *Result) Speak(l words.Language) {
	english := r.Said.String()
	if rest, ok := strings.CutPrefix(r.Data, english); ok && english != "" && len(r.Gaps) == 0 {
		r.Data = r.Said.In(l) + rest
	}
	r.Said = words.Text{}
}

// Queued is the Value of a call whose change waits for a person's approval.
type Queued struct {
	Queued bool   `json:"queued"`
	PlanID string `json:"planId"`
}

// Refusal is a Result as an error, for a tool's Plan or Run to return early with: a failure, or the success of a call that
// finds done what it was to do.
type Refusal struct{ Result Result }

func (r *Refusal) Error() string { return r.Result.Data }

// Refuse is Fail as an error.
func Refuse(code filetime.Code, reason, format string, args ...any) error {
	return &Refusal{Fail(code, reason, format, args...)}
}

// Transient is Refuse for a reason that may pass, see Result.Retryable.
func Transient(code filetime.Code, reason, format string, args ...any) error {
	r := Fail(code, reason, format, args...)
	r.Retryable = true
	return &Refusal{r}
}

// Joined is the failures of a call that changes several files, for Plan and Plan.Failed: each is worded as it would be alone, and Join makes one
// Result of them.
type Joined struct {
	Errs []error
	Join func([]Result) Result
}

func (j *Joined) Error() string { return errors.Join(j.Errs...).Error() }

// Invalid refuses arguments that do not fit a tool's schema.
func Invalid(issues []schema.Issue) error {
	r := Fail(InvalidArgs, "", "Parameter validation failed:")
	for _, i := range issues {
		r.Data += "\n" + i.Message
	}
	r.Issues = issues
	return &Refusal{Result: r}
}

// Misused refuses an argument that a schema cannot judge, such as one that does not go with another.
func Misused(path, expected, message string) error {
	pointer := strings.ReplaceAll(strings.TrimPrefix(path, "$"), ".", "/")
	return Invalid([]schema.Issue{{Path: path, Pointer: pointer, Expected: expected, Received: "present", Message: message}})
}

// Tool is a tool with its argument type erased; Define makes one. All methods may be called concurrently. Tools are compared
// with ==.
type Tool interface {
	Spec() Spec
	Schema() *schema.Schema
	// Title names a call for a person, from arguments that may be incomplete.
	Title(args json.RawMessage) string
	// Needs are what the call is about to touch at most: the one answer that scheduler, locks and permissions share. It
	// resolves paths and reads no file. args have been validated; nil is unknown. Errors are as of Plan.
	Needs(env *Env, args json.RawMessage) ([]Need, error)
	// Plan works the call out. args have been validated and hold the defaults where env.Checked says so. Errors are *Refusal, *filetime.Error or
	// *filetime.Conflict where the model is meant to read them.
	Plan(ctx context.Context, env *Env, args json.RawMessage) (*Plan, error)
}

// Definition is a tool with its argument type I, a struct whose tags say everything about its parameters (see
// tools/schema).
type Definition[I any] struct {
	Spec  Spec
	Title func(in I) string
	// Subject is what a call is about, as a person writes it: a path, a command, a pattern. Outcome is what came of one, in a few words
	// ("247 lines", "exit 0"); with "", or nil, it is the lines that it changed, else the result's one line. They make the tool a Renderer;
	// without Subject the host words its calls.
	Subject func(in I) string
	Outcome func(r *Result) string
	Needs   func(env *Env, in I) ([]Need, error)
	Plan    func(ctx context.Context, env *Env, in I) (*Plan, error)
}

// Define erases the argument type of d. It panics when I cannot be described, which is a mistake in the program.
func Define[I any](d Definition[I]) Tool { return &defined[I]{d: d, schema: schema.Lazy[I]()} }

type defined[I any] struct {
	d      Definition[I]
	schema func() *schema.Schema
}

func (t *defined[I]) Spec() Spec             { return t.d.Spec }
func (t *defined[I]) Schema() *schema.Schema { return t.schema() }

func (t *defined[I]) Title(args json.RawMessage) string {
	var in I
	if t.d.Title == nil || json.Unmarshal(args, &in) != nil {
		return t.d.Spec.Name
	}
	return t.d.Title(in)
}

func (t *defined[I]) Needs(env *Env, args json.RawMessage) ([]Need, error) {
	var in I
	if t.d.Needs == nil || json.Unmarshal(args, &in) != nil {
		return nil, nil
	}
	return t.d.Needs(env, in)
}

func (t *defined[I]) Plan(ctx context.Context, env *Env, args json.RawMessage) (*Plan, error) {
	if !env.Judged.Checked {
		checked := t.schema().Check(args, true)
		if len(checked.Issues) > 0 {
			return nil, Invalid(checked.Issues)
		}
		args = checked.Args
	}
	var in I
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, Refuse(InvalidArgs, "", "Parameter validation failed:\n%v", err)
	}
	return t.d.Plan(ctx, env, in)
}
