package backend

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/lspserver/languages"
	"tandem/lspserver/review"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/outputs"
)

// Session is one conversation. All methods may be called concurrently.
type Session struct {
	*agent.Session
	// Changes is the log of its changes, for review.
	Changes *review.Log
	View    View

	id, cwd string
	news    *reviewNews
	unsure  func() []workspace.Unsure // edits of which it is not known whether they landed
	servers []MCPServer
	telling sync.Mutex // held while the client is told of tools
	// extra and lacks are the tools by which the session's differ from those of all sessions, as the client knows; under telling.
	extra, lacks []tools.Tool
	// met says that the client knows the session, commands are those that it was told of; under telling.
	met      bool
	commands []agent.Command
	mentions listing // below the session's folders
}

// ID is the session's id, which it has before its conversation begins.
func (se *Session) ID() string { return se.id }

// Find gives the open session of that id.
func (b *Backend) Find(id string) (*Session, error) {
	if se := b.sessions.find(id); se != nil {
		return se, nil
	}
	return nil, unknownSession(id)
}

// All gives the open sessions, ordered by id.
func (b *Backend) All() []*Session { return b.sessions.all() }

// Latest is the most recently used session, nil if there is none.
func (b *Backend) Latest() *Session { return b.sessions.latest() }

// NewSession are the options of a new session; all fields may be empty.
type NewSession struct {
	Cwd   string
	More  []string // further folders
	Mode  string
	Model string
	// History is a conversation to go on with, see agent.Start.
	History []model.Message
	// Servers are MCP servers of this session alone.
	Servers []MCPServer
}

// New begins a session, in the workspace's folders if none are given.
func (b *Backend) New(n NewSession) (*Session, error) {
	folders := b.Folders()
	cwd := n.Cwd
	if cwd == "" && len(folders) > 0 {
		cwd = folders[0]
	}
	// Missing workspace folders are left out; folders of the request must exist.
	folders = slices.DeleteFunc(folders, func(f string) bool { return !isFolder(f) })
	var more []string
	for _, f := range slices.Concat(n.More, folders) {
		if f != cwd && !slices.Contains(more, f) {
			more = append(more, f)
		}
	}
	for _, f := range append([]string{cwd}, more...) {
		if !isFolder(f) {
			return nil, noSuchFolder(cmp.Or(f, "(no cwd and no workspace folder)"))
		}
	}
	se := b.makeSession(newID(), cwd)
	se.servers = n.Servers
	if err := b.begin(se, agent.Start{More: more, Mode: gate.Mode(n.Mode), Model: n.Model, History: n.History}); err != nil {
		return nil, err
	}
	return se, b.admit(se, true)
}

func newID() string { return "s-" + strings.ToLower(rand.Text()) }

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && info.IsDir()
}

// real is a path with its symbolic links resolved, the form of all paths that are compared or stored.
func real(path string) string { return sandbox.Canonical(path) }

// Canonical is a path with its symbolic links resolved.
func (b *Backend) Canonical(path string) string { return real(path) }

func (b *Backend) makeSession(id, cwd string) *Session {
	se := &Session{id: id, cwd: cwd, unsure: func() []workspace.Unsure { return b.ws.Unsure(id) }}
	se.Changes = review.New(recorded{b.ws, b, se}, id, se.decided)
	guard := func(fn func()) { b.Guard("news of hunks", fn) }
	se.news = newReviewNews(se.Changes, guard, func(e agent.Event) { se.Tell(e) })
	se.View = b.face.View(se)
	return se
}

