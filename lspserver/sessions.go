package lspserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/agent"
	"tandem/agent/model"
	"tandem/agent/prompt"
	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/lspserver/review"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/sandbox"
	"tandem/tools/gate"
)

// The codes of JSON-RPC errors that are ours.
const (
	codeUnknownSession   = -32011
	codeSessionBusy      = -32012
	codeModelUnavailable = -32013
	codeNotPermitted     = -32014
)

func (s *server) sessionRoutes(r *wire.Router) {
	handle(r, protocol.SessionNew, s.newSession)
	handle(r, protocol.SessionList, s.listSessions)
	handle(r, protocol.SessionLoad, s.loadSession)
	handleInOrder(r, protocol.SessionPrompt, s.prompt)
	handleInOrder(r, protocol.SessionSteer, s.steer)
	handleNote(r, protocol.SessionCancel, s.cancel)
	handle(r, protocol.SessionSetMode, s.setMode)
	handle(r, protocol.SessionSetModel, s.setModel)
	handle(r, protocol.SessionClose, s.closeSession)
	handle(r, protocol.SessionDelete, s.deleteSession)
	handle(r, protocol.SessionRename, s.renameSession)
	handle(r, protocol.SessionSearch, s.searchSessions)
	handle(r, protocol.SessionExport, s.exportSession)
}

// find gives the session of that id.
func (s *server) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if se := s.sessions[id]; se != nil {
		return se, nil
	}
	return nil, unknownSession(id)
}

func unknownSession(id string) error {
	return &wire.Error{
		Code: codeUnknownSession, Name: "unknown_session",
		Message: fmt.Sprintf("There is no session %.80q open here; tandem/session/load opens one that is kept, tandem/session/new makes one.", id),
	}
}

func invalid(format string, args ...any) error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// refused turns what a session refuses into the editor's codes.
func refused(err error) error {
	var m *model.Error
	var mode *agent.ModeError
	var id *agent.CallIDError
	var folder *sandbox.PathError
	switch {
	case errors.As(err, &folder):
		return &wire.Error{Code: codeNotPermitted, Name: "not_permitted", Message: fmt.Sprintf(
			"%s was deleted and made anew, or another folder was put in its place. Open the session again or begin a new one to "+
				"work in it.", folder.Path)}
	case errors.As(err, &m):
		return &wire.Error{Code: codeModelUnavailable, Name: "model_unavailable", Message: m.Message}
	case errors.Is(err, agent.ErrBusy):
		return &wire.Error{Code: codeSessionBusy, Name: "session_busy", Message: "The session is answering another prompt."}
	case errors.Is(err, agent.ErrIdle):
		return &wire.Error{
			Code: wire.CodeInvalidParams, Name: "no_turn",
			Message: "No prompt is being answered; send this one with tandem/session/prompt.",
		}
	case errors.Is(err, agent.ErrClosed):
		return &wire.Error{Code: codeUnknownSession, Name: "unknown_session", Message: "The session is closed."}
	case errors.As(err, &mode), errors.As(err, &id), errors.Is(err, agent.ErrEmpty):
		return invalid("%v", err)
	}
	return err
}

