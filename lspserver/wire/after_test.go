package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// What runs after an answer tells the client behind it, for ids of both kinds, and nothing runs
// where the request fails.
func TestAfter(t *testing.T) {
	here, there := net.Pipe()
	r := NewRouter()
	type params struct {
		Fail bool `json:"fail"`
	}
	Handle(r, "initialize", func(context.Context, params) (struct{}, error) { return struct{}{}, nil })
	Handle(r, "do", func(ctx context.Context, p params) (string, error) {
		After(ctx, func() { _ = From(ctx).Notify(context.Background(), "behind", p) })
		if p.Fail {
			return "", &Error{Code: CodeInvalidParams, Message: "no"}
		}
		return "done", nil
	})
	conn := Serve(t.Context(), there, r, Options{ACP: true})
	var mu sync.Mutex
	var got strings.Builder
	seen := make(chan struct{}, 100)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := here.Read(buf)
			mu.Lock()
			got.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
			seen <- struct{}{}
		}
	}()
	send := func(s string) {
		if _, err := io.WriteString(here, s+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	await := func(what string) {
		for {
			mu.Lock()
			there := strings.Contains(got.String(), what)
			mu.Unlock()
			if there {
				return
			}
			<-seen
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	await(`"id":1`)
	for i, id := range []string{"2", `"a,b"`, `"\"result\":0"`} {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"do","params":{}}`, id))
		await(fmt.Sprintf(`"id":%s,"result":"done"}`, id))
		for behind := ""; strings.Count(behind, `"behind"`) <= i; {
			mu.Lock()
			behind = got.String()
			mu.Unlock()
			if strings.Count(behind, `"behind"`) <= i {
				<-seen
			}
		}
	}
	send(`{"jsonrpc":"2.0","id":9,"method":"do","params":{"fail":true}}`)
	await(`"id":9,"error"`)
	conn.Close()
	mu.Lock()
	defer mu.Unlock()
	all := got.String()
	if strings.Count(all, `"behind"`) != 3 || strings.Index(all, `"id":2`) > strings.Index(all, `"behind"`) {
		t.Errorf("%s", all)
	}
}
