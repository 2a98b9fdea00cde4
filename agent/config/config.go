// Package config is what a person may set: one struct whose tags say everything about its keys, and the layers that it
// is put together from. The JSON Schema and the page in docs are generated from the same tags and from the comments on
// the fields.
//
// The tags of a field, besides json:
//
//	enum     the values, with commas between them
//	min, max the range of a number
//	null     null is a value of its own
//	later    values that this version does not serve, "plan=readOnly" with what holds instead; "*" is the whole key
//	instead  what happens where the key or one of its later values would have restricted something
//	ws       what a source may do with the key that may be a repository's, see narrow; without it nothing
//	adds     the lists of all layers are put together
//	guard    a mistake in it makes everything ask, as one in a key does that a workspace may make stricter
//	form     what a string must be: see wellFormed
//	required an element of a list must have it
//	secret   what of it is not shown, see Redacted
//	restart  a change holds from the next start on
package config

// Config is the whole configuration. The zero value is not useful; start from Default. A Config is never changed after
// Load has returned it, so it may be shared.
type Config struct {
	// The model: provider/model, editor for the one that the editor lends, or script:/path for a model script. Empty
	// means the first that is found: a service with a key, else one on this machine, else the embedded script model.
	Model string `json:"model"`
	// Models that answer instead, in this order, when the model cannot.
	FallbackModels []string `json:"fallbackModels"`
	// Model services by name. A name that is built in changes that one.
	Providers map[string]Provider `json:"providers"`
	// What the agent may do without asking. ask: look around. acceptEdits: also edit files and make new ones. auto: also
	// overwrite, delete and move, and run commands that a sandbox confines. readOnly: it may do nothing but look around,
	// asked or not.
	Mode string `json:"mode" enum:"ask,acceptEdits,readOnly,auto" later:"plan=readOnly" instead:"the mode is readOnly" ws:"order:auto,acceptEdits,ask,readOnly"`
	// The tools on offer; simple is bash, read_file and edit_file.
	Toolset string `json:"toolset" enum:"all,simple" ws:"order:all,simple"`
	// Rules about calls of tools, on top of what the mode says.
	Permissions Permissions `json:"permissions"`
	// Names of tools that are neither offered nor run.
	ToolsOff []string `json:"disabledTools" adds:"true" ws:"more"`
	// Experimental tools by the name of their flag; true offers them.
	FeatureFlags map[string]bool `json:"featureFlags"`
	// Refuse to change text that the model has not seen.
	RequireRead bool `json:"requireRead" ws:"true"`
	// Refuse paths that are not absolute.
	StrictPaths bool `json:"strictPaths" ws:"true"`
	// Folders below which files may be changed; null means the workspace folders. An empty list lifts the limit and is
	// heeded in the user's file and in initializationOptions that are the person's own.
	WriteRoots []string `json:"writeRoots" null:"true" ws:"roots"`
	// Folders below which files may be read besides the workspace folders.
	ReadRoots []string `json:"readRoots"`
	// Where changes of files that are not open go; auto means the editor where it can save them, else the disk.
	ClosedFiles string `json:"closedFiles" enum:"auto,editor,disk"`
	// Where changes go; none leaves it to the host to apply them.
	Apply string `json:"apply" enum:"auto,editor,disk,none"`
	// When a person judges the changes: after they have landed, or before, as hunks that wait.
	Review string `json:"review" enum:"after" later:"before" instead:"every change asks before it lands" ws:"order:after,before"`
	// Whether arguments of the wrong type are mended where the meaning is clear, such as "true" for true.
	Coerce string `json:"coerce" enum:"auto,on,off" ws:"free"`
	// Which changes may happen at the same time: those of different files, or none.
	Writes string `json:"writes" enum:"byFile,serial" ws:"free"`
	// Which commands may run at the same time: those that provably only look, or none. This version tells none apart, so
	// commands run one at a time either way.
	Shell string `json:"shell" enum:"readOnlyTogether,serial" ws:"free"`
	// Tools that the model is only told of when it looks for them.
	DeferTools DeferTools `json:"deferTools" later:"*" ws:"free"`
	// How a model request that failed before anything was answered is repeated.
	Retry Retry `json:"retry"`
	// The language of what the model is told; auto follows the model, which means English where nothing is known.
	Messages string `json:"messages" enum:"auto,en" later:"zh-CN" ws:"free"`
	// What confines commands.
	Sandbox Sandbox `json:"sandbox"`
	// What commands get of their surroundings. They do not get folders of PATH that lie in a workspace, are relative or can
	// be written by others, a TMPDIR in a workspace, or anything that looks like a key.
	Commands Commands `json:"commands"`
	// What one turn may use; 0 is no limit.
	Budget Budget `json:"budget"`
	// Sizes and times that a tool call must keep to.
	Limits Limits `json:"limits"`
	// MCP servers by name, whose tools are offered too.
	MCPServers map[string]MCPServer `json:"mcpServers" later:"*"`
	// Commands that are told of what happens, and may judge it.
	Hooks Hooks `json:"hooks"`
	// Folders with a plugin.json, whose tools are offered too.
	Plugins []string `json:"plugins" later:"*"`
	// Folder for what outlives the process; empty means tandem below $XDG_STATE_HOME.
	StateDir string `json:"stateDir" restart:"true" form:"absolute"`
	// The log on standard error and in a file.
	Log Log `json:"log"`
}

