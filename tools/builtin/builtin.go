// Package builtin is the list of the tools that are shipped.
package builtin

import (
	"tandem/tools"
	"tandem/tools/bash"
	"tandem/tools/clarify"
	"tandem/tools/edit"
	"tandem/tools/fetch"
	"tandem/tools/glob"
	"tandem/tools/grep"
	"tandem/tools/list"
	"tandem/tools/read"
	"tandem/tools/web"
	"tandem/tools/websearch"
	"tandem/tools/write"
)

// Tools makes every shipped tool, one line each.
func Tools() []tools.Tool {
	return []tools.Tool{
		bash.New(),
		bash.NewJobOutput(),
		bash.NewJobKill(),
		clarify.New(),
		edit.New(),
		fetch.New(web.Client{}),
		glob.New(),
		grep.New(),
		list.New(),
		read.New(),
		websearch.New(web.Client{}),
		write.New(),
	}
}
