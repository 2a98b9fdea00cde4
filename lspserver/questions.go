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
	"tandem/lspserver/wire"
	"tandem/tools"
	"tandem/tools/run"
)

// questions asks a person by window/showMessageRequest, in clients that do not answer tandem/session/requestPermission or
// tandem/session/clarify. The request needs no capability, so every client is asked. Such a question appears above the text
// while somebody may be typing, and Enter takes its first answer. Therefore:
//
//  1. The first answer refuses.
//  2. No question appears within pause of a key, and a didChange is one.
//  3. One question is on the screen at a time; the others wait.
//  4. A command is shown in full before it can be allowed: the first page says that there is one, the last page alone
//     offers to run it. A change is summed up by file, and its diff is on the pages behind.
//  5. Nothing is left out: what does not fit on a page is on the next one. Clients cut messages that are longer than a page
//     (VS Code cuts at 1,000 characters and joins the lines, so each line has a margin).
//  6. What is shown is show.Visible, and no Markdown link is left in it.
//  7. Only the answer that allows does. No answer, an error, the end of the turn or of the client refuse.
type questions struct {
	call func(ctx context.Context, p lsp.ShowMessageRequestParams) (picked string, err error)
	tell func(message string) // shows a person a message
	name func(path string) string
	now  func() time.Time

	one chan struct{} // held by the question that is asked

	mu       sync.Mutex
	key      time.Time // when the last one was pressed, as far as the client has told
	unserved bool      // the client does not know the request, and the person was told
}

// pause is how long nobody must have typed before a question appears.
const pause = 1500 * time.Millisecond

// What fits on a page.
const (
	pageLines   = 20
	pageLetters = 900
)

func newQuestions(s *server) *questions {
	return &questions{
		call: func(ctx context.Context, p lsp.ShowMessageRequestParams) (string, error) {
			var r *lsp.MessageActionItem
			err := s.conn.Call(ctx, "window/showMessageRequest", p, &r)
			if err != nil || r == nil {
				return "", err
			}
			return r.Title, nil
		},
		tell: s.warn, name: s.short, now: s.o.Now, one: make(chan struct{}, 1),
	}
}

// typed takes in that a document was changed.
func (q *questions) typed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.key = q.now()
}

// page is what is on the screen at once. The answers are Reject, allow and more, which leads to the next page; "" is none.
type page struct{ text, allow, more string }

const reject = "Reject"

// permission asks for a call. errors.ErrUnsupported says that the client takes no questions.
func (q *questions) permission(ctx context.Context, about run.Question) (run.Answer, error) {
	leave, err := q.enter(ctx)
	if err != nil {
		return run.Answer{Outcome: run.Unanswered}, err
	}
	defer leave()
	for _, p := range q.pagesOf(about) {
		answers := slices.DeleteFunc([]string{reject, p.allow, p.more}, func(a string) bool { return a == "" })
		picked, err := q.ask(ctx, lsp.MessageTypeWarning, p.text, answers)
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

// clarify asks a question of the model's that has options. "" is no answer.
func (q *questions) clarify(ctx context.Context, about tools.Clarification) (string, error) {
	leave, err := q.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	const none = "No answer"
	lines := show.Visible(about.Question, true)
	pages := paged("", strings.Split(lines, "\n"), false)
	for i, text := range pages {
		answers := []string{none}
		if i+1 < len(pages) {
			answers = append(answers, "Show more")
		} else {
			for _, o := range about.Options {
				answers = append(answers, harmless(show.Visible(o.Label, false)))
			}
		}
		picked, err := q.ask(ctx, lsp.MessageTypeInfo, text, answers)
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

// enter waits until no other question is asked.
func (q *questions) enter(ctx context.Context) (leave func(), err error) {
	select {
	case q.one <- struct{}{}:
		return func() { <-q.one }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask puts one page on the screen once nobody has typed for a while.
func (q *questions) ask(ctx context.Context, kind lsp.MessageType, text string, answers []string) (picked string, err error) {
	for {
		q.mu.Lock()
		now := q.now()
		if q.key.After(now) { // the clock has gone back
			q.key = now
		}
		rest := q.key.Add(pause).Sub(now)
		q.mu.Unlock()
		if rest <= 0 {
			break
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", ctx.Err()
		}
	}
	p := lsp.ShowMessageRequestParams{Type: kind, Message: "Tandem: " + text}
	for _, a := range answers {
		p.Actions = append(p.Actions, lsp.MessageActionItem{Title: a})
	}
	picked, err = q.call(ctx, p)
	var coded *wire.Error
	if !errors.As(err, &coded) || coded.Code != wire.CodeMethodNotFound {
		return picked, err
	}
	q.mu.Lock()
	told := q.unserved
	q.unserved = true
	q.mu.Unlock()
	if !told {
		q.tell("this editor cannot show questions (window/showMessageRequest), so what needs one is refused.")
	}
	return "", errors.ErrUnsupported
}

// pagesOf is what is said of a call before it is allowed.
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
	why := reasonOf(about)
	if command := about.Plan.Command; command != "" {
		lines := []string{counted(command)}
		for _, l := range about.Plan.Locations {
			lines = append(lines, "in "+show.Visible(l.Path, false))
		}
		add("", "Show command", paged("a command asks to be run", append(lines, why), false))
		add("Run once", "", paged("this is the command", strings.Split(show.Visible(command, true), "\n"), true))
		return out
	}
	lines := []string{show.Visible(about.Plan.Title, false)}
	var diff []string
	for _, d := range about.Diffs {
		lines = append(lines, summed(show.Visible(q.name(d.Path), false), d))
		diff = append(diff, strings.Split(strings.TrimSuffix(show.Visible(d.Unified, true), "\n"), "\n")...)
	}
	then := ""
	if len(diff) > 0 {
		then = "Show the diff"
	}
	add("Allow once", then, paged("may this be done?", append(lines, why), false))
	if then != "" {
		add("Allow once", "", paged("this is the change", diff, true))
	}
	return out
}

func reasonOf(q run.Question) string {
	why := show.Visible(q.Reason, false)
	if q.Plan.Danger == tools.Dangerous {
		return strings.TrimPrefix(why+"; this is dangerous", "; ")
	}
	return why
}

// counted is the size of a command.
func counted(command string) string {
	lines := strings.Count(strings.TrimSuffix(command, "\n"), "\n") + 1
	return fmt.Sprintf("%d %s, %d bytes", lines, plural(lines, "line"), len(command))
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// summed is what a change does to one file, in one line.
func summed(name string, d run.DiffPreview) string {
	if d.Unified == "" {
		return fmt.Sprintf("%s: too large to be shown, %d bytes become %d", name, len(d.Old), len(d.New))
	}
	added, removed, first := 0, 0, 0
	for line := range strings.Lines(d.Unified) {
		var from, to int
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "@@ ") && first == 0:
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

// paged puts lines below a heading, on as many pages as they need; with a margin that numbers them. Empty lines are left out
// where there is no margin. A line that is too long for one page goes on behind a margin of its own.
func paged(heading string, lines []string, margin bool) []string {
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
		for rest := []rune(harmless(line)); ; {
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

// harmless is a text without Markdown's links, which some clients let people click on: they could name one thing and do
// another.
func harmless(s string) string { return strings.ReplaceAll(s, "](", `]\u{28}`) }