// Permissions are rules about calls. A refusal counts more than a question, and both more than what the mode allows.
type Permissions struct {
	// Calls that need no question.
	Allow []Rule `json:"allow" later:"*"`
	// Calls that are refused.
	Deny []Rule `json:"deny" adds:"true" ws:"more"`
	// Calls that a person is asked about in every mode.
	Ask []Rule `json:"ask" adds:"true" ws:"more"`
}

// Rule names calls.
type Rule struct {
	// Name or alias of the tool; * stands for any letters.
	Tool string `json:"tool" required:"true" form:"glob"`
	// Patterns that arguments must match, by the name of the parameter.
	Params map[string]string `json:"params" later:"*" instead:"the rule is about every call of the tool"`
}

// DeferTools says when tools are deferred.
type DeferTools struct {
	// Number of tools from which on it is done.
	Threshold int `json:"threshold" min:"0" max:"10000" later:"*" ws:"free"`
}

// Sandbox is what confines commands.
type Sandbox struct {
	// What happens where no sandbox can be had: auto asks before every command, strict refuses them; off uses none, and
	// asks. This version has no sandbox.
	Level string `json:"level" enum:"auto,strict,off" ws:"order:off,auto,strict"`
	// What confined commands may reach. Without a sandbox nothing keeps a command from the network once it was allowed.
	Network string `json:"network" enum:"deny" ws:"order:deny"`
}

// Commands is what commands get of their surroundings.
type Commands struct {
	// Environment variables besides the usual: NAME hands one on, NAME=value sets one.
	Env []string `json:"env" secret:"all"`
	// Folders that PATH begins with, wherever they are, such as .venv/bin; a relative one is meant from the session's folder.
	Path []string `json:"path"`
	// What they may do where Tandem runs as root: drop leaves them no capabilities, so that they cannot read the memory and
	// the keys of Tandem, and cannot change files of other users either; keep leaves them all.
	Capabilities string `json:"capabilities" enum:"drop,keep"`
}

// MCPServer is how a server of the Model Context Protocol is started, or reached.
type MCPServer struct {
	// How it is spoken to: by its standard input and output, or by HTTP.
	Type string `json:"type" enum:"stdio,http"`
	// The program.
	Command string `json:"command"`
	// Its arguments.
	Args []string `json:"args" secret:"all"`
	// Environment variables for it.
	Env map[string]string `json:"env" secret:"all"`
	// The folder that it runs in.
	Cwd string `json:"cwd"`
	// Where it is.
	URL string `json:"url" secret:"url"`
	// Headers to send with every request.
	Headers map[string]string `json:"headers" secret:"all"`
}

// Hooks are commands by what they are told of.
type Hooks struct {
	// Before a call; what fails or says nothing denies it.
	BeforeToolCall []Hook `json:"beforeToolCall" later:"*" instead:"the tools that they match are refused" adds:"true" guard:"true"`
	// After a call.
	AfterToolCall []Hook `json:"afterToolCall" later:"*" adds:"true"`
	// When a session begins.
	SessionStart []Hook `json:"sessionStart" later:"*" adds:"true"`
	// When a turn has ended.
	TurnEnd []Hook `json:"turnEnd" later:"*" adds:"true"`
}

// Hook is one command.
type Hook struct {
	// Names of the tools that it is about; * stands for any letters. Empty means all.
	Matcher string `json:"matcher" form:"glob"`
	// The command, as a list of its words.
	Command []string `json:"command" secret:"words"`
	// Time that it may take.
	TimeoutMs int `json:"timeoutMs" min:"0" max:"600000"`
}

// Provider is a model service.
type Provider struct {
	// The protocol it speaks: anthropic is Messages, openai is Responses, openai-chat is Chat Completions.
	API string `json:"api" enum:"anthropic,openai,openai-chat"`
	// Where it is, with the version: http://127.0.0.1:11434/v1.
	BaseURL string `json:"baseUrl" secret:"url"`
	// The environment variable that holds the key; empty for a service without one.
	APIKeyEnv string `json:"apiKeyEnv" form:"variable"`
	// A command, as a list of its words, that prints the key where the variable is not set.
	APIKeyCommand []string `json:"apiKeyCommand" secret:"words"`
	// Send the key also over http:// to another machine, where everybody on the way can read it.
	SendKeyInClear bool `json:"sendKeyInClear"`
	// Headers to send with every request.
	Headers map[string]string `json:"headers" secret:"all"`
	// The proxy to go through, such as http://proxy:3128; empty means what HTTPS_PROXY and its kin say, "none" none.
	Proxy string `json:"proxy" secret:"url"`
	// A file with certificates, in PEM form, to trust besides those of the system.
	CAFile string `json:"caFile"`
	// What models of it cost, by name, where it is not known or has changed.
	Prices map[string]Price `json:"prices"`
}

