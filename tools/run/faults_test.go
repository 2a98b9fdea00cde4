package run_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

// committed are files that note the changes which are to land.
type committed struct {
	filetime.Files
	all []filetime.FileEdit
}

func (c *committed) Commit(ctx context.Context, change filetime.Change) (filetime.Landed, error) {
	c.all = append(c.all, change.Files...)
	return c.Files.Commit(ctx, change)
}

// TestFaultT19AuditRefusal: what cannot be recorded first is not done, and the call says why; what only reads goes on.
func TestFaultT19AuditRefusal(t *testing.T) {
	for _, full := range []bool{false, true} {
		read := 0
		w := toolstest.NewWorld(t, write.New(), needing(tools.Spec{Name: "look", Kind: tools.Read}, func(context.Context, *tools.Env) (tools.Result, error) {
			read++
			return done("seen"), nil
		}, tools.Need{Act: tools.Nothing}))
		files := &committed{Files: w.Host.Files}
		w.Host.Files, w.Host.Audit = files, &ledger{full: full}
		r := w.Call("write_file", `{"path":"a","content":"x"}`)
		if landed := len(files.all) > 0; r.Success == full || landed == full || full && (r.Error != tools.GateDenied || r.Denial == nil || r.Denial.Layer != "audit") {
			t.Errorf("full %v: %d changes landed: %+v", full, len(files.all), r)
		}
		if r := w.Call("look", `{}`); !r.Success || read != 1 {
			t.Errorf("full %v: %+v", full, r)
		}
	}
}

// TestFaultT19FurtherNames: a change lands only in a file with one name, unless the further ones (hard links) were there when it was judged.
func TestFaultT19FurtherNames(t *testing.T) {
	for _, linked := range []bool{false, true} {
		w := toolstest.NewWorld(t, write.New())
		w.Env.Paths.InPlace = func(string) bool { return true }
		path := filepath.Join(w.Root, "a")
		err := os.WriteFile(path, []byte("1\n"), 0o600)
		if err == nil && linked {
			err = os.Link(path, path+"2")
		}
		if err == nil {
			err = w.See("a", 1, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		files := &committed{Files: w.Host.Files}
		w.Host.Files, w.Host.Gate = files, gate.ModeAsk
		w.Host.Asker = asking(func(q run.Question) run.Answer {
			asked++
			return run.Answer{Outcome: run.Allowed}
		})
		r := w.Call("write_file", `{"path":"a","content":"x"}`)
		wrong := func(e filetime.FileEdit) bool { return e.OneName == linked }
		if !r.Success || asked != 1 || len(files.all) == 0 || slices.ContainsFunc(files.all, wrong) {
			t.Errorf("linked %v: asked %d times, %+v: %+v", linked, asked, files.all, r)
		}
	}
}

// TestFaultT19MayReadUnasked: a file about which read_file would ask is not read beside a tool's own.
func TestFaultT19MayReadUnasked(t *testing.T) {
	for effect, want := range map[gate.Verdict]bool{gate.Allow: true, gate.Ask: false, gate.Deny: false} {
		w := toolstest.NewWorld(t)
		place, err := w.Env.Paths.Writable("a")
		if err != nil {
			t.Fatal(err)
		}
		asked, may := false, false
		w.Host.Tools = toolstest.SetOf(
			needing(tools.Spec{Name: "x", Kind: tools.Read}, func(_ context.Context, env *tools.Env) (tools.Result, error) {
				asked, may = true, env.Judged.MayRead(place)
				return done("x"), nil
			}, tools.Need{Act: tools.Reads, Place: place}),
			needing(tools.Spec{Name: tools.ReadFile, Kind: tools.Read}, says, tools.Need{Act: tools.Reads, Place: place}),
		)
		rule := gate.Rule{Effect: effect, Tool: tools.ReadFile, Params: map[string]string{"path": "a"}, Source: "s"}
		w.Host.Gate = gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: []gate.Rule{rule}})
		if w.Call("x", `{}`); !asked || may != want {
			t.Errorf("with a rule that says %v it may read: %v", effect, may)
		}
	}
}
