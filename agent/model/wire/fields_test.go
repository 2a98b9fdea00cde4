package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// written draws a JSON value with blanks, escapes and all kinds of values in it.
func written(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		"null", "true", "false", "0", "-1.5e3", `""`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `"é\u00e9"`, `"}]"`, `"{"`, "{}", "[]", "[ ]", "{ }", `"k\n"`,
	})
	if depth == 0 {
		return leaf
	}
	below := written(depth - 1)
	blank := rapid.SampledFrom([]string{"", " ", "\n\t"})
	name := rapid.SampledFrom([]string{`"a"`, `"B"`, `"a\"b"`, `"\u0061"`, `"Kind"`, `"ſ"`, `""`})
	return rapid.OneOf(leaf,
		rapid.Custom(func(t *rapid.T) string {
			var all []string
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				all = append(all, blank.Draw(t, "b")+name.Draw(t, "name")+blank.Draw(t, "b")+":"+blank.Draw(t, "b")+below.Draw(t, "v")+blank.Draw(t, "b"))
			}
			return "{" + strings.Join(all, ",") + "}"
		}),
		rapid.Custom(func(t *rapid.T) string {
			var all []string
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				all = append(all, blank.Draw(t, "b")+below.Draw(t, "v")+blank.Draw(t, "b"))
			}
			return "[" + strings.Join(all, ",") + "]"
		}))
}

// TestFields sees the fields of objects and the elements of lists as encoding/json does.
func TestFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := written(3).Draw(t, "text")
		raw := json.RawMessage(text)
		var object map[string]json.RawMessage
		isObject := json.Unmarshal(raw, &object) == nil
		if f, ok := Parse(raw); ok != isObject {
			t.Fatalf("%s: %t %+v", text, ok, f)
		}
		found := map[string]json.RawMessage{}
		for f := FieldsOf(raw); f.Next(); {
			found[unquoted(f.name)] = f.Value
			if key := unquoted(f.name); !strings.EqualFold(string(f.Key), key) || !f.is(key) || f.is(key+"x") {
				t.Errorf("%s has the key %s for %s", text, f.Key, f.name)
			}
		}
		if len(found) != len(object) {
			t.Fatalf("%s has %q, want %q", text, found, object)
		}
		for name, v := range object {
			if !bytes.Equal(found[name], v) || !bytes.Equal(field(raw, name), v) {
				t.Errorf("%s: %q is %s, want %s", text, name, found[name], v)
			}
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || list == nil {
			return
		}
		e := ElementsOf(raw)
		for _, want := range list {
			if string(want) != "null" && (!e.Next() || !bytes.Equal(e.Value, want)) {
				t.Errorf("%s: %s, want %s", text, e.Value, want)
			}
		}
		if e.Next() {
			t.Errorf("%s goes on with %s", text, e.Value)
		}
	})
}

// TestUnquoted reads strings as encoding/json does.
func TestUnquoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(rapid.StringOf(rapid.SampledFrom([]rune("\"\\nu0é\x00\x7f\ufffda "))).Draw(t, "inner"))
		if rapid.Bool().Draw(t, "whole") {
			raw = append(append([]byte{'"'}, raw...), '"')
		}
		if cut := rapid.IntRange(0, len(raw)).Draw(t, "cut"); rapid.Bool().Draw(t, "broken") {
			raw = append(raw[:cut:cut], raw[min(len(raw), cut+1):]...)
		}
		want := string(raw)
		var s string
		if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
			want = s
		}
		if got := unquoted(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	})
}

// TestNumbers reads whole numbers by their digits as it reads others.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.StringMatching(`[0-9]{1,17}(\.0)?`).Draw(t, "number")
		f, ok := number([]byte(raw))
		want := Int{}
		if ok && f == float64(int64(f)) && f < 1<<53 {
			want = Int{int64(f), true}
		}
		if got := IntOf(json.RawMessage(raw)); got != want {
			t.Errorf("%s is %+v, want %+v", raw, got, want)
		}
	})
}

// FuzzFields walks through any bytes to an end.
func FuzzFields(f *testing.F) {
	for _, s := range []string{``, `{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":}`, `[`, `[,`, `,`, `{"a":"\`, `"\`, `{"a" "b"}`, `{"a":1,,}`, `}{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for f := FieldsOf(raw); f.Next(); {
			TextOf(f.Value)
		}
		for e := ElementsOf(raw); e.Next(); {
			TextOf(e.Value)
		}
		var x Extra
		x.Add(raw, "a")
		Parse(raw)
	})
}
