package conformance

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// files are the scenarios that say something about a client. They are parsed when they are played.
//
//go:embed testdata/cancel testdata/conformance testdata/dirty testdata/edit testdata/fixedbugs
//go:embed testdata/permission testdata/stale
var files embed.FS

// Client is an editor that can be examined.
type Client struct {
	spec    string
	ways    ways
	without []string
}

// capabilities are what a fake editor can do without, and where it declares them.
func capabilities() map[string]string {
	return map[string]string{
		"apply":       "workspace.applyEdit",
		"annotations": "workspace.workspaceEdit.changeAnnotationSupport",
		"create":      "",
		"delete":      "",
		"rename":      "",
		"permission":  "experimental.tandem.permission",
		"resync":      "experimental.tandem.resync",
		"save":        "experimental.tandem.save",
	}
}

// ClientHelp lists the clients and their options, in lines of at most 79 columns.
func ClientHelp() string {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	new(ways).client(set)
	var b strings.Builder
	line := func(name, what string) {
		const columns = 61 // 79 with the margin
		row := ""
		for _, word := range strings.Fields(what) {
			if row != "" && len(row)+1+len(word) > columns {
				fmt.Fprintf(&b, "    %-12s  %s\n", name, row)
				name, row = "", ""
			}
			row = strings.TrimSpace(row + " " + word)
		}
		fmt.Fprintf(&b, "    %-12s  %s\n", name, row)
	}
	b.WriteString("Clients:\n\n")
	line("fake:"+string(Strict), "does everything right")
	line("fake:"+string(Race), "ignores versions, and keeps one kind of line ending in a buffer")
	line("fake:"+string(Lying), "drops an edit for an older text and reports it as applied")
	fmt.Fprintf(&b, "\nOptions follow after commas, as in fake:%s,window=5ms,whole:\n\n", Race)
	set.VisitAll(func(f *flag.Flag) {
		if f.Name != "profile" {
			line(f.Name, f.Usage)
		}
	})
	line("without", "declares fewer capabilities, as in without=save+resync: "+strings.Join(slices.Sorted(maps.Keys(capabilities())), ", "))
	return strings.TrimSuffix(b.String(), "\n")
}

// ParseClient reads the name of a client, as in fake:race,window=5ms. Its error says what is wrong, ClientHelp what
// would be right.
func ParseClient(spec string) (Client, error) {
	c := Client{spec: spec}
	rest, fake := strings.CutPrefix(spec, "fake:")
	if !fake {
		return c, fmt.Errorf("unknown client %q", spec)
	}
	options := strings.Split(rest, ",")
	args := []string{"-there=200us", "-back=200us", "-profile=" + options[0]}
	for _, k := range options[1:] {
		if names, ok := strings.CutPrefix(k, "without="); ok {
			c.without = append(c.without, strings.Split(names, "+")...)
		} else {
			args = append(args, "-"+strings.ReplaceAll(k, "+", ","))
		}
	}
	if slices.ContainsFunc(args[3:], func(a string) bool { return strings.HasPrefix(a, "-profile") }) {
		return c, fmt.Errorf("the client %q: unknown option: profile", spec)
	}
	for _, name := range c.without {
		if _, ok := capabilities()[name]; !ok {
			return c, fmt.Errorf("the client %q: unknown capability %q", spec, name)
		}
	}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	finish := c.ways.client(set)
	err := set.Parse(args)
	if err == nil {
		err = finish()
	}
	if err == nil && (len(c.ways.profiles) != 1 || set.NArg() > 0) {
		err = fmt.Errorf("exactly one profile is needed")
	}
	if err != nil {
		return c, fmt.Errorf("the client %q: %w", spec, err)
	}
	return c, nil
}

// declares is laid over what a fake editor declares anyway.
func (c Client) declares() map[string]any {
	over := map[string]any{}
	declare := func(where string, v any) {
		m, names := over, strings.Split(where, ".")
		for _, name := range names[:len(names)-1] {
			below, ok := m[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				m[name] = below
			}
			m = below
		}
		m[names[len(names)-1]] = v
	}
	declare(capabilities()["annotations"], map[string]any{})
	declare(capabilities()["resync"], true)
	operations := []any{}
	for _, kind := range []string{"create", "rename", "delete"} {
		if !slices.Contains(c.without, kind) {
			operations = append(operations, kind)
		}
	}
	declare(resourceOperations, operations)
	for _, name := range c.without {
		if where := capabilities()[name]; where != "" {
			declare(where, nil)
		}
	}
	return over
}

// Verdict is what is said of one row.
type Verdict string

// The verdicts. Unsupported is what the client did not declare, or what nobody asks of it and it does not do.
const (
	Pass        Verdict = "pass"
	Fail        Verdict = "fail"
	Unsupported Verdict = "unsupported"
)

