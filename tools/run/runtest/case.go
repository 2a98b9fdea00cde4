// Package runtest lets tools that change files be tried without an editor and without a disk, in cases written as txtar
// files.
package runtest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/filetime/filetimetest"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
)

var update = flag.Bool("update", false, "rewrite the golden sections of txtar cases")

// Cases plays every testdata/*.txtar of the package under test with the given tools. A case is prose and then files:
//
//	flags          words: requireRead=false, apply=none, mode=ask, answer=reject, and crlf=PATH, bom=PATH, noeol=PATH,
//	               which give a file that form
//	disk/PATH      a file; buffer/PATH a file that is open in the editor with this text
//	steps          what happens, a line each:
//	               see PATH [FIRST LAST]        the model was shown the lines, or all
//	               type PATH /REGEXP/ "TEXT"    the user puts TEXT in after the match
//	               replace PATH /REGEXP/ "TEXT" the user replaces the match
//	               outside PATH /REGEXP/ "TEXT" the same, on disk
//	               during PATH /REGEXP/ "TEXT"  the user replaces the match while the next call lands
//	               asking PATH /REGEXP/ "TEXT"  the user does so before answering the next question
//	               remove PATH                  the file is deleted; gone PATH: while the next call lands
//	               call NAME {JSON}
//	@out           golden: what the calls answered
//	@PATH          golden: a file that is other than it was, quoted where it is no plain text
//
// go test -update rewrites the golden files.
func Cases(t *testing.T, list ...tools.Tool) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) { play(t, f, list) })
	}
}

func play(t *testing.T, name string, list []tools.Tool) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	a := txtar.Parse(data)
	w := NewWorld(t, list...)
	var steps string
	var golden []txtar.File
	var inputs []txtar.File
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, "@") {
			golden = append(golden, f)
			continue
		}
		inputs = append(inputs, f)
	}
	forms := map[string]string{}
	for _, f := range inputs {
		if f.Name == "flags" {
			w.flags(t, string(f.Data), forms)
		}
	}
	before := map[string]string{}
	for _, f := range inputs {
		kind, path, _ := strings.Cut(f.Name, "/")
		switch kind {
		case "disk", "buffer":
			before[path] = form(string(f.Data), forms[path])
			w.Files.Put(w.Path(path), before[path], kind == "buffer")
		case "steps":
			steps = string(f.Data)
		case "flags":
		default:
			t.Fatalf("%s: unknown section %s", name, f.Name)
		}
	}
	var out strings.Builder
	for i, line := range strings.Split(steps, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := w.step(line, &out); err != nil {
			t.Fatalf("%s: step %d: %s: %v", name, i+1, line, err)
		}
	}
	got := []txtar.File{{Name: "@out", Data: []byte(out.String())}}
	for _, path := range w.Files.Paths() {
		rel := strings.TrimPrefix(path, w.Root+"/")
		content, exists := w.Files.Text(path)
		was, had := before[rel]
		switch {
		case had && !exists:
			got = append(got, txtar.File{Name: "@" + rel, Data: []byte("(deleted)\n")})
		case exists && content != was:
			got = append(got, txtar.File{Name: "@" + rel, Data: []byte(visible(content))})
		}
	}
	if *update {
		a.Files = append(inputs, got...)
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(flat(golden), flat(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func flat(files []txtar.File) string {
	return string(txtar.Format(&txtar.Archive{Files: files}))
}

// form gives a text the form that a flag asks for.
func form(s, how string) string {
	if strings.Contains(how, "noeol") {
		s = strings.TrimSuffix(s, "\n")
	}
	if strings.Contains(how, "crlf") {
		s = strings.ReplaceAll(s, "\n", "\r\n")
	}
	if strings.Contains(how, "bom") {
		s = "\uFEFF" + s
	}
	return s
}

// visible shows a text so that every byte can be told.
func visible(s string) string {
	if strings.HasSuffix(s, "\n") && !strings.ContainsAny(s, "\r\uFEFF") {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strconv.Quote(line) + "\n")
	}
	return b.String()
}

// World is what calls of a test run in: files in memory, a session, and a host.
type World struct {
	Root     string
	Files    *filetimetest.Files
	FileTime *filetime.FileTime
	Host     *run.Host
	Env      tools.Env
	// Answer is what the person says to every question.
	Answer run.Answer
	Asked  []run.Question

	calls int
	onAsk func() error
}

// NewWorld makes a World with the given tools, in auto mode, that demands that files be read before they are changed.
func NewWorld(t testing.TB, list ...tools.Tool) *World {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Root: root, Files: filetimetest.New(), Answer: run.Answer{Outcome: run.Allowed}}
	w.FileTime = filetime.New(w.Files, "s", nil)
	w.Env = tools.Env{
		Session: "s", Turn: 1, RequireRead: true, Now: time.Now, Files: w.Files, FileTime: w.FileTime,
		Paths: &sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}, Home: "/home/somebody"},
		Open:  func() []string { return nil },
		Limits: tools.Limits{
			MaxToolOutputChars: 30000, MaxConcurrency: 8, MaxReadBytes: 50 << 10, MaxFileBytes: 10 << 20, MaxDiffBytes: 1 << 20, MaxImageBytes: 5 << 20,
			ToolTimeout: 30 * time.Second, BashTimeout: 30 * time.Second, KillGrace: 5 * time.Second,
		},
	}
	w.Host = &run.Host{
		Tools: tools.SetOf(list...), Gate: gate.ModeAuto, Asker: w, Now: time.Now,
		Env: func(c run.Call) *tools.Env {
			env := w.Env
			env.Call = c.ID
			return &env
		},
	}
	return w
}

