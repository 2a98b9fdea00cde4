package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// do carries out one step.
func (r *run) do(st *step) error {
	args := st.args
	switch st.verb {
	case "open":
		if _, unsaved := r.known["buffer/"+args[0]]; unsaved {
			text, err := r.source("buffer", args[0])
			if err != nil {
				return err
			}
			r.e.OpenUnsaved(r.fill(args[0]), text)
			return nil
		}
		return r.e.Open(r.fill(args[0]))
	case "close":
		return r.e.CloseFile(r.fill(args[0]))
	case "save":
		return r.e.Save(r.fill(args[0]))
	case "reload":
		return r.e.Reload(r.fill(args[0]))
	case "editor-undo":
		return r.e.Undo(r.fill(args[0]))
	case "type", "delete", "replace":
		return r.keys(st.verb, args)
	case "burst":
		return r.burst(args)
	case "probe":
		return r.probe(args[0], json.RawMessage(r.fill(args[1])))
	case "write-disk", "remove-disk", "link-disk":
		return r.disk(st.verb, args)
	case "prompt":
		return r.prompt(args)
	case "call", "batch":
		return r.direct(st.verb, args)
	case "undo":
		return r.undo(args)
	case "steer":
		return r.steer(args[0])
	case "cancel":
		r.e.Notify("tandem/session/cancel", map[string]any{"sessionId": r.sid()})
	case "mode":
		return r.request("tandem/session/setMode", map[string]any{"sessionId": r.sid(), "mode": args[0]})
	case "session":
		more := []string{}
		for _, folder := range args {
			more = append(more, r.fill(folder))
		}
		return r.newSession(more...)
	case "request", "notify":
		params := json.RawMessage("{}")
		if len(args) > 1 {
			params = json.RawMessage(r.fill(args[1]))
		}
		if st.verb == "request" {
			return r.request(args[0], params)
		}
		r.e.Notify(args[0], params)
	case "wait":
		d, err := time.ParseDuration(args[0])
		time.Sleep(d)
		return err
	case "hang-up":
		r.mu.Lock()
		r.gone = true
		r.mu.Unlock()
		if st.trigger == "" {
			r.e.HangUp()
		} else {
			go r.e.HangUp() // it waits for the reader, which this is
		}
	case "expect":
		return r.expect(args)
	}
	return nil
}

// keys is the person at the keyboard: type FILE /after/ "text", delete FILE /this/, replace FILE /this/ "text".
func (r *run) keys(verb string, args []string) error {
	insert := ""
	if verb != "delete" {
		var err error
		if insert, err = strconv.Unquote(args[2]); err != nil {
			return fmt.Errorf("%s is no quoted string", args[2])
		}
	}
	var failed error
	err := r.e.Change(r.fill(args[0]), func(text string) []Splice {
		start, end, err := place(text, args[1])
		if err != nil {
			failed = err
			return nil
		}
		if verb == "type" {
			start = end
		}
		return []Splice{{start, end, insert}}
	})
	return errors.Join(err, failed)
}

// keyGap is longer than an edit is under way in memory, so that some keys come when an edit has just arrived.
const keyGap = 4 * time.Millisecond

// burst types a text a key at a time, beside all that follows: burst FILE /after/ "text".
func (r *run) burst(args []string) error {
	text, err := strconv.Unquote(args[2])
	if err != nil {
		return fmt.Errorf("%s is no quoted string", args[2])
	}
	file := r.fill(args[0])
	now, _ := r.e.Text(file)
	start, end, err := place(now, args[1])
	if err != nil {
		return err
	}
	before := now[start:end]
	r.typing.Go(func() {
		typed := ""
		for tries := 0; typed != text && tries < 1000; tries++ {
			time.Sleep(keyGap)
			_, size := utf8.DecodeRuneInString(text[len(typed):])
			key := text[len(typed) : len(typed)+size]
			if err := r.e.Change(file, func(now string) []Splice {
				at := strings.Index(now, before+typed)
				if at < 0 {
					return nil // an edit stands where it should not, until it is repaired
				}
				at += len(before + typed)
				typed += key
				return []Splice{{at, at, key}}
			}); err != nil {
				break
			}
		}
		if typed != text {
			r.problem(0, "burst: only %q of %q could be typed", typed, text)
		}
	})
	return nil
}

// probe asks the editor what the server does not ask: probe METHOD {json}. The answer is for expect and the goldens.
func (r *run) probe(method string, params json.RawMessage) error {
	r.settle(0)
	ctx, cancel := context.WithTimeout(r.ctx, r.patience)
	defer cancel()
	raw, err := r.tap.ask(method, params)(ctx)
	r.answer("probe "+method, raw, err)
	r.settle(r.flags.hold)
	if err != nil {
		return r.refused(err)
	}
	return nil
}

