package anthropic

import (
	"encoding/json"

	"tandem/agent/model/wire"
)

// event is one event of the stream, as much of it as is used here.
type event struct {
	kind                       string
	index                      wire.Int
	block, delta, usage, begun json.RawMessage // begun is the usage with which a message begins
	// content and stop are those of a whole message.
	content json.RawMessage
	stop    string
}

// eventOf returns an event with an empty kind if data is no object.
func eventOf(data []byte) (e event) {
	f, ok := wire.Parse(data)
	for ok && f.Next() {
		switch string(f.Key) {
		case "type":
			e.kind = wire.StringOf(f.Value)
		case "index":
			e.index = wire.IntOf(f.Value)
		case "content_block":
			e.block = f.Value
		case "delta":
			e.delta = f.Value
		case "usage":
			e.usage = f.Value
		case "content":
			e.content = f.Value
		case "stop_reason":
			e.stop = wire.NameOf(f.Value)
		case "message":
			for m := wire.FieldsOf(f.Value); m.Next(); {
				if string(m.Key) == "usage" {
					e.begun = m.Value
				}
			}
		}
	}
	return e
}

// delta is a piece of a block, or what the message ends with.
type delta struct {
	kind, input, signature, stop, explanation string
	text, thinking                            wire.Text
}

// deltaOf returns a delta with an empty kind if raw is no object.
func deltaOf(raw json.RawMessage) (d delta) {
	for f := wire.FieldsOf(raw); f.Next(); {
		switch string(f.Key) {
		case "type":
			d.kind = wire.StringOf(f.Value)
		case "text":
			d.text = wire.TextOf(f.Value)
		case "partial_json":
			d.input = wire.ArgsOf(f.Value)
		case "thinking":
			d.thinking = wire.TextOf(f.Value)
		case "signature":
			d.signature = wire.NameOf(f.Value)
		case "stop_reason":
			d.stop = wire.NameOf(f.Value)
		case "stop_details":
			for s := wire.FieldsOf(f.Value); s.Next(); {
				if string(s.Key) == "explanation" {
					d.explanation = wire.StringOf(s.Value)
				}
			}
		}
	}
	return d
}

// start is what a block begins with.
type start struct {
	kind, id, name, signature, input string
	text, thinking                   wire.Text
}

// startOf returns a start with an empty kind if raw is no object.
func startOf(raw json.RawMessage) (s start) {
	for f := wire.FieldsOf(raw); f.Next(); {
		switch string(f.Key) {
		case "type":
			s.kind = wire.StringOf(f.Value)
		case "id":
			s.id = wire.NameOf(f.Value)
		case "name":
			s.name = wire.NameOf(f.Value)
		case "text":
			s.text = wire.TextOf(f.Value)
		case "thinking":
			s.thinking = wire.TextOf(f.Value)
		case "signature":
			s.signature = wire.NameOf(f.Value)
		case "input":
			s.input = wire.ArgsOf(f.Value)
		}
	}
	return s
}
