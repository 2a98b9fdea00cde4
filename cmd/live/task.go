package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed tasks/*.txtar
var files embed.FS

// task is one of the files in tasks, a txtar archive whose sections README.md in that folder
// describes.
type task struct {
	name    string
	prompts []string
	// work has the files of the workspace, want those that have to be there in the end, by path.
	work, want map[string]string
	// open is the path of a document that an editor has open, with unsaved text; "" for none.
	open, unsaved string
	checks        []check
	// solution is one way to do it, as lines of a name of a tool and its arguments; tests play it.
	solution []string
}

// check is a line of checks.
type check struct {
	line string
	verb string // has, lacks, gone, exits or called
	on   string // a path, or what is called
	re   *regexp.Regexp
	code int
	run  string
}

// tasks are all of them in the order of their names.
func tasks() ([]task, error) {
	names, err := fs.Glob(files, "tasks/*.txtar")
	if err != nil {
		return nil, err
	}
	var all []task
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		t, err := parse(strings.TrimSuffix(path.Base(name), ".txtar"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, t)
	}
	return all, nil
}

func parse(name string, text []byte) (task, error) {
	t := task{name: name, work: map[string]string{}, want: map[string]string{}}
	var setup []string
	for _, f := range txtar.Parse(text).Files {
		kind, below, _ := strings.Cut(f.Name, "/")
		switch kind {
		case "prompt":
			t.prompts = append(t.prompts, strings.TrimSpace(string(f.Data)))
		case "work":
			t.work[below] = string(f.Data)
		case "want":
			t.want[below] = string(f.Data)
		case "open":
			t.open, t.unsaved = below, string(f.Data)
		case "setup":
			setup = lines(f.Data)
		case "solution":
			t.solution = lines(f.Data)
		case "checks":
			for _, l := range lines(f.Data) {
				c, err := parseCheck(l)
				if err != nil {
					return t, err
				}
				t.checks = append(t.checks, c)
			}
		default:
			return t, fmt.Errorf("%q is no part of a task", f.Name)
		}
	}
	if len(t.prompts) == 0 || len(t.want)+len(t.checks) == 0 {
		return t, errors.New("there is no prompt, or nothing to check")
	}
	for _, l := range setup {
		if err := t.prepare(l); err != nil {
			return t, err
		}
	}
	return t, nil
}

func lines(text []byte) []string {
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// prepare applies a line of setup to a file of the workspace and to its expected content.
func (t *task) prepare(line string) error {
	f := strings.Fields(line)
	var change func(string) string
	switch {
	case len(f) == 2 && f[0] == "crlf":
		change = func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	case len(f) == 3 && f[0] == "grow":
		n, err := strconv.Atoi(f[2])
		if err != nil {
			return err
		}
		var filler strings.Builder
		for i := range n {
			fmt.Fprintf(&filler, "entry %d = %d\n", i, i*7919%1009)
		}
		change = func(s string) string { return filler.String() + s + filler.String() }
	default:
		return fmt.Errorf("setup: %q is neither crlf PATH nor grow PATH LINES", line)
	}
	found := false
	for _, m := range []map[string]string{t.work, t.want} {
		if s, ok := m[f[1]]; ok {
			m[f[1]], found = change(s), true
		}
	}
	if !found {
		return fmt.Errorf("setup: there is no file %s", f[1])
	}
	return nil
}

func parseCheck(line string) (c check, err error) {
	verb, rest, _ := strings.Cut(line, " ")
	on, more, two := strings.Cut(rest, " ")
	c = check{line: line, verb: verb, on: on}
	switch {
	case (verb == "gone" || verb == "called") && on != "" && !two:
	case (verb == "has" || verb == "lacks") && two:
		c.re, err = regexp.Compile("(?m)" + more)
	case verb == "exits" && two:
		c.run = more
		c.code, err = strconv.Atoi(on)
	default:
		err = fmt.Errorf("checks: %q is none of has PATH REGEXP, lacks PATH REGEXP, gone PATH, exits CODE COMMAND, called TOOL", line)
	}
	return c, err
}

// write makes the workspace in dir.
func (t *task) write(dir string) error {
	for name, text := range t.work {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// ended is the final state that checks read.
type ended struct {
	// read returns the text of a path; the error is fs.ErrNotExist if there is no file.
	read func(path string) (string, error)
	// command runs a command line in the workspace and returns its exit code.
	command func(line string) (int, error)
	called  map[string]bool
}

// failures are the checks that do not hold, in words; none means success.
func (t *task) failures(e ended) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t.want)) {
		switch got, err := e.read(name); {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, name+" is not there")
		case err != nil:
			out = append(out, err.Error())
		case got != t.want[name]:
			out = append(out, name+": "+differs(got, t.want[name]))
		}
	}
	for _, c := range t.checks {
		if err := c.holds(e); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", c.line, err))
		}
	}
	return out
}

func (c check) holds(e ended) error {
	switch c.verb {
	case "called":
		if !e.called[c.on] {
			return errors.New("it was not")
		}
	case "exits":
		if code, err := e.command(c.run); err != nil || code != c.code {
			return errors.Join(fmt.Errorf("the code is %d", code), err)
		}
	case "gone":
		if _, err := e.read(c.on); !errors.Is(err, fs.ErrNotExist) {
			return errors.New("it is there")
		}
	default:
		text, err := e.read(c.on)
		if err == nil && c.re.MatchString(text) != (c.verb == "has") {
			err = errors.New("it does not hold")
		}
		return err
	}
	return nil
}

// differs shows the first line in which two texts differ.
func differs(got, want string) string {
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range w {
		if i >= len(g) || g[i] != w[i] {
			return fmt.Sprintf("line %d is %.80q, not %.80q", i+1, strings.Join(g[min(i, len(g)):min(i+1, len(g))], ""), w[i])
		}
	}
	return fmt.Sprintf("there are %d lines too many", len(g)-len(w))
}
