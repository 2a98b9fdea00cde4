package wire

import (
	"encoding/json"
	"testing"
)

// TestFaultW8Loose sees which values are understood as which.
func TestFaultW8Loose(t *testing.T) {
	for in, want := range map[string]Int{
		`0`: {0, true}, `"0"`: {0, true}, `0.0`: {0, true}, `"1.0"`: {1, true}, `1e3`: {1000, true}, `null`: {}, `""`: {}, `"x"`: {}, `0.5`: {}, `[]`: {}, `1e99`: {},
		`"NaN"`: {}, `true`: {},
	} {
		if got := IntOf(json.RawMessage(in)); got != want {
			t.Errorf("%s is %+v", in, got)
		}
	}
	for in, want := range map[string]string{`"a"`: "a", `17`: "17", `-1.0`: "-1.0", `null`: "", `{}`: "", `["a"]`: "", `true`: ""} {
		if got := NameOf(json.RawMessage(in)); got != want {
			t.Errorf("%s is %q", in, got)
		}
	}
	for in, want := range map[string]string{`"{}"`: "{}", `{"a":1}`: `{"a":1}`, `[1]`: `[1]`, `null`: "", `7`: "7"} {
		if got := ArgsOf(json.RawMessage(in)); got != want {
			t.Errorf("%s is %q", in, got)
		}
	}
	for in, want := range map[string]Text{
		`"a"`: {Said: "a"}, `7`: {Said: "7"}, `null`: {}, `["a","b"]`: {Said: "ab"},
		`[{"type":"text","text":"a"},{"type":"refusal","refusal":"no"}]`:                    {Said: "a", Refusal: "no"},
		`{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text"}]}`:       {Thought: "h"},
		`[{"type":"reasoning.summary","summary":"s"},{"type":"image_url","image_url":"u"}]`: {Thought: "s"},
		`{"type":"output_text","text":"a"}`:                                                 {Said: "a"},
	} {
		if got := TextOf(json.RawMessage(in)); got != want {
			t.Errorf("%s is %+v", in, got)
		}
	}
	for in, want := range map[string]int{`[{"a":1},{"a":2}]`: 2, `{"a":1}`: 1, `null`: 0, `[null,{"a":1},"x"]`: 2, `[]`: 0} {
		got := 0
		for e := ElementsOf(json.RawMessage(in)); e.Next(); got++ {
		}
		if got != want {
			t.Errorf("%s has %d elements", in, got)
		}
	}
}
