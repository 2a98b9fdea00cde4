package config

import (
	_ "embed"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

//go:embed schema.json
var schema string

// Schema is the JSON Schema of the configuration, for editors.
func Schema() string { return schema }

// Value is the value of a key with its origins; without any it is the default.
type Value struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	// Origins are empty, not nil, for a default.
	Origins []Origin `json:"origins"`
}

// Values lists every key with its value, redacted.
func (l Loaded) Values() []Value {
	var out []Value
	c := l.Redacted()
	walk(reflect.ValueOf(c), "", func(key string, v reflect.Value) {
		out = append(out, Value{key, v.Interface(), append([]Origin{}, l.originsOf(key)...)})
	})
	return out
}

// walk calls leaf for every key that is no object.
func walk(v reflect.Value, key string, leaf func(key string, v reflect.Value)) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), join(key, v.Type().Field(i).Tag.Get("json")), leaf)
		}
	case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		for _, name := range names(v) {
			walk(v.MapIndex(name), join(key, name.String()), leaf)
		}
	default:
		leaf(key, v)
	}
}

func names(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int {
		return strings.Compare(a.String(), b.String())
	})
}

// originsOf gives the origins of a key and of all below it.
func (l Loaded) originsOf(key string) []Origin {
	if o, ok := l.Origins[key]; ok {
		return o
	}
	var all []Origin
	for _, k := range slices.Sorted(maps.Keys(l.Origins)) {
		if strings.HasPrefix(k, key+".") {
			all = append(all, l.Origins[k]...)
		}
	}
	return all
}

const hidden = "[redacted]"

// Redacted is the configuration for display: without the values of headers and environment variables, the arguments of
// commands that print keys, and the user, password and query of addresses. Unset lists and maps are empty.
func (c Config) Redacted() Config {
	var copied Config
	raw, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(raw, &copied)
	}
	if err != nil { // strings, numbers and booleans
		panic(err)
	}
	redact(reflect.ValueOf(&copied).Elem(), "")
	return copied
}

func redact(v reflect.Value, tag reflect.StructTag) {
	secret := tag.Get("secret")
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			redact(v.Field(i), v.Type().Field(i).Tag)
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		for _, name := range names(v) {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(name))
			redact(e, tag)
			v.SetMapIndex(name, e)
		}
	case reflect.Slice:
		if v.IsNil() && tag.Get("null") == "" {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			if i > 0 || secret != "words" {
				redact(v.Index(i), tag)
			}
		}
	case reflect.String:
		switch secret {
		case "all", "words":
			v.SetString(hidden)
		case "url":
			v.SetString(bare(v.String()))
		}
	}
}

// bare is an address without name, password and query.
func bare(address string) string {
	u, err := url.Parse(address)
	switch {
	case address == "" || address == "none":
		return address
	case err != nil:
		return hidden
	}
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	return strings.ReplaceAll(u.String(), url.PathEscape(hidden), hidden)
}

// field gives the field of a dotted path that leads through no map.
func field(key string) (f reflect.StructField, ok bool) {
	t := reflect.TypeFor[Config]()
	for _, name := range strings.Split(key, ".") {
		if ok && f.Type.Kind() != reflect.Struct {
			return f, false
		}
		i := 0
		for ; i < t.NumField() && t.Field(i).Tag.Get("json") != name; i++ {
		}
		if i == t.NumField() {
			return f, false
		}
		f, ok = t.Field(i), true
		t = f.Type
	}
	return f, ok
}
