// Package words has the texts of calls: for people one sentence for each code of the wire and one
// word for each state, for a model a Text in its language, and the distance of a misspelt name from
// a known one. What a tool answers the model (Result.Data) is written for the model and is not
// shown to people; they are shown these sentences. The clients have the same tables, generated into
// editors/vscode/src/protocol.ts and editors/nvim/lua/tandem/protocol.lua.
package words

import (
	"maps"
	"strings"
	"sync"
)

// Failure is the sentence for a class of failure. reason is the detail, which has a sentence of its
// own where the class alone would say too little; of a refused permission it is who refused (see
// tools.Denial). A class that is not known is said to have failed.
func Failure(code, reason string) string {
	if s, ok := failures()[code+"/"+reason]; ok {
		return s
	}
	if s, ok := failures()[code]; ok {
		return s
	}
	if n, ok := strings.CutPrefix(code, exitCode); ok {
		return exited + n + "."
	}
	return failed
}

// Ending is the sentence for the reason why a turn ended.
func Ending(stopReason string) string {
	if s, ok := endings()[stopReason]; ok {
		return s
	}
	return endings()["error"]
}

// State is the word for the state of a call, from the members of its update: status, phase and
// error.
func State(status, phase, code string) string {
	switch {
	case phase == "rejected" || code == "GATE_DENIED":
		return states()["rejected"]
	case code == "CANCELLED" || code == "SIBLING_CANCELLED":
		return states()["cancelled"]
	}
	return states()[status]
}

// Failures are the sentences of Failure by class, or by class and reason as "CLASS/reason".
func Failures() map[string]string { return maps.Clone(failures()) }

// Endings are the sentences of Ending.
func Endings() map[string]string { return maps.Clone(endings()) }

// States are the words of State.
func States() map[string]string { return maps.Clone(states()) }

// The class of a command that ended with another code than 0 is exitCode and that code; exited
// begins its sentence. failed is for a class that is not known.
const (
	exitCode = "EXIT_CODE_"
	exited   = "The command ended with exit code "
	failed   = "This failed."
)

