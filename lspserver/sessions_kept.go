package lspserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	lsp "go.lsp.dev/protocol"

	"tandem/agent"
	"tandem/agent/store"
	"tandem/filetime/disk"
	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/lspserver/review"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/tools/gate"
)

// memoryQuota bounds what is kept of sessions in memory.
const memoryQuota = 16 << 20

// store gives what keeps the sessions. Where that cannot be opened they are kept in memory, and a person is told.
func (s *server) store() store.Store {
	s.opening.Do(func() {
		defer s.opened.Store(true)
		var err error
		if s.o.Store != nil {
			if s.kept, err = s.o.Store(s.config()); err == nil {
				return
			}
			s.log.Error("sessions are not kept", "error", err)
			s.figures.unkept = err.Error()
			next := ""
			if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNewer) {
				next = " Move that file away to begin anew."
			}
			s.notify("window/showMessage", lsp.ShowMessageParams{Type: lsp.MessageTypeWarning, Message: fmt.Sprintf(
				"Tandem: sessions are not kept, they end with the editor, and what a crash leaves is not cleared up: %v.%s", err, next)})
		}
		s.kept = store.NewMemory(memoryQuota, s.o.Now)
	})
	return s.kept
}

// journal is that of the store.
type journal struct{ s *server }

func (j journal) Begin(in disk.Intent) (int64, error) { return j.s.store().Begin(in) }

func (j journal) Keep(intent int64, path string, data []byte) (string, error) {
	return j.s.store().Keep(intent, path, data)
}

func (j journal) End(id int64, o disk.Outcome) error { return j.s.store().End(id, o) }

func (j journal) Orphans() ([]disk.Intent, error) { return j.s.store().Orphans() }

// recover judges the changes that were on their way when another process ended, and clears up after them.
func (s *server) recover() {
	s.judging.Lock()
	defer s.judging.Unlock()
	found, err := s.ws.Recover()
	if err != nil {
		s.log.Error("what earlier processes left cannot be judged", "error", err)
	}
	for _, r := range found {
		level := slog.LevelWarn
		switch r.Outcome {
		case disk.Landed:
			level = slog.LevelDebug
		case disk.NotLanded:
			level = slog.LevelInfo
		}
		for i, f := range r.Files {
			path := r.Intent.Files[i].Path
			s.log.Log(context.Background(), level, "a change was on its way when its process ended",
				"session", r.Session, "call", r.Call, "path", path, "outcome", f.Outcome, "kept", f.Kept)
			if len(f.Kept) > 0 && !f.Merged {
				last := f.Kept[len(f.Kept)-1]
				s.notify("window/showMessage", lsp.ShowMessageParams{Type: lsp.MessageTypeWarning, Message: fmt.Sprintf(
					"Tandem: when it was ended, another program was just saving %s. What that saved is not in the file; it is kept: "+
						"tandem session kept --show %.12s", path, last)})
			}
		}
	}
}

// storeFigures are the last known.
type storeFigures struct {
	mu    sync.Mutex
	asked chan struct{} // closed when there is an answer
	last  protocol.StoreState
	// unkept is why nothing is kept in a file, once the store was opened.
	unkept string
}

