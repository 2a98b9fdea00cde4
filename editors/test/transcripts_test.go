package editorstest

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// spoken is a message of a transcript.
type spoken struct {
	Dir string  `json:"dir"`
	Msg message `json:"msg"`
}

// TestF243NvimTranscripts has the plugin replay what was recorded of the real server: questions are answered at the
// keyboard, and what the chat then holds is what every client must make of it.
func TestF243NvimTranscripts(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "transcripts", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatal("no transcripts: ", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			eachNvim(t, func(t *testing.T, nvim string) { replay(t, nvim, archive) })
		})
	}
}

func replay(t *testing.T, nvim string, archive *txtar.Archive) {
	files := map[string]string{}
	var plan struct{ Open []string }
	var wire, want []byte
	for _, f := range archive.Files {
		switch name, ok := strings.CutPrefix(f.Name, "in/workspace/"); {
		case ok:
			files[name] = string(f.Data)
		case f.Name == "in/plan.json":
			decode(t, f.Data, &plan)
		case f.Name == "wire.jsonl":
			wire = f.Data
		case f.Name == "expect.json":
			want = f.Data
		}
	}
	s, lua := listen(t)
	o := options{lua: lua, files: files}
	if len(plan.Open) > 0 {
		o.open = plan.Open[0]
	}
	e := start(t, nvim, o)
	wire = bytes.ReplaceAll(wire, []byte("/workspace"), []byte(e.dir))
	var all []spoken
	for line := range bytes.Lines(wire) {
		var m spoken
		decode(t, line, &m)
		all = append(all, m)
	}
	all = slices.DeleteFunc(all, func(m spoken) bool { return strings.HasPrefix(m.Msg.Method, "textDocument/") })

	methods := map[string]string{} // of the editor's requests, by their id in the recording
	asked := map[string]int{}      // the server's requests, by the same
	questions := map[string]json.RawMessage{}
	var prompts []prompt
	for i, m := range all {
		id := string(m.Msg.ID)
		switch {
		case m.Dir == "->" && m.Msg.Method == "tandem/session/prompt":
			var p struct{ Prompt []struct{ Text string } }
			decode(t, m.Msg.Params, &p)
			methods[id] = m.Msg.Method
			e.ex("Tandem ask " + p.Prompt[0].Text)
			s.wait("the prompt arrives", func() bool { return len(s.prompts) > 0 })
			s.mu.Lock()
			prompts, s.prompts = append(prompts, s.prompts[0]), nil
			s.mu.Unlock()
			if got := prompts[len(prompts)-1].text; got != p.Prompt[0].Text {
				t.Fatalf("asked %q", got)
			}
		case m.Dir == "->" && m.Msg.Method == "tandem/session/new":
			methods[id] = m.Msg.Method
			for _, later := range all[i:] {
				if later.Dir == "<-" && string(later.Msg.ID) == id && later.Msg.Method == "" {
					s.session = later.Msg.Result // the connection is not there yet
					break
				}
			}
		case m.Dir == "->" && m.Msg.Method == "tandem/session/cancel":
			e.ex("Tandem stop")
			s.wait("the cancel arrives", func() bool { return s.cancels > 0 })
		case m.Dir == "->" && m.Msg.Method != "":
			methods[id] = m.Msg.Method
		case m.Dir == "->":
			pick(e, questions[id], m.Msg.Result)
			var got, recorded any
			s.end(asked[id], &got)
			decode(t, m.Msg.Result, &recorded)
			if edit, ok := got.(map[string]any); ok {
				delete(edit, "tandem") // the editor of the transcript does not name the versions of its edits
			}
			if !reflect.DeepEqual(got, recorded) {
				t.Errorf("request %s is answered %v, want %v", id, got, recorded)
			}
		case m.Msg.Method == "":
			if methods[id] == "tandem/session/prompt" {
				s.answer(prompts[len(prompts)-1].id, m.Msg.Result)
				e.until("the turn has ended", func() bool {
					return e.try("tostring(require('tandem.client').all()[1].running)") == "false"
				})
			}
		case m.Msg.ID != nil:
			asked[id] = s.begin(m.Msg.Method, m.Msg.Params)
			if strings.HasPrefix(m.Msg.Method, "tandem/session/") {
				questions[id] = m.Msg.Params
			}
		default:
			s.notify(m.Msg.Method, m.Msg.Params)
		}
	}
	e.show("afterwards")
	var got, expected []map[string]string
	decode(t, []byte(e.lua(`(function()
		local out = {}
		for _, item in ipairs(require('tandem.client').all()[1].chat.items) do
			if item.type == 'message' then
				out[#out + 1] = { role = item.role, text = item.text }
			elseif item.type == 'thought' or item.type == 'notice' then
				out[#out + 1] = { role = item.type, text = item.text }
			elseif item.type == 'call' then
				out[#out + 1] = { tool = item.id, title = item.title, status = item.status }
			elseif item.type == 'ending' then
				out[#out + 1] = { ending = item.reason }
			end
		end
		return vim.json.encode(out)
	end)()`)), &got)
	decode(t, want, &expected)
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("the chat holds\n%v\nwant\n%v", got, expected)
	}
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

// pick answers the question on the screen as it was answered in the recording.
func pick(e *terminal, question, answer json.RawMessage) {
	if question == nil {
		return
	}
	e.t.Helper()
	var asked struct {
		Options []struct{ ID, OptionID, Kind string }
	}
	var given struct {
		Answer  string
		Outcome struct{ OptionID string }
	}
	decode(e.t, question, &asked)
	decode(e.t, answer, &given)
	row := 0
	for _, o := range asked.Options {
		if row++; o.ID+o.OptionID == given.Answer+given.Outcome.OptionID {
			e.choose(row)
			return
		}
		if o.Kind == "reject_once" {
			row++ // the refusal that says why
		}
	}
	e.t.Fatalf("%s is none of %s", answer, question)
}

// choose answers the question on the screen with one of its options, counted from 1.
func (e *terminal) choose(option int) {
	e.t.Helper()
	e.see(`Esc: later`)
	e.text(strconv.Itoa(option))
	e.keys("Enter")
	e.until("the question is gone", func() bool { return !strings.Contains(e.screen(), "Esc: later") })
}
