package logs

import (
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// mostTraced is how much of one message is written. A key of up to mostKey bytes that goes on
// behind it is noticed.
const mostTraced, mostKey = 64 << 10, 8 << 10

// traced is a line of a trace.
type traced struct {
	Time      string          `json:"time"`
	Direction string          `json:"direction"` // "in" for what the client says, "out" for what the server says
	Bytes     int             `json:"bytes"`
	Message   json.RawMessage `json:"message,omitempty"`
	// Text is the beginning of a message that is too long, or all of one that is no JSON.
	Text string `json:"text,omitempty"`
}

// Trace writes every message that record is given to a file, a JSON object a line. It may be called
// concurrently and keeps nothing of body. closeFile ends it. It is an error where the file's folder
// is not there.
func (l *Logs) Trace(path string) (record func(in bool, body []byte), closeFile func(), err error) {
	f, err := openFile(path, traceSize)
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	record = func(in bool, body []byte) {
		line := traced{Direction: "out", Bytes: len(body)}
		if in {
			line.Direction = "in"
		}
		clean := l.hidden.redact(body[:min(len(body), mostTraced+mostKey)])
		if len(body) <= mostTraced && json.Valid(clean) {
			line.Message = clean
		} else {
			line.Text = strings.ToValidUTF8(string(clean[:min(len(clean), mostTraced)]), "\ufffd")
		}
		mu.Lock()
		defer mu.Unlock()
		line.Time = l.o.Now().UTC().Format(time.RFC3339Nano)
		raw, err := json.Marshal(line)
		if err != nil {
			return // it has nothing but strings and valid JSON
		}
		f.write(append(raw, '\n'))
	}
	closeFile = func() {
		mu.Lock()
		defer mu.Unlock()
		f.close()
	}
	return record, closeFile, nil
}