// Ask implements run.Asker. It is not safe for concurrent use.
func (w *World) Ask(_ context.Context, q run.Question) run.Answer {
	w.Asked = append(w.Asked, q)
	if w.onAsk != nil {
		if err := w.onAsk(); err != nil {
			panic(err)
		}
		w.onAsk = nil
	}
	return w.Answer
}

// Path is the absolute path of a file of the world.
func (w *World) Path(rel string) string { return filepath.Join(w.Root, rel) }

// Call carries one call out.
func (w *World) Call(name, args string) tools.Result {
	w.calls++
	return One(context.Background(), w.Host, run.Call{
		ID: fmt.Sprintf("call%d", w.calls), Name: name, Arguments: json.RawMessage(args),
	})
}

// One carries a single call out.
func One(ctx context.Context, host *run.Host, c run.Call) tools.Result {
	results, _ := run.Batch(ctx, host, []run.Call{c})
	return results[0]
}

// See makes the model see the lines first to last of a file; last 0 means all of it.
func (w *World) See(rel string, first, last int) error {
	s, err := w.Files.Read(context.Background(), w.Path(rel))
	if err != nil {
		return err
	}
	if last == 0 {
		last = s.Text.LineCount()
	}
	w.FileTime.Read(s, first, last)
	return nil
}

func (w *World) flags(t *testing.T, s string, forms map[string]string) {
	for _, word := range strings.Fields(s) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "requireRead":
			w.Env.RequireRead = value == "true"
		case "apply":
			w.Host.Apply = filetime.Apply(value)
		case "mode":
			w.Host.Gate = gate.Mode(value)
		case "askFor", "deny": // a rule about a tool, in auto mode
			rules := []gate.Rule{{Tool: value, Name: key}}
			p := gate.Policy{Mode: gate.ModeAuto}
			if key == "deny" {
				p.Deny = rules
			} else {
				p.Ask = rules
			}
			w.Host.Gate = p
		case "answer":
			w.Answer.Outcome = map[string]run.Outcome{
				"reject": run.Rejected, "allow": run.Allowed, "cancel": run.Cancelled, "nobody": run.Unavailable,
			}[value]
		case "crlf", "bom", "noeol":
			forms[value] += key
		default:
			t.Fatalf("unknown flag %s", word)
		}
	}
}

