package review

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/workspace"
)

// program writes the file as git does: another file takes its name. An editor that has it open without unsaved text reads
// it again, in parts if it likes.
func (d *desk) program(content string, open bool) {
	d.t.Helper()
	d.age += time.Minute // no longer a save that an edit has crossed
	temp := d.path + ".new"
	if err := os.WriteFile(temp, []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(temp, d.path); err != nil {
		d.t.Fatal(err)
	}
	if open {
		d.change(text.Diff(d.buffer.text, text.New(content)))
	}
}

// save is the person's.
func (d *desk) save() {
	d.t.Helper()
	if err := os.WriteFile(d.path, []byte(d.buffer.text.String()), 0o644); err != nil {
		d.t.Fatal(err)
	}
	d.w.Saved(d.uri, nil)
}

func (d *desk) shown() (hunks []Hunk, file File) {
	files := d.log.List(d.t.Context(), "", filepath.Base)
	if len(files) == 0 {
		return nil, File{}
	}
	return files[0].Hunks, files[0]
}

// TestFaultV2Settled: what another program writes over a hunk settles it; a text that the file had before is what it was
// then. The other hunks stay.
func TestFaultV2Settled(t *testing.T) {
	const (
		both   = "alpha\nBETA\ngamma\nDELTA\n"
		second = "alpha\nbeta\ngamma\nDELTA\n"
	)
	for _, tt := range []struct {
		name   string
		writes []string
		want   []string // the new lines of the hunks
	}{
		{"git stash", []string{four}, nil},
		{"git stash, git stash pop", []string{four, both}, []string{"BETA\n", "DELTA\n"}},
		{"git checkout of a branch with other text there", []string{"alpha\nbeta of main\ngamma\ndelta\n"}, nil},
		{"git checkout -p of the first hunk", []string{second}, []string{"DELTA\n"}},
		{"another line in the place of a hunk", []string{"alpha\nBEST\ngamma\nDELTA\n"}, []string{"DELTA\n"}},
		{"lines beside a hunk", []string{"alpha\nBETA\nmore\ngamma\nDELTA\n"}, []string{"BETA\n", "DELTA\n"}},
		{"the lines of a hunk are deleted", []string{"alpha\ngamma\nDELTA\n"}, []string{"DELTA\n"}},
		{"a formatter", []string{"alpha\n\tBETA\ngamma\nDELTA\n"}, []string{"BETA\n", "DELTA\n"}},
		{"a generator that writes all anew", []string{"x\ny\n"}, nil},
		{"the file is emptied", []string{""}, nil},
		{"all anew, and back", []string{"x\ny\n", both}, []string{"BETA\n", "DELTA\n"}},
		{"all anew, then the text before the agent", []string{"x\ny\n", four}, nil},
	} {
		for _, open := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, open %v", tt.name, open), func(t *testing.T) {
				d := newDesk(t, four, open)
				d.agent(1, "beta", "BETA")
				d.agent(2, "delta", "DELTA")
				if open {
					d.save()
				}
				for _, content := range tt.writes {
					d.program(content, open)
				}
				hunks, file := d.shown()
				var got []string
				for _, h := range hunks {
					got = append(got, h.New)
				}
				if !slices.Equal(got, tt.want) || d.log.Pending() != len(tt.want) || file.Diff.Additions != len(tt.want) {
					t.Errorf("%q, %d wait, +%d -%d", got, d.log.Pending(), file.Diff.Additions, file.Diff.Deletions)
				}
				before := d.now()
				if len(tt.want) == 0 {
					if u := d.log.Undo(t.Context(), Scope{All: true}); len(u.Changed) > 0 || len(u.Conflicts) > 0 || d.now() != before {
						t.Errorf("an undo of nothing: %+v %q", u, d.now())
					}
				} else if j := d.log.Reject(t.Context(), "", nil); len(j.Conflicts) > 0 || strings.Contains(d.now(), "BETA") || strings.Contains(d.now(), "DELTA") {
					t.Errorf("rejected %+v: %q", j, d.now())
				}
			})
		}
	}
}

