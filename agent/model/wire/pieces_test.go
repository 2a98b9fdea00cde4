package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/agent/model"
)

// arguments collects what is told of one call.
func arguments(on func(c *Calls, at int)) (args string, done bool) {
	c := &Calls{Model: "p/m"}
	c.On = func(d model.Delta) {
		if d.Call.Done && done {
			args += " done twice"
		}
		args += d.Call.Arguments
		done = done || d.Call.Done
	}
	on(c, c.New("id", "look"))
	return args, done
}

// object draws the text of a JSON object.
func object() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		v := rapid.MapOfN(rapid.StringMatching(`[a-c]{1,3}`), rapid.OneOf(
			rapid.Map(rapid.StringMatching(`[a-z"\\{}: é]{0,8}`), func(s string) any { return s }),
			rapid.Map(rapid.Int(), func(n int) any { return n }),
			rapid.Just[any](nil), rapid.Just[any](map[string]any{}), rapid.Just[any]([]any{1, "x"}),
		), 1, 4).Draw(t, "object")
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	})
}

// TestFaultW8Pieces sees that the arguments of a call are the same in each way in which services send them.
func TestFaultW8Pieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := object().Draw(t, "whole")
		var cuts []int
		for at := 0; at < len(whole); {
			at = min(len(whole), at+rapid.IntRange(1, 6).Draw(t, "length"))
			cuts = append(cuts, at)
		}
		pieces := func(c *Calls, at int) {
			was := 0
			for _, cut := range cuts {
				c.Write(at, whole[was:cut])
				was = cut
			}
		}
		quoted, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		for name, send := range map[string]func(c *Calls, at int){
			"pieces":                pieces,
			"{} before":             func(c *Calls, at int) { c.Write(at, "{}"); pieces(c, at) },
			"{ } before, cut":       func(c *Calls, at int) { c.Write(at, "{"); c.Write(at, "}"); pieces(c, at) },
			"null before":           func(c *Calls, at int) { c.Write(at, "null"); pieces(c, at) },
			"a guess before":        func(c *Calls, at int) { c.Guess(at, `{"other":1}`); pieces(c, at) },
			"a guess":               func(c *Calls, at int) { c.Guess(at, whole) },
			"whole after":           func(c *Calls, at int) { pieces(c, at); c.Rest(at, whole) },
			"whole after a piece":   func(c *Calls, at int) { c.Write(at, whole[:cuts[0]]); c.Rest(at, whole) },
			"whole after encrypted": func(c *Calls, at int) { c.Write(at, "Zm9v"); c.Write(at, "YmFy"); c.Rest(at, whole) },
			"within a string":       func(c *Calls, at int) { c.Write(at, string(quoted)) },
			"settled early":         func(c *Calls, at int) { pieces(c, at); c.SettleAll(false); c.SettleAll(false) },
		} {
			got, done := arguments(func(c *Calls, at int) { send(c, at); c.End(true) })
			if got != whole || !done {
				t.Fatalf("%s: %q, not %q", name, got, whole)
			}
		}
	})
}

// TestFaultW8Repeats sees what services do that send all arguments so far with each piece.
func TestFaultW8Repeats(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string
	}{
		{[]string{`{`, `{"a`, `{"a":`, `{"a":`, `{"a":{"b":1}}`}, `{"a":{"b":1}}`},
		{[]string{`{"a":`, `{"a":1}}`}, `{"a":{"a":1}}`},
		{[]string{`{"a":[{"a":[`, `{"a":[{"a":[]}]}]}]}`}, `{"a":[{"a":[{"a":[{"a":[]}]}]}]}`},
		{[]string{`{"a":"`, `x`, `x`, `"}`}, `{"a":"xx"}`},
	} {
		got, _ := arguments(func(k *Calls, at int) {
			for _, p := range c.pieces {
				k.Write(at, p)
			}
			k.End(true)
		})
		if got != c.want {
			t.Errorf("%q: %s", c.pieces, got)
		}
	}
}

