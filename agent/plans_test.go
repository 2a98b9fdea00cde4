package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/filetime/filetimetest"
	"tandem/filetime/overlay"
	texts "tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/edit"
	"tandem/tools/gate"
	"tandem/tools/mkdir"
	"tandem/tools/move"
	reads "tandem/tools/read"
	"tandem/tools/remove"
	"tandem/tools/run"
	"tandem/tools/write"
)

// planning is a session in plan mode with a file sub/a.txt of three lines that it has read.
type planning struct {
	*Session
	t     *testing.T
	c     *client
	st    store.Store
	files *filetimetest.Files
	path  string
}

func newPlanning(t *testing.T, st store.Store, past *Past, was *planning) *planning {
	t.Helper()
	p := &planning{t: t, st: st, c: &client{}}
	if was == nil {
		cwd := holding(t, map[string]string{"sub/a.txt": "one\ntwo\nthree\n", "elsewhere/a.txt": "one\ntwo\nthree\n"})
		p.files, p.path = filetimetest.New(), filepath.Join(cwd, "sub", "a.txt")
	} else {
		p.files, p.path = was.files, was.path
	}
	p.Session = session(t, p.c, opener{"main": play(t, "say Hi.\n")}, func(o *setup) {
		o.ID, o.Cwd, o.Mode, o.Past, o.Files = "kept", filepath.Dir(filepath.Dir(p.path)), gate.ModePlan, past, p.files
		o.Keeping.Store = func() store.Store { return st }
		o.Tools = offering(edit.New(), write.New(), reads.New(), remove.New(), move.New(), mkdir.New())
	})
	if was == nil {
		p.call("read_file", `{"path": "sub/a.txt"}`)
	}
	return p
}

