package lspserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	lsp "go.lsp.dev/protocol"

	"tandem/agent"
	"tandem/agent/store"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

// memoryQuota bounds what is kept of sessions in memory.
const memoryQuota = 16 << 20

// store gives what keeps the sessions. Where that cannot be opened they are kept in memory, and a person is told.
func (s *server) store() store.Store {
	s.opening.Do(func() {
		var err error
		if s.o.Store != nil {
			if s.kept, err = s.o.Store(s.config()); err == nil {
				return
			}
			s.log.Error("sessions are not kept", "error", err)
			s.notify("window/showMessage", lsp.ShowMessageParams{Type: lsp.MessageTypeWarning, Message: fmt.Sprintf(
				"Tandem: sessions are not kept, they end with the editor: %v. Move that file away to begin anew.", err)})
		}
		s.kept = store.NewMemory(memoryQuota, s.o.Now)
	})
	return s.kept
}

// closeStore closes it, if it was opened.
func (s *server) closeStore() {
	s.opening.Do(func() {})
	if s.kept == nil {
		return
	}
	if err := s.kept.Close(); err != nil {
		s.log.Warn("the store of sessions", "error", err)
	}
}

// kept turns what a store refuses into the editor's codes.
func kept(id string, err error) error {
	var held *store.HeldError
	var coded *wire.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, store.ErrUnknown):
		return unknownSession(id)
	case errors.As(err, &held):
		return &wire.Error{
			Code: codeSessionBusy, Name: "session_busy",
			Message: fmt.Sprintf("The session is open in another process (%d); close it there.", held.PID),
		}
	}
	return err
}

func infoOf(k store.Session) protocol.SessionInfo {
	return protocol.SessionInfo{SessionID: k.ID, Cwd: k.Cwd, Title: k.Title, UpdatedAt: stamp(k.Updated)}
}

// unkept are the living sessions in which nothing has happened yet, or nothing that could be kept.
func (s *server) unkept(may func(*session) bool) []protocol.SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []protocol.SessionInfo
	for _, se := range s.sessions {
		if !se.Kept() && may(se) {
			out = append(out, protocol.SessionInfo{SessionID: se.id, Cwd: se.cwd, Title: se.Title(), UpdatedAt: stamp(se.touched)})
		}
	}
	return out
}

func latestFirst(list []protocol.SessionInfo) {
	slices.SortFunc(list, func(a, b protocol.SessionInfo) int {
		return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.SessionID, b.SessionID))
	})
}

func (s *server) listSessions(_ context.Context, p protocol.ListSessionsParams) (protocol.ListSessionsResult, error) {
	const page = 100
	r := protocol.ListSessionsResult{Sessions: []protocol.SessionInfo{}}
	if p.Cwd != "" {
		p.Cwd = filepath.Clean(p.Cwd)
	}
	if p.Cursor == "" {
		r.Sessions = append(r.Sessions, s.unkept(func(se *session) bool { return p.Cwd == "" || filepath.Clean(se.cwd) == p.Cwd })...)
	}
	found, next, err := s.store().Sessions(store.Query{Cwd: p.Cwd, After: p.Cursor, Limit: page})
	if err != nil {
		return r, err
	}
	for _, k := range found {
		r.Sessions = append(r.Sessions, infoOf(k))
	}
	latestFirst(r.Sessions)
	r.NextCursor = next
	return r, nil
}

func (s *server) searchSessions(_ context.Context, p protocol.SearchParams) (protocol.SearchResult, error) {
	r := protocol.SearchResult{Sessions: []protocol.SessionInfo{}}
	if strings.TrimSpace(p.Query) == "" || p.Limit < 0 {
		return r, invalid("search wants a query, and a limit above 0 or none.")
	}
	found, _, err := s.store().Sessions(store.Query{Text: p.Query, Limit: cmp.Or(p.Limit, 50)})
	for _, k := range found {
		r.Sessions = append(r.Sessions, infoOf(k))
	}
	return r, err
}

