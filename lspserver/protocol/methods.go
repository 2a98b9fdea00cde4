package protocol

// ServerMethods lists the tandem/* requests and notifications that the server takes.
func ServerMethods() []string {
	return []string{
		"tandem/changes/list", "tandem/changes/undo", "tandem/fileTime/get", "tandem/session/cancel", "tandem/session/close",
		"tandem/session/list", "tandem/session/new", "tandem/session/prompt", "tandem/session/setMode", "tandem/session/setModel",
		"tandem/status", "tandem/tools/batch", "tandem/tools/call", "tandem/tools/get", "tandem/tools/list",
	}
}
