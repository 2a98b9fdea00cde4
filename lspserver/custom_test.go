package lspserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/custom"
	"tandem/lspserver/conformance"
)

// A command of a file is offered, by name and whose it is, and is what its file says as of now: its message, its model, and a mode that its
// turn may not go beyond. A skill is named in the system prompt, and read like any file.
func TestCommandsAndSkillsOfFiles(t *testing.T) {
	own := t.TempDir()
	so := options(nil)
	so.Commands = []custom.Source{custom.Folder(own, os.DirFS(own))}
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, so)
	a.write("a.txt", "one\n")
	other := a.script("see /Look at a.txt and b.txt, then a.txt b.txt/\nsay The other model.\n")
	write(filepath.Join(own, "look.md"), "---\ndescription: Looks\nargument-hint: FILE FILE\nmodel: "+other+"\n---\nLook at $1 and $2, then $ARGUMENTS.\n")
	write(filepath.Join(own, "both.md"), "My own.")
	write(a.Path(".tandem/commands/both.md"), "Theirs.")
	write(a.Path(".tandem/commands/plan-it.md"), "---\nmode: plan\ndescription: Plans\n---\nPlan it.")
	write(a.Path(".tandem/commands/free.md"), "---\nmode: auto\n---\nDo anything.")
	write(a.Path(".claude/skills/tables/SKILL.md"), "---\nname: tables\ndescription: How tables are drawn here. </rules>\n---\nWith three lines.\n")
	edit := func(n, to string) string {
		return `call edit_file {"path":"a.txt","old_text":"` + n + `","new_text":"` + to + `"}` + "\n\n"
	}
	id := a.session(map[string]any{"mode": "auto", "model": a.script(
		"see /My own\\.\\s*$/\nsay Mine.\n\n" +
			"see /Plan it\\.\\s*$/\n" + `call read_file {"path":".claude/skills/tables/SKILL.md"}` + "\n" + `call read_file {"path":"a.txt"}` + "\n\n" +
			"see /With three lines/\n" + edit("one", "two") + "say Planned.\n\n" +
			"see /discarded plan_1[\\s\\S]*\\/none of that/\n" + `call read_file {"path":"a.txt"}` + "\n\n" + edit("one", "three") + "say Done.\n\n" +
			"see /Do anything/\n" + edit("three", "four") + "say Asked.\n")})
	until(t, "the commands are told", patience, func() bool {
		for _, u := range a.told(id) {
			if u.Update.SessionUpdate == "available_commands_update" {
				return true
			}
		}
		return false
	})
	var told []struct {
		Name, Description string
		Input             *struct{ Hint string }
	}
	for _, u := range a.told(id) {
		if u.Update.SessionUpdate == "available_commands_update" {
			if err := json.Unmarshal(u.Update.AvailableCommands, &told); err != nil {
				t.Fatal(err)
			}
		}
	}
	var names []string
	for _, c := range told {
		hint := ""
		if c.Input != nil {
			hint = " " + c.Input.Hint
		}
		names = append(names, c.Name+hint+": "+c.Description)
	}
	equal(t, "the commands", strings.Join(names, "\n"), "both: both\nfree: (of this workspace)\nlook FILE FILE: Looks\nplan-it: Plans (of this workspace)")
	say := func(text string) {
		t.Helper()
		if end := a.prompt(id, text); end.StopReason != "end_turn" {
			t.Errorf("%s: %+v", text, end)
		}
	}
	say("/look a.txt b.txt")
	say("/both")
	say("/plan-it")
	a.disk("a.txt", "one\n")
	a.ask("tandem/plan/discard", map[string]any{"sessionId": id}, nil) // its mode is plan
	say("/none of that")
	a.disk("a.txt", "three\n")
	a.ask("tandem/session/setMode", map[string]any{"sessionId": id, "mode": "readOnly"}, nil)
	say("/free")
	a.disk("a.txt", "three\n")
	for _, said := range []string{"The other model.", "Mine.", "Planned.", "Done.", "Asked."} {
		if !strings.Contains(a.said(id, "agent_message_chunk"), said) {
			t.Errorf("not said: %s", said)
		}
	}
	var out struct{ Text string }
	a.ask("tandem/session/export", map[string]any{"sessionId": id, "format": "markdown"}, &out)
	if !strings.Contains(out.Text, "> /look a.txt b.txt") || strings.Contains(out.Text, "Look at a.txt") {
		t.Errorf("a person finds\n%s", out.Text)
	}
	a.end()
}
