package lspserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/lspserver"
	"tandem/lspserver/conformance"
)

// What cannot be worked on answers its own code, and nothing at all has changed.
func TestBadFiles(t *testing.T) {
	outside := folder(t)
	secret := filepath.Join(outside, "secret.txt")
	r := start(t, conformance.Options{Settings: map[string]any{"limits": map[string]any{"maxFileBytes": 2000}}}, options(nil))
	r.write("binary", "a\x00b")
	r.write("latin1", "caf\xe9\n")
	r.write("large", strings.Repeat("line\n", 500))
	r.write("dir/x", "x\n")
	for path, err := range map[string]error{
		secret: os.WriteFile(secret, []byte("one\n"), 0o600),
		"link": os.Symlink(secret, filepath.Join(r.root, "link")),
		"loop": os.Symlink("loop", filepath.Join(r.root, "loop")),
		"fifo": exec.Command("mkfifo", "-m", "600", filepath.Join(r.root, "fifo")).Run(),
	} {
		if err != nil {
			t.Fatal(path, err)
		}
	}
	locked := r.write("locked", "one\n")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	_, err := os.ReadFile(locked)
	before, beforeOutside := tree2(t, r.root, locked), tree(t, outside)
	s := r.session(map[string]any{"mode": "auto"})
	quote := func(path string) string { return strings.ReplaceAll(strconv.Quote(path), `\x`, `\u00`) }
	edit := func(path string) string { return `{"path":` + quote(path) + `,"old_text":"one","new_text":"1"}` }
	write := func(path string) string { return `{"path":` + quote(path) + `,"content":"x"}` }
	read := func(path string) string { return `{"path":` + quote(path) + `}` }
	rows := []struct{ path, read, edit, write string }{
		{"binary", "BINARY_FILE", "BINARY_FILE", ""}, // it may be replaced, now that it was looked at
		{"latin1", "BINARY_FILE", "BINARY_FILE", "BINARY_FILE"},
		{"large", "FILE_TOO_LARGE", "FILE_TOO_LARGE", "FILE_TOO_LARGE"},
		{"dir", "IS_DIRECTORY", "IS_DIRECTORY", "IS_DIRECTORY"},
		{"none", "READ_ERROR", "READ_ERROR", ""},
		{"loop", "READ_ERROR", "READ_ERROR", "READ_ERROR"},
		{"fifo", "READ_ERROR", "READ_ERROR", "READ_ERROR"},
		{"dir/x/y", "READ_ERROR", "READ_ERROR", "READ_ERROR"},
		{"nul\x00byte", "READ_ERROR", "READ_ERROR", "READ_ERROR"},
		{strings.Repeat("n", 300), "READ_ERROR", "READ_ERROR", "READ_ERROR WRITE_ERROR"},
		{"link", "OUTSIDE_ROOTS", "OUTSIDE_ROOTS OUTSIDE_WRITE_ROOTS", "OUTSIDE_ROOTS OUTSIDE_WRITE_ROOTS"},
		{secret, "OUTSIDE_ROOTS", "OUTSIDE_ROOTS OUTSIDE_WRITE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"../../../../etc/passwd", "OUTSIDE_ROOTS", "OUTSIDE_ROOTS OUTSIDE_WRITE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"/proc/self/mem", "OUTSIDE_ROOTS", "OUTSIDE_ROOTS OUTSIDE_WRITE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
	}
	if err != nil { // root can read everything
		rows = append(rows, struct{ path, read, edit, write string }{"locked", "READ_ERROR", "READ_ERROR", "READ_ERROR"})
	}
	for _, row := range rows {
		for _, c := range []struct{ name, args, want string }{
			{"read_file", read(row.path), row.read},
			{"edit_file", edit(row.path), row.edit},
			{"write_file", write(row.path), row.write},
		} {
			if c.want == "" {
				continue
			}
			got := r.call(s, c.name, c.args)
			if got.Success || !slices.Contains(strings.Fields(c.want), got.Error) || got.Diff != nil || got.Edit != nil {
				t.Errorf("%s %.60q: %s, want %s", c.name, row.path, got.raw, c.want)
			}
			if strings.Contains(got.Data, "root:") || row.path != "none" && strings.Contains(got.Data, "one") {
				t.Errorf("%s %.60q shows what is there: %s", c.name, row.path, got.Data)
			}
		}
	}
	equal(t, "the workspace", tree2(t, r.root, locked), before)
	equal(t, "outside", tree(t, outside), beforeOutside)
	r.end()
}

// tree2 is tree with a file that cannot be read.
func tree2(t *testing.T, dir, locked string) string {
	t.Helper()
	if err := os.Chmod(locked, 0o400); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(locked, 0) }()
	return tree(t, dir)
}

