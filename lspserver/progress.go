package lspserver

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/protocol"
	"tandem/tools/words"
)

// progress shows a turn by $/progress: the prompt, in plain clients each call as it begins, and a sentence at the end.
// Reports wait until the client has accepted the token. The zero value is for a client without progress.
type progress struct {
	notify func(value lsp.LSPAny)
	title  string

	mu     sync.Mutex
	begun  bool
	latest string // the report to be sent
	end    string // the last message, "" before the end
}

// newProgress creates the token and begins the progress.
func (s *server) newProgress(title string) *progress {
	if !s.client.progress {
		return &progress{}
	}
	token := lsp.String("tandem-" + strings.ToLower(rand.Text()))
	p := &progress{
		title:  cut("Tandem: "+s.oneLine(title), titleLine),
		notify: func(v lsp.LSPAny) { notify(s, protocol.Progress, lsp.ProgressParams{Token: token, Value: v}) },
	}
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

// report sends one line.
func (p *progress) report(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest = cut(what, shortLine); p.begun && p.end == "" {
		p.notify(protocol.ProgressReport(p.latest))
	}
}

// ended ends the progress with a message.
func (p *progress) ended(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end = how; p.begun {
		p.notify(protocol.ProgressEnd(how))
	}
}

// ending describes the end of a turn in a sentence.
func (s *server) ending(r protocol.PromptResult) string {
	if r.Error != nil {
		return cut(s.oneLine(r.Error.Message), failureLine)
	}
	return words.Ending(r.StopReason)
}
