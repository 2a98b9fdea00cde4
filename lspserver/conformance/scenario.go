package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// Scenario is one scenario file, parsed; see the package comment for the language.
type Scenario struct {
	file    string
	archive *txtar.Archive
	first   map[string]int // the line of the file at which a section's text begins
	flags   flags
	steps   []step
	hooks   []*step
	known   map[string]string // the other sections
}

type flags struct {
	mode   string
	quoted []string
	wire   []string
	exit   int
	ways
}

// ways say what kind of editor it is.
type ways struct {
	profiles   []Profile
	encoding   string
	there      time.Duration
	back       time.Duration
	hold       time.Duration
	idle       bool
	insert     bool
	reorder    bool
	widen      bool
	fails      bool
	window     time.Duration
	merge      bool
	split      bool
	whole      bool
	replyFirst bool
	landed     bool
	trim       bool
	full       bool
	forget     bool
	reopen     bool
	reply      map[int]Reply
}

// step is one line of the steps section. With a trigger it waits for the n-th event of that kind.
type step struct {
	line    int
	text    string
	trigger string // "after call", "before apply", …; "" for what happens in order
	n       int    // 0 for every one
	verb    string
	args    []string
	fired   bool
}

// Load reads a scenario file. The error names the line.
func Load(file string) (*Scenario, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// Parse is Load for text that is at hand.
func Parse(file string, data []byte) (*Scenario, error) {
	s := &Scenario{file: file, archive: txtar.Parse(data), first: map[string]int{}, known: map[string]string{}}
	if len(bytes.TrimSpace(s.archive.Comment)) == 0 {
		return nil, fmt.Errorf("%s:1: a scenario begins with prose that says why it exists", file)
	}
	line := 1 + bytes.Count(s.archive.Comment, []byte("\n"))
	for _, f := range s.archive.Files {
		line++
		if _, twice := s.first[f.Name]; twice {
			return nil, fmt.Errorf("%s:%d: the section %s is there twice", file, line-1, f.Name)
		}
		s.first[f.Name] = line
		s.known[f.Name] = string(f.Data)
		if !knownSection(f.Name) {
			return nil, fmt.Errorf("%s:%d: no section is called %s", file, line-1, f.Name)
		}
		line += bytes.Count(f.Data, []byte("\n"))
	}
	if err := s.parseFlags(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, s.first["flags"], err)
	}
	for i, text := range strings.Split(s.known["steps"], "\n") {
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		st, err := parseStep(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, s.first["steps"]+i, err)
		}
		st.line = s.first["steps"] + i
		if st.trigger == "" {
			s.steps = append(s.steps, st)
		} else {
			s.hooks = append(s.hooks, &st)
		}
	}
	if len(s.steps) == 0 {
		return nil, fmt.Errorf("%s: nothing happens: the section steps is missing or empty", file)
	}
	return s, nil
}

