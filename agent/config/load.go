package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
)

// Inputs are the layers of a configuration, in ascending precedence. Empty ones are skipped.
type Inputs struct {
	// UserFile is the path of the user's own file, see UserFile. Below it is the layer of RulesFile, of which permissions alone
	// holds.
	UserFile string
	// Workspace is the folder whose .tandem/config.json is read, More are further folders, whose files are read after it.
	// Such a file came with its repository, so it may only make things stricter.
	Workspace string
	More      []string
	// Client is the initializationOptions, Section the editor's "tandem" section, Env what TANDEM_MODEL sets,
	// Flags what the command line sets; all are JSON.
	Client, Section, Env, Flags []byte
	// OwnClient and OwnSection say that the editor guarantees that they never have a repository's settings. Otherwise they
	// may only make things stricter, as a workspace's file.
	OwnClient, OwnSection bool
}

// UserFile is the path of the user's own file, "" without a home folder.
func UserFile(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "tandem", "config.json")
}

// WorkspaceFile is the path of a folder's own file.
func WorkspaceFile(folder string) string { return filepath.Join(folder, ".tandem", "config.json") }

// Files are the paths that are read.
func (in Inputs) Files() []string {
	var files []string
	if in.UserFile != "" {
		files = append(files, RulesFile(in.UserFile), in.UserFile)
	}
	for _, folder := range in.folders() {
		files = append(files, WorkspaceFile(folder))
	}
	return files
}

func (in Inputs) folders() []string {
	if in.Workspace == "" {
		return in.More
	}
	return slices.Concat([]string{in.Workspace}, in.More)
}

// Origin is the place of a value. Line and Column count from 1; both are 0 outside files.
type Origin struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
}

func (o Origin) String() string {
	if o.Line > 0 {
		return fmt.Sprintf("%s:%d:%d", o.Source, o.Line, o.Column)
	}
	return o.Source
}

// Loaded is a configuration with its origins.
type Loaded struct {
	Config
	Problems []Problem
	// Origins are the origins of each key by its dotted path: the last layer that set it, or for concatenated lists all
	// that did. A key that is not set is missing.
	Origins map[string][]Origin
	// Texts are the files that were read, by path.
	Texts map[string][]byte
	// Proposed are the MCP servers that files of folders name; they are in no Config.
	Proposed []Proposal
	// Sources are where the rules of Permissions were written, by SourceKey.
	Sources map[string]Origin
	// AskAlways says that a restriction could not be parsed: every change and command must ask, also in a session with a
	// looser mode.
	AskAlways bool
}

// Proposal is what a folder's file would have as MCP servers. What it takes of a person's own configuration is nothing.
type Proposal struct {
	Folder, Source string
	Servers        map[string]MCPServer
}

// Load merges the layers. It always gives a usable configuration: an invalid value is reported and the layer below
// holds. If a file cannot be read, or an invalid value was a restriction, the mode is "ask" or stricter.
func Load(in Inputs) (Config, []Problem) {
	l := new(Loader).Load(in)
	return l.Config, l.Problems
}

// Loader loads repeatedly: for a file that is broken or empty now it uses the last good text. The zero value is ready.
// It must not be used concurrently.
type Loader struct{ good map[string][]byte }

// Load merges the layers.
func (l *Loader) Load(in Inputs) Loaded {
	a := assembly{
		Loaded: Loaded{Config: Default(), Origins: map[string][]Origin{}, Texts: map[string][]byte{}, Sources: map[string]Origin{}},
		loader: l, folders: in.folders(),
	}
	if in.UserFile != "" {
		a.file(RulesFile(in.UserFile), "", (*decoder).onlyRules)
		a.file(in.UserFile, "", nil)
	}
	for _, folder := range a.folders {
		a.file(WorkspaceFile(folder), folder, nil)
	}
	a.editor(in, "initializationOptions", in.Client, in.OwnClient, nil)
	// The section comes last, since it can be changed while the server runs.
	a.editor(in, "the tandem section", in.Section, in.OwnSection, (*decoder).keepLimit)
	a.lay(&decoder{source: "TANDEM_MODEL", text: in.Env}, (*decoder).keepLimit)
	a.lay(&decoder{source: "the command line", text: in.Flags}, (*decoder).keepLimit)
	if loose := a.Mode == "auto" || a.Mode == "acceptEdits"; a.askAlways && loose {
		a.Problems = append(a.Problems, Problem{
			Bad: true, Source: "mode", Key: "mode",
			Message: fmt.Sprintf("%q is used instead of %q until the errors in the configuration are fixed", "ask", a.Mode),
		})
		a.Mode = "ask"
	}
	a.AskAlways = a.askAlways
	return a.Loaded
}

// assembly is a merge in progress.
type assembly struct {
	Loaded
	loader    *Loader
	folders   []string
	askAlways bool
}

