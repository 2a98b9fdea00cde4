package protocol

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	lsp "go.lsp.dev/protocol"
)

// Direction says who sends a message first.
type Direction string

// The directions.
const (
	ToServer Direction = "client to server"
	ToClient Direction = "server to client"
	BothWays Direction = "both ways"
)

// Kind tells a message that wants an answer from one that does not.
type Kind string

// The kinds.
const (
	Request      Kind = "request"
	Notification Kind = "notification"
)

// Method is one row of the table of all methods.
type Method struct {
	Name      string
	Direction Direction
	Kind      Kind
	// Params and Result are the payloads' types, of this package or of LSP; nil for none.
	Params, Result reflect.Type
	Doc            string // what it is for, and what an outsider must know to use it
	Since          string // the version of the tandem/* methods that it came with, "LSP" for what LSP defines
}

// Methods is the table of all methods that are spoken, in the order in which a reader wants them: a method that is missing is
// answered with -32601. Each call gives a fresh one.
func Methods() []Method {
	routes := slices.Concat(lifecycle(), sessions(), lending(), documents(), changes(), toolbox())
	table := make([]Method, len(routes))
	for i, r := range routes {
		table[i] = r.method()
	}
	return table
}

// route is a value of one of the four types of routes.
type route interface{ method() Method }

// ServerRequest is a request of the client's, ServerNote a notification; ClientRequest and ClientNote are the server's. Each
// is a row of the table with its payloads as types, P None for no parameters and R None for no result, so that whoever
// registers or sends one cannot take others.
type (
	ServerRequest[P, R any] struct{ Method }
	ServerNote[P any]       struct{ Method }
	ClientRequest[P, R any] struct{ Method }
	ClientNote[P any]       struct{ Method }
)

func (m Method) method() Method { return m }

