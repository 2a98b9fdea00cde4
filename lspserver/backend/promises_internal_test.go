package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/agent/prompt"
	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/languages"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
	"tandem/sandbox/effects"
	"tandem/tools/plugin"
)

// TestAttentionOfADocument: the cursor, what is visible and what is selected reach the model as lines and columns from 1.
func TestAttentionOfADocument(t *testing.T) {
	content := text.New("zero\nöne two\nthree\n")
	at := func(line, character int) text.Position { return text.Position{Line: line, Character: character} }
	spans := func(a, b, c, d int) *workspace.Range { return &workspace.Range{Start: at(a, b), End: at(c, d)} }
	for name, tt := range map[string]struct {
		says Attention
		want prompt.Editor
	}{
		"a cursor":                  {Attention{Cursor: at(1, 2)}, prompt.Editor{Line: 2, Column: 3}},
		"at the beginning":          {Attention{}, prompt.Editor{Line: 1, Column: 1}},
		"behind the end":            {Attention{Cursor: at(9, 0)}, prompt.Editor{Line: 4, Column: 1}},
		"visible":                   {Attention{Visible: spans(0, 0, 2, 1)}, prompt.Editor{Line: 1, Column: 1, Top: 1, Bottom: 3}},
		"visible, turned round":     {Attention{Visible: spans(2, 0, 0, 1)}, prompt.Editor{Line: 1, Column: 1, Top: 3, Bottom: 3}},
		"nothing selected":          {Attention{Selection: spans(1, 2, 1, 2)}, prompt.Editor{Line: 1, Column: 1}},
		"a word":                    {Attention{Selection: spans(1, 0, 1, 3)}, prompt.Editor{Line: 1, Column: 1, Selection: "öne", From: 2, To: 2}},
		"a word, from its end":      {Attention{Selection: spans(1, 3, 1, 0)}, prompt.Editor{Line: 1, Column: 1, Selection: "öne", From: 2, To: 2}},
		"a line with its end":       {Attention{Selection: spans(1, 0, 2, 0)}, prompt.Editor{Line: 1, Column: 1, Selection: "öne two\n", From: 2, To: 2}},
		"two lines":                 {Attention{Selection: spans(0, 0, 1, 1)}, prompt.Editor{Line: 1, Column: 1, Selection: "zero\nö", From: 1, To: 2}},
		"an empty line behind text": {Attention{Selection: spans(0, 4, 1, 0)}, prompt.Editor{Line: 1, Column: 1, Selection: "\n", From: 1, To: 1}},
	} {
		b := &Backend{client: Client{Features: workspace.Features{Encoding: text.UTF16}}}
		var got prompt.Editor
		b.look(&got, workspace.Shown{Text: content}, &tt.says)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	long := text.New(strings.Repeat("x", 2*prompt.MaxSelection))
	var got prompt.Editor
	(&Backend{}).look(&got, workspace.Shown{Text: long}, &Attention{Selection: spans(0, 0, 0, 2*prompt.MaxSelection)})
	if len(got.Selection) != prompt.MaxSelection+1 { // one more, so that it is seen to be cut
		t.Errorf("%d bytes of a long selection", len(got.Selection))
	}
}

// TestFolderOfASession: a session is used in its own folder, or in a workspace that holds it.
func TestFolderOfASession(t *testing.T) {
	top := t.TempDir()
	sub := filepath.Join(top, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		folders     []string
		folder, cwd string
		want        Kind
		fine        bool
	}{
		"the workspace":          {[]string{top}, top, "", "", true},
		"below it":               {[]string{top}, sub, "", "", true},
		"above it":               {[]string{sub}, top, "", NotPermitted, false},
		"a second folder":        {[]string{sub, top}, top, "", "", true},
		"no workspace":           {nil, top, "", "", true},
		"the folder that it has": {nil, sub, sub, "", true},
		"below the folder asked": {[]string{top}, sub, top, NotPermitted, false},
		"another folder":         {[]string{top}, top, sub, NotPermitted, false},
		"gone":                   {nil, filepath.Join(top, "none"), "", NoSuchFolder, false},
		"gone, not even here":    {[]string{sub}, filepath.Join(top, "none"), "", NotPermitted, false},
	} {
		err := (&Backend{settings: settings{folders: tt.folders}}).here(tt.folder, tt.cwd)
		if (err == nil) != tt.fine || !tt.fine && !tt.want.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShortPaths: a path is shown from the folder of the workspace that it lies in, and whole else.
func TestShortPaths(t *testing.T) {
	b := &Backend{settings: settings{folders: []string{"/w/a", "/w"}}}
	for path, want := range map[string]string{
		"/w/a/f": "f", "/w/f": "f", "/w/b/f": "b/f", "/x/f": "/x/f", "/w/a": ".", "/w/a/..f": "..f", "/w/ab": "ab",
	} {
		if got := b.Short(path); got != want {
			t.Errorf("%s is shown as %s, want %s", path, got, want)
		}
	}
}

// TestLanguageServersOfTheConfiguration: what the configuration says of a server takes the place of its preset; off takes it out.
func TestLanguageServersOfTheConfiguration(t *testing.T) {
	list := func(servers map[string]config.LanguageServer) (out []string) {
		presets := map[string]string{}
		for _, p := range languages.Presets() {
			presets[p.Name] = fmt.Sprint(p.Command, p.Args, p.Languages, p.Roots, p.ByUser)
		}
		for _, p := range languagePrograms(config.Config{LanguageServers: servers}) {
			if now := fmt.Sprint(p.Command, p.Args, p.Languages, p.Roots, p.ByUser); now != presets[p.Name] {
				out = append(out, p.Name+" "+now)
			}
			delete(presets, p.Name)
		}
		for name := range presets {
			out = append(out, name+" is off")
		}
		slices.Sort(out)
		return out
	}
	for name, tt := range map[string]struct {
		servers map[string]config.LanguageServer
		want    []string
	}{
		"nothing":       {nil, nil},
		"off":           {map[string]config.LanguageServer{"gopls": {Use: "off"}}, []string{"gopls is off"}},
		"a command":     {map[string]config.LanguageServer{"gopls": {Command: "/g"}}, []string{"gopls /g[] map[.go:go] [go.work go.mod] true"}},
		"arguments":     {map[string]config.LanguageServer{"gopls": {Args: []string{"-v"}}}, []string{"gopls gopls[-v] map[.go:go] [go.work go.mod] false"}},
		"other endings": {map[string]config.LanguageServer{"gopls": {Extensions: map[string]string{".x": "go"}}}, []string{"gopls gopls[] map[.x:go] [go.work go.mod] false"}},
		"other roots":   {map[string]config.LanguageServer{"gopls": {Roots: []string{"r"}}}, []string{"gopls gopls[] map[.go:go] [r] false"}},
		"another server": {map[string]config.LanguageServer{"own": {Command: "/o", Extensions: map[string]string{".o": "o"}}}, []string{
			"own /o[] map[.o:o] [] true",
		}},
		"another, off": {map[string]config.LanguageServer{"own": {Command: "/o", Use: "off"}}, nil},
	} {
		if got := list(tt.servers); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestProposedServers: servers that files of a repository name are entries with their source, in the folder that they name, and what is
// wrong with a file is one too.
func TestProposedServers(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write := func(folder, content string) string {
		path := filepath.Join(folder, proposalFile)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	source := write(dir, `{"mcpServers":{
		"b":{"command":"b","cwd":"sub"},"a":{"command":"a"},"c":{"command":"c","cwd":"/abs"},"d":{"type":"sse","url":"http://x"},
		"e":{"command":"e","sandbox":"off"},"f":{"command":"f","sandbox":"on"}}}`)
	b := &Backend{settings: settings{loaded: config.Loaded{Proposed: []config.Proposal{
		{Folder: dir, Source: "settings", Servers: map[string]config.MCPServer{"g": {Command: "g"}}},
		{Folder: "/elsewhere", Source: "settings", Servers: map[string]config.MCPServer{"h": {Command: "h"}}},
	}}}}
	var got []string
	for _, e := range b.proposals([]string{dir, other}) {
		got = append(got, fmt.Sprintf("%s %s %v %q", e.Name, strings.TrimPrefix(e.Cwd, dir), e.Unconfined, e.Bad))
		if e.Name != "g" && e.Source != source {
			t.Errorf("%s is from %s", e.Name, e.Source)
		}
	}
	want := []string{
		`a  false ""`, `b /sub false ""`, `c /abs false ""`, `d  false "servers of the type sse are not supported; use http"`, `e  true ""`, `f  false ""`, `g  false ""`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	bad := write(other, `{"mcpServers":7}`)
	if all := b.proposals([]string{other}); len(all) != 1 || all[0].Source != bad || all[0].Bad == "" || all[0].Command != "" {
		t.Errorf("%+v", all)
	}
}

// TestPluginsOfTheConfiguration: a plug-in has its tools where its manifest is in order and its id is not taken, else a reason.
func TestPluginsOfTheConfiguration(t *testing.T) {
	top := t.TempDir()
	folder := func(name, manifest string) string {
		path := filepath.Join(top, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if manifest != "" {
			if err := os.WriteFile(filepath.Join(path, plugin.Manifest), []byte(manifest), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	good := func(id string) string {
		return `{"id":"` + id + `","tools":[{"name":"hello","description":"Says hello.","kind":"read","parameters":{"type":"object"},"command":["./run"]}]}`
	}
	layers, found := loadPlugins([]string{folder("a", good("one")), folder("b", good("one")), folder("c", ""), folder("d", "{"), "relative", folder("e", good("two"))})
	var got []string
	for _, p := range found {
		reason := ""
		for _, part := range []string{"has the id one too", "not absolute", plugin.Manifest} {
			if strings.Contains(p.Reason, part) {
				reason = part
				break
			}
		}
		got = append(got, fmt.Sprintf("%s %d %s", filepath.Base(p.Folder), p.Tools, reason))
	}
	want := []string{"a 1 ", "b 0 has the id one too", "c 0 " + plugin.Manifest, "d 0 " + plugin.Manifest, "relative 0 not absolute", "e 1 "}
	if !slices.Equal(got, want) || len(layers) != 2 {
		t.Errorf("%q with %d layers, want %q", got, len(layers), want)
	}
}

// TestMentionsAreRanked: what begins as the prefix comes before what has it elsewhere, then open documents, shallow and short paths; at
// most as many as are asked for.
func TestMentionsAreRanked(t *testing.T) {
	all := func(labels ...string) (out []Mention) {
		for _, l := range labels {
			out = append(out, Mention{Label: l, path: "/" + l})
		}
		return out
	}
	for name, tt := range map[string]struct {
		from   []Mention
		open   map[string]int
		prefix string
		limit  int
		want   []string
	}{
		"quality": {all("x/b_o_c", "bob/x/y", "x/abobc", "y/bob", "bob", "z"), nil, "bob", 9, []string{"bob", "bob/x/y", "y/bob", "x/abobc"}},
		"letters": {all("big_old_box", "bo"), nil, "bob", 9, []string{"big_old_box"}},
		"open":    {all("a", "ab", "abc"), map[string]int{"/ab": 1, "/abc": 2}, "a", 9, []string{"abc", "ab", "a"}},
		"shallow": {all("a/b/c", "a/bbbbbbb", "a/"), nil, "a", 9, []string{"a/", "a/bbbbbbb", "a/b/c"}},
		"short":   {all("aab", "aa", "aac"), nil, "a", 9, []string{"aa", "aab", "aac"}},
		"case":    {all("Make", "make"), nil, "MA", 9, []string{"Make", "make"}},
		"limit":   {all("a", "ab", "abc"), nil, "a", 2, []string{"a", "ab"}},
		"all":     {all("b", "a"), nil, "", 9, []string{"a", "b"}},
		"none":    {all("b", "a"), nil, "c", 9, nil},
	} {
		var got []string
		for _, m := range fitting(tt.from, tt.open, tt.prefix, tt.limit) {
			got = append(got, m.Label)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestListingOfFolders: files and folders of the first folder are named from it, those of others by the folder's name.
func TestListingOfFolders(t *testing.T) {
	top := t.TempDir()
	for _, f := range []string{"one/a", "one/sub/b", "two/c"} {
		path := filepath.Join(top, f)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var l listing
	all, err := l.of(t.Context(), []string{filepath.Join(top, "one"), filepath.Join(top, "two"), filepath.Join(top, "none")}, time.Time{}.Add(1))
	var got []string
	for _, m := range all {
		got = append(got, fmt.Sprintf("%s %s %s", m.Kind, m.Label, strings.TrimPrefix(m.Insert, top)))
	}
	slices.Sort(got)
	want := []string{"file a a", "file sub/b sub/b", "file two/c /two/c", "folder sub/ sub/"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	n := 0
	if err := below(t.Context(), filepath.Join(top, "one"), 2, func(string, string) { n++ }); err != nil || n != 2 {
		t.Errorf("%d of at most two, %v", n, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var none listing
	if all, err := none.of(over, []string{top}, time.Time{}.Add(1)); err == nil {
		t.Errorf("a listing that nobody waits for is one: %v", all)
	}
}

// TestEditsNearOthers: an edit on or right beside a line that somebody else has changed meanwhile is told with that line, one that is
// further away is not; of insertions at one point both are named.
func TestEditsNearOthers(t *testing.T) {
	after := text.New("0\n1\n2\n3\n4\n5\n")
	line := func(n int) text.Set { return text.Set{{Start: 2 * n, End: 2*n + 1, New: fmt.Sprint(n)}} }
	for _, tt := range []struct{ mine, theirs, want int }{{2, 2, 3}, {2, 3, 4}, {3, 2, 3}, {2, 4, 0}, {4, 2, 0}, {0, 5, 0}} {
		f := filetime.LandedFile{After: after, Set: line(tt.mine), Rebased: line(tt.theirs)}
		if got := nearTheirs(f); got != tt.want {
			t.Errorf("an edit of line %d beside one of %d: %d, want %d", tt.mine+1, tt.theirs+1, got, tt.want)
		}
	}
	longer := filetime.LandedFile{
		After: text.New("0\na\nb\n1\n2\n3\n4\n"), Set: text.Set{{Start: 2, End: 2, New: "a\nb\n"}}, Rebased: text.Set{{Start: 8, End: 9, New: "4"}},
	}
	if got := nearTheirs(longer); got != 0 {
		t.Errorf("an insertion of two lines is near line %d", got)
	}
	if got := nearTheirs(filetime.LandedFile{After: after, Set: line(1)}); got != 0 {
		t.Errorf("nobody has changed anything: %d", got)
	}
	ties := filetime.LandedFile{After: after, Ties: []text.Tie{
		{Theirs: text.Range{Start: 0, End: 2}, Ours: text.Range{Start: 2, End: 6}}, {Theirs: text.Range{Start: 8, End: 9}, Ours: text.Range{Start: 8, End: 8}},
	}}
	if got, want := tiesOf(ties), "yours: line 1, the agent's: lines 2-3; yours: line 5, the agent's: line 5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestEffectsThatStay: of what a command has changed, what cannot be undone is told with its reason, and a change of the mode alone is no
// new text.
func TestEffectsThatStay(t *testing.T) {
	dir := t.TempDir()
	b := New(Options{}, nil)
	roots := &sandbox.Roots{}
	roots.Add(dir)
	b.ws = workspace.New(workspace.Options{Roots: roots, Canonical: sandbox.Canonical})
	before := func(content string) effects.File {
		return effects.File{Exists: true, Mode: 0o644, Content: []byte(content)}
	}
	put := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	executable := before("x\n")
	executable.Mode = 0o755
	lost := effects.File{Exists: true, Why: "too large"}
	found := effects.Changes{Files: []effects.Change{
		{Path: put("changed", "new\n"), Before: before("old\n"), After: before("new\n")},
		{Path: put("mode", "x\n"), Before: before("x\n"), After: executable},
		{Path: put("both", "y\n"), Before: before("z\n"), After: func() effects.File { f := executable; f.Content = []byte("y\n"); return f }()},
		{Path: put("large", "x\n"), Before: lost, After: before("x\n")},
	}, Ignored: []string{"build"}, Cut: "cut", Deep: true}
	e := b.effects(filetime.Change{Session: "s", Call: "c"}, b.ws.Mark(), found, nil, nil)
	var landed, left []string
	for _, f := range e.Landed.Files {
		landed = append(landed, filepath.Base(f.Path))
	}
	for _, l := range e.Left {
		left = append(left, filepath.Base(l.Path)+" "+l.How+" "+l.Why)
	}
	slices.Sort(left)
	if want := []string{"changed", "both"}; !slices.Equal(landed, want) {
		t.Errorf("landed %q, want %q", landed, want)
	}
	want := []string{"both changed the mode of -rw-r--r-- to -rwxr-xr-x", "large modified too large", "mode changed the mode of -rw-r--r-- to -rwxr-xr-x"}
	if !slices.Equal(left, want) || e.Cut != "cut" || !e.Deep || !slices.Equal(e.Ignored, found.Ignored) {
		t.Errorf("left %q, want %q", left, want)
	}
}

// warnings is a Face that keeps what a person is warned of.
type warnings struct {
	Face
	all []string
}

func (w *warnings) Warn(message string) { w.all = append(w.all, message) }

// TestLostSandboxIsToldOnce: a person hears once that commands are not confined any more, and not where they are.
func TestLostSandboxIsToldOnce(t *testing.T) {
	w := &warnings{}
	b := New(Options{}, w)
	none := sandbox.Level{Name: sandbox.LevelNone, Reason: "gone\x1b"}
	for _, tt := range []struct {
		level sandbox.Level
		want  int
	}{{sandbox.Level{Name: sandbox.LevelFull}, 0}, {sandbox.Level{}, 0}, {none, 1}, {none, 1}} {
		if b.tellLost(tt.level); len(w.all) != tt.want {
			t.Errorf("%+v: warned of %q", tt.level, w.all)
		}
	}
	if len(w.all) == 1 && strings.Contains(w.all[0], "\x1b") {
		t.Errorf("%q", w.all[0])
	}
	if b.Guard("test", func() { panic("boom") }); b.lost.Load() != true {
		t.Error("a panic ends more than what it was in")
	}
	var err error
	func() {
		defer b.Caught("test", &err)
		panic("boom")
	}()
	if err == nil {
		t.Error("a panic is no error")
	}
	err = nil
	func() { defer b.Caught("test", &err) }()
	if err != nil {
		t.Errorf("without a panic: %v", err)
	}
	lost := 0
	started := runner{failing{}, nil, func(sandbox.Level) { lost++ }}
	for _, tt := range []struct {
		err  error
		want int
	}{{errors.New("no such program"), 0}, {sandbox.ErrNotConfined, 1}, {fmt.Errorf("%w: x", sandbox.ErrNotConfined), 2}} {
		started.Runner = failing{err: tt.err}
		if _, err := started.Start(t.Context(), sandbox.Command{}); !errors.Is(err, tt.err) || lost != tt.want {
			t.Errorf("%v: %v, lost %d times", tt.err, err, lost)
		}
	}
}

// failing is a Runner that starts nothing.
type failing struct {
	sandbox.Runner
	err error
}

func (f failing) Start(context.Context, sandbox.Command) (sandbox.Process, error) { return nil, f.err }

func (failing) Level() sandbox.Level { return sandbox.Level{} }

// TestWatchedFolders: a file is watched by the folder of the workspace that it lies in, a file of the configuration by its own.
func TestWatchedFolders(t *testing.T) {
	dir := sandbox.Canonical(t.TempDir())
	s := &settings{folders: []string{dir}, watched: map[string]string{"/home/config.json": "/home"}}
	for path, want := range map[string]string{
		filepath.Join(dir, "a", "b"): dir, dir: dir, dir + "x": "", "/home/config.json": "/home", "/home/other": "",
	} {
		if got := s.above(path); got != want {
			t.Errorf("%s is watched by %q, want %q", path, got, want)
		}
	}
}
