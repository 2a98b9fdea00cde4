package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tandem/agent/model"
	"tandem/agent/model/script"
	"tandem/sandbox"
	"tandem/tools/words"
)

// Server serves one connection until it ends, with the model and the commands of a scenario, and gives its exit code. own
// are settings that are the person's own, as JSON; nil where the editor has sent them.
type Server func(ctx context.Context, rwc io.ReadWriteCloser, models model.Opener, runner sandbox.Runner, own []byte) int

// Report is what a run came to: the goldens as they are now, and what was wrong, each with its line.
type Report struct {
	Problems []string
	Goldens  map[string]string
	strict   []string // the problems that no update cures
	calls    []*call
	tapped   []Wire // what passed the server's end, where that was wanted
	disk     map[string]string
}

// patience is how long the person waits for an answer, in the time of the bubble.
const patience = time.Hour

// run is one performance of a scenario.
type run struct {
	*Scenario
	ctx           context.Context
	root, outside string
	e             *Editor
	player        *script.Player
	commands      *Commands
	session       atomic.Value // string
	live          bool         // not in a bubble: nothing says when all is quiet
	patience      time.Duration
	tap           *tap // nil where nothing needs it
	typing        sync.WaitGroup

	mu       sync.Mutex // guards the fields below; nobody waits for anything while holding it
	calls    map[string]*call
	log      []any // string or *call
	results  []string
	last     string // the answer to the latest step that had one
	said     strings.Builder
	streamed strings.Builder
	heard    []heard
	problems []string
	typed    chan struct{} // closed once the latest key was typed that waits for a moment after an edit has arrived
	gone     bool
	// languages counts the requests to language servers by method.
	languages map[string]int
	recall    func() // ends what the lent model says
	loading   bool   // a session is being loaded: what is told has happened before
}

// call is one tool call, as the model or the person asked for it and as the editor saw it go on.
type call struct {
	n            int
	name, target string
	words        []string
	states       []string
	done         bool
	rebased      bool // over somebody else's change, as the model was told
}

type heard struct{ method, params string }

// Run plays the scenario in one of its profiles. root and outside are empty folders, their real paths; outside is not
// part of the workspace. Run must be called in a testing/synctest bubble and leaves no goroutine behind when serve
// leaves none.
func (s *Scenario) Run(ctx context.Context, profile Profile, root, outside string, serve Server) (*Report, error) {
	r := &run{Scenario: s, ctx: ctx, root: root, outside: outside, patience: patience}
	return r.perform(profile, nil, serve)
}

// perform plays the scenario; what over says is laid over the capabilities of the editor.
func (r *run) perform(profile Profile, over map[string]any, serve Server) (*Report, error) {
	s, ctx, root, outside := r.Scenario, r.ctx, r.root, r.outside
	r.calls = map[string]*call{}
	for _, h := range s.hooks {
		h.fired = false
	}
	disk, err := s.lay("disk", root)
	if err != nil {
		return nil, err
	}
	beyond, err := s.lay("outside", outside)
	if err != nil {
		return nil, err
	}
	options, err := r.options(profile, over)
	if err != nil {
		return nil, err
	}
	parsed, err := script.Parse(r.fill(s.known["model"]))
	if err != nil {
		return nil, fmt.Errorf("%s: the model, which begins at line %d: %w", s.file, s.first["model"], err)
	}
	r.player = script.New("script/scenario", parsed)
	if r.commands, err = NewCommands(r.fill(s.known["commands"]), s.first["commands"]); err != nil {
		return nil, fmt.Errorf("%s:%w", s.file, err)
	}

	// The initializationOptions of a plain client are not its person's own word.
	var own []byte
	if !options.declares() {
		if own, err = json.Marshal(options.Settings); err != nil {
			return nil, err
		}
		options.Settings = map[string]any{}
	}
	client, server := Pipe(Steady(s.flags.there), Steady(s.flags.back))
	if r.live || slices.ContainsFunc(s.steps, func(st step) bool { return st.verb == "probe" }) {
		r.tap = newTap(server)
		server = r.tap
	}
	exit := make(chan int, 1)
	go func() {
		code := serve(ctx, server, opener{r}, r.commands, own)
		_ = server.Close()
		exit <- code
	}()
	if r.e, err = Start(ctx, client, options); err != nil {
		return nil, fmt.Errorf("%s: initialize: %w", s.file, err)
	}
	for _, st := range s.steps {
		if err := r.do(&st); err != nil {
			r.problem(st.line, "%s: %v", st.text, err)
			break
		}
	}
	r.typing.Wait()
	r.settle(s.flags.hold)
	buffers := r.buffers()
	r.leave(exit)

	report := &Report{Goldens: map[string]string{}, tapped: r.tap.messages()}
	if report.disk, err = r.goldens(report.Goldens, disk, beyond, buffers); err != nil {
		return nil, err
	}
	r.strict()
	report.strict = r.problems
	report.Problems = slices.Concat(r.problems, s.compare(report.Goldens))
	for _, entry := range r.log {
		if c, ok := entry.(*call); ok {
			report.calls = append(report.calls, c)
		}
	}
	return report, nil
}