func knownSection(name string) bool {
	switch name {
	case "flags", "steps", "model", "commands", "languages", "capabilities.json", "settings.json", "@updates", "@wire", "@result":
		return true
	}
	for _, prefix := range []string{"disk/", "outside/", "buffer/", "@disk/", "@outside/", "@buffer/"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func (s *Scenario) parseFlags() error { return s.flags.parse(strings.Fields(s.known["flags"])) }

// parse reads the flags of a scenario file.
func (f *flags) parse(args []string) error {
	set := flag.NewFlagSet("flags", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.mode, "mode", "auto", "")
	set.IntVar(&f.exit, "exit", 0, "")
	quoted := set.String("quoted", "", "")
	wire := set.String("wire", "", "")
	client := f.client(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("not a flag: %s", set.Arg(0))
	}
	f.quoted, f.wire = list(*quoted), list(*wire)
	return client()
}

// client adds the flags that say what kind of editor it is to set. The function that it gives ends the parsing.
func (f *ways) client(set *flag.FlagSet) func() error {
	profiles := set.String("profile", "strict", "")
	set.StringVar(&f.encoding, "encoding", string(UTF16), "of positions")
	set.DurationVar(&f.there, "there", 0, "delay of messages to the server")
	set.DurationVar(&f.back, "back", 0, "delay of messages to the client")
	set.Func("hold", "delay of changes; an edit is answered before its echo. hold=insert delays them only in insert mode, from a key "+
		"until a pause", f.setHold)
	set.BoolVar(&f.idle, "idle", false, "the delay of changes begins again with each of them")
	set.BoolVar(&f.fails, "fails", false, "an edit for another version is answered with an error")
	set.DurationVar(&f.window, "window", 0, "time between a racing client's version check and its edit; without it, there is no check")
	set.BoolVar(&f.merge, "merge", false, "delayed changes are sent as one range")
	set.BoolVar(&f.reorder, "reorder", false, "some changes are sent after the next one, within 50ms")
	set.BoolVar(&f.widen, "widen", false, "changes are sent as whole lines")
	set.BoolVar(&f.split, "split", false, "each place of an edit is echoed in its own didChange")
	set.BoolVar(&f.whole, "whole", false, "didChange carries whole texts")
	set.BoolVar(&f.replyFirst, "reply-first", false, "an edit is answered before its echo")
	set.BoolVar(&f.landed, "landed", false, "the answer to an edit names the resulting version")
	set.BoolVar(&f.full, "full", false, "saving fails, as on a full disk")
	set.BoolVar(&f.trim, "trim", false, "saving removes trailing blanks")
	set.BoolVar(&f.forget, "forget", false, "an edit for an older text restores that text and loses later typing")
	set.BoolVar(&f.reopen, "reopen", false, "a document is closed and reopened when its first edit arrives")
	replies := set.String("reply", "", "answers to edits, as in 1:lost+2:error+3:refused")
	return func() error {
		f.profiles, f.reply = nil, map[int]Reply{}
		for _, p := range list(*profiles) {
			if !slices.Contains([]Profile{Strict, Race, Lying}, Profile(p)) {
				return fmt.Errorf("no profile is called %s", p)
			}
			f.profiles = append(f.profiles, Profile(p))
		}
		for _, r := range list(*replies) {
			n, kind, _ := strings.Cut(r, ":")
			i, err := strconv.Atoi(n)
			k := slices.Index([]string{"", "lost", "error", "refused"}, kind)
			if err != nil || k < 1 {
				return fmt.Errorf("not a reply: %s (want 2:lost, 2:error or 2:refused)", r)
			}
			f.reply[i] = Reply(k)
		}
		return nil
	}
}

// typingPause is how long nobody types when Insert mode ends.
const typingPause = 300 * time.Millisecond

// setHold takes a duration, or "insert".
func (f *ways) setHold(s string) (err error) {
	if f.insert = s == "insert"; f.insert {
		f.hold = typingPause
		return nil
	}
	f.hold, err = time.ParseDuration(s)
	return err
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

// verbs says how many arguments each verb takes at least and at most.
func verbs() map[string][2]int {
	return map[string][2]int{
		"open": {1, 1}, "close": {1, 1}, "reload": {1, 1}, "save": {1, 1}, "editor-undo": {1, 1},
		"type": {3, 3}, "delete": {2, 2}, "replace": {3, 3}, "burst": {3, 3}, "probe": {2, 2},
		"write-disk": {2, 2}, "remove-disk": {1, 1}, "link-disk": {2, 2},
		"prompt": {1, 2}, "call": {2, 3}, "batch": {1, 1}, "undo": {2, 2}, "steer": {1, 1}, "cancel": {0, 0}, "mode": {1, 1}, "session": {0, 9},
		"request": {1, 2}, "notify": {1, 2}, "wait": {1, 1}, "hang-up": {0, 0}, "expect": {2, 3}, "answer": {1, 1},
	}
}

// whileServed are the verbs that may stand behind a trigger: they do not wait for the server.
var whileServed = []string{
	"open", "close", "save", "reload", "editor-undo", "type", "delete", "replace", "burst", "write-disk", "remove-disk", "cancel", "steer",
	"answer", "expect", "hang-up",
}

func triggers() map[string][]string {
	return map[string][]string{
		"after": {"call", "apply"}, "before": {"apply", "answer"}, "during": {"call", "apply"}, "on": {"ask"},
	}
}

func parseStep(text string) (step, error) {
	st := step{text: text}
	words, err := split(text)
	if err != nil {
		return st, err
	}
	if events, ok := triggers()[words[0]]; ok {
		if len(words) < 3 {
			return st, fmt.Errorf("%q wants an event and something to do", words[0])
		}
		event, n, numbered := strings.Cut(words[1], "=")
		if !slices.Contains(events, event) {
			return st, fmt.Errorf("there is no %q %q", words[0], event)
		}
		st.trigger = words[0] + " " + event
		if numbered {
			if st.n, err = strconv.Atoi(n); err != nil || st.n < 1 {
				return st, fmt.Errorf("%q is no number of an event", n)
			}
		} else if st.trigger != "on ask" {
			return st, fmt.Errorf("%q wants a number: %s=1", st.trigger, event)
		}
		words = words[2:]
		if st.trigger == "on ask" {
			option, ok := strings.CutPrefix(strings.Join(words, " "), "answer=")
			if !ok {
				return st, fmt.Errorf("%q wants answer=OPTION", st.trigger)
			}
			words = []string{"answer", option}
		}
	}
	st.verb, st.args = words[0], words[1:]
	count, ok := verbs()[st.verb]
	switch {
	case !ok:
		return st, fmt.Errorf("nobody can %q", st.verb)
	case len(st.args) < count[0] || len(st.args) > count[1]:
		return st, fmt.Errorf("%q takes %d to %d arguments, not %d", st.verb, count[0], count[1], len(st.args))
	case st.trigger != "" && !slices.Contains(whileServed, st.verb):
		return st, fmt.Errorf("%q cannot wait for %q", st.verb, st.trigger)
	case st.trigger == "" && st.verb == "answer":
		return st, fmt.Errorf("write: on ask answer=OPTION")
	}
	return st, nil
}

// split cuts a line into words, "quoted strings", /regular expressions/ and JSON, which goes on to the line's end. A
// word may end with a regular expression, as in x.go:/re/. Quotes and escapes stay for their readers.
func split(text string) ([]string, error) {
	var words []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		n := 0
		switch text[0] {
		case '"', '`':
			q, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil, fmt.Errorf("a string does not end: %s", text)
			}
			n = len(q)
		case '{', '[':
			if !json.Valid([]byte(text)) {
				return nil, fmt.Errorf("not JSON: %s", text)
			}
			n = len(text)
		default:
			if n = strings.IndexAny(text, " \t"); n < 0 {
				n = len(text)
			}
			if i := strings.Index(text[:n], "/"); i == 0 || i > 0 && text[i-1] == ':' {
				end := closing(text, i+1)
				if end < 0 {
					return nil, fmt.Errorf("a regular expression does not end: %s", text)
				}
				n = end + 1
			}
		}
		words, text = append(words, text[:n]), text[n:]
	}
	return words, nil
}

// closing finds the slash that ends the regular expression which begins at i, -1 where there is none.
func closing(text string, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			return i
		}
	}
	return -1
}

