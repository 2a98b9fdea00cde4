package lspserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/tools"
	"tandem/tools/run"
)

// questions asks the user by window/showMessageRequest, in clients that do not serve tandem/session/requestPermission
// or tandem/session/clarify. The request needs no capability, so every client is asked. Such a dialog opens while the
// user may be typing, and Enter chooses its first answer. Therefore:
//
//  1. The first answer refuses.
//  2. No question appears within pause of a key; a didChange of the user's counts as a key (debounce). A question that is
//     closed or refused within pause of a key was answered by that key, and appears again.
//  3. One question is on the screen at a time, since a second might replace it; the others wait in a FIFO queue. After
//     slice without an answer it goes to the end of the queue, if another session's question waits.
//  4. A command is shown in full before it can be allowed: the first page announces it, only the last page offers to run
//     it. A change is summarised by file; its diff follows on the next pages.
//  5. Nothing is left out: a long text continues on the next page. Clients cut messages that are longer than a page (VS Code
//     cuts at 1,000 characters and joins the lines, so each line has a margin).
//  6. Invisible characters are made visible (show.Visible) and Markdown links escaped for clients that may render them.
//     Both happen before the division into pages, since both make a text longer.
//  7. Only the allowing answer allows. No answer, an error, the end of the turn or of the client refuse.
type questions struct {
	call func(ctx context.Context, p lsp.ShowMessageRequestParams) (picked string, err error)
	tell func(message string)     // shows a message
	name func(path string) string // of a file, relative to its workspace folder
	dir  func(path string) string // of a folder, with ~ for the home folder
	now  func() time.Time
	safe func(text string) string // escapes Markdown

	mu       sync.Mutex
	asking   *turn     // whose question may be on the screen, nil for none
	waiting  []*turn   // the FIFO queue
	key      time.Time // of the last known key press
	unserved bool      // the client does not serve the request, and the user was told
}

// pause is the time without a key press before a question appears.
const pause = 1500 * time.Millisecond

// settle is how long after an answer the change comes of a key that gave it.
const settle = 400 * time.Millisecond

// mostAgain is how often a question that keys have answered appears again.
const mostAgain = 5

// slice is the time without an answer after which another session's question may replace a page.
const slice = 2 * time.Minute

// The size of a page.
const (
	pageLines   = 20
	pageLetters = 900
)

func newQuestions(s *server) *questions {
	return &questions{
		call: func(ctx context.Context, p lsp.ShowMessageRequestParams) (string, error) {
			var r lsp.MessageActionItem // null, for no answer, leaves it empty
			err := call(ctx, s.conn, protocol.WindowShowMessageRequest, p, &r)
			return r.Title, err
		},
		tell: s.warn, name: s.b.Short, dir: s.b.Tilde, now: s.o.Now, safe: func(t string) string { return s.client.harmless(t) },
	}
}

// typed says that a document was changed, which counts as a key press until no is called.
func (q *questions) typed() (no func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	was, now := q.key, q.now()
	q.key = now
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.key.Equal(now) {
			q.key = was
		}
	}
}

// page is one dialog. The answers are Reject, allow and more, which opens the next page; "" is none.
type page struct{ text, allow, more string }

const reject = "Reject"

// permission asks for a call of a session. errors.ErrUnsupported says that the client does not serve the request.
func (q *questions) permission(ctx context.Context, session string, about run.Question) (answer run.Answer, err error) {
	answer.Outcome = run.Unanswered
	err = q.inTurn(ctx, &turn{session: session}, func(t *turn) error {
		answer, err = q.permit(ctx, t, about)
		return err
	})
	return answer, err
}

func (q *questions) permit(ctx context.Context, t *turn, about run.Question) (run.Answer, error) {
	for _, p := range q.pagesOf(about) {
		answers := slices.DeleteFunc([]string{reject, p.allow, p.more}, func(a string) bool { return a == "" })
		picked, err := q.ask(ctx, t, lsp.MessageTypeWarning, p.text, answers)
		switch {
		case err != nil:
			return run.Answer{Outcome: run.Unanswered}, err
		case picked == "" || picked == reject:
			return run.Answer{Outcome: run.Rejected}, nil
		case picked == p.allow:
			return run.Answer{Outcome: run.Allowed}, nil
		case picked != p.more:
			return run.Answer{Outcome: run.Unanswered}, fmt.Errorf("the answer %.60q was not on offer", picked)
		}
	}
	return run.Answer{Outcome: run.Rejected}, nil
}

// folder asks whether to work in a folder that is as wide as the home folder. No answer is a no.
func (q *questions) folder(ctx context.Context, path string) (yes bool) {
	const work = "Work in this folder"
	about := []string{
		show.Visible(path, false), "The agent could then read everything in it, and change it as the mode allows. The folder of a project is a better choice.",
	}
	err := q.inTurn(ctx, &turn{}, func(t *turn) error {
		pages := q.paged("work in this whole folder?", about, false)
		picked, err := q.ask(ctx, t, lsp.MessageTypeWarning, strings.Join(pages, "\n"), []string{reject, work})
		yes = err == nil && picked == work
		return err
	})
	return err == nil && yes
}

