package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

// A long conversation is sent from where its pieces lie: net/http would copy it through a buffer of 32 KiB that it
// makes for each request.
func TestFindingC1ALongConversationIsNotCopiedToBeSent(t *testing.T) {
	var got []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if got, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	transport := &http.Transport{DialContext: Gathering((&net.Dialer{}).DialContext)}
	defer transport.CloseIdleConnections()
	for _, n := range []int{0, 1, 10, 3000} { // one gathering write takes 1,024 pieces
		var body Body
		for i := range n {
			body = append(body, bytes.Repeat([]byte(fmt.Sprint(i%10)), 200))
		}
		req, err := http.NewRequest(http.MethodPost, server.URL, body.Reader())
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = body.Len()
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if want := bytes.Join(body, nil); !bytes.Equal(got, want) {
			t.Errorf("%d pieces: %d bytes came, not the %d that were sent", n, len(got), len(want))
		}
	}
}

func TestFindingC1SendingMakesNoBuffer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	came := make(chan int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 64))
			came <- n
		}
	}()
	send := func(r io.Reader, n int64) (made uint64) {
		t.Helper()
		c, err := Gathering((&net.Dialer{}).DialContext)(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sent, err := io.Copy(c, io.LimitReader(r, n))
		runtime.ReadMemStats(&after)
		_ = c.Close()
		if arrived := <-came; err != nil || sent != n || arrived != n {
			t.Errorf("%d of %d were sent, %d arrived: %v", sent, n, arrived, err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	body := make(Body, 100)
	for i := range body {
		body[i] = make([]byte, 1000)
	}
	const buffer = 16 << 10
	if made := send(body.Reader(), body.Len()); made > buffer {
		t.Errorf("%d bytes were allocated to send a body", made)
	}
	// What is to be sent in part, or is something else, takes the way that everything takes.
	send(body.Reader(), body.Len()-1)
	send(bytes.NewReader(make([]byte, 1000)), 1000)
}
