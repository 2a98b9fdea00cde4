package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"reflect"
	"sync"
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

// Reader reads it from its beginning.
func (b Body) Reader() io.ReadCloser {
	left := append(net.Buffers(nil), b...) // reading takes from the list
	return io.NopCloser(&left)
}

// Grown encodes a list that begins each time as it did the time before, as a conversation does: what was encoded then is
// not encoded again. It may be used concurrently. The zero value is ready.
type Grown[T any] struct {
	mu      sync.Mutex
	items   []T
	encoded [][]byte // each with what comes before it in the list
}

// keep is the size of the largest item that is kept in both forms.
const keep = 1 << 20

// Fill puts items into body in the place of the list that holds mark alone. Items must not be changed afterwards.
func (g *Grown[T]) Fill(body Body, mark T, items []T) (Body, error) {
	place, err := encode(mark)
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
	g.items, g.encoded = g.items[:min(len(g.items), len(items))], g.encoded[:min(len(g.items), len(items))]
	out := make(Body, 0, len(body)+len(items)+2)
	out = append(append(out, body[:at-1]...), before)
	if len(items) == 0 {
		out = append(out, []byte{'['})
	}
	for i, item := range items {
		var raw []byte
		if i < len(g.items) && g.encoded[i] != nil && reflect.DeepEqual(g.items[i], item) {
			raw = g.encoded[i]
		} else {
			if raw, err = encode(item); err != nil {
				return nil, err
			}
			head := byte(',')
			if i == 0 {
				head = '['
			}
			raw = append([]byte{head}, raw...)
		}
		out = append(out, raw)
		if i == len(g.items) {
			g.items, g.encoded = append(g.items, item), append(g.encoded, nil)
		}
		if g.items[i], g.encoded[i] = item, raw; len(raw) > keep {
			var none T
			g.items[i], g.encoded[i] = none, nil
		}
	}
	out = append(out, []byte{']'}, after)
	return append(out, body[at:]...), nil
}

// encode is json.Marshal without its second look at what a type's own method has made.
func encode(v any) ([]byte, error) {
	if own, ok := v.(json.Marshaler); ok {
		return own.MarshalJSON()
	}
	return json.Marshal(v)
}