// Finding is one row: what a client was looked at for, how it did, and what Tandem made of it.
type Finding struct {
	Name      string   `json:"name"`
	What      string   `json:"what"`
	Verdict   Verdict  `json:"verdict"`
	Reason    string   `json:"reason"`
	Tandem    string   `json:"tandem,omitempty"`
	Scenarios []string `json:"scenarios,omitempty"`
}

// Played is one scenario as it went.
type Played struct {
	Scenario string `json:"scenario"`
	Millis   int64  `json:"ms"`
	// Wrong is what is not as it should be in the end, or kept it from ending.
	Wrong []string `json:"wrong,omitempty"`

	wire []Wire // what passed the server's end
	bare func(string) string
}

// Conformance is what an examination found.
type Conformance struct {
	Client      string    `json:"client"`
	Name        string    `json:"name"` // as it introduced itself
	Encoding    Encoding  `json:"positionEncoding"`
	Rows        []Finding `json:"rows"`
	Honoured    int       `json:"honoured"`
	Not         int       `json:"not"`
	Unsupported int       `json:"unsupported"`
	Plays       []Played  `json:"plays"`
}

// Transcript writes what passed the server's end, a line for each message, without the questions by which the scenario
// learns that all is quiet.
func (p Played) Transcript(w io.Writer) error {
	hidden := map[string]bool{}
	for _, m := range p.wire {
		var head message
		_ = json.Unmarshal(m.Raw, &head) // what is no message is shown
		quiet := m.ToServer && head.Method == barrier
		if id := string(head.ID); quiet {
			hidden[id] = true
		} else if !m.ToServer && head.Method == "" && hidden[id] {
			quiet = true
		}
		if quiet {
			continue
		}
		arrow := "<-"
		if m.ToServer {
			arrow = "->"
		}
		after := m.At.Sub(p.wire[0].At).Milliseconds()
		if _, err := fmt.Fprintf(w, "%4dms %s %s\n", after, arrow, p.bare(string(m.Raw))); err != nil {
			return err
		}
	}
	return nil
}

// Checks lists the rows, with no verdict.
func Checks() []Finding {
	var out []Finding
	for _, r := range rows() {
		out = append(out, Finding{Name: r.name, What: r.what, Scenarios: r.scenarios})
	}
	return out
}

// playing is one performance for an examination.
type playing struct {
	Played
	root   string
	report *Report
	seen   *observed
	// comparable says that all happened that the scenario waits for, and that Tandem reported the same of each call: only
	// then are the texts bound to be the same.
	comparable bool
}

// patienceLive is how long an answer may take in a scenario that is played in the time of the machine: no client is at fault where that
// has much else to do, and all scenarios are played at the same time. A client that holds changes back has each edit wait twice: for what was
// typed before, and for its echo; scenarios have a dozen edits.
func (c Client) patienceLive() time.Duration { return time.Minute + 40*c.ways.hold }

// Examine plays the scenarios of the rows that only allows, all where it is nil, with the client and a server each, in
// the time of the machine and several at once. Folders are made and taken away again.
func (c Client) Examine(ctx context.Context, only *regexp.Regexp, serve Server) (*Conformance, error) {
	base, err := os.MkdirTemp("", "tandem-conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(base)
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return nil, err
	}
	everywhere, err := forAnyEditor()
	if err != nil {
		return nil, err
	}
	var chosen []row
	wanted := map[string]*playing{}
	for _, r := range rows() {
		if only != nil && !only.MatchString(r.name) {
			continue
		}
		if r.scenarios == nil {
			r.scenarios = everywhere
		}
		chosen = append(chosen, r)
		for _, name := range r.scenarios {
			wanted[name] = nil
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	atOnce := make(chan struct{}, 8)
	for i, name := range slices.Sorted(maps.Keys(wanted)) {
		wg.Go(func() {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			p, err := c.play(ctx, name, filepath.Join(base, fmt.Sprint(i)), serve)
			mu.Lock()
			defer mu.Unlock()
			wanted[name], failed = p, cmp.Or(failed, err)
		})
	}
	wg.Wait()
	if failed != nil {
		return nil, failed
	}
	out := &Conformance{Client: c.spec}
	for _, r := range chosen {
		plays := make([]*playing, 0, len(r.scenarios))
		for _, name := range r.scenarios {
			plays = append(plays, wanted[name])
		}
		f := r.find(plays)
		switch f.Verdict {
		case Pass:
			out.Honoured++
		case Fail:
			out.Not++
		default:
			out.Unsupported++
		}
		out.Rows = append(out.Rows, f)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		p := wanted[name]
		out.Name, out.Encoding = p.seen.name, p.seen.agreed
		out.Plays = append(out.Plays, p.Played)
	}
	return out, nil
}

// play performs one scenario with the client in place of the editors that the file names.
func (c Client) play(ctx context.Context, name, folder string, serve Server) (*playing, error) {
	s, err := embedded(name)
	if err != nil {
		return nil, err
	}
	s.flags.ways = c.ways
	// What the model is told may differ from client to client; what is in the texts may not.
	lines := strings.SplitAfter(s.known["model"], "\n")
	s.known["model"] = strings.Join(slices.DeleteFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "see ")
	}), "")
	r := &run{
		Scenario: s, ctx: ctx, root: filepath.Join(folder, "in"), outside: filepath.Join(folder, "out"),
		live: true, patience: c.patienceLive(),
	}
	for _, dir := range []string{r.root, r.outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	report, err := r.perform(c.ways.profiles[0], c.declares(), serve)
	if err != nil {
		return nil, err
	}
	p := &playing{root: r.root, report: report, seen: observe(report.tapped), comparable: true}
	p.Played = Played{Scenario: name, Millis: time.Since(began).Milliseconds(), wire: report.tapped, bare: r.bare}
	for _, h := range s.hooks {
		p.comparable = p.comparable && h.fired
	}
	same := slices.Equal(ends(s.known["@updates"]), ends(report.Goldens["@updates"]))
	if p.comparable = p.comparable && same; p.comparable {
		p.Wrong = append(s.texts(report.Goldens), report.strict...)
	}
	return p, nil
}