// ServerMethods lists the tandem/* requests and notifications that the server takes, sorted.
func ServerMethods() []string {
	var out []string
	for _, m := range Methods() {
		if m.Direction == ToServer && strings.HasPrefix(m.Name, "tandem/") {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}

// None stands for parameters or a result that a method does not have.
type None struct{}

// MarshalJSON writes null.
func (None) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func row[P, R any](d Direction, k Kind, name, doc string) Method {
	m := Method{
		Name: name, Direction: d, Kind: k, Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R](), Doc: doc, Since: "LSP",
	}
	if strings.HasPrefix(name, "tandem/") {
		m.Since = "1"
	}
	absent := reflect.TypeFor[None]()
	if m.Params == absent {
		m.Params = nil
	}
	if m.Result == absent {
		m.Result = nil
	}
	return m
}

func ask[P, R any](name, doc string) ServerRequest[P, R] {
	return ServerRequest[P, R]{row[P, R](ToServer, Request, name, doc)}
}

func tell[P any](name, doc string) ServerNote[P] {
	return ServerNote[P]{row[P, None](ToServer, Notification, name, doc)}
}

func askClient[P, R any](name, doc string) ClientRequest[P, R] {
	return ClientRequest[P, R]{row[P, R](ToClient, Request, name, doc)}
}

func tellClient[P any](name, doc string) ClientNote[P] {
	return ClientNote[P]{row[P, None](ToClient, Notification, name, doc)}
}

// The life of a connection.
var (
	Initialize = ask[lsp.InitializeParams, lsp.InitializeResult]("initialize",
		"The first request. initializationOptions take the keys of the configuration; "+
			"capabilities.experimental.tandem is a ClientExperimental, that of the result a "+
			"ServerExperimental. Until it is answered every other request gets -32002.")
	Initialized = tell[lsp.InitializedParams]("initialized",
		"The server now asks for the configuration section \"tandem\".")
	Shutdown = ask[None, None]("shutdown",
		"Ends all sessions and their commands. Every request after it gets -32600.")
	Exit = tell[None]("exit",
		"Ends the server: exit code 0 after shutdown, else 1. The end of the input does the same.")
	CancelRequest = row[lsp.CancelParams, None](BothWays, Notification, "$/cancelRequest",
		"Cancels a request by its id, a string or an integer of up to 64 bits. It is answered with -32800"+
			" unless it ends otherwise first.")
	SetTrace = tell[lsp.SetTraceParams]("$/setTrace", "With messages or verbose the server tells by $/logTrace how long each message took it.")
	LogTrace = tellClient[lsp.LogTraceParams]("$/logTrace",
		"How long the server took for a message, and with verbose why it failed; as $/setTrace or trace of initialize asks "+
			"for it.")
	WorkspaceDidChangeConfiguration = tell[lsp.DidChangeConfigurationParams]("workspace/didChangeConfiguration",
		"With the section \"tandem\" in its settings the server takes that, else it asks.")
	WorkspaceDidChangeWorkspaceFolders = tell[lsp.DidChangeWorkspaceFoldersParams]("workspace/didChangeWorkspaceFolders",
		"An added folder reaches the open sessions too, a removed one those made afterwards alone.")
	WorkspaceConfiguration = askClient[lsp.ConfigurationParams, []lsp.LSPAny]("workspace/configuration",
		"Asks for the section \"tandem\", of a client that can be asked.")
	WindowShowMessageRequest = askClient[lsp.ShowMessageRequestParams, lsp.MessageActionItem]("window/showMessageRequest",
		"Asks for permission, or a question with options, where the client does not answer "+
			"tandem/session/requestPermission or tandem/session/clarify. The request needs no capability. The first "+
			"action refuses; none is shown within 1.5 s of a didChange, and one at a time. A command is asked in two "+
			"steps, its text with the second. No answer, an error and the end of the turn refuse; -32601 does so for "+
			"good, which the person is told once.")
	WindowShowMessage = tellClient[lsp.ShowMessageParams]("window/showMessage",
		"Something that a person must know, such as a mistake in the configuration.")
	WindowLogMessage               = tellClient[lsp.LogMessageParams]("window/logMessage", "Something that a person may want to know.")
	TextDocumentPublishDiagnostics = tellClient[lsp.PublishDiagnosticsParams]("textDocument/publishDiagnostics",
		"Errors and hints in a file of the configuration, to clients that declare it.")
	WindowWorkDoneProgressCreate = askClient[lsp.WorkDoneProgressCreateParams, None]("window/workDoneProgress/create",
		"Announces the progress of a turn, to a client that shows progress.")
	WindowWorkDoneProgressCancel = tell[lsp.WorkDoneProgressCancelParams]("window/workDoneProgress/cancel",
		"Stops the turn that the progress is of, as tandem/session/cancel does.")
	Progress = tellClient[lsp.ProgressParams]("$/progress", "A turn: its prompt with the begin, a sentence on how it ended with "+
		"the end, and to a client that did not declare experimental.tandem each call with a report.")
)

func lifecycle() []route {
	return []route{
		Initialize, Initialized, Shutdown, Exit, CancelRequest, SetTrace, LogTrace, WorkspaceDidChangeConfiguration,
		WorkspaceDidChangeWorkspaceFolders, WorkspaceConfiguration, WindowShowMessageRequest, WindowShowMessage,
		WindowLogMessage, TextDocumentPublishDiagnostics, WindowWorkDoneProgressCreate, WindowWorkDoneProgressCancel, Progress,
	}
}

// Sessions and their turns.
var (
	SessionNew = ask[NewSessionParams, NewSessionResult]("tandem/session/new",
		"Begins a conversation in a folder. Any number live at once. From its first prompt or call on it is kept, "+
			"and can be loaded again in another process.")
	SessionList = ask[ListSessionsParams, ListSessionsResult]("tandem/session/list",
		"The sessions that live in this server and those that are kept, the last used first.")
	SessionLoad = ask[LoadSessionParams, NewSessionResult]("tandem/session/load",
		"Goes on with a session that is kept. First its history is sent as updates. A turn that the end of its "+
			"process has cut short has ended: a call that may have been under way failed with UNKNOWN and is not "+
			"tried again. The agent has to read files anew, and what was changed before is not among the hunks. "+
			"-32012 where another living process has the session, with the process in the message; -32014 for a "+
			"session of another folder. A session that lives here already goes on in the folders that stand at their "+
			"paths now.")
	SessionFork = ask[ForkParams, NewSessionResult]("tandem/session/fork",
		"Begins a session that goes on from a turn of another one, which is left as it is and may be running: the conversation up to and with "+
			"that turn, without updates of it. The files stay as they are now, and what was changed before is not among the hunks of the new "+
			"session; the model is told with the first prompt which files the other session has changed since that turn. -32602 for a turn "+
			"that has not ended.")
	SessionCheckpoints = ask[SessionParams, CheckpointsResult]("tandem/session/checkpoints",
		"The turns that a session can go back to, the oldest first.")
	SessionRestore = ask[RestoreParams, RestoreResult]("tandem/session/restore",
		"Goes back to before the prompt of a turn. The conversation goes on in a session of its own, as tandem/session/fork makes it, and the "+
			"answer has its id; the files are changed by tandem/changes/undo of that turn and those after it, so that what was typed stays and "+
			"tandem/changes/redo brings it again. -32012 while a turn runs, -32602 for a turn that there is not.")
	SessionPrompt = ask[PromptParams, PromptResult]("tandem/session/prompt",
		"Runs a turn: what happens in it arrives as tandem/session/update, the answer comes when it is "+
			"over. One turn at a time in a session; a second prompt gets -32012. Where no request could go "+
			"out the answer is -32013; once one has, a failure is stopReason \"error\". -32014 where one of the "+
			"session's folders was deleted and made anew, or another one was put in its place.")
	SessionSteer = ask[SteerParams, Empty]("tandem/session/steer",
		"Adds to the running turn what a person wants to say meanwhile. The model gets it with its next request, "+
			"after the results of its calls, and there is such a request even where its present answer would have "+
			"been the last. When it joins it arrives as a user_message_chunk of its own; the answer here comes at "+
			"once. Where the turn ends before that, cancelled or failed, it joins the conversation all the same, a "+
			"notice says so, and the model gets it with the next prompt. Where no turn is running, or one is just "+
			"answering, the error is -32602 no_turn and nothing is kept: send it as a prompt once the last one is "+
			"answered.")
	SessionCompact = ask[CompactParams, CompactResult]("tandem/session/compact",
		"Makes the conversation shorter for the model: by a summary that the model writes, or else by clearing old "+
			"results of tools, which it can read again. The transcript stays as it is. While a turn runs it is done before "+
			"the next request to the model. A compaction_update and a notice tell of it. -32012 while another one works "+
			"between two turns.")
	SessionCancel = tell[SessionParams]("tandem/session/cancel",
		"Ends the running turn; its prompt is answered with stopReason \"cancelled\".")
	SessionSetMode = ask[SetModeParams, Empty]("tandem/session/setMode",
		"How much the session may do unasked: one of the modes that tandem/session/new answers with.")
	MentionsComplete = ask[MentionParams, MentionResult]("tandem/mentions/complete",
		"What may be meant by an @ and the letters behind it: files and folders of the session's folders, the likeliest "+
			"first, without what .gitignore excludes; symbols that language servers know, from the second letter on; and the words "+
			"selection and diagnostics. In a prompt @symbol:NAME is the lines where NAME is defined, @diagnostics what the language "+
			"servers report, and @selection what is selected in the editor.")
	SessionSetModel = ask[SetModelParams, Empty]("tandem/session/setModel",
		"Which model answers, from the next turn on. It is refused where the model cannot be had.")
	SessionClose = ask[SessionParams, Empty]("tandem/session/close",
		"Ends the session, its turn and its commands. It is kept, and another process may load it.")
	SessionDelete = ask[SessionParams, Empty]("tandem/session/delete",
		"Forgets a session and everything that was kept of it, after ending it where it lives in this server.")
	SessionRename = ask[RenameParams, Empty]("tandem/session/rename", "Gives a session another title.")
	SessionSearch = ask[SearchParams, SearchResult]("tandem/session/search", "Finds sessions by what was said, the last used first.")
	SessionExport = ask[ExportParams, ExportResult]("tandem/session/export", "The whole session as text.")
	SessionUpdate = tellClient[UpdateParams]("tandem/session/update",
		"News of a session. Streamed text and progress are gathered to at most 30 updates a second; the "+
			"order is that of the events.")
	SessionRequestPermission = askClient[PermissionParams, PermissionResult]("tandem/session/requestPermission",
		"Asks a person before a call goes on, with everything it would do; nothing has happened yet. To "+
			"clients that declared permission. An error, the end of the connection and the outcome "+
			"\"cancelled\" are all a no; \"cancelled\" also ends the turn.")
	SessionClarify = askClient[ClarifyParams, ClarifyResult]("tandem/session/clarify",
		"A question of the model's, for a person. To clients that declared clarify; a question with options "+
			"goes to others by window/showMessageRequest. It is cancelled when its time or the turn is over.")
	SessionResolved = tellClient[ResolvedParams]("tandem/session/resolved",
		"A question that the client has not answered needs no answer any more. $/cancelRequest of the question comes before it.")
)

func sessions() []route {
	return []route{
		SessionNew, SessionList, SessionLoad, SessionFork, SessionCheckpoints, SessionRestore, SessionPrompt, SessionSteer, SessionCompact, SessionCancel, SessionSetMode,
		MentionsComplete, SessionSetModel, SessionClose, SessionDelete, SessionRename, SessionSearch, SessionExport,
		SessionUpdate, SessionRequestPermission, SessionClarify, SessionResolved,
	}
}

// The client's own model.
var (
	ModelStream = askClient[ModelStreamParams, ModelStreamResult]("tandem/model/stream",
		"Asks for an answer of the client's own model, for a session whose model is \"editor\" or \"editor/ID\". To "+
			"clients that declared model. What the model says goes out as tandem/model/chunk while it says it; the "+
			"answer here comes after the last chunk. It is cancelled when the turn is, and after five minutes "+
			"without a chunk. A failure is an error -32013 whose message tells the person what to do; the turn "+
			"then ends with stopReason \"error\".")
	ModelChunked = tell[ModelChunk]("tandem/model/chunk",
		"A piece of the answer to a tandem/model/stream: text, thought, or a piece of a call. One that comes after "+
			"the answer or after the cancellation is passed over.")
)

func lending() []route {
	return []route{
		ModelStream, ModelChunked,
	}
}

// Documents and edits of them.
var (
	TextDocumentDidOpen = tell[lsp.DidOpenTextDocumentParams]("textDocument/didOpen",
		"From now on the buffer is what the file says, for every tool.")
	TextDocumentDidChange = tell[lsp.DidChangeTextDocumentParams]("textDocument/didChange",
		"In order, whole or by ranges. It is also how an edit of the server's is known to have landed.")
	TextDocumentWillSave = tell[lsp.WillSaveTextDocumentParams]("textDocument/willSave", "Taken and ignored.")
	TextDocumentDidSave  = tell[lsp.DidSaveTextDocumentParams]("textDocument/didSave", "Buffer and disk are one again.")
	TextDocumentDidClose = tell[lsp.DidCloseTextDocumentParams]("textDocument/didClose",
		"From now on the disk is what the file says.")
	WorkspaceDidChangeWatchedFiles = tell[lsp.DidChangeWatchedFilesParams]("workspace/didChangeWatchedFiles",
		"A hint to look at files again.")
	DocumentsElsewhere = tell[ElsewhereParams]("tandem/documents/elsewhere",
		"The files that the editor has open and changed in something that is no text document: a notebook, a custom "+
			"editor. Each message names all of them. A change of one is EDIT_CONFLICT, reason open_elsewhere, until it "+
			"is saved and named no more.")
	WorkspaceApplyEdit = askClient[ApplyEditParams, ApplyEditResult]("workspace/applyEdit",
		"LSP's, with label and tandem beside the edit. Always documentChanges; each open document with the version "+
			"that the edit was made for. A client that did not declare experimental.tandem gets the edit alone: as "+
			"documentChanges where it declared these or resourceOperations, else as changes, which have no version and "+
			"are sent only when nothing was typed for 300 ms. One call's edit of one document is one request and one step of undo."+
			" From a client that declared landed, the didChange of the version that the answer names is the edit. From any other the "+
			"answer is a hint: what counts is the didChange that shows the edit. A refusal or a "+
			"newer version makes the server carry the edit over what was typed and ask again. The error -32803 with a sentence for a person says that the edit cannot be made at all, as in a read-only document.")
	DocumentsSave = askClient[SaveParams, SaveResult]("tandem/documents/save",
		"Asks to save documents, for a command that is to see them or for files that were opened only to "+
			"take an edit. To clients that declared save.")
	DocumentsResync = askClient[ResyncParams, ResyncResult]("tandem/documents/resync",
		"Asks what a document says, when it and what the server was told have come apart. To clients that"+
			" declared resync.")
	EditorRequest = askClient[EditorRequestParams, EditorRequestResult]("tandem/editor/request",
		"Asks the other language servers of the editor about code. To clients that declared editorRequest.")
)

func documents() []route {
	return []route{
		TextDocumentDidOpen, TextDocumentDidChange, TextDocumentWillSave, TextDocumentDidSave, TextDocumentDidClose,
		WorkspaceDidChangeWatchedFiles, DocumentsElsewhere, WorkspaceApplyEdit, DocumentsSave, DocumentsResync, EditorRequest,
	}
}

// What sessions have changed.
var (
	ChangesDiff = ask[DiffChangesParams, FileDiff]("tandem/changes/diff",
		"The diff of what a session has changed in one file, also one that was too large to come with the list.")
	ChangesList = ask[ListChangesParams, ListChangesResult]("tandem/changes/list",
		"What a session has changed and what still stands, one hunk for each run of changed lines of one "+
			"call. oldText and newText are those whole lines as the call changed them; range is where they "+
			"stand now, with what was typed since. Accepted hunks stay, rejected and undone ones leave the list, "+
			"also those that the editor's own undo took back, and those over whose lines another program wrote.")
	ChangesAccept = ask[HunksParams, HunksResult]("tandem/changes/accept",
		"Marks hunks as kept.")
	ChangesReject = ask[HunksParams, HunksResult]("tandem/changes/reject",
		"Takes hunks back, each whole or not at all, in one edit a file, and keeps everything that was typed "+
			"since. A hunk that was typed into, or that a later call builds upon, stays and is named in "+
			"conflicts. A file that the call made goes once nothing else is in it, a deleted one comes back. The "+
			"model is told of what was rejected at the head of the next prompt.")
	TextDocumentCodeLens = ask[lsp.CodeLensParams, []lsp.CodeLens]("textDocument/codeLens",
		"Hunks to accept or reject, for a client that did not declare review.")
	TextDocumentCodeAction = ask[lsp.CodeActionParams, []lsp.CommandOrCodeAction]("textDocument/codeAction",
		"The same at a range, as quick fixes.")
	WorkspaceExecuteCommand = ask[lsp.ExecuteCommandParams, lsp.LSPAny]("workspace/executeCommand",
		"tandem.acceptHunk, tandem.rejectHunk, tandem.acceptFile, tandem.rejectFile, tandem.acceptAll (answered as "+
			"tandem/changes/accept and reject), tandem.undoTurn (as tandem/changes/undo) and tandem.stop (as "+
			"tandem/session/cancel; all turns that run if it names no session), whose argument is a ReviewTarget. Without one they are about the only change, the only file with changes or the last turn; "+
			"where there are several the answer is null and window/showMessage says what to do. What stays is also "+
			"told so. A client that did not declare experimental.tandem is answered null at once: many tell of no change "+
			"while they wait for an answer. tandem.ask, whose argument is an AskTarget, begins a turn and answers null at "+
			"once; the turn shows as $/progress, and how it ended comes with window/showMessage.")
	WorkspaceCodeLensRefresh = askClient[None, None]("workspace/codeLens/refresh",
		"Hunks have changed, to a client that shows the server's code lenses and says that it takes this.")
	ChangesUndo = ask[UndoParams, UndoResult]("tandem/changes/undo",
		"Takes changes back and keeps what a person has typed since, beside them. Text that was changed "+
			"over is left and named in conflicts, and so is what was changed before the session was loaded where the "+
			"text before it is no longer stored. Calls outside a turn carry turn 0 and are undone by toolCall.")
	ChangesRecords = ask[RecordsParams, RecordsResult]("tandem/changes/records",
		"Every change of a file that a session has made, the oldest first, also from before the session was loaded: "+
			"what its calls did, what a command did to files that the session had seen (shell), and what a person took "+
			"back (undo, with the hunks' own turn). Texts of up to 1 MiB are kept.")
	ChangesRedo = ask[UndoParams, UndoResult]("tandem/changes/redo",
		"Applies again the changes that tandem/changes/undo or reject reverted. A change whose text, or the text around it, was "+
			"changed or deleted since is left out and named in conflicts. Without a turn it is the turn that was reverted last.")
	ChangesDidChange = tellClient[DidChangeParams]("tandem/changes/didChange", "The hunks of these files have changed: made, accepted, taken back, or "+
		"changed by what was typed, at most ten times a second. That they only moved is not told.")
	PlanList = ask[PlansParams, PlansResult]("tandem/plan/list",
		"The changes that the mode plan has queued: nothing of them is in a file. The model's own tools read files with them.")
	PlanApprove = ask[ApproveParams, ApproveResult]("tandem/plan/approve",
		"Has queued changes land, one after another in their order, rebased over what was typed meanwhile; in any mode but one that denies "+
			"them. One that cannot land has a result with success false, and the others go on. Their hunks are accepted from the start. "+
			"The model is told with its next request. An unknown plan or hunk is -32602, and nothing is done.")
	PlanDiscard = ask[DiscardPlansParams, Empty]("tandem/plan/discard",
		"Takes queued changes out of the queue: what builds upon one becomes stale. An unknown plan is -32602, and nothing is done.")
	PlanDidChange = tellClient[PlanDidChangeParams]("tandem/plan/didChange",
		"These plans were queued, approved or discarded, or have become stale. That what was typed makes one stale is found when the "+
			"list is asked for, a plan approved, or the file read by the session.")
	FileTimeGet = ask[FileTimeParams, FileTimeResult]("tandem/fileTime/get",
		"The state of files: of those asked for, else of all that were seen.")
	FileTimeChanged = tellClient[FileTimeNotice]("tandem/fileTime",
		"A file that the agent has seen was read, written, or changed by others.")
)

func changes() []route {
	return []route{
		ChangesDiff, ChangesList, ChangesAccept, ChangesReject, TextDocumentCodeLens, TextDocumentCodeAction,
		WorkspaceExecuteCommand, WorkspaceCodeLensRefresh, ChangesUndo, ChangesRecords, ChangesRedo,
		ChangesDidChange, PlanList, PlanApprove, PlanDiscard, PlanDidChange, FileTimeGet, FileTimeChanged,
	}
}

// Tools, the audit of their calls, and how the server is.
var (
	AuditQuery = ask[AuditParams, AuditResult]("tandem/audit/query",
		"The records of tool calls, in the order in which they ended: one entry a call, also of one that failed validation or "+
			"was refused, of the sessions of all folders and processes that share the store. The records are append-only and "+
			"outlive their sessions; 'tandem audit verify' finds out whether they were changed.")
	ToolsList = ask[ListToolsParams, ListToolsResult]("tandem/tools/list", "The tools on offer.")
	ToolsGet  = ask[GetToolParams, *ToolInfo]("tandem/tools/get",
		"One tool by its name or an alias; null if there is none of that name, or it is disabled.")
	ToolsCall = ask[CallToolParams, ToolResult]("tandem/tools/call",
		"Runs one tool, for a host that brings a model of its own: the same checks, questions and edits "+
			"as in a turn. A tool that fails is a result with success false, never a JSON-RPC error. With "+
			"apply \"none\" nothing is applied and edit is for the host to apply. -32014 as for tandem/session/prompt.")
	ToolsBatch = ask[BatchParams, BatchResult]("tandem/tools/batch",
		"Runs several calls as a model's answer with several calls would run: calls that are safe together run "+
			"together. Results are in the order of the calls.")
	ToolsAssess = ask[AssessParams, AssessResult]("tandem/tools/assess",
		"What would become of a call, without anything of it being done: how dangerous it is, and what the mode and the rules say.")
	PermissionsList = ask[ListRulesParams, RulesResult]("tandem/permissions/list",
		"The rules that hold, the strictest first.")
	PermissionsSet = ask[SetRulesParams, RulesResult]("tandem/permissions/set",
		"Adds rules and takes others back; the answer lists all. A rule in a file that people write is taken back there (-32014).")
	ToolsSearch = ask[SearchToolsParams, SearchToolsResult]("tandem/tools/search",
		"Finds tools by words or by their exact names, those that are deferred too. Unlike a call of tool_search it loads none.")
	ToolsRegister = ask[RegisterToolsParams, Empty]("tandem/tools/register",
		"Adds tools that the client runs, for all sessions, until the connection ends: all of them or, with an error, none. A name or an "+
			"alias that a tool has already is refused, naming that tool. Models are offered them from the next request on; calls of them "+
			"are checked, judged by the mode and the rules, asked about and recorded like any other, and then sent as "+
			"tandem/tools/invoke.")
	ToolsUnregister = ask[UnregisterToolsParams, Empty]("tandem/tools/unregister",
		"Takes tools away that the client has registered, all of them or, with an error, none. Calls that run end as they are; those "+
			"that have not begun fail with TOOL_NOT_FOUND.")
	ToolsInvoke = askClient[InvokeToolParams, json.RawMessage]("tandem/tools/invoke",
		"Runs a tool of the client's. The answer is a ToolResult, of which success, data, error, reason, summary, result, content and "+
			"warnings are heeded; any other JSON value is the result of a success, a string its text. An error fails the "+
			"call with EXECUTION_ERROR. It is cancelled when the turn is, and when limits.toolTimeoutMs is over.")
	ToolsEvent = tellClient[ToolEvent]("tandem/tools/event",
		"A tool was registered, taken away, run, or failed. To clients that declared events.")
	ClaimsList = ask[ClaimsParams, ClaimsResult]("tandem/claims/list",
		"What calls of tools are about to change: from the permission to its end a call claims the text that it replaces, or the whole file. "+
			"A call of another session that would change a part of that fails with CLAIMED, which names the holder.")
	DeadLettersList = ask[DeadLettersParams, DeadLettersResult]("tandem/deadLetters/list",
		"Calls that failed for good, the newest first, of the sessions of all folders and processes that share the store: the tool broke "+
			"(EXECUTION_ERROR), its time was over (TIMEOUT), what became of it is not known (UNKNOWN), a file could not be written "+
			"(WRITE_ERROR), or the network failed in each attempt. What was refused, had wrong arguments, or found other text than it expected is "+
			"none, nor is a command with an exit code. The newest 200 are kept, as long as their sessions are.")
	DeadLettersRetry = ask[DeadLetterParams, RetryResult]("tandem/deadLetters/retry",
		"Makes calls again, one after another, each in its session, which must be open (-32011): judged, asked about and recorded as any "+
			"call. The letter is dropped then; a call that fails for good again is a new one. An id that is none is -32602, and nothing is done.")
	DeadLettersDiscard = ask[DeadLetterParams, Empty]("tandem/deadLetters/discard", "Drops dead letters: all of them or, with an error, none.")
	Status             = ask[None, StatusResult]("tandem/status", "How the server is; answered at once whatever else goes on.")
)

func toolbox() []route {
	return []route{
		ToolsList, ToolsGet, ToolsCall, ToolsBatch, ToolsAssess, PermissionsList, PermissionsSet,
		ToolsSearch, ToolsRegister, ToolsUnregister, ToolsInvoke, ToolsEvent, AuditQuery, ClaimsList, DeadLettersList, DeadLettersRetry, DeadLettersDiscard, Status,
	}
}