func (w *World) step(line string, out *strings.Builder) error {
	verb, rest, _ := strings.Cut(line, " ")
	name, rest, _ := strings.Cut(rest, " ")
	path := w.Path(name)
	switch verb {
	case "see":
		first, last := 1, 0
		if rest != "" {
			if _, err := fmt.Sscan(rest, &first, &last); err != nil {
				return err
			}
		}
		return w.See(name, first, last)
	case "type", "replace", "outside":
		author := filetime.User
		if verb == "outside" {
			author = filetime.Disk
		}
		return w.change(path, rest, verb == "type", author)
	case "during":
		w.Files.Enter = func(filetime.Change) {
			w.Files.Enter = nil
			if err := w.change(path, rest, false, filetime.User); err != nil {
				panic(err)
			}
		}
		return nil
	case "asking":
		w.onAsk = func() error { return w.change(path, rest, false, filetime.User) }
		return nil
	case "gone":
		w.Files.Enter = func(filetime.Change) {
			w.Files.Enter = nil
			w.Files.Remove(path)
		}
		return nil
	case "remove":
		w.Files.Remove(path)
		return nil
	case "call":
		asked := len(w.Asked)
		r := w.Call(name, rest)
		fmt.Fprintf(out, "> %s %s\n", name, rest)
		for _, q := range w.Asked[asked:] {
			fmt.Fprintf(out, "asked: %s (%s)\n", q.Plan.Title, q.Reason)
			for _, d := range q.Diffs {
				out.WriteString(d.Unified)
			}
		}
		out.WriteString(strings.ReplaceAll(describe(r), w.Root, "$ROOT"))
		return nil
	}
	return fmt.Errorf("unknown verb %q", verb)
}

// change is what a person does: /regexp/ "text".
func (w *World) change(path, how string, after bool, author filetime.Author) error {
	m := regexp.MustCompile(`^/(.*)/ (".*")$`).FindStringSubmatch(how)
	if m == nil {
		return fmt.Errorf("want /regexp/ \"text\", have %s", how)
	}
	repl, err := strconv.Unquote(m[2])
	if err != nil {
		return err
	}
	content, _ := w.Files.Text(path)
	at := regexp.MustCompile("(?m)" + m[1]).FindStringIndex(content)
	if at == nil {
		return fmt.Errorf("/%s/ is nowhere in %q", m[1], content)
	}
	if after {
		at[0] = at[1]
	}
	w.Files.Type(path, text.Set{{Start: at[0], End: at[1], New: repl}}, author)
	return nil
}

// describe writes a result down.
func describe(r tools.Result) string {
	var b strings.Builder
	if r.Success {
		b.WriteString("ok\n")
	} else {
		fmt.Fprintf(&b, "%s %s\n", r.Error, r.Reason)
	}
	for line := range strings.Lines(r.Data) {
		b.WriteString("| " + strings.TrimSuffix(line, "\n") + "\n")
	}
	if r.Summary != "" && r.Success {
		fmt.Fprintf(&b, "summary: %s\n", r.Summary)
	}
	if r.Value != nil {
		var js bytes.Buffer
		enc := json.NewEncoder(&js)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r.Value); err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "value: %s", js.String())
	}
	if r.Meta.Tier != "" {
		fmt.Fprintf(&b, "tier: %s\n", r.Meta.Tier)
	}
	if r.Meta.RebasedOver > 0 {
		fmt.Fprintf(&b, "rebasedOver: %d\n", r.Meta.RebasedOver)
	}
	for _, d := range slices.Clip(r.Warnings) {
		fmt.Fprintf(&b, "warning: %s\n", d)
	}
	return b.String()
}