// clarify puts a question of the model that has options. "" is no answer; context.DeadlineExceeded says that it was on
// the screen for about.Timeout.
func (q *questions) clarify(ctx context.Context, session string, about tools.Clarification) (id string, err error) {
	err = q.inTurn(ctx, &turn{session: session, limited: about.Timeout > 0, left: about.Timeout}, func(t *turn) error {
		id, err = q.choose(ctx, t, about)
		return err
	})
	return id, err
}

func (q *questions) choose(ctx context.Context, t *turn, about tools.Clarification) (string, error) {
	const none = "No answer"
	lines := show.Visible(about.Question, true)
	pages := q.paged("", strings.Split(lines, "\n"), false)
	for i, text := range pages {
		answers := []string{none}
		if i+1 < len(pages) {
			answers = append(answers, "Show more")
		} else {
			for _, o := range about.Options {
				answers = append(answers, q.safe(show.Visible(o.Label, false)))
			}
		}
		picked, err := q.ask(ctx, t, lsp.MessageTypeInfo, text, answers)
		at := slices.Index(answers, picked)
		if err != nil || at < 1 {
			return "", err
		}
		if i+1 == len(pages) {
			return about.Options[at-1].ID, nil
		}
	}
	return "", nil
}

// turn is a question's place in the queue.
type turn struct {
	session string
	limited bool          // left is a limit
	left    time.Duration // the remaining time on the screen
	granted chan struct{}
	due     bool                    // the page has been on the screen for slice
	take    context.CancelCauseFunc // closes the page
}

var errPutBack = errors.New("another session's question is asked first")

// inTurn calls do when the screen is free, and again after it was put back into the queue.
func (q *questions) inTurn(ctx context.Context, t *turn, do func(*turn) error) error {
	for {
		if err := q.enter(ctx, t); err != nil {
			return err
		}
		err := func() error {
			defer q.leave(t)
			return do(t)
		}()
		if !errors.Is(err, errPutBack) {
			return err
		}
	}
}

func (q *questions) enter(ctx context.Context, t *turn) error {
	t.granted = make(chan struct{})
	q.mu.Lock()
	q.waiting = append(q.waiting, t)
	q.next()
	q.mu.Unlock()
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
		q.leave(t)
		return ctx.Err()
	}
}

func (q *questions) leave(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.asking == t {
		q.asking = nil
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(w *turn) bool { return w == t })
	q.next()
}

// next grants the screen to the head of the queue if it is free, or if the page on it is due. q.mu is held.
func (q *questions) next() {
	a := q.asking
	switch {
	case len(q.waiting) == 0:
	case a == nil:
		q.asking, q.waiting = q.waiting[0], q.waiting[1:]
		close(q.asking.granted)
	case a.due && slices.ContainsFunc(q.waiting, func(w *turn) bool { return w.session != a.session }):
		a.take(errPutBack)
	}
}

// stand says that a question is on the screen or queued.
func (q *questions) stand() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.asking != nil
}

// show asks a page. The error is errPutBack if another session's question replaced it.
func (q *questions) show(ctx context.Context, t *turn, p lsp.ShowMessageRequestParams) (picked string, err error) {
	ctx, take := context.WithCancelCause(ctx)
	defer take(nil)
	if t.limited {
		since := time.Now()
		defer time.AfterFunc(t.left, func() { take(context.DeadlineExceeded) }).Stop()
		defer func() { t.left -= time.Since(since) }()
	}
	q.mu.Lock()
	t.take, t.due = take, false
	q.mu.Unlock()
	defer time.AfterFunc(slice, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		t.due = true
		q.next()
	}).Stop()
	picked, err = q.call(ctx, p)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return picked, err
}

// ask sends one page after pause without a key press, and again where a key has closed it or given its first answer.
func (q *questions) ask(ctx context.Context, t *turn, kind lsp.MessageType, text string, answers []string) (picked string, err error) {
	for range mostAgain {
		picked, err = q.askOnce(ctx, t, kind, text, answers)
		if err != nil || picked != "" && picked != answers[0] || !q.typedOver(ctx) {
			break
		}
	}
	return picked, err
}

// typedOver says whether a key was pressed when a question was answered just now.
func (q *questions) typedOver(ctx context.Context) bool {
	since := q.now().Add(-pause)
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.key.After(since)
}

