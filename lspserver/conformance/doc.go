// Package conformance tests a server from its editor's side: an [Editor] that is a language client of its own, in three
// profiles, a [Person] who types into it, and scenarios, which are whole sessions as files.
//
// # A scenario file
//
// A scenario is a txtar archive. Its first lines are prose that says why it exists. It is played inside a
// testing/synctest bubble by the real server over a pipe in memory, with a scripted model, scripted commands and an
// editor over a real folder. The sections:
//
//	flags              what kind of editor and session, see below
//	disk/PATH          a file of the workspace as it is at the start
//	outside/PATH       a file beside the workspace, in the folder $OUTSIDE, which is ../out of the workspace
//	buffer/PATH        what the editor shows when PATH is opened: text that was never saved. PATH may be $OUTSIDE/…
//	capabilities.json  laid over the editor's own capabilities; null takes one away. With experimental.tandem.model the
//	                   script is that of a model which the editor lends
//	settings.json      laid over initializationOptions; the person's own where the editor declares nothing of Tandem
//	steps              what the person does, a line each
//	model              the model's script (see tandem/agent/model/script), the same for all sessions
//	commands           what the commands that the agent runs do, see [Commands]
//	languages          what the editor's language servers answer to tandem/editor/request: a method and the results on each
//	                   line, in their order; the last line of a method counts again
//	@updates           golden: the calls in the order in which they were made and what became of each, plans, notices, ends
//	@buffer/PATH       golden: how an open document differs from its start, without context
//	@disk/PATH         golden: the same for a file; (gone) and (empty) where that says it
//	@outside/PATH      golden: the same for a file beside the workspace
//	@result            golden: every answer in full; only looked at where the section is there
//	@wire              golden: the messages named by -wire
//
// A FILE of a step is relative to the workspace, or begins with $OUTSIDE/.
//
// In all inputs $ROOT is the workspace folder, $OUTSIDE the one beside it and $SESSION the session's id; goldens have
// the names again.
//
// # Flags
//
//	-profile=strict,race,lying   the editors to play it in, each on its own, all with the same goldens; strict
//	-mode=auto                   the session's mode
//	-encoding=utf-16             of positions
//	-there=20ms -back=20ms       how long a message is under way to the server and from it
//	-hold=150ms                  changes wait that long; an edit is then answered before its echo
//	-hold=insert                 changes wait while the person is in Insert mode: from a key until nobody has typed for 300 ms
//	-idle                        the time begins again with each change
//	-fails                       an edit for another text is answered with an error
//	-merge                       held changes go out as one range
//	-reorder                     each third change is sent after the next one, if that comes within 50 ms
//	-widen                       changes are sent as whole lines
//	-split                       each text edit is echoed in a didChange of its own
//	-whole                       didChange has whole texts
//	-reply-first                 an edit is answered before its echo
//	-window=5ms                  between a racing editor's check and its edit; without it, it does not check
//	-forget                      an edit for an older text brings that text back, without what was typed since
//	-reopen                      a document is closed and opened again when the first edit for it arrives
//	-full                        the editor has no room to save: every save fails
//	-trim                        the editor takes trailing blanks away when it saves
//	-reply=1:lost,2:error        what becomes of the answer to the n-th edit; also refused
//	-quoted=PATH,PATH            these inputs are one Go string each, for bytes that a txtar cannot hold
//	-wire=METHOD,METHOD          the messages of the golden @wire
//	-exit=0                      the server's exit code
//
// # Steps
//
// Words are separated by blanks; a string is quoted as in Go, a /regular expression/ is Go's with (?m) and must match
// exactly one place, JSON goes on to the end of the line. A line that begins with # is a remark.
//
//	open FILE, close FILE, save FILE        as a person does in an editor
//	reload FILE                             the editor reads a saved document again that somebody else has written
//	type FILE /re/ "text"                   types after the match
//	delete FILE /re/, replace FILE /re/ "text"
//	burst FILE /re/ "text"                  types after the match, a key every 4 ms, beside what follows
//	editor-undo FILE                        the editor's own undo, one step
//	write-disk FILE "text", remove-disk FILE, link-disk FILE TARGET   somebody else does it
//	prompt "text" [select=FILE:/re/]        asks and waits for the end of the turn
//	steer "text"                            says something to the running turn
//	cancel                                  cancels the turn
//	call [apply=WHERE] NAME {json}, batch [json]   tandem/tools/call and batch
//	undo turn N, undo call N                tandem/changes/undo
//	mode NAME, session [FOLDER…]            another mode, another session for what follows, with further roots
//	request METHOD [json], notify METHOD [json]
//	probe METHOD {json}                     asks the editor something in the server's place; the server sees no answer
//	wait 2s                                 in the time of the bubble
//	hang-up                                 ends the connection without a word
//	expect buffer FILE /re/, expect disk FILE /re/, expect no FILE
//	expect result /re/                      in the latest answer
//	expect heard METHOD /re/                in one of the notifications so far
//
// A trigger before a step makes it wait for an event, counted from 1 over the whole scenario. Steps that wait for the
// server (prompt, call, undo, …) cannot stand behind one.
//
//	after call=N STEP     the model has the result of call N before it and is about to go on
//	during call=N STEP    call N has begun to run
//	before apply=N STEP   the N-th workspace/applyEdit has arrived and not been looked at
//	during apply=N STEP   it arrived 2 ms ago; an editor that looks at versions on arrival may not have edited yet
//	after apply=N STEP    it was carried out and not yet answered
//	before answer=N STEP  the N-th question for permission is on the screen
//	on ask answer=OPTION  the answer to every question, on ask=N to the N-th: an option id, after a colon the word
//	                      that the person writes with it; or cancelled.
//	                      Of window/showMessageRequest: the title, wherever it is on offer
//
// # What fails
//
// Besides a golden that differs: a line of the model or a command that was not used, a model that was asked too often,
// a see that does not match, a question that nobody answers, a trigger that never came, a changed file without a
// golden, a golden without a change, a request or notification that is not known here, an edit that overlaps itself or
// points nowhere, states of a call out of order, text of the model that did not arrive as it was said, bytes that are
// no frame, an exit code other than -exit, a goroutine that stays.
//
// "go test ./lspserver/conformance -run Scenario -update" rewrites the sections that begin with @ and no others.
package conformance
