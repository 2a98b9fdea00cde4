package script

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"tandem/agent/model"
)

// EmbeddedName is the name of the model that answers when none has been chosen.
const EmbeddedName = "script/embedded"

// Embedded gives the model that answers when none has been chosen. It says that it is no language
// model and, with advice, how to get one; and it shows that the tools work by reading the file that
// the prompt names with @, or by listing the workspace.
func Embedded(advice string) model.Model { return &embedded{advice: advice} }

type embedded struct {
	advice   string
	requests atomic.Int64
}

func (*embedded) Name() string { return EmbeddedName }

func (e *embedded) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	id := fmt.Sprintf("call_%d", e.requests.Add(1))
	return play(ctx, id, e.answer(r), r, on, func(step) {})
}

func (e *embedded) answer(r model.Request) []step {
	say := func(text string) step { return step{word: "say", arg: text} }
	messages := slices.DeleteFunc(slices.Clone(r.Messages), func(m model.Message) bool {
		return m.Role == model.User && strings.HasPrefix(m.Text, "<rules")
	})
	if len(messages) == 0 {
		return []step{say(e.advice)}
	}
	last := messages[len(messages)-1]
	if last.Role == model.Tool {
		if strings.HasPrefix(last.Text, "[") {
			return []step{say("That did not work: " + firstLines(last.Text, 3))}
		}
		return []step{say(fmt.Sprintf("This is what %s shows:\n\n%s", last.Name, firstLines(last.Text, 20)))}
	}
	steps := []step{
		say("This is the script model that comes with Tandem, not a language model: it cannot understand what you ask."),
		say(e.advice),
	}
	offered := func(name string) bool {
		return slices.ContainsFunc(r.Tools, func(t model.ToolSpec) bool { return t.Name == name })
	}
	path := mentioned(last.Text)
	switch {
	case path != "" && offered("read_file"):
		args, _ := json.Marshal(map[string]string{"path": path})
		steps = append(steps, say("To show that the tools work, it reads the file that you named."),
			step{word: "call", arg: "read_file", json: string(args)})
	case offered("list_files"):
		steps = append(steps, say("To show that the tools work, it lists your workspace."),
			step{word: "call", arg: "list_files", json: "{}"})
	}
	return steps
}

// mentioned gives the path of the first @path in text.
func mentioned(text string) string {
	for _, w := range strings.Fields(text) {
		if path, ok := strings.CutPrefix(w, "@"); ok {
			return strings.TrimRight(path, ".,;:!?)\"'")
		}
	}
	return ""
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", n+1)
	if len(lines) > n {
		lines[n] = "…"
	}
	return cmp.Or(strings.Join(lines, "\n"), "(nothing)")
}
