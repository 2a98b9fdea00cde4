package lspserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/lspserver/conformance"
)

// listener is a model that remembers what it is told and says nothing of interest.
type listener struct{ requests []model.Request }

func (l *listener) Open(string) (model.Model, error) { return l, nil }
func (l *listener) Names() []string                  { return []string{l.Name()} }
func (*listener) API(string) string                  { return "" }
func (l *listener) Name() string                     { return "test/listener" }

func (l *listener) Stream(_ context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	l.requests = append(l.requests, r)
	on(model.Delta{Text: "Yes."})
	return model.Response{Stop: model.StopEnd}, nil
}

// told is the last message.
func (l *listener) told() string {
	m := l.requests[len(l.requests)-1].Messages
	return m[len(m)-1].Text
}

// listening is a rig whose sessions are answered by a listener.
func listening(t *testing.T, o conformance.Options) (*rig, *listener) {
	l := &listener{}
	so := options(nil)
	so.Opener = func(config.Config, model.Lend) model.Opener { return l }
	return start(t, o, so), l
}

// looking is a prompt with the editor's context.
func looking(session, editor string, blocks ...any) map[string]any {
	return map[string]any{
		"sessionId": session, "prompt": append([]any{map[string]any{"type": "text", "text": "What is this?"}}, blocks...),
		"_meta": map[string]any{"tandem": map[string]any{"editor": json.RawMessage(editor)}, "traceparent": "00-x"},
	}
}

