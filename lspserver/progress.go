package lspserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/tools"
	"tandem/tools/words"
)

// progress shows a turn by $/progress: the prompt, each call as it begins and how it gets on, and a sentence at the end.
// Reports wait until the client has accepted the token. The zero value is for a client without progress.
type progress struct {
	notify func(value lsp.LSPAny)
	title  string
	over   func() // it is not to be cancelled any more; nil for a client without progress

	mu     sync.Mutex
	begun  bool
	latest string      // the report to be sent
	timer  *time.Timer // sends it; nil while none waits
	end    string      // the last message, "" before the end
}

// calm is how long what a call tells of itself waits: the newest goes out then.
const calm = 200 * time.Millisecond

// newProgress creates the token and begins the progress of a turn, which the client may cancel.
func (s *server) newProgress(title string, cancel func()) *progress {
	if !s.client.progress {
		return &progress{}
	}
	token := lsp.String("tandem-" + strings.ToLower(rand.Text()))
	p := &progress{
		title:  cut("Tandem: "+s.oneLine(title), titleLine),
		notify: func(v lsp.LSPAny) { notify(s, protocol.Progress, lsp.ProgressParams{Token: token, Value: v}) },
	}
	s.turns.Store(string(token), cancel)
	p.over = func() { s.turns.Delete(string(token)) }
	s.b.Later(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if call(ctx, s.conn, protocol.WindowWorkDoneProgressCreate, lsp.WorkDoneProgressCreateParams{Token: token}, nil) == nil {
			p.begin()
		}
	})
	return p
}

func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
	p.notify(protocol.ProgressBegin(p.title, p.latest))
	if p.end != "" {
		p.notify(protocol.ProgressEnd(p.end))
	}
}

// running reports a call: its title as it begins, and from then on the last line that it printed, or how far it has come.
func (p *progress) running(title string, news *tools.Progress) {
	if p.notify == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if news == nil {
		p.latest = cut(title, shortLine)
		p.report()
		return
	}
	line := ""
	for l := range strings.Lines(news.Text) {
		line = cmp.Or(strings.TrimSpace(show.Visible(strings.TrimSpace(l), false)), line)
	}
	switch {
	case news.Total > 0:
		line = fmt.Sprintf("%d of %d", news.Value, news.Total)
	case news.Value > 0:
		line = strconv.FormatInt(news.Value, 10)
	}
	if line == "" {
		return
	}
	p.latest = cut(cut(title, shortLine/2)+": "+line, shortLine)
	if p.timer == nil {
		p.timer = time.AfterFunc(calm, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.timer != nil {
				p.report()
			}
		})
	}
}

// report sends the report that waits. p.mu is held.
func (p *progress) report() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if p.begun && p.end == "" {
		p.notify(protocol.ProgressReport(p.latest))
	}
}

// ended ends the progress with a message.
func (p *progress) ended(how string) {
	if p.over != nil {
		p.over()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end = how; p.begun {
		p.notify(protocol.ProgressEnd(how))
	}
}

// progressCancelled stops the turn of a progress. One that is over has none.
func (s *server) progressCancelled(_ context.Context, p lsp.WorkDoneProgressCancelParams) {
	token, _ := p.Token.(lsp.String)
	if cancel, ok := s.turns.Load(string(token)); ok {
		cancel.(func())()
	}
}

// ending describes the end of a turn in a sentence.
func (s *server) ending(r protocol.PromptResult) string {
	if r.Error != nil {
		return cut(s.oneLine(r.Error.Message), failureLine)
	}
	return words.Ending(r.StopReason)
}