func TestNoSuchFolder(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	file := r.write("file", "x")
	for _, p := range []map[string]any{
		{"cwd": filepath.Join(r.root, "none")},
		{"cwd": file},
		{"cwd": "relative"},
		{"additionalDirectories": []string{filepath.Join(r.root, "none")}},
	} {
		if e := r.refused("tandem/session/new", p); e.Code != -32602 || !strings.Contains(string(e.Data), "no_such_folder") {
			t.Errorf("%v: %v %s", p, e, e.Data)
		}
	}
	equal(t, "a prompt in one that is there", r.prompt(r.session(nil), "x").StopReason, "end_turn")
	r.end()

	// A root that does not exist is told at once.
	client, server := conformance.Pipe(nil, nil)
	exit := make(chan int, 1)
	go func() { exit <- lspserver.Serve(t.Context(), server, options(nil)) }()
	_, err := conformance.Start(t.Context(), client, conformance.Options{Root: filepath.Join(r.root, "none")})
	if err == nil || !strings.Contains(err.Error(), "-32602") {
		t.Error(err)
	}
	_ = client.Close()
	equal(t, "exit", <-exit, 1)
}

func TestWrongParams(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	s := r.session(nil)
	call := func(more map[string]any) map[string]any {
		p := map[string]any{"sessionId": s, "name": "list_files", "arguments": map[string]any{}}
		maps.Copy(p, more)
		return p
	}
	r.ask("tandem/tools/call", call(map[string]any{"callId": "twice"}), nil)
	for _, c := range []struct {
		method string
		params any
		code   int
	}{
		{"tandem/session/prompt", prompt("s-none", "x"), -32011},
		{"tandem/tools/call", map[string]any{"sessionId": "s-none", "name": "glob", "arguments": map[string]any{}}, -32011},
		{"tandem/changes/list", map[string]any{"sessionId": "s-none"}, -32011},
		{"tandem/session/prompt", map[string]any{"sessionId": s, "prompt": []any{}}, -32602},
		{"tandem/session/prompt", map[string]any{"sessionId": s, "prompt": "text"}, -32602},
		{"tandem/session/setMode", map[string]any{"sessionId": s, "mode": "yolo"}, -32602},
		{"tandem/tools/call", call(map[string]any{"callId": "twice"}), -32602},
		{"tandem/tools/call", call(map[string]any{"apply": "somewhere"}), -32602},
		{"tandem/changes/undo", map[string]any{"sessionId": s, "scope": "universe"}, -32602},
		{"tandem/session/none", map[string]any{"sessionId": s}, -32601},
	} {
		if e := r.refused(c.method, c.params); e.Code != c.code {
			t.Errorf("%s %v: %v, want %d", c.method, c.params, e, c.code)
		}
	}
	r.end()
}

// raw speaks to a server in bytes.
type raw struct {
	t    *testing.T
	conn net.Conn
	in   chan string // bodies; closed at the end
	exit chan int

	passed []string // methods of what came while result waited
}

func dialRaw(t *testing.T, so lspserver.Options) *raw {
	ours, theirs := net.Pipe()
	r := &raw{t: t, conn: ours, in: make(chan string, 1000), exit: make(chan int, 1)}
	go func() {
		code := lspserver.Serve(t.Context(), theirs, so)
		_ = theirs.Close()
		r.exit <- code
	}()
	go func() {
		defer close(r.in)
		for br := bufio.NewReader(ours); ; {
			body, err := readFrame(br)
			if err != nil {
				return
			}
			r.in <- body
		}
	}()
	return r
}