func (r *run) disk(verb string, args []string) error {
	path := r.e.Path(r.fill(args[0]))
	switch verb {
	case "remove-disk":
		return os.Remove(path)
	case "link-disk":
		return os.Symlink(r.fill(args[1]), path)
	}
	text, err := strconv.Unquote(args[1])
	if err != nil {
		return fmt.Errorf("%s is no quoted string", args[1])
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func (r *run) ensureSession() error {
	if r.sid() != "" {
		return nil
	}
	return r.newSession()
}

// newSession begins a session in the workspace and in further folders.
func (r *run) newSession(more ...string) error {
	params := map[string]any{"cwd": r.root}
	if len(more) > 0 {
		params["additionalDirectories"] = more
	}
	raw, err := r.wait("tandem/session/new", params)
	if err != nil {
		return err
	}
	var got struct{ SessionID string }
	if err := json.Unmarshal(raw, &got); err != nil {
		return err
	}
	if got.SessionID == "" {
		return fmt.Errorf("a session without an id: %s", raw)
	}
	r.session.Store(got.SessionID)
	return nil
}

func (r *run) wait(method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.patience)
	defer cancel()
	return r.e.Request(ctx, method, params)
}

// prompt asks the agent and waits for the end of the turn.
func (r *run) prompt(args []string) error {
	text, err := strconv.Unquote(args[0])
	if err != nil {
		return fmt.Errorf("%s is no quoted string", args[0])
	}
	blocks := []any{map[string]any{"type": "text", "text": text}}
	if len(args) > 1 {
		block, err := r.selection(args[1])
		if err != nil {
			return err
		}
		blocks = append(blocks, block)
	}
	if err := r.ensureSession(); err != nil {
		return err
	}
	raw, err := r.wait("tandem/session/prompt", map[string]any{"sessionId": r.sid(), "prompt": blocks})
	if r.answer("prompt", raw, err); err != nil {
		return r.refused(err)
	}
	var end struct {
		StopReason string
		Turn       int
		Error      *struct{ Code, Message string }
	}
	if err := json.Unmarshal(raw, &end); err != nil {
		return err
	}
	r.settle(r.flags.hold)
	if end.Error != nil {
		r.say("%s: %s", end.StopReason, end.Error.Message)
	} else {
		r.say("%s", end.StopReason)
	}
	return nil
}

// steer adds to the running turn; it may stand where nothing can wait for the answer.
func (r *run) steer(arg string) error {
	text, err := strconv.Unquote(arg)
	if err != nil {
		return fmt.Errorf("%s is no quoted string", arg)
	}
	wait := r.e.Begin("tandem/session/steer", map[string]any{
		"sessionId": r.sid(), "prompt": []any{map[string]any{"type": "text", "text": text}},
	})
	go func() {
		if _, err := wait(r.ctx); err != nil && r.refused(err) != nil {
			r.problem(0, "steer: %v", err)
		}
	}()
	return nil
}

// refused writes an error answer down; it is no problem where the goldens have it too.
func (r *run) refused(err error) error {
	r.mu.Lock()
	gone := r.gone
	r.mu.Unlock()
	var refused *RPCError
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Code == 0 && gone:
		r.say("hung up")
		return nil
	}
	r.say("error %d %s", refused.Code, refused.Message)
	return nil
}

// selection is select=FILE:/re/ as a content block: the selected text with its place.
func (r *run) selection(arg string) (any, error) {
	arg, ok := strings.CutPrefix(arg, "select=")
	file, word, found := strings.Cut(arg, ":")
	if !ok || !found {
		return nil, fmt.Errorf("want select=FILE:/regular expression/")
	}
	text, _ := r.e.Text(file)
	start, end, err := place(text, word)
	if err != nil {
		return nil, err
	}
	line := 1 + strings.Count(text[:start], "\n")
	return map[string]any{"type": "resource", "resource": map[string]any{
		"uri": fmt.Sprintf("%s#L%d", r.e.URI(file), line), "text": text[start:end],
	}}, nil
}

