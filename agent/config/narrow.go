package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"tandem/sandbox"
)

// add concatenates the lists with the tag adds.
func add(base, next reflect.Value) {
	for i := range next.NumField() {
		f := next.Type().Field(i)
		switch {
		case f.Type.Kind() == reflect.Struct:
			add(base.Field(i), next.Field(i))
		case f.Tag.Get("adds") != "":
			next.Field(i).Set(union(base.Field(i), next.Field(i)))
		}
	}
}

// union gives the elements of both lists, those of a first, without duplicates.
func union(a, b reflect.Value) reflect.Value {
	all := reflect.MakeSlice(a.Type(), 0, a.Len()+b.Len())
	for _, list := range []reflect.Value{a, b} {
		for i := range list.Len() {
			if e := list.Index(i); !contains(all, e) {
				all = reflect.Append(all, e)
			}
		}
	}
	if all.Len() == 0 {
		return reflect.Zero(a.Type())
	}
	return all
}

func contains(list, e reflect.Value) bool {
	for i := range list.Len() {
		if reflect.DeepEqual(list.Index(i).Interface(), e.Interface()) {
			return true
		}
	}
	return false
}

// keepLimit refuses to lift the limit on where files may be changed.
func (d *decoder) keepLimit(base, next *Config) {
	if at, ok := d.at["writeRoots"]; ok && next.WriteRoots != nil && len(next.WriteRoots) == 0 {
		d.report(true, at, "writeRoots", `"writeRoots": [] is ignored here: it works only in your own configuration file and in initializationOptions`)
		next.WriteRoots = base.WriteRoots
		delete(d.set, "writeRoots")
	}
}

// narrowed reverts the keys that a layer which may only make things stricter may not set. who names it in messages.
func (d *decoder) narrowed(who, folder string, folders []string, base, next *Config) {
	if folder != "" { // proposals, see Loaded
		next.MCPServers = base.MCPServers
		delete(d.at, "mcpServers")
		maps.DeleteFunc(d.set, func(k string, _ bool) bool { return k == "mcpServers" || strings.HasPrefix(k, "mcpServers.") })
	}
	d.narrow(who, "", reflect.ValueOf(base).Elem(), reflect.ValueOf(next).Elem())
	if at, set := d.at["writeRoots"]; set {
		next.WriteRoots = d.narrowRoots(at, folder, folders, base.WriteRoots, next.WriteRoots)
		if reflect.DeepEqual(base.WriteRoots, next.WriteRoots) {
			delete(d.set, "writeRoots")
		}
	}
}

// narrow checks the keys that were set by their tag ws:
//
//	free     anything
//	smaller  a smaller number
//	budget   a smaller number, where 0 is the largest
//	true     true
//	more     a list that is added to, as always
//	order:   a value after the present one
//	roots    see narrowRoots
//	network  see Network.narrower
//	proposal in the file of a folder it is one, see Loaded.Proposed, elsewhere it may not be set
//
// A key without the tag may not be set. The tags are the only table of this.
func (d *decoder) narrow(who, key string, base, next reflect.Value) {
	for i := range next.NumField() {
		f := next.Type().Field(i)
		full := join(key, f.Tag.Get("json"))
		at, named := d.at[full]
		rule := f.Tag.Get("ws")
		b, n := base.Field(i), next.Field(i)
		why := who + " may only make it stricter"
		switch {
		case !named:
			continue
		case rule == "" && f.Type.Kind() == reflect.Struct && decides(f.Type):
			d.narrow(who, full, b, n)
			continue
		case rule == "", rule == "proposal":
			why = who + " may not set it"
		case within(rule, b, n):
			continue
		}
		n.Set(b)
		inside := func(k string) bool { return k == full || strings.HasPrefix(k, full+".") }
		maps.DeleteFunc(d.set, func(k string, _ bool) bool { return inside(k) })
		d.problems = slices.DeleteFunc(d.problems, func(p Problem) bool { return p.Unserved && inside(p.Key) })
		d.refuse(at, full, fmt.Sprintf("%q is ignored here: %s", full, why))
	}
}

// refuse reports a key that the layer may not set.
func (d *decoder) refuse(at span, key, message string) {
	if d.elsewhere != "" {
		message += "; " + d.elsewhere
	}
	d.report(d.elsewhere != "", at, key, "%s", message)
}

// decides says that a workspace may set some key of a struct.
func decides(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("ws") != "" {
			return true
		}
	}
	return false
}

// within says that a rule permits the change of a value.
func within(rule string, base, next reflect.Value) bool {
	kind, order, _ := strings.Cut(rule, ":")
	switch kind {
	case "free", "more", "roots":
		return true
	case "network":
		return Network(next.String()).narrower(Network(base.String()))
	case "true":
		return next.Bool() || !base.Bool()
	case "order":
		names := strings.Split(order, ",")
		return slices.Index(names, next.String()) >= slices.Index(names, base.String())
	case "smaller", "budget":
		b, n := number(base), number(next)
		if kind == "budget" && (b == 0 || n == 0) {
			return b == 0
		}
		return n <= b
	}
	return false
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// narrowRoots gives those of the wanted roots that lie below an allowed root, as absolute paths without symbolic links,
// and the allowed roots outside of the folder of the layer. If none are left, nothing changes; if that is because the
// folders do not exist, it was meant as a limit, and everything asks.
func (d *decoder) narrowRoots(at span, folder string, folders, allowed, wanted []string) []string {
	if len(wanted) == 0 {
		if wanted != nil || allowed != nil {
			d.refuse(at, "writeRoots", `"writeRoots" is ignored here: it may only be made stricter`)
		}
		return allowed
	}
	unlimited := allowed != nil && len(allowed) == 0
	outer := allowed
	if allowed == nil || unlimited {
		outer = folders
	}
	var kept []string
	missing := false
	for _, w := range wanted {
		if !filepath.IsAbs(w) {
			w = filepath.Join(folder, w)
		}
		real, err := sandbox.Resolved(w)
		inside := slices.ContainsFunc(outer, func(o string) bool { return below(real, o) })
		if errors.Is(err, fs.ErrNotExist) && slices.ContainsFunc(outer, func(o string) bool { return below(there(w), o) }) {
			missing = true
			d.report(true, at, "writeRoots", "%q is ignored: this folder does not exist", w)
			continue
		}
		if err != nil || !filepath.IsAbs(real) || !(unlimited || inside) {
			d.refuse(at, "writeRoots", fmt.Sprintf("%q is ignored: it is not inside a folder that may already be changed", w))
			continue
		}
		kept = append(kept, real)
	}
	if kept == nil {
		d.askAlways = d.askAlways || missing
		return allowed
	}
	for _, o := range outer {
		elsewhere := func(other string) bool { return other != folder && below(o, other) }
		if folder != "" && slices.ContainsFunc(folders, elsewhere) && !below(o, folder) && !slices.Contains(kept, o) {
			kept = append(kept, o)
		}
	}
	return kept
}

// there gives the longest existing prefix of a path.
func there(path string) string {
	for {
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// below says that a path is a folder or lies below it, with symbolic links resolved.
func below(path, folder string) bool {
	path, err := sandbox.Resolved(path)
	if err != nil {
		return false
	}
	folder, err = sandbox.Resolved(folder)
	return err == nil && (path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/"))
}
