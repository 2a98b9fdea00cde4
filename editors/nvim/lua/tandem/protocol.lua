-- Written by `go test ./lspserver/protocol -update`: change the types or the table there.

local M = {}

--- AnswerMeta is _meta of a person's answer.
---@class tandem.AnswerMeta
---@field tandem tandem.AnswerWords

--- AnswerWords is _meta.tandem of a person's answer.
---@class tandem.AnswerWords
---@field feedback? string What the person wrote with the answer, for the model to read.

--- ApplyEditInfo says whose edit it is.
---@class tandem.ApplyEditInfo
---@field sessionId string
---@field toolCallId string
---@field turn integer
---@field unified tandem.UnifiedDiff[]
---@field save boolean The document will be asked to be saved.

--- ApplyEditParams are LSP's with fields of our own. A plain client, one that did not declare experimental.tandem, gets the edit alone.
---@class tandem.ApplyEditParams
---@field label? string
---@field edit lsp.WorkspaceEdit
---@field tandem? tandem.ApplyEditInfo

--- ApplyEditResult is LSP's with a field of our own, from a client that declared landed.
---@class tandem.ApplyEditResult
---@field applied boolean
---@field failureReason? string
---@field failedChange? integer
---@field tandem? tandem.ApplyEditVersion

--- ApplyEditVersion says where an edit landed.
---@class tandem.ApplyEditVersion
---@field versions tandem.LandedVersion[] Each document of the edit with the version that the edit made, or its present one where its text did not change. The client may have carried the edit over changes that it has told of.

--- ApproveParams of tandem/plan/approve.
---@class tandem.ApproveParams
---@field sessionId string
---@field planIds? string[] All that are not stale if absent or empty.
---@field hunks? integer[] Of one plan, the numbers of the hunks that land; the rest of it waits on. All if absent or empty.

--- ApproveResult of tandem/plan/approve, in the order in which the plans were to land.
---@class tandem.ApproveResult
---@field results tandem.PlanApproval[]

--- AskTarget is the argument of the command tandem.ask.
---@class tandem.AskTarget
---@field uri string The file that it is about. The session is that of the workspace folder which it lies in, or else of its own folder; the first prompt begins it.
---@field range? lsp.Range The cursor, or the selection.
---@field text string The prompt.

--- AssessParams of tandem/tools/assess.
---@class tandem.AssessParams
---@field name string
---@field arguments any
---@field sessionId? string Else the one that was used last, or a new one of the first folder.

--- AssessResult of tandem/tools/assess.
---@class tandem.AssessResult
---@field danger 'safe'|'moderate'|'dangerous'
---@field readOnly boolean
---@field concurrencySafe boolean
---@field paths string[]
---@field derivedRule? tandem.PermissionRule What a person might write for calls like this one. No answer makes it.
---@field exactRule? tandem.PermissionRule What an answer for longer than once makes.
---@field decision 'allow'|'ask'|'deny'
---@field reason string

--- AuditAgent is the agent whose model asked for a call.
---@class tandem.AuditAgent
---@field session string
---@field parent? string The session of the agent that started this one.

--- AuditEntry is the record of one call.
---@class tandem.AuditEntry
---@field time string When the call began, RFC 3339.
---@field who tandem.AuditWho
---@field sessionId string
---@field callId string
---@field tool string The canonical name, or the name that was asked for where there is no such tool.
---@field args any The arguments as they were checked. What looks like a secret is replaced by [redacted], and long texts are cut. Arguments that are no JSON are a string.
---@field argsHash string SHA-256 of the whole arguments: JSON without blanks and with sorted keys, as in meta.effectiveArgs.
---@field resultHash string SHA-256 of the result's data; empty where the end is not recorded.
---@field decision 'allow'|'deny' deny also where the call ended before anybody had allowed it.
---@field rule string What decided: a mode, a rule, or the option that a person chose.
---@field layer string What the rule belongs to: mode, rules, sandbox, person, audit and so on, or the stage at which the call ended undecided.
---@field sandbox string The level and the profile that the call's command ran with; empty where it runs none.
---@field durationMs number
---@field error? string As in ToolResult.
---@field pending? boolean The call has not ended, or its process ended before it.

--- AuditParams of tandem/audit/query.
---@class tandem.AuditParams
---@field sessionId? string Of all sessions if absent; it need not be stored any more.
---@field since? string RFC 3339: calls that began then or later.
---@field limit? integer How many of the newest entries, 1000 if absent.

--- AuditResult of tandem/audit/query.
---@class tandem.AuditResult
---@field entries tandem.AuditEntry[]

--- AuditWho is who made a call.
---@class tandem.AuditWho
---@field user string The account of the server's process.
---@field client string What the client calls itself.
---@field agent tandem.AuditAgent

--- BatchCall is one call of a batch.
---@class tandem.BatchCall
---@field callId? string Made up if absent; one that was used before in the session is refused.
---@field name string
---@field arguments any

--- BatchParams of tandem/tools/batch.
---@class tandem.BatchParams
---@field sessionId string
---@field calls tandem.BatchCall[]
---@field apply? 'auto'|'editor'|'disk'|'none'
---@field trace? boolean
---@field parallel? boolean All calls run at the same time, whatever they do. A command that fails ends the other commands.
---@field dryRun? boolean Only say which calls would run together.

--- BatchResult of tandem/tools/batch, in the order of the calls.
---@class tandem.BatchResult
---@field results tandem.ToolResult[]
---@field batches integer[][] Which calls ran together, by their place in the request.

--- CacheStats counts reads of files.
---@class tandem.CacheStats
---@field hits integer Answered from memory: the buffer of an open document, or a text that is proven to be what the disk has.
---@field misses integer For which a file was read.

--- CallToolParams of tandem/tools/call.
---@class tandem.CallToolParams
---@field sessionId string
---@field callId? string Made up if absent; one that was used before in the session is refused.
---@field name string
---@field arguments any
---@field apply? 'auto'|'editor'|'disk'|'none' Where a change goes; the configuration says if absent.
---@field trace? boolean

--- ChangeRecord is one change of one file, as it was written down when it happened.
---@class tandem.ChangeRecord
---@field id string Unique in the session, for good.
---@field filePath string Absolute.
---@field entry? 'bytes'|'folder'|'link' What was changed, where it is no text: the hashes are empty then.
---@field from? string Where the file was before it was moved to filePath; absolute.
---@field operation 'create'|'edit'|'delete'|'move'|'shell'|'undo'
---@field turnNumber integer 0 outside a turn.
---@field toolCallId string
---@field time string RFC 3339.
---@field beforeHash string SHA-256 of the text before, empty where there was no file.
---@field afterHash string SHA-256 of the text after, empty where there is no file any more.
---@field contentBefore? string Absent where there was no file, or its text was too large to keep or was forgotten.
---@field contentAfter? string Likewise.

--- ChangedFile is what a session has changed in one file and what still stands.
---@class tandem.ChangedFile
---@field uri string
---@field status 'added'|'modified'|'deleted'|'renamed'
---@field from? string The URI that a renamed file had.
---@field entry? 'bytes'|'folder'|'link' What it is, where it is no text.
---@field additions integer
---@field deletions integer
---@field unified string
---@field truncated? boolean
---@field hunks tandem.ChangedHunk[]
---@field unknown? boolean An edit of the session may be in the text: the editor says that it has applied it, and has not told of it yet.

--- ChangedHunk is one run of changed lines of one tool call; range is where newText stands now.
---@class tandem.ChangedHunk
---@field id string
---@field range lsp.Range
---@field oldText string Whole lines, like newText; neither has a line that is in the other.
---@field newText string
---@field status 'pending'|'accepted'|'rejected'|'conflict' accepted also from the start, where a person was asked about the change and allowed it.
---@field turn integer
---@field toolCallId string
---@field inline? tandem.InlineSpan[] The changed parts of lines, of a hunk that is not settled.

--- ChatCall is a call that a model has asked for.
---@class tandem.ChatCall
---@field id string
---@field type 'function'
---@field function tandem.ChatFunction

