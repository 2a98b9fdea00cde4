package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
)

type object map[string]any

type call struct {
	Name      string `json:"name"`
	Arguments object `json:"arguments"`
}

// result is a ToolResult, as far as this program looks at it; Data is what the model is told.
type result struct {
	Success bool
	Data    string
	Edit    struct {
		DocumentChanges []struct {
			TextDocument struct {
				URI     string
				Version int // null, and so 0 here, for a document that is not open
			}
			Edits []edit
		}
	}
}

type edit struct {
	Range   span
	NewText string
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// tandem is the running program and the connection to it.
type tandem struct {
	*exec.Cmd
	to   io.Writer
	from *textproto.Reader
	last int // the id of the last request
}

// start runs the program that argv names, Tandem from this repository where it names none.
func start(argv []string) *tandem {
	if len(argv) == 0 {
		argv = []string{"go", "run", "./cmd/tandem"}
	}
	t := &tandem{Cmd: exec.Command(argv[0], append(argv[1:], "--stdio")...)}
	t.Stderr = os.Stderr
	to, err := t.StdinPipe()
	check(err)
	from, err := t.StdoutPipe()
	check(err)
	t.to, t.from = to, textproto.NewReader(bufio.NewReader(from))
	check(t.Start())
	return t
}

// request sends a request and gives the function that waits for its answer and puts it into result.
func (t *tandem) request(method string, params any) func(result any) {
	t.last++
	t.send(object{"id": t.last, "method": method, "params": params})
	return func(result any) {
		for {
			var m struct {
				ID            json.RawMessage
				Method        string
				Result, Error json.RawMessage
			}
			check(json.Unmarshal(t.receive(), &m))
			switch {
			case m.Method != "" && m.ID != nil: // Tandem asks for what this program did not declare
				t.send(object{"id": m.ID, "error": object{"code": -32601, "message": "not served here"}})
			case m.Method != "": // a notification
			case m.Error != nil:
				log.Fatalf("%s: %s", method, m.Error)
			default: // the answer: only one request is under way at a time
				if result != nil {
					check(json.Unmarshal(m.Result, result))
				}
				return
			}
		}
	}
}

func (t *tandem) notify(method string, params any) {
	t.send(object{"method": method, "params": params})
}

func (t *tandem) send(message object) {
	message["jsonrpc"] = "2.0"
	body, err := json.Marshal(message)
	check(err)
	_, err = fmt.Fprintf(t.to, "Content-Length: %d\r\n\r\n%s", len(body), body)
	check(err)
}

func (t *tandem) receive() []byte {
	header, err := t.from.ReadMIMEHeader()
	check(err)
	length, err := strconv.Atoi(header.Get("Content-Length"))
	check(err)
	body := make([]byte, length)
	_, err = io.ReadFull(t.from.R, body)
	check(err)
	return body
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
