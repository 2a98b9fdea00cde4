// Package config is the configuration: one struct whose tags describe its keys, and the merge of its layers. The JSON
// Schema and the page in docs are generated from the tags and the comments of the fields.
//
// The tags of a field, besides json:
//
//	enum     the values, with commas between them
//	min, max the range of a number
//	null     null is a value of its own
//	later    values that this version does not serve, "plan=readOnly" with the substitute; "*" is the whole key
//	instead  the consequence of a later value that would have restricted something
//	ws       how a workspace's layer may change the key, see narrow; without it not at all
//	adds     the lists of all layers are concatenated
//	guard    an error in the key makes everything ask, as in a key that a workspace may make stricter
//	form     the form of a string, see wellFormed
//	required elements of the list must have the key
//	secret   the part that Redacted removes
//	restart  a change takes effect at the next start
package config

import "tandem/tools/rule"

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
	// What the agent may do without asking. ask: read and search. acceptEdits: also edit and create files. auto: also
	// overwrite, delete and move, and run commands that a sandbox confines. plan: read and search; edits wait for approval, all else is refused.
	// readOnly: read and search; all else is refused.
	Mode string `json:"mode" enum:"ask,acceptEdits,plan,readOnly,auto" ws:"order:auto,acceptEdits,ask,plan,readOnly"`
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
	// accepted in the user's file and in initializationOptions of the user's own.
	WriteRoots []string `json:"writeRoots" null:"true" ws:"roots"`
	// Folders below which files may be read besides the workspace folders.
	ReadRoots []string `json:"readRoots"`
	// Where changes of files that are not open go; auto means the editor where it can save them, else the disk.
	ClosedFiles string `json:"closedFiles" enum:"auto,editor,disk"`
	// Where changes go; none leaves it to the host to apply them.
	Apply string `json:"apply" enum:"auto,editor,disk,none"`
	// When the user reviews changes: after they have landed, or before, as pending hunks.
	Review string `json:"review" enum:"after" later:"before" instead:"every change asks before it lands" ws:"order:after,before"`
	// Whether arguments of the wrong type are converted if the meaning is clear, such as "true" to true.
	Coerce string `json:"coerce" enum:"auto,on,off" ws:"free"`
	// Which changes may happen at the same time: those of different files, or none.
	Writes string `json:"writes" enum:"byFile,serial" ws:"free"`
	// Which commands may run at the same time: those that provably only read, or none.
	Shell string `json:"shell" enum:"readOnlyTogether,serial" ws:"free"`
	// What becomes of old results of tools when the model's context window fills up.
	Context Context `json:"context"`
	// Tools that the model gets only when it searches for them.
	DeferTools DeferTools `json:"deferTools" ws:"free"`
	// Repetition of what failed for a reason that may pass: of a model request before its answer began, and of a call of a tool that
	// only looks or that may be repeated, such as fetch. Changes and commands are never repeated.
	Retry Retry `json:"retry"`
	// The language of messages to the model about its calls; auto is English, and for a host with a model of its own its locale.
	Messages string `json:"messages" enum:"auto,en,zh-CN" ws:"free"`
	// What confines commands.
	Sandbox Sandbox `json:"sandbox"`
	// The environment of commands. It has no folders of PATH that lie in a workspace, are relative or writable by other
	// users, no TMPDIR in a workspace, and no variables that look like keys.
	Commands Commands `json:"commands"`
	// Limits of one turn; 0 is no limit.
	Budget Budget `json:"budget"`
	// Limits of size and time of a tool call.
	Limits Limits `json:"limits"`
	// MCP servers by name, whose tools are offered too. Those in the file of a workspace are proposals, about which you are asked.
	MCPServers map[string]MCPServer `json:"mcpServers" ws:"proposal"`
	// Programs of yours that run on events, and may judge calls of tools; see hooks.md.
	Hooks Hooks `json:"hooks"`
	// Absolute paths of folders with a plugin.json, whose tools are offered too.
	Plugins []string `json:"plugins"`
	// Language servers that are started where the editor's own do not answer, by name: gopls, typescript-language-server, typescript
	// (its own, from version 7 on), pyright, rust-analyzer and clangd are known, others need all of command, extensions and roots.
	LanguageServers map[string]LanguageServer `json:"languageServers"`
	// The service that the tool web_search asks. Without one the tool is not offered.
	WebSearch WebSearch `json:"webSearch"`
	// Folder of persistent state; empty means tandem below $XDG_STATE_HOME.
	StateDir string `json:"stateDir" restart:"true" form:"absolute"`
	// The log on standard error and in a file.
	Log Log `json:"log"`
}

