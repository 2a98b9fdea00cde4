// Package config is what a person may set: one struct whose tags say everything about its keys, and the layers that it
// is put together from. The JSON Schema in docs is generated from the same tags and from the comments on the fields.
package config

// Config is the whole configuration. The zero value is not useful; start from Default. A Config is never changed after
// Load has returned it, so it may be shared.
type Config struct {
	// The model: provider/model, or script:/path for a model script. Empty means the embedded script model.
	Model string `json:"model"`
	// Models that answer instead, in this order, when the model cannot.
	FallbackModels []string `json:"fallbackModels"`
	// Model services by name. A name that is built in changes that one.
	Providers map[string]Provider `json:"providers"`
	// What the agent may do without asking: ask asks before every change and command, auto only before commands that
	// no sandbox confines.
	Mode string `json:"mode" enum:"ask,auto" later:"acceptEdits,plan,readOnly"`
	// Names of tools that are neither offered nor run.
	ToolsOff []string `json:"disabledTools"`
	// Refuse to change text that the model has not seen.
	RequireRead bool `json:"requireRead"`
	// Refuse paths that are not absolute.
	StrictPaths bool `json:"strictPaths"`
	// Folders below which files may be changed; null means the workspace folders. An empty list lifts the limit and is
	// heeded in the user's file and in initializationOptions only.
	WriteRoots []string `json:"writeRoots" null:"true"`
	// Folders below which files may be read besides the workspace folders.
	ReadRoots []string `json:"readRoots"`
	// Where changes of files that are not open go; auto means the editor where it can save them, else the disk.
	ClosedFiles string `json:"closedFiles" enum:"auto,editor,disk"`
	// Where changes go; none leaves it to the host to apply them.
	Apply string `json:"apply" enum:"auto,editor,disk,none"`
	// Whether arguments of the wrong type are mended where the meaning is clear, such as "true" for true.
	Coerce string `json:"coerce" enum:"auto,on,off"`
	// How a model request that failed before anything was answered is repeated.
	Retry Retry `json:"retry"`
	// What one turn may use.
	Budget Budget `json:"budget"`
	// Sizes and times that a tool call must keep to.
	Limits Limits `json:"limits"`
	// Folder for what outlives the process; empty means tandem below $XDG_STATE_HOME.
	StateDir string `json:"stateDir"`
	// The log on standard error and in a file.
	Log Log `json:"log"`
}

// Provider is a model service.
type Provider struct {
	// The protocol it speaks: anthropic is Messages, openai is Responses, openai-chat is Chat Completions.
	API string `json:"api" enum:"anthropic,openai,openai-chat"`
	// Where it is, with the version: http://127.0.0.1:11434/v1.
	BaseURL string `json:"baseUrl"`
	// The environment variable that holds the key; empty for a service without one.
	APIKeyEnv string `json:"apiKeyEnv"`
	// A command, as a list of its words, that prints the key where the variable is not set.
	APIKeyCommand []string `json:"apiKeyCommand"`
	// Headers to send with every request.
	Headers map[string]string `json:"headers"`
	// The proxy to go through, such as http://proxy:3128; empty means what HTTPS_PROXY and its kin say, "none" none.
	Proxy string `json:"proxy"`
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

// Budget is what one turn may use.
type Budget struct {
	// Model requests in one turn.
	MaxTurnRequests int `json:"maxTurnRequests" min:"1" max:"10000"`
}

// Limits are the sizes and times that a tool call must keep to.
type Limits struct {
	// Characters of one answer; a longer one is cut in the middle.
	MaxToolOutputChars int `json:"maxToolOutputChars" min:"1000" max:"10000000"`
	// Calls that run at the same time.
	MaxConcurrency int `json:"maxConcurrency" min:"1" max:"64"`
	// Time of one call.
	ToolTimeoutMs int `json:"toolTimeoutMs" min:"1" max:"600000"`
	// Time of a command that names none itself.
	BashTimeoutMs int `json:"bashTimeoutMs" min:"1" max:"600000"`
	// Time between asking a command to end and killing it.
	KillGraceMs int `json:"killGraceMs" min:"0" max:"60000"`
	// Bytes that one read shows before it asks to go on.
	MaxReadBytes int `json:"maxReadBytes" min:"1000" max:"10000000"`
	// Size of the largest file that is read or edited.
	MaxFileBytes int `json:"maxFileBytes" min:"1000" max:"1000000000"`
	// Size of the largest text whose diff is spelled out.
	MaxDiffBytes int `json:"maxDiffBytes" min:"0" max:"100000000"`
}

// Log is where the log goes and how much of it.
type Log struct {
	// The least severe lines to keep.
	Level string `json:"level" enum:"debug,info,warn,error"`
	// Absolute path of the log file; empty means tandem.log in the state folder.
	File string `json:"file"`
}

// Default is the configuration of somebody who has set nothing.
func Default() Config {
	return Config{
		Mode: "ask", RequireRead: true, ClosedFiles: "auto", Apply: "auto", Coerce: "auto",
		Retry:  Retry{Attempts: 3, BackoffMs: 200},
		Budget: Budget{MaxTurnRequests: 100},
		Limits: Limits{
			MaxToolOutputChars: 30_000, MaxConcurrency: 8, ToolTimeoutMs: 30_000, BashTimeoutMs: 30_000, KillGraceMs: 5_000,
			MaxReadBytes: 50 << 10, MaxFileBytes: 10 << 20, MaxDiffBytes: 1 << 20,
		},
		Log: Log{Level: "info"},
	}
}

// notServed are keys that exist but have no effect in this version. Those marked true restrict something, so that
// passing over them in silence would grant what was to be refused.
func notServed() map[string]bool {
	return map[string]bool{
		"toolset": true, "permissions": true, "featureFlags": false, "review": true, "writes": false,
		"shell": false, "deferTools": false, "messages": false, "sandbox": true, "mcpServers": false, "hooks": true,
		"plugins": false, "limits.bashReadOnlyTimeoutMs": false, "limits.maxImageBytes": false,
		"budget.maxToolCalls": true, "budget.maxToolTimeMs": true, "budget.maxCostUsd": true,
	}
}
