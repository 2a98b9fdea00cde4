package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// askedFor is a pipe on which the requests 1 to n were made.
func askedFor(t interface{ Fatal(...any) }, n int, out io.Reader) *pipe {
	p := newPipe(nowhere{io.Discard}, out, func(error) {}, func([]byte) {})
	for i := range n {
		id, err := jsonrpc.MakeID(float64(i + 1))
		if err == nil {
			err = p.Write(context.Background(), &jsonrpc.Request{ID: id, Method: "m"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// The id of an answer is found wherever it stands, however large the answer is, and nothing within the answer is taken for it.
func TestCaseM07LargeAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.IntRange(1, 3).Draw(t, "id")
		inside := rapid.SampledFrom([]string{`"a"`, `{"id":9}`, `{"x":{"id":9}}`, `"\",\"id\":9}"`, `[{"jsonrpc":"2.0","id":9}]`}).Draw(t, "inside")
		line := rapid.SampledFrom([]string{
			`{"jsonrpc":"2.0","id":%d,"result":{"v":%s,"big":"%s"}}`, `{"id":%d,"jsonrpc":"2.0","result":{"v":%s,"big":"%s"}}`,
		}).Draw(t, "line")
		big := strings.Repeat("a", maxMessage)
		text := fmt.Sprintf(line, id, inside, big)
		if rapid.Bool().Draw(t, "last") { // as the libraries for JavaScript write it
			text = fmt.Sprintf(`{"result":{"big":"%s","v":%s},"jsonrpc":"2.0","id":%d}`, big, inside, id)
		}
		p := askedFor(t, 3, strings.NewReader(text+"\n"+`{"jsonrpc":"2.0","method":"after"}`+"\n"))
		m, err := p.next()
		r, ok := m.(*jsonrpc.Response)
		if err != nil || !ok || r.Error == nil || fmt.Sprint(r.ID.Raw()) != fmt.Sprint(id) {
			t.Fatalf("%v %+v", err, m)
		}
		if m, err := p.next(); err != nil || m.(*jsonrpc.Request).Method != "after" {
			t.Fatalf("%v %+v", err, m)
		}
	})
}

// A line with an answer behind words does not count as noise: a server may print as many of them as it has answers.
func TestFaultW11AnswersBehindWords(t *testing.T) {
	const n = maxNoise + 1
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "> {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n", i+1)
	}
	p := askedFor(t, n, strings.NewReader(out.String()))
	for i := range n {
		m, err := p.next()
		if r, ok := m.(*jsonrpc.Response); err != nil || !ok || fmt.Sprint(r.ID.Raw()) != fmt.Sprint(i+1) {
			t.Fatalf("%d: %v %+v", i, err, m)
		}
	}
}

// A text that was cut anywhere becomes one that ends there, whatever escapes stand at the cut; what was cut elsewhere is no result.
func TestCaseM07Shortened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.StringN(0, 40, -1).Draw(t, "said")
		raw, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		before := rapid.SampledFrom([]string{
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":`, `{"id":1,"result":{"_meta":{"a":["x\"}"]},"content":[{"text":`,
			`{"id":1,"result":{"content":[{"type":"image","mimeType":"image/png","data":"aGk="},{"type":"text","text":`,
		}).Draw(t, "before")
		n := rapid.IntRange(1, len(raw)-1).Draw(t, "n")
		out := shortened([]byte(before+string(raw[:n])), []byte(`"}],"isError":true}}`), 99)
		var r sdk.CallToolResult
		if err := json.Unmarshal(out, &r); err != nil || !r.IsError {
			t.Fatalf("%v %s", err, out)
		}
		got, ok := r.Content[len(r.Content)-1].(*sdk.TextContent)
		if !ok {
			t.Fatalf("%s", out)
		}
		text, _, noted := strings.Cut(got.Text, "\n(Cut: the answer of the server has 99 bytes")
		if !noted || !strings.HasPrefix(strings.ToValidUTF8(said, "")+"\uFFFD", strings.TrimRight(text, "\uFFFD")) {
			t.Fatalf("%q of %q", got.Text, said)
		}
	})
	for _, no := range []string{
		``, `{`, `{"id":1,"result":{"content":[`, `{"id":1,"result":{"content":[{"type":"image","data":"aGk`, `{"id":1,"result":{"content":[{"te`,
		`{"id":1,"result":{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":"b`, `{"id":1,"error":{"message":"x`,
	} {
		if out := shortened([]byte(no), nil, 99); out != nil {
			t.Errorf("%s: %s", no, out)
		}
	}
}

// Whatever a server prints, it is a message, a violation or the end; and no answer comes that was not asked for, or twice.
func FuzzPipe(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"m"}`, `[]`, `{`, "\n\n", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":"x","method":"m"}`, `{"jsonrpc":"1.0","id":1}`, "\xff\n", `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		p := askedFor(t, 2, bytes.NewReader(out))
		seen := map[string]bool{}
		for {
			m, err := p.next()
			var bad *violation
			if err != nil {
				if !errors.As(err, &bad) && !errors.Is(err, io.EOF) {
					t.Fatalf("%T %v", err, err)
				}
				return
			}
			if r, ok := m.(*jsonrpc.Response); ok {
				id := fmt.Sprint(r.ID.Raw())
				if seen[id] || id != "1" && id != "2" {
					t.Fatalf("the answer %s", id)
				}
				seen[id] = true
			}
		}
	})
}