// storeState tells of the store, without waiting for it for long.
func (s *server) storeState(ctx context.Context) protocol.StoreState {
	if !s.opened.Load() {
		return protocol.StoreState{Kind: "closed"}
	}
	const patience = 100 * time.Millisecond
	f := &s.figures
	f.mu.Lock()
	asked := f.asked
	if asked == nil {
		asked = make(chan struct{})
		f.asked = asked
		go s.guard("figures of the store", func() {
			st, err := s.kept.Stats()
			f.mu.Lock()
			defer f.mu.Unlock()
			l := protocol.StoreState{
				Kind: "file", Path: st.Path, Size: st.Size, Quota: st.Quota, Sessions: st.Sessions, Intents: st.Intents,
				Problem: f.unkept,
			}
			if st.Path == "" {
				l.Kind = "memory"
			}
			if err != nil {
				l.Problem = err.Error()
			}
			f.last, f.asked = l, nil
			close(asked)
		})
	}
	f.mu.Unlock()
	select {
	case <-asked:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
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

// refusal turns what a store refuses into the editor's codes.
func (s *server) refusal(id string, err error) error {
	var held *store.HeldError
	var coded *wire.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, store.ErrUnknown):
		says := fmt.Sprintf("There is no session %.80q, neither open here nor kept; tandem/session/list names those that are.", id)
		if why := s.figures.unkept; why != "" { // it was set when the store was opened
			says = fmt.Sprintf("There is no session %.80q open here, and those that are kept cannot be read: %s.", id, why)
		}
		return &wire.Error{Code: codeUnknownSession, Name: "unknown_session", Message: says}
	case errors.As(err, &held):
		return &wire.Error{
			Code: codeSessionBusy, Name: "session_busy",
			Message: fmt.Sprintf("The session is open in another process (%d); close it there.", held.PID), PID: held.PID,
		}
	}
	return err
}

func infoOf(k store.Session) protocol.SessionInfo {
	return protocol.SessionInfo{SessionID: k.ID, Cwd: k.Cwd, Title: k.Title, UpdatedAt: stamp(k.Updated)}
}

// unkept are the living sessions in which nothing has happened yet, or nothing that could be kept.
func (s *server) unkept(may func(*session) bool) []store.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Session
	for _, se := range s.sessions {
		if !se.Kept() && may(se) {
			out = append(out, store.Session{ID: se.id, Cwd: se.cwd, Title: se.Title(), Updated: se.touched})
		}
	}
	return out
}

func (s *server) listSessions(ctx context.Context, p protocol.ListSessionsParams) (protocol.ListSessionsResult, error) {
	const page = 100
	r := protocol.ListSessionsResult{Sessions: []protocol.SessionInfo{}}
	if p.Cwd != "" {
		p.Cwd = filepath.Clean(p.Cwd)
	}
	found, next, err := s.store().Sessions(store.Query{Cwd: p.Cwd, After: p.Cursor, Limit: page})
	if errors.Is(err, store.ErrCursor) {
		return r, invalid("cursor is the nextCursor of a page, or absent.")
	}
	if err != nil {
		return r, err
	}
	if p.Cursor == "" {
		found = append(found, s.unkept(func(se *session) bool { return p.Cwd == "" || filepath.Clean(se.cwd) == p.Cwd })...)
		slices.SortStableFunc(found, func(a, b store.Session) int { return b.Updated.Compare(a.Updated) })
	}
	known := s.states(ctx, found)
	for _, k := range found {
		info := infoOf(k)
		info.Meta = known[k.ID]
		r.Sessions = append(r.Sessions, info)
	}
	r.NextCursor = next
	return r, nil
}

// states gives stateOf for sessions, as far as it can be found out in time: a client begins with the list of them, so it
// takes no longer than a person notices, whatever the store or the disk is waiting for.
func (s *server) states(ctx context.Context, of []store.Session) map[string]*protocol.SessionMeta {
	const patience = 300 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type state struct {
		id   string
		meta *protocol.SessionMeta
	}
	found := make(chan state, len(of)) // so that nobody waits for a list that was sent
	s.later(func(context.Context) {
		defer close(found)
		for _, k := range of {
			meta, err := s.stateOf(ctx, k.ID)
			if err != nil {
				s.log.Debug("the state of a kept session", "session", k.ID, "error", err)
			}
			found <- state{k.ID, meta}
		}
	})
	out := map[string]*protocol.SessionMeta{}
	for {
		select {
		case st, more := <-found:
			if !more {
				return out
			}
			out[st.id] = st.meta
		case <-ctx.Done():
			return out
		}
	}
}

