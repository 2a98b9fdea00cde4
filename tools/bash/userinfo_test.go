package bash

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/tools/toolstest"
)

// TestPasswordsInURLs: what a command prints of a remote has no password, in each stream and in what a person is shown meanwhile.
func TestPasswordsInURLs(t *testing.T) {
	const remote = "origin\thttps://me:hunter22@example.org/x.git (fetch)\n"
	env := toolstest.Workspace(t, &txtar.Archive{})
	env.Commands.Runner = &scripted{level: "full", outcome: sandbox.Outcome{Stdout: remote, Stderr: "fatal: " + remote}}
	r, _ := toolstest.Call(t.Context(), New(), env, `{"command": "git remote -v"}`)
	v := r.Value.(*value)
	for _, text := range []string{r.Data, v.Stdout, v.Stderr, clean("\x1b[1m" + remote)} {
		if strings.Contains(text, "hunter22") || !strings.Contains(text, "https://me:[redacted]@example.org/x.git (fetch)") {
			t.Errorf("%q", text)
		}
	}
}
