package tools_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/tools"
	"tandem/tools/toolstest"
)

type anything struct {
	Field string `json:"field,omitempty" desc:"What is meant."`
}

func plain(name, about, source string) tools.Tool {
	return tools.Define(tools.Definition[anything]{
		Spec: tools.Spec{Name: name, Description: about, Kind: tools.Read, Source: source, Deferred: source == "rare"},
		Plan: func(context.Context, *tools.Env, anything) (*tools.Plan, error) { return nil, nil },
	})
}

func namesIn(list []tools.Tool) (out []string) {
	for _, t := range list {
		out = append(out, t.Spec().Name)
	}
	return out
}

// Whatever is loaded, the tools that were in the request stay in their order, the lines stay the same, and nothing is lost.
func TestF027OfferLaws(t *testing.T) {
	fixed := []string{"bash", "read_file", "tool_search", "write_file", "spawn_agent"}
	rapid.Check(t, func(t *rapid.T) {
		var list []tools.Tool
		for _, n := range fixed {
			list = append(list, plain(n, "Does "+n+".", ""))
		}
		n := rapid.IntRange(0, 30).Draw(t, "tools")
		for i := range n {
			list = append(list, plain(fmt.Sprintf("tool_%02d", i), "Does it.", rapid.SampledFrom([]string{"", "client", "turn", "mcp:x", "rare"}).Draw(t, "source")))
		}
		list = toolstest.SetOf(list...).List()
		threshold := rapid.IntRange(0, 30).Draw(t, "threshold")
		loaded := map[string]bool{}
		before := tools.NewOffer(list, threshold, func(n string) bool { return loaded[n] })
		for range rapid.IntRange(0, 5).Draw(t, "loads") {
			loaded[fmt.Sprintf("tool_%02d", rapid.IntRange(0, 30).Draw(t, "load"))] = true
		}
		after := tools.NewOffer(list, threshold, func(n string) bool { return loaded[n] })
		if !slices.IsSorted(namesIn(after.Full)) || !slices.IsSorted(namesIn(after.Named)) || !slices.Equal(before.Named, after.Named) {
			t.Fatalf("%v %v", namesIn(after.Full), namesIn(after.Named))
		}
		if kept := slices.DeleteFunc(slices.Clone(after.Full), func(x tools.Tool) bool { return !slices.Contains(before.Full, x) }); !slices.Equal(kept, before.Full) {
			t.Fatalf("reordered: %v, then %v", namesIn(before.Full), namesIn(after.Full))
		}
		search := slices.ContainsFunc(after.Full, func(x tools.Tool) bool { return x.Spec().Name == tools.ToolSearch })
		want := len(list)
		if !search {
			want--
		}
		others := 0
		for _, x := range list {
			if s := x.Spec(); s.Source != "rare" && s.Source != "mcp:x" && s.Name != tools.ToolSearch {
				others++
			}
		}
		if len(after.All()) != want || search != (len(after.Named) > 0) || after.Over != (others > threshold) {
			t.Fatalf("%d of %d tools, threshold %d, tool_search %v", len(after.All()), len(list), threshold, search)
		}
		for _, x := range after.Named {
			s := x.Spec()
			if slices.Contains(fixed, s.Name) || s.Source == tools.SourceTurn || after.Deferred(x) == loaded[s.Name] ||
				!after.Over && s.Source != "rare" && s.Source != "mcp:x" || after.Hides(x) != (after.Deferred(x) && (after.Over || s.Source != "rare")) {
				t.Fatalf("%+v", s)
			}
		}
	})
}

// A tool of an MCP server is told in one line, however few there are, until it was loaded.
func TestF031Summaries(t *testing.T) {
	list := toolstest.SetOf(
		plain("tool_search", "Finds.", ""), plain("move_file", "Moves.", ""), plain("mcp__x__echo", "(MCP server x) Says it. Use it so.", "mcp:x"),
	).List()
	o := tools.NewOffer(list, 24, func(string) bool { return false })
	if got := fmt.Sprint(namesIn(o.Full), namesIn(o.Named)); got != "[move_file tool_search] [mcp__x__echo]" {
		t.Error(got)
	}
	if d := o.Description(o.Full[1]); !strings.Contains(d, "mcp__x__echo: (MCP server x) Says it") {
		t.Error(d)
	}
	o = tools.NewOffer(list, 24, func(name string) bool { return name == "mcp__x__echo" })
	if got := fmt.Sprint(namesIn(o.Full)); got != "[mcp__x__echo move_file tool_search]" {
		t.Error(got)
	}
}

// A line has a summary where that says more than the name.
func TestFindingC7SummaryThatSaysMore(t *testing.T) {
	for _, c := range []struct{ name, about, line string }{
		{"web_search", "Searches the web. Use it so.", ""},
		{"task_list", "Lists your tasks", ""},
		{"mcp__x__echo", "Echo. It says what it is told.", ""},
		{"nothing_known", "", ""},
		{"task_list", "Lists your open tasks", ": Lists your open tasks"},
		{"undo_turn", "Undoes all changes of a turn", ": Undoes all changes of a turn"},
		{"fetch", "Gets a web page", ": Gets a web page"},
		{"do", "Donates", ": Donates"},
		{"dump", "列出表格", ": 列出表格"},
	} {
		list := toolstest.SetOf(plain("tool_search", "Finds.", ""), plain(c.name, c.about, "rare")).List()
		o := tools.NewOffer(list, 24, func(string) bool { return false })
		if got, want := o.Description(o.Full[0]), "Finds.\n\n- "+c.name+c.line; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Where a model could not search, nothing is deferred.
func TestF027NothingIsDeferredWithoutASearch(t *testing.T) {
	var list []tools.Tool
	for i := range 40 {
		list = append(list, plain(fmt.Sprintf("tool_%02d", i), "Does it.", ""))
	}
	if o := tools.NewOffer(list, 0, func(string) bool { return false }); len(o.Full) != 40 || len(o.Named) != 0 || o.Saved() != 0 {
		t.Errorf("%d %d %d", len(o.Full), len(o.Named), o.Saved())
	}
}

func TestSummary(t *testing.T) {
	for about, want := range map[string]string{
		"":                               "",
		"Moves a file. Use it for that.": "Moves a file",
		"Moves\n\n a file\t now":         "Moves a file now",
		"Reads a.txt":                    "Reads a.txt",
		strings.Repeat("ü", 200):         strings.Repeat("ü", 119) + "…",
		"Hides \u202e. nothing":          `Hides \u{202e}`,
	} {
		if got := (tools.Spec{Description: about}).Summary(); got != want {
			t.Errorf("%q: %q, want %q", about, got, want)
		}
	}
}
