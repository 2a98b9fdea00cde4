package lspserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/wire"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
)

// screen is a plain client that answers questions, as the tests say.
type screen struct {
	*questions
	mu    sync.Mutex
	shown []lsp.ShowMessageRequestParams
	told  []string
	open  int // questions on the screen
}

func newScreen(answer func(ctx context.Context, p lsp.ShowMessageRequestParams) (string, error)) *screen {
	s := &screen{}
	s.questions = &questions{
		now: time.Now, safe: client{}.harmless, name: func(p string) string { return p }, dir: func(p string) string { return "~" + p }, tell: func(m string) { s.told = append(s.told, m) },
		call: func(ctx context.Context, p lsp.ShowMessageRequestParams) (string, error) {
			s.mu.Lock()
			s.shown = append(s.shown, p)
			s.open++
			if s.open > 1 {
				panic("two questions at once")
			}
			s.mu.Unlock()
			defer func() { s.mu.Lock(); s.open--; s.mu.Unlock() }()
			return answer(ctx, p)
		},
	}
	return s
}

// first picks the first answer, as Enter does.
func first(_ context.Context, p lsp.ShowMessageRequestParams) (string, error) {
	return p.Actions[0].Title, nil
}

// agree picks the last answer that is on offer, again and again.
func agree(_ context.Context, p lsp.ShowMessageRequestParams) (string, error) {
	return p.Actions[len(p.Actions)-1].Title, nil
}

func command(text string) run.Question {
	return run.Question{Judged: gate.Decision{Why: "Deletes files: rm -rf build"}, Plan: &tools.Plan{
		Title: "$ " + text, Needs: []tools.Need{{Act: tools.Runs, Argv: []string{"bash", "-c", text}}}, Danger: tools.Dangerous, Locations: []tools.Location{{Path: "/ws"}},
	}}
}

func change(path, old, now string) run.Question {
	d := show.Diff(path, text.New(old), text.New(now), show.Options{MaxBytes: 1 << 20})
	return run.Question{Judged: gate.Decision{Why: "Changes a file"}, Plan: &tools.Plan{Title: "Edit " + path}, Diffs: []run.DiffPreview{
		{Path: path, Old: old, New: now, Unified: d.Unified},
	}}
}

// The answer that Enter takes refuses, whatever the question and its pages.
func TestFindingL1TheFirstAnswerRefuses(t *testing.T) {
	long := strings.Repeat("echo one more line\n", 100)
	for name, q := range map[string]run.Question{
		"a command": command("rm -rf build"), "a long one": command(long), "a change": change("a.txt", "one\n", "two\n"),
		"neither": {Plan: &tools.Plan{Title: "Create folder x"}},
	} {
		s := newScreen(first)
		if got, err := s.permission(t.Context(), "s", q); got.Outcome != run.Rejected || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
		s = newScreen(agree)
		if got, err := s.permission(t.Context(), "s", q); got.Outcome != run.Allowed || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
		for i, p := range s.shown {
			if p.Actions[0].Title != "Reject" || len(p.Actions) < 2 {
				t.Errorf("%s, page %d: %v", name, i, p.Actions)
			}
		}
	}
	for _, nothing := range []string{"", "Allow", "reject"} {
		s := newScreen(func(context.Context, lsp.ShowMessageRequestParams) (string, error) { return nothing, nil })
		if got, _ := s.permission(t.Context(), "s", command("ls")); got.Outcome == run.Allowed {
			t.Errorf("%q allows", nothing)
		}
	}
}

// A command is seen before it can be allowed: the page that says that there is one does not offer it.
func TestFindingL1ACommandTakesTwoSteps(t *testing.T) {
	s := newScreen(agree)
	if got, err := s.permission(t.Context(), "s", command("make\nrm -rf build")); got.Outcome != run.Allowed || err != nil {
		t.Fatal(got, err)
	}
	if len(s.shown) != 2 {
		t.Fatalf("%d pages: %+v", len(s.shown), s.shown)
	}
	for i, want := range []string{
		"Tandem: run a command of 2 lines?\nin ~/ws\nDeletes files: rm -rf build [Reject] [Show command]",
		"Tandem: run this command?\n1│ make\n2│ rm -rf build [Reject] [Run once]",
	} {
		got := s.shown[i].Message
		for _, a := range s.shown[i].Actions {
			got += " [" + a.Title + "]"
		}
		if got != want {
			t.Errorf("page %d:\n%s\nwant\n%s", i+1, got, want)
		}
	}
}

