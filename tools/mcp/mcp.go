// Package mcp makes tools of the servers of the Model Context Protocol that a person or a
// repository has named: it starts each server when it is first needed, keeps the connection, and
// ends it with the session.
//
//	Entry      a server as somebody has written it down
//	Launch     what starting it would do, word for word: what a person is asked about
//	Servers    those of one session, each with a state of its own: off, starting, ready
//	Layers     their tools, one layer a server, for a tools.Set
//
// A server is not trusted. It runs as a command of the session does, confined and with a process
// scope of its own. Its tools are foreign tools (see package foreign), named mcp__server__tool, so
// that none shadows another. What it says of them can only make a question milder, never spare it.
// What they are, name by name, is recorded when they are first seen (a pin), and a tool that is not
// what it was is left out until a person has allowed it. What it answers is marked as data from
// outside.
package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tandem/sandbox/lazy"
)

// Entry is a server as somebody has written it down: a Command with its Args, or a URL.
type Entry struct {
	// Name is what it is called; Key is how its tools are.
	Name string
	// Command is the name or the path of a program, Cwd the folder that it runs in, "" for that of
	// the session. A relative path starts from that folder.
	Command string
	Args    []string
	Env     map[string]string
	Cwd     string
	// URL is that of a server that speaks streamable HTTP, Headers are sent with each request.
	URL     string
	Headers map[string]string
	// KeyCommand prints a key, which is sent as a header with each request to URL.
	KeyCommand []string `json:",omitempty"`
	// Unconfined has the process run without a sandbox, with all the rights of the user.
	Unconfined bool
	// Writes has a confined process change files of the workspace between its calls too.
	Writes bool `json:",omitempty"`
	// Source is where it was written, for a person. Own says that the person has written it
	// themselves; all others are proposals, about which a person is asked.
	Source string
	Own    bool
	// Bad is what is wrong with the entry where it could not be understood; "" is nothing.
	Bad string
}

// Bounds on names, see the contract of tool names.
const (
	maxName   = 64
	maxServer = 40
	prefix    = "mcp__"
)

// Commands is what the names of all tools and commands of servers begin with.
const Commands = prefix

var (
	odd  = lazy.Regexp{Text: `[^A-Za-z0-9_-]+`}
	runs = lazy.Regexp{Text: `__+`}
)

// Key is the name of the server in the names of its tools: without other characters than letters,
// digits, - and single _.
func (e Entry) Key() string {
	key := strings.Trim(runs.Get().ReplaceAllString(odd.Get().ReplaceAllString(e.Name, "_"), "_"), "_")
	if len(key) > maxServer {
		key = short(key, e.Name, maxServer)
	}
	return key
}

// Gate is the name by which rules are about the server as a whole: mcp__key.
func (e Entry) Gate() string { return prefix + e.Key() }

// short is a name cut to n characters at most, with a hash of what it stands for, so that two stay
// two.
func short(name, of string, n int) string {
	sum := sha256.Sum256([]byte(of))
	return name[:min(len(name), n-9)] + "_" + hex.EncodeToString(sum[:4])
}

// toolName is the name of a server's tool among all tools.
func (e Entry) toolName(tool string) string {
	name := e.Gate() + "__" + odd.Get().ReplaceAllString(tool, "_")
	if len(name) > maxName {
		name = short(name, tool, maxName)
	}
	return name
}

// KeyOf is the key of the server that a tool of that name would be of, "" where it would be of
// none.
func KeyOf(tool string) string {
	rest, ok := strings.CutPrefix(strings.ToLower(tool), prefix)
	key, name, split := strings.Cut(rest, "__")
	if !ok || !split || name == "" {
		return ""
	}
	return key
}

// Check says what is wrong with an entry, nil where nothing is.
func (e Entry) Check() error {
	switch {
	case e.Bad != "":
		return errors.New(e.Bad)
	case e.Key() == "":
		return errors.New("it has no name with letters or digits")
	case (e.Command == "") == (e.URL == ""):
		return errors.New("it must have either a command or a url")
	case strings.ContainsRune(e.Command+strings.Join(e.Args, ""), 0):
		return errors.New("its command has a NUL byte")
	case !e.Own && e.Unconfined:
		return errors.New("a proposal cannot switch the sandbox off")
	case !e.Own && len(e.KeyCommand) > 0:
		return errors.New("a proposal cannot name a command that prints a key")
	case e.URL == "" && len(e.KeyCommand) > 0:
		return errors.New("its apiKeyCommand is of use with a url alone")
	}
	for name, value := range e.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("its env has the name %q, which no variable can have", name)
		}
		if !e.Own && dangerous(name) {
			return fmt.Errorf("its env sets %s, by which other programs are run; a proposal cannot do that", name)
		}
	}
	return nil
}

// dangerous says that a variable has programs run other code than theirs.
func dangerous(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || slices.Contains([]string{
		"PATH", "NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "BASH_ENV", "ENV", "SHELLOPTS", "IFS", "JAVA_TOOL_OPTIONS",
	}, name)
}

// variables are the names of Env, sorted.
func (e Entry) variables() []string { return slices.Sorted(maps.Keys(e.Env)) }

// id is a hash of all that is written in the entry and of the folder that it runs in, under which
// its tools are pinned.
func (e Entry) id(folder string) string {
	if e.URL != "" {
		folder = ""
	}
	e.Source = ""
	raw, _ := json.Marshal(struct { // strings and booleans
		E      Entry
		Folder string
	}{e, folder})
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