func pattern(word string) (*regexp.Regexp, error) {
	if len(word) < 3 || word[0] != '/' || word[len(word)-1] != '/' {
		return nil, fmt.Errorf("%q is no /regular expression/", word)
	}
	return regexp.Compile("(?m)" + strings.ReplaceAll(word[1:len(word)-1], `\/`, "/"))
}

// place finds the one match of a /regular expression/ in text.
func place(text, word string) (start, end int, err error) {
	re, err := pattern(word)
	if err != nil {
		return 0, 0, err
	}
	switch m := re.FindAllStringIndex(text, 2); len(m) {
	case 1:
		return m[0][0], m[0][1], nil
	case 0:
		return 0, 0, fmt.Errorf("%s matches nothing in:\n%s", word, text)
	default:
		return 0, 0, fmt.Errorf("%s matches more than one place", word)
	}
}

// Profiles are the editors that the scenario is played in; what is seen must be the same in all.
func (s *Scenario) Profiles() []Profile { return s.flags.profiles }

// source gives the text of an input section, unquoted where the flags say so.
func (s *Scenario) source(section, name string) (string, error) {
	text := s.known[section+"/"+name]
	if !slices.Contains(s.flags.quoted, name) {
		return text, nil
	}
	text, err := strconv.Unquote(strings.TrimSpace(text))
	if err != nil {
		return "", fmt.Errorf("%s:%d: not a quoted string", s.file, s.first[section+"/"+name])
	}
	return text, nil
}

// lay writes the files of a section to a folder and gives them by name.
func (s *Scenario) lay(section, folder string) (map[string]string, error) {
	files := map[string]string{}
	for _, f := range s.archive.Files {
		name, ok := strings.CutPrefix(f.Name, section+"/")
		if !ok {
			continue
		}
		text, err := s.source(section, name)
		if err != nil {
			return nil, err
		}
		files[name] = text
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Update puts the goldens of a run into the scenario's text: sections that begin with @ and nothing else.
func (s *Scenario) Update(r *Report) []byte {
	var files []txtar.File
	for _, f := range s.archive.Files {
		if !strings.HasPrefix(f.Name, "@") {
			files = append(files, f)
		}
	}
	for _, name := range goldenOrder(r.Goldens) {
		files = append(files, txtar.File{Name: name, Data: []byte(r.Goldens[name])})
	}
	return txtar.Format(&txtar.Archive{Comment: s.archive.Comment, Files: files})
}