--- ChatFunction names the function that is called.
---@class tandem.ChatFunction
---@field name string
---@field arguments string An object, as JSON.

--- ChatImage is a picture.
---@class tandem.ChatImage
---@field url string A data URL in Base64.

--- ChatMessage is a message as Chat Completions has it.
---@class tandem.ChatMessage
---@field role 'system'|'user'|'assistant'|'tool'
---@field content? any Text, or a list of ChatPart.
---@field tool_calls? tandem.ChatCall[] Of an assistant.
---@field tool_call_id? string Of a tool's message: the call that it answers.

--- ChatPart is a part of a message that is not text alone.
---@class tandem.ChatPart
---@field type 'text'|'image_url'
---@field text? string
---@field image_url? tandem.ChatImage

--- ChatTool is a tool that a model may call.
---@class tandem.ChatTool
---@field type 'function'
---@field function tandem.ChatToolSpec

--- ChatToolSpec describes a tool.
---@class tandem.ChatToolSpec
---@field name string
---@field description? string
---@field parameters any A JSON Schema.

--- Checkpoint is the beginning of a turn.
---@class tandem.Checkpoint
---@field turn integer
---@field time string RFC 3339.
---@field prompt string
---@field files integer How many files the turn has changed.
---@field additions integer Lines, of the files whose texts are kept.
---@field deletions integer

--- CheckpointsResult of tandem/session/checkpoints.
---@class tandem.CheckpointsResult
---@field checkpoints tandem.Checkpoint[]

--- Choice is a mode or a model that a session can have.
---@class tandem.Choice
---@field id string
---@field name string

--- Claim is what a call is about to change.
---@class tandem.Claim
---@field uri string
---@field range? lsp.Range Absent for the whole file: it is made, overwritten, deleted or moved.
---@field holder string The session.
---@field toolCallId string
---@field since string RFC 3339.

--- ClaimsParams of tandem/claims/list.
---@class tandem.ClaimsParams
---@field sessionId? string Of all sessions if absent.

--- ClaimsResult of tandem/claims/list, in the order in which they were taken.
---@class tandem.ClaimsResult
---@field claims tandem.Claim[]

--- ClarifyOption is one answer on offer.
---@class tandem.ClarifyOption
---@field id string
---@field label string

--- ClarifyParams of tandem/session/clarify.
---@class tandem.ClarifyParams
---@field sessionId string
---@field toolCallId string
---@field question string
---@field options? tandem.ClarifyOption[] Answers on offer; the id of the chosen one is the answer.
---@field defaultAnswer? string Holds where no answer comes in time.
---@field timeoutMs? integer How long the server waits; it then cancels the request.

--- ClarifyResult of tandem/session/clarify.
---@class tandem.ClarifyResult
---@field answer string Text, or the id of an option; empty where the person gave none.