// Price is what a million tokens cost in US dollars.
type Price struct {
	// Tokens that the model reads.
	Input float64 `json:"input" min:"0" max:"10000"`
	// Tokens that the model writes.
	Output float64 `json:"output" min:"0" max:"10000"`
	// Tokens that come from the service's cache.
	CachedInput float64 `json:"cachedInput" min:"0" max:"10000"`
	// Tokens that go into the service's cache.
	CacheWrite float64 `json:"cacheWrite" min:"0" max:"10000"`
}

// Retry says how often and how soon a request is repeated.
type Retry struct {
	// Tries in all.
	Attempts int `json:"attempts" min:"1" max:"10"`
	// Pause before the second try; it doubles with every further one.
	BackoffMs int `json:"backoffMs" min:"1" max:"60000"`
}

// Budget is what one turn may use; 0 is no limit.
type Budget struct {
	// Tool calls in one turn.
	MaxToolCalls int `json:"maxToolCalls" min:"0" max:"1000000" ws:"budget"`
	// Time that the tool calls of one turn may take together.
	MaxToolTimeMs int `json:"maxToolTimeMs" min:"0" max:"86400000" ws:"budget"`
	// Model requests in one turn.
	MaxTurnRequests int `json:"maxTurnRequests" min:"1" max:"10000" ws:"smaller"`
	// What the model requests of one turn may cost, in US dollars, where the model's price is known.
	MaxCostUSD float64 `json:"maxCostUsd" min:"0" max:"10000" ws:"budget"`
}

// Limits are the sizes and times that a tool call must keep to.
type Limits struct {
	// Characters of one answer; a longer one is cut in the middle.
	MaxToolOutputChars int `json:"maxToolOutputChars" min:"1000" max:"10000000" ws:"smaller"`
	// Calls of a session that run at the same time; 32 of all sessions, or this where it is more.
	MaxConcurrency int `json:"maxConcurrency" min:"1" max:"64" ws:"smaller"`
	// Time of one call.
	ToolTimeoutMs int `json:"toolTimeoutMs" min:"1" max:"600000" ws:"free"`
	// Time of a command that names none itself.
	BashTimeoutMs int `json:"bashTimeoutMs" min:"1" max:"600000" ws:"free"`
	// Time of a command that provably only looks and names none itself; 0 is bashTimeoutMs.
	BashReadOnlyTimeoutMs int `json:"bashReadOnlyTimeoutMs" min:"0" max:"600000" later:"*" ws:"free"`
	// Time between asking a command to end and killing it.
	KillGraceMs int `json:"killGraceMs" min:"0" max:"60000" ws:"free"`
	// Bytes that one read shows before it asks to go on.
	MaxReadBytes int `json:"maxReadBytes" min:"1000" max:"10000000" ws:"smaller"`
	// Size of the largest file that is read or edited.
	MaxFileBytes int `json:"maxFileBytes" min:"1000" max:"1000000000" ws:"smaller" restart:"true"`
	// Size of the largest image, or document in a result, that a model is shown.
	MaxImageBytes int `json:"maxImageBytes" min:"0" max:"5242880" ws:"smaller"`
	// Size of the largest text whose diff is spelled out.
	MaxDiffBytes int `json:"maxDiffBytes" min:"0" max:"100000000" ws:"smaller"`
}

// Log is where the log goes and how much of it.
type Log struct {
	// The least severe lines to keep.
	Level string `json:"level" enum:"debug,info,warn,error"`
	// Absolute path of the log file; empty means tandem.log in the state folder.
	File string `json:"file" form:"absolute"`
}

// Default is the configuration of somebody who has set nothing.
func Default() Config {
	return Config{
		Mode: "ask", Toolset: "all", RequireRead: true, ClosedFiles: "auto", Apply: "auto", Review: "after", Coerce: "auto",
		Writes: "byFile", Shell: "readOnlyTogether", DeferTools: DeferTools{Threshold: 24}, Messages: "auto",
		Retry:   Retry{Attempts: 3, BackoffMs: 200},
		Sandbox: Sandbox{Level: "auto", Network: "deny"}, Commands: Commands{Capabilities: "drop"},
		Budget: Budget{MaxTurnRequests: 100},
		Limits: Limits{
			MaxToolOutputChars: 30_000, MaxConcurrency: 8, ToolTimeoutMs: 30_000, BashTimeoutMs: 30_000, KillGraceMs: 5_000,
			MaxReadBytes: 50 << 10, MaxFileBytes: 10 << 20, MaxImageBytes: 5 << 20, MaxDiffBytes: 1 << 20,
		},
		Log: Log{Level: "info"},
	}
}