// TestUndoTellsOfTakenText: the text of a hunk that another program has written over and left in the file is no hunk any more, and an undo says
// that it stays.
func TestUndoTellsOfTakenText(t *testing.T) {
	for _, tt := range []struct {
		name   string
		writes []string
		want   string // the conflict
		after  string
	}{
		{
			"a line in the middle of a hunk",
			[]string{"alpha\nBETA\nmore\nGAMMA\nDELTA\n"},
			"1 of 2 changes was edited since and is left as it is",
			"alpha\nBETA\nmore\nGAMMA\ndelta\n",
		},
		{
			"and then all of it",
			[]string{"alpha\nBETA\nmore\nGAMMA\nDELTA\n", "alpha\nBETA\nmore\nGAMMA\nof main\n"},
			"1 change was edited since and is left as it is",
			"alpha\nBETA\nmore\nGAMMA\nof main\n",
		},
		{"what was there before the agent", []string{"alpha\nbeta\ngamma\nDELTA\n"}, "", four},
		{"other text in its place", []string{"alpha\nof main\nDELTA\n"}, "", "alpha\nof main\ndelta\n"},
		{"a line there, and back", []string{"alpha\nBETA\nmore\nGAMMA\nDELTA\n", "alpha\nBETA\nGAMMA\nDELTA\n"}, "", four},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, four, false)
			d.agent(1, "beta\ngamma\n", "BETA\nGAMMA\n")
			d.agent(1, "delta", "DELTA")
			for _, content := range tt.writes {
				d.program(content, false)
			}
			u := d.log.Undo(t.Context(), Scope{All: true})
			if got := u.Conflicts[d.path]; got != tt.want || d.now() != tt.after {
				t.Errorf("%q, %+v", d.now(), u)
			}
		})
	}
}

// TestFaultV2OwnCommand: the agent's own git checkout takes its changes back, and nothing of either is left to judge, or told
// to the model, which did it.
func TestFaultV2OwnCommand(t *testing.T) {
	d := newDesk(t, four, false)
	d.agent(1, "beta", "BETA")
	d.agent(1, "delta", "DELTA")
	mark := d.w.Mark()
	before := d.now()
	d.program(four, false)
	c := filetime.Change{Session: "s", Call: "sh", Turn: 2}
	l := mark.Land(c, effects(d.path, before, four), nil)
	d.log.Landed(l.Change, l.Landed)
	if hunks, _ := d.shown(); len(hunks) > 0 {
		t.Errorf("%+v", hunks)
	}
	if news, _ := d.log.News(t.Context(), filepath.Base); news != "" {
		t.Error(news)
	}
	d.program(before, false) // git stash pop, by the person
	if hunks, _ := d.shown(); len(hunks) != 2 {
		t.Errorf("%+v", hunks)
	}
}

// TestFaultV15Overwritten: what a program wrote over, or a person closed without saving, nobody has rejected.
func TestFaultV15Overwritten(t *testing.T) {
	for name, lose := range map[string]func(d *desk){
		"git stash":               func(d *desk) { d.save(); d.program(four, true) },
		"closed without saving":   func(d *desk) { d.w.Close(d.uri) },
		"a program's own line":    func(d *desk) { d.save(); d.program("alpha\nBEST\ngamma\ndelta\n", true) },
		"all anew after a reload": func(d *desk) { d.save(); d.program("x\n", true); d.program("y\n", true) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, four, true)
			d.agent(1, "beta", "BETA")
			lose(d)
			news, told := d.log.News(t.Context(), filepath.Base)
			if !strings.Contains(news, "-beta\n+BETA\n") || !strings.Contains(news, "nobody has judged") || strings.Contains(news, "reject") ||
				strings.Contains(news, "The user") {
				t.Error(news)
			}
			told()
			if again, _ := d.log.News(t.Context(), filepath.Base); again != "" {
				t.Errorf("twice: %s", again)
			}
		})
	}
	t.Run("rejected", func(t *testing.T) {
		d := newDesk(t, four, false)
		d.agent(1, "beta", "BETA")
		d.program(four, false)
		d.now()
		d.program("alpha\nBETA\ngamma\ndelta\n", false)
		d.log.Reject(t.Context(), "", nil)
		if news, _ := d.log.News(t.Context(), filepath.Base); !strings.Contains(news, "rejected") {
			t.Error(news)
		}
	})
}

