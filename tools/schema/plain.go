package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxParts bounds how many references and alternatives of a root are followed to its properties: a
// schema may contain itself, several times over.
const maxParts = 256

// plain is a tidy schema as services take it for the parameters of a tool: an object at its root,
// with properties and without alternatives there; every list says what is in it; nothing is required
// that no property describes; no schema is a truth value. What arguments a call may have does not get narrower by it.
func plain(js json.RawMessage) json.RawMessage {
	m, ok := object(js)
	if !ok {
		return js
	}
	w := &tidier{root: js, services: true}
	m = w.flat(m)
	m.drop("items", "prefixItems")
	if m.get("properties") == nil {
		m.set("properties", json.RawMessage("{}"))
	}
	return w.schema(m.json())
}

// alternatives are what a service refuses at the root of parameters.
var alternatives = []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if", "then", "else"}

// flat is a root as an object with all the properties that it may have by its references and
// alternatives.
func (w *tidier) flat(m members) members {
	odd := slices.ContainsFunc(m, func(o member) bool { return slices.Contains(alternatives, o.name) })
	if !odd && string(m.get("type")) == `"object"` {
		return m
	}
	if odd {
		f := w.fields(m)
		m.drop(append([]string{"additionalProperties", "unevaluatedProperties"}, alternatives...)...)
		if len(f.properties) > 0 {
			m.set("properties", f.properties.json())
		}
		m.drop("required")
		if len(f.required) > 0 {
			m.set("required", list(f.required))
		}
		if f.says != "" {
			var about string
			_ = json.Unmarshal(m.get("description"), &about)
			m.set("description", quoted(strings.TrimSpace(about+"\n"+f.says)))
		}
	}
	m.drop("type")
	return append(members{{"type", json.RawMessage(`"object"`)}}, m...)
}

// fields are the properties that an object may have, those that it must have, and what else a model
// has to know.
type fields struct {
	properties members
	required   []json.RawMessage
	says       string
}

// fields gathers what a schema says of properties.
func (w *tidier) fields(m members) (f fields) {
	if w.parts++; w.parts > maxParts {
		return f
	}
	of := func(js json.RawMessage) fields {
		if below, ok := object(js); ok {
			return w.fields(below)
		}
		return fields{}
	}
	f.properties, _ = object(m.get("properties"))
	_ = json.Unmarshal(m.get("required"), &f.required)
	var ref string
	if json.Unmarshal(m.get("$ref"), &ref) == nil {
		f.add(of(w.target(ref)), true)
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		var each []json.RawMessage
		_ = json.Unmarshal(m.get(name), &each)
		var sets []string
		var must [][]byte
		for i, js := range each {
			one := of(js)
			f.add(one, name == "allOf")
			sets = append(sets, one.names())
			if i == 0 {
				must = raws(one.required)
			}
			must = slices.DeleteFunc(must, func(n []byte) bool { return !contains(one.required, n) })
		}
		if name != "allOf" {
			for _, n := range must {
				f.require(n)
			}
			if slices.Sort(sets); len(slices.Compact(sets)) > 1 {
				f.says = strings.TrimSpace(fmt.Sprintf("%s\nOne of these is wanted: %s.", f.says, strings.Join(slices.Compact(sets), "; ")))
			}
		}
	}
	for _, name := range []string{"then", "else"} {
		f.add(of(m.get(name)), false)
	}
	return f
}

// names are those of what must be there, else of what may be.
func (f fields) names() string {
	var out []string
	for _, r := range f.required {
		out = append(out, string(bytes.Trim(r, `"`)))
	}
	if len(out) == 0 {
		for _, p := range f.properties {
			out = append(out, p.name)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// add takes in what another schema says; must is whether that holds for each object.
func (f *fields) add(o fields, must bool) {
	for _, p := range o.properties {
		switch was := f.properties.get(p.name); {
		case was == nil:
			f.properties.set(p.name, p.value)
		case !bytes.Equal(was, p.value):
			f.properties.set(p.name, slices.Concat([]byte(`{"anyOf":[`), was, []byte{','}, p.value, []byte(`]}`)))
		}
	}
	if must {
		for _, r := range o.required {
			f.require(r)
		}
	}
	if o.says != "" {
		f.says = strings.TrimSpace(f.says + "\n" + o.says)
	}
}

func (f *fields) require(name []byte) {
	if !contains(f.required, name) {
		f.required = append(f.required, name)
	}
}

func contains(names []json.RawMessage, name []byte) bool {
	return slices.ContainsFunc(names, func(n json.RawMessage) bool { return bytes.Equal(n, name) })
}

// complete says what a service misses in a schema: what is in a list, and which property is
// required that none describes. It reports whether there was nothing.
func (m *members) complete() (whole bool) {
	whole = true
	if m.get("items") == nil && isKind(m.get("type"), "array") {
		m.set("items", json.RawMessage("{}"))
		whole = false
	}
	var required []json.RawMessage
	props, has := object(m.get("properties"))
	if has && json.Unmarshal(m.get("required"), &required) == nil {
		known := slices.DeleteFunc(slices.Clone(required), func(r json.RawMessage) bool {
			var name string
			return json.Unmarshal(r, &name) != nil || props.get(name) == nil
		})
		if len(known) < len(required) {
			m.set("required", list(known))
			whole = false
		}
	}
	return whole
}

func compacted(js json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, js) != nil {
		return js
	}
	return b.Bytes()
}

func isKind(v json.RawMessage, kind string) bool {
	var one string
	var all []string
	return json.Unmarshal(v, &one) == nil && one == kind || json.Unmarshal(v, &all) == nil && slices.Contains(all, kind)
}
