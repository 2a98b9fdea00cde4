package lspserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/watch"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
)

func (s *server) lifecycleRoutes(r *wire.Router) {
	handle(r, protocol.Initialize, s.initialize)
	handleNote(r, protocol.Initialized, s.initialized)
	handle(r, protocol.Shutdown, s.shutdown)
	handleNote(r, protocol.SetTrace, s.setTrace)
	handleNote(r, protocol.WorkspaceDidChangeConfiguration, s.didChangeConfiguration)
	handleNote(r, protocol.WorkspaceDidChangeWorkspaceFolders, s.didChangeWorkspaceFolders)
}

func (s *server) initialize(_ context.Context, p lsp.InitializeParams) (lsp.InitializeResult, error) {
	<-s.ready
	s.closing, s.hurry = context.WithCancel(s.conn.Context())
	s.client = clientOf(p)
	s.tracing.Store(&p.Trace)
	s.initOpts = []byte(p.InitializationOptions)
	folders := foldersOf(p)
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return lsp.InitializeResult{}, noSuchFolder(folder)
		}
	}
	s.folders = folders
	if !s.client.config {
		close(s.fetched)
	}
	if s.o.Watch {
		s.watcher = watch.New(func(path string, lost bool) {
			s.guard("watching files", func() {
				s.settingsChanged(path)
				s.ws.Changed(path, lost)
			})
		}, s.above, s.log)
	}
	s.reload()
	cfg := s.config()
	s.roots = &sandbox.Roots{}
	s.roots.Home, _ = os.UserHomeDir() // without one no name is special by lying there
	if s.o.Own != nil {
		s.roots.Own = s.o.Own(cfg)
	}
	for _, folder := range folders {
		s.roots.Add(folder)
	}
	o := workspace.Options{
		Roots:  s.roots,
		Editor: editor{s}, Features: s.client.features(), Apply: filetime.Apply(cfg.Apply), Closed: filetime.Apply(cfg.ClosedFiles),
		MaxFileBytes: int64(cfg.Limits.MaxFileBytes), Canonical: sandbox.Canonical, Notify: s.fileTime, Now: s.o.Now, Log: s.log,
		Journal: journal{s},
	}
	if s.watcher != nil {
		o.Watch = s.watcher.Add
	}
	if s.o.Locks != nil {
		o.Locks = s.o.Locks(cfg)
	}
	s.ws = workspace.New(o)
	if p.ProcessID != nil && s.o.Orphaned != nil {
		gone := s.o.Orphaned(s.conn.Context(), int(*p.ProcessID))
		go func() {
			select {
			case <-gone:
				s.log.Info("the editor's process is gone")
				s.conn.Close()
			case <-s.conn.Done():
			}
		}()
	}
	return s.capabilities()
}

func clientOf(p lsp.InitializeParams) client {
	c := client{ClientCapabilities: p.Capabilities, plain: true}
	var x struct {
		Tandem *protocol.ClientExperimental `json:"tandem"`
	}
	if len(p.Capabilities.Experimental) > 0 && json.Unmarshal(p.Capabilities.Experimental, &x) == nil && x.Tandem != nil {
		c.plain, c.tandem = false, *x.Tandem
	}
	if g := p.Capabilities.General; g != nil {
		switch {
		case slices.Contains(g.PositionEncodings, lsp.PositionEncodingKindUTF8):
			c.encoding = text.UTF8
		case len(g.PositionEncodings) > 0 && !slices.Contains(g.PositionEncodings, lsp.PositionEncodingKindUTF16) &&
			slices.Contains(g.PositionEncodings, lsp.PositionEncodingKindUTF32):
			c.encoding = text.UTF32
		}
	}
	if w := p.Capabilities.Window; w != nil {
		c.progress = is(w.WorkDoneProgress)
	}
	if w := p.Capabilities.Workspace; w != nil {
		c.config = is(w.Configuration)
		if e := w.WorkspaceEdit; e != nil {
			c.annotate = !c.plain && e.ChangeAnnotationSupport != nil
			c.documents = is(e.DocumentChanges) || c.plain && len(e.ResourceOperations) > 0
		}
	}
	return c
}

// features are what the client can do with edits. A plain one is edited wherever it serves workspace/applyEdit; where it has
// no documentChanges it gets changes, which carry no version.
func (c client) features() workspace.Features {
	f := workspace.Features{
		Encoding: c.encoding, Save: c.tandem.Save, Resync: c.tandem.Resync, Plain: c.plain, Versions: c.documents,
	}
	w := c.Workspace
	f.Apply = w != nil && is(w.ApplyEdit) && (c.documents || c.plain)
	if f.Apply && c.documents {
		f.Create = slices.Contains(w.WorkspaceEdit.ResourceOperations, lsp.ResourceOperationKindCreate)
		f.Delete = slices.Contains(w.WorkspaceEdit.ResourceOperations, lsp.ResourceOperationKindDelete)
	}
	return f
}

func is(b *bool) bool { return b != nil && *b }

// foldersOf gives the workspace's folders: the list, or the older forms of one.
func foldersOf(p lsp.InitializeParams) []string {
	var out []string
	if list, ok := p.WorkspaceFolders.Get(); ok {
		for _, f := range list {
			if path, ok := pathOf(string(f.URI)); ok {
				out = append(out, path)
			}
		}
	}
	//lint:ignore SA1019 clients without workspaceFolders send it
	if root := p.RootURI; len(out) == 0 && root != nil {
		if path, ok := pathOf(string(*root)); ok {
			out = append(out, path)
		}
	}
	return out
}

