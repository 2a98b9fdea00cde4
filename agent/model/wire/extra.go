package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"tandem/agent/model"
)

// Extra collects the fields that a service adds to its protocol: for each, the pieces in which it
// came. Values stay as they were written. The zero value is empty.
type Extra map[string][]json.RawMessage

// Add takes the fields of an object that are none of those named, which are known. Fields that say
// nothing are left out, since several services refuse what they themselves have sent empty.
func (x *Extra) Add(object json.RawMessage, known ...string) {
	var added map[string]bool // of fields of one name in an object the last one counts
	for f := FieldsOf(object); f.Next(); {
		if f.among(known) || blank(f.Value) {
			continue
		}
		if added == nil {
			added = map[string]bool{}
		}
		if *x == nil {
			*x = Extra{}
		}
		name := unquoted(f.name)
		pieces := (*x)[name]
		if added[name] {
			pieces = pieces[:len(pieces)-1]
		}
		(*x)[name], added[name] = append(pieces, bytes.Clone(f.Value)), true
	}
}

// Object is all of it as one JSON object, nil for none.
func (x Extra) Object() json.RawMessage {
	if len(x) == 0 {
		return nil
	}
	all := map[string]json.RawMessage{}
	for name, pieces := range x {
		all[name] = joined(name, pieces)
	}
	return encoded(all)
}

func encoded(v any) json.RawMessage {
	raw, _ := Encode(v)
	return raw
}

// joined is the value whose pieces came after each other. Strings go on, unless a piece repeats all
// before it; objects are joined by their fields, and lists by their elements. Of other values the
// last one counts.
func joined(name string, pieces []json.RawMessage) json.RawMessage {
	pieces = slices.DeleteFunc(slices.Clone(pieces), blank)
	if len(pieces) == 0 {
		return json.RawMessage("null")
	}
	head := pieces[0][0]
	if len(pieces) == 1 || slices.ContainsFunc(pieces, func(p json.RawMessage) bool { return p[0] != head }) {
		return pieces[len(pieces)-1]
	}
	switch head {
	case '"':
		var text strings.Builder
		for _, p := range pieces {
			if s := unquoted(p); spoken(name) || s != text.String() {
				text.WriteString(s)
			}
		}
		return encoded(text.String())
	case '{':
		var all Extra
		for _, p := range pieces {
			all.Add(p)
		}
		return all.Object()
	case '[':
		return joinedLists(pieces)
	}
	return pieces[len(pieces)-1]
}

// joinedLists is a list of the elements of all. An object goes on with the next one where their
// texts alone differ, as long as it has no signature or other seal: with that it is complete.
func joinedLists(lists []json.RawMessage) json.RawMessage {
	var out []json.RawMessage
	var open Extra // the last element, in its pieces
	end := func() {
		if whole := open.Object(); whole != nil {
			out = append(out, whole)
		}
		open = nil
	}
	for i, list := range lists {
		if i > 0 && bytes.Equal(list, lists[i-1]) && !bytes.ContainsRune(list, '{') {
			continue // values that are repeated
		}
		var elements []json.RawMessage
		_ = json.Unmarshal(list, &elements)
		for _, e := range elements {
			if !bytes.HasPrefix(e, []byte("{")) {
				end()
				out = append(out, e)
				continue
			}
			var next Extra
			if next.Add(e); open != nil && !open.goesOn(next) {
				end()
			}
			if open == nil {
				open = Extra{}
			}
			for name, v := range next {
				if open[name] == nil || spoken(name) {
					open[name] = append(open[name], v...)
				}
			}
		}
	}
	end()
	return encoded(out)
}

// goesOn says that an element of a list is a piece of x.
func (x Extra) goesOn(next Extra) bool {
	for name := range x {
		if strings.Contains(name, "signature") || name == "data" {
			return false
		}
	}
	for name, v := range next {
		if old := x[name]; old != nil && !spoken(name) && !bytes.Equal(old[0], v[0]) {
			return false
		}
	}
	return true
}

// spoken says that the strings of a field are pieces of a text, of which two may be equal.
func spoken(name string) bool {
	return slices.Contains([]string{"text", "thinking", "summary", "reasoning", "reasoning_text", "content"}, name)
}

// With adds fields to a JSON object. Those of the same name that it has are joined where both are
// objects, and stay as they are otherwise.
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
	if len(all) == 0 {
		return nil
	}
	return encoded(all)
}

// ExtraOf is what the model of that name wants back with a call, nil for none.
func ExtraOf(c model.Call, name string) json.RawMessage {
	if c.Extra == nil || c.Extra.Model != name {
		return nil
	}
	return c.Extra.Fields
}

// IDOf gives the id of an earlier call: as it was written for the model that wrote it, and as every
// service accepts it for all others.
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

// Added names the fields that the model of that name gets back beyond its protocol: of messages and
// of their calls.
func Added(messages []model.Message, name string) []string {
	var all Extra
	for _, msg := range messages {
		for _, t := range msg.Thoughts {
			if t.Model == name {
				all.Add(Unsealed(t))
			}
		}
		for _, c := range msg.Calls {
			all.Add(ExtraOf(c, name))
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// RefusedField gives that of the names which an error says the service does not take, "" for none.
// Many services refuse fields of a message that others want back.
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
