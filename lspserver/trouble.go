package lspserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

// mismatch describes a difference between the client's and the server's version of the protocol, "" if there is none.
func (s *server) mismatch() string {
	theirs := s.client.tandem.ProtocolVersion
	if theirs == 0 || theirs == protocol.Version {
		return ""
	}
	const rest = "Until then only what both know works."
	if theirs > protocol.Version {
		return fmt.Sprintf("The program tandem %s is older than the editor's plugin (version %d of the protocol, not %d). Update the program. %s",
			s.o.Version, protocol.Version, theirs, rest)
	}
	return fmt.Sprintf("The editor's plugin is older than the program tandem %s (version %d of the protocol, not %d). Update the plugin. %s",
		s.o.Version, theirs, protocol.Version, rest)
}

// tellMismatch shows it to the user.
func (s *server) tellMismatch() {
	if text := s.mismatch(); text != "" {
		s.log.Warn("versions differ", "client", s.client.tandem.ProtocolVersion, "server", protocol.Version)
		notify(s, protocol.WindowShowMessage, lsp.ShowMessageParams{Type: lsp.MessageTypeWarning, Message: "Tandem: " + text})
	}
}

// tellCrash shows the first crash report to the user.
func (s *server) tellCrash(ctx context.Context) {
	select {
	case path := <-s.o.Crashes:
		notify(s, protocol.WindowShowMessage, lsp.ShowMessageParams{Type: lsp.MessageTypeError, Message: fmt.Sprintf(
			"Tandem: an internal error occurred; the session continues. A report without any of your text is in %s.", path)})
	case <-ctx.Done():
	}
}

func (s *server) setTrace(_ context.Context, p lsp.SetTraceParams) { s.tracing.Store(&p.Value) }

// handled sends $/logTrace with the duration of a message, if the client traces.
func (s *server) handled(method string, took time.Duration, err error) {
	level := s.tracing.Load()
	if method == "initialize" || level == nil || *level != lsp.TraceValueMessages && *level != lsp.TraceValueVerbose {
		return
	}
	p := lsp.LogTraceParams{Message: fmt.Sprintf("%s took %v", method, took.Round(time.Microsecond))}
	if err != nil {
		p.Message += " and failed"
		text := err.Error()
		if e, ok := errors.AsType[*wire.Error](err); ok {
			text = fmt.Sprintf("%d %s", e.Code, e.Message)
		}
		if *level == lsp.TraceValueVerbose {
			p.Verbose = &text
		}
	}
	notify(s, protocol.LogTrace, p)
}
