package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"

	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/exampletool"
	"tandem/tools/foreign"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// sets are tools of every origin: those that are shipped, the template, and two of each origin from outside, of which one says nothing of
// itself and one all that it may.
func sets(t *testing.T) (list []tools.Tool, silent map[string]bool) {
	t.Helper()
	silent = map[string]bool{}
	list = append(builtin.Tools(), exampletool.New())
	for _, source := range []string{"plugin:p", "mcp:m", tools.SourceClient, tools.SourceTurn} {
		stem := strings.ReplaceAll(source, ":", "__")
		for _, spec := range []tools.Spec{
			{Name: stem + "__silent", Source: source},
			{
				Name: stem + "__told", Source: source, Description: "Looks something up. Use it for that.", Kind: tools.Read, Danger: tools.Safe,
				Class: tools.ClassRead, Together: tools.WithReads, NotDestructive: true,
			},
		} {
			tool, err := foreign.New(foreign.Spec{Spec: spec, Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"}}}`)}, nil,
				func(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
					return tools.Result{Success: true, Data: "done", Summary: "done"}, nil
				})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, tool)
			silent[spec.Name] = spec.Kind == ""
		}
	}
	return list, silent
}

// TestF254AllSets: contract, schema, safe defaults, partition and deferred loading hold for every tool, wherever it comes from.
func TestF254AllSets(t *testing.T) {
	list, silent := sets(t)
	set := toolstest.SetOf(list...)
	if len(set.List()) != len(list) {
		t.Fatalf("%d of %d tools are in the set", len(set.List()), len(list))
	}
	offer := tools.NewOffer(set.List(), 0, func(string) bool { return false })
	index := ""
	for _, tool := range offer.Full {
		if tool.Spec().Name == tools.ToolSearch {
			index = offer.Description(tool)
		}
	}
	upfront := strings.Fields("read_file list_files glob grep edit_file write_file bash clarify tool_search")
	for _, tool := range list {
		s := tool.Spec()
		t.Run(s.Name, func(t *testing.T) {
			// Contract: what a list shows of a tool is there, and known.
			if !s.Kind.Known() || !s.Class.Known() || !slices.Contains([]tools.Danger{tools.Safe, tools.Moderate, tools.Dangerous}, s.Danger) ||
				run.Source(s) == "" || tool.Title(json.RawMessage(`{}`)) == "" {
				t.Errorf("%+v", s)
			}
			if s.Source == tools.SourceBuiltin && (s.Category == "" || s.Description == "") {
				t.Errorf("a shipped tool says too little: %+v", s)
			}
			// Schema: an object, valid, the same bytes each time; what is no object is refused before anything else.
			js := tool.Schema().JSON()
			doc, err := santhosh.UnmarshalJSON(bytes.NewReader(js))
			c := santhosh.NewCompiler()
			if err == nil {
				err = c.AddResource("s.json", doc)
			}
			if err == nil {
				_, err = c.Compile("s.json")
			}
			if err != nil || !bytes.Contains(js, []byte(`"type":"object"`)) || !bytes.Equal(js, tool.Schema().JSON()) {
				t.Errorf("%s: %v", js, err)
			}
			w := toolstest.NewWorld(t, tool)
			if r := w.Call(s.Name, `[1]`); r.Error != tools.InvalidArgs || len(r.Issues) != 1 || len(w.Asked) != 0 {
				t.Errorf("%+v, asked %d times", r, len(w.Asked))
			}
			// Safe defaults: what says nothing of itself is alone, may destroy, is asked about, and is refused where nothing may change.
			quiet := silent[s.Name]
			if quiet && (s.Kind != tools.Other || s.Together != tools.Alone || s.NotDestructive || s.Danger == tools.Safe || s.Class == tools.ClassRead) {
				t.Errorf("it said nothing and is %+v", s)
			}
			for _, mode := range []gate.Mode{gate.ModeReadOnly, gate.ModePlan} {
				w := toolstest.NewWorld(t, tool)
				w.Host.Gate = mode
				r := w.Call(s.Name, valid(t, tool, "a.txt"))
				free := s.Kind.ReadOnly() || s.Kind == tools.Think
				if !free && s.Name != "bash" && r.Success {
					t.Errorf("%s lets it run: %+v", mode, r)
				}
			}
			// Partition: it stands beside itself as it declares; what declares nothing, or changes something, does not.
			w = toolstest.NewWorld(t, tool)
			call := run.Call{Name: s.Name, Arguments: json.RawMessage(valid(t, tool, "a.txt"))}
			batches := run.Partition(w.Host, []run.Call{call, call})
			together := len(batches) == 1
			if together != (s.Together == tools.WithReads && !s.InOrder) && s.Together != tools.Commands && !s.InOrder || together && quiet {
				t.Errorf("declared %v, together %v", s.Together, together)
			}
			// Deferred loading: what is always needed, and what is of one turn, is never deferred; the others are named in a line.
			named := slices.Contains(offer.Named, tool)
			always := slices.Contains(upfront, s.Name) || s.Source == tools.SourceTurn
			if named == always || named == slices.Contains(offer.Full, tool) {
				t.Errorf("named %v, full %v", named, slices.Contains(offer.Full, tool))
			}
			if named && !strings.Contains(index+"\n", "\n- "+s.Name+":") && !strings.Contains(index+"\n", "\n- "+s.Name+"\n") {
				t.Errorf("tool_search does not name it:\n%s", index)
			}
		})
	}
}