// TestFaultV2Property: whatever another program writes, and whenever, the hunks that are shown are lines of the agent's
// alone, they are all that the diff has, and rejecting them leaves each line of a program where it is.
func TestFaultV2Property(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		open := rapid.Bool().Draw(rt, "open")
		n, story := 0, []string{}
		lines := func(by string, most int) (out []string) {
			for range rapid.IntRange(0, most).Draw(rt, "lines") {
				n++
				out = append(out, fmt.Sprintf("%s %d\n", by, n))
			}
			return out
		}
		d := newDesk(t, strings.Join(append(lines("base", 8), "end\n"), ""), open)
		past := []string{d.now()}
		splice := func(by string) string {
			now := slices.Collect(strings.Lines(d.now()))
			from := rapid.IntRange(0, len(now)).Draw(rt, "from")
			to := min(len(now), from+rapid.IntRange(0, 3).Draw(rt, "count"))
			for i := from; by == "agent" && i < to; i++ { // what it does to its own lines is TestReviewProperty's
				if strings.HasPrefix(now[i], by) {
					to = i
				}
			}
			return strings.Join(slices.Replace(now, from, to, lines(by, 3)...), "")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"agent": func(*rapid.T) {
				s, err := d.w.Read(t.Context(), d.path)
				if err != nil {
					rt.Fatal(err)
				}
				fresh := splice("agent")
				story = append(story, fmt.Sprintf("agent %q", fresh))
				set := text.Diff(s.Text, text.New(fresh))
				if len(set) == 0 {
					return
				}
				d.n++
				c := filetime.Change{Session: "s", Call: fmt.Sprint("call", d.n), Turn: d.n, Files: []filetime.FileEdit{{
					Path: d.path, Base: s.Text, Rev: s.Rev, Edits: set,
				}}}
				l, err := d.w.Commit(t.Context(), c)
				if err != nil {
					rt.Fatal(err)
				}
				d.log.Landed(c, l)
				if open {
					d.save()
				}
				past = append(past, d.now())
			},
			"program": func(*rapid.T) {
				fresh := splice("program")
				story = append(story, fmt.Sprintf("program %q", fresh))
				d.program(fresh, open)
				past = append(past, fresh)
			},
			"restore": func(*rapid.T) {
				fresh := rapid.SampledFrom(past).Draw(rt, "past")
				story = append(story, fmt.Sprintf("restore %q", fresh))
				d.program(fresh, open)
			},
			"look": func(*rapid.T) { d.log.Marks(d.path) },
			"": func(*rapid.T) {
				hunks, file := d.shown()
				now := map[string]bool{}
				for _, h := range hunks {
					for line := range strings.Lines(h.Now.Slice(h.Start, h.End)) {
						now[line] = true
						if !strings.HasPrefix(line, "agent") {
							rt.Fatalf("%q is shown as the agent's, of %q", line, d.now())
						}
					}
				}
				if file.Diff.Additions != len(now) {
					rt.Fatalf("+%d of %d lines: %s\n%+v\n%v", file.Diff.Additions, len(now), file.Diff.Unified, hunks, story)
				}
				if pending := d.log.Pending(); pending != len(hunks) {
					rt.Fatalf("%d wait of %d", pending, len(hunks))
				}
			},
		})
		before := d.now()
		j := d.log.Reject(t.Context(), "", nil)
		for line := range strings.Lines(before) {
			if strings.HasPrefix(line, "program") && !strings.Contains(d.now(), line) {
				rt.Fatalf("%q of a program is gone: %q, %q", line, before, d.now())
			}
		}
		// A line of a program beside it that has the same words is a conflict.
		if hunks, _ := d.shown(); len(hunks) != len(j.Conflicts) {
			rt.Fatalf("%+v are left of %+v", hunks, j)
		}
	})
}

func effects(path, before, after string) []workspace.Effect {
	return []workspace.Effect{{Path: path, Before: []byte(before), After: []byte(after)}}
}
