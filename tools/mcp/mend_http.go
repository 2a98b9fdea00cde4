package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// expect notes the request that a body has, so that its answer can be mended, and gives its method.
func (a *asked) expect(r *http.Request) (method string) {
	if r.GetBody == nil {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.NewDecoder(body).Decode(&m) == nil && m.ID != nil && m.Method != "" {
		a.sent(string(m.ID), m.Method)
	}
	return m.Method
}

// mend is a text with one message or several in the form that the library decodes. What is no
// message stays as it is.
func (a *asked) mend(text []byte) []byte {
	all := messages(text)
	if len(all) == 0 {
		return text
	}
	for i, one := range all {
		var m map[string]json.RawMessage
		if json.Unmarshal(one, &m) != nil || m["method"] != nil || m["result"] == nil {
			continue
		}
		id := m["id"]
		var number json.Number // some servers answer a number with a text
		method := a.answered(string(id))
		if method == "" && json.Unmarshal(id, &number) == nil {
			if method = a.answered(number.String()); method != "" {
				m["id"] = json.RawMessage(number.String())
			}
		}
		if now := mended(method, m["result"]); !bytes.Equal(now, m["result"]) || !bytes.Equal(m["id"], id) {
			m["result"] = now
			all[i], _ = json.Marshal(m)
		}
	}
	return bytes.Join(all, []byte("\n"))
}

// whole is an answer that is one JSON text.
type whole struct {
	io.ReadCloser
	mend func([]byte) []byte
	text *bytes.Reader
}

func (w *whole) Read(p []byte) (int, error) {
	if w.text == nil {
		text, err := io.ReadAll(w.ReadCloser)
		if err != nil {
			return 0, err
		}
		w.text = bytes.NewReader(w.mend(text))
	}
	return w.text.Read(p)
}

// events is an answer that is a stream of events. The data of one that has it in one line, as all
// servers write it, is mended.
type events struct {
	io.Closer
	in   *bufio.Reader
	mend func([]byte) []byte
	out  []byte
	// ended is called at the end of the stream; nil is nobody.
	ended func()
	// raw says that out is a piece of a line that is too long to be mended.
	raw bool
}

var dataField = []byte("data:")

func (e *events) Read(p []byte) (int, error) {
	if len(e.out) == 0 {
		line, err := e.line()
		if len(line) == 0 {
			if err != nil && e.ended != nil {
				e.ended()
			}
			return 0, err
		}
		e.out = line
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}

func (e *events) line() (line []byte, err error) {
	for {
		piece, err := e.in.ReadSlice('\n')
		line = append(line, piece...)
		whole := err == nil
		if whole && !e.raw && bytes.HasPrefix(line, dataField) {
			text := e.mend(bytes.TrimPrefix(line, dataField))
			if bytes.IndexByte(bytes.TrimSpace(text), '\n') < 0 {
				line = append(append(append([]byte{}, dataField...), bytes.TrimSpace(text)...), '\n')
			}
		}
		switch {
		case whole:
			e.raw = false
			return line, nil
		case err != bufio.ErrBufferFull:
			return line, err
		case e.raw || len(line) > maxMessage:
			e.raw = true
			return line, nil
		}
	}
}
