package patch_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"tandem/tools"
	"tandem/tools/edit"
	"tandem/tools/gate"
	"tandem/tools/patch"
	"tandem/tools/read"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Cases(t, patch.New(), edit.New(), read.New()) }

func TestF161Variants(t *testing.T) { toolstest.Variants(t, patch.New(), edit.New()) }

// TestNeeds: what a patch is judged as, each file once; nothing of it is less than what becomes of the file.
func TestNeeds(t *testing.T) {
	w := toolstest.NewWorld(t, patch.New())
	const change, other = "\n@@\n-x\n+y\n", "\n@@\n-p\n+q\n"
	for text, want := range map[string]string{
		"*** Add File: a\n+x":                                                                                        "create a",
		"*** Update File: a" + change:                                                                                "edit a",
		"*** Delete File: a":                                                                                         "replace a (delete)",
		"*** Delete File: a\n*** Add File: a\n+x":                                                                    "replace a",
		"*** Update File: a\n*** Move to: b":                                                                         "replace a (move), create b",
		"*** Update File: a" + change + "*** Update File: a" + other:                                                 "edit a",
		"*** Update File: a\n*** Move to: b" + change + "*** Update File: a" + other:                                 "replace a (move), create b",
		"*** Update File: a" + change + "*** Update File: a\n*** Move to: b" + other:                                 "replace a (move), create b",
		"*** Update File: a\n*** Move to: b\n*** Update File: a\n*** Move to: c":                                     "line 3: a is in the operation at line 1 too",
		"*** Update File: a" + change + "*** Delete File: a":                                                         "line 5: a is in the operation at line 1 too",
		"*** Delete File: a\n*** Update File: a" + change:                                                            "line 2: a is in the operation at line 1 too",
		"*** Add File: a\n+x\n*** Add File: a\n+y":                                                                   "line 3: a is in the operation at line 1 too",
		"*** Add File: a\n*** Add File: c\n*** Update File: b\n*** Move to: c":                                       "line 3: c is in the operation at line 2 too",
		"*** Add File: c\n*** Update File: b\n*** Move to: d\n*** Update File: d" + change:                           "create c, replace b (move), create d",
		"*** Update File: a" + change + "*** Update File: a\n*** Move to: b" + other + "*** Update File: b" + change: "replace a (move), create b",
		"*** Update File: a\n*** Move to: a":                                                                         "line 1: a is in the operation at line 1 too",
		"*** Add File: b\n*** Update File: a\n*** Move to: a":                                                        "line 2: a is in the operation at line 2 too",
	} {
		args, err := json.Marshal(map[string]string{"patch": text})
		if err != nil {
			t.Fatal(err)
		}
		needs, err := patch.New().Needs(&w.Env, args)
		var list []string
		for _, n := range needs {
			act := map[tools.Act]string{tools.Creates: "create", tools.Edits: "edit", tools.Replaces: "replace"}[n.Act]
			if list = append(list, act+" "+n.Place.Rel()); n.Does != "" {
				list[len(list)-1] += " (" + string(n.Does) + ")"
			}
			if n.Written != n.Place.Rel() || n.Arg != tools.PathArg {
				t.Errorf("%s: %+v", text, n)
			}
		}
		got := strings.Join(list, ", ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestDeleteOfSeenBytes: a file that is no text is deleted if it is what the model was shown, or was never shown; not if it has changed since.
func TestDeleteOfSeenBytes(t *testing.T) {
	const png = "\x89PNG\x00one"
	for name, c := range map[string]struct {
		shown, now string
		deleted    bool
	}{
		"as it was shown":  {png, png, true},
		"never shown":      {"", png, true},
		"changed since":    {png, png + "\x00", false},
		"another since":    {png, "\x89PNG\x00two", false},
		"smaller than was": {png, "\x00", false},
	} {
		w := toolstest.NewWorld(t, patch.New())
		at := w.Path("logo.png")
		if err := os.WriteFile(at, []byte(c.now), 0o644); err != nil {
			t.Fatal(err)
		}
		if c.shown != "" {
			w.Env.FileTime.ReadBytes(at, sha256.Sum256([]byte(c.shown)))
		}
		r := w.Call("patch", `{"patch":"*** Delete File: logo.png"}`)
		if _, err := os.Lstat(at); r.Success != c.deleted || (err != nil) != c.deleted {
			t.Errorf("%s: %v, %s %s", name, err, r.Error, r.Data)
		}
	}
}

// TestF201CommonFolder: the rule of an answer is about the folder that the files have in common.
func TestF201CommonFolder(t *testing.T) {
	w := toolstest.NewWorld(t, patch.New())
	policy := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: w.Root})
	judge := func(p *gate.Policy, lines ...string) gate.Decision {
		t.Helper()
		args, err := json.Marshal(map[string]string{"patch": strings.Join(lines, "\n")})
		if err != nil {
			t.Fatal(err)
		}
		tool := patch.New()
		needs, err := tool.Needs(&w.Env, args)
		if err != nil {
			t.Fatal(err)
		}
		return p.Judge(gate.Call{Tool: tool, Args: args, Needs: needs})
	}
	for _, tt := range []struct{ patch, allows, denies string }{
		{"*** Add File: src/a/x\n*** Add File: src/a/y", "src/a/**", "src/a/{x,y}"},
		{"*** Add File: src/a/x\n*** Add File: src/b/c/y", "src/**", "src/{a/x,b/c/y}"},
		{"*** Add File: src/a/x", "src/a/**", "src/a/x"},
		{"*** Add File: x\n*** Add File: y", "*", "{x,y}"},
		{"*** Add File: x\n*** Add File: src/y", "", ""},
		{"*** Add File: src/a,b\n*** Add File: src/{c}", "src/**", `src/{a\,b,\{c\}}`},
	} {
		d := judge(policy, tt.patch)
		if d.Verdict != gate.Ask || (d.Allows == nil) != (tt.allows == "") || (d.Denies == nil) != (tt.denies == "") || d.Edits == nil {
			t.Fatalf("%q: %+v", tt.patch, d)
		}
		if d.Allows == nil {
			continue
		}
		if a, n := d.Allows.In(w.Root).Params["path"], d.Denies.In(w.Root).Params["path"]; a != tt.allows || n != tt.denies {
			t.Errorf("%q: allows %s, denies %s", tt.patch, a, n)
		}
		for effect, r := range map[gate.Verdict]gate.Rule{gate.Allow: *d.Allows, gate.Deny: *d.Denies} {
			with := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: w.Root, Rules: []gate.Rule{r}})
			if d := judge(with, tt.patch); d.Verdict != effect {
				t.Errorf("%q with %s: %+v", tt.patch, r, d)
			}
			if d := judge(with, tt.patch, "*** Add File: other/z"); effect == gate.Allow && d.Verdict != gate.Ask {
				t.Errorf("%q and a file elsewhere with %s: %+v", tt.patch, r, d)
			}
			if d := judge(with, strings.Replace(tt.patch, "Add", "Delete", 1)); effect == gate.Allow && d.Verdict != gate.Ask {
				t.Errorf("%s covers a deletion: %+v", r, d)
			}
		}
	}
}

