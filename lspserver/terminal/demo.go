package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
	"tandem/tools/words"
)

const demoFile = `package calc

// Add returns
func Add(a, b int) int { return a - b }

// Sub returns
func Sub(a, b int) int { return a - b }
`

// demoScript is what the model says in the demonstration. The waits give the person time to type.
const demoScript = `say Let me look at the file.
call read_file {"path": "calc.go"}

think Add subtracts.
wait 600ms
say Add subtracts, I'll mend it.
call edit_file {"path": "calc.go", "old_text": "func Add(a, b int) int { return a - b }", "new_text": "func Add(a, b int) int { return a + b }"}

wait 400ms
say Add adds now. What you typed meanwhile is still there.
`

// Demo plays the main job in a folder: an edit lands in a buffer while the person types into it, is
// shown as a diff, and is undone. It says whether all of it went well. connect starts a server and
// gives the editor's end of the connection.
func Demo(ctx context.Context, out io.Writer, folder string, connect func() io.ReadWriteCloser) (ok bool, err error) {
	path := filepath.Join(folder, "calc.go")
	script := filepath.Join(folder, ".model")
	if err := errors.Join(os.WriteFile(path, []byte(demoFile), 0o644), os.WriteFile(script, []byte(demoScript), 0o644)); err != nil {
		return false, err
	}
	play := &demo{out: out, began: time.Now()}
	play.say("tandem", "an editor opens calc.go; the model is a built-in script, everything else is real")
	return play.run(ctx, connect(), path, script)
}

// demo is an editor with one buffer, the person in front of it, and what they see.
type demo struct {
	out   io.Writer
	began time.Time
	cl    *client.Client

	buffer  *client.Buffer
	message strings.Builder
}

func (d *demo) say(who, format string, args ...any) {
	fmt.Fprintf(d.out, "%5.2fs  %-7s %s\n", time.Since(d.began).Seconds(), who, fmt.Sprintf(format, args...))
}

func (d *demo) run(ctx context.Context, server io.ReadWriteCloser, path, script string) (bool, error) {
	folder := filepath.Dir(path)
	log := slog.New(slog.DiscardHandler)
	options := json.RawMessage(`{"mode":"auto"}`)
	d.buffer = client.NewBuffer(path, demoFile)
	d.buffer.Applied = func(label string, line int, old, new string) {
		d.say("editor", "applies %s: line %d, %q instead of %q", label, line, new, old)
	}
	cl, err := client.Dial(ctx, server, folder, options, client.Handlers{Update: d.update, Buffer: d.buffer}, log)
	if err != nil {
		return false, err
	}
	d.cl = cl
	defer func() { _ = cl.Shutdown(context.WithoutCancel(ctx)) }()
	var session protocol.NewSessionResult
	if err := cl.Call(ctx, "tandem/session/new", protocol.NewSessionParams{Cwd: folder, Model: "script:" + script}, &session); err != nil {
		return false, err
	}
	d.say("you", "“Add subtracts. Fix it.” — and go on writing comments")
	typing := make(chan struct{})
	go func() {
		defer close(typing)
		d.typeAfter(ctx, "// Add returns", " the sum of a and b.")
		d.typeAfter(ctx, "// Sub returns", " the difference of a and b.")
		d.typeAfter(ctx, "package calc\n", "\n// No overflow checks.\n")
	}()
	var result protocol.PromptResult
	if err := cl.Call(ctx, "tandem/session/prompt", protocol.PromptParams{
		SessionID: session.SessionID, Prompt: []protocol.ContentBlock{{Type: "text", Text: "Add subtracts. Fix it."}},
	}, &result); err != nil {
		return false, err
	}
	<-typing
	d.say("tandem", "turn %d: %s The editor refused the edit %d times because a key came first.",
		result.Turn, words.Ending(result.StopReason), d.buffer.Refused())
	return d.review(ctx, session.SessionID)
}

// review shows what has become of the file, then undoes the turn.
func (d *demo) review(ctx context.Context, session string) (bool, error) {
	var changes protocol.ListChangesResult
	if err := d.cl.Call(ctx, "tandem/changes/list", protocol.ListChangesParams{SessionID: session}, &changes); err != nil {
		return false, err
	}
	after := d.buffer.Text()
	fmt.Fprintln(d.out, "\nThe agent's change, as tandem/changes/list shows it:")
	for _, f := range changes.Files {
		fmt.Fprint(d.out, indent(f.Unified))
	}
	fmt.Fprintln(d.out, "\nEverything that changed, your typing included:")
	fmt.Fprint(d.out, indent(show.Diff("calc.go", text.New(demoFile), text.New(after), show.Options{}).Unified))

	typed := strings.NewReplacer("// Add returns\n", "// Add returns the sum of a and b.\n",
		"// Sub returns\n", "// Sub returns the difference of a and b.\n",
		"package calc\n", "package calc\n\n// No overflow checks.\n").Replace(demoFile)
	wanted := strings.Replace(typed, "return a - b }\n\n// Sub", "return a + b }\n\n// Sub", 1)
	keys := len(typed) - len(demoFile)
	edited := d.verdict(after == wanted, fmt.Sprintf("all %d keystrokes are there and the edit landed once", keys))

	var undone protocol.UndoResult
	if err := d.cl.Call(ctx, "tandem/changes/undo", protocol.UndoParams{SessionID: session, Scope: "turn"}, &undone); err != nil {
		return false, err
	}
	fmt.Fprintln(d.out)
	d.say("you", "undo the agent's turn")
	reverted := d.verdict(d.buffer.Text() == typed, fmt.Sprintf("the edit is gone and all %d keystrokes are still there", keys))
	return edited && reverted, nil
}

func (d *demo) verdict(ok bool, what string) bool {
	mark := "✓ "
	if !ok {
		mark = "✗ failed: "
	}
	fmt.Fprintln(d.out, mark+what)
	return ok
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

// typeAfter types s behind the first place where mark stands, a key at a time.
func (d *demo) typeAfter(ctx context.Context, mark, s string) {
	for i := range len(s) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(25 * time.Millisecond):
		}
		err := d.buffer.Insert(ctx, s[i:i+1], func(now string) int { return strings.Index(now, mark+s[:i]) + len(mark) + i })
		if err != nil {
			d.say("editor", "the server has exited: %v", err)
			return
		}
	}
	d.say("you", "typed %q", s)
}

func (d *demo) update(u protocol.UpdateParams) {
	up := u.Update
	switch up.SessionUpdate {
	case "agent_message_chunk":
		d.message.WriteString(contentText(up.Content))
		return
	case "tool_call_update":
		if meta := metaOf(up); meta.State == "completed" {
			d.said()
			d.say("agent", "%s · %s %s", up.Title, words.State(up.Status, meta.Phase, meta.Error), meta.Summary)
		}
	}
	if up.SessionUpdate == "usage_update" || up.SessionUpdate == "tool_call" {
		d.said()
	}
}

// said prints what the model has said so far.
func (d *demo) said() {
	if s := strings.TrimSpace(d.message.String()); s != "" {
		d.say("agent", "“%s”", s)
	}
	d.message.Reset()
}
