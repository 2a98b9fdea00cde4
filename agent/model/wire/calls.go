package wire

import (
	"encoding/json"
	"strings"

	"tandem/agent/model"
)

// Calls puts the calls of one answer together from their pieces. A call is told as soon as its name is known.
type Calls struct {
	On   func(model.Delta)
	list []*call
}

type call struct {
	id, name    string
	args        strings.Builder
	begun, done bool
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

// Identify adds an id or a name that came later than New; a call that has begun keeps both.
func (c *Calls) Identify(at int, id, name string) {
	k := c.list[at]
	if k.begun {
		return
	}
	if k.id == "" {
		k.id = id
	}
	if k.name += name; k.name != "" {
		c.begin(at)
	}
}

// Write adds a piece of the arguments.
func (c *Calls) Write(at int, args string) {
	k := c.list[at]
	if args == "" || k.done {
		return
	}
	k.args.WriteString(args)
	if k.begun {
		c.On(model.Delta{Call: &model.CallDelta{Index: at, Arguments: args}})
	}
}

// Rest adds what whole has more than was written so far; the second result is false where it begins differently.
func (c *Calls) Rest(at int, whole string) bool {
	rest, ok := strings.CutPrefix(whole, c.list[at].args.String())
	if ok {
		c.Write(at, rest)
	}
	return ok
}

func (c *Calls) begin(at int) {
	k := c.list[at]
	k.begun = true
	c.On(model.Delta{Call: &model.CallDelta{Index: at, ID: k.id, Name: k.name, Arguments: k.args.String()}})
}

// Whole says that the arguments are complete as they stand.
func (c *Calls) Whole(at int) bool {
	args := strings.TrimSpace(c.list[at].args.String())
	return args != "" && json.Valid([]byte(args))
}

// Settle declares a call complete, whatever its arguments are.
func (c *Calls) Settle(at int) {
	k := c.list[at]
	if k.done {
		return
	}
	if !k.begun {
		c.begin(at)
	}
	k.done = true
	c.On(model.Delta{Call: &model.CallDelta{Index: at, Done: true}})
}

// SettleAll declares calls complete: all of them, or only those whose arguments are.
func (c *Calls) SettleAll(all bool) {
	for at := range c.list {
		if all || c.Whole(at) {
			c.Settle(at)
		}
	}
}
