package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/tools/words"
)

// Issue is one thing that is wrong with the arguments. Path is written $.items[2].name, Pointer as
// RFC 6901 has it; Expected is a type name, "present", "absent", "enum[A,B]", "length >= 1" or a
// bound like ">= 1"; Received describes what was there in at most 60 characters; Message is a
// sentence for the model.
type Issue struct {
	Path     string `json:"path"`
	Pointer  string `json:"pointer"`
	Expected string `json:"expected"`
	Received string `json:"received"`
	Message  string `json:"message"`
}

// Checked is what came of checking arguments: Args are normalised and hold the defaults, and are of
// use only where there are no Issues. Coerced lists the paths whose name or value was changed to
// fit.
type Checked struct {
	Args    json.RawMessage
	Coerced []string
	Issues  []Issue
}

// Bounds on what is taken in at all: a few bytes of JSON can become a hundred times as much memory.
const (
	maxDepth  = 128
	maxValues = 200_000
)

// Check is CheckIn with messages in English.
func (s *Schema) Check(raw json.RawMessage, coerce bool) Checked {
	return s.CheckIn(words.English, raw, coerce)
}

// CheckIn checks raw, which may be anything, and tells everything that is wrong with it at once,
// with messages in a language. Other names of a parameter are always understood; values of another
// type are turned into what the schema wants only with coerce.
func (s *Schema) CheckIn(language words.Language, raw json.RawMessage, coerce bool) Checked {
	c := checker{coerce: coerce, language: language}
	v, err := decode(raw)
	if err != nil {
		c.fail(place{}, "object", cut(strconv.Quote(cut(string(raw)))), "the arguments are not valid JSON: %s. %s", broken(bytes.TrimSpace(raw), err), s.wanted(errors.Is(err, io.ErrUnexpectedEOF)))
		return Checked{Issues: c.issues}
	}
	if v == nil {
		v = map[string]any{}
	}
	v = c.value(s.root, v, place{})
	out := Checked{Coerced: c.coerced, Issues: c.issues}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && len(out.Issues) == 0 {
		c.fail(place{}, "object", describeValue(v), "the arguments cannot be used: %v", err)
		out.Issues = c.issues
	}
	out.Args = bytes.TrimSpace(buf.Bytes())
	if s.foreign != nil && len(out.Issues) == 0 {
		if err := s.judge(out.Args); err != nil {
			c.fail(place{}, "valid", describeValue(v), "the arguments do not fit the tool's schema: %v", err)
			out.Issues = c.issues
		}
	}
	return out
}

// judge asks the library about the part of a foreign schema that our nodes cannot express.
func (s *Schema) judge(args json.RawMessage) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the schema cannot be evaluated (%v)", r)
		}
	}()
	var plain any
	if err := json.Unmarshal(args, &plain); err != nil {
		return err
	}
	return s.foreign.Validate(plain)
}

// wanted says what arguments have to be that were no JSON, perhaps since they were cut off.
func (s *Schema) wanted(cut bool) words.Text {
	object := words.Of("one JSON object")
	if names := strings.Join(s.root.required, ", "); names != "" {
		object = words.Of("one JSON object with %s", names)
	}
	if cut {
		return words.Of("Send the whole call again, %s; if it was too long, do it in several smaller calls", object)
	}
	return words.Of("Send %s", object)
}

// broken says how much of a text that is no JSON came, where it stops being JSON, and why.
func broken(raw []byte, err error) words.Text {
	const most = 40
	var syntax *json.SyntaxError
	var limit limitError
	at, why := len(raw), words.Of("they end in the middle")
	switch {
	case errors.As(err, &limit):
		return words.Text(limit)
	case errors.Is(err, errMore):
		why = words.Of("there is more after the first value")
		d := json.NewDecoder(bytes.NewReader(raw))
		if d.Decode(new(json.RawMessage)) == nil {
			at = int(d.InputOffset())
		}
	case errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF):
		at, why = max(0, int(syntax.Offset)-1), words.Of("%s", strings.TrimPrefix(syntax.Error(), "json: "))
	}
	if at == 0 {
		return words.Of("%s: they begin with %q", why, strings.ToValidUTF8(string(raw[:min(most, len(raw))]), "\uFFFD"))
	}
	before := strings.ToValidUTF8(string(raw[max(0, at-most):at]), "\uFFFD")
	if at == len(raw) {
		return words.Of("%s after %d bytes, which end with %q", why, len(raw), before)
	}
	return words.Of("%s at byte %d of %d, after %q", why, at, len(raw), before)
}

// errMore is what decode says of a second value.
var errMore = errors.New("there is more after the first value")

