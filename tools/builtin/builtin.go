// Package builtin is the list of the tools that are shipped.
package builtin

import (
	"tandem/tools"
	"tandem/tools/bash"
	"tandem/tools/clarify"
	"tandem/tools/code"
	"tandem/tools/edit"
	"tandem/tools/fetch"
	"tandem/tools/fileinfo"
	"tandem/tools/glob"
	"tandem/tools/grep"
	"tandem/tools/list"
	"tandem/tools/mkdir"
	"tandem/tools/move"
	"tandem/tools/patch"
	"tandem/tools/read"
	"tandem/tools/remove"
	"tandem/tools/task"
	"tandem/tools/toolsearch"
	"tandem/tools/undo"
	"tandem/tools/web"
	"tandem/tools/websearch"
	"tandem/tools/write"
)

// Tools makes every shipped tool, one line each.
func Tools() []tools.Tool {
	return append(task.New(),
		bash.New(),
		bash.NewJobOutput(),
		bash.NewJobKill(),
		clarify.New(),
		code.NewActions(),
		code.NewDefinition(),
		code.NewDiagnostics(),
		code.NewFind(),
		code.NewFormat(),
		code.NewOutline(),
		code.NewReferences(),
		code.NewRename(),
		edit.New(),
		edit.NewMulti(),
		fetch.New(web.Client{}),
		fileinfo.New(),
		glob.New(),
		grep.New(),
		list.New(),
		mkdir.New(),
		move.New(),
		patch.New(),
		read.New(),
		remove.New(),
		toolsearch.New(),
		undo.NewFile(),
		undo.NewTurn(),
		websearch.New(web.Client{}),
		write.New(),
	)
}
