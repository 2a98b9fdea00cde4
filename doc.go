// Package tandem is an agent backend for editors, seen from above; the code lies in the folders below.
//
// An editor starts the program cmd/tandem as a child process and speaks LSP and a few methods of its own with it. A
// person asks; a model reads, searches, edits and runs commands through tools; its edits land in the open buffers while
// the person keeps typing, and nothing typed is lost.
//
//	cmd/tandem   flags and wiring
//	   ↓
//	lspserver    the editor's side: the wire, the open documents, the two ways in which an edit lands
//	   ↓
//	agent        a session: the turn loop between a model and the tools
//	   ↓
//	tools        what a tool is, the tools, and the pipeline that carries their calls out
//	   ↓
//	filetime     what a file says now, what of it the model has seen, and the algebra of edits
//	sandbox      paths and commands
//
// Arrows are imports, and there are none upward: what a lower room needs of a higher one is an interface that the lower
// one owns (filetime.Files, sandbox.Runner, model.Model, agent.Client). Plug-ins for editors are in editors.
//
// One idea holds it together. A tool that changes files writes nothing: it answers a plan, made for the text that the
// model was shown. The pipeline shows the plan, asks, and commits it; the commit carries the edit over everything that
// was typed since and lands it, or refuses with the text as it is now. So the check that counts is made inside the
// commit, and no author of a tool can forget it.
//
// docs/architecture.md is the longer tour. This package holds the tests that keep the whole in shape: who imports whom,
// where the libraries live, which numbers of docs/features.md have tests.
package tandem