// A change is summed up in a line for each file, and the diff can be seen first.
func TestFindingL1AChangeCanBeSeen(t *testing.T) {
	s := newScreen(agree)
	if got, err := s.permission(t.Context(), "s", change("a.txt", "one\ntwo\n", "one\n2\nthree\n")); got.Outcome != run.Allowed || err != nil {
		t.Fatal(got, err)
	}
	if m := s.shown[0].Message; !strings.Contains(m, "a.txt +2 −1, line 1") {
		t.Error(m)
	}
	if titles := fmt.Sprint(s.shown[0].Actions); titles != "[{Reject} {Allow once} {Show diff}]" {
		t.Error(titles)
	}
	if m := s.shown[1].Message; !strings.Contains(m, "-two") || !strings.Contains(m, "+three") {
		t.Error(m)
	}
}

// A plain client is asked about this call alone, whatever answers there are for longer: it cannot show the rule that they make.
func TestF204APlainClientAnswersOnce(t *testing.T) {
	for name, q := range map[string]run.Question{"a command": command("make"), "a change": change("a.txt", "one\n", "two\n")} {
		rule := gate.Rule{Effect: gate.Allow, Tool: "*"}
		q.Turn, q.Judged.Allows, q.Judged.Denies, q.Judged.Edits = 1, &rule, &rule, []string{"a.txt"}
		if n := len(q.Options()); n != 7 {
			t.Fatalf("%s: %d options", name, n)
		}
		s := newScreen(agree)
		if got, err := s.permission(t.Context(), "s", q); err != nil || got != (run.Answer{Outcome: run.Allowed}) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		for _, p := range s.shown {
			for _, a := range p.Actions {
				if !slices.Contains([]string{"Reject", "Show command", "Run once", "Allow once", "Show diff"}, a.Title) {
					t.Errorf("%s offers %q", name, a.Title)
				}
			}
		}
	}
}

// Nothing of a command is hidden or left out: not by characters without a shape, not by links, not by its length.
func TestFindingS4WhatIsShownIsWhatRuns(t *testing.T) {
	hostile := "echo [safe](command:workbench.action.quit) \x1b[2K\u202e; rm -rf ~"
	s := newScreen(agree)
	if _, err := s.permission(t.Context(), "s", command(hostile)); err != nil {
		t.Fatal(err)
	}
	if m := s.shown[1].Message; !strings.Contains(m, `echo [safe]\u{28}command:workbench.action.quit) \u{1b}[2K\u{202e}; rm -rf ~`) {
		t.Error(m)
	}
	s = newScreen(agree)
	s.safe = client{literal: true}.harmless
	if _, err := s.permission(t.Context(), "s", command(hostile)); err != nil {
		t.Fatal(err)
	}
	if m := s.shown[1].Message; !strings.Contains(m, `echo [safe](command:workbench.action.quit) \u{1b}[2K\u{202e}; rm -rf ~`) {
		t.Error(m)
	}
	var long strings.Builder
	for i := range 120 {
		fmt.Fprintf(&long, "echo %d\n", i)
	}
	long.WriteString(strings.Repeat("x", 3000) + "END")
	s = newScreen(agree)
	if got, err := s.permission(t.Context(), "s", command(long.String())); got.Outcome != run.Allowed || err != nil {
		t.Fatal(got, err)
	}
	var all strings.Builder
	for i, p := range s.shown {
		if n := utf8.RuneCountInString(p.Message); n > 1000 {
			t.Errorf("page %d has %d letters", i, n)
		}
		if strings.Count(p.Message, "\n") > pageLines {
			t.Errorf("page %d: %s", i, p.Message)
		}
		last := i == len(s.shown)-1
		if runs := p.Actions[len(p.Actions)-1].Title == "Run once"; runs != last {
			t.Errorf("page %d: %v", i, p.Actions)
		}
		for _, row := range strings.Split(p.Message, "\n")[1:] {
			_, rest, _ := strings.Cut(row, "│ ")
			all.WriteString(rest)
		}
	}
	for i := range 120 {
		if !strings.Contains(all.String(), fmt.Sprintf("echo %d", i)) {
			t.Errorf("line %d is not shown", i)
		}
	}
	if strings.Count(all.String(), "x") != 3000 || !strings.HasSuffix(all.String(), "END") {
		t.Error("a long line is not shown in full")
	}
}

