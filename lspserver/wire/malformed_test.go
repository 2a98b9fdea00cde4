package wire

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"tandem/lspserver/wire/wiretest"
)

// TestCaseJ01J02J04J05J07J08J10Malformed sends damage to an initialized server; want is what it
// answers. A ping must be served afterwards.
func TestCaseJ01J02J04J05J07J08J10Malformed(t *testing.T) {
	const parse, invalid = "null error -32700", "null error -32600"
	long := strings.Repeat("x", 1<<20)
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	call := func(rest string) string { return frame(`{"jsonrpc":"2.0","method":"ping",` + rest + `}`) }
	cases := []struct {
		row, name, in string
		want          []string
	}{
		{"J01ContentLength", "negative", "Content-Length: -1\r\n\r\n", nil},
		{"J01ContentLength", "zero", "Content-Length: 0\r\n\r\n", []string{parse}},
		{"J01ContentLength", "letters", "Content-Length: abc\r\n\r\n", nil},
		{"J01ContentLength", "beyond 64 bits", "Content-Length: 99999999999999999999\r\n\r\n", nil},
		{"J01ContentLength", "1e30", "Content-Length: 1e30\r\n\r\n", nil},
		{"J01ContentLength", "plus sign", "Content-Length: +5\r\n\r\n", nil},
		{"J01ContentLength", "missing", "Content-Type: x\r\n\r\n", nil},
		{"J01ContentLength", "negative, with a body", "Content-Length: -1\r\n\r\n" + ping, nil},
		{"J01ContentLength", "missing, with a body", "Content-Type: x\r\n\r\n" + ping, nil},
		{"J01ContentLength", "twice, different", "Content-Length: 41\r\nContent-Length: 42\r\n\r\n" + ping, nil},
		{"J01ContentLength", "twice, equal", "Content-Length: 42\r\n" + frame(ping), []string{`"p" "pong"`}},
		{"J01ContentLength", "1 GiB declared", "Content-Length: 1073741824\r\n\r\n{", []string{parse}},
		{"J01ContentLength", "too long, then the next frame", "Content-Length: 50\r\n\r\n" + ping, []string{parse}},
		{"J01ContentLength", "too long, by a whole header", "Content-Length: 60\r\n\r\n" + ping, []string{parse}},
		{"J01ContentLength", "too long, by more than the next frame", "Content-Length: 500\r\n\r\n" + ping, []string{parse}},
		{"J01ContentLength", "too short", "Content-Length: 30\r\n\r\n" + ping, []string{parse}},
		{"J02Header", "a line of 1 MB", "X: " + long + "\r\n", nil},
		{"J02Header", "a line of 1 MB without an end", long, nil},
		{"J02Header", "10 000 lines", strings.Repeat("X-Y: z\r\n", 10_000), nil},
		{"J02Header", "10 000 lines and a blank one", strings.Repeat("X-Y: z\r\n", 10_000) + "\r\n", nil},
		{"J04InvalidJSON", "words", frame("{abc}"), []string{parse}},
		{"J04InvalidJSON", "cut off", frame(ping[:20]), []string{parse}},
		{"J04InvalidJSON", "trailing bytes", frame(ping + "x"), []string{parse}},
		{"J04InvalidJSON", "two values", frame(ping + ping), []string{parse}},
		{"J04InvalidJSON", "lone surrogate", call(`"id":1,"params":"\ud800"`), []string{"1 error -32700"}},
		{"J04InvalidJSON", "lone surrogate in a notification", call(`"params":"\ud800"`), []string{parse}},
		{"J04InvalidJSON", "surrogate pair", call(`"id":1,"params":{"a":"\ud83d\ude00"}`), []string{`1 "pong"`}},
		{"J04InvalidJSON", "invalid UTF-8", call(`"id":1,"params":"` + "\xff" + `"`), []string{parse}},
		{"J04InvalidJSON", "NUL", frame("\x00"), []string{parse}},
		{"J05Depth", "10 001", frame(strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)), []string{parse}},
		{"J05Depth", "1 000 000 in params", call(`"id":1,"params":` + strings.Repeat(`{"a":`, 1_000_000)), []string{parse}},
		{"J05Depth", "9 000 is fine", call(`"id":1,"params":{"a":` + deep + `}`), []string{`1 "pong"`}},
		{"J07Batch", "of 10 000", frame("[" + strings.Repeat(ping+",", 9999) + ping + "]"), []string{invalid}},
		{"J07Batch", "empty", frame("[]"), []string{invalid}},
		{"J07Batch", "a scalar", frame("7"), []string{invalid}},
		{"J08ID", "null", call(`"id":null`), []string{invalid}},
		{"J08ID", "1e999", call(`"id":1e999`), []string{invalid}},
		{"J08ID", "object", call(`"id":{}`), []string{invalid}},
		{"J08ID", "float", call(`"id":1.5`), []string{invalid}},
		{"J08ID", "beyond 64 bits", call(`"id":9223372036854775808`), []string{invalid}},
		{"J08ID", "largest", call(`"id":9223372036854775807`), []string{`9223372036854775807 "pong"`}},
		{"J08ID", "a string like a number", call(`"id":"7"`), []string{`"7" "pong"`}},
		{"J10Keys", "METHOD is another member", call(`"id":1,"METHOD":"nope"`), []string{`1 "pong"`}},
		{"J10Keys", "METHOD alone", frame(`{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`), []string{"1 error -32600"}},
		{"J10Keys", "method twice", call(`"id":1,"method":"nope"`), []string{"1 error -32600"}},
		{"J10Keys", "params twice", call(`"id":1,"params":{},"params":{}`), []string{"1 error -32600"}},
		{"J10Keys", "method twice, once escaped", call(`"id":1,"m\u0065thod":"nope"`), []string{"1 error -32600"}},
		{"J10Keys", "method escaped", frame(`{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping"}`), []string{`1 "pong"`}},
		{"J10Keys", "a name twice in our parameters", call(`"id":1,"params":{"a":1,"a":2}`), []string{"1 error -32602"}},
		{"Envelope", "no version", frame(`{"id":1,"method":"ping"}`), []string{"1 error -32600"}},
		{"Envelope", "other version", frame(`{"jsonrpc":"1.0","id":"x","method":"ping"}`), []string{`"x" error -32600`}},
		{"Envelope", "no version, no id", frame(`{"method":"ping"}`), []string{invalid}},
		{"Envelope", "method a number", frame(`{"jsonrpc":"2.0","id":1,"method":7}`), []string{"1 error -32600"}},
		{"Envelope", "nothing", frame(`{}`), []string{invalid}},
		{"Envelope", "only an id", frame(`{"jsonrpc":"2.0","id":3}`), []string{"3 error -32600"}},
		{"Envelope", "request and response", call(`"id":1,"result":2`), []string{"1 error -32600"}},
		{"Envelope", "unknown response", frame(`{"jsonrpc":"2.0","id":99,"result":2}`), nil},
		{"Envelope", "response without an id", frame(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`), nil},
		{"Envelope", "response of another shape", frame(`{"jsonrpc":"2.0","id":5,"error":"no"}`), nil},
		{"Envelope", "unknown notification", note("$/whatever", "{}") + note("foo/bar", "[]"), nil},
		{"Envelope", "unknown request", request("4", "$/nope"), []string{"4 error -32601"}},
		{"Envelope", "wrong params", call(`"id":1,"params":[1]`), []string{"1 error -32602"}},
		{"Envelope", "null params", call(`"id":1,"params":null`), []string{`1 "pong"`}},
		{"Envelope", "cancel of nothing", note("$/cancelRequest", `{"id":null}`) + note("$/cancelRequest", `{"id":1.5}`) +
			note("$/cancelRequest", `{"id":77}`) + note("$/cancelRequest", `[]`) +
			frame(`{"jsonrpc":"2.0","method":"$/cancelRequest"}`), nil},
		{"Header", "LF alone", strings.ReplaceAll(frame(ping), "\r\n", "\n"), []string{`"p" "pong"`}},
		{"Header", "lower case", "content-length" + frame(ping)[len(lengthName):], []string{`"p" "pong"`}},
		{"Header", "space before the colon", "Content-Length : 42\r\n\r\n" + ping, []string{`"p" "pong"`}},
		{"Header", "unknown field", "X-Content-Length: 5\r\n" + frame(ping), []string{`"p" "pong"`}},
		{"Header", "blank lines before", "\r\n\n\r\n" + frame(ping), []string{`"p" "pong"`}},
		{"Header", "junk lines before", "hello\r\n: :\r\n" + frame(ping), []string{`"p" "pong"`}},
		{"Header", "byte order mark", "\ufeff" + frame(ping), []string{`"p" "pong"`}},
		{"Header", "byte order mark in the body", frame("\ufeff" + ping), []string{`"p" "pong"`}},
		{"Header", "white space round the body", frame(" \n" + ping + "\r\n"), []string{`"p" "pong"`}},
		{"Header", "looks like one in a string", call(`"id":1,"params":{"a":"Content-Length: 5\r\n\r\n"}`), []string{`1 "pong"`}},
	}
	for _, c := range cases {
		t.Run(c.row+"/"+c.name, func(t *testing.T) {
			bubble(t, nil, func(g *rig) {
				got := g.send(c.in)
				if c.name == "1 GiB declared" || strings.HasPrefix(c.name, "too long") { // the next header tells
					expect(t, got)
					expect(t, g.send(frame(ping)), append(c.want, `"p" "pong"`)...)
					return
				}
				expect(t, got, c.want...)
				g.served()
				g.served()
			})
		})
	}
	if len(ping) != 42 {
		t.Error("the lengths above are those of ping")
	}
}

// A body over the limit is answered and thrown away, and costs no memory of its size.
func TestMessageOverTheLimit(t *testing.T) {
	const size = 80 << 20
	body := io.LimitReader(repeat("{},"), size)
	header := strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", size))
	in := io.MultiReader(header, body, strings.NewReader(frame(ping)))
	r := newFrameReader(in, defaultMax, slog.New(slog.DiscardHandler))
	var err error
	if used := allocated(func() { _, err = r.next() }); used > 1<<20 {
		t.Errorf("took %d bytes", used)
	}
	if e, ok := err.(*Error); !ok || e.Code != CodeInvalidRequest {
		t.Errorf("got %v", err)
	}
	if got, err := r.next(); string(got) != ping || err != nil {
		t.Errorf("then %q, %v", got, err)
	}
}

// What a header merely declares is not allocated, nor is a line that does not end.
func TestMemoryFollowsTheBytes(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"64 MiB declared, 1 byte sent": strings.NewReader("Content-Length: 67108864\r\n\r\n{"),
		"1 GiB declared, 1 byte sent":  strings.NewReader("Content-Length: 1073741824\r\n\r\n{"),
		"16 MB without a newline":      io.LimitReader(repeat("x"), 16<<20),
		"16 MB of header lines":        io.LimitReader(repeat("X-Header: value\r\n"), 16<<20),
		"2 MB of early headers":        io.LimitReader(repeat("Content-Length: 900\r\n\r\n{}"), 2<<20),
	} {
		r := newFrameReader(in, defaultMax, slog.New(slog.DiscardHandler))
		before := live()
		for {
			if _, err := r.next(); err == io.EOF || err == io.ErrUnexpectedEOF {
				break
			}
		}
		if now := live(); now > before+1<<20 {
			t.Errorf("%s: %d bytes held", name, now-before)
		}
		if name[:2] != "2 " {
			r = newFrameReader(in, defaultMax, slog.New(slog.DiscardHandler))
			if used := allocated(func() { _, _ = r.next() }); used > 1<<20 {
				t.Errorf("%s: %d bytes", name, used)
			}
		}
	}
}

// J06: 24 MB of small values grow the process by less than three times that, and are never turned
// into Go values.
func TestCaseJ06ManyValues(t *testing.T) {
	const size = 24 << 20
	values := strings.Repeat("{},", size/3) + "{}"
	for name, body := range map[string]string{
		"batch":  "[" + values + "]",
		"params": `{"jsonrpc":"2.0","id":1,"method":"ping","params":[` + values + `]}`,
		"member": `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"unknown":[` + values + `]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			in := []byte(frame(body))
			server, peer := wiretest.Pipes()
			r := NewRouter()
			serveBasics(r)
			c := Serve(t.Context(), server, r, Options{})
			answers := newFrameReader(peer, 1<<20, slog.New(slog.DiscardHandler))
			ask := func(s []byte) {
				go func() { _, _ = peer.Write(s) }()
				if _, err := answers.next(); err != nil {
					t.Error(err)
				}
			}
			ask([]byte(request("0", "initialize")))
			if used := allocated(func() { ask(in) }); used > 3*size {
				t.Errorf("%d MB taken for %d MB", used>>20, size>>20)
			}
			before := live()
			ask([]byte(frame(ping)))
			if now := live(); now > before+1<<20 {
				t.Errorf("%d bytes held afterwards", now-before)
			}
			c.Close()
		})
	}
}

// J03: a body shorter than declared, then the end.
func TestCaseJ03BodyCutByTheEnd(t *testing.T) {
	ended := make(chan struct{})
	r := NewRouter()
	Handle(r, "hold", holdUntilDone(ended))
	bubble(t, r, func(g *rig) {
		g.send(request("1", "hold"), "Content-Length: 100\r\n\r\n"+ping)
		g.in.Close()
		if code := g.conn.Wait(); code != 1 {
			t.Errorf("exit code %d", code)
		}
		<-ended
	})
}

func live() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// allocated returns how many bytes fn took from the heap in all.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// repeat reads s for ever.
func repeat(s string) io.Reader { return &repeater{s: s} }

type repeater struct {
	s  string
	at int
}

func (r *repeater) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r.s[r.at]
		r.at = (r.at + 1) % len(r.s)
	}
	return len(b), nil
}
