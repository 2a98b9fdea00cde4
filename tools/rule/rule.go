// Package rule is a permission rule: which calls it covers and what becomes of them, in the one form that the configuration, the file of
// answers, the sessions, the gate and the wire have of it.
package rule

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Verdict is what is said to a call. The zero value refuses.
type Verdict uint8

// The verdicts, from the strictest on.
const (
	Deny  Verdict = iota
	Queue         // it is not done now, but may become part of a plan
	Ask           // a person decides
	Allow
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Queue:
		return "queue"
	}
	return "deny"
}

// Class is the permission class of a tool.
type Class string

// The permission classes.
const (
	ClassRead    Class = "read"
	ClassWrite   Class = "write"
	ClassExecute Class = "execute"
	ClassNetwork Class = "network"
)

// Known says that there is such a class.
func (c Class) Known() bool {
	return slices.Contains([]Class{ClassRead, ClassWrite, ClassExecute, ClassNetwork}, c)
}

// The acts of Rule.Act.
const (
	Create  = "create"
	Edit    = "edit"
	Replace = "replace"
)

// CommandParam and PathParam are the names of the parameters that are a command line and a path, in every tool that has one.
const (
	CommandParam = "command"
	PathParam    = "path"
)

// Rule says what becomes of the calls that it covers: all those of a tool, or those whose parameters fit patterns too.
//
// A path is compared as a glob: * stands for any characters but /, ** for any folders. A relative pattern starts from the
// session's folder. What is compared is the canonical path, behind symbolic links. A deny and an ask rule cover what lies below a
// folder that fits, compare also the path as it was written, and do not tell capital from small letters.
//
// A command is compared word by word, as the shell would run it: each simple command of the line by itself, never the text. The
// pattern is written like a command; * in a word stands for any characters, * or ** as the last word for any further words,
// quotes take their meaning away. An allow rule covers a line only if it covers all simple commands in it and there is nothing
// else in the line (shell.Command.Literal), and with a * only commands whose options are all in a table (shell.Known). A deny and
// an ask rule cover a line if they cover one of its commands, wherever it stands, in any of shell.Spellings.
//
// Any other parameter is compared as a glob of its text.
type Rule struct {
	// Name or alias of the tool; * stands for any letters.
	Tool string `json:"tool" required:"true" form:"glob"`
	// Patterns that arguments must match, by the name of the parameter: globs of paths, commands word by word.
	Params map[string]string `json:"params"`
	// The permission class of the tools.
	Class Class `json:"class" enum:"read,write,execute,network"`
	// Absolute path of the only folder whose sessions the rule is for.
	Workspace string `json:"workspace" form:"absolute"`
	// The most that an allow rule allows to be done to a file.
	Act string `json:"act" enum:"create,edit,replace"`
	// The only sandbox profile of commands that an allow rule is for.
	Profile string `json:"profile" enum:"ro,write,write+loopback,write+proxy"`
	// What the scripts that a command runs must be for an allow rule to hold: their names and a hash, as answers write it.
	Scripts string `json:"scripts"`

	// Effect is Deny, Ask or Allow. Where rules are written it is the name of their list.
	Effect Verdict `json:"-"`
	// Files, where it is not nil, are the only files, by canonical path, and Turn, where it is not 0, the only turn: for answers.
	Files []string `json:"-"`
	Turn  int      `json:"-"`
	// Scope is "session", "workspace" or "user"; Source is where the rule was written, for a person.
	Scope  string `json:"-"`
	Source string `json:"-"`
}

// Holds says that the rule is in force in a turn at a time. No rule has an end in time yet, so only the turn decides.
func (r Rule) Holds(turn int, _ time.Time) bool { return r.Turn == 0 || r.Turn == turn }

// acts are the numbers of acts in ids.
func acts() map[string]uint8 { return map[string]uint8{"": 0, Create: 3, Edit: 4, Replace: 5} }

// KnownAct says that a name is an act, or "" for any.
func KnownAct(name string) bool {
	_, ok := acts()[name]
	return ok
}

