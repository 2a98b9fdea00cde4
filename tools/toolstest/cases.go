// Package toolstest lets tools be tried without an editor, as the pipeline of tools/run calls them:
// from Go in a [World], and in cases written as txtar files.
package toolstest

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/jobs"
	"tandem/tools/run"
)

var update = flag.Bool("update", false, "rewrite the golden sections of txtar cases")

// Cases plays every testdata/*.txtar of the package under test with the given tools. A case is
// prose and then files:
//
//	flags          words: requireRead=false, apply=none, mode=ask, answer=reject, denyPath=GLOB, and crlf=PATH, bom=PATH, noeol=PATH,
//	               zero=PATH, which give a file that form
//	disk/PATH      a file; a content "-> TARGET" makes a symbolic link
//	buffer/PATH    a file that is open in the editor with this text
//	arg/NAME       a text: in the arguments of a call, "@arg/NAME" stands for it
//	steps          what happens, a line each:
//	               see PATH [FIRST LAST]        the model was shown the lines, or all
//	               type PATH /REGEXP/ "TEXT"    the user puts TEXT in after the match
//	               replace PATH /REGEXP/ "TEXT" the user replaces the match
//	               outside PATH /REGEXP/ "TEXT" the same, on disk
//	               during PATH /REGEXP/ "TEXT"  the user replaces the match while the next call lands
//	               asking PATH /REGEXP/ "TEXT"  the user does so before answering the next question
//	               made PATH "TEXT"             somebody makes the file while the next call lands
//	               remove PATH                  the file is deleted; gone PATH: while the next call lands
//	               call NAME {JSON}
//	               seen                         the files that count as seen, and whether as a whole
//	@out           golden: what the calls answered
//	@PATH          golden: a file that is other than it was, quoted where it is no plain text
//
// $ROOT stands for the folder of the files. go test -update rewrites the golden files.
func Cases(t *testing.T, list ...tools.Tool) {
	Prepared(t, func(*testing.T, *tools.Env, string) bool { return false }, list...)
}

// Prepared is Cases with further flags: prepare is called for each flag that is none of the above,
// once the files are there, and says whether it knows it.
func Prepared(t *testing.T, prepare func(t *testing.T, env *tools.Env, flag string) bool, list ...tools.Tool) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) { play(t, f, prepare, list) })
	}
}

func play(t *testing.T, name string, prepare func(*testing.T, *tools.Env, string) bool, list []tools.Tool) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorld(t, list...)
	w.Env.Commands.Jobs = jobs.New()
	t.Cleanup(w.Env.Commands.Jobs.Close)
	var flags, steps string
	var golden, inputs []txtar.File
	for _, f := range a.Files {
		kind, _, _ := strings.Cut(f.Name, "/")
		switch {
		case strings.HasPrefix(f.Name, "@"):
			golden = append(golden, f)
			continue
		case f.Name == "flags":
			flags = string(f.Data)
		case f.Name == "steps":
			steps = string(f.Data)
		case kind == "arg":
			if w.args == nil {
				w.args = map[string]string{}
			}
			w.args[f.Name] = string(f.Data)
		case kind != "disk" && kind != "buffer":
			t.Fatalf("%s: unknown section %s", name, f.Name)
		}
		inputs = append(inputs, f)
	}
	forms := map[string]string{}
	var rest []string
	for _, word := range strings.Fields(flags) {
		if !w.flag(word, forms) {
			rest = append(rest, word)
		}
	}
	before := map[string]string{}
	for _, f := range inputs {
		if kind, path, ok := strings.Cut(f.Name, "/"); ok && kind != "arg" {
			before[path] = form(string(f.Data), forms[path])
			w.lay(t, f.Name, before[path])
		}
	}
	for _, word := range rest {
		if !prepare(t, &w.Env, word) {
			t.Fatalf("%s: unknown flag %s", name, word)
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
	if strings.Contains(how, "zero") {
		s += "\x00"
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

// flag sets what a word of a case's flags says; false means that it does not know the word.
func (w *World) flag(word string, forms map[string]string) bool {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "requireRead":
		w.Env.RequireRead = value == "true"
	case "apply":
		w.Host.Apply = filetime.Apply(value)
	case "mode":
		w.Host.Gate = gate.Mode(value)
	case "askFor", "deny": // a rule about a tool, in auto mode
		rule := gate.Rule{Effect: gate.Ask, Tool: value, Source: key}
		if key == "deny" {
			rule.Effect = gate.Deny
		}
		w.Host.Gate = gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: []gate.Rule{rule}})
	case "denyPath": // a rule about paths of all tools
		rule := gate.Rule{Effect: gate.Deny, Tool: "*", Params: map[string]string{"path": value}, Source: "denyPath"}
		w.Host.Gate = gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: []gate.Rule{rule}})
	case "answer":
		w.Answer.Outcome = map[string]run.Outcome{
			"reject": run.Rejected, "allow": run.Allowed, "cancel": run.Cancelled, "nobody": run.Unavailable,
		}[value]
	case "crlf", "bom", "noeol", "zero":
		forms[value] += key
	default:
		return false
	}
	return true
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
	case "made":
		content, err := strconv.Unquote(rest)
		if err != nil {
			return err
		}
		w.Files.Enter = func(filetime.Change) {
			w.Files.Enter = nil
			w.Files.Put(path, content, false)
		}
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
		r := w.Call(name, w.arguments(rest))
		fmt.Fprintf(out, "> %s %s\n", name, rest)
		for _, q := range w.Asked[asked:] {
			fmt.Fprintf(out, "asked: %s (%s)\n", q.Plan.Title, q.Judged.Why)
			for _, d := range q.Diffs {
				out.WriteString(d.Unified)
			}
		}
		out.WriteString(strings.ReplaceAll(describe(r), w.Root, "$ROOT"))
		return sound(r)
	case "seen":
		w.seen(out)
		return nil
	}
	return fmt.Errorf("unknown verb %q", verb)
}

// arguments are those of a call as a case writes them.
func (w *World) arguments(s string) string {
	s = strings.ReplaceAll(s, "$ROOT", w.Root)
	for name, content := range w.args {
		raw, err := json.Marshal(strings.ReplaceAll(content, "$ROOT", w.Root))
		if err != nil {
			panic(err)
		}
		s = strings.ReplaceAll(s, `"@`+name+`"`, string(raw))
	}
	return s
}

// seen lists the files of which the model was shown something.
func (w *World) seen(out *strings.Builder) {
	paths := w.FileTime.Paths()
	if len(paths) == 0 {
		out.WriteString("seen: nothing\n")
	}
	for _, p := range paths {
		views, err := w.FileTime.Assert(filetime.Snapshot{Path: p, Exists: true}, false)
		if err != nil {
			fmt.Fprintf(out, "seen: %s: %v\n", w.Env.Paths.Rel(p), err)
		}
		for _, v := range views {
			fmt.Fprintf(out, "seen: %s, %s\n", w.Env.Paths.Rel(p), map[bool]string{true: "whole", false: "part"}[v.Whole])
		}
	}
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