var failures = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"TOOL_NOT_FOUND":          "The model called a tool that does not exist.",
		"TOOL_NOT_FOUND/disabled": "This tool is disabled in the settings.",
		"INVALID_ARGS":            "The model called this tool with invalid arguments. It has received the error.",
		"NO_CHANGE":               "There was nothing to change.",

		"GATE_DENIED":            "Permission was denied. Nothing was done.",
		"GATE_DENIED/user":       "You denied this. Nothing was done.",
		"GATE_DENIED/unattended": "No one was available to grant permission. Nothing was changed.",
		"GATE_DENIED/unanswered": "The permission prompt got an invalid reply. Nothing was changed.",
		"GATE_DENIED/mode":       "The mode of this session does not allow this. Change the mode to allow it.",
		"GATE_DENIED/rules":      "A permission rule denies this. Change the rule in your settings to allow it.",
		"GATE_DENIED/protected":  "No tool may do this, in any mode. Nothing was done.",
		"GATE_DENIED/too_large":  "The change is too large to be shown for approval. Nothing was changed.",
		"GATE_DENIED/sandbox":    "The sandbox that this command needs is not available. Nothing was run.",
		"PLAN_MODE":              "In plan mode nothing is changed or run. Choose another mode to allow it.",
		"OUTSIDE_ROOTS":          "The path is outside this session's folders. The setting readRoots adds folders.",
		"OUTSIDE_ROOTS/replaced": "The session's folder was deleted and created again. Reopen the session or start a new one. Nothing was changed.",
		"OUTSIDE_WRITE_ROOTS":    "The path is outside the folders that may be changed. The setting writeRoots adds folders.",
		"PROTECTED_PATH":         "This path is protected. Nothing was changed.",
		"CLAIMED":                "Another agent is working on this file. Nothing was changed.",
		"NETWORK_DENIED/address": "This address is not on the public internet.",
		"NETWORK_DENIED":         "Network access is not allowed. The setting sandbox.network allows hosts.",

		"READ_ERROR":               "This could not be read.",
		"READ_ERROR/enoent":        "There is no file or folder with this name.",
		"READ_ERROR/eacces":        "You have no permission to read this. Check the permissions of the file.",
		"READ_ERROR/not_regular":   "This is not a regular file.",
		"READ_ERROR/not_directory": "This is not a folder.",
		"READ_ERROR/enotdir":       "A part of the path is not a folder.",
		"READ_ERROR/symlink_loop":  "The symbolic links in this path form a loop.",
		"READ_ERROR/name_too_long": "The path is too long.",
		"READ_ERROR/invalid_path":  "The path is not valid.",
		"READ_ERROR/timeout":       "The disk did not answer in time.",
		"READ_ERROR/search_failed": "The search failed.",
		"IS_DIRECTORY":             "This is a folder, not a file.",
		"FILE_EXISTS":              "A file with this name already exists. It was not changed.",
		"FILE_TOO_LARGE":           "The file is too large. The setting limits.maxFileBytes raises the limit.",
		"BINARY_FILE":              "This is not a text file.",
		"BINARY_FILE/encoding":     "The encoding of this file is not supported. Save it as UTF-8.",

		"READ_ERROR/out_of_step":    "Tandem's copy of this file is out of sync with the editor. Close and reopen it.",
		"WRITE_ERROR":               "The file could not be written. It was not changed.",
		"WRITE_ERROR/eacces":        "You have no permission to write this file. Check its permissions.",
		"WRITE_ERROR/enospc":        "The disk is full. The file was not changed.",
		"WRITE_ERROR/encoding":      "The text cannot be written in the encoding of this file. Save the file as UTF-8.",
		"WRITE_ERROR/journal":       "The state folder of Tandem could not be written. The file was not changed.",
		"WRITE_ERROR/stuck":         "Writing the file was interrupted. Check its content.",
		"WRITE_ERROR/not_regular":   "This is not a regular file. It was not changed.",
		"WRITE_ERROR/refused":       "The editor refused the edit. The file may be read-only. It was not changed.",
		"WRITE_ERROR/size":          "The file would become too large. It was not changed.",
		"WRITE_ERROR/name_too_long": "The path is too long.",
		"WRITE_ERROR/no_editor":     "The editor cannot apply edits. Nothing was changed.",

		"TEXT_NOT_FOUND":               "The text to replace is not in the file. Nothing was changed.",
		"TEXT_MULTIPLE_MATCHES":        "The text to replace occurs more than once in the file. Nothing was changed.",
		"NOT_READ":                     "The model has not read this text yet. Nothing was changed.",
		"PATCH_PARSE_ERROR":            "The patch is malformed. Nothing was changed.",
		"PATCH_FAILED":                 "The patch does not fit the files. Nothing was changed.",
		"EDIT_CONFLICT":                "These lines were changed while the agent was editing them. Its edit was not applied.",
		"EDIT_CONFLICT/unsaved":        "The file has unsaved changes, and the editor cannot apply edits. Save the file first.",
		"EDIT_CONFLICT/disk_newer":     "The file is newer on disk than in the editor. Reload it first. It was not deleted.",
		"EDIT_CONFLICT/deleted":        "The file was deleted in the meantime. Nothing was written.",
		"EDIT_CONFLICT/out_of_step":    "Tandem's copy of this file is out of sync with the editor. Close and reopen it.",
		"EDIT_CONFLICT/undone":         "You took the edit back at once. It is not in the text.",
		"EDIT_CONFLICT/opened_twice":   "The editor has this file open under two names. Close one of them.",
		"EDIT_CONFLICT/open_elsewhere": "The file has unsaved changes in a notebook or another kind of editor. Save it first.",
		"EDIT_CONFLICT/linked":         "The file has more than one name on disk, and the edit would change all of them. It was not made.",
		"EDIT_CONFLICT/editor_busy":    "The files were being changed all the time. Nothing was changed.",
		"EDIT_CONFLICT/not_empty":      "The folder is not empty. It was not removed.",

		"TIMEOUT":             "This took too long and was stopped.",
		"TIMEOUT/timeout":     "The command took too long and was stopped.",
		"TIMEOUT/editor_busy": "The editor did not apply the edit in time. Nothing was changed.",
		"TIMEOUT/locked":      "Another edit of this file was still running. Nothing was changed.",
		"TIMEOUT/held":        "The editor has not confirmed the edit before this one yet. Nothing was changed.",
		"UNKNOWN":             "It is unknown whether this took effect. Check the file.",
		"UNKNOWN/no_echo":     "The editor did not confirm the edit. Check the file.",
		"UNKNOWN/no_reply":    "The editor did not answer. Check whether the edit was applied.",
		"UNKNOWN/held":        "The editor has not confirmed the edit yet.",
		"UNKNOWN/interrupted": "Tandem exited while this was running. It is unknown whether it took effect.",

		"CANCELLED":             "This was stopped.",
		"CANCELLED/interrupted": "Tandem exited before this was done. Nothing was changed.",
		"CANCELLED/cut_off":     "The model's answer was cut off here. Nothing was changed.",
		"SIBLING_CANCELLED":     "This was stopped because another command of the same batch failed.",
		"BUDGET_EXCEEDED":       "This turn reached its limit of tool calls or time. The budget settings raise the limits.",
		"CLARIFY_TIMEOUT":       "The question was not answered in time.",

		"UNSUPPORTED":                 "This is not possible here.",
		"UNSUPPORTED/no_client":       "This editor cannot show the model's questions.",
		"EXECUTION_ERROR":             "The tool failed. See the log for details.",
		"EXECUTION_ERROR/not_started": "The command could not be started.",
	}
})

var endings = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"end_turn":          "Done.",
		"max_tokens":        "The answer reached the model's length limit.",
		"max_turn_requests": "The turn reached the limit of model requests in your settings.",
		"refusal":           "The model refused to answer.",
		"cancelled":         "Stopped.",
		"budget_exceeded":   "The turn reached the budget in your settings.",
		"error":             "The turn failed.",
		"lost":              "The server stopped.",
		"interrupted":       "The turn was interrupted: its window or session was closed.",
	}
})

var states = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"pending":     "waiting",
		"in_progress": "running",
		"completed":   "done",
		"failed":      "failed",
		"rejected":    "denied",
		"cancelled":   "stopped",
	}
})