func noSuchFolder(path string) error {
	return &wire.Error{
		Code: wire.CodeInvalidParams, Name: "no_such_folder",
		Message: fmt.Sprintf("%s is no folder that exists; open one that does.", path),
	}
}

func (s *server) capabilities() (lsp.InitializeResult, error) {
	yes, sync := true, lsp.TextDocumentSyncKindIncremental
	ours, err := json.Marshal(map[string]any{"tandem": protocol.ServerExperimental{
		ProtocolVersion: protocol.Version, Methods: protocol.ServerMethods(), Mismatch: s.mismatch(),
	}})
	if err != nil {
		return lsp.InitializeResult{}, err
	}
	encoding := map[text.Encoding]lsp.PositionEncodingKind{
		text.UTF8: lsp.PositionEncodingKindUTF8, text.UTF16: lsp.PositionEncodingKindUTF16, text.UTF32: lsp.PositionEncodingKindUTF32,
	}
	r := lsp.InitializeResult{
		ServerInfo: lsp.ServerInfo{Name: "tandem", Version: lsp.NewOptional(s.o.Version)},
		Capabilities: lsp.ServerCapabilities{
			PositionEncoding: encoding[s.client.encoding],
			TextDocumentSync: &lsp.TextDocumentSyncOptions{
				OpenClose: &yes, Change: &sync, Save: &lsp.SaveOptions{IncludeText: &yes},
			},
			Workspace: &lsp.WorkspaceOptions{WorkspaceFolders: &lsp.WorkspaceFoldersServerCapabilities{
				Supported: &yes, ChangeNotifications: lsp.Boolean(true),
			}},
			Experimental: ours,
		},
	}
	if !s.client.tandem.Review { // a client with a plugin shows hunks, and names commands, by itself
		c := &r.Capabilities
		c.CodeLensProvider = &lsp.CodeLensOptions{}
		c.CodeActionProvider = &lsp.CodeActionOptions{CodeActionKinds: []lsp.CodeActionKind{lsp.CodeActionKindQuickFix}}
		c.ExecuteCommandProvider = lsp.ExecuteCommandOptions{Commands: commands()}
	}
	return r, nil
}

func (s *server) initialized(context.Context, lsp.InitializedParams) {
	s.later(s.tellCrash)
	s.later(func(ctx context.Context) {
		s.tellMismatch()
		s.fetchConfig(ctx)
		if s.client.config {
			close(s.fetched)
		}
		if s.o.Started != nil {
			s.o.Started(s.config())
		}
		s.tellProblems(ctx)
		s.watchSettings()
		if s.o.Stored != nil && s.o.Stored(s.config()) {
			s.recover()
		}
	})
}

// shutdown ends the sessions; exit follows.
func (s *server) shutdown(context.Context, protocol.None) (protocol.None, error) {
	s.hurry()
	s.closeSessions()
	s.ws.Settle()
	return protocol.None{}, nil
}

// fetchConfig asks the editor for its section.
func (s *server) fetchConfig(ctx context.Context) {
	if !s.client.config {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	section := "tandem"
	var answer []lsp.LSPAny
	err := s.conn.Call(ctx, "workspace/configuration", lsp.ConfigurationParams{
		Items: []lsp.ConfigurationItem{{Section: &section}},
	}, &answer)
	if err != nil || len(answer) == 0 {
		s.log.Debug("the editor gave no configuration", "error", err)
		return
	}
	s.setSection(answer[0], false)
}

// setSection takes in the editor's section; null says that nothing is set in it, any more. One that it sent by itself is
// newer than any that it was asked for before.
func (s *server) setSection(raw []byte, pushed bool) {
	s.mu.Lock()
	if s.pushed && !pushed {
		s.mu.Unlock()
		return
	}
	if string(raw) == "null" {
		raw = nil
	}
	s.pushed = pushed
	same := string(s.section) == string(raw)
	s.section = slices.Clone(raw)
	s.mu.Unlock()
	if !same {
		s.reload()
	}
}

func (s *server) didChangeConfiguration(_ context.Context, p lsp.DidChangeConfigurationParams) {
	var sections map[string]json.RawMessage
	err := json.Unmarshal(p.Settings, &sections)
	if section := sections["tandem"]; err == nil && (section != nil || sections != nil && !s.client.config) {
		s.setSection(section, true)
		s.later(s.tellProblems)
		return
	}
	s.mu.Lock()
	s.pushed = false
	s.mu.Unlock()
	s.later(func(ctx context.Context) {
		s.fetchConfig(ctx)
		s.tellProblems(ctx)
	})
}

func (s *server) didChangeWorkspaceFolders(_ context.Context, p lsp.DidChangeWorkspaceFoldersParams) {
	defer s.later(func(ctx context.Context) {
		s.watchSettings()
		s.reconfigure(ctx)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range p.Event.Removed {
		if path, ok := pathOf(string(f.URI)); ok {
			s.folders = slices.DeleteFunc(s.folders, func(have string) bool { return have == path })
		}
	}
	for _, f := range p.Event.Added {
		if path, ok := pathOf(string(f.URI)); ok && !slices.Contains(s.folders, path) {
			s.folders = append(s.folders, path)
		}
	}
}
