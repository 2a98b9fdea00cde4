package config

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Problem is something in the configuration that could not be heeded.
type Problem struct {
	// Bad says that a value was wrong or that a restriction could not be kept; otherwise it is a hint.
	Bad bool
	// Source is a file's path or what else the layer is called. Line and Column count from 1; both are 0 outside files.
	Source       string
	Line, Column int
	// Key is the dotted path of the key, "" for the whole text.
	Key     string
	Message string
}

func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d:%d: %s", p.Source, p.Line, p.Column, p.Message)
	}
	return p.Source + ": " + p.Message
}

// decoder lays one layer's text over a configuration and keeps what was wrong with it.
type decoder struct {
	source   string
	inFile   bool
	text     []byte
	problems []Problem
	// at holds where each key that the layer sets stands.
	at map[string]int
}

func (d *decoder) report(bad bool, offset int, key, format string, args ...any) {
	p := Problem{Bad: bad, Source: d.source, Key: key, Message: fmt.Sprintf(format, args...)}
	if d.inFile {
		before := d.text[:min(offset, len(d.text))]
		p.Line = 1 + bytes.Count(before, []byte("\n"))
		p.Column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	}
	d.problems = append(d.problems, p)
}

// maxBrackets bounds how deep a text can nest, since the parser recurses.
const maxBrackets = 10_000

