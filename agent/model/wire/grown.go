package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// Grown encodes a list that begins each time as it did the time before, as a conversation does: what was encoded then is
// not encoded again. It may be used concurrently. The zero value is ready.
type Grown[T any] struct {
	mu      sync.Mutex
	items   []T
	encoded [][]byte
}

// keep is the size of the largest item that is kept in both forms.
const keep = 1 << 20

// Fill puts items into body, a request in JSON, in the place of the list that holds mark alone. Items must not be changed
// afterwards.
func (g *Grown[T]) Fill(body []byte, mark T, items []T) ([]byte, error) {
	place, err := json.Marshal([]T{mark})
	if err != nil {
		return nil, err
	}
	before, after, ok := bytes.Cut(body, place)
	if !ok {
		return nil, fmt.Errorf("%s is not in the request", place)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.items, g.encoded = g.items[:min(len(g.items), len(items))], g.encoded[:min(len(g.items), len(items))]
	size := len(before) + len(after) + len("[]")
	all := make([][]byte, len(items))
	for i, item := range items {
		if i < len(g.items) && g.encoded[i] != nil && reflect.DeepEqual(g.items[i], item) {
			all[i] = g.encoded[i]
		} else if all[i], err = json.Marshal(item); err != nil {
			return nil, err
		}
		if i == len(g.items) {
			g.items, g.encoded = append(g.items, item), append(g.encoded, nil)
		}
		if g.items[i], g.encoded[i] = item, all[i]; len(all[i]) > keep {
			var none T
			g.items[i], g.encoded[i] = none, nil
		}
		size += len(all[i]) + len(",")
	}
	out := append(append(make([]byte, 0, size), before...), '[')
	for i, raw := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(append(out, ']'), after...), nil
}