// lay merges a layer; accept reverts keys that the layer may not set.
func (a *assembly) lay(d *decoder, accept func(d *decoder, base, next *Config)) {
	if len(d.text) == 0 {
		return
	}
	base := a.Config
	next := d.over(base)
	add(reflect.ValueOf(base), reflect.ValueOf(&next).Elem())
	if accept != nil {
		accept(d, &base, &next)
	}
	a.Config = next
	for effect, rules := range next.Permissions.ByEffect() {
		for _, r := range rules {
			if k := SourceKey(effect, r); a.Sources[k] == (Origin{}) {
				a.Sources[k] = Origin{Source: d.source}
			}
		}
	}
	a.askAlways = a.askAlways || d.askAlways || d.broken
	a.Problems = append(a.Problems, d.problems...)
	for key := range d.set {
		a.origin(d, key)
	}
}

// editor merges settings from an editor. Helix, Zed, eglot and others pass on a repository's settings, so unless the
// editor guarantees otherwise they may only make things stricter.
func (a *assembly) editor(in Inputs, source string, text []byte, own bool, accept func(d *decoder, base, next *Config)) {
	d := &decoder{source: source, text: text}
	if !own {
		d.elsewhere = "set it in " + in.UserFile
		if in.UserFile == "" {
			d.elsewhere = "set it on the command line"
		}
		accept = func(d *decoder, base, next *Config) {
			d.narrowed("an editor's settings can come from a repository, so they", "", a.folders, base, next)
		}
	}
	a.lay(d, accept)
}

// origin records that a layer has set a key.
func (a *assembly) origin(d *decoder, key string) {
	o := Origin{Source: d.source}
	if d.inFile {
		o.Line, o.Column = position(d.text, d.at[key].start)
	}
	if f, ok := field(key); ok && f.Tag.Get("adds") != "" {
		a.Origins[key] = append(a.Origins[key], o)
		return
	}
	a.Origins[key] = []Origin{o}
}

// file merges a file, if it exists. One of a folder, or one that other users can write, may only make things stricter. accept
// is as of lay, for a file of the user's own; may be nil.
func (a *assembly) file(path, folder string, accept func(d *decoder, base, next *Config)) {
	text, foreign, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		delete(a.loader.good, path)
		return
	}
	a.Texts[path] = text
	d := &decoder{source: path, inFile: true, text: text}
	good, ok := a.loader.good[path]
	broken, empty := "", false
	if err != nil {
		broken = "cannot be read: " + Reason(err)
	} else if empty = blank(text) && !blank(good); empty {
		broken = "it is empty" // editors empty a file before they write it
	} else if d.over(a.Config); d.broken {
		broken = d.problems[0].Message
	}
	if broken != "" {
		a.askAlways = a.askAlways || !ok
		p := Problem{Bad: !empty, Source: path, Message: broken}
		if d.broken {
			p = d.problems[0]
		}
		if ok {
			p.Message += "; its previous content stays in effect"
		}
		if empty {
			p.Message += ". Write {} to set nothing, or delete the file"
		}
		a.Problems = append(a.Problems, p)
		if !ok {
			return
		}
		text = good
	}
	if a.loader.good == nil {
		a.loader.good = map[string][]byte{}
	}
	a.loader.good[path] = text
	d = &decoder{source: path, inFile: true, text: text}
	switch {
	case folder != "":
		if proposed := (&decoder{text: text}).over(Config{}).MCPServers; len(proposed) > 0 {
			a.Proposed = append(a.Proposed, Proposal{folder, path, proposed})
		}
		a.lay(d, func(d *decoder, base, next *Config) { d.narrowed("a workspace", folder, a.folders, base, next) })
	case foreign != "":
		d.report(true, span{}, "", "%s, so it may only make things stricter", foreign)
		a.lay(d, func(d *decoder, base, next *Config) { d.narrowed("this file", "", a.folders, base, next) })
	default:
		a.lay(d, accept)
	}
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// Reason is an error about a file without its path.
func Reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

const maxFile = 1 << 20

// ReadFile reads a regular file of at most 1 MiB, without a byte order mark; a pipe or a device is an error, since it
// could block.
func ReadFile(path string) ([]byte, error) {
	text, _, err := read(path)
	return text, err
}

// read is ReadFile; foreign says why the file may not be the user's own.
func read(path string) (text []byte, foreign string, err error) {
	irregular := func(info fs.FileInfo, err error) error {
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is not a regular file")
		}
		return err
	}
	if err := irregular(os.Stat(path)); err != nil { // opening a device may do something
		return nil, "", err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err := irregular(info, err); err != nil {
		return nil, "", err
	}
	switch {
	case info.Mode().Perm()&0o002 != 0:
		foreign = "everybody may write it (chmod o-w)"
	case notOurs(info):
		foreign = "it belongs to another user"
	default:
		if in, err := os.Stat(filepath.Dir(path)); err == nil && in.Mode().Perm()&0o002 != 0 && in.Mode()&fs.ModeSticky == 0 {
			foreign = "everybody may put another one in its place (chmod o-w its folder)"
		}
	}
	text, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, "", errors.New("it is larger than 1 MiB")
	}
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), foreign, err
}
