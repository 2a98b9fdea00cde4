package agent

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tandem/tools/run"
)

// TestCallIDs gives no id twice, whoever asks for which in what order, and refuses a batch as a whole.
func TestCallIDs(t *testing.T) {
	name := rapid.SampledFrom([]string{"", "a", "b", "call_0", "call_1", "call_2", "server_1"})
	rapid.Check(t, func(t *rapid.T) {
		var ids callIDs
		given := map[string]bool{}
		give := func(id string) {
			if id == "" || given[id] {
				t.Fatalf("%q was given before", id)
			}
			given[id] = true
		}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				id := name.Draw(t, "of an earlier call")
				ids.use(id)
				given[id] = true
			case 1:
				wanted := name.Draw(t, "wanted")
				id := ids.of(wanted)
				if wanted != "" && !given[wanted] && id != wanted {
					t.Fatalf("%q is free, and %q was given", wanted, id)
				}
				give(id)
			case 2:
				give(ids.next("server"))
			case 3:
				var calls []run.Call
				named, again := map[string]bool{}, false
				for _, id := range rapid.SliceOfN(name, 0, 3).Draw(t, "batch") {
					calls = append(calls, run.Call{ID: id})
					again = again || id != "" && (given[id] || named[id])
					named[id] = true
				}
				before := len(given)
				err := ids.admit(calls)
				if errors.As(err, new(*CallIDError)) != again {
					t.Fatalf("%v: %v", calls, err)
				}
				if err == nil {
					for _, c := range calls {
						give(c.ID)
					}
				} else if len(given) != before {
					t.Fatal("a refused batch has used an id")
				}
			}
		}
	})
}
