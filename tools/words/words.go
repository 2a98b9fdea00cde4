// Package words is what people are told: one sentence for each code of the wire, and one word for each state of a call.
// What a tool answers the model (Result.Data) is written for the model and is not shown to people; they are shown these.
// The clients have the same tables, generated into editors/vscode/src/protocol.ts and
// editors/nvim/lua/tandem/protocol.lua.
package words

import (
	"maps"
	"strings"
)

// Failure is the sentence for a class of failure. reason is the detail, which has a sentence of its own where the class
// alone would say too little; of a refused permission it is who refused (see tools.Denial). A class that is not known is
// said to have failed.
func Failure(code, reason string) string {
	if s, ok := failures[code+"/"+reason]; ok {
		return s
	}
	if s, ok := failures[code]; ok {
		return s
	}
	if n, ok := strings.CutPrefix(code, exitCode); ok {
		return exited + n + "."
	}
	return failed
}

// Ending is the sentence for the reason why a turn ended.
func Ending(stopReason string) string {
	if s, ok := endings[stopReason]; ok {
		return s
	}
	return endings["error"]
}

// State is the word for the state of a call, from the members of its update: status, phase and error.
func State(status, phase, code string) string {
	switch {
	case phase == "rejected" || code == "GATE_DENIED":
		return states["rejected"]
	case code == "CANCELLED" || code == "SIBLING_CANCELLED":
		return states["cancelled"]
	}
	return states[status]
}

// Failures are the sentences of Failure by class, or by class and reason as "CLASS/reason".
func Failures() map[string]string { return maps.Clone(failures) }

// Endings are the sentences of Ending.
func Endings() map[string]string { return maps.Clone(endings) }

// States are the words of State.
func States() map[string]string { return maps.Clone(states) }

// The class of a command that ended with another code than 0 is exitCode and that code; exited begins its sentence.
// failed is for a class that is not known.
const (
	exitCode = "EXIT_CODE_"
	exited   = "The command ended with exit code "
	failed   = "This failed."
)

