// Package builtin is the list of the tools that are shipped.
package builtin

import (
	"fmt"

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

// Registry makes a Registry of them. It panics when two share a name, which is a mistake in the program.
func Registry() *tools.Registry {
	r := tools.NewRegistry()
	for _, t := range Tools() {
		if err := r.Register(t); err != nil {
			panic(fmt.Sprintf("builtin: %v", err))
		}
	}
	return r
}
