package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// Read reads a struct from an object. The tag wire of a field has the name of its member, in small
// letters and with a dot before a member of a member. A string is read by StringOf, or by NameOf or
// ArgsOf where the tag says name or args behind a comma. Others are Int, Text, float64, and
// json.RawMessage, which is a part of the object.
func Read[T any](object json.RawMessage) (t T) {
	placesOf(reflect.TypeFor[T]()).fill(FieldsOf(object), reflect.ValueOf(&t).Elem())
	return t
}

// ReadText is Read for a text that nobody has looked at yet. It is false where that is neither an
// object nor null.
func ReadText[T any](text []byte) (t T, ok bool) {
	if f, ok := Parse(text); ok {
		return Read[T](f.rest), true
	}
	return t, false
}

// places are where the members of an object go, by their names.
type places map[string]*place

type place struct {
	field int // -1 for none
	how   string
	below places
}

var known sync.Map // reflect.Type to places

func placesOf(t reflect.Type) places {
	if p, ok := known.Load(t); ok {
		return p.(places)
	}
	all := places{}
	for i := range t.NumField() {
		path, how, _ := strings.Cut(t.Field(i).Tag.Get("wire"), ",")
		at := &place{below: all}
		for name := range strings.SplitSeq(path, ".") {
			if at.below[name] == nil {
				at.below[name] = &place{field: -1, below: places{}}
			}
			at = at.below[name]
		}
		at.field, at.how = i, how
	}
	known.Store(t, all)
	return all
}

func (all places) fill(f Fields, to reflect.Value) {
	for f.Next() {
		p := all[string(f.Key)]
		if p == nil {
			continue
		}
		if len(p.below) > 0 {
			p.below.fill(FieldsOf(f.Value), to)
		}
		if p.field < 0 {
			continue
		}
		switch v := to.Field(p.field).Addr().Interface().(type) {
		case *json.RawMessage:
			*v = f.Value
		case *Int:
			*v = IntOf(f.Value)
		case *Text:
			*v = TextOf(f.Value)
		case *float64:
			*v = FloatOf(f.Value)
		case *string:
			switch p.how {
			case "name":
				*v = NameOf(f.Value)
			case "args":
				*v = ArgsOf(f.Value)
			default:
				*v = StringOf(f.Value)
			}
		}
	}
}
