package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"tandem/agent/model"
)

// Extra collects the fields that a service adds to its protocol, from the pieces of an answer. Values stay as they were
// written. The zero value is empty.
type Extra map[string]json.RawMessage

// Add takes the fields of an object that are none of those named, which are known. Fields that say nothing are left out,
// since several services refuse what they themselves have sent empty.
func (x *Extra) Add(object json.RawMessage, known ...string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return
	}
	for name, v := range fields {
		if slices.Contains(known, name) || blank(v) {
			continue
		}
		if *x == nil {
			*x = Extra{}
		}
		(*x)[name] = joined(name, (*x)[name], v)
	}
}

// Object is all of it as one JSON object, nil for none.
func (x Extra) Object() json.RawMessage {
	if len(x) == 0 {
		return nil
	}
	raw, _ := Encode(map[string]json.RawMessage(x))
	return raw
}

// joined is a value and the piece of it that came next. Strings go on, unless the piece repeats them; objects are joined
// by their fields, and lists by their elements.
func joined(name string, was, next json.RawMessage) json.RawMessage {
	was, next = bytes.TrimSpace(was), bytes.TrimSpace(next)
	switch {
	case blank(was):
		return bytes.Clone(next)
	case blank(next) || bytes.Equal(was, next) && !spoken(name) && !bytes.ContainsRune(was, '{'):
		return was
	case was[0] == '"' && next[0] == '"':
		raw, _ := Encode(unquoted(was) + unquoted(next))
		return raw
	case was[0] == '{' && next[0] == '{':
		var a, b map[string]json.RawMessage
		if json.Unmarshal(was, &a) != nil || json.Unmarshal(next, &b) != nil {
			return was
		}
		for k, v := range b {
			a[k] = joined(k, a[k], v)
		}
		raw, _ := Encode(a)
		return raw
	case was[0] == '[' && next[0] == '[':
		var a, b []json.RawMessage
		if json.Unmarshal(was, &a) != nil || json.Unmarshal(next, &b) != nil {
			return was
		}
		for _, v := range b {
			if last := len(a) - 1; last >= 0 {
				if one, ok := continued(a[last], v); ok {
					a[last] = one
					continue
				}
			}
			a = append(a, v)
		}
		raw, _ := Encode(a)
		return raw
	}
	return bytes.Clone(next)
}

// spoken says that the strings of a field are pieces of a text, of which two may be equal.
func spoken(name string) bool {
	return slices.Contains([]string{"text", "thinking", "summary", "reasoning", "reasoning_text", "content"}, name)
}

// continued joins an element of a list with the next one where that continues it: their texts go on, and nothing else
// differs. An element with a signature is complete.
func continued(was, next json.RawMessage) (json.RawMessage, bool) {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(was, &a) != nil || json.Unmarshal(next, &b) != nil || len(a) == 0 || len(b) == 0 {
		return nil, false
	}
	for name, v := range a {
		if strings.Contains(name, "signature") && !blank(v) || name == "data" {
			return nil, false
		}
	}
	for name, v := range b {
		old := a[name]
		switch {
		case blank(v):
		case blank(old):
			a[name] = v
		case spoken(name):
			a[name] = joined(name, old, v)
		case !bytes.Equal(old, v):
			return nil, false
		}
	}
	raw, err := Encode(a)
	return raw, err == nil
}

// With adds fields to a JSON object. Those of the same name that it has are joined where both are objects, and stay as
// they are otherwise.
func With(object, fields json.RawMessage) json.RawMessage {
	var a, b map[string]json.RawMessage
	if len(fields) == 0 || json.Unmarshal(object, &a) != nil || json.Unmarshal(fields, &b) != nil {
		return object
	}
	for name, v := range b {
		switch old, there := a[name]; {
		case !there:
			a[name] = v
		case bytes.HasPrefix(old, []byte("{")):
			a[name] = With(old, v)
		}
	}
	raw, err := Encode(a)
	if err != nil {
		return object
	}
	return raw
}

// Without is fields without those named.
func Without(fields json.RawMessage, names map[string]bool) json.RawMessage {
	var all map[string]json.RawMessage
	if len(names) == 0 || json.Unmarshal(fields, &all) != nil {
		return fields
	}
	for name := range names {
		delete(all, name)
	}
	return Extra(all).Object()
}

// ExtraOf is what the model of that name wants back with a call, nil for none.
func ExtraOf(c model.Call, name string) json.RawMessage {
	if c.Extra == nil || c.Extra.Model != name {
		return nil
	}
	return c.Extra.Fields
}

// IDOf gives the id of an earlier call: as it was written for the model that wrote it, and as every service accepts it
// for all others.
func IDOf(c model.Call, name string) string {
	if c.Extra != nil && c.Extra.Model == name && c.ID != "" {
		return c.ID
	}
	return CallID(c.ID)
}

// AnsweredID gives the id of the call that from[i] answers, as IDOf does.
func AnsweredID(from []model.Message, i int, name string) string {
	for _, m := range slices.Backward(from[:i]) {
		for _, c := range m.Calls {
			if c.ID == from[i].CallID {
				return IDOf(c, name)
			}
		}
	}
	return CallID(from[i].CallID)
}

// Sealed wraps fields of a message that its service must get back, for model.Thought; nil for none.
func Sealed(fields json.RawMessage) json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	raw, _ := Encode(map[string]json.RawMessage{"message": fields})
	return raw
}

// Unsealed is what Sealed wrapped, nil where a thought has something else.
func Unsealed(t model.Thought) json.RawMessage {
	var s struct {
		Message json.RawMessage `json:"message"`
	}
	if len(t.Sealed) == 0 || json.Unmarshal(t.Sealed, &s) != nil {
		return nil
	}
	return s.Message
}

// Typed says that a thought is sealed as an item or a block of its own, which has a type.
func Typed(t model.Thought) bool {
	var s struct {
		Type string `json:"type"`
	}
	return len(t.Sealed) > 0 && json.Unmarshal(t.Sealed, &s) == nil && s.Type != ""
}

// RefusedField gives that of the names which an error says the service does not take, "" for none. Many services refuse
// fields of a message that others want back.
func RefusedField(err error, names []string) string {
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != "http" || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return ""
	}
	message := strings.ToLower(e.Message)
	refuses := func(words string) bool { return strings.Contains(message, words) }
	if !slices.ContainsFunc([]string{
		"unsupported", "not support", "unknown", "unrecogni", "unexpected", "extra", "additional propert", "not permitted", "not allowed",
		"forbid",
	}, refuses) {
		return ""
	}
	inName := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	words := strings.FieldsFunc(e.Message, func(r rune) bool { return !inName(r) })
	for _, name := range names {
		if slices.Contains(words, name) {
			return name
		}
	}
	return ""
}