func (r *run) options(profile Profile, capabilities map[string]any) (Options, error) {
	f := r.flags
	o := Options{
		Root: r.root, Profile: profile, Encoding: Encoding(f.encoding), Capabilities: capabilities,
		Reply:       func(n int) Reply { return f.reply[n] },
		BeforeApply: r.arrived,
		AfterApply:  func(n int) { r.fire("after apply", n) },
		Ask:         r.ask,
		Pick:        r.pick,
		Heard:       r.hear,
		Invoke:      r.invoked,
	}
	f.lay(&o)
	if f.trim {
		o.Format = trimmed()
	}
	var over map[string]any
	for name, into := range map[string]*map[string]any{"capabilities.json": &o.Capabilities, "settings.json": &over} {
		if text := r.fill(r.known[name]); text != "" {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				return o, fmt.Errorf("%s:%d: %w", r.file, r.first[name], err)
			}
		}
	}
	o.Settings = merge(map[string]any{"mode": f.mode}, over)
	return o, nil
}

// lay says in o how the editor tells of changes and answers edits.
func (f *ways) lay(o *Options) {
	o.Hold, o.Idle, o.Insert, o.Merge, o.Split, o.Whole = f.hold, f.idle, f.insert, f.merge, f.split, f.whole
	o.Reorder, o.Widen, o.Fails, o.ReplyFirst, o.Landed, o.Window = f.reorder, f.widen, f.fails, f.replyFirst, f.landed, f.window
	o.Forget, o.Reopen, o.Full = f.forget, f.reopen, f.full
}

// trimmed is a formatter that takes trailing blanks away.
func trimmed() func(path, text string) string {
	trailing := regexp.MustCompile(`[ \t]+(\r?\n|$)`)
	return func(_, text string) string { return trailing.ReplaceAllString(text, "$1") }
}

// fill puts the folders of this run where a scenario names them, bare puts the names back.
func (r *run) fill(text string) string {
	return strings.NewReplacer("$ROOT", r.root, "$OUTSIDE", r.outside, "$SESSION", r.sid()).Replace(text)
}

