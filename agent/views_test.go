package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/agent/model"
	"tandem/filetime"
	"tandem/filetime/filetimetest"
	filetext "tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/gate"
	"tandem/tools/toolstest"
)

// step is a call of a tool, or an end of the turn where it has no name.
type step struct {
	tool string
	args map[string]any
}

// steps is a model that makes calls as they are drawn; before is called with each request.
type steps struct {
	before func(r model.Request)
	next   func() step
	made   int
}

func (*steps) Name() string { return "main" }

func (m *steps) Stream(_ context.Context, r model.Request, on on) (model.Response, error) {
	m.before(r)
	if strings.HasPrefix(r.Messages[len(r.Messages)-1].Text, "[From the program, ") {
		return model.Response{Stop: model.StopEnd}, nil // no summary
	}
	u := model.Usage{Input: int64(bytesOf(r.Messages) / 4), Output: 5}
	s := m.next()
	if s.tool == "" {
		on(model.Delta{Text: "Done."})
		return model.Response{Stop: model.StopEnd, Usage: u}, nil
	}
	args, err := json.Marshal(s.args)
	if err != nil {
		return model.Response{}, err
	}
	m.made++
	on(model.Delta{Call: &model.CallDelta{ID: fmt.Sprint("call", m.made), Name: s.tool, Arguments: string(args), Done: true}})
	return model.Response{Stop: model.StopCalls, Usage: u}, nil
}

// withFiles is a session with the tools of files, in a folder of its own.
func withFiles(t *testing.T, m model.Model, tokens int64) (s *Session, c *client, files *filetimetest.Files, root string) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	set := toolstest.SetOf(builtin.Tools()...).Narrow(tools.Only("test", []string{"read_file", "grep", "edit_file", "write_file"}))
	c, files = &client{}, filetimetest.New()
	s = session(t, c, nil, func(o *setup) {
		o.Cwd, o.Mode, o.Files, o.Models = root, gate.ModeAuto, files, sized{opener{"main": m}, tokens}
		o.Tools = func() *tools.Set { return set }
	})
	return s, c, files, root
}

// TestViewsAreInTheRequest has a model read, search and edit files while a person types, in a window that is far too small for it.
// Whatever was cleared: each line of each part of a file that counts as seen stands in the request.
func TestViewsAreInTheRequest(t *testing.T) {
	const files, lines = 3, 120
	cleared, compared := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		var s *Session
		var disk *filetimetest.Files
		var root string
		path := func(i int) string { return filepath.Join(root, fmt.Sprintf("file%d.txt", i)) }
		unseen := ""
		m := &steps{}
		m.before = func(req model.Request) {
			var all strings.Builder
			for _, msg := range req.Messages {
				all.WriteString(msg.Text + "\n")
				for _, c := range msg.Calls {
					all.WriteString(c.Arguments + "\n")
				}
				if strings.HasPrefix(msg.Text, "[Cleared: ") {
					cleared++
				}
			}
			for i := range files {
				for _, p := range s.FileTime().Shown(path(i)) {
					for line := range strings.Lines(p.Text) {
						compared++
						if line = strings.TrimSuffix(line, "\n"); !strings.Contains(all.String(), line) {
							unseen = fmt.Sprintf("request after %d calls: %q of file%d counts as seen", m.made, line, i)
						}
					}
				}
			}
		}
		// They are drawn beforehand: the loop takes a panic of a model for its failure.
		var plan []func() step
		for n := range rapid.IntRange(20, 40).Draw(r, "calls") {
			f, at := rapid.IntRange(0, files-1).Draw(r, "file"), rapid.IntRange(1, lines-40).Draw(r, "line")
			last := at + rapid.IntRange(1, 40).Draw(r, "lines")
			what := rapid.IntRange(0, 6).Draw(r, "what")
			plan = append(plan, func() step {
				switch what {
				case 0:
					disk.Type(path(f), filetext.Set{{New: fmt.Sprintf("typed %d into file%d\n", n, f)}}, filetime.User)
					return step{"read_file", map[string]any{"path": path(f)}}
				case 1:
					return step{"grep", map[string]any{"pattern": fmt.Sprintf("line %d", at%10), "path": path(f), "output_mode": "content"}}
				case 2, 3:
					return step{"edit_file", map[string]any{
						"path": path(f), "old_text": fmt.Sprintf("file%d line %d,", f, at), "new_text": fmt.Sprintf("file%d line %d,\nadded %d,", f, at, n),
					}}
				}
				return step{"read_file", map[string]any{"path": path(f), "start_line": at, "end_line": last}}
			})
		}
		m.next = func() step {
			if m.made == len(plan) {
				return step{}
			}
			return plan[m.made]()
		}
		s, _, disk, root = withFiles(t, m, 8000)
		for i := range files {
			var b strings.Builder
			for k := 1; k <= lines; k++ {
				fmt.Fprintf(&b, "file%d line %d, with some more words in it\n", i, k)
			}
			if err := os.WriteFile(path(i), []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if res, err := s.Prompt(context.Background(), text("go")); err != nil || res.Stop != EndTurn {
			r.Fatalf("%+v, %v", res, err)
		}
		if unseen != "" {
			r.Fatal(unseen)
		}
		s.Close()
	})
	if cleared == 0 || compared == 0 {
		t.Errorf("%d results were cleared, %d lines compared", cleared, compared)
	}
}

