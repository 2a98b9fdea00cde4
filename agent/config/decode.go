package config

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"tandem/tools/words"
)

// Problem is an error or a hint about the configuration.
type Problem struct {
	// Bad says that a value was invalid or that a restriction cannot be enforced; otherwise it is a hint.
	Bad bool `json:"bad"`
	// Unserved says that the key or the value is valid but not in this version.
	Unserved bool `json:"-"`
	// Source is a file's path or the name of the layer. Line and Column count from 1; both are 0 outside files.
	Source string `json:"source"`
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
	// Start and End are byte offsets in the file's text; both are 0 outside files.
	Start int `json:"-"`
	End   int `json:"-"`
	// Key is the dotted path of the key, "" for the whole text.
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d:%d: %s", p.Source, p.Line, p.Column, p.Message)
	}
	return p.Source + ": " + p.Message
}

// decoder merges one layer's text into a configuration and collects its problems.
type decoder struct {
	source string
	inFile bool
	text   []byte
	// elsewhere names the place for keys that this layer may not set; may be empty. If it is set, a refused key is Bad and
	// not a hint: the user may have set it here, without effect.
	elsewhere string
	problems  []Problem
	// at has the position of each key in the layer, set those whose value was accepted.
	at  map[string]span
	set map[string]bool
	// askAlways says that a restriction could not be parsed.
	askAlways bool
	// broken says that the text is no JSON, so that the layer is ignored.
	broken bool
	// unserved counts the keys around the present one that have no effect.
	unserved int
}

// span is a place in a text, in bytes.
type span struct{ start, end int }

func (d *decoder) report(bad bool, at span, key, format string, args ...any) {
	p := Problem{Bad: bad, Source: d.source, Key: key, Message: fmt.Sprintf(format, args...)}
	if d.inFile {
		p.Start, p.End = min(at.start, len(d.text)), min(at.end, len(d.text))
		p.Line, p.Column = position(d.text, p.Start)
	}
	d.problems = append(d.problems, p)
}