// begin makes the session's conversation, which goes on from at.
func (b *Backend) begin(se *Session, at agent.Start) error {
	folders := append([]string{se.cwd}, at.More...)
	if err := b.allow(folders...); err != nil {
		return err
	}
	b.addFolders(folders...)
	at.Settings = b.settings.current()
	b.tellOpened(folders, at.Config)
	o := agent.Options{
		ID: se.id, Cwd: se.cwd, Tools: b.Tools, Client: host{b}, Workspace: b.ws, Review: follower{b, se},
		Shared: b.shared(at.Config), Keeping: b.keeping(),
		Servers:  agent.Servers{Named: se.servers, Proposed: b.proposals, Changed: b.serversChanged(se)},
		Attended: b.client.Attended, Locale: b.client.Locale, Now: b.o.Now, Log: b.log.With("session", se.id),
	}
	o.Own.Commands = b.o.Commands
	if b.o.Rules != nil {
		o.Own.Rules = b.o.Rules()
	}
	if b.o.Pins != nil {
		o.Servers.Pins = b.o.Pins(at.Config)
	}
	made, err := agent.New(o, at)
	if err != nil {
		return Refused(err)
	}
	se.Session = made
	se.telling.Lock()
	se.extra, se.lacks = b.differs(se)
	se.telling.Unlock()
	// What the first turn needs is made in the background, so that it does not wait for it: the store is opened, and the schemas
	// of the tools, each made once, are encoded.
	b.Later(func(context.Context) {
		b.keeper.store()
		for _, t := range b.Tools().List() {
			t.Schema().JSON()
		}
	})
	return nil
}

// shared is what a session of a configuration has together with the others.
func (b *Backend) shared(c config.Config) agent.Shared {
	sh := agent.Shared{
		Roots: b.roots, Places: b.places, Claims: &b.claims, Indexes: &b.indexes, Key: b.o.Key,
		Languages: func(env func() *tools.Env) tools.Languages {
			return languages.New(b.client.Languages, b.programs.Session(env))
		},
	}
	if b.o.Runner != nil {
		sh.Runner = runner{b.o.Runner, b.life.closing.Done(), b.tellLost}
	}
	if b.o.Quarantine != nil {
		sh.Quarantine = b.o.Quarantine(c)
	}
	if b.o.Scratch != nil {
		sh.Scratch = func() (outputs.File, error) { return b.o.Scratch(c) }
	}
	return sh
}

// keeping is what a session leaves behind, and where.
func (b *Backend) keeping() agent.Keeping {
	k := agent.Keeping{Store: b.keeper.store, Who: agent.Who{User: b.user(), Client: b.client.Name}, Redact: b.o.Redact}
	if b.rulesFile() != "" {
		k.Remember = b.remember
	}
	return k
}

// tellOpened tells of the folders that a session in some folders may change by a configuration. Relative paths start from the first.
func (b *Backend) tellOpened(folders []string, c config.Config) {
	if b.o.Opened == nil {
		return
	}
	cwd := folders[0]
	folders = slices.Clone(folders)
	for _, root := range c.WriteRoots {
		if !filepath.IsAbs(root) {
			root = filepath.Join(cwd, root)
		}
		folders = append(folders, root)
	}
	b.o.Opened(folders...)
}

// allow makes folders roots. About each one that is wide a person is asked, once; without a yes it is none.
func (b *Backend) allow(folders ...string) error {
	return b.consent.add(b.life.closing, b.roots, b.client.AskFolder, folders...)
}

// admit registers a session as open, unless it is an old one that was closed meanwhile.
func (b *Backend) admit(se *Session, isNew bool) error {
	b.settings.loading.Lock()
	defer b.settings.loading.Unlock()
	if !b.sessions.admit(se, isNew, b.o.Now()) {
		if isNew {
			se.Close()
		}
		return Refused(agent.ErrClosed)
	}
	now := b.settings.current()
	b.tellOpened(se.Folders(), now.Config)
	se.Configure(now) // may have changed since the session was made
	return nil
}

// Models are the names of the available models.
func (b *Backend) Models() []string { return b.settings.opener().Names() }

// API is the protocol that a provider speaks, "" where that is not known.
func (b *Backend) API(provider string) string { return b.settings.opener().API(provider) }

// Short is a path for display: relative to the workspace folder that it lies in.
func (b *Backend) Short(path string) string {
	for _, f := range b.Folders() {
		if rel, err := filepath.Rel(f, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			path = filepath.ToSlash(rel)
			break
		}
	}
	return show.Visible(path, false)
}

// Tilde is the path of a folder with ~ for the home folder, with invisible characters made visible.
func (b *Backend) Tilde(path string) string {
	if rel, err := filepath.Rel(b.roots.Home, path); b.roots.Home != "" && err == nil && filepath.IsLocal(rel) {
		path = filepath.ToSlash(filepath.Join("~", rel))
	}
	return show.Visible(path, false)
}