func (r *run) bare(text string) string {
	pairs := []string{r.root, "$ROOT", r.outside, "$OUTSIDE"}
	if id := r.sid(); id != "" {
		pairs = append(pairs, id, "$SESSION")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// sid is the session of the steps, "" while there is none.
func (r *run) sid() string {
	id, _ := r.session.Load().(string)
	return id
}

func (r *run) problem(line int, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.file
	if line > 0 {
		at = fmt.Sprintf("%s:%d", r.file, line)
	}
	r.problems = append(r.problems, at+": "+r.bare(fmt.Sprintf(format, args...)))
}

// settle lets everything that is under way arrive and be dealt with. A bubble's clock moves only when all is quiet;
// else an answer says that what was sent before the question has been dealt with, on either side.
func (r *run) settle(more time.Duration) {
	if !r.live {
		time.Sleep(r.flags.there + r.flags.back + more + time.Millisecond)
		return
	}
	time.Sleep(more + r.flags.window)
	ctx, cancel := context.WithTimeout(r.ctx, r.patience)
	defer cancel()
	for range 2 {
		if _, err := r.e.conn.begin(barrier, map[string]any{})(ctx); err != nil {
			return // the connection is gone, which what comes next will find
		}
	}
}

// barrier is a request that any server of ours answers at once, after everything that came before it.
const barrier = "tandem/status"

// leave says goodbye, unless that has been said, and waits for the server's end.
func (r *run) leave(exit <-chan int) {
	r.mu.Lock()
	gone := r.gone
	r.gone = true
	r.mu.Unlock()
	if !gone {
		ctx, cancel := context.WithTimeout(r.ctx, r.patience)
		if err := r.e.Close(ctx); err != nil {
			r.problem(0, "shutdown: %v", err)
		}
		cancel()
	}
	select {
	case code := <-exit:
		if code != r.flags.exit {
			r.problem(0, "the server ended with %d, not %d", code, r.flags.exit)
		}
	case <-time.After(r.patience):
		r.problem(0, "the server does not end")
	}
}

// arrived does what waits for an applyEdit that has come and has not been looked at, and for the time right after.
func (r *run) arrived(n int) {
	r.fire("before apply", n)
	if slices.ContainsFunc(r.hooks, func(h *step) bool { return h.trigger == "during apply" && h.n == n }) {
		r.mu.Lock()
		before, done := r.typed, make(chan struct{})
		r.typed = done
		r.mu.Unlock()
		r.typing.Go(func() {
			defer close(done)
			time.Sleep(2 * time.Millisecond)
			if before != nil { // on a machine that is busy the two could change places
				<-before
			}
			r.fire("during apply", n)
		})
	}
}

// fire does what waits for the n-th event of a kind.
func (r *run) fire(trigger string, n int) {
	for _, h := range r.hooks {
		if h.trigger != trigger || h.n != n || !r.once(h) {
			continue
		}
		if err := r.do(h); err != nil {
			r.problem(h.line, "%s: %v", h.text, err)
		}
	}
}

// once says that h has not happened yet, and that now it has.
func (r *run) once(h *step) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := h.fired
	h.fired = true
	return !was
}

func (r *run) ask(n int, a Ask) string {
	r.note(a.ToolCall.ToolCallID, "asked")
	r.fire("before answer", n)
	var chosen *step
	for _, h := range r.hooks {
		if h.trigger == "on ask" && (h.n == n || h.n == 0 && chosen == nil) {
			chosen = h
		}
	}
	if chosen == nil {
		r.problem(0, "nobody expected to be asked for: %s", a.ToolCall.Title)
		return "reject_once"
	}
	r.once(chosen)
	choice := chosen.args[0]
	r.note(a.ToolCall.ToolCallID, choice)
	return choice
}

func (r *run) pick(text string, actions []string) string {
	r.say("question %s [%s]", text, strings.Join(actions, "] ["))
	for _, h := range r.hooks {
		if h.trigger == "on ask" && slices.Contains(actions, h.args[0]) {
			r.once(h)
			return h.args[0]
		}
	}
	return ""
}

func (r *run) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, r.bare(fmt.Sprintf(format, args...)))
}

// note adds a word to the line of a call.
func (r *run) note(id string, word string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.calls[id]; c != nil {
		c.words = append(c.words, word)
	} else {
		r.problems = append(r.problems, fmt.Sprintf("%s: nobody made the call %s that is %s", r.file, id, word))
	}
}

// begin numbers a call and gives it an id where it has none; aim says what it is about.
func (r *run) begin(id, name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &call{n: len(r.calls) + 1, name: name}
	id = cmp.Or(id, fmt.Sprintf("direct_%d", c.n))
	r.calls[id] = c
	r.log = append(r.log, c)
	return id
}

func (r *run) aim(id string, arguments []byte) {
	var a struct{ Path, Command, Pattern string }
	_ = json.Unmarshal(arguments, &a) // a call may well have none of them
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[id].target = r.bare(cmp.Or(a.Path, a.Command, a.Pattern))
}

var quiet = []string{
	"$/progress", "$/logTrace", "window/logMessage", "textDocument/publishDiagnostics", "tandem/changes/didChange", "tandem/plan/didChange",
	"tandem/fileTime", "tandem/session/resolved", "tandem/tools/event", "$/cancelRequest",
}