--- ClientExperimental is capabilities.experimental.tandem of the initialize request: what the client answers.
---@class tandem.ClientExperimental
---@field protocolVersion? integer The version of the tandem/* methods that the client was made for; the server says so where its own is another.
---@field permission? boolean tandem/session/requestPermission.
---@field clarify? boolean tandem/session/clarify.
---@field save? boolean tandem/documents/save.
---@field resync? boolean tandem/documents/resync.
---@field landed? boolean Replies to workspace/applyEdit name the version that the edit made.
---@field editorRequest? boolean tandem/editor/request.
---@field model? boolean tandem/model/stream.
---@field review? boolean The client shows hunks and checks every document's version.
---@field settingsAreOwn? boolean The tandem section never holds a repository's settings. Without it the section may only make things stricter, like a workspace's file.
---@field events? boolean tandem/tools/event.

--- Command is what a person can call by /name, and words behind it, at the beginning of a prompt.
---@class tandem.Command
---@field name string Without the /.
---@field description string One line.
---@field input? tandem.CommandInput Absent where it takes no words.

--- CommandInput is what a command takes.
---@class tandem.CommandInput
---@field hint string The names of the words that it takes; those in brackets may be left out.

--- CompactParams of tandem/session/compact.
---@class tandem.CompactParams
---@field sessionId string
---@field instructions? string What the summary should mind, in a person's words.

--- CompactResult of tandem/session/compact.
---@class tandem.CompactResult
---@field compactionId? string That of the compaction_update; absent where nothing was done.
---@field kind 'none'|'prune'|'summary'|'ledger' prune cleared results of tools; ledger replaced messages without a summary.
---@field before integer Tokens of a request, about.
---@field after integer

--- ContentBlock is a piece of a prompt or of a message, as the Agent Client Protocol has it.
---@class tandem.ContentBlock
---@field type 'text'|'resource_link'|'resource'|'image'
---@field text? string
---@field uri? string
---@field name? string
---@field mimeType? string
---@field data? string Base64, for an image.
---@field resource? tandem.EmbeddedResource

--- ContentPart is a part of a result.
---@class tandem.ContentPart
---@field type 'text'|'image'|'document'
---@field text? string
---@field mediaType? string application/octet-stream where the content is not what the file's name says.
---@field name? string
---@field data? string Base64.

--- Cost is an amount of money.
---@class tandem.Cost
---@field amount number
---@field currency string USD.

--- DeadLetter is a call that failed for good.
---@class tandem.DeadLetter
---@field id string
---@field time string When the call began, RFC 3339.
---@field sessionId string
---@field callId string
---@field turn? integer
---@field tool string
---@field args any The arguments that were sent. What looks like a secret is replaced by [redacted], and long texts are cut; null where they were too long to be kept.
---@field error? string As in ToolResult.
---@field reason? string
---@field message string The beginning of what the model read.
---@field attempts integer
---@field trace tandem.TraceStage[]

--- DeadLetterParams of tandem/deadLetters/retry and discard.
---@class tandem.DeadLetterParams
---@field ids string[]

--- DeadLettersParams of tandem/deadLetters/list.
---@class tandem.DeadLettersParams
---@field sessionId? string Of all sessions if absent.

--- DeadLettersResult of tandem/deadLetters/list, the newest first.
---@class tandem.DeadLettersResult
---@field items tandem.DeadLetter[]

--- DeferredTools are those that the next request of the session used last tells a model of by name alone.
---@class tandem.DeferredTools
---@field names string[]
---@field tokensSaved integer In each request, about: a token for four bytes.

--- Denial says who refused a call and why.
---@class tandem.Denial
---@field reason string
---@field rule? string
---@field layer? string
---@field source? string

--- DidChangeParams of tandem/changes/didChange.
---@class tandem.DidChangeParams
---@field sessionId string
---@field uris string[]

--- DiffChangesParams of tandem/changes/diff.
---@class tandem.DiffChangesParams
---@field sessionId string
---@field uri string
---@field full? boolean Lift the limit on the size of a diff.
---@field hunkIds? string[] Only these hunks of tandem/changes/list.

--- DiffHunk is one run of changed lines.
---@class tandem.DiffHunk
---@field range lsp.Range Where newText stands.
---@field oldText string
---@field newText string
---@field inline? tandem.InlineSpan[]

--- DiffMeta is _meta.tandem of a diff.
---@class tandem.DiffMeta
---@field unified string
---@field spans? tandem.LineSpan[] The changed parts of lines; a line that is changed as a whole has none.

--- DiscardPlansParams of tandem/plan/discard.
---@class tandem.DiscardPlansParams
---@field sessionId string
---@field planIds? string[] All if absent or empty.

--- DroppedTool is a tool that a model is not offered.
---@class tandem.DroppedTool
---@field name string
---@field stage 'mode'|'deny'|'enabled'|'pool'
---@field reason string

--- EditorContext is what a person has in front of them. With it the model is told of the document, the cursor and the selected text, up to 8 KiB of it, and of up to 20 other open documents by name; never of what lies outside of the session's folders, nor of files such as .env, *.pem or id_rsa.
---@class tandem.EditorContext
---@field uri string The document with the cursor.
---@field cursor lsp.Position
---@field selection? lsp.Range The text is that of the document as the server was told of it.
---@field visible? lsp.Range What can be seen of the document.

--- EditorReply is the answer of one language server.
---@class tandem.EditorReply
---@field server? string What a person calls it.
---@field positionEncoding? 'utf-8'|'utf-16'|'utf-32' That of the positions in result; that of the connection if absent.
---@field version? integer Of textDocument/diagnostic: the version of the document, as this server was told it, that the answer is about, any older one if it is about an older text; absent where it is not known.
---@field result any The result of the method. Of textDocument/diagnostic a full report, also where the language server publishes its diagnostics.

--- EditorRequestParams of tandem/editor/request.
---@class tandem.EditorRequestParams
---@field uri string The file, which says the language servers that are asked. That of a folder is all of them.
---@field method string textDocument/definition, textDocument/references, textDocument/documentSymbol, textDocument/diagnostic, textDocument/rename, textDocument/formatting, textDocument/codeAction, workspace/symbol or workspace/diagnostic.
---@field params any Those of the method. Positions are in the encoding that this server and the client have agreed upon; the client converts them for a language server with another one. To the context of textDocument/codeAction it adds the diagnostics of the range.
---@field resolve? string Of textDocument/codeAction: the title of the action whose edit is wanted. Where it has none yet the client resolves it.

--- EditorRequestResult of tandem/editor/request. It is empty where no language server serves the file.
---@class tandem.EditorRequestResult
---@field results tandem.EditorReply[]

--- ElsewhereParams of tandem/documents/elsewhere.
---@class tandem.ElsewhereParams
---@field uris string[] All such files; an empty list for none.

--- EmbeddedResource is text that goes along with a prompt, or a document of a result.
---@class tandem.EmbeddedResource
---@field uri string
---@field text? string
---@field blob? string Base64, where it is no text.
---@field mimeType? string

--- Empty is a result that says nothing.
---@class tandem.Empty

--- ExportParams of tandem/session/export.
---@class tandem.ExportParams
---@field sessionId string
---@field format 'markdown'|'jsonl' For a person, or everything for a program.

--- ExportResult of tandem/session/export.
---@class tandem.ExportResult
---@field text string

--- FileDiff is the diff of one file. Over the limit unified and hunks are left out and truncated is true.
---@class tandem.FileDiff
---@field path string
---@field unified? string
---@field additions integer
---@field deletions integer
---@field hunks? tandem.DiffHunk[]
---@field truncated? boolean

--- FileLock is a lock and its holder.
---@class tandem.FileLock
---@field holder string The id of a session, maybe one of another process.
---@field toolCallId? string
---@field since? string RFC 3339.
---@field pid? integer The process that the session is in.

--- FileTimeNotice of tandem/fileTime.
---@class tandem.FileTimeNotice
---@field uri string
---@field state 'read'|'stale'|'written'|'conflict'
---@field by 'user'|'disk'|'agent'
---@field mtime? string RFC 3339.
---@field version? integer

--- FileTimeParams of tandem/fileTime/get.
---@class tandem.FileTimeParams
---@field uris? string[]

--- FileTimeResult of tandem/fileTime/get.
---@class tandem.FileTimeResult
---@field files tandem.FileTimeState[]

--- FileTimeState is the state of one file.
---@class tandem.FileTimeState
---@field uri string
---@field state string read, stale, written or conflict; empty where the file was never seen.
---@field readAt? string RFC 3339.
---@field mtime? string RFC 3339.
---@field size? integer Bytes of the text.
---@field hash? string SHA-256 of the text.
---@field version? integer
---@field dirty boolean
---@field lock? tandem.FileLock

--- ForkParams of tandem/session/fork.
---@class tandem.ForkParams
---@field sessionId string
---@field atTurn? integer The last turn that the new session has; 0 for none. The last one that has ended if absent.

--- GetToolParams of tandem/tools/get.
---@class tandem.GetToolParams
---@field name string
---@field sessionId? string

--- HunksParams of tandem/changes/accept and tandem/changes/reject.
---@class tandem.HunksParams
---@field sessionId string
---@field uri? string Only hunks of this file.
---@field hunkIds? string[] Those of tandem/changes/list; all if absent, to be rejected all that are not accepted.

--- HunksResult of tandem/changes/accept and tandem/changes/reject.
---@class tandem.HunksResult
---@field changed string[] The hunks that were accepted, or that are gone.
---@field conflicts string[] The hunks that stay, because a person or a later call has changed their text.

--- InlineSpan is a changed run of characters (code points) within a hunk.
---@class tandem.InlineSpan
---@field start integer
---@field end integer
---@field op 'insert'|'delete' A span of newText, or of oldText.

--- InvokeToolParams of tandem/tools/invoke.
---@class tandem.InvokeToolParams
---@field name string
---@field arguments any Checked against parameters, with its defaults.
---@field sessionId string
---@field callId string

--- Issue is one thing wrong with the arguments of a call.
---@class tandem.Issue
---@field path string $.items[2].name
---@field pointer string RFC 6901.
---@field expected string
---@field received string At most 60 characters.
---@field message string

--- JobState is a command that a session runs in the background.
---@class tandem.JobState
---@field sessionId string
---@field jobId string
---@field title string

--- KeyVariable is the environment variable that the key of a service is read from, as its apiKeyEnv says.
---@class tandem.KeyVariable
---@field provider string
---@field variable string

--- LandedVersion is one version of a document.
---@class tandem.LandedVersion
---@field uri string
---@field version integer

--- LineSpan is a changed part of a line of a unified diff, in characters (code points) behind the sign of the line.
---@class tandem.LineSpan
---@field line integer Of unified, from 0.
---@field start integer
---@field end integer

--- ListChangesParams of tandem/changes/list.
---@class tandem.ListChangesParams
---@field sessionId string
---@field uri? string

--- ListChangesResult of tandem/changes/list.
---@class tandem.ListChangesResult
---@field files tandem.ChangedFile[]

--- ListRulesParams of tandem/permissions/list.
---@class tandem.ListRulesParams
---@field sessionId? string Its own rules too.

--- ListSessionsParams of tandem/session/list.
---@class tandem.ListSessionsParams
---@field cwd? string Only sessions of this folder.
---@field cursor? string nextCursor of the answer before.

--- ListSessionsResult of tandem/session/list.
---@class tandem.ListSessionsResult
---@field sessions tandem.SessionInfo[]
---@field nextCursor? string

--- ListToolsParams of tandem/tools/list.
---@class tandem.ListToolsParams
---@field sessionId? string
---@field kind? string
---@field readOnly? boolean
---@field provider? string Without the tools that models of this provider do not take. If absent, the provider of the session's model.
---@field includeDeferred? boolean With the tools that are deferred because there are more than deferTools.threshold, or because they are an MCP server's.
---@field includeDisabled? boolean With disabledBy.
---@field explain? boolean Say in dropped which tools are not offered, and why.

--- ListToolsResult of tandem/tools/list, sorted by name.
---@class tandem.ListToolsResult
---@field tools tandem.ToolInfo[]
---@field dropped? tandem.DroppedTool[]

--- LoadSessionParams of tandem/session/load.
---@class tandem.LoadSessionParams
---@field sessionId string
---@field cwd? string The folder that the client works in; a session of another is refused. The workspace folders if absent.

--- Location is a place that a tool call is about.
---@class tandem.Location
---@field path string Absolute.
---@field line? integer 1-based.

--- MCPServerState is an MCP server of a session.
---@class tandem.MCPServerState
---@field sessionId string
---@field name string
---@field source? string Where it was written down.
---@field proposed? boolean It was not the user who wrote it down, so they are asked before it is started.
---@field command? string Its program, or its URL.
---@field state 'off'|'starting'|'ready'
---@field reason? string Why it is off. Without a reason it was not needed yet.
---@field tools? string[] On offer.
---@field held? string[] Tools that are not what they were when they were first seen, and are not on offer until the user has accepted them.
---@field remarks? string[] What else is to be known, each a sentence.

--- MentionItem is something that can be mentioned.
---@class tandem.MentionItem
---@field label string
---@field kind string file, folder, resource (of an MCP server), symbol, selection, diagnostics or command. Others may follow.
---@field insert string The text for the prompt, with the @, or the / of a command.

--- MentionParams of tandem/mentions/complete.
---@class tandem.MentionParams
---@field sessionId? string Its folder is looked at; that of the workspace if absent.
---@field prefix string The letters behind the @. With a / at its beginning commands are meant, which stand at the beginning of a prompt.
---@field limit? integer The most items to give, up to 200; 20 if absent.

--- MentionResult of tandem/mentions/complete.
---@class tandem.MentionResult
---@field items tandem.MentionItem[]

--- Meta holds our own fields of a payload of the Agent Client Protocol.
---@class tandem.Meta
---@field tandem tandem.UpdateMeta|tandem.DiffMeta|tandem.PermissionMeta

--- ModeState lists the modes and names the present one.
---@class tandem.ModeState
---@field currentModeId string
---@field availableModes tandem.Choice[]

--- ModelChoice is a model that a session can have.
---@class tandem.ModelChoice
---@field modelId string
---@field name string

--- ModelChunk of tandem/model/chunk; one of text, thought and toolCall is set.
---@class tandem.ModelChunk
---@field streamId string
---@field text? string
---@field thought? string
---@field toolCall? tandem.ModelChunkCall

--- ModelChunkCall is a piece of a call; pieces of one index belong together.
---@class tandem.ModelChunkCall
---@field index integer
---@field id? string With the first piece.
---@field name? string With the first piece.
---@field argumentsDelta? string The next piece of the arguments, which are an object as JSON.

--- ModelOptions say how a model is to answer.
---@class tandem.ModelOptions
---@field model? string The id that follows editor/ in the model's name; absent leaves the choice to the client.

--- ModelState lists the models and names the present one.
---@class tandem.ModelState
---@field currentModelId string
---@field availableModels tandem.ModelChoice[]

--- ModelStreamParams of tandem/model/stream.
---@class tandem.ModelStreamParams
---@field streamId string What the chunks of the answer name.
---@field messages tandem.ChatMessage[] The whole conversation, the system prompt first.
---@field tools tandem.ChatTool[] What the model may call.
---@field options tandem.ModelOptions

--- ModelStreamResult of tandem/model/stream, after the last chunk.
---@class tandem.ModelStreamResult
---@field stopReason string end_turn, also where the model waits for its calls; max_tokens or refusal. Others are failures.
---@field usage? tandem.Usage

--- NewSessionParams of tandem/session/new.
---@class tandem.NewSessionParams
---@field cwd? string Absolute; the first workspace folder if absent.
---@field additionalDirectories? string[] Absolute; further roots.
---@field model? string provider/model; the configuration says if absent.
---@field mode? string The configuration says if absent.
---@field messages? tandem.ChatMessage[] A conversation to go on with: the system prompt, if any, then the user's message first, every call with its result, the assistant's message last. The model gets it before the first prompt, and it is kept with the session.
---@field mcpServers? any[] MCP servers of this session alone, each an MCPServer. They count as the user's own.

--- NewSessionResult of tandem/session/new.
---@class tandem.NewSessionResult
---@field sessionId string
---@field modes tandem.ModeState
---@field models tandem.ModelState

--- PatchOp is what became of one file of a patch: an element of result.operations of the tool patch. Paths are absolute.
---@class tandem.PatchOp
---@field op 'add'|'delete'|'update'
---@field path string
---@field to? string Where an update has moved the file.
---@field additions integer Lines.
---@field deletions integer
---@field already? boolean Somebody else had made the same change.

--- PermissionMeta is _meta.tandem of a permission request.
---@class tandem.PermissionMeta
---@field danger 'safe'|'moderate'|'dangerous'
---@field reason string
---@field suggestedRule? tandem.PermissionRule What allow_session and allow_always allow from then on; absent where the answers are for once only. allow_wide keeps the rule that its name says.

--- PermissionOption is one answer that a person can give.
---@class tandem.PermissionOption
---@field optionId string
---@field name string
---@field kind 'allow_once'|'allow_always'|'reject_once'|'reject_always'

--- PermissionOutcome is a person's answer.
---@class tandem.PermissionOutcome
---@field outcome 'selected'|'cancelled'
---@field optionId? string That of the selected option.

--- PermissionParams of tandem/session/requestPermission.
---@class tandem.PermissionParams
---@field sessionId string
---@field toolCall tandem.Update
---@field options tandem.PermissionOption[]
---@field _meta? tandem.Meta

--- PermissionResult of tandem/session/requestPermission.
---@class tandem.PermissionResult
---@field outcome tandem.PermissionOutcome
---@field _meta? tandem.AnswerMeta

--- PermissionRule is a rule about calls of tools. In tandem/permissions/set a client gives tool, params, class, act, profile and scripts.
---@class tandem.PermissionRule
---@field id? string
---@field tool string Name or alias; * stands for any letters.
---@field params? table<string, string> Patterns that arguments must match: globs of paths, commands word by word.
---@field effect? 'allow'|'ask'|'deny'
---@field scope? 'session'|'workspace'|'user'
---@field source? string Where it was written: a file, a layer of the configuration, or an answer.
---@field class? 'read'|'write'|'execute'|'network' Only tools of this permission class.
---@field act? 'create'|'edit'|'replace' The most that it allows to be done to a file.
---@field profile? string The only sandbox profile of commands that it allows.
---@field scripts? string What the scripts that a command runs must be for it to allow that: their names and a hash.
---@field workspace? string The only folder whose sessions it is for.
---@field files? string[] The only files, of an answer.
---@field turn? integer The only turn, of an answer.
---@field text? string The rule in one line, for a person.
---@field removable? boolean tandem/permissions/set can take it back; another one is in a file that people write.

--- Plan is a change that waits for the user.
---@class tandem.Plan
---@field planId string
---@field toolCallId string
---@field title string
---@field kind 'edit'
---@field state 'queued'|'approved'|'stale' approved is on its way; stale fits the text no more, and can only be discarded.
---@field reason? 'text'|'depends' Why it is stale: its text was changed, or a plan that it needs is gone.
---@field uris string[]
---@field needs? string[] The plans without which it cannot be approved: approve them before it, or with it.
---@field diff tandem.FileDiff[] What it changes as things stand, after all plans before it. Ranges are of the text after it.
---@field hunks tandem.PlanHunk[] The parts of it that can be approved alone; their numbers are their places in this list.
---@field uri? string Of a stale plan: the file that it does not fit.
---@field text? string What that file says.

--- PlanApproval is what became of one plan.
---@class tandem.PlanApproval
---@field planId string
---@field result tandem.ToolResult EDIT_CONFLICT with the reason text or depends where it cannot land; result is {path, text} then, if the file's text is known.

--- PlanDidChangeParams of tandem/plan/didChange.
---@class tandem.PlanDidChangeParams
---@field sessionId string
---@field planIds string[]

--- PlanEntry is one task of the model's own list. Cancelled ones are left out.
---@class tandem.PlanEntry
---@field content string One line.
---@field priority 'high'|'medium'|'low'
---@field status 'pending'|'in_progress'|'completed'

--- PlanHunk is a part of a plan, in whole lines.
---@class tandem.PlanHunk
---@field uri string
---@field line integer Its first line from 0, in the text before the plan.
---@field oldText string
---@field newText string

--- PlansParams of tandem/plan/list.
---@class tandem.PlansParams
---@field sessionId string

--- PlansResult of tandem/plan/list, in the order in which the plans land.
---@class tandem.PlansResult
---@field plans tandem.Plan[]

--- PluginState is a plug-in of the configuration.
---@class tandem.PluginState
---@field folder string
---@field id? string
---@field tools integer
---@field reason? string Why it has no tools.

--- PromptContext is _meta.tandem of a prompt.
---@class tandem.PromptContext
---@field editor? tandem.EditorContext

--- PromptMeta holds our own fields of a prompt.
---@class tandem.PromptMeta
---@field tandem? tandem.PromptContext

--- PromptParams of tandem/session/prompt.
---@class tandem.PromptParams
---@field sessionId string
---@field prompt tandem.ContentBlock[]
---@field model? string For this turn alone.
---@field tools? tandem.ToolSpec[] For this turn alone, run by the client: see tandem/tools/invoke. A name that another tool has stands for this one meanwhile.
---@field _meta? tandem.PromptMeta

--- PromptResult of tandem/session/prompt, sent when the turn is over.
---@class tandem.PromptResult
---@field stopReason string end_turn, max_tokens, max_turn_requests, budget_exceeded, refusal, cancelled or error. Others may follow.
---@field usage tandem.Usage
---@field turn integer Counts from 1.
---@field error? tandem.TurnError With stopReason error.

--- RecordsParams of tandem/changes/records.
---@class tandem.RecordsParams
---@field sessionId string
---@field turn? integer Only changes of this turn; 0 is outside a turn.
---@field uri? string Only changes of this file.
---@field contents? boolean With the texts.

--- RecordsResult of tandem/changes/records.
---@class tandem.RecordsResult
---@field records tandem.ChangeRecord[]

--- RegisterToolsParams of tandem/tools/register.
---@class tandem.RegisterToolsParams
---@field tools tandem.ToolSpec[]
---@field replace? boolean A tool may take the place of a built-in one of its name, until it is unregistered.

--- RenameParams of tandem/session/rename.
---@class tandem.RenameParams
---@field sessionId string
---@field title string One line of up to 200 characters.

--- Render is how a call can be shown: Markdown, and widgets beside it.
---@class tandem.Render
---@field markdown string
---@field widgets? tandem.Widget[]

--- ResolvedParams of tandem/session/resolved.
---@class tandem.ResolvedParams
---@field sessionId string
---@field toolCallId string
---@field optionId? string What another client chose.
---@field by string The name of the client that answered; rule: an answer to another question covers this one; end: the turn, the session or the time for it is over.
---@field alreadyResolved boolean Always true: an answer that comes now is ignored.

--- RestoreParams of tandem/session/restore.
---@class tandem.RestoreParams
---@field sessionId string
---@field turn integer The first turn that is to be gone: the session goes back to before its prompt.
---@field what 'conversation'|'files'|'both'
---@field dryRun? boolean Changes nothing, and says what would be changed.

--- RestoreResult of tandem/session/restore.
---@class tandem.RestoreResult
---@field sessionId string The session that goes on: another one where the conversation was restored.
---@field modes tandem.ModeState
---@field models tandem.ModelState
---@field prompt string That of the turn: it can be sent again, changed.
---@field changed string[] The URIs of the files that were changed.
---@field conflicts tandem.UndoConflict[] Files in which changes stay, since they were edited.
---@field kept tandem.UndoConflict[] Files in which changes stay, since their original text is not stored.

--- ResultMeta is how a call went.
---@class tandem.ResultMeta
---@field effectiveArgs? any
---@field coerced? string[]
---@field modified? string[] URIs.
---@field source? 'buffer'|'disk'
---@field version? integer
---@field cache? 'hit'|'miss' Of a read: whether the text was in memory and proven to be the present one.
---@field attempts? integer
---@field tier? string How the old text was found where it was not there character by character.
---@field rebasedOver? integer Changes by others that the edit was carried over.
---@field output? string Of a result that was cut: what read_file shows all of it by, with the path output: and this id.
---@field trace? tandem.TraceStage[]

--- ResyncParams of tandem/documents/resync.
---@class tandem.ResyncParams
---@field uri string

--- ResyncResult of tandem/documents/resync.
---@class tandem.ResyncResult
---@field text string
---@field version integer

--- RetryResult of tandem/deadLetters/retry, in the order of the ids.
---@class tandem.RetryResult
---@field results tandem.ToolResult[]

--- ReviewTarget is the argument of the commands tandem.acceptHunk, rejectHunk, acceptFile, rejectFile, acceptAll and undoTurn.
---@class tandem.ReviewTarget
---@field sessionId? string May be left out where there is one session.
---@field uri? string For acceptFile and rejectFile.
---@field hunkId? string For acceptHunk and rejectHunk.
---@field turn? integer For undoTurn: the last turn that changed something if absent.

--- RulesResult of tandem/permissions/list and set.
---@class tandem.RulesResult
---@field rules tandem.PermissionRule[]

--- SandboxState is what commands are confined with.
---@class tandem.SandboxState
---@field level string full, landlock+seccomp or none.
---@field reason string

--- SaveFailure is a document that was not saved.
---@class tandem.SaveFailure
---@field uri string
---@field reason string

--- SaveParams of tandem/documents/save.
---@class tandem.SaveParams
---@field uris string[]

--- SaveResult of tandem/documents/save.
---@class tandem.SaveResult
---@field saved string[]
---@field failed tandem.SaveFailure[]

--- SearchParams of tandem/session/search.
---@class tandem.SearchParams
---@field query string What stands in the title or was said, by either side; letters of ASCII in either case.
---@field limit? integer The most sessions to give; 50 if absent.

--- SearchResult of tandem/session/search.
---@class tandem.SearchResult
---@field sessions tandem.SessionInfo[]

--- SearchToolsParams of tandem/tools/search.
---@class tandem.SearchToolsParams
---@field query string Words of the name or the description; select:name,name for exactly these.
---@field limit? integer 5 if absent.
---@field sessionId? string

--- SearchToolsResult of tandem/tools/search, the best first.
---@class tandem.SearchToolsResult
---@field tools tandem.ToolInfo[]

--- SearchedRoot is a folder of the workspace in which grep has searched.
---@class tandem.SearchedRoot
---@field root string
---@field state 'walking'|'building'|'ready' ready: an index says in which files a search can find something.
---@field reason? string Why there is no index, and each file is read, or why some files are not in it.
---@field files? integer In the index.
---@field bytes? integer That the index takes in memory, about.

--- ServerExperimental is capabilities.experimental.tandem of the initialize result.
---@class tandem.ServerExperimental
---@field protocolVersion integer 1.
---@field methods string[] Every tandem/* request and notification that the server takes.
---@field mismatch? string For a person, where the client named another version: which of the two is older, and what to do. It is also shown with window/showMessage. What both know works.

--- SessionInfo is one session.
---@class tandem.SessionInfo
---@field sessionId string
---@field cwd string
---@field title string
---@field updatedAt string RFC 3339.
---@field _meta? tandem.SessionMeta In tandem/session/list; absent where it could not be found out in time.

--- SessionMeta holds our own fields of a session.
---@class tandem.SessionMeta
---@field tandem tandem.SessionState

--- SessionParams name a session.
---@class tandem.SessionParams
---@field sessionId string

--- SessionState is what a person chooses a session by.
---@class tandem.SessionState
---@field turns integer Those that have ended or changed something.
---@field pending integer The hunks that stand and are neither accepted nor rejected.

--- SetModeParams of tandem/session/setMode.
---@class tandem.SetModeParams
---@field sessionId string
---@field mode string

--- SetModelParams of tandem/session/setModel.
---@class tandem.SetModelParams
---@field sessionId string
---@field model string provider/model; empty for the one that the configuration says, now and after it has changed.

--- SetRulesParams of tandem/permissions/set.
---@class tandem.SetRulesParams
---@field scope 'session'|'workspace'|'user' Where allow, ask and deny are added: for a session, for the workspace, or everywhere. The last two are kept in the person's own file.
---@field sessionId? string For the scope session; its folder is the one of the scope workspace, else the first of the workspace.
---@field allow? any[] PermissionRules: tool, params, class, act, profile. Another member is refused.
---@field ask? any[]
---@field deny? any[]
---@field remove? string[] Ids of rules, of any scope.

--- ShellResult is the result of the tool bash.
---@class tandem.ShellResult
---@field exitCode integer -1 where the command was stopped.
---@field stdout string
---@field stderr string
---@field timedOut boolean
---@field sandbox? string The level that the command ran at.

--- StatusResult of tandem/status.
---@class tandem.StatusResult
---@field version string
---@field models string[] What can be used now, the default first.
---@field sessions integer
---@field clients integer
---@field tools integer
---@field sandbox tandem.SandboxState
---@field watcher string on, off, or why it is off.
---@field perTool tandem.ToolStats[]
---@field usage tandem.Usage
---@field documents integer Open documents.
---@field suspect integer Open documents in which positions came that did not fit.
---@field cache tandem.CacheStats
---@field config string[] Errors and hints of the configuration.
---@field store tandem.StoreState
---@field jobs? tandem.JobState[] Commands that run in the background.
---@field mcpServers? tandem.MCPServerState[] The MCP servers of the sessions.
---@field plugins? tandem.PluginState[] The plug-ins of the configuration.
---@field deferred tandem.DeferredTools
---@field searched? tandem.SearchedRoot[] The folders in which grep has searched.
---@field keys? tandem.KeyVariable[] Where the keys of configured services come from, whichever settings say so.

--- SteerParams of tandem/session/steer.
---@class tandem.SteerParams
---@field sessionId string
---@field prompt tandem.ContentBlock[]

--- StoreState is what keeps the sessions and the journal of changes.
---@class tandem.StoreState
---@field kind 'closed'|'file'|'memory' closed until there is something to keep; in memory it ends with the server.
---@field path? string
---@field size? integer Bytes in use.
---@field quota? integer Bytes to keep to.
---@field sessions? integer That are kept, of all folders.
---@field intents? integer Changes that have begun and whose end is not written down.
---@field problem? string Why nothing is kept in a file, or why there are no figures.

--- ToolContent is something that a tool call shows.
---@class tandem.ToolContent
---@field type 'content'|'diff'
---@field content? tandem.ContentBlock
---@field path? string
---@field oldText? string Absent for a new file.
---@field newText? string
---@field _meta? tandem.Meta

--- ToolEvent of tandem/tools/event.
---@class tandem.ToolEvent
---@field type 'register'|'unregister'|'execute'|'error'
---@field name string
---@field source string
---@field sessionId? string
---@field callId? string
---@field durationMs? number
---@field error? string

--- ToolInfo describes a tool.
---@class tandem.ToolInfo
---@field name string
---@field aliases string[]
---@field title? string
---@field kind 'read'|'search'|'edit'|'delete'|'move'|'execute'|'fetch'|'think'|'other'
---@field category string
---@field description string
---@field parameters any A JSON Schema.
---@field readOnly boolean
---@field concurrencySafe boolean
---@field destructive boolean
---@field danger 'safe'|'moderate'|'dangerous'
---@field permissionClass 'read'|'write'|'execute'|'network'
---@field interrupt 'cancel'|'block' What a cancelled turn does to a running call: end it, or let it finish.
---@field inputStreaming boolean
---@field providers string[]
---@field source string builtin, or where else it comes from.
---@field deferred boolean A model is told of it by name alone, in the description of tool_search, until it has searched for it.
---@field enabled boolean
---@field disabledBy? string
---@field replaces? string The built-in tool whose place it has taken; see tandem/tools/register.

--- ToolResult is what every call answers, the same shape for success and failure.
---@class tandem.ToolResult
---@field success boolean
---@field data string Plain language for the model.
---@field context string The same as data.
---@field error? string The class of the failure; present exactly when success is false.
---@field reason? string The detail of an error, one word in lower case.
---@field summary? string One line for a person.
---@field result? any Structured data for a program.
---@field content? tandem.ContentPart[] What there is beside data.
---@field diff? tandem.FileDiff|tandem.FileDiff[] A list for several files.
---@field edit? lsp.WorkspaceEdit What a changing call changes, as documentChanges.
---@field applied? boolean Whether edit has landed.
---@field warnings? string[]
---@field issues? tandem.Issue[]
---@field denial? tandem.Denial
---@field truncated? boolean
---@field durationMs number
---@field callId string
---@field meta? tandem.ResultMeta

--- ToolSpec describes a tool that the client runs. What it does not declare is assumed to be the worst: a person is asked about each call, and no other call runs at the same time.
---@class tandem.ToolSpec
---@field name string Up to 64 letters, digits, _ and -.
---@field aliases? string[] Other names that are understood, never shown to a model.
---@field title? string What a person knows it by.
---@field description string What the model reads: when to use it, when not, what to do about an error.
---@field parameters? any A JSON Schema; absent, or no object, is no constraints.
---@field kind? 'read'|'search'|'edit'|'write'|'delete'|'move'|'execute'|'fetch'|'think'|'other' other if absent; write is edit.
---@field category? string
---@field readOnly? boolean true is the kind read where there is no kind. Only the kinds read and search are read-only.
---@field concurrencySafe? boolean It may run at the same time as reads and others that say so; false if absent.
---@field destructive? boolean true if absent, and the kind is neither read nor search.
---@field danger? 'safe'|'moderate'|'dangerous' If absent, dangerous for a destructive tool, else moderate, or safe for one that only reads.
---@field permissionClass? 'read'|'write'|'execute'|'network' By the kind if absent.
---@field interrupt? 'cancel'|'block' cancel if absent.
---@field inputStreaming? boolean Its arguments are shown while the model writes them.
---@field providers? string[] The providers whose models take it, each by its name or by the protocol that it speaks (anthropic, openai, openai-chat); all if empty.
---@field featureFlag? string The key of featureFlags that it stands behind.

--- ToolStats is how often a tool was called and what it took.
---@class tandem.ToolStats
---@field name string
---@field calls integer
---@field errors integer
---@field ms number
---@field bytes integer Of the results, as the model gets them.
---@field tokens integer About how many these are, at four bytes each.

--- TraceStage is one stage of the pipeline.
---@class tandem.TraceStage
---@field stage string
---@field ms number

--- TurnError is why a turn ended with stopReason "error".
---@class tandem.TurnError
---@field code string
---@field message string

--- UndoConflict is a file in which changes were left as they are, because they were edited since or their original text is no longer stored.
---@class tandem.UndoConflict
---@field uri string
---@field reason string

--- UndoParams of tandem/changes/undo and tandem/changes/redo.
---@class tandem.UndoParams
---@field sessionId string
---@field scope 'file'|'turn'|'toolCall'|'session'
---@field uri? string
---@field turn? integer The last turn that changed something if absent, to bring again the one of what was taken back last.
---@field toolCallId? string

--- UndoResult of tandem/changes/undo and tandem/changes/redo.
---@class tandem.UndoResult
---@field changed string[]
---@field conflicts tandem.UndoConflict[]

--- UnifiedDiff is the diff of one document.
---@class tandem.UnifiedDiff
---@field uri string
---@field diff string

--- UnregisterToolsParams of tandem/tools/unregister.
---@class tandem.UnregisterToolsParams
---@field names string[]

--- Update is one piece of news; SessionUpdate says which of the fields it has.
---@class tandem.Update
---@field sessionUpdate string user_message_chunk, agent_message_chunk, agent_thought_chunk, tool_call, tool_call_update, plan, current_mode_update, available_commands_update, usage_update, compaction_update or notice. Others may follow.
---@field content? tandem.ContentBlock|tandem.ToolContent[] A block of a message or a notice, a list for a tool call.
---@field toolCallId? string
---@field title? string
---@field kind? string read, search, edit, delete, move, execute, fetch, think or other.
---@field status? 'pending'|'in_progress'|'completed'|'failed'
---@field locations? tandem.Location[]
---@field rawInput? any The arguments; text where they are no JSON.
---@field rawOutput? any The result of ToolResult; absent where a result has more than 256 KiB for the model, of which content has the first lines.
---@field currentModeId? string
---@field availableCommands? tandem.Command[] Of an available_commands_update: all of them as they are now.
---@field entries? tandem.PlanEntry[] Of a plan: all of it as it is now.
---@field usage? tandem.Usage Of the turn so far, in a usage_update.
---@field used? integer Tokens of the conversation as the model has read it last, in a usage_update.
---@field size? integer Tokens that the model can read at most, in a usage_update, where that is known.
---@field compactionId? string Of a compaction_update, whose status is completed: from here on the model is sent less of what was before. A notice with the figures follows.
---@field cost? tandem.Cost Of the session so far, in a usage_update, where the price is known.
---@field _meta? tandem.Meta

--- UpdateMeta is _meta.tandem of an update.
---@class tandem.UpdateMeta
---@field state? 'queued'|'executing'|'completed'|'yielded' Where a call is on its way; yielded when its result has its place in the order.
---@field at? table<string, integer> When each state was reached, in ms since the turn began.
---@field phase? 'use'|'progress'|'result'|'rejected'|'error'|'grouped' grouped: the call runs together with those of calls.
---@field groupId? string Names the calls that run together, once there is more than one.
---@field calls? string[] With phase grouped: the calls of the group so far.
---@field batch? integer Calls of one number run together.
---@field partialInput? string The text of the arguments so far, while the model writes them.
---@field semantic? 'read'|'search'|'write'
---@field collapsible? boolean It only looks: a client may fold it.
---@field render? tandem.Render
---@field boundary? 'writes' Of a notice without text, once in a turn: from here on the turn changes things.
---@field summary? string One line for a person: of a failure the sentence for its error and reason.
---@field error? string The class of a failure.
---@field issues? tandem.Issue[] What is wrong with the arguments, with error INVALID_ARGS: the same as in the result, and as the model reads.
---@field reason? string The detail of a failure, one word in lower case; of a denied permission who denied it: user, unattended, unanswered, mode, rules or sandbox, or too_large where nobody could be shown it.
---@field denial? tandem.Denial With phase rejected.
---@field output? string Text that a running command has printed since the last update.
---@field turn? integer
---@field late? boolean Of a call that had failed with UNKNOWN: its edit has landed since.
---@field jobs? tandem.JobState[] Of a session_info_update: the commands of the session that run in the background now.

--- UpdateParams of tandem/session/update.
---@class tandem.UpdateParams
---@field sessionId string
---@field update tandem.Update

--- Usage counts tokens, of a turn where nothing else is said.
---@class tandem.Usage
---@field inputTokens integer All that the model has read.
---@field outputTokens integer
---@field cachedInputTokens? integer Those of inputTokens that came from the service's cache.
---@field cacheWriteTokens? integer Those of inputTokens that went into the service's cache.
---@field totalTokens integer
---@field cost? tandem.Cost Where the price is known.

--- Widget is something to be drawn; a client that does not know its type shows its title and its markdown.
---@class tandem.Widget
---@field type string progress (value of total), collapsible (title over markdown) or diff (of path). Others may follow.
---@field value? integer
---@field total? integer Absent where it is not known.
---@field title? string
---@field markdown? string
---@field path? string Absolute.

--- The version of the methods that are spoken here.
M.VERSION = 1

--- The error codes that are Tandem's own.
M.ERRORS = {
  unknown_session = -32011, -- There is no session of that id, or it is not loaded.
  session_busy = -32012, -- The session is answering another prompt, or another process has it.
  model_unavailable = -32013, -- The provider or the model is unknown, or its key is missing; the message says what to set. Nothing was sent.
  not_permitted = -32014, -- The session or the configuration does not allow it.
  no_such_folder = -32602, -- A cwd, a root or a workspace folder is not there or is no folder.
  no_turn = -32602, -- There is no running turn to steer.
}

--- What people are told of a failed call, by its class, or by class and reason.
---@type table<string, string>
M.FAILURES = {
  ['BINARY_FILE'] = 'This is not a text file.',
  ['BINARY_FILE/encoding'] = 'The encoding of this file is not supported. Save it as UTF-8.',
  ['BUDGET_EXCEEDED'] = 'This turn reached its limit of tool calls or time. The budget settings raise the limits.',
  ['CANCELLED'] = 'This was stopped.',
  ['CANCELLED/cut_off'] = 'The model\'s answer was cut off here. Nothing was changed.',
  ['CANCELLED/interrupted'] = 'Tandem exited before this was done. Nothing was changed.',
  ['CLAIMED'] = 'Another agent is working on this file. Nothing was changed.',
  ['CLARIFY_TIMEOUT'] = 'The question was not answered in time.',
  ['EDIT_CONFLICT'] = 'These lines were changed while the agent was editing them. Its edit was not applied.',
  ['EDIT_CONFLICT/deleted'] = 'The file was deleted in the meantime. Nothing was written.',
  ['EDIT_CONFLICT/disk_newer'] = 'The file is newer on disk than in the editor. Reload it first. It was not deleted.',
  ['EDIT_CONFLICT/editor_busy'] = 'The files were being changed all the time. Nothing was changed.',
  ['EDIT_CONFLICT/linked'] = 'The file has more than one name on disk, and the edit would change all of them. It was not made.',
  ['EDIT_CONFLICT/not_empty'] = 'The folder is not empty. It was not removed.',
  ['EDIT_CONFLICT/open_elsewhere'] = 'The file has unsaved changes in a notebook or another kind of editor. Save it first.',
  ['EDIT_CONFLICT/opened_twice'] = 'The editor has this file open under two names. Close one of them.',
  ['EDIT_CONFLICT/out_of_step'] = 'Tandem\'s copy of this file is out of sync with the editor. Close and reopen it.',
  ['EDIT_CONFLICT/undone'] = 'You took the edit back at once. It is not in the text.',
  ['EDIT_CONFLICT/unsaved'] = 'The file has unsaved changes, and the editor cannot apply edits. Save the file first.',
  ['EXECUTION_ERROR'] = 'The tool failed. See the log for details.',
  ['EXECUTION_ERROR/not_started'] = 'The command could not be started.',
  ['FILE_EXISTS'] = 'A file with this name already exists. It was not changed.',
  ['FILE_TOO_LARGE'] = 'The file is too large. The setting limits.maxFileBytes raises the limit.',
  ['GATE_DENIED'] = 'Permission was denied. Nothing was done.',
  ['GATE_DENIED/mode'] = 'The mode of this session does not allow this. Change the mode to allow it.',
  ['GATE_DENIED/protected'] = 'No tool may do this, in any mode. Nothing was done.',
  ['GATE_DENIED/rules'] = 'A permission rule denies this. Change the rule in your settings to allow it.',
  ['GATE_DENIED/sandbox'] = 'The sandbox that this command needs is not available. Nothing was run.',
  ['GATE_DENIED/too_large'] = 'The change is too large to be shown for approval. Nothing was changed.',
  ['GATE_DENIED/unanswered'] = 'The permission prompt got an invalid reply. Nothing was changed.',
  ['GATE_DENIED/unattended'] = 'No one was available to grant permission. Nothing was changed.',
  ['GATE_DENIED/user'] = 'You denied this. Nothing was done.',
  ['INVALID_ARGS'] = 'The model called this tool with invalid arguments. It has received the error.',
  ['IS_DIRECTORY'] = 'This is a folder, not a file.',
  ['NETWORK_DENIED'] = 'Network access is not allowed. The setting sandbox.network allows hosts.',
  ['NETWORK_DENIED/address'] = 'This address is not on the public internet.',
  ['NOT_READ'] = 'The model has not read this text yet. Nothing was changed.',
  ['NO_CHANGE'] = 'There was nothing to change.',
  ['OUTSIDE_ROOTS'] = 'The path is outside this session\'s folders. The setting readRoots adds folders.',
  ['OUTSIDE_ROOTS/replaced'] = 'The session\'s folder was deleted and created again. Reopen the session or start a new one. Nothing was changed.',
  ['OUTSIDE_WRITE_ROOTS'] = 'The path is outside the folders that may be changed. The setting writeRoots adds folders.',
  ['PATCH_FAILED'] = 'The patch does not fit the files. Nothing was changed.',
  ['PATCH_PARSE_ERROR'] = 'The patch is malformed. Nothing was changed.',
  ['PLAN_MODE'] = 'In plan mode nothing is changed or run. Choose another mode to allow it.',
  ['PROTECTED_PATH'] = 'This path is protected. Nothing was changed.',
  ['READ_ERROR'] = 'This could not be read.',
  ['READ_ERROR/eacces'] = 'You have no permission to read this. Check the permissions of the file.',
  ['READ_ERROR/enoent'] = 'There is no file or folder with this name.',
  ['READ_ERROR/enotdir'] = 'A part of the path is not a folder.',
  ['READ_ERROR/invalid_path'] = 'The path is not valid.',
  ['READ_ERROR/name_too_long'] = 'The path is too long.',
  ['READ_ERROR/not_directory'] = 'This is not a folder.',
  ['READ_ERROR/not_regular'] = 'This is not a regular file.',
  ['READ_ERROR/out_of_step'] = 'Tandem\'s copy of this file is out of sync with the editor. Close and reopen it.',
  ['READ_ERROR/search_failed'] = 'The search failed.',
  ['READ_ERROR/symlink_loop'] = 'The symbolic links in this path form a loop.',
  ['READ_ERROR/timeout'] = 'The disk did not answer in time.',
  ['SIBLING_CANCELLED'] = 'This was stopped because another command of the same batch failed.',
  ['TEXT_MULTIPLE_MATCHES'] = 'The text to replace occurs more than once in the file. Nothing was changed.',
  ['TEXT_NOT_FOUND'] = 'The text to replace is not in the file. Nothing was changed.',
  ['TIMEOUT'] = 'This took too long and was stopped.',
  ['TIMEOUT/editor_busy'] = 'The editor did not apply the edit in time. Nothing was changed.',
  ['TIMEOUT/held'] = 'The editor has not confirmed the edit before this one yet. Nothing was changed.',
  ['TIMEOUT/locked'] = 'Another edit of this file was still running. Nothing was changed.',
  ['TIMEOUT/timeout'] = 'The command took too long and was stopped.',
  ['TOOL_NOT_FOUND'] = 'The model called a tool that does not exist.',
  ['TOOL_NOT_FOUND/disabled'] = 'This tool is disabled in the settings.',
  ['UNKNOWN'] = 'It is unknown whether this took effect. Check the file.',
  ['UNKNOWN/held'] = 'The editor has not confirmed the edit yet.',
  ['UNKNOWN/interrupted'] = 'Tandem exited while this was running. It is unknown whether it took effect.',
  ['UNKNOWN/no_echo'] = 'The editor did not confirm the edit. Check the file.',
  ['UNKNOWN/no_reply'] = 'The editor did not answer. Check whether the edit was applied.',
  ['UNSUPPORTED'] = 'This is not possible here.',
  ['UNSUPPORTED/no_client'] = 'This editor cannot show the model\'s questions.',
  ['WRITE_ERROR'] = 'The file could not be written. It was not changed.',
  ['WRITE_ERROR/eacces'] = 'You have no permission to write this file. Check its permissions.',
  ['WRITE_ERROR/encoding'] = 'The text cannot be written in the encoding of this file. Save the file as UTF-8.',
  ['WRITE_ERROR/enospc'] = 'The disk is full. The file was not changed.',
  ['WRITE_ERROR/journal'] = 'The state folder of Tandem could not be written. The file was not changed.',
  ['WRITE_ERROR/name_too_long'] = 'The path is too long.',
  ['WRITE_ERROR/no_editor'] = 'The editor cannot apply edits. Nothing was changed.',
  ['WRITE_ERROR/not_regular'] = 'This is not a regular file. It was not changed.',
  ['WRITE_ERROR/refused'] = 'The editor refused the edit. The file may be read-only. It was not changed.',
  ['WRITE_ERROR/size'] = 'The file would become too large. It was not changed.',
  ['WRITE_ERROR/stuck'] = 'Writing the file was interrupted. Check its content.',
}

--- What people are told of the end of a turn, by its stopReason, or lost where the server ended.
---@type table<string, string>
M.ENDINGS = {
  ['budget_exceeded'] = 'The turn reached the budget in your settings.',
  ['cancelled'] = 'Stopped.',
  ['end_turn'] = 'Done.',
  ['error'] = 'The turn failed.',
  ['interrupted'] = 'The turn was interrupted: its window or session was closed.',
  ['lost'] = 'The server stopped.',
  ['max_tokens'] = 'The answer reached the model\'s length limit.',
  ['max_turn_requests'] = 'The turn reached the limit of model requests in your settings.',
  ['refusal'] = 'The model refused to answer.',
}

--- The word for the state of a call: its status, or rejected or cancelled.
---@type table<string, string>
M.STATES = {
  ['cancelled'] = 'stopped',
  ['completed'] = 'done',
  ['failed'] = 'failed',
  ['in_progress'] = 'running',
  ['pending'] = 'waiting',
  ['rejected'] = 'denied',
}

--- The sentence for people of a failed call, from its error and reason. The call's summary is that sentence too.
---@param error string
---@param reason? string
---@return string
function M.failure(error, reason)
  local exit = error:match('^EXIT_CODE_(.+)$')
  return M.FAILURES[error .. '/' .. (reason or '')]
    or M.FAILURES[error]
    or (exit and 'The command ended with exit code ' .. exit .. '.' or 'This failed.')
end

--- The sentence for people of the end of a turn.
---@param stop_reason string
---@return string
function M.ending(stop_reason)
  return M.ENDINGS[stop_reason] or M.ENDINGS.error
end

--- The word for people of the state of a call, from its status, phase and error.
---@param status string
---@param phase? string
---@param error? string
---@return string
function M.state(status, phase, error)
  if phase == 'rejected' or error == 'GATE_DENIED' then
    status = 'rejected'
  elseif error == 'CANCELLED' or error == 'SIBLING_CANCELLED' then
    status = 'cancelled'
  end
  return M.STATES[status] or ''
end

--- What the server answers.
M.ServerRequests = {
  'shutdown',
  'tandem/session/new',
  'tandem/session/list',
  'tandem/session/load',
  'tandem/session/fork',
  'tandem/session/checkpoints',
  'tandem/session/restore',
  'tandem/session/prompt',
  'tandem/session/steer',
  'tandem/session/compact',
  'tandem/session/setMode',
  'tandem/mentions/complete',
  'tandem/session/setModel',
  'tandem/session/close',
  'tandem/session/delete',
  'tandem/session/rename',
  'tandem/session/search',
  'tandem/session/export',
  'tandem/changes/diff',
  'tandem/changes/list',
  'tandem/changes/accept',
  'tandem/changes/reject',
  'tandem/changes/undo',
  'tandem/changes/records',
  'tandem/changes/redo',
  'tandem/plan/list',
  'tandem/plan/approve',
  'tandem/plan/discard',
  'tandem/fileTime/get',
  'tandem/tools/list',
  'tandem/tools/get',
  'tandem/tools/call',
  'tandem/tools/batch',
  'tandem/tools/assess',
  'tandem/permissions/list',
  'tandem/permissions/set',
  'tandem/tools/search',
  'tandem/tools/register',
  'tandem/tools/unregister',
  'tandem/audit/query',
  'tandem/claims/list',
  'tandem/deadLetters/list',
  'tandem/deadLetters/retry',
  'tandem/deadLetters/discard',
  'tandem/status',
}

--- What the server takes without an answer.
M.ServerNotifications = {
  'exit',
  'tandem/session/cancel',
  'tandem/model/chunk',
  'tandem/documents/elsewhere',
}

--- What the server asks.
M.ClientRequests = {
  'tandem/session/requestPermission',
  'tandem/session/clarify',
  'tandem/model/stream',
  'workspace/applyEdit',
  'tandem/documents/save',
  'tandem/documents/resync',
  'tandem/editor/request',
  'workspace/codeLens/refresh',
  'tandem/tools/invoke',
}

--- What the server tells.
M.ClientNotifications = {
  'tandem/session/update',
  'tandem/session/resolved',
  'tandem/changes/didChange',
  'tandem/plan/didChange',
  'tandem/fileTime',
  'tandem/tools/event',
}

return M
