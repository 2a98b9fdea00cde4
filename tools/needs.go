package tools

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/sandbox"
	"tandem/tools/shell"
)

// Act is what a call does to something. From Nothing to Replaces a greater act includes the smaller ones.
type Act uint8

// The acts. Undeclared is Unknown.
const (
	Unknown  Act = iota
	Nothing      // asks the person, takes a note
	Reads        // reads or searches a file, or a folder and what is below
	Creates      // makes a file or a folder
	Edits        // changes text that the model has seen
	Replaces     // overwrites, deletes or moves
	Runs         // runs a command
	Reaches      // reaches out to the network
)

// Writes says that the act changes a file.
func (a Act) Writes() bool { return a >= Creates && a <= Replaces }

// Need is one thing that a call is about to touch, and what it does to it. The zero value is unknown.
type Need struct {
	Act Act
	// Place is the file or folder, of Runs the folder that the command begins in. Arg is the parameter that names it, for rules
	// about that parameter; "" is none.
	Place sandbox.Place
	Arg   string
	// Written is the path as the model wrote it, where Arg is no parameter of the tool; "" else.
	Written string
	// Below says that a need to change a folder is an upper bound: the plan names the files below it, which are judged then, each by itself.
	Below bool
	// Tree says that a folder is read with what is below it, some of which only shows when it is read.
	Tree bool
	// Does is what Replaces does to the file, where the kind of the tool does not say it: Edit, Delete or Move.
	Does Kind
	// Argv is the command, Profile what it may do, and Confined says that a sandbox is in force for it.
	Argv     []string
	Profile  sandbox.Profile
	Confined bool
	// Shell is what is known of the command line that Runs is about. The zero value is a line of which nothing is known.
	Shell shell.Command
	// Ports are those of the command that other programs of this computer reach while it runs.
	Ports []int
	// Scripts are the files that say what the command does beside its words, and a hash of their content behind a blank; "" is
	// that no file does.
	Scripts string
	// Keys is a file which holds keys or passwords, in no root, that the command line names; "" is none.
	Keys string
	// Danger is how much the act could break, by the arguments; "" is what the tool says of itself.
	Danger Danger
	// Host is what Reaches is about.
	Host string
	// Secret says that what leaves the machine has text of a file that holds keys or passwords.
	Secret bool
}

// OnlyReads reports whether a command changes nothing: its line provably only reads, and the sandbox holds it to that. The line alone
// proves little, since git runs what the settings of a repository name.
func (n Need) OnlyReads() bool {
	return n.Act == Runs && n.Shell.ReadOnly && n.Confined && n.Profile == sandbox.ReadOnly
}

// Within says that whoever judged the other need has judged this one too.
func (n Need) Within(judged Need) bool {
	switch n.Act {
	case Nothing:
		return judged.Act != Unknown
	case Reads, Creates, Edits, Replaces:
		return judged.Act >= n.Act && judged.Act <= Replaces && (n.samePlace(judged) || judged.Below && judged.Place.Holds(n.Place))
	case Runs:
		return judged.Act == Runs && slices.Equal(n.Argv, judged.Argv) && n.samePlace(judged) &&
			n.Profile == judged.Profile && (n.Confined || !judged.Confined) && slices.Equal(n.Ports, judged.Ports)
	case Reaches:
		return judged.Act == Reaches && n.Host == judged.Host
	}
	return false
}

// Covers says that whoever judged the need has judged reading a file too: it is the need's own, or lies below its folder and is
// not of those that searches leave out.
func (n Need) Covers(p sandbox.Place) bool {
	return n.Act >= Reads && n.Act <= Replaces && n.Place.Holds(p) &&
		(p.Path() == n.Place.Path() || !p.Class().Unlisted() || n.Place.Class().Unlisted())
}

