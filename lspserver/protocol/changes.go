package protocol

import lsp "go.lsp.dev/protocol"

// ListChangesParams of tandem/changes/list.
type ListChangesParams struct {
	SessionID string `json:"sessionId"`
	URI       string `json:"uri,omitempty"`
}

// ListChangesResult of tandem/changes/list.
type ListChangesResult struct {
	Files []ChangedFile `json:"files"`
}

// ChangedFile is what a session has changed in one file and what still stands.
type ChangedFile struct {
	URI       string        `json:"uri"`
	Status    string        `json:"status" enum:"added,modified,deleted,renamed"`
	From      string        `json:"from,omitempty" doc:"The URI that a renamed file had."`
	Entry     string        `json:"entry,omitempty" enum:"bytes,folder,link" doc:"What it is, where it is no text."`
	Additions int           `json:"additions"`
	Deletions int           `json:"deletions"`
	Unified   string        `json:"unified"`
	Truncated bool          `json:"truncated,omitzero"`
	Hunks     []ChangedHunk `json:"hunks"`
	Unknown   bool          `json:"unknown,omitzero" doc:"An edit of the session may be in the text: the editor says that it has applied it, and has not told of it yet."`
}

// ChangedHunk is one run of changed lines of one tool call; range is where newText stands now.
type ChangedHunk struct {
	ID         string       `json:"id"`
	Range      lsp.Range    `json:"range"`
	OldText    string       `json:"oldText" doc:"Whole lines, like newText; neither has a line that is in the other."`
	NewText    string       `json:"newText"`
	Status     string       `json:"status" enum:"pending,accepted,rejected,conflict" doc:"accepted also from the start, where a person was asked about the change and allowed it."`
	Turn       int          `json:"turn"`
	ToolCallID string       `json:"toolCallId"`
	Inline     []InlineSpan `json:"inline,omitempty" doc:"The changed parts of lines, of a hunk that is not settled."`
}

// DiffChangesParams of tandem/changes/diff.
type DiffChangesParams struct {
	SessionID string   `json:"sessionId"`
	URI       string   `json:"uri"`
	Full      bool     `json:"full,omitzero" doc:"Lift the limit on the size of a diff."`
	HunkIDs   []string `json:"hunkIds,omitempty" doc:"Only these hunks of tandem/changes/list."`
}

// HunksParams of tandem/changes/accept and tandem/changes/reject.
type HunksParams struct {
	SessionID string   `json:"sessionId"`
	URI       string   `json:"uri,omitempty" doc:"Only hunks of this file."`
	HunkIDs   []string `json:"hunkIds,omitempty" doc:"Those of tandem/changes/list; all if absent, to be rejected all that are not accepted."`
}

// HunksResult of tandem/changes/accept and tandem/changes/reject.
type HunksResult struct {
	Changed   []string `json:"changed" doc:"The hunks that were accepted, or that are gone."`
	Conflicts []string `json:"conflicts" doc:"The hunks that stay, because a person or a later call has changed their text."`
}

// ReviewTarget is the argument of the commands tandem.acceptHunk, rejectHunk, acceptFile, rejectFile, acceptAll and
// undoTurn.
type ReviewTarget struct {
	SessionID string `json:"sessionId,omitempty" doc:"May be left out where there is one session."`
	URI       string `json:"uri,omitempty" doc:"For acceptFile and rejectFile."`
	HunkID    string `json:"hunkId,omitempty" doc:"For acceptHunk and rejectHunk."`
	Turn      *int   `json:"turn,omitempty" doc:"For undoTurn: the last turn that changed something if absent."`
}

// AskTarget is the argument of the command tandem.ask.
type AskTarget struct {
	URI   string     `json:"uri" doc:"The file that it is about. The session is that of the workspace folder which it lies in, or else of its own folder; the first prompt begins it."`
	Range *lsp.Range `json:"range,omitempty" doc:"The cursor, or the selection."`
	Text  string     `json:"text" doc:"The prompt."`
}

// UndoParams of tandem/changes/undo and tandem/changes/redo.
type UndoParams struct {
	SessionID  string `json:"sessionId"`
	Scope      string `json:"scope" enum:"file,turn,toolCall,session"`
	URI        string `json:"uri,omitempty"`
	Turn       *int   `json:"turn,omitempty" doc:"The last turn that changed something if absent, to bring again the one of what was taken back last."`
	ToolCallID string `json:"toolCallId,omitempty"`
}

// UndoConflict is a file in which changes were left as they are, because they were edited since or
// their original text is no longer stored.
type UndoConflict struct {
	URI    string `json:"uri"`
	Reason string `json:"reason"`
}