// Permissions are rules about calls. Deny overrides ask, ask overrides allow, and all override what the mode asks.
type Permissions struct {
	// Calls that are allowed without asking, unless they are asked about each time.
	Allow []Rule `json:"allow" adds:"true"`
	// Calls that are refused.
	Deny []Rule `json:"deny" adds:"true" ws:"more"`
	// Calls that ask in every mode.
	Ask []Rule `json:"ask" adds:"true" ws:"more"`
}

// Rule names calls.
type Rule = rule.Rule

// Context is what becomes of a long conversation.
type Context struct {
	// Clear old results of tools before the context window is full; false waits until the service refuses a request.
	Auto bool `json:"auto"`
}

// DeferTools says when tools are deferred.
type DeferTools struct {
	// Up to so many tools are sent to the model in full, besides the rarer built-in ones and those of MCP servers, which are sent as one line
	// each. Of more than that, all that are not always needed are sent as one line each.
	Threshold int `json:"threshold" min:"0" max:"10000" ws:"free"`
}

// Sandbox is what confines commands.
type Sandbox struct {
	// auto uses what the system offers, and asks before every command where that is nothing; strict refuses commands where it is
	// not everything (level full); off uses no sandbox, and asks.
	Level string `json:"level" enum:"auto,strict,off" ws:"order:off,auto,strict"`
	// What confined commands may reach: deny is nothing, loopback a loopback interface of their own for servers and clients in
	// tests, and {"hosts": ["example.org", "example.org:8443"]} beside that these hosts, at the ports 80 and 443 or the one that is
	// written, by a proxy (HTTP_PROXY). Without a sandbox nothing keeps a command from the network once it was allowed.
	Network Network `json:"network" enum:"deny,loopback" form:"network" ws:"network"`
}

// Commands is the environment of commands.
type Commands struct {
	// Environment variables besides the usual: NAME passes one on, NAME=value sets one.
	Env []string `json:"env" secret:"all"`
	// Folders to put first in PATH, such as .venv/bin; a relative one starts from the session's folder.
	Path []string `json:"path"`
	// The capabilities of commands if Tandem runs as root: drop removes all, so that they can neither read the memory and
	// the keys of Tandem nor change files of other users; keep leaves them.
	Capabilities string `json:"capabilities" enum:"drop,keep"`
}

// MCPServer is a server of the Model Context Protocol, by command or by address.
type MCPServer struct {
	// The transport: standard input and output, or HTTP.
	Type string `json:"type" enum:"stdio,http"`
	// The program.
	Command string `json:"command"`
	// Its arguments.
	Args []string `json:"args" secret:"all"`
	// Environment variables for it. ${NAME} in a value is replaced by the variable NAME of Tandem's own environment.
	Env map[string]string `json:"env" secret:"all"`
	// Its working directory, below the folders that may be read; the session's if empty.
	Cwd string `json:"cwd"`
	// off runs it without the sandbox that confines commands, with all your rights: for a server that needs the network.
	Sandbox string `json:"sandbox" enum:"on,off"`
	// Whether it may change files of the workspace between its calls too, such as a server that formats what you save.
	Writes bool `json:"writes"`
	// Its address.
	URL string `json:"url" secret:"url"`
	// Headers to send with every request. ${NAME} is replaced as in env.
	Headers map[string]string `json:"headers" secret:"all"`
	// A command, as a list of its words, that prints a key, which is sent to the url as the header Authorization: Bearer KEY. It runs
	// when the server is first needed, and again when the server takes the key no more.
	APIKeyCommand []string `json:"apiKeyCommand" secret:"words"`
}

// LanguageServer is a language server on standard input and output. It runs in the sandbox, where it reads and changes nothing.
type LanguageServer struct {
	// The program. One that is named here also runs where there is no sandbox.
	Command string `json:"command"`
	// Its arguments.
	Args []string `json:"args"`
	// Names of languages, as LSP has them, by the endings of files: ".go": "go".
	Extensions map[string]string `json:"extensions"`
	// Names of files in whose folder a project is.
	Roots []string `json:"roots"`
	// off never starts it.
	Use string `json:"use" enum:"auto,off"`
}