func (r *run) hear(method string, params json.RawMessage) {
	r.mu.Lock()
	r.heard = append(r.heard, heard{method, r.bare(string(params))})
	r.mu.Unlock()
	switch {
	case method == "tandem/session/update":
		var p struct{ Update sessionUpdate }
		if err := json.Unmarshal(params, &p); err != nil {
			r.problem(0, "an update that cannot be read: %v: %s", err, params)
			return
		}
		r.update(p.Update)
	case method == "$/cancelRequest":
		r.recalled()
	case method == "window/showMessage":
		var p struct{ Message string }
		_ = json.Unmarshal(params, &p)
		r.say("message %s", p.Message)
	case !slices.Contains(quiet, method):
		r.problem(0, "nobody expected %s", method)
	}
}

// sessionUpdate is what a scenario looks at in tandem/session/update.
type sessionUpdate struct {
	SessionUpdate string
	ToolCallID    string
	Status        string
	Content       json.RawMessage
	Meta          struct {
		Tandem struct{ State, Error, Reason, Summary, Boundary string }
	} `json:"_meta"`
	Kind    string
	Entries []struct{ Content, Priority, Status string }
}

// plan is a plan in one line.
func (u sessionUpdate) plan() string {
	var words []string
	for _, e := range u.Entries {
		words = append(words, e.Content+": "+e.Status)
	}
	return strings.TrimSpace("plan " + strings.Join(words, ", "))
}

func (r *run) update(u sessionUpdate) {
	r.mu.Lock()
	loading, c := r.loading, r.calls[u.ToolCallID]
	r.mu.Unlock()
	if loading {
		if u.Meta.Tandem.State == "completed" && c != nil {
			r.say("loaded %d %s", c.n, strings.TrimSpace(u.Status+" "+u.Meta.Tandem.Error))
		}
		if u.SessionUpdate == "plan" {
			r.say("loaded %s", u.plan())
		}
		return
	}
	switch u.SessionUpdate {
	case "agent_message_chunk":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.streamed.WriteString(chunk(u.Content))
	case "user_message_chunk":
		r.say("steered: %s", chunk(u.Content))
	case "plan":
		r.say("%s", u.plan())
	case "notice":
		if u.Meta.Tandem.Boundary == "" { // that a turn has begun to write shows in its calls
			r.say("notice %s", chunk(u.Content))
		}
	case "tool_call", "tool_call_update":
		r.mu.Lock()
		c := r.calls[u.ToolCallID]
		if c == nil {
			r.mu.Unlock()
			r.problem(0, "an update of the call %s, which nobody made", u.ToolCallID)
			return
		}
		if u.SessionUpdate == "tool_call" { // it stands where it was told, not where the model made it
			r.log = append(slices.DeleteFunc(r.log, func(e any) bool { return e == any(c) }), c)
		}
		if wrong := u.misworded(); wrong != "" {
			defer r.problem(0, "call %d tells people %q", c.n, wrong)
		}
		started := c.enter(u.Meta.Tandem.State)
		if u.Status == "completed" || u.Status == "failed" {
			c.finish(u.Status, u.Meta.Tandem.Error)
		}
		r.mu.Unlock()
		if started {
			r.fire("during call", c.n)
		}
	}
}

// misworded is what an update of a failed call shows people that is not the sentence for its failure, "" where there is none.
// Figures may stand behind its first words.
// Of a command they are shown what it printed.
func (u sessionUpdate) misworded() string {
	meta := u.Meta.Tandem
	if u.Status != "failed" || meta.Summary == "" {
		return ""
	}
	sentence := words.Failure(meta.Error, meta.Reason)
	if what, _, _ := strings.Cut(sentence, "."); meta.Summary != sentence && !strings.HasPrefix(meta.Summary, what+": ") {
		return meta.Summary
	}
	var content []struct {
		Type    string
		Content struct{ Text string }
	}
	_ = json.Unmarshal(u.Content, &content) // what is no text is none of words
	for _, c := range content {
		if c.Type == "content" && c.Content.Text != meta.Summary && u.Kind != "execute" {
			return c.Content.Text
		}
	}
	return ""
}

