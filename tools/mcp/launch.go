package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/web"
)

// Launch is what it means to start a server or to connect to one. What is judged, shown to a person
// and done is this.
type Launch struct {
	Entry
	// Argv begins with the absolute path of the program; nil for a server with a URL.
	Argv []string
	// Place is the folder that it runs in.
	Place sandbox.Place
	// Profile is what the process may do, Confined says that a sandbox is in force.
	Profile  sandbox.Profile
	Confined bool
	// Seal names what an answer for longer than once is about, and has a hash of it behind a blank:
	// the content of the program and of the files among its arguments, the arguments, the
	// variables, the folder. Whatever of it changes makes another seal.
	Seal string

	url *url.URL
}

// prepare works out what it means to start the server in the environment of a session.
func prepare(e Entry, env *tools.Env) (Launch, error) {
	l := Launch{Entry: e}
	if err := e.Check(); err != nil {
		return l, err
	}
	h := sha256.New()
	if e.URL != "" {
		u, err := web.Parse(e.URL)
		if err != nil {
			return l, err
		}
		l.url = u
		fmt.Fprintf(h, "%q %q", e.URL, sorted(e.Headers))
		l.Seal = fmt.Sprintf("its address and its headers %.16x", h.Sum(nil))
		return l, nil
	}
	var err error
	if l.Place, err = env.Paths.FolderName(cmp.Or(e.Cwd, ".")); err != nil {
		return l, fmt.Errorf("cwd: %w", err)
	}
	if info, err := l.Place.Stat(); err != nil || !info.IsDir() {
		return l, fmt.Errorf("cwd: there is no folder %s", env.Name(l.Place.Path()))
	}
	program := e.Command
	if strings.ContainsRune(program, '/') && !filepath.IsAbs(program) {
		program = filepath.Join(l.Place.Path(), program)
	}
	if env.Commands.Runner == nil {
		return l, fmt.Errorf("no commands are run here")
	}
	if program, err = env.Commands.Runner.Find(program, sandbox.Surroundings{}); err != nil {
		return l, err
	}
	l.Argv = append([]string{program}, e.Args...)
	l.Profile = sandbox.Unconfined
	if env.Commands.Runner.Level().Confines() && !e.Unconfined {
		l.Profile, l.Confined = env.Commands.Profile(), true
	}
	sum, ok, err := sandbox.Digest(program)
	if err != nil || !ok {
		return l, fmt.Errorf("the program %s cannot be read", env.Name(program))
	}
	var names []string
	fmt.Fprintf(h, "%q %q %q %x\n", l.Argv, sorted(e.Env), l.Place.Path(), sum)
	if e.Writes {
		fmt.Fprintln(h, "writes between its calls")
	}
	for _, a := range e.Args {
		if _, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "-") {
			a = value
		}
		if !filepath.IsAbs(a) {
			a = filepath.Join(l.Place.Path(), a)
		}
		if sum, ok, err := sandbox.Digest(a); ok && err == nil {
			names = append(names, env.Name(a))
			fmt.Fprintf(h, "%q %x\n", a, sum)
		}
	}
	names = append([]string{"its program", "arguments", "variables", "folder"}, names...)
	l.Seal = fmt.Sprintf("%s %.16x", strings.Join(names, ", "), h.Sum(nil))
	return l, nil
}

func sorted(m map[string]string) (out []string) {
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// Need is what the launch is judged as.
func (l Launch) Need() tools.Need {
	if l.url != nil {
		return tools.Need{Act: tools.Reaches, Host: l.url.Host, Scripts: l.Seal}
	}
	return tools.Need{
		Act: tools.Runs, Place: l.Place, Argv: l.Argv, Profile: l.Profile, Confined: l.Confined, Scripts: l.Seal, Danger: tools.Moderate,
	}
}

// Args are the launch as a client shows the input of a call: nothing of it is left out but the
// values of variables and headers.
func (l Launch) Args() json.RawMessage {
	in := start{Server: l.Name, Source: l.Source, Command: l.Argv, URL: l.URL, Env: l.variables(), Headers: keys(l.Headers), Seal: l.Seal}
	if l.url == nil {
		in.Folder, in.Sandbox = l.Place.Path(), l.Profile.String()
	}
	raw, _ := json.Marshal(in) // strings
	return raw
}

func keys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// Told is what a person has to know besides the command: the variables and where it comes from.
func (l Launch) Told() string {
	told := fmt.Sprintf("%s names this server.", l.Source)
	if l.url == nil {
		told += " The command: " + words(l.Argv) + "."
	}
	if v := l.variables(); len(v) > 0 {
		told += fmt.Sprintf(" It gets the variables %s.", strings.Join(v, ", "))
	} else if l.url == nil {
		told += " It gets no variables."
	}
	if h := keys(l.Headers); len(h) > 0 {
		told += fmt.Sprintf(" It gets the headers %s.", strings.Join(h, ", "))
	}
	if l.url == nil && l.Writes {
		told += " It may change files of the workspace at any time, also between its calls."
	}
	if l.url == nil && !l.Confined {
		told += " No sandbox confines it."
	}
	return told
}

// Title is the launch in one line.
func (l Launch) Title() string {
	if l.url != nil {
		return fmt.Sprintf("Connect to the MCP server %s at %s", l.Name, l.url)
	}
	return fmt.Sprintf("Start the MCP server %s: %s", l.Name, words(l.Argv))
}

// words is an argument vector in one line, in which each word can be told from the next.
func words(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		if out[i] = a; a == "" || strings.ContainsAny(a, " \t\r\n\"'`\\") {
			out[i] = strconv.Quote(a)
		}
	}
	return strings.Join(out, " ")
}

// start are the arguments of the launch as a call.
type start struct {
	Server  string   `json:"server" desc:"Its name."`
	Source  string   `json:"source" desc:"Where it was written."`
	Command []string `json:"command,omitempty" desc:"The program and its arguments."`
	Folder  string   `json:"folder,omitempty" desc:"Where it runs."`
	Env     []string `json:"env,omitempty" desc:"The names of the variables that it gets."`
	URL     string   `json:"url,omitempty" desc:"Its address."`
	Headers []string `json:"headers,omitempty" desc:"The names of the headers that it gets."`
	Sandbox string   `json:"sandbox,omitempty" desc:"What it may do."`
	Seal    string   `json:"seal" desc:"What an answer about it is about, with a hash of it."`
}

// Tool is the launch as a tool that a gate judges: rules for mcp__server are about it. It is in no set and cannot be called.
func (l Launch) Tool() tools.Tool {
	class, kind := tools.ClassExecute, tools.Execute
	if l.url != nil {
		class, kind = tools.ClassNetwork, tools.Fetch
	}
	return tools.Define(tools.Definition[start]{Spec: tools.Spec{
		Name: l.Gate(), Kind: kind, Category: "mcp", Class: class, Danger: tools.Moderate, Source: "mcp:" + l.Name,
		Description: "Starts an MCP server.",
	}})
}
