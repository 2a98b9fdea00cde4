package protocol

// Failure is an error code that is ours.
type Failure struct {
	Code int
	Name string // in error.data.code
	Doc  string
}

// Failures lists the codes that JSON-RPC and LSP do not define, and the names that tell apart uses of one that they do.
func Failures() []Failure {
	return []Failure{
		{-32011, "unknown_session", "There is no session of that id, or it is not loaded."},
		{-32012, "session_busy", "The session is answering another prompt, or another process has it."},
		{
			-32013, "model_unavailable",
			"The provider or the model is unknown, or its key is missing; the message says what to set. Nothing was sent.",
		},
		{-32014, "not_permitted", "The session or the configuration does not allow it."},
		{-32602, "no_such_folder", "A cwd, a root or a workspace folder is not there or is no folder."},
		{-32602, "no_turn", "There is no running turn to steer."},
	}
}
