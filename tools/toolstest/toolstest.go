// Package toolstest runs one call of a tool for each txtar file and compares what came of it.
//
// A case has these sections; what begins with @ is compared, and rewritten by go test -update:
//
//	flags         words that the tool's test understands
//	disk/PATH     a file; a content "-> TARGET" makes a symbolic link, "fifo" in flags no file at all
//	buffer/PATH   the unsaved text of an open document
//	call          a tool's name and its arguments
//	@data         what the model reads
//	@error        code and reason
//	@result       the structured data, $W standing for the workspace
//	@seen         the lines that count as seen, a file each
package toolstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/tools"
)

var update = flag.Bool("update", false, "rewrite the @ sections of the case files")

// Files are the files of a test: the disk below one directory, and buffers over it. It can only be read.
type Files struct {
	Dir     string
	Buffers map[string]string
}

// Read gives the buffer, else what the disk has.
func (f *Files) Read(_ context.Context, path string) (filetime.Snapshot, error) {
	s := filetime.Snapshot{Path: path, Rev: 1, Exists: true}
	if b, ok := f.Buffers[path]; ok {
		s.Text, s.Open, s.Dirty, s.Version = text.New(b), true, true, 7
		return s, nil
	}
	info, err := os.Lstat(path)
	refuse := func(code filetime.Code, reason, message string) (filetime.Snapshot, error) {
		return s, &filetime.Error{Code: code, Reason: reason, Path: path, Message: message}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Exists = false
		return s, nil
	case err != nil:
		return refuse(filetime.ReadError, "unreadable", err.Error())
	case info.IsDir():
		return refuse(filetime.IsDirectory, "is_directory", path+" is a directory, not a file.")
	case !info.Mode().IsRegular():
		return refuse(filetime.ReadError, "not_regular", "It is no regular file.")
	case info.Size() > 1<<20:
		return s, filetime.TooLarge(path, info.Size(), 1<<20)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return refuse(filetime.ReadError, "unreadable", err.Error())
	}
	if bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) {
		return refuse(filetime.BinaryFile, "", "It is binary.")
	}
	s.Text, s.Mode = text.New(string(b)), info.Mode()
	return s, nil
}

// History knows of no changes.
func (f *Files) History(path string, _ uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	s, err := f.Read(context.Background(), path)
	return nil, s, err == nil
}

// Commit refuses.
func (f *Files) Commit(context.Context, filetime.Change) (filetime.Landed, error) {
	return filetime.Landed{}, errors.New("toolstest: the files cannot be changed")
}

// Lock locks nothing.
func (f *Files) Lock(context.Context, ...string) (func(), error) { return func() {}, nil }

// runner starts the commands of all workspaces: what waits for the next one waits for those of all.
var runner sandbox.Local

// Workspace lays the files of an archive out and makes the environment of a call in them, with commands run for real.
func Workspace(t testing.TB, a *txtar.Archive) *tools.Env {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := &Files{Dir: dir, Buffers: map[string]string{}}
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "buffer/"); ok {
			files.Buffers[filepath.Join(dir, name)] = string(f.Data)
		} else if name, ok := strings.CutPrefix(f.Name, "disk/"); ok {
			lay(t, filepath.Join(dir, name), string(f.Data))
		}
	}
	return &tools.Env{
		Session: "s", Call: "c", Turn: 1,
		Paths:    &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}},
		Files:    files,
		FileTime: filetime.New(files, "s", nil),
		Open:     func() []string { return slices.Sorted(maps.Keys(files.Buffers)) },
		Runner:   &runner,
		Helpers:  &runner,
		Limits: tools.Limits{
			MaxToolOutputChars: 30_000, MaxReadBytes: 51_200, MaxFileBytes: 1 << 20, BashTimeout: 30 * time.Second,
			KillGrace: 50 * time.Millisecond,
		},
		Now: time.Now,
	}
}

