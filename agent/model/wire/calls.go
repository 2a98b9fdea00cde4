package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"tandem/agent/model"
)

// Calls puts the calls of one answer together from their pieces. A call begins as soon as its name
// is known.
type Calls struct {
	On func(model.Delta)
	// Model is the name of the model that makes them, Tools are those that it may call.
	Model string
	Tools []model.ToolSpec
	list  []*call
}

type call struct {
	id, name string
	args     []byte
	sent     int // bytes of args that On was told
	// guess says that args are provisional: a piece that comes later replaces them. repeats says
	// that each piece has all that came before it.
	guess, repeats bool
	extra          Extra
	begun, done    bool
}

// Len is the number of calls so far.
func (c *Calls) Len() int { return len(c.list) }

// New adds a call and gives its index. Name and id may come later.
func (c *Calls) New(id, name string) int {
	c.list = append(c.list, &call{id: id, name: name})
	at := len(c.list) - 1
	if name != "" {
		c.begin(at)
	}
	return at
}

// ID is the call's id as far as it is known.
func (c *Calls) ID(at int) string { return c.list[at].id }

// Name is the call's name as far as it is known.
func (c *Calls) Name(at int) string { return c.list[at].name }

// Done says that a call was declared complete.
func (c *Calls) Done(at int) bool { return c.list[at].done }

// Find gives the last call with that id, -1 for none.
func (c *Calls) Find(id string) int {
	at := len(c.list) - 1
	for at >= 0 && (id == "" || c.list[at].id != id) {
		at--
	}
	return at
}

// Identify adds an id, or a piece of a name, that came later than New; a call that has begun keeps
// both. A name may come in pieces, and as a whole with each piece of the call: it is known when it
// is that of a tool, or when arguments have come.
func (c *Calls) Identify(at int, id, name string) {
	k := c.list[at]
	if k.begun {
		return
	}
	if k.id == "" {
		k.id = id
	}
	if name != k.name {
		k.name += name
	}
	isTool := slices.ContainsFunc(c.Tools, func(t model.ToolSpec) bool { return t.Name == k.name })
	if isTool || k.name != "" && len(bytes.TrimSpace(k.args)) > 0 {
		c.begin(at)
	}
}

// Write adds a piece of the arguments. Many services begin with {} or null before the arguments
// themselves.
func (c *Calls) Write(at int, args string) {
	k := c.list[at]
	if args == "" || k.done {
		return
	}
	if k.guess || placeholder(k.args) && strings.TrimSpace(args) != "" {
		k.args, args = nil, strings.TrimSpace(args)
	}
	k.guess = false
	k.args = k.joined(args)
	c.send(k, at)
}

// joined is the arguments with a piece that came next. Several services send all arguments so far
// with every piece.
func (k *call) joined(args string) []byte {
	was := bytes.TrimSpace(k.args)
	if n := len(was); n > 0 && was[0] == '{' && len(args) >= n && args[:n] == string(was) {
		// At the place of a value, the piece may be an object that begins as the one around it
		// does.
		k.repeats = k.repeats || len(args) > n && !bytes.ContainsAny(was[n-1:], ":[,")
		if k.repeats {
			return []byte(args)
		}
	}
	return append(k.args, args...)
}

// Guess gives arguments that stand only where no piece follows.
func (c *Calls) Guess(at int, args string) {
	c.list[at].args, c.list[at].guess = []byte(args), true
}

// placeholder says that arguments may stand for those that follow.
func placeholder(args []byte) bool {
	args = bytes.TrimSpace(args)
	return string(args) == "{}" || string(args) == "null"
}

// provisional says that the arguments may still be replaced, as all may that are no object: a JSON
// string may hold them, and of what is encrypted the plain text follows.
func (k *call) provisional() bool {
	return k.guess || placeholder(k.args) || !bytes.HasPrefix(bytes.TrimSpace(k.args), []byte("{"))
}

