package lspserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime/text"
	"tandem/lspserver/backend"
	"tandem/lspserver/languages"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
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
	s.client = clientOf(p)
	s.tracing.Store(&p.Trace)
	if !s.client.config {
		close(s.fetched)
	}
	err := s.b.Start(s.conn.Context(), backend.Client{
		Name: p.ClientInfo.Name, Locale: locale(p), Folders: foldersOf(p), Editor: editor{s}, Features: s.client.features(), Options: []byte(p.InitializationOptions),
		Own: !s.client.plain, OwnSection: s.client.tandem.SettingsAreOwn, Lend: s.lender(),
		Attended: s.client.edits(), // a program that only prompts, as the command line does, is gone with its turn
		Plans:    !s.client.plain, AskFolder: s.questions.folder, Languages: s.languages(),
	})
	if err != nil {
		return lsp.InitializeResult{}, err
	}
	s.ws = s.b.Workspace()
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

// languages are the editor's language servers, nil if the editor does not ask them for us.
func (s *server) languages() languages.Server {
	if !s.client.tandem.EditorRequest {
		return nil
	}
	return editor{s}
}

// literals are the names, in lower case, of clients that show messages and buttons verbatim, without Markdown: Neovim,
// Helix, Emacs (eglot, lsp-mode), Kakoune and Vim (vim-lsp, yegappan/lsp).
var literals = []string{"neovim", "helix", "eglot", "emacs", "kakoune-lsp", "kak-lsp", "vim-lsp", "vim"}

// harmless escapes Markdown links for clients that may render them: a link's text can hide its target. It makes a text
// longer.
func (c client) harmless(s string) string {
	if c.literal {
		return s
	}
	return strings.ReplaceAll(s, "](", `]\u{28}`)
}

func clientOf(p lsp.InitializeParams) client {
	c := client{ClientCapabilities: p.Capabilities, plain: true}
	c.literal = slices.Contains(literals, strings.ToLower(p.ClientInfo.Name))
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

// features are the client's capabilities for edits. A plain client needs workspace/applyEdit; without documentChanges
// it gets changes, which carry no version.
func (c client) features() workspace.Features {
	f := workspace.Features{
		Encoding: c.encoding, Save: c.tandem.Save, Resync: c.tandem.Resync, Landed: c.tandem.Landed, Plain: c.plain, Versions: c.documents,
	}
	w := c.Workspace
	f.Apply = c.edits() && (c.documents || c.plain)
	if f.Apply && c.documents {
		f.Create = slices.Contains(w.WorkspaceEdit.ResourceOperations, lsp.ResourceOperationKindCreate)
		f.Delete = slices.Contains(w.WorkspaceEdit.ResourceOperations, lsp.ResourceOperationKindDelete)
		f.Rename = slices.Contains(w.WorkspaceEdit.ResourceOperations, lsp.ResourceOperationKindRename)
	}
	return f
}

// edits says that the client has documents that can be edited: it is an editor.
func (c client) edits() bool { return c.Workspace != nil && is(c.Workspace.ApplyEdit) }

func is(b *bool) bool { return b != nil && *b }

// foldersOf gives the workspace's folders, also from the deprecated rootUri and rootPath.
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

// positionEncodings are the names of encodings. It is never changed.
var positionEncodings = map[text.Encoding]lsp.PositionEncodingKind{
	text.UTF8: lsp.PositionEncodingKindUTF8, text.UTF16: lsp.PositionEncodingKindUTF16, text.UTF32: lsp.PositionEncodingKindUTF32,
}

func (s *server) capabilities() (lsp.InitializeResult, error) {
	yes, sync := true, lsp.TextDocumentSyncKindIncremental
	ours, err := json.Marshal(map[string]any{"tandem": protocol.ServerExperimental{
		ProtocolVersion: protocol.Version, Methods: protocol.ServerMethods(), Mismatch: s.mismatch(),
	}})
	if err != nil {
		return lsp.InitializeResult{}, err
	}
	r := lsp.InitializeResult{
		ServerInfo: lsp.ServerInfo{Name: "tandem", Version: lsp.NewOptional(s.o.Version)},
		Capabilities: lsp.ServerCapabilities{
			PositionEncoding: positionEncodings[s.client.encoding],
			TextDocumentSync: &lsp.TextDocumentSyncOptions{
				OpenClose: &yes, Change: &sync, Save: &lsp.SaveOptions{IncludeText: &yes},
			},
			Workspace: &lsp.WorkspaceOptions{WorkspaceFolders: &lsp.WorkspaceFoldersServerCapabilities{
				Supported: &yes, ChangeNotifications: lsp.Boolean(true),
			}},
			Experimental: ours,
		},
	}
	if !s.client.tandem.Review { // a plug-in shows hunks and commands itself
		c := &r.Capabilities
		c.CodeLensProvider = &lsp.CodeLensOptions{}
		c.CodeActionProvider = &lsp.CodeActionOptions{CodeActionKinds: []lsp.CodeActionKind{lsp.CodeActionKindQuickFix}}
		c.ExecuteCommandProvider = lsp.ExecuteCommandOptions{Commands: commands()}
	}
	return r, nil
}

func (s *server) initialized(context.Context, lsp.InitializedParams) {
	s.b.Later(s.tellCrash)
	s.b.Later(func(ctx context.Context) {
		s.tellMismatch()
		s.fetchConfig(ctx)
		if s.client.config {
			close(s.fetched)
		}
		s.b.Ready(ctx)
	})
}

// shutdown closes the sessions; exit follows.
func (s *server) shutdown(context.Context, protocol.None) (protocol.None, error) {
	s.b.Shutdown()
	return protocol.None{}, nil
}

// locale is the language of the client's user, "" where it does not say.
func locale(p lsp.InitializeParams) string {
	if p.Locale == nil {
		return ""
	}
	return *p.Locale
}
