package bash

import (
	"path/filepath"
	"sync"

	"tandem/tools/shell"
)

// narrower are the tools that do what a program does, and what they do better.
var narrower = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"cat": readsFiles, "head": readsFiles, "tail": readsFiles, "sed": readsFiles, "nl": readsFiles,
		"grep": searches, "egrep": searches, "fgrep": searches, "rg": searches,
		"find": finds,
	}
})

const (
	readsFiles = "read_file shows this with the user's unsaved changes, and text that it has shown can be edited"
	searches   = "grep searches this with the user's unsaved changes, and what it has shown can be edited"
	finds      = "glob and list_files find files, without what git ignores"
)

// hint names the tool for a line that does nothing but what that tool does, below the session's
// folder; "" for any other line.
func hint(c shell.Command) string {
	if !c.Literal || !c.ReadOnly || len(c.Named) > 0 || len(c.Calls) == 0 {
		return ""
	}
	said := ""
	for i, argv := range c.Calls {
		better := narrower()[filepath.Base(argv[0])]
		if better == "" {
			return ""
		}
		if i == 0 {
			said = "(" + better + ".)"
		}
	}
	return said
}