func (p *planning) call(name, args string) tools.Result {
	p.t.Helper()
	results, _, err := p.CallTools(p.t.Context(), []run.Call{{Name: name, Arguments: json.RawMessage(args)}}, CallOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return results[0]
}

// change replaces a word, and gives the plan that waits.
func (p *planning) change(old, new string) string {
	p.t.Helper()
	r := p.call("edit_file", fmt.Sprintf(`{"path": "sub/a.txt", "old_text": %q, "new_text": %q}`, old, new))
	q, ok := r.Value.(tools.Queued)
	if !r.Success || !ok || !q.Queued || r.Landed != nil || len(r.Diffs) != 1 || !strings.HasSuffix(r.Render.Markdown, "planned: +1 −1") {
		p.t.Fatalf("%+v", r)
	}
	return q.PlanID
}

func (p *planning) says(want string) {
	p.t.Helper()
	if got, _ := p.files.Text(p.path); got != want {
		p.t.Errorf("the file says %q, want %q", got, want)
	}
}

func (p *planning) approve(ids ...string) tools.Result {
	p.t.Helper()
	all, err := p.ApprovePlans(p.t.Context(), ids, nil)
	if err != nil || len(all) == 0 {
		p.t.Fatalf("%+v, %v", all, err)
	}
	return all[len(all)-1].Result
}

// TestF208PlanQueue approves plans after something has changed: what no person may allow is refused, and the plan waits on.
func TestF208PlanQueue(t *testing.T) {
	const was = "one\ntwo\nthree\n"
	for _, row := range []struct {
		name   string
		change func(p *planning)
		want   filetime.Code // of the approval; "" is a success
	}{
		{"nothing", func(*planning) {}, ""},
		{"the mode, to one that asks", func(p *planning) { must(p.t, p.SetMode(gate.ModeAsk)) }, ""},
		{"the mode, to one that only looks", func(p *planning) { must(p.t, p.SetMode(gate.ModeReadOnly)) }, tools.GateDenied},
		{"the rules", func(p *planning) {
			reconfigure(p.Session, func(c *config.Config) {
				c.Permissions.Deny = append(c.Permissions.Deny, config.Rule{Tool: "edit_file"})
			})
		}, tools.GateDenied},
		{"the folder, by a link", func(p *planning) {
			dir := filepath.Dir(p.path)
			must(p.t, os.Rename(dir, dir+".was"))
			must(p.t, os.Symlink(filepath.Join(filepath.Dir(dir), "elsewhere"), dir))
		}, tools.GateDenied},
		{"the editor, which does not answer", func(p *planning) {
			p.files.Fail = &filetime.Error{Code: filetime.Timeout, Reason: "editor_busy", Message: "The editor does not answer."}
		}, filetime.Timeout},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPlanning(t, memory(t), nil, nil)
			id := p.change("two", "2")
			p.says(was)
			row.change(p)
			r := p.approve(id)
			if r.Error != row.want || r.Success != (row.want == "") {
				t.Errorf("%+v", r)
			}
			if row.want == "" {
				p.says("one\n2\nthree\n")
				if len(p.Plans()) > 0 {
					t.Errorf("%+v", p.Plans())
				}
				return
			}
			p.says(was)
			if list := p.Plans(); len(list) != 1 || list[0].State != overlay.Queued {
				t.Errorf("%+v", list)
			}
			p.files.Fail = nil
			if err := p.DiscardPlans(nil); err != nil || len(p.Plans()) > 0 {
				t.Error(err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What cannot wait is refused in plan mode, and so is what a host would apply itself.
func TestF208WhatCannotWait(t *testing.T) {
	p := newPlanning(t, memory(t), nil, nil)
	for name, args := range map[string]string{
		"delete_file": `{"path": "sub/a.txt"}`, "move_file": `{"source": "sub/a.txt", "destination": "b.txt"}`, "create_directory": `{"path": "d"}`,
	} {
		set := p.Tools()
		if set.Get(name) == nil {
			t.Fatalf("there is no %s", name)
		}
		if r := p.call(name, args); r.Error != tools.PlanMode {
			t.Errorf("%s: %+v", name, r)
		}
	}
	results, _, err := p.CallTools(t.Context(), []run.Call{{
		Name: "edit_file", Arguments: json.RawMessage(`{"path": "sub/a.txt", "old_text": "two", "new_text": "2"}`),
	}}, CallOptions{Apply: filetime.None})
	if err != nil || results[0].Error != tools.PlanMode {
		t.Errorf("%+v, %v", results, err)
	}
	p.says("one\ntwo\nthree\n")
	if len(p.Plans()) > 0 {
		t.Errorf("%+v", p.Plans())
	}
}

// An approval is in the audit, in the changes of the session and in the next process, each once.
func TestF208ApprovalIsKept(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			p := newPlanning(t, st, nil, nil)
			ask(t, p.Session, "Hi.")
			first, second, third := p.change("one", "1"), p.change("two", "2"), p.change("three", "3")
			if r := p.approve(first); !r.Success || r.Landed == nil {
				t.Fatalf("%+v", r)
			}
			must(t, p.DiscardPlans([]string{second}))
			p.Close()
			changes, err := Changes(st, "kept")
			if err != nil || len(changes) != 1 || !changes[0].Allowed || changes[0].Operation != OpEdit || changes[0].Path != p.path {
				t.Errorf("%+v, %v", changes, err)
			}
			audit, err := ReadAudit(st, AuditQuery{})
			if err != nil {
				t.Fatal(err)
			}
			approved := slices.DeleteFunc(audit, func(a Audited) bool { return !strings.HasSuffix(a.Call, "/"+first) })
			if len(approved) != 1 || !approved[0].Allowed || approved[0].Layer != "person" || approved[0].Pending || approved[0].Error != "" {
				t.Errorf("%+v", approved)
			}
			past, err := TakePast(t.Context(), st, "kept", p.files, time.Now, func(store.Session) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			next := newPlanning(t, st, past, p)
			if list := next.Plans(); len(list) != 1 || list[0].ID != third || list[0].State != overlay.Queued {
				t.Fatalf("%+v", list)
			}
			told := next.window.TakeNotes()
			for _, want := range []string{"approved " + first, "discarded " + second} {
				if strings.Count(told, want) != 1 {
					t.Errorf("no %q in %q", want, told)
				}
			}
			if r := next.approve(third); !r.Success {
				t.Errorf("%+v", r)
			}
			next.says("1\ntwo\n3\n")
		})
	}
}

// A plan over a text that is too large to be kept is stale in the next process, and nothing of it lands.
func TestF208PlanOverALargeText(t *testing.T) {
	st := memory(t)
	p := newPlanning(t, st, nil, nil)
	ask(t, p.Session, "Hi.")
	more := strings.Repeat("line\n", maxBlob/5)
	p.files.Type(p.path, texts.Set{{Start: 4, End: 4, New: more}}, filetime.User)
	p.call("read_file", `{"path": "sub/a.txt", "limit": 3}`)
	p.change("one", "1")
	p.Close()
	past, err := TakePast(t.Context(), st, "kept", p.files, time.Now, func(store.Session) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	next := newPlanning(t, st, past, p)
	if list := next.Plans(); len(list) != 1 || list[0].State != overlay.Stale {
		t.Errorf("%d plans, %v", len(list), list[0].State)
	}
	if got, _ := p.files.Text(p.path); got != "one\n"+more+"two\nthree\n" {
		t.Errorf("the file says %.20q and so on, %d bytes", got, len(got))
	}
}

// Where the mode becomes plan while a person is asked, their yes queues the change and does not make it.
func TestF208ModeChangesWhileAsked(t *testing.T) {
	p := newPlanning(t, memory(t), nil, nil)
	must(t, p.SetMode(gate.ModeAsk))
	p.c.answer = func(context.Context, run.Question) run.Answer {
		must(t, p.SetMode(gate.ModePlan))
		return run.Answer{Outcome: run.Allowed, Option: run.AllowOnce}
	}
	p.change("two", "2")
	p.says("one\ntwo\nthree\n")
}

// unwritable is a store that takes no intents.
type unwritable struct{ store.Store }

func (unwritable) Intend(string, bool, ...store.Entry) error { return errors.New("the disk is full") }

// Without a record of it nothing is approved.
func TestF208NothingIsApprovedUnrecorded(t *testing.T) {
	p := newPlanning(t, unwritable{memory(t)}, nil, nil)
	id := p.change("two", "2")
	if r := p.approve(id); r.Error != tools.GateDenied {
		t.Errorf("%+v", r)
	}
	p.says("one\ntwo\nthree\n")
}

// Approvals, discards and new edits at the same time: each plan lands once or not at all.
func TestF208ApprovedAtTheSameTime(t *testing.T) {
	p := newPlanning(t, memory(t), nil, nil)
	ids := []string{p.change("one", "1"), p.change("two", "2"), p.change("three", "3")}
	var all sync.WaitGroup
	var mu sync.Mutex
	landed := map[string]int{}
	for range 4 {
		for _, id := range ids {
			all.Go(func() {
				done, err := p.ApprovePlans(t.Context(), []string{id}, nil)
				var unknown *UnknownPlanError
				if err != nil && !errors.As(err, &unknown) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, d := range done {
					if d.Result.Success {
						landed[d.ID]++
					}
				}
			})
		}
	}
	all.Wait()
	for _, id := range ids {
		if landed[id] != 1 {
			t.Errorf("%s landed %d times", id, landed[id])
		}
	}
	p.says("1\n2\n3\n")
}

// A fork has no plans of its own, and its model is told so; those of the session stay there.
func TestF208PlansStayWithTheirSession(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			p := newPlanning(t, st, nil, nil)
			ask(t, p.Session, "Hi.")
			p.change("two", "2")
			p.Written()
			must(t, Fork(st, "kept", nil, "fork"))
			_, entries, err := st.Entries("fork", store.Plan)
			if err != nil || len(entries) > 0 {
				t.Errorf("%+v, %v", entries, err)
			}
			s, _, err := st.Entries("fork")
			if err != nil {
				t.Fatal(err)
			}
			if news, err := plannedBefore(st, s); err != nil || !strings.Contains(news, "nothing of it waits here") {
				t.Errorf("%q, %v", news, err)
			}
			if list := p.Plans(); len(list) != 1 {
				t.Errorf("%+v", list)
			}
		})
	}
}