// loadSession goes on with a session that is kept, or tells again of one that lives here.
func (s *server) loadSession(ctx context.Context, p protocol.LoadSessionParams) (protocol.NewSessionResult, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	none := protocol.NewSessionResult{}
	if se, err := s.find(p.SessionID); err == nil {
		return s.again(se, p)
	}
	past, err := agent.TakePast(ctx, s.store(), p.SessionID, s.ws, s.o.Now, func(k store.Session) error { return s.here(k.Cwd, p.Cwd) })
	if err != nil {
		return none, kept(p.SessionID, err)
	}
	se := s.makeSession(past.ID, past.Cwd)
	more := slices.DeleteFunc(past.More, func(f string) bool { return !isFolder(f) })
	o := agent.Options{More: more, Past: past, Mode: agent.Mode(past.Mode), Model: past.Model}
	notice := ""
	err = s.begin(se, o)
	var refusal *wire.Error
	if errors.As(err, &refusal) && refusal.Code == codeModelUnavailable {
		// The conversation is there to be read all the same, and another model may answer.
		notice = fmt.Sprintf("The model %s cannot be had here: %s", past.Model, refusal.Message)
		o.Model = ""
		err = s.begin(se, o)
	}
	if err != nil {
		return none, errors.Join(err, s.store().Release(past.ID))
	}
	s.replay(se, past.Events())
	if notice != "" {
		se.updates.on(agent.Event{Notice: notice})
	}
	return s.admit(se)
}

// here says whether a session of a folder can be used where the client works.
func (s *server) here(folder, cwd string) error {
	s.mu.Lock()
	folders := slices.Clone(s.folders)
	s.mu.Unlock()
	if cwd != "" {
		folders = []string{cwd}
	}
	within := len(folders) == 0 || slices.ContainsFunc(folders, func(f string) bool {
		rel, err := filepath.Rel(f, folder)
		return err == nil && (rel == "." || cwd == "" && filepath.IsLocal(rel))
	})
	switch {
	case !within:
		return &wire.Error{
			Code: codeNotPermitted, Name: "not_permitted",
			Message: fmt.Sprintf("The session belongs to %s; open that folder.", folder),
		}
	case !isFolder(folder):
		return noSuchFolder(folder)
	}
	return nil
}

// replay tells the client what it was told when it happened.
func (s *server) replay(se *session, events []agent.Event) {
	for _, e := range events {
		if se.updates.on(e); e.Call == nil {
			se.updates.flush() // two messages are not one
		}
	}
	se.updates.flush()
}

func (s *server) again(se *session, p protocol.LoadSessionParams) (protocol.NewSessionResult, error) {
	if err := s.here(se.cwd, p.Cwd); err != nil {
		return protocol.NewSessionResult{}, err
	}
	if se.Busy() {
		return protocol.NewSessionResult{}, refused(agent.ErrBusy)
	}
	if se.Kept() {
		past, err := agent.ReadPast(s.store(), se.id)
		if err != nil {
			return protocol.NewSessionResult{}, kept(se.id, err)
		}
		s.replay(se, past.Events())
	}
	return s.admit(se)
}

func (s *server) deleteSession(ctx context.Context, p protocol.SessionParams) (protocol.Empty, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	_, err := s.closeSession(ctx, p)
	lived := err == nil
	err = s.store().Delete(p.SessionID)
	if lived && errors.Is(err, store.ErrUnknown) { // nothing had happened in it
		err = nil
	}
	return protocol.Empty{}, kept(p.SessionID, err)
}

func (s *server) renameSession(_ context.Context, p protocol.RenameParams) (protocol.Empty, error) {
	const most = 200
	title := strings.TrimSpace(p.Title)
	if title == "" || strings.ContainsAny(title, "\r\n") || utf8.RuneCountInString(title) > most {
		return protocol.Empty{}, invalid("a title is one line of up to %d characters.", most)
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if se, err := s.find(p.SessionID); err == nil {
		se.Rename(title)
		return protocol.Empty{}, nil
	}
	k, _, err := s.store().Take(p.SessionID)
	if err == nil {
		k.Title = title
		err = errors.Join(s.store().Save(k), s.store().Release(k.ID))
	}
	return protocol.Empty{}, kept(p.SessionID, err)
}

func (s *server) exportSession(_ context.Context, p protocol.ExportParams) (protocol.ExportResult, error) {
	past, err := agent.ReadPast(s.store(), p.SessionID)
	if errors.Is(err, store.ErrUnknown) {
		if _, unkept := s.find(p.SessionID); unkept == nil {
			return protocol.ExportResult{}, invalid("nothing has happened in the session yet.")
		}
	}
	if err != nil {
		return protocol.ExportResult{}, kept(p.SessionID, err)
	}
	switch p.Format {
	case "markdown":
		return protocol.ExportResult{Text: past.Markdown()}, nil
	case "jsonl":
		text, err := past.JSONL()
		return protocol.ExportResult{Text: text}, err
	}
	return protocol.ExportResult{}, invalid("the format is markdown or jsonl, not %.40q.", p.Format)
}