func chunk(content json.RawMessage) string {
	var c struct{ Text string }
	_ = json.Unmarshal(content, &c) // a chunk that is no text shows in the comparison with what was said
	return c.Text
}

// enter notes the state of a call and says whether it has just begun to run.
func (c *call) enter(state string) (started bool) {
	if state == "" || len(c.states) > 0 && c.states[len(c.states)-1] == state {
		return false
	}
	c.states = append(c.states, state)
	return state == "executing"
}

// finish words the end of a call, which is told more than once.
func (c *call) finish(status, code string) {
	if !c.done {
		c.done = true
		c.words = append(c.words, strings.TrimSpace(status+" "+code))
	}
}

// strict adds what no scenario may leave behind.
func (r *run) strict() {
	for _, v := range r.e.Violations() {
		r.problem(0, "%s", v)
	}
	for _, p := range r.commands.Problems() {
		r.problem(0, "%s", p)
	}
	for _, u := range r.player.Unused() {
		r.problem(r.first["model"], "not played: %s", r.shift(u))
	}
	for _, h := range r.hooks {
		if !h.fired {
			r.problem(h.line, "this never happened: %s", h.text)
		}
	}
	order := []string{"queued", "executing", "completed", "yielded"}
	for _, id := range slices.Sorted(maps.Keys(r.calls)) {
		for i, state := range r.calls[id].states {
			if i >= len(order) || order[i] != state {
				r.problem(0, "the states of call %d are %v", r.calls[id].n, r.calls[id].states)
				break
			}
		}
	}
	if said, streamed := r.said.String(), r.streamed.String(); said != streamed {
		r.problem(0, "what the model said is not what arrived (- said, + arrived):\n%s", Diff(said, streamed))
	}
}

// shift turns the line of the model's script that a message begins with into the line of the file.
func (r *run) shift(text string) string {
	m := regexp.MustCompile(`^(?:script )?line (\d+)`).FindStringSubmatch(text)
	if m == nil {
		return text
	}
	n, _ := strconv.Atoi(m[1])
	return fmt.Sprintf("line %d%s", r.first["model"]+n-1, text[len(m[0]):])
}

// goldens words what came of the run, and gives the files that are left.
func (r *run) goldens(goldens, disk, beyond, buffers map[string]string) (left map[string]string, err error) {
	if left, err = snapshot(r.root); err != nil {
		return nil, err
	}
	for name := range left {
		if strings.HasPrefix(left[name], "-> ") {
			left[name] = r.bare(left[name])
		}
	}
	changes(goldens, "@disk/", disk, left)
	outside, err := snapshot(r.outside)
	if err != nil {
		return nil, err
	}
	changes(goldens, "@outside/", beyond, outside)
	before := map[string]string{}
	for name := range buffers {
		if _, unsaved := r.known["buffer/"+name]; !unsaved {
			before[name] = disk[name]
			if rel, beside := strings.CutPrefix(name, "$OUTSIDE/"); beside {
				before[name] = beyond[rel]
			}
		} else if before[name], err = r.source("buffer", name); err != nil {
			return nil, err
		}
	}
	changes(goldens, "@buffer/", before, buffers)
	lines, notices := strings.Builder{}, []string(nil)
	flush := func() { // calls that ran together may be told of in any order
		slices.Sort(notices)
		for _, n := range notices {
			fmt.Fprintln(&lines, n)
		}
		notices = nil
	}
	for _, entry := range r.log {
		c, ok := entry.(*call)
		if text, is := entry.(string); is && strings.HasPrefix(text, "notice ") {
			notices = append(notices, text)
			continue
		}
		flush()
		if !ok {
			fmt.Fprintln(&lines, entry)
			continue
		}
		words := slices.Clone(c.words)
		if !c.done {
			words = append(words, "unfinished")
		}
		if c.rebased {
			words = append(words, "rebased")
		}
		fmt.Fprintf(&lines, "%d %s   %s\n", c.n, strings.TrimSpace(c.name+" "+c.target), strings.Join(words, ", "))
	}
	flush()
	goldens["@updates"] = lines.String()
	if _, wanted := r.known["@result"]; wanted {
		goldens["@result"] = strings.Join(r.results, "\n")
	}
	if len(r.flags.wire) > 0 {
		goldens["@wire"] = r.wire()
	}
	return left, nil
}

