// Package builtin is the list of the tools that are shipped.
package builtin

import (
	"tandem/tools"
	"tandem/tools/bash"
	"tandem/tools/clarify"
	"tandem/tools/edit"
	"tandem/tools/glob"
	"tandem/tools/grep"
	"tandem/tools/list"
	"tandem/tools/read"
	"tandem/tools/write"
)

// Tools makes every shipped tool, one line each.
func Tools() []tools.Tool {
	return []tools.Tool{
		bash.New(),
		clarify.New(),
		edit.New(),
		glob.New(),
		grep.New(),
		list.New(),
		read.New(),
		write.New(),
	}
}