func (s *server) newSession(ctx context.Context, p protocol.NewSessionParams) (protocol.NewSessionResult, error) {
	if len(p.MCPServers) > 0 {
		return protocol.NewSessionResult{}, invalid("mcpServers are not served by this version; leave the list empty.")
	}
	// What the editor says of itself by workspace/configuration holds for the first session too.
	select {
	case <-s.fetched:
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	s.mu.Lock()
	folders := slices.Clone(s.folders)
	s.mu.Unlock()
	cwd := p.Cwd
	if cwd == "" && len(folders) > 0 {
		cwd = folders[0]
	}
	// A workspace folder that is gone is none of the session's; what it was told to have must be there.
	folders = slices.DeleteFunc(folders, func(f string) bool { return !isFolder(f) })
	var more []string
	for _, f := range slices.Concat(p.AdditionalDirectories, folders) {
		if f != cwd && !slices.Contains(more, f) {
			more = append(more, f)
		}
	}
	for _, f := range append([]string{cwd}, more...) {
		if !isFolder(f) {
			return protocol.NewSessionResult{}, noSuchFolder(cmp.Or(f, "(no cwd and no workspace folder)"))
		}
	}
	se := s.makeSession("s-"+strings.ToLower(rand.Text()), cwd)
	if err := s.begin(se, agent.Options{More: more, Mode: gate.Mode(p.Mode), Model: p.Model}); err != nil {
		return protocol.NewSessionResult{}, err
	}
	return s.admit(se, true)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && info.IsDir()
}

func (s *server) makeSession(id, cwd string) *session {
	se := &session{id: id, cwd: cwd, touched: s.o.Now()}
	se.changes = review.New(recorded{s.ws, se}, id, se.decided)
	se.updates = s.newUpdates(id)
	guard := func(fn func()) { s.guard("news of hunks", fn) }
	se.news = newReviewNews(se.changes, guard, func(uris []string) { s.hunksChanged(id, uris) })
	return se
}

func (s *server) newUpdates(id string) *updates.Stream {
	return updates.New(updates.Options{
		Send: func(u protocol.Update) {
			s.notify("tandem/session/update", protocol.UpdateParams{SessionID: id, Update: u})
		},
		Slow: func() bool { return s.conn.Backlog() > updates.Backlog }, MaxDiff: s.maxDiff,
		Guard: func(fn func()) { s.guard("updates", fn) },
	})
}

// begin gives a session what it is made of besides what o has.
func (s *server) begin(se *session, o agent.Options) error {
	for _, folder := range append([]string{se.cwd}, o.More...) {
		s.roots.Add(folder)
	}
	s.heed(append([]string{se.cwd}, o.More...)...)
	s.mu.Lock()
	o.Config, o.Models = s.cfg, s.opener
	s.mu.Unlock()
	o.Roots, o.Home = s.roots, s.roots.Home
	if s.o.Rules != nil {
		o.Rules = s.o.Rules()
	}
	o.ID, o.Cwd, o.Tools, o.Client, o.Files = se.id, se.cwd, s.tools.Load, host{s}, s.ws
	o.Runner, o.OpenDocuments = hurried{s.o.Runner, s.closing.Done()}, s.ws.Unsaved
	o.Places = s.places
	o.Seen, o.Landed, o.BeforeCommand, o.Store = s.ws.Seen, se.landed(s), s.ws.SaveForCommand, s.store
	o.Now, o.Log = s.o.Now, s.log.With("session", se.id)
	made, err := agent.New(o)
	if err != nil {
		return refused(err)
	}
	se.Session, se.folders = made, append([]string{se.cwd}, o.More...)
	// What the first turn will write to is opened beside the answer, so that the turn does not wait for it.
	s.later(func(context.Context) { s.store() })
	return nil
}

// admit makes a session one of those that live, unless it is no new one and was closed meanwhile, and says what it can be
// set to.
func (s *server) admit(se *session, isNew bool) (protocol.NewSessionResult, error) {
	r := protocol.NewSessionResult{SessionID: se.id}
	s.configuring.Lock()
	s.mu.Lock()
	ended, opener, cfg, careful := s.ended, s.opener, s.cfg, s.settings.careful
	closed := !isNew && s.sessions[se.id] != se
	if !ended && !closed {
		s.sessions[se.id] = se
	}
	s.mu.Unlock()
	se.SetConfig(cfg, opener) // it may have changed since the session was made
	se.SetCareful(careful)
	s.configuring.Unlock()
	if ended {
		se.Close()
	}
	if ended || closed {
		return r, refused(agent.ErrClosed)
	}
	r.Modes = protocol.ModeState{CurrentModeID: string(se.Mode()), AvailableModes: []protocol.Choice{}}
	for _, m := range gate.Modes() {
		r.Modes.AvailableModes = append(r.Modes.AvailableModes, protocol.Choice{ID: string(m.Mode), Name: m.Name})
	}
	r.Models.CurrentModelID = se.Model()
	for _, n := range opener.Names() {
		r.Models.AvailableModels = append(r.Models.AvailableModels, protocol.ModelChoice{ModelID: n, Name: n})
	}
	return r, nil
}

// landed is told of the session's changes.
func (se *session) landed(s *server) func(filetime.Change, filetime.Landed) {
	return func(c filetime.Change, l filetime.Landed) {
		se.changes.Landed(c, l)
		for _, f := range l.Files {
			if !f.Applied || f.Already {
				continue
			}
			se.news.tell(f.Path)
			if f.Stale != "" {
				se.Tell(agent.Event{Turn: c.Turn, Notice: s.short(f.Path) + " " + f.Stale})
			}
			if near := beside(f); f.SameLine {
				se.Tell(agent.Event{Turn: c.Turn, Notice: fmt.Sprintf("The agent's edit of %s landed on a line that you changed too.", s.short(f.Path))})
			} else if near > 0 {
				se.Tell(agent.Event{Turn: c.Turn, Notice: fmt.Sprintf(
					"The agent's edit of %s landed right beside what was changed meanwhile (line %d).", s.short(f.Path), near)})
			}
		}
	}
}

// prompt begins the turn before anything later is looked at, so that a cancel right behind it finds it. What may take a
// while comes after that.
func (s *server) prompt(_ context.Context, p protocol.PromptParams) (func(context.Context) (protocol.PromptResult, error), error) {
	se, err := s.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	if len(p.Tools) > 0 {
		return nil, invalid("tools of a single turn are not served by this version; leave the list empty.")
	}
	in := se.input(p.Prompt)
	in.Model, in.Title = p.Model, titleOf(p.Prompt)
	in.Editor = s.attention(se, p.Meta, in.Blocks)
	told := func() {}
	if in.Shown != "" {
		in.News = func(ctx context.Context) (news string) {
			news, told = se.changes.News(ctx, s.short)
			return strings.TrimSuffix(news, "\n")
		}
	}
	turn, err := se.Begin(in)
	if err != nil {
		return nil, refused(err)
	}
	return func(ctx context.Context) (protocol.PromptResult, error) {
		if err := turn.Open(ctx); err != nil {
			return protocol.PromptResult{}, refused(err)
		}
		told()
		s.mu.Lock()
		se.touched = s.o.Now()
		s.mu.Unlock()
		progress := s.newProgress(in.Title)
		se.progress.Store(progress)
		r := s.turnResult(se, turn.Run(ctx))
		progress.ended(ending(r))
		return r, nil
	}, nil
}

// input is what a person sends.
func (se *session) input(blocks []protocol.ContentBlock) (in agent.Input) {
	for _, b := range blocks {
		in.Blocks = append(in.Blocks, blockOf(b))
	}
	in.Shown = prompt.User(se.cwd, in.Blocks)
	return in
}

// steer takes its place before anything later is looked at: what is cancelled right behind it has it. The answer comes
// once it is kept.
func (s *server) steer(_ context.Context, p protocol.SteerParams) (func(context.Context) (protocol.Empty, error), error) {
	se, err := s.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	keep, err := se.Steer(se.input(p.Prompt))
	if err != nil {
		return nil, refused(err)
	}
	return func(ctx context.Context) (protocol.Empty, error) { return protocol.Empty{}, refused(keep(ctx)) }, nil
}

// turnResult is how a turn ended, after everything that happened in it has been told.
func (s *server) turnResult(se *session, r agent.TurnResult) protocol.PromptResult {
	se.updates.Flush()
	s.mu.Lock()
	se.touched = s.o.Now()
	s.usage = s.usage.Add(r.Usage)
	s.mu.Unlock()
	out := protocol.PromptResult{StopReason: string(r.Stop), Usage: updates.Usage(r.Usage), Turn: r.Turn}
	if r.Err != nil {
		out.Error = &protocol.TurnError{Code: errorCode(r.Err), Message: r.Err.Error()}
	}
	return out
}

func errorCode(err error) string {
	var m *model.Error
	if errors.As(err, &m) {
		return m.Kind
	}
	return "internal"
}

func blockOf(b protocol.ContentBlock) prompt.Block {
	out := prompt.Block{Type: b.Type, Text: b.Text, URI: b.URI, Name: b.Name, MIMEType: b.MimeType}
	out.Data, _ = base64.StdEncoding.DecodeString(b.Data) // one that cannot be read is left out, and the model is told
	if b.Resource != nil {
		out.URI, out.Text, out.MIMEType = b.Resource.URI, b.Resource.Text, b.Resource.MimeType
	}
	return out
}

func titleOf(blocks []protocol.ContentBlock) string {
	for _, b := range blocks {
		if line, _, _ := strings.Cut(strings.TrimSpace(b.Text), "\n"); line != "" {
			line = show.Visible(line, false)
			if r := []rune(line); len(r) > 60 {
				return string(r[:59]) + "…"
			}
			return line
		}
	}
	return "Prompt"
}

func (s *server) cancel(_ context.Context, p protocol.SessionParams) {
	se, err := s.find(p.SessionID)
	if err != nil {
		s.log.Debug("cancel of an unknown session", "session", p.SessionID)
		return
	}
	se.Cancel()
}

func (s *server) setMode(_ context.Context, p protocol.SetModeParams) (protocol.Empty, error) {
	se, err := s.find(p.SessionID)
	if err != nil {
		return protocol.Empty{}, err
	}
	return protocol.Empty{}, refused(se.SetMode(gate.Mode(p.Mode)))
}

func (s *server) setModel(_ context.Context, p protocol.SetModelParams) (protocol.Empty, error) {
	se, err := s.find(p.SessionID)
	if err != nil {
		return protocol.Empty{}, err
	}
	return protocol.Empty{}, refused(se.SetModel(p.Model))
}

// closeSession ends a session. Nobody loads it, renames it or deletes it meanwhile.
func (s *server) closeSession(_ context.Context, p protocol.SessionParams) (protocol.Empty, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	return protocol.Empty{}, s.drop(p.SessionID)
}

// drop ends a session that lives here. s.loading is held.
func (s *server) drop(id string) error {
	se, err := s.find(id)
	if err != nil {
		return err
	}
	se.Close()
	se.updates.Flush()
	s.mu.Lock()
	delete(s.sessions, se.id)
	s.mu.Unlock()
	return nil
}
