package backend

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tandem/agent"
	"tandem/agent/store"
	"tandem/filetime/text/show"
	"tandem/lspserver/review"
	"tandem/tools/gate"
)

// Info is a stored session, or one that is open here.
type Info struct {
	ID, Cwd, Title string
	Updated        time.Time
	// State is nil if it could not be computed in time.
	State *State
}

// State is the progress of a session.
type State struct {
	// Turns counts those that ended or changed a file, Pending the hunks that are neither accepted nor rejected.
	Turns, Pending int
}

func infoOf(k store.Session) Info {
	return Info{ID: k.ID, Cwd: k.Cwd, Title: k.Title, Updated: k.Updated}
}

// unkept are the open sessions that are not in the store.
func (b *Backend) unkept(may func(*Session) bool) []store.Session {
	var out []store.Session
	for _, se := range b.All() {
		if !se.Kept() && may(se) {
			out = append(out, store.Session{ID: se.id, Cwd: se.cwd, Title: se.Title(), Updated: b.sessions.lastUse(se.id)})
		}
	}
	return out
}

// List gives a page of the sessions, the most recently used first, of one folder if cwd is not empty. next is the
// cursor of the next page, or "". An error may be an *Error.
func (b *Backend) List(ctx context.Context, cwd, cursor string) (page []Info, next string, err error) {
	const most = 100
	if cwd != "" {
		cwd = filepath.Clean(cwd)
	}
	found, next, err := b.keeper.store().Sessions(store.Query{Cwd: cwd, After: cursor, Limit: most})
	if errors.Is(err, store.ErrCursor) {
		return nil, "", refuse(Invalid, "cursor is the nextCursor of a page, or absent.")
	}
	if err != nil {
		return nil, "", err
	}
	if cursor == "" {
		found = append(found, b.unkept(func(se *Session) bool { return cwd == "" || filepath.Clean(se.cwd) == cwd })...)
		slices.SortStableFunc(found, func(x, y store.Session) int { return y.Updated.Compare(x.Updated) })
	}
	known := b.states(ctx, found)
	for _, k := range found {
		info := infoOf(k)
		info.State = known[k.ID]
		page = append(page, info)
	}
	return page, next, nil
}

// states computes stateOf for sessions within a short time limit, however slow the store or the disk is: a client shows
// the list of sessions when it starts.
func (b *Backend) states(ctx context.Context, of []store.Session) map[string]*State {
	const patience = 300 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type result struct {
		id    string
		state *State
	}
	found := make(chan result, len(of)) // buffered for all, so that no sender blocks after the time limit
	b.Later(func(context.Context) {
		defer close(found)
		for _, k := range of {
			state, err := b.stateOf(ctx, k.ID)
			if err != nil {
				b.log.Debug("the state of a kept session", "session", k.ID, "error", err)
			}
			found <- result{k.ID, state}
		}
	})
	out := map[string]*State{}
	for {
		select {
		case r, more := <-found:
			if !more {
				return out
			}
			out[r.id] = r.state
		case <-ctx.Done():
			return out
		}
	}
}