// landed handles the landed changes of a session.
func (b *Backend) landed(se *Session, c filetime.Change, l filetime.Landed) {
	if c.Undo {
		se.Changed(c, l) // before the decision that Landed makes of it
	}
	se.Changes.Landed(c, l)
	b.movedFor(se, l)
	for _, f := range l.Files {
		if !f.Applied || f.Already {
			continue
		}
		if f.Stale != "" {
			se.Tell(agent.Event{Turn: c.Turn, Notice: b.Short(f.Path) + " " + f.Stale})
		}
		if near := nearTheirs(f); len(f.Ties) > 0 {
			se.Tell(agent.Event{Turn: c.Turn, Notice: fmt.Sprintf(
				"You and the agent inserted text at the same point of %s (%s). Check the order: it is a guess.", b.Short(f.Path), tiesOf(f))})
		} else if f.SameLine {
			se.Tell(agent.Event{Turn: c.Turn, Notice: fmt.Sprintf("The agent's edit of %s landed on a line that you changed too.", b.Short(f.Path))})
		} else if near > 0 {
			se.Tell(agent.Event{Turn: c.Turn, Notice: fmt.Sprintf(
				"The agent's edit of %s landed right beside a line that was changed meanwhile (line %d).", b.Short(f.Path), near)})
		}
	}
}

// waits tells a person that a change of a session waits for them, and has a client without a review of ours ask for its lenses: it tells
// of its changes first.
func (b *Backend) waits(c filetime.Change, path string) {
	if se := b.sessions.find(c.Session); se != nil {
		se.Tell(agent.Event{Turn: c.Turn, Notice: fmt.Sprintf("The change of %s waits until you pause typing.", b.Short(path))})
		se.news.hunksChanged(path)
	}
}

// lateEdit takes in what became of an edit whose call had ended before that was known.
func (b *Backend) lateEdit(c filetime.Change, l filetime.Landed) {
	se := b.sessions.find(c.Session)
	if se == nil {
		return
	}
	if c.ForUser {
		se.Changed(c, l)
	} else {
		b.landed(se, c, l)
		se.Late(c, l)
	}
	b.stale(l)
	se.news.hunksChanged(c.Files[0].Path)
}

// stale notifies the language servers beside the client's of files that a session has changed.
func (b *Backend) stale(l filetime.Landed) {
	for _, f := range l.Files {
		if !f.Applied || f.Already {
			continue
		}
		b.programs.Changed(f.Path)
		if f.Origin != "" {
			b.programs.Changed(f.Origin)
		}
	}
}

// movedFor tells the other sessions of files that one of them has moved.
func (b *Backend) movedFor(se *Session, l filetime.Landed) {
	for _, f := range l.Files {
		if !f.Applied || f.Origin == "" {
			continue
		}
		for _, other := range b.All() {
			if other != se && (other.Changes.Tracks(f.Origin) || other.Changes.Tracks(f.Path)) {
				other.Changes.Moved(f.Origin, f.Path)
				other.news.hunksChanged(f.Origin, f.Path)
			}
		}
	}
}

// Close closes the session, with what is needed to tell later what was changed meanwhile.
func (se *Session) Close() {
	if d := se.Changes.Leave(); d != nil {
		se.decided(*d)
	}
	se.Session.Close()
}

// Close closes the session of that id. It excludes Load, Rename and Delete.
func (b *Backend) Close(id string) error {
	b.sessions.loading.Lock()
	defer b.sessions.loading.Unlock()
	return b.drop(id)
}

// drop closes an open session. b.sessions.loading is held.
func (b *Backend) drop(id string) error {
	se, err := b.Find(id)
	if err != nil {
		return err
	}
	se.Close()
	b.Guard("news of hunks", se.news.flush)
	se.View.Flush()
	b.sessions.remove(se.id)
	return nil
}

// touch updates the time of a session's last use.
func (b *Backend) touch(se *Session, used model.Usage) {
	b.sessions.use(se, b.o.Now())
	b.tally.use(used)
}