// send tells what of the arguments is certain and was not told yet.
func (c *Calls) send(k *call, at int) {
	if !k.begun || k.provisional() || k.sent >= len(k.args) {
		return
	}
	rest := string(k.args[k.sent:])
	k.sent = len(k.args)
	c.On(model.Delta{Call: &model.CallDelta{Index: at, Arguments: rest}})
}

// Rest adds what whole has more than was written so far; the second result is false where it says
// something else.
func (c *Calls) Rest(at int, whole string) bool {
	k := c.list[at]
	if k.provisional() && strings.HasPrefix(strings.TrimSpace(whole), "{") {
		k.args, k.guess = nil, false
		c.Write(at, whole)
		return true
	}
	rest, ok := strings.CutPrefix(whole, string(k.args))
	if ok {
		c.Write(at, rest)
	}
	return ok || sameJSON([]byte(whole), k.args)
}

// Repeats says that args are those that the call has already, all of them.
func (c *Calls) Repeats(at int, args string) bool {
	k := c.list[at]
	return c.Whole(at) && !placeholder(k.args) && sameJSON([]byte(args), k.args)
}

// Replaceable says that the arguments, if there are any, may only stand for others.
func (c *Calls) Replaceable(at int) bool {
	k := c.list[at]
	return !k.done && (k.guess || placeholder(k.args))
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return bytes.Equal(a, b) || json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func (c *Calls) begin(at int) {
	k := c.list[at]
	k.begun = true
	args := ""
	if !k.provisional() {
		args, k.sent = string(k.args), len(k.args)
	}
	c.On(model.Delta{Call: &model.CallDelta{Index: at, ID: k.id, Name: k.name, Arguments: args}})
}

// Whole says that the arguments are complete as they stand.
func (c *Calls) Whole(at int) bool {
	return json.Valid(c.list[at].args)
}

// Settle declares a call complete, whatever its arguments are.
func (c *Calls) Settle(at int) {
	k := c.list[at]
	if k.done {
		return
	}
	inner := strings.TrimSpace(unquoted(bytes.TrimSpace(k.args)))
	switch {
	case inner == "null":
		k.args = []byte("{}")
	case k.sent == 0 && strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)):
		k.args = []byte(inner)
	}
	if !k.begun {
		c.begin(at)
	}
	if rest := k.args[min(k.sent, len(k.args)):]; len(rest) > 0 {
		c.On(model.Delta{Call: &model.CallDelta{Index: at, Arguments: string(rest)}})
	}
	k.done = true
	c.On(model.Delta{Call: &model.CallDelta{Index: at, Done: true}})
}

// SettleAll declares calls complete: all of them, or only those whose arguments are and cannot be
// replaced any more.
func (c *Calls) SettleAll(all bool) {
	for at, k := range c.list {
		if all || c.Whole(at) && !k.provisional() {
			c.Settle(at)
		}
	}
}

// End declares calls complete once nothing more can come: all of them, or, where the last one was
// cut off, those whose arguments are.
func (c *Calls) End(all bool) {
	for at, k := range c.list {
		if all || c.Whole(at) && (at < len(c.list)-1 || !k.provisional()) {
			c.Settle(at)
		}
	}
}

// Keep adds the fields of a piece of a call that are none of those named.
func (c *Calls) Keep(at int, piece json.RawMessage, known ...string) {
	c.list[at].extra.Add(piece, known...)
}

// KeepIn is Keep for the fields of an object that the piece has under that name.
func (c *Calls) KeepIn(at int, name string, object json.RawMessage, known ...string) {
	var within Extra
	if within.Add(object, known...); within != nil {
		piece, _ := Encode(map[string]json.RawMessage{name: within.Object()})
		c.list[at].extra.Add(piece)
	}
}

// KeepAll tells what the model must get back with each call: fields that its service added, and an
// id that would be changed for any other service.
func (c *Calls) KeepAll() {
	for at, k := range c.list {
		if fields := k.extra.Object(); k.begun && (fields != nil || CallID(k.id) != k.id && k.id != "") {
			c.On(model.Delta{Call: &model.CallDelta{Index: at, Extra: &model.Extra{Model: c.Model, Fields: fields}}})
		}
	}
}