// TestFaultW1BlanksOfNames: a name is literal where a file has it, blanks at its ends included; else those are the model's.
func TestFaultW1BlanksOfNames(t *testing.T) {
	w := toolstest.NewWorld(t, patch.New())
	for _, name := range []string{"a.txt", " a.txt", "a.txt ", "b.txt", "c.txt\t", `"quoted"`} {
		if err := os.WriteFile(w.Path(name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tool := patch.New()
	for written, want := range map[string]string{
		"a.txt": "a.txt", " a.txt": " a.txt", "a.txt ": "a.txt ", "  a.txt": "a.txt", "b.txt ": "b.txt", " b.txt": "b.txt", "b.txt\r": "b.txt",
		"c.txt\t": "c.txt\t", "new.txt ": "new.txt",
		`"b.txt"`: "b.txt", " `new.txt` ": "new.txt", "'q'.txt": "'q'.txt", `"quoted"`: `"quoted"`,
	} {
		for _, form := range []string{"*** Delete File: %s", "*** Add File: %s\n+x", "***delete file: %s", "*** Update File: b.txt\n*** Move to: %s"} {
			args, err := json.Marshal(map[string]string{"patch": "*** Begin Patch\n" + fmt.Sprintf(form, written) + "\n*** End Patch"})
			if err != nil {
				t.Fatal(err)
			}
			needs, err := tool.Needs(&w.Env, args)
			if strings.Contains(form, "Move") && want == "b.txt" {
				continue // onto itself
			}
			if err != nil || needs[len(needs)-1].Place.Path() != w.Path(want) {
				t.Errorf("%q in %q: %v, %v", written, form, needs, err)
			}
		}
	}
}

// One patch with a hundred hunks in a file of 1 MB.
func BenchmarkPatchMegabyte(b *testing.B) {
	w := toolstest.NewWorld(b, patch.New())
	var body strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&body, "line %05d of a file that is a megabyte long, all in all\n", i)
	}
	w.Files.Put(w.Path("f"), body.String(), true)
	if err := w.See("f", 1, 0); err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		from, to := "line", "LINE"
		if n%2 == 1 {
			from, to = to, from
		}
		var p strings.Builder
		p.WriteString("*** Update File: f\n")
		for i := 100; i < 20_000; i += 200 {
			fmt.Fprintf(&p, "@@\n-%s %05d of a file that is a megabyte long, all in all\n+%s %05d of a file that is a megabyte long, all in all\n", from, i, to, i)
		}
		args, err := json.Marshal(map[string]string{"patch": p.String()})
		if err != nil {
			b.Fatal(err)
		}
		if r := w.Call("patch", string(args)); !r.Success {
			b.Fatal(r.Data)
		}
	}
}
