package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Body is a request in JSON, in pieces that follow each other and are never changed.
type Body [][]byte

// Len is the number of bytes.
func (b Body) Len() (n int64) {
	for _, piece := range b {
		n += int64(len(piece))
	}
	return n
}

// Writing says how the things of a list, such as the messages of a conversation, are written as the
// items that a service knows.
type Writing[S, T any] struct {
	// Same says that two things are the same, and so that their items are.
	Same func(a, b S) bool
	// Add writes from[i] behind the items of those before it: it appends items, or changes the last
	// one.
	Add func(items []T, from []S, i int) []T
	// End gives what only this request says: items in another form, by their place, and items after
	// the last. It changes none of items. May be nil.
	End func(items []T, from []S) (other map[int]T, more []T)
}

// Items writes a whole list.
func (w Writing[S, T]) Items(from []S) []T {
	var items []T
	for i := range from {
		items = w.Add(items, from, i)
	}
	if w.End != nil {
		other, more := w.End(items, from)
		for i, item := range other {
			items[i] = item
		}
		items = append(items, more...)
	}
	return items
}

// Grown writes and encodes a list that begins each time as it did the time before, as a
// conversation does: what was written and encoded then is kept until it was not used for a while,
// since it is as large as the conversation itself, and there may be many sessions at rest. It may
// be used concurrently. The zero value is ready.
type Grown[S, T any] struct {
	mu      sync.Mutex
	rest    *time.Timer // releases what is kept
	from    []S
	first   []int // for each of from: the first item that it wrote to, ascending
	end     []int // and the number of items after it
	items   []T
	encoded [][]byte // each with what comes before it in the list; nil where it is not kept
	arena   []byte   // the chunk that encoded items are written to, one behind the other
}

// keep is the size of the largest item whose encoded form is kept.
const keep = 1 << 20

// idle is how long what nobody has used is kept. A process that rests gives memory back a little
// later.
const idle = 20 * time.Second

// Chunks of the arena grow from the first size to the second.
const smallChunk, largeChunk = 4 << 10, 64 << 10

// lay copies an encoded item into the arena, so that items which follow each other are sent as one
// piece. g.mu is held.
func (g *Grown[S, T]) lay(head byte, raw []byte) []byte {
	if n := 1 + len(raw); n > cap(g.arena)-len(g.arena) {
		g.arena = make([]byte, 0, max(n, min(largeChunk, max(smallChunk, 2*cap(g.arena)))))
	}
	at := len(g.arena)
	g.arena = append(append(g.arena, head), raw...)
	return g.arena[at:]
}

// put adds a piece of the arena to a request, as one with the last piece where that lies right
// before it.
func put(b Body, piece []byte) Body {
	if n := len(b); n > 0 {
		last := b[n-1]
		if end := len(last); end+len(piece) <= cap(last) && &last[:end+1][end] == &piece[0] {
			b[n-1] = last[:end+len(piece)]
			return b
		}
	}
	return append(b, piece)
}

// Fill puts a list into body in the place of the one that holds mark alone. What from holds must
// not be changed afterwards.
func (g *Grown[S, T]) Fill(body Body, mark T, from []S, w Writing[S, T]) (Body, error) {
	place, err := Encode(mark)
	if err != nil {
		return nil, err
	}
	place = append(append([]byte{'['}, place...), ']')
	at := 0
	var before, after []byte
	for found := false; !found; at++ {
		if at == len(body) {
			return nil, fmt.Errorf("%s is not in the request", place)
		}
		before, after, found = bytes.Cut(body[at], place)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rest == nil {
		g.rest = time.AfterFunc(idle, g.release)
	}
	g.rest.Reset(idle)
	g.write(from, w)
	var other map[int]T
	var more []T
	if w.End != nil {
		other, more = w.End(g.items, g.from)
	}
	out := make(Body, 0, len(body)+len(more)+16)
	out = append(append(out, body[:at-1]...), before)
	if len(g.items)+len(more) == 0 {
		out = append(out, []byte{'['})
	}
	for i := range len(g.items) + len(more) {
		if i < len(g.items) && g.encoded[i] != nil {
			if _, ok := other[i]; !ok {
				out = put(out, g.encoded[i])
				continue
			}
		}
		item, special := other[i]
		switch {
		case special:
		case i < len(g.items):
			item = g.items[i]
		default:
			item, special = more[i-len(g.items)], true
		}
		raw, err := Encode(item)
		if err != nil {
			return nil, err
		}
		head := byte(',')
		if i == 0 {
			head = '['
		}
		if special || len(raw) >= keep {
			out = append(out, append([]byte{head}, raw...))
			continue
		}
		g.encoded[i] = g.lay(head, raw)
		out = put(out, g.encoded[i])
	}
	out = append(out, []byte{']'}, after)
	return append(out, body[at:]...), nil
}

// release forgets what was written and encoded. The next request begins anew.
func (g *Grown[S, T]) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.from, g.first, g.end, g.items, g.encoded, g.arena = nil, nil, nil, nil, nil, nil
}

// write brings items up to date. g.mu is held.
func (g *Grown[S, T]) write(from []S, w Writing[S, T]) {
	same := 0
	if len(from) > 0 && len(g.from) > 0 && &from[0] == &g.from[0] { // the same list, which has grown
		same = min(len(from), len(g.from))
	}
	for same < min(len(from), len(g.from)) && w.Same(from[same], g.from[same]) {
		same++
	}
	if same < len(g.from) { // what wrote to an item that is written again is written again as a whole
		first := g.first[same]
		for same > 0 && g.end[same-1] > first {
			same--
			first = min(first, g.first[same])
		}
		g.first, g.end = g.first[:same], g.end[:same]
		clear(g.items[first:])
		g.items, g.encoded = g.items[:first], g.encoded[:first]
	}
	for i := same; i < len(from); i++ {
		first := len(g.items)
		if g.items = w.Add(g.items, from, i); len(g.items) == first {
			first = max(0, first-1)
		}
		g.first, g.end = append(g.first, first), append(g.end, len(g.items))
		g.encoded = append(g.encoded[:min(first, len(g.encoded))], make([][]byte, len(g.items)-first)...)
	}
	g.from = from
}

// Encode is json.Marshal without its second look at what a type's own method has made, and without
// its escapes of <, > and &, which are for web pages: code has many of them.
func Encode(v any) ([]byte, error) {
	own, ok := v.(json.Marshaler)
	if !ok {
		raw, err := json.Marshal(v)
		return unescaped(raw), err
	}
	raw, err := own.MarshalJSON()
	return unescaped(raw), err
}

// unescaped writes <, > and & as themselves in JSON, which is not changed in place.
func unescaped(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return raw
	}
	return []byte(forWebPages().Replace(string(raw)))
}

// forWebPages takes a backslash that stands for itself first, so that what follows it begins
// nothing.
var forWebPages = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
})
