package builtin_test

import (
	"encoding/json"
	"testing"

	"tandem/tools/builtin"
	"tandem/tools/schema"
)

// What is shown of a built-in tool is what a service takes as it is: made so once more it stays the same.
func TestShownAsServicesTakeIt(t *testing.T) {
	for _, x := range builtin.Tools() {
		again, err := schema.Lenient(x.Schema().Shown())
		if err != nil || string(again.Shown()) != string(x.Schema().Shown()) {
			t.Errorf("%s: %v\n%s\n%s", x.Spec().Name, err, x.Schema().Shown(), again.Shown())
		}
	}
}

// Every parameter is described to the model, those inside others too.
func TestF060EveryParameterIsDescribed(t *testing.T) {
	type node struct {
		Description string
		Properties  map[string]json.RawMessage
		Items       json.RawMessage
	}
	seen := 0
	var look func(name string, raw json.RawMessage)
	look = func(name string, raw json.RawMessage) {
		var n node
		if len(raw) == 0 || json.Unmarshal(raw, &n) != nil {
			return
		}
		for p, below := range n.Properties {
			var of node
			if seen++; json.Unmarshal(below, &of) != nil || of.Description == "" {
				t.Errorf("%s.%s has no description", name, p)
			}
			look(name+"."+p, below)
		}
		look(name+"[]", n.Items)
	}
	for _, x := range builtin.Tools() {
		look(x.Spec().Name, x.Schema().JSON())
		look(x.Spec().Name+" as it is shown", x.Schema().Shown())
	}
	if seen < 30 {
		t.Errorf("%d parameters", seen)
	}
}