// position gives the line and the column of an offset, both from 1.
func position(text []byte, offset int) (line, column int) {
	before := text[:offset]
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// wrong reports an invalid value.
func (d *decoder) wrong(at span, key string, tag reflect.StructTag, format string, args ...any) {
	d.askAlways = d.askAlways || guards(tag)
	d.report(true, at, key, format, args...)
}

// guards says that a key is a restriction.
func guards(tag reflect.StructTag) bool {
	rule, _, _ := strings.Cut(tag.Get("ws"), ":")
	return tag.Get("guard") != "" || slices.Contains([]string{"order", "true", "more", "roots", "budget", "network"}, rule)
}

// maxBrackets bounds how deep a text can nest, since the parser recurses.
const maxBrackets = 10_000

// over merges the layer's values into base. Invalid ones leave those of base.
func (d *decoder) over(base Config) Config {
	if blank(d.text) {
		return base
	}
	if bytes.Count(d.text, []byte("["))+bytes.Count(d.text, []byte("{")) > maxBrackets {
		d.broken = true
		d.report(true, span{}, "", "nested too deeply")
		return base
	}
	v, err := hujson.Parse(d.text)
	if err != nil {
		d.broken = true
		at, message := located(d.text, strings.TrimPrefix(err.Error(), "hujson: "))
		d.report(true, at, "", "not valid JSON: %s", message)
		return base
	}
	if v.Value.Kind() == 'n' {
		return base
	}
	d.at, d.set = map[string]span{}, map[string]bool{}
	d.value(v, reflect.ValueOf(&base).Elem(), "", "")
	return base
}

// located parses the position in a message of the parser, "line 2, column 9: what".
func located(text []byte, message string) (span, string) {
	where, what, ok := strings.Cut(message, ": ")
	var line, column int
	if n, _ := fmt.Sscanf(where, "line %d, column %d", &line, &column); !ok || n != 2 {
		return span{}, message
	}
	at := 0
	for range line - 1 {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	at = min(at+column-1, len(text))
	return span{at, min(at+1, len(text))}, what
}

// value decodes v into to, and says whether it was valid.
func (d *decoder) value(v hujson.Value, to reflect.Value, key string, tag reflect.StructTag) bool {
	at := span{v.StartOffset, v.EndOffset}
	switch to.Kind() {
	case reflect.Struct:
		if o, ok := v.Value.(*hujson.Object); ok {
			d.object(o, to, key)
			return true
		}
	case reflect.Map:
		if o, ok := v.Value.(*hujson.Object); ok {
			d.entries(o, to, key)
			return true
		}
	case reflect.Slice:
		if a, ok := v.Value.(*hujson.Array); ok {
			return d.elements(a, to, key, tag)
		}
		if v.Value.Kind() == 'n' && tag.Get("null") != "" {
			to.SetZero()
			return true
		}
	default:
		if o, ok := v.Value.(*hujson.Object); ok && tag.Get("form") == "network" {
			return d.network(o, at, to, key, tag)
		}
		if l, ok := v.Value.(hujson.Literal); ok {
			if taken, rightType := d.literal(at, l, to, key, tag); rightType {
				return taken
			}
		}
	}
	d.wrong(at, key, tag, "%s must be %s, not %s", orRoot(key), expected(to, tag), received(v))
	return false
}

// elements decodes a list, without its invalid elements.
func (d *decoder) elements(a *hujson.Array, to reflect.Value, key string, tag reflect.StructTag) bool {
	list := reflect.MakeSlice(to.Type(), 0, len(a.Elements))
	for i, e := range a.Elements {
		name, element := fmt.Sprintf("%s[%d]", key, i), reflect.New(to.Type().Elem()).Elem()
		known := len(d.problems)
		taken := d.value(e, element, name, tag)
		if missing := lacks(element); taken && missing != "" {
			taken = false
			d.wrong(span{e.StartOffset, e.EndOffset}, name, tag, "%q needs the key %q", name, missing)
		}
		if element.Type() == reflect.TypeFor[Rule]() && len(d.problems) > known {
			// A rule with a mistake in it is none: without its condition it could allow more.
			taken, d.askAlways = false, d.askAlways || guards(tag)
		}
		if taken && (element.Kind() == reflect.Struct || !element.IsZero()) {
			list = reflect.Append(list, element)
		}
	}
	to.Set(list)
	if len(a.Elements) > 0 && list.Len() == 0 {
		// A list of invalid elements must not become the empty list, which may mean that there is no limit.
		to.SetZero()
	}
	return true
}

// lacks gives the required key that an element does not have.
func lacks(element reflect.Value) string {
	if element.Kind() == reflect.Struct {
		for i := range element.NumField() {
			if f := element.Type().Field(i); f.Tag.Get("required") != "" && element.Field(i).IsZero() {
				return f.Tag.Get("json")
			}
		}
	}
	return ""
}

func orRoot(key string) string {
	if key == "" {
		return "the configuration"
	}
	return strconv.Quote(key)
}

// literal decodes a scalar and says whether it was accepted, and whether it had the right type.
func (d *decoder) literal(at span, l hujson.Literal, to reflect.Value, key string, tag reflect.StructTag) (taken, rightType bool) {
	outside := func(lo, hi int) (bool, bool) {
		d.wrong(at, key, tag, "%q must be from %d to %d, not %s", key, lo, hi, l)
		return false, true
	}
	lo, hi := bounds(tag)
	switch kind := l.Kind(); {
	case to.Kind() == reflect.String && kind == '"':
		return d.word(at, l.String(), to, key, tag), true
	case to.Kind() == reflect.Bool && (kind == 't' || kind == 'f'):
		to.SetBool(kind == 't')
	case to.Kind() == reflect.Int && kind == '0':
		n, err := strconv.Atoi(string(l))
		if err != nil {
			return false, false
		}
		if n < lo || n > hi {
			return outside(lo, hi)
		}
		to.SetInt(int64(n))
	case to.Kind() == reflect.Float64 && kind == '0':
		n := l.Float()
		if n < float64(lo) || n > float64(hi) {
			return outside(lo, hi)
		}
		to.SetFloat(n)
	default:
		return false, false
	}
	return true, true
}

// word decodes a string. A value that this version does not serve is replaced by its substitute, which is no looser.
func (d *decoder) word(at span, s string, to reflect.Value, key string, tag reflect.StructTag) bool {
	if why := wellFormed(tag.Get("form"), s); why != "" {
		d.wrong(at, key, tag, "%q %s", key, why)
		return false
	}
	enum := tag.Get("enum")
	if enum == "" || slices.Contains(strings.Split(enum, ","), s) {
		to.SetString(s)
		return true
	}
	for _, l := range strings.Split(tag.Get("later"), ",") {
		value, substitute, _ := strings.Cut(l, "=")
		if value != s || s == "" {
			continue
		}
		message := fmt.Sprintf("%q %q is not supported in this version: %s", key, s, cmp.Or(tag.Get("instead"), "it has no effect"))
		if substitute != "" {
			to.SetString(substitute)
		} else if guards(tag) {
			d.askAlways = true
		}
		d.report(guards(tag), at, key, "%s; use %s", message, either(enum))
		d.problems[len(d.problems)-1].Unserved = true
		return substitute != ""
	}
	near := ""
	if n := nearest(s, strings.Split(enum, ",")); n != "" {
		near = fmt.Sprintf("; did you mean %q?", n)
	}
	d.wrong(at, key, tag, "%q must be %s, not %q%s", key, either(enum), s, near)
	return false
}

// wellFormed says why a string is not the name of an environment variable, an absolute path, a host, or a glob pattern, as
// form demands.
func wellFormed(form, s string) string {
	switch form {
	case "variable":
		for i, r := range s {
			if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
				return "must be the name of an environment variable that holds the key, not the key itself"
			}
		}
	case "absolute":
		if s != "" && !filepath.IsAbs(s) {
			return "must be an absolute path: a relative one depends on the folder that Tandem is started in"
		}
	case "host":
		return host(s)
	case "glob":
		if _, err := path.Match(s, ""); err != nil {
			return "is not a valid glob: " + err.Error()
		}
	}
	return ""
}

func bounds(tag reflect.StructTag) (lo, hi int) {
	lo, _ = strconv.Atoi(tag.Get("min"))
	hi, _ = strconv.Atoi(tag.Get("max"))
	return lo, hi
}

func (d *decoder) object(o *hujson.Object, to reflect.Value, key string) {
	fields := map[string]int{}
	for i := range to.NumField() {
		if name := to.Type().Field(i).Tag.Get("json"); name != "-" {
			fields[name] = i
		}
	}
	named := map[string]bool{}
	for _, m := range o.Members {
		name := m.Name.Value.(hujson.Literal).String()
		full, at := join(key, name), span{m.Name.StartOffset, m.Name.EndOffset}
		i, ok := fields[name]
		if !ok {
			d.unknown(at, key, name, to.Type())
			continue
		}
		if named[name] {
			d.report(true, at, full, "%q is set twice here; the last value is used", full)
		}
		named[name] = true
		d.member(m.Value, to.Field(i), full, at, to.Type().Field(i).Tag)
	}
}

// member decodes the value of a key, and reports a key that this version does not serve.
func (d *decoder) member(v hujson.Value, to reflect.Value, key string, at span, tag reflect.StructTag) {
	d.at[key] = at
	later := tag.Get("later") == "*"
	if later && d.unserved == 0 && !void(v) {
		instead := cmp.Or(tag.Get("instead"), "it has no effect")
		d.report(tag.Get("instead") != "", at, key, "%q is not supported in this version: %s", key, instead)
		d.problems[len(d.problems)-1].Unserved = true
	}
	if later {
		d.unserved++
		defer func() { d.unserved-- }()
	}
	if d.value(v, to, key, tag) {
		d.set[key] = true
	}
}

// void says that a value is empty.
func void(v hujson.Value) bool {
	switch v := v.Value.(type) {
	case *hujson.Object:
		return len(v.Members) == 0
	case *hujson.Array:
		return len(v.Elements) == 0
	}
	return false
}

// entries merges an object into a copy of a map, entry by entry.
func (d *decoder) entries(o *hujson.Object, to reflect.Value, key string) {
	merged := reflect.MakeMap(to.Type())
	for it := to.MapRange(); it.Next(); {
		merged.SetMapIndex(it.Key(), it.Value())
	}
	for _, m := range o.Members {
		name := reflect.ValueOf(m.Name.Value.(hujson.Literal).String())
		full := join(key, name.String())
		entry := reflect.New(to.Type().Elem()).Elem()
		if old := merged.MapIndex(name); old.IsValid() {
			entry.Set(old)
		}
		d.at[full] = span{m.Name.StartOffset, m.Name.EndOffset}
		if d.value(m.Value, entry, full, "") {
			d.set[full] = true
			merged.SetMapIndex(name, entry)
		}
	}
	to.Set(merged)
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func (d *decoder) unknown(at span, key, name string, in reflect.Type) {
	if name == "$schema" && key == "" {
		return
	}
	var valid []string
	for i := range in.NumField() {
		if known := in.Field(i).Tag.Get("json"); known != "-" {
			valid = append(valid, known)
		}
	}
	full := join(key, name)
	var near string
	var meant reflect.StructTag
	if n := nearest(name, valid); n != "" {
		near, meant = join(key, n), in.Field(slices.Index(valid, n)).Tag
	} else {
		near, meant = elsewhere(reflect.TypeFor[Config](), "", name)
	}
	if near == "" {
		d.report(false, at, full, "unknown key %q", full)
		return
	}
	d.askAlways = d.askAlways || guards(meant)
	d.report(guards(meant), at, full, "unknown key %q; did you mean %q?", full, near)
}

// elsewhere finds a key with that name at another path.
func elsewhere(t reflect.Type, key, name string) (string, reflect.StructTag) {
	for i := range t.NumField() {
		f := t.Field(i)
		full, of := join(key, f.Tag.Get("json")), f.Type
		if strings.EqualFold(f.Tag.Get("json"), name) {
			return full, f.Tag
		}
		if of.Kind() == reflect.Map {
			full, of = full+".NAME", of.Elem()
		}
		if of.Kind() != reflect.Struct {
			continue
		}
		if near, tag := elsewhere(of, full, name); near != "" {
			return near, tag
		}
	}
	return "", ""
}

// nearest gives the valid name with the smallest edit distance to name, or with name as a prefix, or "".
func nearest(name string, valid []string) string {
	letters := func(s string) string { return string(slices.Sorted(slices.Values([]byte(strings.ToLower(s))))) }
	if i := slices.IndexFunc(valid, func(v string) bool { return letters(v) == letters(name) }); i >= 0 {
		return valid[i]
	}
	best, limit := "", max(2, len(name)/3)+1
	for _, v := range valid {
		if max(len(name)-len(v), len(v)-len(name)) >= limit {
			continue
		}
		if n := words.Distance(strings.ToLower(name), strings.ToLower(v)); n < limit {
			best, limit = v, n
		}
	}
	if best == "" && len(name) > 3 {
		longer := func(v string) bool { return strings.HasPrefix(strings.ToLower(v), strings.ToLower(name)) }
		if i := slices.IndexFunc(valid, longer); i >= 0 {
			return valid[i]
		}
	}
	return best
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
		if to.Type().Elem().Kind() == reflect.Struct {
			return "a list of objects"
		}
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
	enum := tag.Get("enum")
	switch {
	case tag.Get("form") == "network":
		return either(enum) + ` or {"hosts": [...]}`
	case enum != "":
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