// limitError is what measure says of a text that it does not decode.
type limitError words.Text

func (e limitError) Error() string { return words.Text(e).String() }

// decode reads exactly one JSON value, numbers as they are written; nothing at all is null.
func decode(raw []byte) (any, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	if err := measure(raw); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errMore
	}
	return v, nil
}

// measure refuses what would grow out of proportion when decoded, without decoding it.
func measure(raw []byte) error {
	depth, values := 0, 1
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth, values = depth+1, values+1
		case '}', ']':
			depth--
		case ',':
			values++
		}
		if depth > maxDepth {
			return limitError(words.Of("they are nested deeper than %d levels", maxDepth))
		}
		if values > maxValues {
			return limitError(words.Of("they have more than %d values", maxValues))
		}
	}
	return nil
}

// place is where in the arguments a value stands.
type place struct{ path, pointer string }

func (p place) key(k string) place {
	step := "." + k
	if !plainKey(k) {
		step = "[" + strconv.Quote(k) + "]"
	}
	return place{p.path + step, p.pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(k, "~", "~0"), "/", "~1")}
}

func (p place) index(i int) place {
	return place{fmt.Sprintf("%s[%d]", p.path, i), fmt.Sprintf("%s/%d", p.pointer, i)}
}

// name is how a message speaks of the place.
func (p place) name() words.Text {
	if p.path == "" {
		return words.Of("the arguments")
	}
	return words.Of("%s", strings.TrimPrefix(p.path, "."))
}

