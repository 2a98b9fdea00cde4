package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
)

// process is a program that answers an editor on its standard input and output.
type process struct {
	*exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	reader *bufio.Reader // of ask
	asked  int           // requests by ask
}

func (p *process) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p *process) Close() error                { return errors.Join(p.in.Close(), p.out.Close()) }

// spawn starts a program with an environment of its own: nothing of the person's is read or
// written.
func (b *bench) spawn(program string) (*process, error) { return b.spawnIn(b.work, program) }

// spawnIn starts it in a folder, with more in its environment.
func (b *bench) spawnIn(folder, program string, env ...string) (*process, error) {
	p := &process{Cmd: exec.Command(program, "--stdio")}
	p.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(b.dir, "home"), "NO_PROXY=*"}
	p.Env = append(p.Env, env...)
	p.Dir = folder
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.Start()
}

// kill ends it at once.
func (p *process) kill() error {
	err := p.Process.Kill()
	var end *exec.ExitError
	if e := p.Wait(); e != nil && !errors.As(e, &end) {
		return e
	}
	return err
}

// initialize sends the first request of a plain editor and reads the answer.
func (p *process) initialize(folder string) error {
	answer, _, err := p.ask("initialize", map[string]any{
		"processId":        os.Getpid(),
		"workspaceFolders": []map[string]any{{"uri": "file://" + folder, "name": "bench"}},
		"capabilities": map[string]any{
			"workspace": map[string]any{"applyEdit": true, "workspaceEdit": map[string]any{"documentChanges": true}},
			"general":   map[string]any{"positionEncodings": []string{"utf-8"}},
		},
	})
	if err == nil {
		_, err = result[json.RawMessage](answer)
	}
	return err
}

// send writes one message.
func (p *process) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.in, "Content-Length: %d\r\n\r\n%s", len(raw), raw)
	return err
}

// ask sends a request and returns the raw answer, and the time to its last byte. Decoding is not
// part of that time.
func (p *process) ask(method string, params any) (answer []byte, took time.Duration, err error) {
	if p.reader == nil {
		p.reader = bufio.NewReaderSize(p.out, 1<<20)
	}
	p.asked++
	began := time.Now()
	if err := p.send(map[string]any{"id": p.asked, "method": method, "params": params}); err != nil {
		return nil, 0, err
	}
	for {
		body, err := p.receive()
		took := time.Since(began)
		if err != nil {
			return nil, 0, err
		}
		const small = 1 << 16 // what the server asks and tells by itself is less
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if len(body) < small {
			if err := json.Unmarshal(body, &m); err != nil {
				return nil, 0, err
			}
		}
		switch {
		case m.Method == "":
			return body, took, nil
		case m.ID != nil:
			if err := p.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32601, "message": "not served"}}); err != nil {
				return nil, 0, err
			}
		}
	}
}

// receive reads one message.
func (p *process) receive() ([]byte, error) {
	n := 0
	for {
		line, err := p.reader.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if s, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if n, err = strconv.Atoi(s); err != nil {
				return nil, err
			}
		}
	}
	body := make([]byte, n)
	_, err := io.ReadFull(p.reader, body)
	return body, err
}

// result is that of an answer.
func result[T any](answer []byte) (out T, err error) {
	m := struct {
		Result *T
		Error  json.RawMessage
	}{Result: &out}
	if err = json.Unmarshal(answer, &m); err == nil && m.Error != nil {
		err = fmt.Errorf("%s", m.Error)
	}
	return out, err
}

// resident is the memory of it and of the processes below it that lies in the machine's, in bytes,
// once it has been the same for a while: the sum, and with shared pages counted once.
func (p *process) resident() (sum, shared float64, err error) {
	const interval, quiet = 50 * time.Millisecond, 10
	last, same := 0.0, 0
	for deadline := time.Now().Add(10 * time.Second); same < quiet && time.Now().Before(deadline); time.Sleep(interval) {
		if sum, shared, err = p.memory(); err != nil {
			return 0, 0, err
		}
		if same++; sum != last {
			last, same = sum, 0
		}
	}
	return sum, shared, nil
}

// editor is a running server with an editor at its other end.
type editor struct {
	*client.Client
	process *process
}

// edit starts the server for an editor with one open document, or none.
func (b *bench) edit(ctx context.Context, doc *client.Buffer, settings map[string]any) (*editor, error) {
	p, err := b.spawn(b.program)
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(settings)
	if err == nil {
		var c *client.Client
		if c, err = client.Dial(ctx, p, b.work, options, client.Handlers{Buffer: doc}, b.log); err == nil {
			return &editor{c, p}, nil
		}
	}
	return nil, errors.Join(err, p.kill())
}

// end takes leave, and wants the server to have ended well.
func (e *editor) end(ctx context.Context) error {
	return errors.Join(e.Shutdown(ctx), e.process.Wait())
}

// session creates a session and returns its id.
func (e *editor) session(ctx context.Context) (string, error) {
	var r protocol.NewSessionResult
	err := e.Call(ctx, "tandem/session/new", protocol.NewSessionParams{}, &r)
	return r.SessionID, err
}

// call calls a tool outside a turn.
func (e *editor) call(ctx context.Context, session, tool string, arguments any) error {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	var r protocol.ToolResult
	err = e.Call(ctx, "tandem/tools/call", protocol.CallToolParams{SessionID: session, Name: tool, Arguments: raw}, &r)
	if err == nil && !r.Success {
		err = fmt.Errorf("%s: %s", tool, r.Data)
	}
	return err
}
