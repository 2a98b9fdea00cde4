package tools_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/filetime/text"
	"tandem/tools"
)

type noArgs struct{}

func named(name string, aliases ...string) tools.Tool {
	return tools.Define(tools.Definition[noArgs]{
		Spec: tools.Spec{Name: name, Aliases: aliases, Kind: tools.Read},
		Plan: func(context.Context, *tools.Env, noArgs) (*tools.Plan, error) { return nil, nil },
	})
}

func registry(t *testing.T, list ...tools.Tool) *tools.Registry {
	t.Helper()
	r := tools.NewRegistry()
	for _, x := range list {
		if err := r.Register(x); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func names(list []tools.Tool) (out []string) {
	for _, t := range list {
		out = append(out, t.Spec().Name)
	}
	return out
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestF016Names(t *testing.T) {
	r := registry(t, named("read_file", "read", "Read", "view"), named("glob"))
	for _, n := range []string{"read_file", "READ_FILE", "Read", "view"} {
		if x := r.Get(n); x == nil || x.Spec().Name != "read_file" {
			t.Errorf("%s: %v", n, x)
		}
	}
	for _, n := range []string{"", "readfile", "cat"} {
		if r.Get(n) != nil {
			t.Errorf("%s is a tool", n)
		}
	}
	equal(t, "sorted", names(r.List()), []string{"glob", "read_file"})
}

func TestF017TakenNames(t *testing.T) {
	r := registry(t, named("read_file", "read"))
	for _, x := range []tools.Tool{
		named("read_file"), named("READ"), named("other", "Read"), named("new", "fresh", "read_FILE"),
	} {
		err := r.Register(x)
		if err == nil || !strings.Contains(err.Error(), "taken by tool read_file") {
			t.Errorf("%s: %v", x.Spec().Name, err)
		}
	}
	equal(t, "unchanged", names(r.List()), []string{"read_file"})
	if r.Get("fresh") != nil {
		t.Error("a part of a refused tool is there")
	}
	if r.Register(named(" ")) == nil {
		t.Error("a tool without a name was taken")
	}
}

func TestF003Unregister(t *testing.T) {
	r := registry(t, named("read_file", "read"))
	equal(t, "by alias", []bool{r.Unregister("READ"), r.Unregister("read_file")}, []bool{true, false})
	if r.Get("read") != nil || r.Get("read_file") != nil {
		t.Error("still there")
	}
	if err := r.Register(named("read")); err != nil {
		t.Errorf("the name is not free: %v", err)
	}
}

func TestF004Disabled(t *testing.T) {
	r := registry(t, named("read_file", "read"), named("bash"))
	r.SetDisabled([]string{"Read", "to_come"})
	if r.Get("read_file") != nil {
		t.Error("disabling by an alias does not work")
	}
	equal(t, "by", []string{r.DisabledBy("read"), r.DisabledBy("bash"), r.DisabledBy("nope")}, []string{"config", "", ""})
	equal(t, "listed", names(r.List()), []string{"bash"})
	equal(t, "all", names(r.All()), []string{"bash", "read_file"})
	if err := r.Register(named("to_come")); err != nil {
		t.Fatal(err)
	}
	equal(t, "listed", names(r.List()), []string{"bash"})
	r.SetDisabled(nil)
	equal(t, "listed", names(r.List()), []string{"bash", "read_file", "to_come"})
}

func TestF114Nearest(t *testing.T) {
	r := registry(t, named("read_file", "view"), named("edit_file", "str_replace"), named("write_file"),
		named("glob"), named("off_file"))
	r.SetDisabled([]string{"off_file"})
	for name, want := range map[string][]string{
		"read_files":  {"read_file"},
		"Edit_Fil":    {"edit_file"},
		"str_replcae": {"edit_file"},
		"globb":       {"glob"},
		"file":        {"edit_file", "read_file", "write_file"},
		"xyz":         nil,
		"":            nil,
		"of_file":     nil,
	} {
		equal(t, name, r.Nearest(name), want)
	}
	if got := r.Nearest(strings.Repeat("read_file", 100_000)); len(got) > 3 {
		t.Error(got)
	}
}

// F038: many tools, many users at once.
func TestF038Concurrently(t *testing.T) {
	r := tools.NewRegistry()
	var wg sync.WaitGroup
	for i := range 80 {
		wg.Go(func() {
			name := fmt.Sprintf("tool_%02d", i)
			if err := r.Register(named(name, name+"_alias")); err != nil {
				t.Error(err)
			}
			r.SetDisabled([]string{"tool_00"})
			r.List()
			r.Nearest(name)
			if i > 0 && r.Get(name+"_alias") == nil {
				t.Errorf("%s is not there", name)
			}
		})
	}
	wg.Wait()
	equal(t, "tools", []int{len(r.List()), len(r.All())}, []int{79, 80})
}

func numbered(t text.Text, first, last int) string {
	e := tools.Excerpt{Room: 1000, Width: 100}
	e.Lines(t, first, last)
	return e.String()
}

func TestF141Numbered(t *testing.T) {
	for _, c := range []struct {
		text        string
		first, last int
		want        string
		lines       int
	}{
		{"", 1, 9, "", 0},
		{"a\nb\n", 1, 9, "   1 | a\n   2 | b\n", 2},
		{"a\r\nb", -3, 1, "   1 | a\n", 2},
		{"\uFEFFa\rb\r", 1, 2, "   1 | a\n   2 | b\n", 2},
		{"\n\n", 2, 2, "   2 | \n", 2},
	} {
		tx := text.New(c.text)
		equal(t, fmt.Sprintf("%q", c.text), numbered(tx, c.first, c.last), c.want)
		equal(t, fmt.Sprintf("lines of %q", c.text), tools.Lines(tx), c.lines)
	}
}

func TestF024_F007Offer(t *testing.T) {
	trial := tools.Define(tools.Definition[noArgs]{
		Spec: tools.Spec{Name: "trial", Kind: tools.Read, Flag: "dreams"},
		Plan: func(context.Context, *tools.Env, noArgs) (*tools.Plan, error) { return nil, nil },
	})
	r := registry(t, named("read_file", "read"), named("bash"), named("glob"), trial)
	equal(t, "a flag that nobody has set", names(r.List()), []string{"bash", "glob", "read_file"})
	flags := map[string]bool{"dreams": true}
	r.SetOffer(nil, flags)
	equal(t, "a flag", names(r.List()), []string{"bash", "glob", "read_file", "trial"})
	flags["dreams"] = false
	equal(t, "the flags are the registry's own", names(r.List()), []string{"bash", "glob", "read_file", "trial"})
	r.SetOffer([]string{"Bash", "READ", "nothing"}, nil)
	r.SetDisabled([]string{"bash"})
	equal(t, "only some", names(r.List()), []string{"read_file"})
	if r.DisabledBy("glob") != "config" || r.DisabledBy("trial") != "config" || r.DisabledBy("read") != "" || r.Get("glob") != nil {
		t.Error("what is not on offer is not disabled")
	}
	r.SetOffer([]string{}, nil)
	equal(t, "none", len(r.List()), 0)
}