var failures = map[string]string{
	"TOOL_NOT_FOUND":          "The model asked for a tool that does not exist.",
	"TOOL_NOT_FOUND/disabled": "This tool is disabled in the settings.",
	"INVALID_ARGS":            "The model called the tool with wrong arguments. It was told what is wrong.",
	"NO_CHANGE":               "There was nothing to change.",

	"GATE_DENIED":            "Permission was denied. Nothing was done.",
	"GATE_DENIED/user":       "You denied this. Nothing was done.",
	"GATE_DENIED/unattended": "Nobody could be asked for permission. Nothing was done.",
	"GATE_DENIED/unanswered": "The question for permission got no valid answer. Nothing was done.",
	"GATE_DENIED/mode":       "The mode of this session does not allow this. Change the mode to allow it.",
	"GATE_DENIED/rules":      "A permission rule denies this. Change the rule in your settings to allow it.",
	"GATE_DENIED/protected":  "No tool may do this, in any mode. Nothing was done.",
	"GATE_DENIED/too_large":  "The change is too large to be shown, so you were not asked. Nothing was done.",
	"GATE_DENIED/sandbox":    "The sandbox that the command needs is not there. Nothing was run.",
	"PLAN_MODE":              "The mode is plan: nothing is changed or run. Choose another mode to allow it.",
	"OUTSIDE_ROOTS":          "The path is outside the folders of this session. The setting readRoots adds folders.",
	"OUTSIDE_ROOTS/replaced": "The folder was deleted and made anew. Open the session again or begin a new one. Nothing was done.",
	"OUTSIDE_WRITE_ROOTS":    "The path is outside the folders that may be changed. The setting writeRoots adds folders.",
	"PROTECTED_PATH":         "This path is protected. Nothing was changed.",
	"CLAIMED":                "Another agent is working on this file. Nothing was changed.",
	"NETWORK_DENIED/address": "That is not on the public internet.",
	"NETWORK_DENIED":         "The network may not be used here. The setting sandbox.network allows hosts.",

	"READ_ERROR":               "This could not be read.",
	"READ_ERROR/enoent":        "There is no file or folder of that name.",
	"READ_ERROR/eacces":        "You have no permission to read this. Check the permissions of the file.",
	"READ_ERROR/not_regular":   "This is not a regular file.",
	"READ_ERROR/not_directory": "This is not a folder.",
	"READ_ERROR/enotdir":       "A part of the path is not a folder.",
	"READ_ERROR/symlink_loop":  "The symbolic links of this path lead in a circle.",
	"READ_ERROR/name_too_long": "The path is too long.",
	"READ_ERROR/invalid_path":  "The path is not valid.",
	"READ_ERROR/timeout":       "The disk did not answer in time.",
	"READ_ERROR/search_failed": "The search failed.",
	"IS_DIRECTORY":             "This is a folder, not a file.",
	"FILE_EXISTS":              "A file of that name exists already. It was not changed.",
	"FILE_TOO_LARGE":           "The file is too large. The setting limits.maxFileBytes raises the limit.",
	"BINARY_FILE":              "This is not a text file.",
	"BINARY_FILE/encoding":     "The encoding of this file is not supported. Save it as UTF-8.",

	"READ_ERROR/out_of_step":    "Tandem's copy of this file is out of sync with the editor. Close and reopen it.",
	"WRITE_ERROR":               "The file could not be written. It was not changed.",
	"WRITE_ERROR/eacces":        "You have no permission to write this file. Check its permissions.",
	"WRITE_ERROR/enospc":        "The disk is full. The file was not changed.",
	"WRITE_ERROR/encoding":      "The text cannot be written in the encoding of this file. Save the file as UTF-8.",
	"WRITE_ERROR/journal":       "The state folder of Tandem could not be written. The file was not changed.",
	"WRITE_ERROR/stuck":         "Writing the file was interrupted. Check what it says now.",
	"WRITE_ERROR/not_regular":   "This is not a regular file. It was not changed.",
	"WRITE_ERROR/refused":       "The editor does not let this file be changed: it may be read-only. It was not changed.",
	"WRITE_ERROR/size":          "The file would become too large. It was not changed.",
	"WRITE_ERROR/name_too_long": "The path is too long.",
	"WRITE_ERROR/no_editor":     "The editor cannot apply edits. Nothing was changed.",

	"TEXT_NOT_FOUND":             "The text to be replaced is not in the file. Nothing was changed.",
	"TEXT_MULTIPLE_MATCHES":      "The text to be replaced is in the file more than once. Nothing was changed.",
	"NOT_READ":                   "The model had not read this text yet. Nothing was changed.",
	"PATCH_PARSE_ERROR":          "The patch is malformed. Nothing was changed.",
	"PATCH_FAILED":               "The patch does not fit the files. Nothing was changed.",
	"EDIT_CONFLICT":              "This text was changed by somebody else meanwhile. The edit was not applied.",
	"EDIT_CONFLICT/unsaved":      "The file has unsaved changes, and the editor cannot apply edits. Save the file first.",
	"EDIT_CONFLICT/disk_newer":   "The file is newer on disk than in the editor. Load it from disk first. It was not deleted.",
	"EDIT_CONFLICT/deleted":      "The file was deleted meanwhile. Nothing was written.",
	"EDIT_CONFLICT/out_of_step":  "The editor shows another text than it told. Close the file and open it again.",
	"EDIT_CONFLICT/opened_twice": "The editor has this file open under two names. Close one of them.",

	"TIMEOUT":             "This took too long and was stopped.",
	"TIMEOUT/timeout":     "The command took too long and was stopped.",
	"TIMEOUT/editor_busy": "The editor did not take the edit in time. Nothing was changed.",
	"TIMEOUT/locked":      "Another edit of this file was still under way. Nothing was changed.",
	"UNKNOWN":             "Whether this took effect is not known. Check the file.",
	"UNKNOWN/no_echo":     "The editor did not show whether it took the edit. Check the file.",
	"UNKNOWN/no_reply":    "The editor did not answer whether it took the edit. Check the file.",
	"UNKNOWN/held":        "The editor has not shown the edit yet.",
	"UNKNOWN/interrupted": "The program ended while this was running. Whether it took effect is not known.",

	"CANCELLED":             "This was stopped.",
	"CANCELLED/interrupted": "The program ended before this was done. Nothing was changed.",
	"CANCELLED/cut_off":     "The answer of the model was cut off here. Nothing was done.",
	"SIBLING_CANCELLED":     "This was stopped because a command beside it failed.",
	"BUDGET_EXCEEDED":       "The turn has used up its tool calls or their time. The settings of budget raise the limits.",
	"CLARIFY_TIMEOUT":       "The question was not answered in time.",

	"UNSUPPORTED":                 "This is not possible here.",
	"UNSUPPORTED/no_client":       "This editor cannot ask questions of the model.",
	"EXECUTION_ERROR":             "The tool failed. The log has the details.",
	"EXECUTION_ERROR/not_started": "The command could not be started.",
}

var endings = map[string]string{
	"end_turn":          "Done.",
	"max_tokens":        "The answer reached the largest size that the model allows.",
	"max_turn_requests": "The turn made as many requests to the model as your settings allow.",
	"refusal":           "The model refused to answer.",
	"cancelled":         "Stopped.",
	"budget_exceeded":   "The budget of your settings is used up.",
	"error":             "The turn failed.",
	"lost":              "The server ended.",
	"interrupted":       "The turn was cut off here: its window was closed, or its session was left.",
}

var states = map[string]string{
	"pending":     "waiting",
	"in_progress": "running",
	"completed":   "done",
	"failed":      "failed",
	"rejected":    "denied",
	"cancelled":   "stopped",
}