// What a client is called decides whether links are taken out of what it shows; a client of an unknown name may render
// them.
func TestFindingS4WhoShowsTextWordForWord(t *testing.T) {
	for name, literal := range map[string]bool{
		"Neovim": true, "helix": true, "Eglot": true, "emacs": true, "kakoune-lsp": true, "vim-lsp": true, "Vim": true,
		"": false, "Visual Studio Code": false, "VSCodium": false, "Neovim for VS Code": false, "coc.nvim": false,
	} {
		var p lsp.InitializeParams
		p.ClientInfo.Name = name
		if got := clientOf(p).harmless("[a](b)"); (got == "[a](b)") != literal {
			t.Errorf("%q is shown %s", name, got)
		}
	}
}

// A line of links is escaped before it is divided into pages, so that no page is too long.
func TestFindingS4LinksAreEscapedBeforePaging(t *testing.T) {
	s := newScreen(agree)
	text := strings.Repeat("[a](b)", 1000)
	if _, err := s.permission(t.Context(), "s", command(text)); err != nil {
		t.Fatal(err)
	}
	all := ""
	for i, p := range s.shown {
		if n := utf8.RuneCountInString(p.Message); n > 1000 {
			t.Errorf("page %d has %d letters", i, n)
		}
		if i > 0 {
			for _, row := range strings.Split(p.Message, "\n")[1:] {
				_, rest, _ := strings.Cut(row, "│ ")
				all += rest
			}
		}
	}
	if want := strings.Repeat(`[a]\u{28}b)`, 1000); all != want {
		t.Errorf("%d letters are shown, want %d", len(all), len(want))
	}
}

// No question appears within a second and a half of a key.
func TestFindingL1NotWithinTheTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at time.Time
		s := newScreen(func(_ context.Context, p lsp.ShowMessageRequestParams) (string, error) {
			at = time.Now()
			return p.Actions[0].Title, nil
		})
		last := time.Now()
		s.typed()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := s.permission(t.Context(), "s", command("ls")); err != nil {
				t.Error(err)
			}
		}()
		for range 10 {
			time.Sleep(time.Second)
			s.typed()
			last = time.Now()
		}
		<-done
		if at.Sub(last) < 1500*time.Millisecond {
			t.Errorf("asked %v after a key", at.Sub(last))
		}
		// The clock of the machine goes back: the question comes all the same.
		s.now = func() time.Time { return time.Now().Add(time.Hour) }
		began := time.Now()
		end, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.typed()
		s.now = time.Now
		if _, err := s.permission(end, "s", command("ls")); err != nil || time.Since(began) > 3*time.Second {
			t.Error(err, time.Since(began))
		}
	})
}

// One question at a time, and one that is waiting ends with its turn.
func TestFindingL1OneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(func(ctx context.Context, p lsp.ShowMessageRequestParams) (string, error) {
			select {
			case <-time.After(time.Second):
				return p.Actions[0].Title, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got, err := s.permission(t.Context(), "s", command("ls")); got.Outcome != run.Rejected || err != nil {
					t.Error(got, err)
				}
			})
		}
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if got, err := s.permission(short, "s", command("ls")); got.Outcome == run.Allowed || err == nil {
			t.Error(got, err)
		}
		wg.Wait()
		if len(s.shown) != 5 {
			t.Error(len(s.shown))
		}
	})
}