// UndoResult of tandem/changes/undo and tandem/changes/redo.
type UndoResult struct {
	Changed   []string       `json:"changed"`
	Conflicts []UndoConflict `json:"conflicts"`
}

// RecordsParams of tandem/changes/records.
type RecordsParams struct {
	SessionID string `json:"sessionId"`
	Turn      *int   `json:"turn,omitempty" doc:"Only changes of this turn; 0 is outside a turn."`
	URI       string `json:"uri,omitempty" doc:"Only changes of this file."`
	Contents  bool   `json:"contents,omitzero" doc:"With the texts."`
}

// ChangeRecord is one change of one file, as it was written down when it happened.
type ChangeRecord struct {
	ID            string  `json:"id" doc:"Unique in the session, for good."`
	FilePath      string  `json:"filePath" doc:"Absolute."`
	Entry         string  `json:"entry,omitempty" enum:"bytes,folder,link" doc:"What was changed, where it is no text: the hashes are empty then."`
	From          string  `json:"from,omitempty" doc:"Where the file was before it was moved to filePath; absolute."`
	Operation     string  `json:"operation" enum:"create,edit,delete,move,shell,undo"`
	TurnNumber    int     `json:"turnNumber" doc:"0 outside a turn."`
	ToolCallID    string  `json:"toolCallId"`
	Time          string  `json:"time" doc:"RFC 3339."`
	BeforeHash    string  `json:"beforeHash" doc:"SHA-256 of the text before, empty where there was no file."`
	AfterHash     string  `json:"afterHash" doc:"SHA-256 of the text after, empty where there is no file any more."`
	ContentBefore *string `json:"contentBefore,omitzero" doc:"Absent where there was no file, or its text was too large to keep or was forgotten."`
	ContentAfter  *string `json:"contentAfter,omitzero" doc:"Likewise."`
}

// RecordsResult of tandem/changes/records.
type RecordsResult struct {
	Records []ChangeRecord `json:"records"`
}

// DidChangeParams of tandem/changes/didChange.
type DidChangeParams struct {
	SessionID string   `json:"sessionId"`
	URIs      []string `json:"uris"`
}

// FileTimeParams of tandem/fileTime/get.
type FileTimeParams struct {
	URIs []string `json:"uris,omitempty"`
}

// FileLock is a lock and its holder.
type FileLock struct {
	Holder     string `json:"holder" doc:"The id of a session, maybe one of another process."`
	ToolCallID string `json:"toolCallId,omitempty"`
	Since      string `json:"since,omitempty" doc:"RFC 3339."`
	PID        int    `json:"pid,omitzero" doc:"The process that the session is in."`
}

// FileTimeState is the state of one file.
type FileTimeState struct {
	URI     string    `json:"uri"`
	State   string    `json:"state" doc:"read, stale, written or conflict; empty where the file was never seen."`
	ReadAt  string    `json:"readAt,omitempty" doc:"RFC 3339."`
	Mtime   string    `json:"mtime,omitempty" doc:"RFC 3339."`
	Size    int       `json:"size,omitzero" doc:"Bytes of the text."`
	Hash    string    `json:"hash,omitempty" doc:"SHA-256 of the text."`
	Version *int32    `json:"version,omitempty"`
	Dirty   bool      `json:"dirty"`
	Lock    *FileLock `json:"lock,omitempty"`
}

// FileTimeResult of tandem/fileTime/get.
type FileTimeResult struct {
	Files []FileTimeState `json:"files"`
}

// FileTimeNotice of tandem/fileTime.
type FileTimeNotice struct {
	URI     string `json:"uri"`
	State   string `json:"state" enum:"read,stale,written,conflict"`
	By      string `json:"by" enum:"user,disk,agent"`
	Mtime   string `json:"mtime,omitempty" doc:"RFC 3339."`
	Version *int32 `json:"version,omitempty"`
}

// StatusResult of tandem/status.
type StatusResult struct {
	Version    string           `json:"version"`
	Models     []string         `json:"models" doc:"What can be used now, the default first."`
	Sessions   int              `json:"sessions"`
	Clients    int              `json:"clients"`
	Tools      int              `json:"tools"`
	Sandbox    SandboxState     `json:"sandbox"`
	Watcher    string           `json:"watcher" doc:"on, off, or why it is off."`
	PerTool    []ToolStats      `json:"perTool"`
	Usage      Usage            `json:"usage"`
	Documents  int              `json:"documents" doc:"Open documents."`
	Suspect    int              `json:"suspect" doc:"Open documents in which positions came that did not fit."`
	Cache      CacheStats       `json:"cache"`
	Config     []string         `json:"config" doc:"Errors and hints of the configuration."`
	Store      StoreState       `json:"store"`
	Jobs       []JobState       `json:"jobs,omitempty" doc:"Commands that run in the background."`
	MCPServers []MCPServerState `json:"mcpServers,omitempty" doc:"The MCP servers of the sessions."`
	Plugins    []PluginState    `json:"plugins,omitempty" doc:"The plug-ins of the configuration."`
	Deferred   DeferredTools    `json:"deferred"`
	Searched   []SearchedRoot   `json:"searched,omitempty" doc:"The folders in which grep has searched."`
	Keys       []KeyVariable    `json:"keys,omitempty" doc:"Where the keys of configured services come from, whichever settings say so."`
}