func lay(t testing.TB, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if target, ok := strings.CutPrefix(content, "-> "); ok && err == nil {
		err = os.Symlink(strings.TrimSpace(target), path)
	} else if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Call carries one call out as the pipeline does, without its gates: arguments are checked, errors become results.
func Call(ctx context.Context, tool tools.Tool, env *tools.Env, args string) (tools.Result, *tools.Plan) {
	checked := tool.Schema().Check(json.RawMessage(args), true)
	if len(checked.Issues) > 0 {
		r := tools.Fail(tools.InvalidArgs, "", "Parameter validation failed:")
		for _, i := range checked.Issues {
			r.Data += "\n" + i.Message
		}
		r.Issues = checked.Issues
		return r, nil
	}
	needs, err := tool.Needs(env, checked.Args)
	if err != nil {
		return failure(ctx, env, err), nil
	}
	plan, err := tool.Plan(ctx, env, checked.Args)
	if err != nil {
		return failure(ctx, env, err), nil
	}
	if plan.Needs == nil {
		plan.Needs = needs
	}
	r, err := plan.Run(ctx)
	if err != nil {
		return failure(ctx, env, err), plan
	}
	return r, plan
}

// failure is an error as the pipeline words it.
func failure(ctx context.Context, env *tools.Env, err error) tools.Result {
	var refusal *tools.Refusal
	var fe *filetime.Error
	var pe *sandbox.PathError
	switch {
	case errors.As(err, &refusal):
		return refusal.Result
	case errors.As(err, &fe):
		return tools.Refused(ctx, env, fe)
	case errors.As(err, &pe):
		return tools.Fail(filetime.Code(pe.Code), pe.Reason, "%s", pe.Message)
	}
	return tools.Fail(tools.ExecutionError, "", "Exception: %v", err)
}

// Run runs every case of testdata. prepare, which may be nil, may change the environment of a case by its flags.
func Run(t *testing.T, tool func(flags []string) tools.Tool, prepare func(t *testing.T, env *tools.Env, flags []string)) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			flags := strings.Fields(section(a, "flags"))
			env := Workspace(t, a)
			if prepare != nil {
				prepare(t, env, flags)
			}
			name, args, _ := strings.Cut(strings.TrimSpace(section(a, "call")), " ")
			chosen := tool(flags)
			if spec := chosen.Spec(); !strings.EqualFold(name, spec.Name) && !slices.ContainsFunc(spec.Aliases, func(s string) bool {
				return strings.EqualFold(s, name)
			}) {
				t.Fatalf("%s is not called %s", spec.Name, name)
			}
			dir := env.Paths.Cwd
			r, _ := Call(t.Context(), chosen, env, strings.ReplaceAll(args, "$W", dir))
			sound(t, r)
			compare(t, file, a, outcome(env, r, dir))
		})
	}
}

// sound checks what holds for every result.
func sound(t *testing.T, r tools.Result) {
	t.Helper()
	if r.Success != (r.Error == "") || strings.TrimSpace(r.Data) == "" || !utf8.ValidString(r.Data) {
		t.Errorf("a result that is none: %+v", r)
	}
	if r.Success && r.Summary == "" {
		t.Error("no summary for a person")
	}
}

func outcome(env *tools.Env, r tools.Result, dir string) map[string]string {
	out := map[string]string{"@data": r.Data, "@error": "", "@result": "", "@seen": ""}
	if !r.Success {
		out["@error"] = strings.TrimSpace(string(r.Error) + " " + r.Reason)
	}
	if r.Value != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r.Value); err != nil {
			out["@result"] = err.Error()
		}
		out["@result"] = b.String()
	}
	for _, p := range env.FileTime.Paths() {
		_, views, err := env.FileTime.Assert(context.Background(), p, false)
		for _, v := range views {
			what := "part"
			if v.Whole {
				what = "whole"
			}
			out["@seen"] += fmt.Sprintf("%s %s\n", env.Paths.Rel(p), what)
		}
		if err != nil {
			out["@seen"] += err.Error() + "\n"
		}
	}
	for name, s := range out {
		s = strings.ReplaceAll(s, dir, "$W")
		if s != "" && !strings.HasSuffix(s, "\n") {
			s += "\n"
		}
		out[name] = s
	}
	return out
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func compare(t *testing.T, file string, a *txtar.Archive, got map[string]string) {
	t.Helper()
	if *update {
		a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "@") })
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if got[name] != "" {
				a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got[name])})
			}
		}
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, s := range got {
		if want := section(a, name); s != want {
			t.Errorf("%s: %s is\n%s\nwant\n%s", file, name, s, want)
		}
	}
}
