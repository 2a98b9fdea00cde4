// Package plugin makes tools of programs that a person has installed: a folder with a plugin.json
// says what they are, and each call is one process, which gets the arguments on its standard input
// and prints the answer.
//
// A process runs in the sandbox of commands, and is judged as a command is. One of a tool that only
// reads runs so that it can change nothing, and needs no question; any other is asked about as its
// tool is declared. What it answers is that of a foreign tool.
package plugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/lazy"
	"tandem/tools"
	"tandem/tools/foreign"
	"tandem/tools/shell"
)

// Manifest is the name of the file that describes a plug-in.
const Manifest = "plugin.json"

// maxTools is how many tools a plug-in may have, maxOutput how many bytes of an answer are read.
const (
	maxTools  = 200
	maxOutput = 4 << 20
)

var ids = lazy.Regexp{Text: `^[a-z0-9][a-z0-9._-]{0,39}$`}

// manifest is a plugin.json.
type manifest struct {
	ID    string  `json:"id"`
	Tools []entry `json:"tools"`
}

type entry struct {
	foreign.Description
	Command []string `json:"command"`
}

// Layer makes the tools of a plug-in out of its manifest. folder is the absolute one that it lies
// in, from which relative programs start. The error says what is wrong with the manifest; then
// there are none.
func Layer(folder string, js []byte) (l tools.Layer, id string, err error) {
	var m manifest
	dec := json.NewDecoder(bytes.NewReader(js))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return l, "", fmt.Errorf("it is not valid: %w", err)
	}
	if !ids.Get().MatchString(m.ID) {
		return l, "", fmt.Errorf("the id %.60q is not valid: it has 1 to 40 small letters, digits, '.', '_' and '-', and begins with a letter or a digit", m.ID)
	}
	if len(m.Tools) > maxTools {
		return l, m.ID, fmt.Errorf("it has %d tools; the limit is %d", len(m.Tools), maxTools)
	}
	var made []tools.Tool
	for i, e := range m.Tools {
		t, err := e.tool(folder, m.ID)
		if err != nil {
			return l, m.ID, fmt.Errorf("tools[%d]: %w", i, err)
		}
		made = append(made, t)
	}
	l, err = tools.NewLayer(tools.RankPlugin, m.ID, made...)
	return l, m.ID, err
}

// program is what a tool runs.
type program struct {
	argv     []string // the program may be a name
	readOnly bool
}

func (e entry) tool(folder, id string) (tools.Tool, error) {
	spec, err := e.Spec()
	if err != nil {
		return nil, err
	}
	if len(e.Command) == 0 || strings.TrimSpace(e.Command[0]) == "" || strings.ContainsRune(strings.Join(e.Command, ""), 0) {
		return nil, fmt.Errorf("the tool %.80q has no command", e.Name)
	}
	p := program{argv: append([]string(nil), e.Command...), readOnly: spec.Kind.ReadOnly()}
	if name := p.argv[0]; strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		p.argv[0] = filepath.Join(folder, name)
	}
	spec.Source, spec.Category = "plugin:"+id, cmp.Or(spec.Category, "plugin")
	return foreign.New(spec, p.needs, p.run)
}

// needs are those of the process: that of a tool that only reads is confined so that it can do no
// more.
func (p program) needs(env *tools.Env, _ json.RawMessage) ([]tools.Need, error) {
	dir, err := env.Paths.Readable(".")
	if err != nil {
		return nil, err
	}
	if env.Commands.Runner == nil {
		return nil, tools.Refuse(tools.Unsupported, "", "No commands are run here, so the tools of plug-ins cannot be used.")
	}
	name, err := env.Commands.Runner.Find(p.argv[0], sandbox.Surroundings{})
	if err != nil {
		return nil, tools.Refuse(tools.ExecutionError, "not_found", "The program of the tool was not found: %s. Tell the user, who has installed the plug-in.",
			show.Visible(err.Error(), false))
	}
	need := tools.Need{Act: tools.Runs, Place: dir, Argv: append([]string{name}, p.argv[1:]...), Profile: sandbox.Unconfined}
	if env.Commands.Runner.Level().Confines() {
		need.Confined, need.Profile = true, env.Commands.Profile()
		if p.readOnly {
			need.Profile, need.Shell = sandbox.ReadOnly, shell.Command{ReadOnly: true}
		}
	}
	return []tools.Need{need}, nil
}

// run is one process.
func (p program) run(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
	need := env.Needs[0]
	dir, err := need.Place.Enter(nil)
	if err != nil {
		return tools.Result{}, err
	}
	defer dir.Close()
	var said []string
	if env.Commands.Autorun != nil && !need.OnlyReads() {
		said = env.Commands.Autorun.Begin(env.Call, "")
	}
	o, err := sandbox.Run(ctx, env.Commands.Runner, sandbox.Command{
		Argv: need.Argv, Dir: dir, Profile: need.Profile, Stdin: string(args), Grace: env.Limits.KillGrace, MaxOutput: maxOutput,
	})
	if env.Commands.Autorun != nil && !need.OnlyReads() {
		said = append(said, env.Commands.Autorun.End(env.Call, "")...)
	}
	if err != nil {
		return tools.Result{}, err
	}
	r := answer(ctx, o)
	for _, w := range said {
		r.Data += "\n" + w
	}
	r.Warnings = append(r.Warnings, said...)
	if r.Reason == cut {
		return r, context.Cause(ctx)
	}
	return r, nil
}

// cut is the reason of an answer that there is none of, since the call's context has ended.
const cut = "cut"

// answer is what a process has said.
func answer(ctx context.Context, o sandbox.Outcome) tools.Result {
	out := []byte(o.StdoutGap.Mark(o.Stdout))
	switch {
	case ctx.Err() != nil && (o.Cancelled || o.TimedOut):
		return tools.Result{Reason: cut}
	case o.ExitCode == 0:
		return foreign.Parse(out)
	}
	if r := foreign.Parse(out); !r.Success && r.Error != "" { // a ToolResult of its own
		return r
	}
	text := strings.TrimSpace(o.StderrGap.Mark(o.Stderr))
	if text == "" {
		text = strings.TrimSpace(string(out))
	}
	return tools.Fail(tools.ExecutionError, fmt.Sprintf("exit_%d", o.ExitCode), "The program of the tool ended with the exit code %d:\n%s",
		o.ExitCode, cmp.Or(text, "(no output)"))
}