// After slice without an answer a question goes to the end of the queue if another session's question waits, and only
// then; one whose turn ends frees the screen at once.
func TestFindingL1AQuestionWithoutAnAnswerHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var shown []string
		var answered atomic.Bool
		s := newScreen(func(ctx context.Context, p lsp.ShowMessageRequestParams) (string, error) {
			name := "b"
			if strings.Contains(p.Message, "of a") {
				name = "a"
			}
			shown = append(shown, fmt.Sprint(name, " ", time.Since(begun)))
			if name == "a" && !answered.Load() {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return agree(ctx, p)
		})
		ask := func(ctx context.Context, session string) {
			if got, err := s.permission(ctx, session, change(session+" of "+session, "1\n", "2\n")); got.Outcome != run.Allowed || err != nil {
				t.Error(session, got, err)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { ask(t.Context(), "a") })
		time.Sleep(time.Hour) // the queue is empty
		wg.Go(func() { ask(t.Context(), "b") })
		synctest.Wait()
		time.Sleep(time.Second)
		wg.Go(func() { ask(t.Context(), "b") })
		time.Sleep(time.Minute)
		answered.Store(true)
		wg.Wait()
		want := "[a 0s b 1h0m0s b 1h0m0s a 1h0m0s b 1h2m0s b 1h2m0s a 1h2m0s a 1h2m0s]"
		if got := fmt.Sprint(shown); got != want {
			t.Errorf("shown %s, want %s", got, want)
		}
		answered.Store(false)
		shown = nil
		turn, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wg.Go(func() {
			if got, err := s.permission(turn, "a", change("x of a", "1\n", "2\n")); got.Outcome == run.Allowed || err == nil {
				t.Error(got, err)
			}
		})
		synctest.Wait()
		began := time.Now()
		ask(t.Context(), "b")
		if d := time.Since(began); d != time.Second {
			t.Errorf("asked %v after a turn that ended in 1 s", d)
		}
		wg.Wait()
	})
}