// stateOf computes the State of a session, nil once ctx has ended.
func (b *Backend) stateOf(ctx context.Context, id string) (*State, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	var m State
	var changes *review.Log
	se, err := b.Find(id)
	lives := err == nil
	if lives {
		changes = se.Changes
		if se.Written(); !se.Kept() {
			return &m, nil
		}
	} else {
		changes = review.New(b.ws, id, nil)
	}
	if m.Turns, err = agent.TurnsOf(b.keeper.store(), id); err != nil {
		return nil, err
	}
	if !lives {
		if err := b.restore(ctx, changes, id); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil { // some files were not read
		return nil, ctx.Err()
	}
	m.Pending = changes.Pending()
	return &m, nil
}

// Search gives up to limit stored sessions that contain a text.
func (b *Backend) Search(text string, limit int) ([]Info, error) {
	found, _, err := b.keeper.store().Sessions(store.Query{Text: text, Limit: limit})
	var out []Info
	for _, k := range found {
		out = append(out, infoOf(k))
	}
	return out, err
}

// Load opens a stored session, or replays one that is open here. If cwd is not empty it must be the session's folder.
// An error may be an *Error.
func (b *Backend) Load(ctx context.Context, id, cwd string, servers ...MCPServer) (*Session, error) {
	b.sessions.loading.Lock()
	defer b.sessions.loading.Unlock()
	if se, err := b.Find(id); err == nil {
		return se, b.again(ctx, se, cwd)
	}
	if cwd != "" && isFolder(cwd) {
		if err := b.allow(cwd); err != nil { // what the session has seen is read below it
			return nil, err
		}
	}
	b.recover() // judges the session's interrupted changes
	return b.open(ctx, id, cwd, true, servers)
}

// Fork begins another session with the conversation of a stored one up to and with turn at, nil for the last one that has ended. Its files,
// their review and their undo stay with that one. An error may be an *Error.
func (b *Backend) Fork(ctx context.Context, id string, at *int) (*Session, error) {
	b.sessions.loading.Lock()
	defer b.sessions.loading.Unlock()
	var servers []MCPServer
	if se, err := b.Find(id); err == nil {
		servers = se.servers
		if se.Written(); !se.Kept() {
			return nil, refuse(Invalid, "The session %.80q has no turn yet that another one could go on from; begin a new one.", id)
		}
	}
	s, _, err := b.keeper.store().Entries(id, store.End)
	if err == nil {
		err = b.here(s.Cwd, "")
	}
	if err != nil {
		return nil, b.refusal(id, err)
	}
	forked := newID()
	var none *agent.NoTurnError
	switch err := agent.Fork(b.keeper.store(), id, at, forked); {
	case errors.As(err, &none):
		return nil, refuse(Invalid, "%s", none)
	case err != nil:
		return nil, b.refusal(id, err)
	}
	se, err := b.open(ctx, forked, "", false, servers)
	if err != nil {
		return nil, errors.Join(err, b.keeper.store().Delete(forked))
	}
	return se, nil
}

// What a Restore brings back.
const (
	Conversation = "conversation"
	Files        = "files"
	Both         = "both"
)

// Restored is what a Restore did, or would do.
type Restored struct {
	review.UndoResult
	Prompt string // of the turn: it can be sent again, changed
}

// Checkpoints are the turns that a session can go back to. An error may be an *Error.
func (b *Backend) Checkpoints(id string) ([]agent.Checkpoint, error) {
	if se, err := b.Find(id); err == nil {
		if se.Written(); !se.Kept() {
			return []agent.Checkpoint{}, nil
		}
	}
	out, err := agent.Checkpoints(b.keeper.store(), id)
	return out, b.refusal(id, err)
}

// Restore goes back to before the prompt of a turn: with the conversation, in a fork of the session, which it gives; with the files, by an
// undo of what the turn and those after it have changed; or with both. What was typed stays. dryRun only says what would be. The session
// must be open here. An error may be an *Error.
func (b *Backend) Restore(ctx context.Context, id string, turn int, what string, dryRun bool) (*Session, Restored, error) {
	var out Restored
	se, err := b.Find(id)
	if err != nil {
		return nil, out, err
	}
	if se.Busy() {
		return nil, out, Refused(agent.ErrBusy)
	}
	points, err := b.Checkpoints(id)
	if err != nil {
		return nil, out, err
	}
	i := slices.IndexFunc(points, func(c agent.Checkpoint) bool { return c.Turn == turn })
	if i < 0 {
		return nil, out, refuse(Invalid, "The session has no turn %d; tandem/session/checkpoints names those that it has.", turn)
	}
	out.Prompt = points[i].Prompt
	if since := (review.Scope{Since: &turn}); what != Conversation {
		if dryRun {
			out.UndoResult = se.Changes.WouldUndo(ctx, since)
		} else {
			out.UndoResult = se.Undo(ctx, since)
		}
	}
	if what == Files || dryRun {
		return se, out, nil
	}
	before := turn - 1
	forked, err := b.Fork(ctx, id, &before)
	return forked, out, err
}

// open opens a stored session, and tells again what happened in it where replay is true.
func (b *Backend) open(ctx context.Context, id, cwd string, replay bool, servers []MCPServer) (*Session, error) {
	past, err := agent.TakePast(ctx, b.keeper.store(), id, b.ws, b.o.Now, func(k store.Session) error { return b.here(k.Cwd, cwd) })
	if err != nil {
		return nil, b.refusal(id, err)
	}
	se := b.makeSession(past.ID, past.Cwd)
	se.servers = servers
	more := slices.DeleteFunc(past.More, func(f string) bool { return !isFolder(f) })
	at := agent.Start{More: more, Past: past, Mode: gate.Mode(past.Mode), Model: past.Model}
	notice := ""
	err = b.begin(se, at)
	if ModelUnavailable.Is(err) {
		// The session opens all the same: it can be read, and another model can be chosen.
		notice = fmt.Sprintf("The model %s is not available here: %s", past.Model, err)
		at.Model = ""
		err = b.begin(se, at)
	}
	if err != nil {
		return nil, errors.Join(err, b.keeper.store().Release(past.ID))
	}
	if err := b.restore(ctx, se.Changes, se.id); err != nil {
		se.Close()
		return nil, b.refusal(past.ID, err)
	}
	if replay {
		se.View.Replay(ctx, past.Events())
	}
	if notice != "" {
		se.View.On(agent.Event{Notice: notice})
	}
	return se, b.admit(se, true)
}

// here is an error unless a session of a folder can be used in the client's workspace.
func (b *Backend) here(folder, cwd string) error {
	folders := b.Folders()
	if cwd != "" {
		folders = []string{cwd}
	}
	within := len(folders) == 0 || slices.ContainsFunc(folders, func(f string) bool {
		rel, err := filepath.Rel(f, folder)
		return err == nil && (rel == "." || cwd == "" && filepath.IsLocal(rel))
	})
	switch {
	case !within:
		return refuse(NotPermitted, "The session belongs to %s; open that folder.", folder)
	case !isFolder(folder):
		return noSuchFolder(folder)
	}
	return nil
}

func (b *Backend) again(ctx context.Context, se *Session, cwd string) error {
	if err := b.here(se.cwd, cwd); err != nil {
		return err
	}
	if se.Busy() {
		return Refused(agent.ErrBusy)
	}
	se.Reopen()
	if se.Written(); se.Kept() {
		past, err := agent.ReadPast(b.keeper.store(), se.id)
		if err != nil {
			return b.refusal(se.id, err)
		}
		se.View.Replay(ctx, past.Events())
	}
	return b.admit(se, false)
}

// Delete closes a session and deletes it from the store. An error may be an *Error.
func (b *Backend) Delete(id string) error {
	b.sessions.loading.Lock()
	defer b.sessions.loading.Unlock()
	lived := b.drop(id) == nil
	err := b.keeper.store().Delete(id)
	if lived && errors.Is(err, store.ErrUnknown) { // it was never stored
		err = nil
	}
	return b.refusal(id, err)
}

// Rename changes a session's title. An error may be an *Error.
func (b *Backend) Rename(id, title string) error {
	const most = 200
	title = strings.TrimSpace(title)
	if title == "" || strings.ContainsAny(title, "\r\n") || utf8.RuneCountInString(title) > most {
		return refuse(Invalid, "a title is one line of up to %d characters.", most)
	}
	title = show.Visible(title, false)
	b.sessions.loading.Lock()
	defer b.sessions.loading.Unlock()
	if se, err := b.Find(id); err == nil {
		se.Rename(title)
		return nil
	}
	k, _, err := b.keeper.store().Take(id)
	if err == nil {
		k.Title = title
		err = errors.Join(b.keeper.store().Save(k), b.keeper.store().Release(k.ID))
	}
	return b.refusal(id, err)
}

// Export gives a session as text; the format is "markdown" or "jsonl". An error may be an *Error.
func (b *Backend) Export(id, format string) (string, error) {
	se, closed := b.Find(id)
	if closed == nil {
		se.Written()
	}
	past, err := agent.ReadPast(b.keeper.store(), id)
	if errors.Is(err, store.ErrUnknown) && closed == nil {
		return "", refuse(Invalid, "nothing has happened in the session yet.")
	}
	if err != nil {
		return "", b.refusal(id, err)
	}
	switch format {
	case "markdown":
		return past.Markdown(), nil
	case "jsonl":
		return past.JSONL()
	}
	return "", refuse(Invalid, "the format is markdown or jsonl, not %.40q.", format)
}