func (q *questions) askOnce(ctx context.Context, t *turn, kind lsp.MessageType, text string, answers []string) (picked string, err error) {
	for {
		q.mu.Lock()
		now := q.now()
		if q.key.After(now) { // the clock was set back
			q.key = now
		}
		rest := q.key.Add(pause).Sub(now)
		q.mu.Unlock()
		if rest <= 0 {
			break
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	p := lsp.ShowMessageRequestParams{Type: kind, Message: "Tandem: " + text}
	for _, a := range answers {
		p.Actions = append(p.Actions, lsp.MessageActionItem{Title: a})
	}
	picked, err = q.show(ctx, t, p)
	if !wire.Is(err, wire.CodeMethodNotFound) {
		return picked, err
	}
	q.mu.Lock()
	told := q.unserved
	q.unserved = true
	q.mu.Unlock()
	if !told {
		q.tell("this editor cannot show permission prompts (window/showMessageRequest). Actions that need one are refused.")
	}
	return "", errors.ErrUnsupported
}

// pagesOf are the pages that describe a call.
func (q *questions) pagesOf(about run.Question) []page {
	var out []page
	add := func(allow, then string, texts []string) {
		for i, text := range texts {
			p := page{text: text, more: "Show more"}
			if i+1 == len(texts) {
				p.allow, p.more = allow, then
			}
			out = append(out, p)
		}
	}
	why := show.Visible(about.Judged.Why, false)
	if command := about.Plan.Command(); command != "" {
		var lines []string
		if title := about.Plan.Title; !strings.HasPrefix(title, "$ ") { // more than the line itself
			lines = append(lines, show.Visible(title, false))
		}
		for _, l := range about.Plan.Locations {
			lines = append(lines, "in "+q.dir(l.Path))
		}
		if about.Unkept != "" {
			lines = append(lines, show.Visible(about.Unkept, false))
		}
		add("", "Show command", q.paged(asked(command), append(lines, why), false))
		add("Run once", "", q.paged("run this command?", strings.Split(show.Visible(command, true), "\n"), true))
		return out
	}
	lines := []string{show.Visible(about.Plan.Title, false)}
	var diff []string
	for _, d := range about.Diffs {
		lines = append(lines, summed(show.Visible(q.name(d.Path), false), d))
		diff = append(diff, strings.Split(strings.TrimSuffix(show.Visible(d.Unified, true), "\n"), "\n")...)
	}
	if len(diff) == 0 {
		add("Allow once", "", q.paged("allow this?", append(lines, why), false))
		return out
	}
	add("Allow once", "Show diff", q.paged("allow this change?", append(lines, why), false))
	add("Allow once", "", q.paged("allow this change?", diff, true))
	return out
}

// asked is the question about a command that is not shown yet.
func asked(command string) string {
	if lines := strings.Count(strings.TrimSuffix(command, "\n"), "\n") + 1; lines > 1 {
		return fmt.Sprintf("run a command of %d lines?", lines)
	}
	return "run a command?"
}

// summed summarises the change of one file in a line.
func summed(name string, d run.DiffPreview) string {
	if d.Unified == "" {
		return fmt.Sprintf("%s: too large to show (%d bytes before, %d after)", name, len(d.Old), len(d.New))
	}
	added, removed, first := 0, 0, 0
	for line := range strings.Lines(d.Unified) {
		var from, to int
		switch {
		case first == 0 && !strings.HasPrefix(line, "@@ "): // the names, before the first hunk
		case first == 0:
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d", &from, new(int), &to); err != nil {
				_, _ = fmt.Sscanf(line, "@@ -%d +%d", &from, &to)
			}
			first = max(to, 1)
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return fmt.Sprintf("%s +%d −%d, line %d", name, added, removed, first)
}

// paged divides lines into pages with a heading. With a margin lines are numbered; without one, empty lines are left
// out. A line that is too long for one page continues behind a margin of its own.
func (q *questions) paged(heading string, lines []string, margin bool) []string {
	var pages []string
	var b strings.Builder
	on := 0 // lines of the page
	put := func(row string) {
		if on > 0 && (on >= pageLines || utf8.RuneCountInString(b.String())+utf8.RuneCountInString(row) > pageLetters) {
			pages = append(pages, b.String())
			b.Reset()
			on = 0
		}
		b.WriteString("\n" + row)
		on++
	}
	for i, line := range lines {
		if !margin && line == "" {
			continue
		}
		begin := ""
		if margin {
			begin = fmt.Sprintf("%d│ ", i+1)
		}
		for rest := []rune(q.safe(line)); ; {
			n := min(len(rest), pageLetters/2)
			put(begin + string(rest[:n]))
			if rest = rest[n:]; len(rest) == 0 {
				break
			}
			begin = "…│ "
		}
	}
	pages = append(pages, b.String())
	for i, p := range pages {
		head := heading
		if len(pages) > 1 {
			head = strings.TrimSpace(fmt.Sprintf("%s (%d of %d)", heading, i+1, len(pages)))
		}
		if head == "" {
			p = strings.TrimPrefix(p, "\n")
		}
		pages[i] = head + p
	}
	return pages
}
