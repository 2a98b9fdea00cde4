package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// A stream has an event for every few letters, in five objects within each other. So an event is
// checked once, as a whole, and what is in it is found where it stands: it is neither copied nor
// checked again at each depth.

// Fields walks through the fields of an object in their order:
//
//	for f := FieldsOf(object); f.Next(); {
//
// Of a text that is no JSON it gives what looks like fields.
type Fields struct {
	// Key is the name of the field in small letters, since the names of a protocol are understood
	// in any case.
	Key []byte
	// Value is as it is written, a part of the object.
	Value json.RawMessage
	name  []byte // as it is written, with its quotation marks
	rest  []byte
}

// Parse gives the fields of a text that nobody has looked at yet. It is false where that is neither
// an object nor null.
func Parse(text []byte) (Fields, bool) {
	f := FieldsOf(bytes.TrimSpace(text))
	return f, json.Valid(text) && (f.rest[0] == '{' || f.rest[0] == 'n')
}

// FieldsOf gives the fields of a valid value; one that is no object has none.
func FieldsOf(value json.RawMessage) Fields {
	return Fields{rest: value}
}

// Next goes on to the next field; false is the end.
func (f *Fields) Next() bool {
	rest := blanks(f.rest)
	if len(rest) == 0 || rest[0] != '{' && rest[0] != ',' {
		return false
	}
	f.name, rest = value(rest[1:])
	if rest = blanks(rest); len(f.name) < 2 || f.name[0] != '"' || len(rest) == 0 || rest[0] != ':' {
		f.rest = nil
		return false
	}
	f.Value, f.rest = value(rest[1:])
	f.Key = folded(f.name)
	return len(f.Value) > 0
}

// is says that the field has that name, as it is written.
func (f *Fields) is(name string) bool {
	n := len(f.name) - 1
	return string(f.name[1:n]) == name || bytes.IndexByte(f.name, '\\') >= 0 && unquoted(f.name) == name
}

// among says that the name of the field is one of these, as it is written.
func (f *Fields) among(names []string) bool {
	return slices.ContainsFunc(names, f.is)
}

// Elements walks through a list, as Fields does through an object. A single object counts as its
// only element, since several services leave out the list around it, and null counts as none.
type Elements struct {
	Value json.RawMessage
	rest  []byte
	alone bool
}

// ElementsOf gives the elements of a valid value; one that is neither a list nor an object has
// none.
func ElementsOf(value json.RawMessage) Elements {
	return Elements{rest: value, alone: len(value) > 0 && value[0] == '{'}
}

// Next goes on to the next element; false is the end.
func (e *Elements) Next() bool {
	if e.alone {
		e.alone, e.Value, e.rest = false, e.rest, nil
		return true
	}
	for {
		rest := blanks(e.rest)
		if len(rest) == 0 || rest[0] != '[' && rest[0] != ',' {
			return false
		}
		if e.Value, e.rest = value(rest[1:]); len(e.Value) == 0 {
			return false
		}
		if string(e.Value) != "null" {
			return true
		}
	}
}

// Listed says that a value is a list, or may stand for one: an object alone, null, or nothing.
func Listed(value json.RawMessage) bool {
	return len(value) == 0 || value[0] == '[' || value[0] == '{' || value[0] == 'n'
}

// blanks leaves out white space.
func blanks(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}

// value gives the value that a text begins with, and what follows it.
func value(text []byte) (value, rest []byte) {
	text = blanks(text)
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = closed(text, i)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ':', ' ', '\n', '\t', '\r':
			continue
		default: // a number or a word
			for i+1 < len(text) && strings.IndexByte(",:]} \n\t\r", text[i+1]) < 0 {
				i++
			}
		}
		switch {
		case depth < 0:
			return nil, text
		case depth == 0:
			return text[:i+1], text[i+1:]
		}
	}
	return nil, nil
}

// closed is the place of the quotation mark that closes the one at a place.
func closed(text []byte, open int) int {
	for at := open + 1; ; at++ {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return len(text) - 1
		}
		at += n
		escapes := at
		for text[escapes-1] == '\\' {
			escapes--
		}
		if (at-escapes)%2 == 0 {
			return at
		}
	}
}

// folded is a name in small letters, without its quotation marks.
func folded(quoted []byte) []byte {
	name := quoted[1 : len(quoted)-1]
	for _, c := range name {
		if c == '\\' || c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return []byte(strings.ToLower(strings.ToUpper(unquoted(quoted)))) // so are ſ and K an s and a k
		}
	}
	return name
}