// Hooks are programs by event.
type Hooks struct {
	// Before a call: may deny it and change its arguments; one that fails or prints nothing denies it.
	BeforeToolCall []Hook `json:"beforeToolCall" adds:"true" guard:"true"`
	// After a call: may change what the model reads of its result.
	AfterToolCall []Hook `json:"afterToolCall" adds:"true"`
	// When a session begins: what it prints precedes the first message to the model.
	SessionStart []Hook `json:"sessionStart" adds:"true"`
	// When a turn has ended.
	TurnEnd []Hook `json:"turnEnd" adds:"true"`
}

// Hook is one program.
type Hook struct {
	// Names of the tools; * stands for any letters. Empty means all. For sessionStart and turnEnd it has no meaning.
	Matcher string `json:"matcher" form:"glob"`
	// The command, as a list of its words.
	Command []string `json:"command" secret:"words"`
	// Time limit; 0 is 5000.
	TimeoutMs int `json:"timeoutMs" min:"0" max:"600000"`
}

// Provider is a model service.
type Provider struct {
	// The protocol it speaks: anthropic is Messages, openai is Responses, openai-chat is Chat Completions.
	API string `json:"api" enum:"anthropic,openai,openai-chat"`
	// The address, with the version: http://127.0.0.1:11434/v1.
	BaseURL string `json:"baseUrl" secret:"url"`
	// The environment variable that holds the key; empty for a service without one.
	APIKeyEnv string `json:"apiKeyEnv" form:"variable"`
	// A command, as a list of its words, that prints the key if the variable is not set.
	APIKeyCommand []string `json:"apiKeyCommand" secret:"words"`
	// Send the key also over http:// to another machine, unencrypted.
	SendKeyInClear bool `json:"sendKeyInClear"`
	// Headers to send with every request.
	Headers map[string]string `json:"headers" secret:"all"`
	// The proxy, such as http://proxy:3128; empty follows HTTPS_PROXY and similar variables, "none" is no proxy.
	Proxy string `json:"proxy" secret:"url"`
	// A file with certificates, in PEM form, to trust besides those of the system.
	CAFile string `json:"caFile"`
	// Prices of its models, by name, that are unknown or have changed.
	Prices map[string]Price `json:"prices"`
	// Context windows of its models in tokens, by name, such as {"qwen3:8b": 32768}: how much a model can read. Where it is
	// known, old results of tools are cleared before the window is full; else after the service has refused a request.
	Windows map[string]int `json:"windows"`
}

// WebSearch is a service that searches the web.
type WebSearch struct {
	// Which service it is.
	Provider string `json:"provider" enum:"tavily,searxng"`
	// Its address, such as http://127.0.0.1:8888; empty is Tavily's own. On this machine or a network of yours it has to be an IP
	// address or localhost.
	BaseURL string `json:"baseUrl" secret:"url"`
	// The environment variable that holds the key; for Tavily TAVILY_API_KEY if empty.
	APIKeyEnv string `json:"apiKeyEnv" form:"variable"`
	// A command, as a list of its words, that prints the key if the variable is not set.
	APIKeyCommand []string `json:"apiKeyCommand" secret:"words"`
}

// KeyEnv is the variable that holds the key, "" where there is none.
func (w WebSearch) KeyEnv() string {
	if w.APIKeyEnv == "" && w.Provider == "tavily" {
		return "TAVILY_API_KEY"
	}
	return w.APIKeyEnv
}

// Price is the price of a million tokens in US dollars.
type Price struct {
	// Tokens that the model reads.
	Input float64 `json:"input" min:"0" max:"10000"`
	// Tokens that the model writes.
	Output float64 `json:"output" min:"0" max:"10000"`
	// Tokens read from the service's cache.
	CachedInput float64 `json:"cachedInput" min:"0" max:"10000"`
	// Tokens written to the service's cache.
	CacheWrite float64 `json:"cacheWrite" min:"0" max:"10000"`
}

// Retry is the policy of repeated requests and calls, with exponential backoff.
type Retry struct {
	// Tries in all.
	Attempts int `json:"attempts" min:"1" max:"10"`
	// Pause before the second try; it doubles with every further one.
	BackoffMs int `json:"backoffMs" min:"1" max:"60000"`
}

