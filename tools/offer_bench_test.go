package tools_test

import (
	"fmt"
	"testing"

	"tandem/tools"
	"tandem/tools/toolstest"
)

// BenchmarkOffer is what each request of a session with 100 tools takes for the question which of them it shows, and how.
func BenchmarkOffer(b *testing.B) {
	var list []tools.Tool
	for i := range 99 {
		list = append(list, plain(fmt.Sprintf("tool_%02d", i), "Does it. Use it for that.", "client"))
	}
	set := toolstest.SetOf(append(list, plain(tools.ToolSearch, "Finds tools.", ""))...)
	for b.Loop() {
		o := tools.NewOffer(set.List(), 24, func(name string) bool { return name == "tool_07" })
		for _, t := range o.Full {
			_ = o.Description(t)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	var list []tools.Tool
	for i := range 100 {
		list = append(list, plain(fmt.Sprintf("tool_%02d", i), "Does what is asked for. Use it for that, and not for anything else.", "client"))
	}
	for b.Loop() {
		if found, _ := tools.Find(list, "ask for tool 42", 5); len(found) != 5 {
			b.Fatal(found)
		}
	}
}
