package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Services agree on the names of fields and differ in their JSON types: a number comes as a string, a string as a list of
// parts, an object in the place of its text. The types below decode all of these. None of them fails: what cannot be
// understood is as if it were missing.

// Int is a whole number, also written as 1.0 or "1".
type Int struct {
	N int64
	// Set is false for null, and where there is no number.
	Set bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Int) UnmarshalJSON(raw []byte) error {
	f, ok := number(raw)
	*n = Int{}
	if ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		*n = Int{N: int64(f), Set: true}
	}
	return nil
}

// Float is a number, also written as "0.5"; 0 where there is none.
type Float float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *Float) UnmarshalJSON(raw []byte) error {
	f, _ := number(raw)
	*n = Float(f)
	return nil
}

func number(raw []byte) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(unquoted(raw)), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// unquoted is the text of a JSON string, and any other value as it is written.
func unquoted(raw []byte) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Name is a short text such as an id, also written as a number.
type Name string

// UnmarshalJSON implements json.Unmarshaler.
func (n *Name) UnmarshalJSON(raw []byte) error {
	*n = ""
	if len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		*n = Name(unquoted(raw))
	}
	return nil
}

// Args is a piece of the arguments of a call: a string, or the JSON value itself, which is then all of them.
type Args string

// UnmarshalJSON implements json.Unmarshaler.
func (a *Args) UnmarshalJSON(raw []byte) error {
	*a = ""
	if string(raw) != "null" {
		*a = Args(unquoted(raw))
	}
	return nil
}

// List is a list, also written as its only element. An element that does not decode is left out.
type List[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *List[T]) UnmarshalJSON(raw []byte) error {
	var all []json.RawMessage
	if len(raw) > 0 && raw[0] == '{' {
		all = append(all, raw)
	} else if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	*l = nil
	for _, one := range all {
		var v T
		if string(one) != "null" && json.Unmarshal(one, &v) == nil {
			*l = append(*l, v)
		}
	}
	return nil
}

// Text is what is said in one place: a string, a list of parts, or a part alone. Parts that are thoughts, or refuse, are
// kept apart.
type Text struct {
	Said, Thought, Refusal string
	// Parts says that it came as parts.
	Parts bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(raw []byte) error {
	*t = Text{}
	t.add(raw, "")
	return nil
}

// add adds a value that stands in a part of that type.
func (t *Text) add(raw []byte, kind string) {
	if len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return
		}
		switch {
		case strings.Contains(kind, "think") || strings.Contains(kind, "reason"):
			t.Thought += s
		case kind == "refusal":
			t.Refusal += s
		default:
			t.Said += s
		}
	case '[':
		t.Parts = true
		var parts []json.RawMessage
		_ = json.Unmarshal(raw, &parts)
		for _, p := range parts {
			t.add(p, kind)
		}
	case '{':
		t.Parts = true
		var part map[string]json.RawMessage
		if json.Unmarshal(raw, &part) != nil {
			return
		}
		if kind == "" {
			kind = unquoted(part["type"])
		}
		for _, field := range []string{"thinking", "reasoning", "refusal", "text", "summary", "content"} {
			if v, ok := part[field]; ok {
				t.add(v, kind)
				return
			}
		}
	case 'n':
	default: // a number or a truth value
		t.add([]byte(strconv.Quote(string(raw))), kind)
	}
}

// blank says that a JSON value says nothing.
func blank(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}