// readFrame takes a frame that is exactly as it must be.
func readFrame(br *bufio.Reader) (string, error) {
	h, err := textproto.NewReader(br).ReadMIMEHeader()
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(h.Get("Content-Length"))
	if err != nil || len(h) != 1 {
		return "", fmt.Errorf("a header that is none: %v", h)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(br, body)
	return string(body), err
}

func frame(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func request(id, method, params string) string {
	return frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
}

func (r *raw) send(bytes string) {
	r.t.Helper()
	_ = r.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(r.conn, bytes); err != nil {
		r.t.Fatal("the server does not read:", err)
	}
}

// answers gives, by id and code or result, the answers until the one with the id has come and n others.
func (r *raw) answers(until string, n int) (out []string) {
	r.t.Helper()
	for come := false; !come || len(out) < n; {
		select {
		case body, ok := <-r.in:
			if !ok {
				r.t.Fatalf("no answer with id %s", until)
			}
			var m struct {
				ID     json.RawMessage
				Method string
				Error  *struct{ Code int }
			}
			if err := json.Unmarshal([]byte(body), &m); err != nil {
				r.t.Fatalf("%v: %s", err, body)
			}
			switch {
			case m.Method != "":
				continue
			case string(m.ID) == until:
				come = true
			case m.Error != nil:
				out = append(out, fmt.Sprintf("%s %d", m.ID, m.Error.Code))
			default:
				out = append(out, string(m.ID)+" ok")
			}
		case <-time.After(patience):
			r.t.Fatalf("no answer with id %s and %d others, only %v", until, n, out)
		}
	}
	return out
}

// Every row is sent to the same server, which must answer as it should and serve the next request.
func TestCaseJ01J02J04J05J06J07J08J09J10Server(t *testing.T) {
	r := dialRaw(t, options(nil))
	r.send(request("1", "tandem/status", "{}"))
	r.send(request("2", "initialize", fmt.Sprintf(`{"processId":null,"rootUri":%q,"capabilities":{}}`, conformance.ToURI(folder(t)))))
	sameList(t, "J09 before initialize", r.answers("2", 1), "1 -32002")
	r.send(frame(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
	const parse, invalid, unknown = "null -32700", "null -32600", "7 -32601"
	long := strings.Repeat("x", 1<<20)
	deep := `{"jsonrpc":"2.0","id":7,"method":"tandem/status","params":` + strings.Repeat(`{"a":`, 1_000_000)
	status := `{"jsonrpc":"2.0","id":7,"method":"tandem/status"}`
	rows := []struct {
		name, in string
		want     []string
	}{
		{"J01 negative", "Content-Length: -1\r\n\r\n", nil},
		{"J01 zero", "Content-Length: 0\r\n\r\n", []string{parse}},
		{"J01 letters", "Content-Length: abc\r\n\r\n", nil},
		{"J01 beyond 64 bits", "Content-Length: 99999999999999999999\r\n\r\n", nil},
		{"J01 missing", "Content-Type: x\r\n\r\n", nil},
		{"J01 twice, different", "Content-Length: 10\r\nContent-Length: 49\r\n\r\n" + status, nil},
		{"J01 1 GiB declared", "Content-Length: 1073741824\r\n\r\n{", []string{parse}},
		{"J02 a line of 1 MB", "X: " + long + "\r\n\r\n", nil},
		{"J02 10 000 lines", strings.Repeat("X-Y: z\r\n", 10_000) + "\r\n", nil},
		{"J04 no JSON", frame("{abc}"), []string{parse}},
		{"J04 cut off", frame(status[:20]), []string{parse}},
		{"J04 lone surrogate", frame(`{"jsonrpc":"2.0","id":7,"method":"tandem/status","params":{"a":"\ud800"}}`), []string{"7 -32700"}},
		{"J04 invalid UTF-8", frame("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}"), []string{parse}},
		{"J05 10 001 levels", frame(strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)), []string{parse}},
		{"J05 1 000 000 levels", frame(deep), []string{parse}},
		{"J07 batch", frame("[" + strings.Repeat(status+",", 9999) + status + "]"), []string{invalid}},
		{"J07 empty batch", frame("[]"), []string{invalid}},
		{"J08 id null", frame(`{"jsonrpc":"2.0","id":null,"method":"tandem/status"}`), []string{invalid}},
		{"J08 id 1e999", frame(`{"jsonrpc":"2.0","id":1e999,"method":"tandem/status"}`), []string{invalid}},
		{"J08 id object", frame(`{"jsonrpc":"2.0","id":{"a":1},"method":"tandem/status"}`), []string{invalid}},
		{"J09 unknown method", request("7", "tandem/none", "{}"), []string{unknown}},
		{"J09 second initialize", request("7", "initialize", "{}"), []string{"7 -32600"}},
		{"J10 METHOD alone", frame(`{"jsonrpc":"2.0","id":7,"METHOD":"tandem/status"}`), []string{"7 -32600"}},
		{"J10 METHOD beside method", frame(`{"jsonrpc":"2.0","id":7,"METHOD":"tandem/status","method":"tandem/none"}`), []string{unknown}},
		{"J10 method twice", frame(`{"jsonrpc":"2.0","id":7,"method":"tandem/none","method":"tandem/status"}`), []string{"7 -32600"}},
		{"wrong params", request("7", "tandem/tools/call", `[1,2]`), []string{"7 -32602"}},
		{"LF and other headers", "content-LENGTH:" + fmt.Sprintf(" %d\nX-Any: 1\n\n%s", len(status), status), []string{"7 ok"}},
	}
	before := live()
	r.send(request("8", "tandem/status", `{"a":[`+strings.Repeat("{},", 2_000_000)+`{}]}`))
	r.answers("8", 0)
	r.send(request("9", "tandem/status", "{}"))
	r.answers("9", 0)
	if after := live(); after > before+1<<20 {
		t.Errorf("J06: 6 MB of small values: %d bytes more are held", after-before)
	}
	for i, row := range rows {
		id := strconv.Itoa(1000 + i)
		before := live()
		began := time.Now()
		r.send(row.in)
		r.send(request(id, "tandem/status", "{}"))
		got := r.answers(id, len(row.want))
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: took %v", row.name, took)
		}
		if after := live(); after > before+4<<20 {
			t.Errorf("%s: %d bytes more are held", row.name, after-before)
		}
	}
	// Two requests in flight with one id: the second is refused, and the first keeps its answer.
	var s struct{ Result struct{ SessionID string } }
	r.send(request("30", "tandem/session/new", `{"model":"script:`+waitScript(t)+`"}`))
	if err := json.Unmarshal([]byte(<-r.in), &s); err != nil || s.Result.SessionID == "" {
		t.Fatal(err)
	}
	ask := fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"x"}]}`, s.Result.SessionID)
	r.send(request("31", "tandem/session/prompt", ask))
	r.send(request("31", "tandem/status", `{}`))
	r.send(request("32", "tandem/status", `{}`))
	// Which id the refusal carries is free as long as it is no answer to the first.
	got := r.answers("32", 1)
	if len(got) != 1 || !strings.HasSuffix(got[0], " -32600") {
		t.Errorf("J08 an id in flight: %v", got)
	}
	r.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"tandem/session/cancel","params":{"sessionId":%q}}`, s.Result.SessionID)))
	r.send(request("40", "shutdown", "null"))
	r.send(request("41", "tandem/status", "{}"))
	r.send(frame(`{"jsonrpc":"2.0","method":"exit"}`))
	var rest []string
	for body := range r.in {
		if strings.Contains(body, `"id"`) {
			rest = append(rest, body)
		}
	}
	all := strings.Join(rest, "\n")
	if !strings.Contains(all, `"stopReason":"cancelled"`) || !strings.Contains(all, "-32600") {
		t.Errorf("J09 after shutdown: %s", all)
	}
	equal(t, "exit", <-r.exit, 0)
}

func waitScript(t *testing.T) string {
	path := filepath.Join(folder(t), "wait")
	if err := os.WriteFile(path, []byte("wait 60s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