// TestClearedIsUnread reads a file whole, clears that, and goes on: what is edited or replaced then is refused with what it says, and
// lands when it is sent again; reading it again shows it.
func TestClearedIsUnread(t *testing.T) {
	big := strings.Repeat("some words of a file that fills the window\n", 300)
	for name, c := range map[string]struct {
		step
		refused string
	}{
		"an edit":     {step{"edit_file", map[string]any{"path": "a.txt", "old_text": "seven", "new_text": "7"}}, "NOT_READ"},
		"a new text":  {step{"write_file", map[string]any{"path": "a.txt", "content": "other\n", "mode": "overwrite"}}, "NOT_READ"},
		"a read":      {step{"read_file", map[string]any{"path": "a.txt"}}, ""},
		"another one": {step{"edit_file", map[string]any{"path": "b.txt", "old_text": "two", "new_text": "2"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &steps{before: func(model.Request) {}}
			plan := []step{
				{"read_file", map[string]any{"path": "a.txt"}},
				{"read_file", map[string]any{"path": "big1.txt"}},
				{"read_file", map[string]any{"path": "big2.txt"}},
				{"read_file", map[string]any{"path": "big3.txt"}},
				{"read_file", map[string]any{"path": "b.txt"}},
				c.step, c.step,
				{},
			}
			m.next = func() step {
				s := plan[0]
				plan = plan[1:]
				return s
			}
			s, _, _, root := withFiles(t, m, 16_000)
			for name, content := range map[string]string{
				"a.txt": "five\nsix\nseven\n" + strings.Repeat("and more of it\n", 40), "b.txt": "one\ntwo\n",
				"big1.txt": big, "big2.txt": big, "big3.txt": big,
			} {
				if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if r := ask(t, s, "go"); r.Stop != EndTurn {
				t.Fatalf("%+v", r)
			}
			h := s.History()
			if !strings.HasPrefix(h[2].Text, `[Cleared: read_file "a.txt"`) {
				t.Fatalf("the file is still there: %.200s", h[2].Text)
			}
			first, second := h[len(h)-4], h[len(h)-2]
			if c.refused == "" {
				if first.Failed || strings.HasPrefix(first.Text, "[") {
					t.Errorf("%+v", first)
				}
				return
			}
			if !strings.HasPrefix(first.Text, "["+c.refused+"] ") || !strings.Contains(first.Text, "seven") || second.Failed {
				t.Errorf("first %.600s\nthen %.200s", first.Text, second.Text)
			}
		})
	}
}
