package openai

import (
	"cmp"
	"encoding/json"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// event is one event of the stream, as much of it as is used here.
type event struct {
	kind, itemID, object, status            string
	outputIndex, contentIndex, summaryIndex wire.Int
	delta, text, refusal, arguments         json.RawMessage
	item, response                          json.RawMessage
}

// eventOf returns an event with an empty kind if data is no object.
func eventOf(data []byte) (e event) {
	f, ok := wire.Parse(data)
	for ok && f.Next() {
		switch string(f.Key) {
		case "type":
			e.kind = wire.StringOf(f.Value)
		case "object":
			e.object = wire.NameOf(f.Value)
		case "status":
			e.status = wire.NameOf(f.Value)
		case "item_id":
			e.itemID = wire.NameOf(f.Value)
		case "output_index":
			e.outputIndex = wire.IntOf(f.Value)
		case "content_index":
			e.contentIndex = wire.IntOf(f.Value)
		case "summary_index":
			e.summaryIndex = wire.IntOf(f.Value)
		case "delta":
			e.delta = f.Value
		case "text":
			e.text = f.Value
		case "refusal":
			e.refusal = f.Value
		case "arguments":
			e.arguments = f.Value
		case "item":
			e.item = f.Value
		case "response":
			e.response = f.Value
		}
	}
	return e
}

// response is the whole answer, at its end.
type response struct {
	failure, output json.RawMessage
	incomplete      string
	usage           model.Usage
}

func responseOf(raw json.RawMessage) (r response) {
	for f := wire.FieldsOf(raw); f.Next(); {
		switch string(f.Key) {
		case "error":
			r.failure = f.Value
		case "output":
			r.output = f.Value
		case "incomplete_details":
			for d := wire.FieldsOf(f.Value); d.Next(); {
				if string(d.Key) == "reason" {
					r.incomplete = wire.StringOf(d.Value)
				}
			}
		case "usage":
			r.usage = usageOf(f.Value)
		}
	}
	return r
}

func usageOf(raw json.RawMessage) (u model.Usage) {
	for f := wire.FieldsOf(raw); f.Next(); {
		switch string(f.Key) {
		case "input_tokens":
			u.Input = wire.IntOf(f.Value).N
		case "output_tokens":
			u.Output = wire.IntOf(f.Value).N
		case "input_tokens_details":
			for d := wire.FieldsOf(f.Value); d.Next(); {
				switch string(d.Key) {
				case "cached_tokens":
					u.CachedInput = wire.IntOf(d.Value).N
				case "cache_write_tokens":
					u.CacheWrite = wire.IntOf(d.Value).N
				}
			}
		case "cost":
			u.CostUSD = wire.FloatOf(f.Value)
		}
	}
	return u
}

// output is one item of the answer: a message, a call or a thought.
type output struct {
	kind, status, id, called, name, arguments, encrypted string
	content, summary                                     json.RawMessage
}

// outputOf reports false if raw is no object.
func outputOf(raw json.RawMessage) (o output, ok bool) {
	for f := wire.FieldsOf(raw); f.Next(); {
		switch string(f.Key) {
		case "type":
			o.kind = wire.StringOf(f.Value)
		case "status":
			o.status = wire.NameOf(f.Value)
		case "id":
			o.id = wire.NameOf(f.Value)
		case "call_id":
			o.called = wire.NameOf(f.Value)
		case "name":
			o.name = wire.NameOf(f.Value)
		case "arguments":
			o.arguments = wire.ArgsOf(f.Value)
		case "content":
			o.content = f.Value
		case "summary":
			o.summary = f.Value
		case "encrypted_content":
			o.encrypted = wire.StringOf(f.Value)
		}
	}
	return o, len(raw) > 0 && raw[0] == '{'
}

func (o output) callID() string { return cmp.Or(o.called, o.id) }