// The time of a question of the model's runs while it is on the screen, not while it waits behind another one.
func TestFindingL5TimeRunsOnTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := 30 * time.Second
		s := newScreen(func(ctx context.Context, p lsp.ShowMessageRequestParams) (string, error) {
			select {
			case <-time.After(wait):
				return agree(ctx, p)
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		q := tools.Clarification{
			Question: "Tabs?", Options: []tools.Choice{{ID: "t", Label: "Tabs"}, {ID: "b", Label: "Blanks"}}, Timeout: 31 * time.Second,
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.permission(t.Context(), "a", command("ls")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if got, err := s.clarify(t.Context(), "b", q); got != "b" || err != nil {
			t.Error(got, err)
		}
		wg.Wait()
		q.Timeout = wait - time.Second
		began := time.Now()
		got, err := s.clarify(t.Context(), "b", q)
		if got != "" || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != q.Timeout {
			t.Error(got, err, time.Since(began))
		}
	})
}

// What is not a person's keeps no question away.
func TestFindingL1ChangesThatAreNoKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(first)
		go func() {
			for t.Context().Err() == nil {
				s.typed()()
				select {
				case <-t.Context().Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		}()
		began := time.Now()
		if _, err := s.permission(t.Context(), "a", command("ls")); err != nil || time.Since(began) > pause {
			t.Error(err, time.Since(began))
		}
	})
}

// A client that does not know the request: denied, and the person is told once.
func TestFindingL5TheClientCannotAsk(t *testing.T) {
	s := newScreen(func(context.Context, lsp.ShowMessageRequestParams) (string, error) {
		return "", &wire.Error{Code: wire.CodeMethodNotFound, Message: "unknown"}
	})
	for range 3 {
		if got, err := s.permission(t.Context(), "s", command("ls")); got.Outcome == run.Allowed || !errors.Is(err, errors.ErrUnsupported) {
			t.Error(got, err)
		}
	}
	if _, err := s.clarify(t.Context(), "s", tools.Clarification{Question: "Which?", Options: []tools.Choice{{ID: "a", Label: "A"}}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if len(s.told) != 1 {
		t.Errorf("told %q", s.told)
	}
}

// A question of the model's: the first answer is none.
func TestFindingL5AQuestionOfTheModels(t *testing.T) {
	q := tools.Clarification{Question: "Tabs or\nblanks?", Options: []tools.Choice{{ID: "t", Label: "Tabs"}, {ID: "b", Label: "Blanks"}}}
	s := newScreen(first)
	if got, err := s.clarify(t.Context(), "s", q); got != "" || err != nil {
		t.Error(got, err)
	}
	if m := s.shown[0].Message; m != "Tandem: Tabs or\nblanks?" {
		t.Errorf("%q", m)
	}
	if got, err := newScreen(agree).clarify(t.Context(), "s", q); got != "b" || err != nil {
		t.Error(got, err)
	}
}

// Lines of a file that begin like the names of a diff, as comments of SQL and Lua do, are lines of the change.
func TestSummedCountsComments(t *testing.T) {
	s := summed("q.sql", run.DiffPreview{Unified: "--- q.sql\n+++ q.sql\n@@ -1,2 +1,2 @@\n--- guard: never delete\n+++ x\n x\n"})
	if s != "q.sql +1 −1, line 1" {
		t.Error(s)
	}
}

// A key that closes a question, or gives its first answer, has answered nothing: the question appears again at the next pause. What is
// answered without a key counts, what allows counts at once, and somebody who types without end refuses in the end.
func TestFaultL3AnsweredByAKey(t *testing.T) {
	const never = -1
	for name, c := range map[string]struct {
		picked string
		before time.Duration // of the answer, that a key was pressed; never for none
		after  time.Duration
		times  int // that the question appears, where it is allowed the second time
		want   run.Outcome
	}{
		"closed by a key":            {"", never, 50 * time.Millisecond, 2, run.Allowed},
		"refused by a key":           {reject, never, 50 * time.Millisecond, 2, run.Allowed},
		"told of before the answer":  {"", time.Millisecond, never, 2, run.Allowed},
		"closed by hand":             {"", never, never, 1, run.Rejected},
		"refused by hand":            {reject, never, never, 1, run.Rejected},
		"refused, then typed":        {reject, never, 500 * time.Millisecond, 1, run.Rejected},
		"typed, then refused":        {reject, 2 * time.Second, never, 1, run.Rejected},
		"allowed":                    {"allow", never, 50 * time.Millisecond, 1, run.Allowed},
		"allowed while somebody has": {"allow", time.Millisecond, never, 1, run.Allowed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *screen
				var first, second time.Time
				n := 0
				s = newScreen(func(_ context.Context, p lsp.ShowMessageRequestParams) (string, error) {
					if n++; n > 1 {
						second = time.Now()
						return agree(t.Context(), p)
					}
					time.Sleep(5 * time.Second) // somebody reads
					if c.before != never {
						s.typed()
						time.Sleep(c.before)
					}
					if first = time.Now(); c.after != never {
						time.AfterFunc(c.after, func() { s.typed() })
					}
					if c.picked == "allow" {
						return agree(t.Context(), p)
					}
					return c.picked, nil
				})
				got, err := s.permission(t.Context(), "s", run.Question{Plan: &tools.Plan{Title: "Create folder x"}})
				if got.Outcome != c.want || err != nil || n != c.times {
					t.Errorf("%v %v, after %d times", got.Outcome, err, n)
				}
				if n == 2 && second.Sub(first) < pause-c.before {
					t.Errorf("again after %v", second.Sub(first))
				}
				time.Sleep(time.Second) // of the key
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var s *screen
		s = newScreen(func(context.Context, lsp.ShowMessageRequestParams) (string, error) {
			s.typed()
			return "", nil
		})
		if got, err := s.permission(t.Context(), "s", run.Question{Plan: &tools.Plan{Title: "Create folder x"}}); got.Outcome != run.Rejected || err != nil || len(s.shown) != mostAgain {
			t.Errorf("%v %v, after %d times", got, err, len(s.shown))
		}
	})
}
