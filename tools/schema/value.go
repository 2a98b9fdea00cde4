package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/tools/words"
)

func hasType(types []string, v any) bool {
	return slices.ContainsFunc(types, func(t string) bool {
		switch w := v.(type) {
		case nil:
			return t == "null"
		case bool:
			return t == "boolean"
		case string:
			return t == "string"
		case json.Number:
			return t == "number" || t == "integer" && whole(w)
		case []any:
			return t == "array"
		default:
			return t == "object"
		}
	})
}

// whole tells whether a number has no fraction: 1.0 and 1e3 are whole, 1.5 is not.
func whole(v json.Number) bool {
	if !strings.ContainsAny(v.String(), ".eE") {
		return true
	}
	f, err := v.Float64()
	return err == nil && f == math.Trunc(f)
}

// integer is a whole number as 64 bits hold it.
func integer(v json.Number) (int64, bool) {
	if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
		return i, true
	}
	f, err := v.Float64()
	return int64(f), err == nil && math.Abs(f) < 1<<53
}

// fit turns v into a value of one of the types of n, where coercion is on and the value leaves no
// doubt.
func (c *checker) fit(n *node, v any) (any, bool) {
	if list, ok := v.([]any); ok && n.argv != "" && len(list) == 2 && list[0] == any(n.argv) {
		text, ok := list[1].(string)
		return text, ok
	}
	if !c.coerce || n.strict {
		return nil, false
	}
	for _, t := range n.types {
		switch w := v.(type) {
		case string:
			if got, ok := fromText(t, strings.TrimSpace(w)); ok {
				return got, true
			}
		case json.Number:
			if t == "string" {
				return w.String(), true
			}
			if t == "boolean" && (w == "0" || w == "1") {
				return w == "1", true
			}
		case bool:
			if t == "string" {
				return strconv.FormatBool(w), true
			}
		}
	}
	return nil, false
}

func fromText(t, s string) (any, bool) {
	switch t {
	case "boolean":
		switch strings.ToLower(s) {
		case "true", "1":
			return true, true
		case "false", "0":
			return false, true
		}
	case "integer", "number", "array", "object":
		if v, err := decode([]byte(s)); err == nil && hasType([]string{t}, v) {
			return v, true
		}
	}
	return nil, false
}

// equal compares a value of an enumeration with one that was given.
func equal(e, v any) bool {
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return err == nil && e == any(f)
	}
	switch v.(type) {
	case []any, map[string]any:
		return false
	}
	return e == v
}

// describeValue says in at most 60 characters what v is.
func describeValue(v any) string {
	switch w := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("boolean %v", w)
	case json.Number:
		return cut("number " + w.String())
	case string:
		return cut("string " + strconv.Quote(cut(w)))
	case []any:
		return fmt.Sprintf("array of %d", len(w))
	case map[string]any:
		return fmt.Sprintf("object of %d", len(w))
	}
	return cut(fmt.Sprintf("%T", v))
}

// cut shortens s to 60 characters.
func cut(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == most {
			return s[:i] + "…"
		}
	}
	return s
}

func article(want string) words.Text {
	switch {
	case strings.Contains(want, "|"):
		return words.Of("one of %s", strings.ReplaceAll(want, "|", ", "))
	case strings.ContainsAny(want[:1], "aeiou"):
		return words.Of("an %s", want)
	}
	return words.Of("a %s", want)
}
