package toolstest

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
)

// Variants plays the first call of each case in testdata in other circumstances: with the files
// open and unsaved, and with a person who types at each of many places of each file, before the
// call and while it lands. An open file changes nothing. What is typed stays, once, and the call
// does besides what it does alone, or nothing at all with EDIT_CONFLICT. Cases with further steps
// or flags are left out.
func Variants(t *testing.T, list ...tools.Tool) { variants(t, "testdata", nil, list) }

// VariantsOnDisk does the same with the cases of a folder and with files that are not open, over
// files that have the disk alone below them: what a person types is another program's writing.
func VariantsOnDisk(t *testing.T, cases string, files func(*World) filetime.Files, list ...tools.Tool) {
	variants(t, cases, files, list)
}

func variants(t *testing.T, folder string, over func(*World) filetime.Files, list []tools.Tool) {
	files, err := filepath.Glob(folder + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	cases, landed, refused := 0, 0, 0
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		v := &variant{archive: a, list: list, over: over}
		if !v.plain() {
			continue
		}
		cases++
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			alone, want := v.play(t, false, nil, nil)
			open, got := v.play(t, over == nil, nil, nil)
			if alone.Error != open.Error || !maps.Equal(want, got) {
				t.Errorf("open: %s %q, closed: %s %q\n%s", open.Error, got, alone.Error, want, open.Data)
			}
			before := v.before()
			for path, content := range before {
				for i, at := range places(content) {
					if over != nil && i%3 > 0 {
						continue
					}
					for _, early := range []bool{false, true} {
						press := func(w *World) {
							v.press(w, path, at)
						}
						now, later := press, func(*World) {}
						if !early {
							now, later = later, now
						}
						r, got := v.play(t, over == nil, now, later)
						typed := 0
						for _, s := range got {
							typed += strings.Count(s, key)
						}
						switch {
						case typed != 1:
							t.Errorf("typed at %d of %s: it is there %d times\n%q", at, path, typed, got)
						case r.Success && besides(got, want):
							landed++
						case !r.Success && !alone.Success && besides(got, before):
						case r.Error == filetime.EditConflict && besides(got, before):
							refused++
						default:
							t.Errorf("typed at %d of %s, early %t: %v %s, %q\nwant %q\n%s", at, path, early, r.Success, r.Error, got, want, r.Data)
						}
					}
				}
			}
		})
	}
	if cases == 0 || landed == 0 || refused == 0 {
		t.Errorf("%d cases, %d landed, %d refused: this tries nothing", cases, landed, refused)
	}
	t.Logf("%d cases: of %d calls while a person types %d landed and %d were refused", cases, landed+refused, landed, refused)
}

// besides says that files say what they are to say besides what was typed, which may have got a
// line of its own.
func besides(got, want map[string]string) bool {
	same := func(typed string) bool {
		bare := map[string]string{}
		for p, s := range got {
			bare[p] = strings.ReplaceAll(s, typed, "")
		}
		return maps.Equal(bare, want)
	}
	return same(key) || same(key+"\n") || same("\n"+key)
}

// key is what the person types: no file of a case has it.
const key = "⌨"

// places are where a person types: at the begin of each line, within it and at its end.
func places(s string) []int {
	var out []int
	at := 0
	for line := range strings.Lines(s) {
		end := len(strings.TrimRight(line, "\r\n"))
		middle := end / 2
		for middle > 0 && line[middle]&0xC0 == 0x80 {
			middle--
		}
		start := 0
		if strings.HasPrefix(line, "\uFEFF") {
			start = len("\uFEFF")
		}
		out = append(out, at+start, at+max(start, middle), at+end)
		at += len(line)
	}
	slices.Sort(out)
	return slices.Compact(append(out, len(s)))
}

type variant struct {
	archive *txtar.Archive
	list    []tools.Tool
	over    func(*World) filetime.Files // nil for files in memory
	flags   []string
	seen    []string
	call    string
}