// over gives base with the layer's values laid over it. Values that are wrong leave those of base.
func (d *decoder) over(base Config) Config {
	if len(bytes.TrimSpace(d.text)) == 0 {
		return base
	}
	if bytes.Count(d.text, []byte("["))+bytes.Count(d.text, []byte("{")) > maxBrackets {
		d.report(true, 0, "", "too deeply nested to be a configuration")
		return base
	}
	v, err := hujson.Parse(d.text)
	if err != nil {
		d.inFile = false // the parser's message names the place itself
		d.report(true, 0, "", "not valid JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
		return base
	}
	if v.Value.Kind() == 'n' {
		return base
	}
	d.at = map[string]int{}
	d.value(v, reflect.ValueOf(&base).Elem(), "", "")
	return base
}

func (d *decoder) value(v hujson.Value, to reflect.Value, key string, tag reflect.StructTag) {
	switch to.Kind() {
	case reflect.Struct:
		if o, ok := v.Value.(*hujson.Object); ok {
			d.object(o, to, key)
			return
		}
	case reflect.Map:
		if o, ok := v.Value.(*hujson.Object); ok {
			d.entries(o, to, key)
			return
		}
	case reflect.Slice:
		if a, ok := v.Value.(*hujson.Array); ok {
			list := make([]string, len(a.Elements))
			for i, e := range a.Elements {
				d.value(e, reflect.ValueOf(&list[i]).Elem(), fmt.Sprintf("%s[%d]", key, i), "")
			}
			to.Set(reflect.ValueOf(slices.DeleteFunc(list, func(s string) bool { return s == "" })))
			if len(list) > 0 && to.Len() == 0 {
				// Never turn a list of mistakes into the empty list, which may mean that there is no limit.
				to.SetZero()
			}
			return
		}
		if v.Value.Kind() == 'n' && tag.Get("null") != "" {
			to.SetZero()
			return
		}
	default:
		if l, ok := v.Value.(hujson.Literal); ok && d.literal(v.StartOffset, l, to, key, tag) {
			return
		}
	}
	d.report(true, v.StartOffset, key, "%s must be %s, not %s", orRoot(key), expected(to, tag), received(v))
}

func orRoot(key string) string {
	if key == "" {
		return "the configuration"
	}
	return strconv.Quote(key)
}

// literal stores a scalar; false means that it is of the wrong type.
func (d *decoder) literal(offset int, l hujson.Literal, to reflect.Value, key string, tag reflect.StructTag) bool {
	switch kind := l.Kind(); {
	case to.Kind() == reflect.String && kind == '"':
		s := l.String()
		if enum := tag.Get("enum"); enum != "" && !slices.Contains(strings.Split(enum, ","), s) {
			if slices.Contains(strings.Split(tag.Get("later"), ","), s) {
				d.report(true, offset, key, "%q %q is not served yet; use %s", key, s, either(enum))
			} else {
				d.report(true, offset, key, "%q must be %s, not %q", key, either(enum), s)
			}
			if key == "mode" {
				to.SetString("ask") // whatever was meant, nothing may happen unasked because of it
			}
			return true
		}
		to.SetString(s)
	case to.Kind() == reflect.Bool && (kind == 't' || kind == 'f'):
		to.SetBool(kind == 't')
	case to.Kind() == reflect.Int && kind == '0':
		n, err := strconv.Atoi(string(l))
		if err != nil {
			return false
		}
		if lo, hi := bounds(tag); n < lo || n > hi {
			d.report(true, offset, key, "%q must be from %d to %d, not %d", key, lo, hi, n)
			return true
		}
		to.SetInt(int64(n))
	case to.Kind() == reflect.Float64 && kind == '0':
		n := l.Float()
		if lo, hi := bounds(tag); n < float64(lo) || n > float64(hi) {
			d.report(true, offset, key, "%q must be from %d to %d, not %s", key, lo, hi, l)
			return true
		}
		to.SetFloat(n)
	default:
		return false
	}
	return true
}

func bounds(tag reflect.StructTag) (lo, hi int) {
	lo, _ = strconv.Atoi(tag.Get("min"))
	hi, _ = strconv.Atoi(tag.Get("max"))
	return lo, hi
}

func (d *decoder) object(o *hujson.Object, to reflect.Value, key string) {
	fields := map[string]int{}
	for i := range to.NumField() {
		fields[to.Type().Field(i).Tag.Get("json")] = i
	}
	for _, m := range o.Members {
		name := m.Name.Value.(hujson.Literal).String()
		full := join(key, name)
		i, ok := fields[name]
		if !ok {
			d.unknown(m.Name.StartOffset, key, name, slices.Sorted(maps.Keys(fields)))
			continue
		}
		d.at[full] = m.Name.StartOffset
		d.value(m.Value, to.Field(i), full, to.Type().Field(i).Tag)
	}
}

// entries lays an object over a map, entry by entry; the map of the layer below stays as it is.
func (d *decoder) entries(o *hujson.Object, to reflect.Value, key string) {
	merged := reflect.MakeMap(to.Type())
	for it := to.MapRange(); it.Next(); {
		merged.SetMapIndex(it.Key(), it.Value())
	}
	for _, m := range o.Members {
		name := reflect.ValueOf(m.Name.Value.(hujson.Literal).String())
		entry := reflect.New(to.Type().Elem()).Elem()
		if old := merged.MapIndex(name); old.IsValid() {
			entry.Set(old)
		}
		d.value(m.Value, entry, join(key, name.String()), "")
		merged.SetMapIndex(name, entry)
	}
	to.Set(merged)
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func (d *decoder) unknown(offset int, key, name string, valid []string) {
	full, general := join(key, name), join(key, name)
	if strings.HasPrefix(key, "providers.") {
		general = join("providers.*", name)
	}
	if restricts, known := notServed()[general]; known {
		d.report(restricts, offset, full, "%q is not served yet and has no effect", full)
		return
	}
	if name == "$schema" && key == "" {
		return
	}
	message := fmt.Sprintf("unknown key %q", full)
	if near := nearest(name, valid); near != "" {
		message += fmt.Sprintf("; did you mean %q?", join(key, near))
	}
	d.report(false, offset, full, "%s", message)
}

// nearest gives the valid name that a slip of the fingers turns into name, or "".
func nearest(name string, valid []string) string {
	letters := func(s string) string { return string(slices.Sorted(slices.Values([]byte(strings.ToLower(s))))) }
	if i := slices.IndexFunc(valid, func(v string) bool { return letters(v) == letters(name) }); i >= 0 {
		return valid[i]
	}
	best, limit := "", max(2, len(name)/3)+1
	for _, v := range valid {
		if n := distance(strings.ToLower(name), strings.ToLower(v), limit); n < limit {
			best, limit = v, n
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements between a and b; limit or more is all the same.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := min(row[j]+1, row[j+1]+1, diagonal)
			if a[i] != b[j] {
				next = min(row[j], row[j+1], diagonal) + 1
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

func either(enum string) string {
	names := strings.Split(enum, ",")
	for i, n := range names {
		names[i] = strconv.Quote(n)
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return names[0]
}

func expected(to reflect.Value, tag reflect.StructTag) string {
	switch to.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if tag.Get("null") != "" {
			return "a list of strings or null"
		}
		return "a list of strings"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	if enum := tag.Get("enum"); enum != "" {
		return either(enum)
	}
	return "a string"
}

func received(v hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "the number " + string(v.Value.(hujson.Literal))
	}
	return string(v.Value.(hujson.Literal))
}