// ReadsOwn says that it reads the settings of a repository or of Tandem, which no tool may write.
func (n Need) ReadsOwn() bool {
	return n.Act == Reads && n.Place != (sandbox.Place{}) && n.Place.Class().Is(sandbox.Own)
}

// samePlace says that both are about one path, and that it was judged to be of one class.
func (n Need) samePlace(judged Need) bool {
	return n.Place.Path() == judged.Place.Path() && n.Place.Class() == judged.Place.Class()
}

// command is the need's command as a person judges it: what a shell is given as a line is that line.
func (n Need) command() string {
	if len(n.Argv) >= 3 && n.Argv[1] == "-c" {
		return n.Argv[2]
	}
	return strings.Join(n.Argv, " ")
}

// PortNames names ports for a person: "port 3000", "ports 3000, 3001".
func PortNames(ports []int) string {
	var names []string
	for _, p := range ports {
		names = append(names, strconv.Itoa(p))
	}
	if len(names) == 1 {
		return "port " + names[0]
	}
	return "ports " + strings.Join(names, ", ")
}

// Always are needs that do not depend on the arguments, for a Definition.
func Always[I any](needs ...Need) func(*Env, I) ([]Need, error) {
	return func(*Env, I) ([]Need, error) { return needs, nil }
}

// PathArg is the name of the parameter that says which file a call is about, in every tool that has one.
const PathArg = "path"

// JobOutput and JobKill are the names of the tools for commands in the background, which are of use where one was started.
const (
	JobOutput = "job_output"
	JobKill   = "job_kill"
)

// ToRead are the needs of a call that reads what its parameter path names, as the model wrote it. The error is a
// *sandbox.PathError.
func ToRead(env *Env, path string) ([]Need, error) {
	place, err := env.Paths.ReadableName(path)
	if err != nil {
		return nil, err
	}
	return []Need{{Act: Reads, Place: place, Arg: PathArg}}, nil
}

// ToWrite are the needs of a call that changes the file that its parameter path names. The error is a *sandbox.PathError.
func ToWrite(env *Env, act Act, path string) ([]Need, error) {
	place, err := env.Paths.WritableName(path)
	if err != nil {
		return nil, err
	}
	return []Need{{Act: act, Place: place, Arg: PathArg}}, nil
}

// Targets are the canonical paths of the files and folders that needs are about, each once, in their order.
func Targets(needs []Need) []string {
	var out []string
	for _, n := range needs {
		if p := n.Place.Path(); p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Command is what the plan runs, word for word, for a person to judge; "" where it runs nothing.
func (p *Plan) Command() string {
	for _, n := range p.Needs {
		if n.Act == Runs {
			return n.command()
		}
	}
	return ""
}

// Unjudged finds what the plan would touch and nobody has judged: needs beyond those that were judged, and files of Change
// that no need names. nil is nothing.
func (p *Plan) Unjudged(judged []Need) error {
	for _, n := range p.Needs {
		if !slices.ContainsFunc(judged, n.Within) {
			return fmt.Errorf("it needs %s, which was not judged", n)
		}
	}
	if p.Change == nil {
		return nil
	}
	for _, f := range p.Change.Files {
		act := Edits
		switch {
		case f.Create:
			act = Creates
		case f.Delete, f.To != "":
			act = Replaces
		}
		for path, act := range map[string]Act{f.Path: act, f.To: Creates} {
			judged := func(n Need) bool { return n.Act.Writes() && n.Act >= act && n.Place.Path() == path }
			if path != "" && !slices.ContainsFunc(p.Needs, judged) {
				return fmt.Errorf("it changes %s, which was not judged", path)
			}
		}
	}
	return nil
}

func (n Need) String() string {
	what := [...]string{"what is not known", "nothing", "to read", "to create", "to edit", "to replace", "to run", "to reach"}[min(n.Act, Reaches)]
	return strings.TrimSpace(strings.Join([]string{what, n.command(), n.Host, n.Place.Path()}, " "))
}