func plainKey(k string) bool {
	for i, r := range k {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return k != ""
}

type checker struct {
	coerce   bool
	language words.Language
	coerced  []string
	issues   []Issue
}

func (c *checker) fail(at place, expected, received, format string, args ...any) {
	c.issues = append(c.issues, Issue{"$" + at.path, at.pointer, expected, received, words.Of(format, args...).In(c.language)})
}

func (c *checker) note(at place) {
	if path := "$" + at.path; !slices.Contains(c.coerced, path) {
		c.coerced = append(c.coerced, path)
	}
}

// value checks v against n and gives it back as the tool is to have it.
func (c *checker) value(n *node, v any, at place) any {
	for range maxDepth {
		if v == nil && n.nullable {
			return nil
		}
		if n.ref == nil {
			break
		}
		n = n.ref
	}
	if len(n.types) > 0 && !hasType(n.types, v) {
		w, ok := c.fit(n, v)
		if !ok {
			want := strings.Join(n.types, "|")
			if list, ok := v.([]any); ok && want == "string" && len(list) > 0 && at.path == ".path" {
				c.fail(at, want, describeValue(v), "%s must be %s, got %s: make one call for each", at.name(), article(want), describeValue(v))
				return v
			}
			c.fail(at, want, describeValue(v), "%s must be %s, got %s", at.name(), article(want), describeValue(v))
			return v
		}
		c.note(at)
		v = w
	}
	v = c.choice(n, v, at)
	switch w := v.(type) {
	case json.Number:
		return c.number(n, w, at)
	case string:
		c.length(n.minLen, n.maxLen, utf8.RuneCountInString(w), v, at)
		if n.pattern != nil && !n.pattern.MatchString(w) {
			c.fail(at, "pattern "+n.pattern.String(), describeValue(v), "%s must match %s, got %s",
				at.name(), n.pattern, describeValue(v))
		}
	case []any:
		c.length(n.minItems, n.maxItm, len(w), v, at)
		for i := range w {
			if n.items != nil {
				w[i] = c.value(n.items, w[i], at.index(i))
			}
		}
	case map[string]any:
		c.object(n, w, at)
	}
	return v
}

// choice checks v against the values allowed; a text that differs in case alone is corrected where
// coercion is on.
func (c *checker) choice(n *node, v any, at place) any {
	if n.enum == nil {
		return v
	}
	names := make([]string, len(n.enum))
	for i, e := range n.enum {
		names[i] = fmt.Sprint(e)
		if equal(e, v) {
			return v
		}
	}
	s, isText := v.(string)
	for i, e := range n.enum {
		if isText && c.coerce && !n.strict && strings.EqualFold(names[i], s) {
			if _, ok := e.(string); ok {
				c.note(at)
				return e
			}
		}
	}
	c.fail(at, "enum["+strings.Join(names, ",")+"]", describeValue(v), "%s must be one of %s, got %s",
		at.name(), strings.Join(names, ", "), describeValue(v))
	return v
}

func (c *checker) number(n *node, v json.Number, at place) any {
	f, err := v.Float64()
	if n.goInt {
		i, ok := integer(v)
		if !ok {
			c.fail(at, "integer", describeValue(v), "%s is too large a number: %s", at.name(), describeValue(v))
			return v
		}
		v = json.Number(strconv.FormatInt(i, 10))
	} else if err != nil {
		c.fail(at, "number", describeValue(v), "%s is too large a number: %s", at.name(), describeValue(v))
		return v
	}
	for _, b := range []struct {
		bound *float64
		sign  string
		ok    func(x float64) bool
	}{
		{n.min, ">=", func(x float64) bool { return f >= x }},
		{n.above, ">", func(x float64) bool { return f > x }},
		{n.max, "<=", func(x float64) bool { return f <= x }},
		{n.below, "<", func(x float64) bool { return f < x }},
	} {
		if b.bound != nil && !b.ok(*b.bound) {
			want := b.sign + " " + strconv.FormatFloat(*b.bound, 'f', -1, 64)
			got := words.Of("%s", cut(v.String()))
			if n.unit != "" {
				got = words.Of("%s (%s)", got, n.unit)
			}
			c.fail(at, want, describeValue(v), "%s must be %s, got %s", at.name(), want, got)
		}
	}
	return v
}

func (c *checker) length(least, most *int, n int, v any, at place) {
	unit := words.Of("characters")
	if _, list := v.([]any); list {
		unit = words.Of("items")
	}
	switch {
	case least != nil && n < *least && n == 0:
		c.fail(at, fmt.Sprintf("length >= %d", *least), describeValue(v), "%s cannot be empty", at.name())
	case least != nil && n < *least:
		c.fail(at, fmt.Sprintf("length >= %d", *least), describeValue(v), "%s must have at least %d %s, got %d",
			at.name(), *least, unit, n)
	case most != nil && n > *most:
		c.fail(at, fmt.Sprintf("length <= %d", *most), describeValue(v), "%s must have at most %d %s, got %d",
			at.name(), *most, unit, n)
	}
}

// object checks the properties of m in place: names first, then absent ones, then values.
func (c *checker) object(n *node, m map[string]any, at place) {
	given := slices.Sorted(maps.Keys(m))
	for _, key := range given {
		if _, known := n.props[key]; known {
			continue
		}
		name, meant := n.folded[fold(key)]
		switch {
		case meant && (n.closed || slices.Contains(n.required, name)):
			if _, twice := m[name]; twice {
				c.fail(at.key(key), "absent", describeValue(m[key]),
					"%q is another name of %q, which is there too: give only %q", cut(key), name, name)
				continue
			}
			m[name] = m[key]
			delete(m, key)
			c.note(at.key(name))
		case n.always[fold(key)]:
			if on, ok := c.fit(&node{types: []string{"boolean"}}, m[key]); m[key] == true || ok && on == true {
				delete(m, key)
				c.note(at.key(key))
				continue
			}
			c.fail(at.key(key), "absent", describeValue(m[key]), "%q cannot be switched off: leave it out", cut(key))
		case n.closed:
			c.fail(at.key(key), "absent", describeValue(m[key]), "unknown parameter %q%s", cut(key), n.hint(key, m))
		case n.extra != nil:
			m[key] = c.value(n.extra, m[key], at.key(key))
		}
	}
	for _, name := range n.order {
		child := n.props[name]
		v, present := m[name]
		if present && v == nil && !slices.Contains(n.required, name) && !child.takesNull() {
			delete(m, name)
			present = false
		}
		if present {
			m[name] = c.value(child, v, at.key(name))
		} else if child.def != nil {
			m[name], _ = decode(child.def)
		}
	}
	for _, name := range n.required {
		if _, present := m[name]; !present {
			c.fail(at.key(name), "present", "absent", "%s is required", at.key(name).name())
		}
	}
}

func (n *node) takesNull() bool {
	for range maxDepth {
		if n.nullable || len(n.types) == 0 && n.ref == nil || slices.Contains(n.types, "null") {
			return true
		}
		if n.ref == nil {
			return false
		}
		n = n.ref
	}
	return false
}

// hint names the parameter that the unknown one is a slip of, else all there are: a guess that is
// wrong costs a call.
func (n *node) hint(key string, given map[string]any) words.Text {
	if len(n.order) == 0 {
		return words.Of("; there are no parameters here")
	}
	for _, written := range slices.Sorted(maps.Keys(n.folded)) {
		name := n.folded[written]
		if _, taken := given[name]; !taken && words.Slip(fold(key), written) {
			return words.Of(", did you mean %q?", name)
		}
	}
	return words.Of("; the parameters are %s", strings.Join(n.order, ", "))
}