// plain reads the case, and says whether it has nothing that a variant cannot have.
func (v *variant) plain() bool {
	for _, f := range v.archive.Files {
		switch {
		case f.Name == "flags":
			v.flags = strings.Fields(string(f.Data))
		case strings.HasPrefix(f.Name, "buffer/"), strings.HasPrefix(string(f.Data), "-> "):
			return false
		case f.Name == "steps":
			for line := range strings.Lines(string(f.Data)) {
				verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
				switch {
				case verb == "see" && v.call == "" && !strings.Contains(rest, " "):
					v.seen = append(v.seen, rest)
				case verb == "call" && v.call == "":
					v.call = rest
				case verb != "call":
					return false
				}
			}
		}
	}
	for _, f := range v.flags {
		if key, _, _ := strings.Cut(f, "="); key != "crlf" && key != "bom" && key != "noeol" {
			return false
		}
	}
	return v.call != ""
}

// before is the files of the case.
func (v *variant) before() map[string]string {
	forms := map[string]string{}
	for _, f := range v.flags {
		how, path, _ := strings.Cut(f, "=")
		forms[path] += how
	}
	out := map[string]string{}
	for _, f := range v.archive.Files {
		if path, ok := strings.CutPrefix(f.Name, "disk/"); ok {
			out[path] = form(string(f.Data), forms[path])
		}
	}
	return out
}

// play plays the call. early happens before it, late while it lands, or after it where it does not
// come to that.
func (v *variant) play(t *testing.T, open bool, early, late func(*World)) (tools.Result, map[string]string) {
	t.Helper()
	w := NewWorld(t, v.list...)
	for _, f := range v.archive.Files {
		if strings.HasPrefix(f.Name, "arg/") {
			if w.args == nil {
				w.args = map[string]string{}
			}
			w.args[f.Name] = string(f.Data)
		}
	}
	for path, content := range v.before() {
		w.lay(t, "disk/"+path, content)
		if open {
			w.Files.Put(w.Path(path), content, true)
		}
	}
	entered := false
	enter := func(filetime.Change) {
		if late != nil && !entered {
			entered = true
			late(w)
		}
	}
	w.Files.Enter = enter
	if v.over != nil {
		w.Host.Files = &entering{v.over(w), enter}
		w.FileTime = filetime.New(w.Host.Files, "s", nil)
		w.Env.FileTime, w.Env.Searches.Unsaved = w.FileTime, nil
	}
	for _, path := range v.seen {
		s, err := w.Host.Files.Read(t.Context(), w.Path(path))
		if err != nil {
			t.Fatal(err)
		}
		w.FileTime.Read(s, 1, s.Text.LineCount())
	}
	if early != nil {
		early(w)
	}
	name, rest, _ := strings.Cut(v.call, " ")
	r := w.Call(name, w.arguments(rest))
	enter(filetime.Change{})
	if v.over != nil {
		if s, ok := w.Host.Files.(*entering).Files.(interface{ Settle() }); ok {
			s.Settle()
		}
		return r, onDisk(t, w.Root)
	}
	out := map[string]string{}
	for path := range v.before() {
		if content, exists := w.Files.Text(w.Path(path)); exists {
			out[path] = content
		}
	}
	for _, path := range w.Files.Paths() {
		if content, exists := w.Files.Text(path); exists {
			out[strings.TrimPrefix(path, w.Root+"/")] = content
		}
	}
	return r, out
}

// entering is files whose commits are told of before they begin.
type entering struct {
	filetime.Files
	enter func(filetime.Change)
}

func (e *entering) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	if c.Apply != filetime.None {
		e.enter(c)
	}
	return e.Files.Commit(ctx, c)
}

// press puts the key into a file at an offset.
func (v *variant) press(w *World, path string, at int) {
	set := text.Set{{Start: at, End: at, New: key}}
	if v.over == nil {
		w.Files.Type(w.Path(path), set, filetime.User)
		return
	}
	raw, err := os.ReadFile(w.Path(path))
	if err == nil {
		err = os.WriteFile(w.Path(path), []byte(set.Apply(text.New(string(raw))).String()), 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // after the call it may be elsewhere
		panic(err)
	}
}

// onDisk is the files below a folder.
func onDisk(t *testing.T, root string) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, root+"/")] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