// stateOf says how far a session has come and how much of it waits for a person, nil where there is no time left for it.
func (s *server) stateOf(ctx context.Context, id string) (*protocol.SessionMeta, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	var m protocol.SessionMeta
	var changes *review.Log
	se, err := s.find(id)
	lives := err == nil
	if lives {
		changes = se.changes
		if se.Written(); !se.Kept() {
			return &m, nil
		}
	} else {
		changes = review.New(s.ws, id, nil)
	}
	if m.Tandem.Turns, err = agent.TurnsOf(s.store(), id); err != nil {
		return nil, err
	}
	if !lives {
		if err := s.restore(ctx, changes, id); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil { // not every file was read
		return nil, ctx.Err()
	}
	m.Tandem.Pending = changes.Pending()
	return &m, nil
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
		return s.again(ctx, se, p)
	}
	s.recover() // so that it is known what became of what was on its way
	past, err := agent.TakePast(ctx, s.store(), p.SessionID, s.ws, s.o.Now, func(k store.Session) error { return s.here(k.Cwd, p.Cwd) })
	if err != nil {
		return none, s.refusal(p.SessionID, err)
	}
	se := s.makeSession(past.ID, past.Cwd)
	more := slices.DeleteFunc(past.More, func(f string) bool { return !isFolder(f) })
	o := agent.Options{More: more, Past: past, Mode: gate.Mode(past.Mode), Model: past.Model}
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
	if err := s.restore(ctx, se.changes, se.id); err != nil {
		se.Close()
		return none, s.refusal(past.ID, err)
	}
	s.replay(ctx, se, past.Events())
	if notice != "" {
		se.updates.On(agent.Event{Notice: notice})
	}
	return s.admit(se, true)
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

// replay tells the client what it was told when it happened, no quicker than it reads: nothing is left out.
func (s *server) replay(ctx context.Context, se *session, events []agent.Event) {
	for _, e := range events {
		for s.conn.Backlog() > updates.Backlog/2 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if se.updates.On(e); e.Call == nil {
			se.updates.Flush() // two messages are not one
		}
	}
	se.updates.Flush()
}

func (s *server) again(ctx context.Context, se *session, p protocol.LoadSessionParams) (protocol.NewSessionResult, error) {
	if err := s.here(se.cwd, p.Cwd); err != nil {
		return protocol.NewSessionResult{}, err
	}
	if se.Busy() {
		return protocol.NewSessionResult{}, refused(agent.ErrBusy)
	}
	se.Reopen()
	if se.Written(); se.Kept() {
		past, err := agent.ReadPast(s.store(), se.id)
		if err != nil {
			return protocol.NewSessionResult{}, s.refusal(se.id, err)
		}
		s.replay(ctx, se, past.Events())
	}
	return s.admit(se, false)
}

func (s *server) deleteSession(_ context.Context, p protocol.SessionParams) (protocol.Empty, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	lived := s.drop(p.SessionID) == nil
	err := s.store().Delete(p.SessionID)
	if lived && errors.Is(err, store.ErrUnknown) { // nothing had happened in it
		err = nil
	}
	return protocol.Empty{}, s.refusal(p.SessionID, err)
}

func (s *server) renameSession(_ context.Context, p protocol.RenameParams) (protocol.Empty, error) {
	const most = 200
	title := strings.TrimSpace(p.Title)
	if title == "" || strings.ContainsAny(title, "\r\n") || utf8.RuneCountInString(title) > most {
		return protocol.Empty{}, invalid("a title is one line of up to %d characters.", most)
	}
	title = show.Visible(title, false)
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
	return protocol.Empty{}, s.refusal(p.SessionID, err)
}

func (s *server) exportSession(_ context.Context, p protocol.ExportParams) (protocol.ExportResult, error) {
	se, closed := s.find(p.SessionID)
	if closed == nil {
		se.Written()
	}
	past, err := agent.ReadPast(s.store(), p.SessionID)
	if errors.Is(err, store.ErrUnknown) && closed == nil {
		return protocol.ExportResult{}, invalid("nothing has happened in the session yet.")
	}
	if err != nil {
		return protocol.ExportResult{}, s.refusal(p.SessionID, err)
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
