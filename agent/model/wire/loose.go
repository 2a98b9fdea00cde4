package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Services agree on the names of fields and differ in their JSON types: a number comes as a string,
// a string as a list of parts, an object in the place of its text. The functions below understand
// all of these. None of them fails: what cannot be understood is as if it were missing, and so is a
// value of no bytes.

// Int is a whole number, also written as 1.0 or "1".
type Int struct {
	N int64
	// Set is false for null, and where there is no number.
	Set bool
}

// IntOf reads an Int.
func IntOf(raw json.RawMessage) Int {
	n := int64(0)
	for i, c := range raw {
		if c < '0' || c > '9' || i > 14 {
			f, ok := number(raw)
			if ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				return Int{N: int64(f), Set: true}
			}
			return Int{}
		}
		n = 10*n + int64(c-'0')
	}
	return Int{N: n, Set: len(raw) > 0}
}

// FloatOf reads a number, also written as "0.5"; 0 where there is none.
func FloatOf(raw json.RawMessage) float64 {
	f, _ := number(raw)
	return f
}

func number(raw []byte) (f float64, ok bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(unquoted(raw)), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// unquoted is the text of a JSON string, and any other value as it is written.
func unquoted(raw []byte) string {
	if len(raw) == 0 || raw[0] != '"' {
		return string(raw)
	}
	if inner := raw[1:max(1, len(raw)-1)]; len(raw) > 1 && raw[len(raw)-1] == '"' && literal(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// literal says that the inside of a JSON string stands for itself.
func literal(inner []byte) bool {
	for _, c := range inner {
		if c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return c >= utf8.RuneSelf && utf8.Valid(inner) && !bytes.ContainsFunc(inner, func(r rune) bool { return r == '"' || r == '\\' || r < ' ' })
		}
	}
	return true
}

// StringOf is the text of a string.
func StringOf(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	return unquoted(raw)
}

// NameOf is a short text such as an id, also written as a number.
func NameOf(raw json.RawMessage) string {
	if len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return unquoted(raw)
	}
	return ""
}

// ArgsOf is a piece of the arguments of a call: a string, or the JSON value itself, which is then
// all of them.
func ArgsOf(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}
	return unquoted(raw)
}

// Text is what is said in one place: a string, a list of parts, or a part alone. Parts that are
// thoughts, or refuse, are kept apart.
type Text struct {
	Said, Thought, Refusal string
}

// TextOf reads a Text.
func TextOf(raw json.RawMessage) (t Text) {
	t.add(raw, "")
	return t
}

// add adds a value that stands in a part of that type.
func (t *Text) add(raw []byte, kind string) {
	if len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '"':
		switch s := unquoted(raw); {
		case strings.Contains(kind, "think") || strings.Contains(kind, "reason"):
			t.Thought += s
		case kind == "refusal":
			t.Refusal += s
		default:
			t.Said += s
		}
	case '[':
		for e := ElementsOf(raw); e.Next(); {
			t.add(e.Value, kind)
		}
	case '{':
		if kind == "" {
			kind = unquoted(field(raw, "type"))
		}
		for _, name := range []string{"thinking", "reasoning", "refusal", "text", "summary", "content"} {
			if v := field(raw, name); v != nil {
				t.add(v, kind)
				return
			}
		}
	case 'n':
	default: // a number or a truth value
		t.add([]byte(strconv.Quote(string(raw))), kind)
	}
}

// field is the value of a field, nil where there is none.
func field(object json.RawMessage, name string) (v json.RawMessage) {
	for f := FieldsOf(object); f.Next(); {
		if f.is(name) {
			v = f.Value
		}
	}
	return v
}

// blank says that a JSON value says nothing.
func blank(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}