// ends are how the calls of a golden ended, and what could not be undone.
func ends(updates string) []string {
	return regexp.MustCompile(`completed|failed [A-Z_]+|unfinished|not undone .*`).FindAllString(updates, -1)
}

// texts finds the texts that are not as they should be.
func (s *Scenario) texts(goldens map[string]string) (wrong []string) {
	names := maps.Clone(goldens)
	for name := range s.known {
		names[name] = ""
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if strings.HasPrefix(name, "@buffer/") || strings.HasPrefix(name, "@disk/") || strings.HasPrefix(name, "@outside/") {
			if s.known[name] != goldens[name] && !tied(s.known[name], goldens[name]) {
				wrong = append(wrong, fmt.Sprintf("%s (- should be, + is):\n%s", name[1:], Diff(s.known[name], goldens[name])))
			}
		}
	}
	return wrong
}

// tied says that two differences from one text are the same two insertions at one point. What a client that tells late has put first, nobody
// can know from the text.
func tied(a, b string) bool {
	as, bs := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	if len(as) != len(bs) || as[0] != bs[0] || !strings.HasPrefix(a, "@@") {
		return false
	}
	as, bs = slices.DeleteFunc(as[1:], isEmpty), slices.DeleteFunc(bs[1:], isEmpty)
	if slices.ContainsFunc(as, func(line string) bool { return !strings.HasPrefix(line, "+") }) {
		return false
	}
	for i := range as {
		if slices.Equal(slices.Concat(as[i:], as[:i]), bs) {
			return true
		}
	}
	return false
}

func isEmpty(s string) bool { return s == "" }

func embedded(name string) (*Scenario, error) {
	file := "testdata/" + name + ".txtar"
	data, err := files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// forAnyEditor names the scenarios that end with the same texts whatever kind of editor they are played in.
func forAnyEditor() (names []string, err error) {
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar")
		s, err := embedded(name)
		if err == nil && s.forAnyEditor() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// forAnyEditor says that a scenario tells of no editor in particular, and takes no time of its own.
func (s *Scenario) forAnyEditor() bool {
	f := s.flags
	for name := range s.known {
		switch section, _, _ := strings.Cut(name, "/"); section {
		case "capabilities.json", "settings.json", "commands", "outside":
			return false
		}
	}
	other := slices.ContainsFunc(s.steps, func(st step) bool { return st.verb == "wait" || st.verb == "probe" })
	return len(f.profiles) == 3 && !other && f.exit == 0 && f.encoding == string(UTF16) &&
		f.there+f.back+f.hold+f.window == 0 && !f.fails && !f.merge && !f.reorder && !f.widen && !f.split && !f.whole && !f.replyFirst && !f.trim && !f.full && len(f.reply) == 0
}

// Print writes the findings for a person; verbose adds what passed between the client and the server.
func (found *Conformance) Print(w io.Writer, verbose bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s, with positions in %s.\n\n", found.Client, found.Name, found.Encoding)
	for _, f := range found.Rows {
		fmt.Fprintf(&b, "%-13s%-18s%s\n", f.Verdict, f.Name, f.What)
		fmt.Fprintf(&b, "%31s%s\n", "", f.Reason)
		if f.Tandem != "" {
			fmt.Fprintf(&b, "%31sTandem: %s\n", "", f.Tandem)
		}
	}
	var failed error
	if verbose {
		for _, p := range found.Plays {
			fmt.Fprintf(&b, "\n%s, %d ms\n", p.Scenario, p.Millis)
			for _, wrong := range p.Wrong {
				b.WriteString(wrong + "\n")
			}
			failed = errors.Join(failed, p.Transcript(&b))
		}
	}
	fmt.Fprintf(&b, "\n%d honoured, %d not, %d unsupported\n", found.Honoured, found.Not, found.Unsupported)
	_, err := io.WriteString(w, b.String())
	return errors.Join(failed, err)
}