// ID names a rule: the same one for the same rule in the same scope, also in later versions.
func (r Rule) ID() string {
	if r.Scope != "session" { // the other scopes are told by Workspace
		r.Scope = ""
	}
	raw, _ := json.Marshal(struct { // strings and numbers
		Effect    Verdict
		Tool      string
		Params    map[string]string
		Class     Class
		Workspace string
		Most      uint8
		Profile   string
		Scripts   string `json:",omitempty"`
		Files     []string
		Turn      int
		Scope     string
		Source    string
	}{r.Effect, r.Tool, r.Params, r.Class, r.Workspace, acts()[r.Act], r.Profile, r.Scripts, r.Files, r.Turn, r.Scope, ""})
	return fmt.Sprintf("r%x", sha256.Sum256(raw))[:11]
}

// Compact is the rule as it is written: without empty fields.
func (r Rule) Compact() map[string]any {
	out := map[string]any{"tool": r.Tool}
	params := maps.Clone(r.Params)
	maps.DeleteFunc(params, func(k, _ string) bool { return k == "" })
	if len(params) > 0 {
		out["params"] = params
	}
	for k, v := range map[string]string{
		"class": string(r.Class), "workspace": r.Workspace, "act": r.Act, "profile": r.Profile, "scripts": r.Scripts,
	} {
		if v != "" {
			out[k] = v
		}
	}
	return out
}

// String is the rule in a list: the tool, and what its parameters must be.
func (r Rule) String() string {
	out := r.Tool
	if r.Class != "" {
		out += " (" + string(r.Class) + ")"
	}
	for _, p := range slices.Sorted(maps.Keys(r.Params)) {
		switch v := r.Params[p]; {
		case p == CommandParam || p == PathParam:
			out += " " + v
		case p == "cwd" && v == ".":
		case p == "cwd":
			out += " in " + v
		default:
			out += fmt.Sprintf(" %s=%s", p, v)
		}
	}
	return out + r.condition()
}

// condition names the files that must stay as they are for the rule to hold.
func (r Rule) condition() string {
	names := ScriptNames(r.Scripts)
	switch {
	case names == "":
		return ""
	case strings.Contains(names, ", "):
		return ", while " + names + " are unchanged"
	}
	return ", while " + names + " is unchanged"
}

// FilesText is what a rule of an answer is about if that is files: "edits of all files in this folder". kind is the tools.Kind of the tool. "" is a
// rule about something else. The paths are relative to the session's folder, see In.
func (r Rule) FilesText(kind string) string {
	if len(r.Params) != 1 || r.Params[CommandParam] != "" || r.Params["url"] != "" {
		return ""
	}
	var files string
	for _, pattern := range r.Params {
		files = pattern
	}
	what := "all files "
	switch folder, below := strings.CutSuffix(files, "/**"); {
	case files == "*":
		files = "in this folder"
	case below:
		files = "below " + folder + "/"
	default:
		what = ""
	}
	switch {
	case kind == "delete":
		return "deletion of " + what + files
	case kind == "move":
		return "moves of " + what + files
	case r.Act == Create && what != "":
		return "new files " + files
	case r.Act == Create:
		return "creation of " + files
	case r.Act == Replace:
		return "any change of " + what + files
	}
	return "edits of " + what + files
}

// CallText is the rule without the name of a tool that a person does not know: the command line, or the address.
func (r Rule) CallText() string {
	switch {
	case r.Params[CommandParam] != "":
		r.Tool = ""
	case r.Params["url"] != "":
		return "requests to " + r.Params["url"]
	}
	return strings.TrimPrefix(r.String(), " ")
}

// ScriptNames are the files of Rule.Scripts, without the hash.
func ScriptNames(scripts string) string { return scripts[:max(0, strings.LastIndexByte(scripts, ' '))] }

// Literal is a glob that fits a text alone.
func Literal(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, ",", `\,`).Replace(s)
}

// In is the rule with its paths relative to a folder that they lie in, as a person reads and keeps it.
func (r Rule) In(folder string) Rule {
	params := map[string]string{}
	for p, v := range r.Params {
		if params[p] = v; p == CommandParam {
			continue
		}
		if rest, ok := strings.CutPrefix(v, Literal(folder)+"/"); ok {
			params[p] = rest
		} else if v == Literal(folder) {
			params[p] = "."
		}
	}
	r.Params = params
	return r
}