// wire words the messages of the methods that the flags select, and the answers to them.
func (r *run) wire() string {
	var out strings.Builder
	asked := [2]map[string]string{{}, {}}
	for _, w := range r.e.Wire() {
		var m message
		if json.Unmarshal(w.Raw, &m) != nil {
			continue
		}
		arrow, mine, theirs := "<-", asked[0], asked[1]
		if w.ToServer {
			arrow, mine, theirs = "->", asked[1], asked[0]
		}
		name, body := m.Method, m.Params
		if name == "" {
			name = theirs[string(m.ID)]
			if body = m.Result; m.Error != nil {
				body = encode(m.Error)
			}
			if slices.Contains(r.flags.wire, name) {
				fmt.Fprintf(&out, "%s answer to %s %s\n", arrow, name, r.plain(body, ""))
			}
			continue
		}
		if m.ID != nil {
			mine[string(m.ID)] = name
		}
		if slices.Contains(r.flags.wire, name) {
			fmt.Fprintf(&out, "%s %s %s\n", arrow, name, r.plain(body, ""))
		}
	}
	return out.String()
}

// plain words JSON with its keys sorted and without what differs from run to run.
func (r *run) plain(raw json.RawMessage, indent string) string {
	if raw == nil {
		return ""
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(r.steady(v)); err != nil {
		return err.Error()
	}
	return strings.TrimRight(b.String(), "\n")
}

func (r *run) steady(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			switch k {
			case "durationMs", "at", "ms", "time", "mtime", "readAt", "processId":
			default:
				out[r.bare(k)] = r.steady(x)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = r.steady(v[i])
		}
		return v
	case string:
		return r.bare(v)
	}
	return v
}

// opener gives every session the scenario's model.
type opener struct{ r *run }

func (o opener) Names() []string { return []string{o.r.player.Name()} }
func (opener) API(string) string { return "" }

func (o opener) Open(name string) (model.Model, error) {
	if name != "" && name != o.r.player.Name() {
		return nil, &model.Error{Kind: "unavailable", Message: "There is no model called " + name + "; set model."}
	}
	return actor(o), nil
}

// actor is the scenario's model: it plays the script, numbers the calls and knows when one has been answered.
type actor struct{ r *run }

func (a actor) Name() string { return a.r.player.Name() }

func (a actor) Stream(ctx context.Context, q model.Request, on func(model.Delta)) (model.Response, error) {
	a.answered(q.Messages)
	if err := ctx.Err(); err != nil {
		return model.Response{}, err // cancelled by what waited for a call: the message is for the next request
	}
	type pending struct{ id, name, arguments string }
	calls := map[int]*pending{}
	resp, err := a.r.player.Stream(ctx, q, func(d model.Delta) {
		if d.Text == "(script ended)" {
			a.r.problem(a.r.first["model"], "the model was asked once more than the script has messages")
		}
		if c := d.Call; c != nil {
			if calls[c.Index] == nil {
				calls[c.Index] = &pending{id: c.ID, name: c.Name}
				a.r.begin(c.ID, c.Name)
			}
			p := calls[c.Index]
			if p.arguments += c.Arguments; c.Done {
				a.r.aim(p.id, []byte(p.arguments))
			}
		}
		a.r.mu.Lock()
		a.r.said.WriteString(d.Text)
		a.r.mu.Unlock()
		on(d)
	})
	var failed *model.Error
	if errors.As(err, &failed) && failed.Kind == "bad_response" {
		a.r.problem(a.r.first["model"], "%s", a.r.shift(failed.Message))
	}
	return resp, err
}

// answered does what waits for the calls that messages hold the results of, and gives it time to be dealt with.
func (a actor) answered(messages []model.Message) {
	var done []int
	a.r.mu.Lock()
	for _, m := range messages {
		if c := a.r.calls[m.CallID]; m.Role == model.Tool && c != nil {
			done = append(done, c.n)
			c.rebased = strings.Contains(m.Text, "\nrebased over ")
		}
	}
	a.r.mu.Unlock()
	for _, n := range done {
		a.r.fire("after call", n)
	}
	if len(done) > 0 {
		a.r.settle(0)
	}
}