// TestFaultW8NeverRun sees that a call is not complete before its arguments are.
func TestFaultW8NeverRun(t *testing.T) {
	for _, args := range []string{"", "{}", "null", `{"a":`, `"{\"a\"`} {
		if got, done := arguments(func(c *Calls, at int) { c.Write(at, args); c.SettleAll(false); c.End(false) }); done {
			t.Errorf("%q was run with %q", args, got)
		}
	}
}

// TestFaultW7Joined sees that pieces of a field make the whole field, whatever they are.
func TestFaultW7Joined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`(a|ha|é |"){1,3}`), 1, 6).Draw(t, "words")
		var x Extra
		for _, w := range words {
			piece, _ := json.Marshal(map[string]any{"role": "assistant", "blocks": []any{map[string]any{"type": "t", "text": w, "index": 7, "signature": ""}}})
			x.Add(piece, "role")
		}
		x.Add(json.RawMessage(`{"blocks":[{"type":"t","text":"","signature":"s"}],"empty":[],"nothing":null,"none":{},"":""}`))
		x.Add(json.RawMessage(`{"blocks":[{"type":"t","text":"next","index":7}],"big":12345678901234567890}`))
		text, _ := json.Marshal(strings.Join(words, ""))
		want := fmt.Sprintf(`{"big":12345678901234567890,"blocks":[{"index":7,"signature":"s","text":%s,"type":"t"},{"index":7,"text":"next","type":"t"}]}`, text)
		if got := string(x.Object()); got != want {
			t.Fatalf("%s\n%s", got, want)
		}
	})
}

// TestFaultW7Refused sees which errors name a field that is not taken, and which ask for one.
func TestFaultW7Refused(t *testing.T) {
	for message, want := range map[string]string{
		"'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]": "reasoning_content",
		`[{"type":"extra_forbidden","loc":["body","messages",2,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}]`:   "reasoning_content",
		"Unrecognized request argument supplied: reasoning_details":                                                                         "reasoning_details",
		"The `reasoning_content` in the thinking mode must be passed back to the API.":                                                      "",
		"Function call is missing a thought_signature in functionCall parts.":                                                               "",
		"Additional properties are not allowed ('annotations_x' was unexpected)":                                                            "",
	} {
		err := error(&model.Error{Kind: "http", Status: 422, Message: message})
		if got := RefusedField(err, []string{"annotations", "reasoning_content", "reasoning_details", "thought_signature"}); got != want {
			t.Errorf("%s: %q", message, got)
		}
	}
}

// FuzzFaultW8Loose decodes arbitrary JSON as each of the types: none fails, and what is written plainly is understood.
func FuzzFaultW8Loose(f *testing.F) {
	for _, s := range []string{`1`, `"1"`, `1.0`, `"x"`, `null`, `[{"type":"text","text":"a"}]`, `{"type":"thinking","thinking":[{"text":"h"}]}`, `{}`, `[[]]`, `1e99`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		all := fmt.Sprintf(`{"int":%s,"float":%s,"name":%s,"args":%s,"text":%s,"list":%[1]s}`, s, s, s, s, s)
		var v struct {
			Name, Args string
			Text       Text
		}
		f, ok := Parse([]byte(all))
		if !ok {
			t.Fatalf("%s is no object", all)
		}
		n := 0
		for ; f.Next(); n++ {
			switch string(f.Key) {
			case "int":
				IntOf(f.Value)
			case "float":
				FloatOf(f.Value)
			case "name":
				v.Name = NameOf(f.Value)
			case "args":
				v.Args = ArgsOf(f.Value)
			case "text":
				v.Text = TextOf(f.Value)
			case "list":
				for e := ElementsOf(f.Value); e.Next(); {
				}
			}
			if string(f.Value) != strings.Trim(s, " \t\r\n") {
				t.Errorf("%s is %s", f.Key, f.Value)
			}
		}
		if n != 6 {
			t.Errorf("%d fields of %s", n, all)
		}
		var text string
		if json.Unmarshal([]byte(s), &text) == nil && strings.HasPrefix(s, `"`) && (v.Name != text || v.Args != text || v.Text.Said != text) {
			t.Errorf("%q is %+v", text, v)
		}
	})
}