func TestEditorContext(t *testing.T) {
	outside := folder(t)
	for _, encoding := range []conformance.Encoding{conformance.UTF16, conformance.UTF8, conformance.UTF32} {
		t.Run(string(encoding), func(t *testing.T) {
			r, l := listening(t, conformance.Options{Encoding: encoding})
			r.write("calc.go", "old\n")
			r.write("b.go", "b\n")
			r.write(".env", "KEY=secret\n")
			r.write("c.go", "c\n")
			foreign := filepath.Join(outside, "notes.txt")
			for path, link := range map[string]string{".env": "settings.txt", foreign: "linked.txt"} {
				if err := os.Symlink(path, filepath.Join(r.root, link)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(foreign, []byte("private notes\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"c.go", ".env", "settings.txt", "linked.txt", "calc.go", "b.go"} {
				if err := r.Open(name); err != nil {
					t.Fatal(err)
				}
			}
			// Unsaved text: characters that have different lengths in each encoding.
			if err := r.Change("calc.go", func(string) []conformance.Splice {
				return []conformance.Splice{{Start: 0, End: 3, New: "one\n\tx := \"äß😀\" + y\nthree\nfour"}}
			}); err != nil {
				t.Fatal(err)
			}
			column := map[conformance.Encoding]int{conformance.UTF16: 11, conformance.UTF8: 15, conformance.UTF32: 10}[encoding]
			id := r.session(nil)
			at := func(line, character int) string { return fmt.Sprintf(`{"line":%d,"character":%d}`, line, character) }
			ask := func(editor string, blocks ...any) string {
				r.ask("tandem/session/prompt", looking(id, editor, blocks...), nil)
				text, _ := strings.CutPrefix(l.told(), "What is this?")
				return strings.TrimPrefix(text, "\n\n")
			}
			calc := fmt.Sprintf(`{"uri":%q,"cursor":%s`, r.URI("calc.go"), at(1, column))
			equal(t, "a cursor", ask(calc+"}"), "<editor>\nIn front of the person: calc.go, cursor at line 2, column 11\n"+
				"Also open: b.go, c.go\n</editor>")
			seen := fmt.Sprintf(`,"visible":{"start":%s,"end":%s}`, at(0, 0), at(2, 5))
			selected := fmt.Sprintf(`,"selection":{"start":%s,"end":%s}`, at(1, column), at(3, 0))
			equal(t, "a selection", ask(calc+seen+selected+"}"), "<editor>\nIn front of the person: calc.go, cursor at line 2, "+
				"column 11, lines 1-3 can be seen\n<selection path=\"calc.go\" lines=\"2-3\">\n\" + y\nthree\n</selection>\n"+
				"Also open: b.go, c.go\n</editor>")
			attached := map[string]any{"type": "resource", "resource": map[string]any{
				"uri": r.URI("calc.go") + "#L2-L3", "text": "as attached",
			}}
			if got := ask(calc+selected+"}", attached); strings.Contains(got, "<selection") || !strings.Contains(got, "as attached") {
				t.Error(got)
			}
			equal(t, "past the end", ask(fmt.Sprintf(`{"uri":%q,"cursor":%s}`, r.URI("b.go"), at(900, 900))),
				"<editor>\nIn front of the person: b.go, cursor at line 2, column 1\nAlso open: calc.go, c.go\n</editor>")
			equal(t, "not open", ask(fmt.Sprintf(`{"uri":%q,"cursor":%s%s}`, conformance.ToURI(r.write("d.go", "d")), at(4, 0), selected)),
				"<editor>\nIn front of the person: d.go, cursor at line 5\nAlso open: calc.go, b.go, c.go\n</editor>")
			for _, uri := range []string{
				r.URI(".env"), r.URI("settings.txt"), r.URI("linked.txt"), conformance.ToURI(foreign), "untitled:x", "file://elsewhere/x", "",
			} {
				got := ask(fmt.Sprintf(`{"uri":%q,"cursor":%s,"selection":{"start":%s,"end":%s}}`, uri, at(0, 0), at(0, 0), at(0, 9)))
				equal(t, uri, got, "<editor>\nAlso open: calc.go, b.go, c.go\n</editor>")
			}
			if got := ask("null"); strings.Contains(got, "<editor>") {
				t.Error(got)
			}
			if e := r.refused("tandem/session/prompt", looking(id, `{"uri":1}`)); e.Code != -32602 {
				t.Errorf("%+v", e)
			}
			r.end()
		})
	}
}

// TestEditorContextIsShort selects much and opens many.
func TestEditorContextIsShort(t *testing.T) {
	r, l := listening(t, conformance.Options{})
	r.write("big.txt", strings.Repeat("0123456789abcde\n", 10_000))
	for i := range 40 {
		name := fmt.Sprintf("f%02d.txt", i)
		r.write(name, "")
		if err := r.Open(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Open("big.txt"); err != nil {
		t.Fatal(err)
	}
	r.ask("tandem/session/prompt", looking(r.session(nil), fmt.Sprintf(
		`{"uri":%q,"cursor":{"line":0,"character":0},"selection":{"start":{"line":0,"character":0},"end":{"line":9999,"character":0}}}`,
		r.URI("big.txt"))), nil)
	got := l.told()
	if len(got) > 9<<10 || !strings.Contains(got, "and 20 more") || !strings.Contains(got, "(cut here: read big.txt for the rest)") ||
		!strings.Contains(got, `lines="1-9999"`) {
		t.Errorf("%d bytes: …%s", len(got), got[max(0, len(got)-500):])
	}
	r.end()
}

// TestUserRules are told first, to every session as they are when it begins.
func TestUserRules(t *testing.T) {
	l, rules := &listener{}, "Speak plainly."
	so := options(nil)
	so.Opener = func(config.Config, model.Lend) model.Opener { return l }
	so.Rules = func() string { return rules }
	r := start(t, conformance.Options{}, so)
	r.write("AGENTS.md", "Run make.")
	first := r.session(nil)
	rules = "Speak at length."
	second := r.session(nil)
	for id, want := range map[string]string{first: "Speak plainly.", second: "Speak at length."} {
		r.prompt(id, "Go.")
		system := l.requests[len(l.requests)-1].Messages[0].Text
		if !strings.HasSuffix(strings.TrimSpace(system), "<rules>\n"+want+"\n</rules>\n\n<rules path=\"AGENTS.md\">\nRun make.\n</rules>") {
			t.Errorf("…%s", system[max(0, len(system)-200):])
		}
	}
	r.end()
}

// TestF281MentionsBringRules mentions files: the rules of their folders come along, the nearest last.
func TestF281MentionsBringRules(t *testing.T) {
	r, l := listening(t, conformance.Options{})
	r.write("AGENTS.md", "Root rules.")
	r.write("api/AGENTS.md", "API rules.")
	r.write("api/v2/AGENTS.md", "V2 rules.")
	r.write("web/AGENTS.md", "Web rules.")
	r.write("api/v2/x.go", "package x\n")
	if err := r.Open("api/v2/AGENTS.md"); err != nil {
		t.Fatal(err)
	}
	if err := r.Change("api/v2/AGENTS.md", func(text string) []conformance.Splice {
		return []conformance.Splice{{Start: 0, End: 2, New: "Unsaved V2"}}
	}); err != nil {
		t.Fatal(err)
	}
	id := r.session(nil)
	r.prompt(id, "Look at @api/v2/x.go.")
	messages := l.requests[0].Messages
	equal(t, "messages", len(messages), 3)
	system, rules := messages[0].Text, messages[2].Text
	if !strings.Contains(system, "Root rules.") || strings.Contains(system, "API rules.") || !strings.Contains(system, "`@path`") {
		t.Error(system)
	}
	equal(t, "rules", rules, "<rules path=\"api/AGENTS.md\">\nAPI rules.\n</rules>\n\n"+
		"<rules path=\"api/v2/AGENTS.md\">\nUnsaved V2 rules.\n</rules>")
	r.prompt(id, "And @web/?")
	equal(t, "more rules", l.told(), "<rules path=\"web/AGENTS.md\">\nWeb rules.\n</rules>")
	r.end()
}
