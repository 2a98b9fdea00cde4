package wire

import (
	"bytes"
	"encoding"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
)

// Unmarshal reads JSON into v, a pointer, by the rules of the connection. Peers differ harmlessly
// in types: null stands for an absent member, and an integral number may be written 1.0 or 1e3. A
// text that the strict reading refuses is read again with these differences removed, and, in types
// of LSP, without the optional members that still cannot be read.
func Unmarshal(raw []byte, v any) error {
	err := protocol.Unmarshal(raw, v)
	if err == nil {
		return nil
	}
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return err
	}
	again := reflect.New(to.Type().Elem()) // the first attempt may have left a part of the value
	if protocol.Unmarshal(loosen(raw, to.Type().Elem()), again.Interface()) != nil {
		return err // of the text that the peer has sent
	}
	to.Elem().Set(again.Elem())
	return nil
}

// loosen coerces raw, a JSON text, so that strict decoding accepts it as t. Valid parts stay
// unchanged.
func loosen(raw jsontext.Value, t reflect.Type) jsontext.Value {
	raw = bytes.TrimSpace(raw)
	if inner, ok := optionalValue(t); ok {
		t = inner
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(raw) == 0 || hasOwnDecoder(t) {
		return raw
	}
	switch kind := t.Kind(); {
	case kind == reflect.Struct && raw[0] == '{':
		return loosenObject(raw, t)
	case kind == reflect.Map && raw[0] == '{':
		return rewriteObject(raw, func(_ string, value jsontext.Value) jsontext.Value {
			if isNull(value) && t.Elem().Kind() != reflect.Interface {
				return nil
			}
			return loosen(value, t.Elem())
		})
	case (kind == reflect.Slice || kind == reflect.Array) && raw[0] == '[':
		return loosenArray(raw, t.Elem())
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return withoutFraction(raw)
	case kind == reflect.Interface && raw[0] != '"':
		// Unions of LSP hold 32 bits, or a string in which any number keeps its digits.
		whole := withoutFraction(raw)
		if n, err := strconv.ParseFloat(string(whole), 64); err == nil && isLSPType(t) && (n < math.MinInt32 || n > math.MaxInt32) {
			return slices.Concat([]byte(`"`), whole, []byte(`"`))
		}
		return whole
	}
	return raw
}

func loosenObject(raw jsontext.Value, t reflect.Type) jsontext.Value {
	fields := map[string]member{}
	collectMembers(t, fields)
	return rewriteObject(raw, func(name string, value jsontext.Value) jsontext.Value {
		f, known := fields[name]
		if !known {
			return value
		}
		if isNull(value) {
			if f.acceptsNull {
				return value
			}
			return nil
		}
		value = loosen(value, f.goType)
		if f.optional && isLSPType(t) && protocol.Unmarshal(value, reflect.New(f.goType).Interface()) != nil {
			return nil
		}
		return value
	})
}

func loosenArray(raw jsontext.Value, elem reflect.Type) jsontext.Value {
	var list []jsontext.Value
	if json.Unmarshal(raw, &list, lspOptions) != nil {
		return raw
	}
	for i, v := range list {
		list[i] = loosen(v, elem)
	}
	return slices.Concat([]byte("["), bytes.Join(asBytes(list), []byte(",")), []byte("]"))
}

func asBytes(list []jsontext.Value) [][]byte {
	out := make([][]byte, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// rewriteObject replaces the members of an object; one whose replacement is nil is dropped.
func rewriteObject(raw jsontext.Value, replace func(name string, value jsontext.Value) jsontext.Value) jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), lspOptions)
	if _, err := dec.ReadToken(); err != nil {
		return raw
	}
	out := []byte("{")
	for dec.PeekKind() == '"' {
		name, err := dec.ReadValue()
		if err != nil {
			return raw
		}
		name = name.Clone()
		value, err := dec.ReadValue()
		if err != nil {
			return raw
		}
		value = replace(unquote(name), value.Clone())
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}')
}

// member is a field of a struct as JSON has it.
type member struct {
	goType                reflect.Type
	optional, acceptsNull bool
}

func collectMembers(t reflect.Type, out map[string]member) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			if inner := f.Type; inner.Kind() == reflect.Struct {
				collectMembers(inner, out)
			} else if inner.Kind() == reflect.Pointer && inner.Elem().Kind() == reflect.Struct {
				collectMembers(inner.Elem(), out)
			}
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			_, wrapped := optionalValue(f.Type)
			nullable := wrapped && strings.HasPrefix(f.Type.Name(), "Nullable[")
			out[name] = member{
				goType: f.Type, optional: strings.Contains(options, "omit"),
				acceptsNull: nullable || f.Type.Kind() == reflect.Interface && !isLSPType(f.Type) || f.Type.Kind() != reflect.String && hasOwnDecoder(f.Type),
			}
		}
	}
}

// optionalValue is the type that an Optional or a Nullable of LSP holds.
func optionalValue(t reflect.Type) (reflect.Type, bool) {
	if !isLSPType(t) || t.Kind() != reflect.Struct {
		return nil, false
	}
	if name := t.Name(); !strings.HasPrefix(name, "Optional[") && !strings.HasPrefix(name, "Nullable[") {
		return nil, false
	}
	f, ok := t.FieldByName("value")
	return f.Type, ok
}

// hasOwnDecoder reports whether a type of ours, or of a library other than that of LSP, decodes
// itself: raw values, and types with a method of encoding.
func hasOwnDecoder(t reflect.Type) bool {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return true
	}
	if isLSPType(t) {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func isNull(raw jsontext.Value) bool { return string(raw) == "null" }

// withoutFraction writes an integral number without fraction and exponent, as 2 for 2.0 and 1000
// for 1e3. Anything else stays.
func withoutFraction(raw jsontext.Value) jsontext.Value {
	if !bytes.ContainsAny(raw, ".eE") {
		return raw
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return raw
	}
	return strconv.AppendInt(nil, int64(n), 10)
}