// Budget limits one turn; 0 is no limit.
type Budget struct {
	// Tool calls in one turn.
	MaxToolCalls int `json:"maxToolCalls" min:"0" max:"1000000" ws:"budget"`
	// Time of all tool calls of one turn together.
	MaxToolTimeMs int `json:"maxToolTimeMs" min:"0" max:"86400000" ws:"budget"`
	// Model requests in one turn.
	MaxTurnRequests int `json:"maxTurnRequests" min:"1" max:"10000" ws:"smaller"`
	// Cost of the model requests of one turn in US dollars, if the model's price is known.
	MaxCostUSD float64 `json:"maxCostUsd" min:"0" max:"10000" ws:"budget"`
}

// Limits are limits of size and time of a tool call.
type Limits struct {
	// Characters of one answer; a longer one is cut in the middle.
	MaxToolOutputChars int `json:"maxToolOutputChars" min:"1000" max:"200000000" ws:"smaller"`
	// Calls of a session that run at the same time; 32 of all sessions, or this where it is more.
	MaxConcurrency int `json:"maxConcurrency" min:"1" max:"64" ws:"smaller"`
	// Time of one call.
	ToolTimeoutMs int `json:"toolTimeoutMs" min:"1" max:"600000" ws:"free"`
	// Time that a call waits for an editor which has applied its edit and tells of changes only when its user pauses.
	HeldMs int `json:"heldMs" min:"1000" max:"600000" ws:"free" restart:"true"`
	// Time of a command that names none itself. Where this is not set and a person has the session open, the command goes on as a job then.
	BashTimeoutMs int `json:"bashTimeoutMs" min:"1" max:"600000" ws:"free"`
	// Time of a command that provably only reads and names none itself; 0 is bashTimeoutMs.
	BashReadOnlyTimeoutMs int `json:"bashReadOnlyTimeoutMs" min:"0" max:"600000" ws:"free"`
	// Time of a command that became a job because it was still running when its answer was due.
	JobMs int `json:"jobMs" min:"1" max:"86400000" ws:"free"`
	// Time between TERM and KILL for a command.
	KillGraceMs int `json:"killGraceMs" min:"0" max:"60000" ws:"free"`
	// Time after which an MCP server that is a process and has no call is ended; the next call starts it again. 0 is never.
	MCPIdleMs int `json:"mcpIdleMs" min:"0" max:"86400000" ws:"free"`
	// Bytes of one page of a read.
	MaxReadBytes int `json:"maxReadBytes" min:"1000" max:"10000000" ws:"smaller"`
	// Size of the largest file that is read or edited.
	MaxFileBytes int `json:"maxFileBytes" min:"1000" max:"1000000000" ws:"smaller" restart:"true"`
	// Size of the largest image, or document in a result, that a model is shown.
	MaxImageBytes int `json:"maxImageBytes" min:"0" max:"5242880" ws:"smaller"`
	// Size of the largest text whose diff is computed.
	MaxDiffBytes int `json:"maxDiffBytes" min:"0" max:"100000000" ws:"smaller"`
}

// Log is the log's level and file.
type Log struct {
	// The lowest severity to log.
	Level string `json:"level" enum:"debug,info,warn,error"`
	// Absolute path of the log file; empty means tandem.log in the state folder.
	File string `json:"file" form:"absolute"`
}

// Default is the configuration without any settings.
func Default() Config {
	return Config{
		Mode: "ask", Toolset: "all", RequireRead: true, ClosedFiles: "auto", Apply: "auto", Review: "after", Coerce: "auto",
		Writes: "byFile", Shell: "readOnlyTogether", Context: Context{Auto: true}, DeferTools: DeferTools{Threshold: 24}, Messages: "auto",
		Retry:   Retry{Attempts: 3, BackoffMs: 200},
		Sandbox: Sandbox{Level: "auto", Network: "loopback"}, Commands: Commands{Capabilities: "drop"},
		Budget: Budget{MaxTurnRequests: 100},
		Limits: Limits{
			MaxToolOutputChars: 30_000, MaxConcurrency: 8, ToolTimeoutMs: 30_000, HeldMs: 120_000, BashTimeoutMs: 30_000, JobMs: 3_600_000, KillGraceMs: 5_000, MCPIdleMs: 1_800_000,
			MaxReadBytes: 50 << 10, MaxFileBytes: 10 << 20, MaxImageBytes: 5 << 20, MaxDiffBytes: 1 << 20,
		},
		Log: Log{Level: "info"},
	}
}