// KeyVariable is the environment variable that the key of a service is read from, as its apiKeyEnv says.
type KeyVariable struct {
	Provider string `json:"provider"`
	Variable string `json:"variable"`
}

// SearchedRoot is a folder of the workspace in which grep has searched.
type SearchedRoot struct {
	Root   string `json:"root"`
	State  string `json:"state" enum:"walking,building,ready" doc:"ready: an index says in which files a search can find something."`
	Reason string `json:"reason,omitempty" doc:"Why there is no index, and each file is read, or why some files are not in it."`
	Files  int    `json:"files,omitzero" doc:"In the index."`
	Bytes  int    `json:"bytes,omitzero" doc:"That the index takes in memory, about."`
}

// DeferredTools are those that the next request of the session used last tells a model of by name alone.
type DeferredTools struct {
	Names       []string `json:"names"`
	TokensSaved int      `json:"tokensSaved" doc:"In each request, about: a token for four bytes."`
}

// PluginState is a plug-in of the configuration.
type PluginState struct {
	Folder string `json:"folder"`
	ID     string `json:"id,omitempty"`
	Tools  int    `json:"tools"`
	Reason string `json:"reason,omitempty" doc:"Why it has no tools."`
}

// MCPServerState is an MCP server of a session.
type MCPServerState struct {
	SessionID string   `json:"sessionId"`
	Name      string   `json:"name"`
	Source    string   `json:"source,omitempty" doc:"Where it was written down."`
	Proposed  bool     `json:"proposed,omitzero" doc:"It was not the user who wrote it down, so they are asked before it is started."`
	Command   string   `json:"command,omitempty" doc:"Its program, or its URL."`
	State     string   `json:"state" enum:"off,starting,ready"`
	Reason    string   `json:"reason,omitempty" doc:"Why it is off. Without a reason it was not needed yet."`
	Tools     []string `json:"tools,omitempty" doc:"On offer."`
	Held      []string `json:"held,omitempty" doc:"Tools that are not what they were when they were first seen, and are not on offer until the user has accepted them."`
	Remarks   []string `json:"remarks,omitempty" doc:"What else is to be known, each a sentence."`
}

// JobState is a command that a session runs in the background.
type JobState struct {
	SessionID string `json:"sessionId"`
	JobID     string `json:"jobId"`
	Title     string `json:"title"`
}

// StoreState is what keeps the sessions and the journal of changes.
type StoreState struct {
	Kind string `json:"kind" enum:"closed,file,memory" doc:"closed until there is something to keep; in memory it ends with the server."`
	Path string `json:"path,omitempty"`
	// The figures are those of a moment ago where the store is at work just then.
	Size     int64  `json:"size,omitzero" doc:"Bytes in use."`
	Quota    int64  `json:"quota,omitzero" doc:"Bytes to keep to."`
	Sessions int    `json:"sessions,omitzero" doc:"That are kept, of all folders."`
	Intents  int    `json:"intents,omitzero" doc:"Changes that have begun and whose end is not written down."`
	Problem  string `json:"problem,omitempty" doc:"Why nothing is kept in a file, or why there are no figures."`
}

// SandboxState is what commands are confined with.
type SandboxState struct {
	Level  string `json:"level" doc:"full, landlock+seccomp or none."`
	Reason string `json:"reason"`
}

// CacheStats counts reads of files.
type CacheStats struct {
	Hits   int64 `json:"hits" doc:"Answered from memory: the buffer of an open document, or a text that is proven to be what the disk has."`
	Misses int64 `json:"misses" doc:"For which a file was read."`
}

// ToolStats is how often a tool was called and what it took.
type ToolStats struct {
	Name   string  `json:"name"`
	Calls  int64   `json:"calls"`
	Errors int64   `json:"errors"`
	MS     float64 `json:"ms"`
	Bytes  int64   `json:"bytes" doc:"Of the results, as the model gets them."`
	Tokens int64   `json:"tokens" doc:"About how many these are, at four bytes each."`
}