// direct calls tools without a model: call [apply=WHERE] NAME {json}, batch [{"name": …, "arguments": …}, …].
func (r *run) direct(verb string, args []string) error {
	if err := r.ensureSession(); err != nil {
		return err
	}
	type one struct {
		CallID    string          `json:"callId"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	var calls []one
	what := strings.Join(append([]string{verb}, args...), " ")
	apply, elsewhere := strings.CutPrefix(args[0], "apply=")
	if elsewhere {
		args = args[1:]
	} else {
		apply = ""
	}
	if verb == "call" && len(args) != 2 {
		return errors.New("call takes the name of a tool and its arguments")
	}
	if verb == "call" {
		calls = []one{{Name: args[0], Arguments: json.RawMessage(r.fill(args[1]))}}
	} else if err := json.Unmarshal([]byte(r.fill(args[0])), &calls); err != nil {
		return err
	}
	for i := range calls {
		calls[i].CallID = r.begin(calls[i].CallID, calls[i].Name)
		r.aim(calls[i].CallID, calls[i].Arguments)
	}
	var raw json.RawMessage
	var err error
	if verb == "call" {
		raw, err = r.wait("tandem/tools/call", map[string]any{
			"sessionId": r.sid(), "callId": calls[0].CallID, "name": calls[0].Name, "arguments": calls[0].Arguments,
			"apply": apply,
		})
	} else {
		raw, err = r.wait("tandem/tools/batch", map[string]any{"sessionId": r.sid(), "calls": calls})
	}
	if r.answer(what, raw, err); err != nil {
		return r.refused(err)
	}
	r.settle(r.flags.hold)
	type result struct {
		Success bool
		Error   string
		Meta    struct{ RebasedOver int }
	}
	var answers struct{ Results []result }
	if verb == "call" {
		answers.Results = make([]result, 1)
		err = json.Unmarshal(raw, &answers.Results[0])
	} else {
		err = json.Unmarshal(raw, &answers)
	}
	if err == nil && len(answers.Results) != len(calls) {
		err = fmt.Errorf("%d results for %d calls", len(answers.Results), len(calls))
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, result := range answers.Results {
		status := "completed"
		if !result.Success {
			status = "failed"
		}
		c := r.calls[calls[i].CallID]
		c.finish(status, result.Error)
		c.rebased = result.Meta.RebasedOver > 0
	}
	return nil
}

// undo is undo turn N or undo call N, by the numbers of the transcript.
func (r *run) undo(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	params := map[string]any{"sessionId": r.sid()}
	switch args[0] {
	case "turn":
		params["scope"], params["turn"] = "turn", n
	case "call":
		params["scope"] = "toolCall"
		r.mu.Lock()
		for id, c := range r.calls {
			if c.n == n {
				params["toolCallId"] = id
			}
		}
		r.mu.Unlock()
	default:
		return fmt.Errorf("undo takes turn or call, not %s", args[0])
	}
	return r.request("tandem/changes/undo", params)
}

func (r *run) request(method string, params any) error {
	r.mu.Lock()
	r.loading = method == "tandem/session/load"
	r.mu.Unlock()
	raw, err := r.wait(method, params)
	r.mu.Lock()
	r.loading = false
	r.mu.Unlock()
	if r.answer(method, raw, err); err != nil {
		return r.refused(err)
	}
	r.settle(r.flags.hold)
	if method == "tandem/changes/undo" {
		var undone struct {
			Changed   []string
			Conflicts []struct{ URI, Reason string }
		}
		if err := json.Unmarshal(raw, &undone); err != nil {
			return err
		}
		for _, uri := range undone.Changed {
			r.say("undone %s", r.short(uri))
		}
		for _, c := range undone.Conflicts {
			r.say("not undone %s: %s", r.short(c.URI), c.Reason)
		}
	}
	return nil
}

// buffers gives the texts of the open documents by the names that a scenario has for them.
func (r *run) buffers() map[string]string {
	out := map[string]string{}
	for name, text := range r.e.Buffers() {
		if rel, err := filepath.Rel(r.outside, r.e.Path(name)); err == nil && filepath.IsLocal(rel) {
			name = "$OUTSIDE/" + filepath.ToSlash(rel)
		}
		out[name] = text
	}
	return out
}

func (r *run) short(uri string) string {
	rel, err := filepath.Rel(r.root, FromURI(uri))
	if err != nil {
		return uri
	}
	return filepath.ToSlash(rel)
}

// answer keeps an answer for the goldens and for expect.
func (r *run) answer(what string, raw json.RawMessage, err error) {
	text := r.plain(raw, "  ")
	if err != nil {
		text = r.bare(err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = text
	r.results = append(r.results, what+"\n"+text+"\n")
}

// expect is expect buffer|disk FILE /re/, expect no FILE, expect result /re/, expect heard METHOD /re/.
func (r *run) expect(args []string) error {
	var where string
	texts := []string{}
	switch args[0] {
	case "no":
		if text, ok := r.e.Text(args[1]); ok {
			return fmt.Errorf("there is a %s: %q", args[1], text)
		}
		return nil
	case "buffer":
		text, ok := r.buffers()[args[1]]
		if !ok {
			return fmt.Errorf("%s is not open", args[1])
		}
		texts, where = append(texts, text), args[1]
	case "disk":
		text, err := os.ReadFile(r.e.Path(args[1]))
		if err != nil {
			return err
		}
		texts, where = append(texts, string(text)), args[1]
	case "result":
		r.mu.Lock()
		texts, where = append(texts, r.last), "the answer"
		r.mu.Unlock()
	case "heard":
		r.mu.Lock()
		for _, h := range r.heard {
			if h.method == args[1] {
				texts = append(texts, h.params)
			}
		}
		r.mu.Unlock()
		where = args[1]
	default:
		return fmt.Errorf("nobody can expect %q", args[0])
	}
	re, err := pattern(args[len(args)-1])
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(texts, re.MatchString) {
		return fmt.Errorf("no match in %s:\n%s", where, strings.Join(texts, "\n"))
	}
	return nil
}
