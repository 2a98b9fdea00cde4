package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFaultV13Ports: the host connects to a server in a background command at the allowed ports until the command ends. Without ports the
// model gets one warning that the server cannot be reached.
func TestFaultV13Ports(t *testing.T) {
	full(t)
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	p := prepared(t, nil)
	if err := copied(os.Args[0], filepath.Join(p.root, "server")); err != nil {
		t.Fatal(err)
	}
	p.start(p.env, []string{"--stdio"})
	var who asked
	e := p.editor(who.options())
	session := e.session("auto")
	type answer struct {
		Success  bool
		Data     string
		Error    string
		Warnings []string
		Result   struct {
			JobID string
			Ports []struct{ Port, Host int }
		}
	}
	call := func(tool string, args map[string]any) (r answer) {
		t.Helper()
		e.ask("tandem/tools/call", map[string]any{"sessionId": session, "name": tool, "arguments": args}, &r)
		return r
	}
	line := fmt.Sprintf("exec env %s=%d ./server", servesAt, port)
	who.answer = "reject_once"
	for _, allow := range []string{"reject_once", "allow_once", "allow_once"} { // no answer is kept
		who = asked{answer: allow}
		r := call("bash", map[string]any{"command": line, "background": true, "ports": []int{port}})
		if len(who.all) != 1 {
			t.Fatalf("asked %d times: %+v", len(who.all), r)
		}
		q := who.all[0]
		shown, _ := json.Marshal(q)
		if !strings.Contains(string(shown), fmt.Sprintf("open at port %d", port)) || len(q.Options) != 2 ||
			!strings.Contains(q.Meta.Tandem.Reason, fmt.Sprintf("can connect to it at port %d", port)) {
			t.Errorf("asked %s", shown)
		}
		if allow == "reject_once" {
			if r.Success || r.Error != "GATE_DENIED" {
				t.Errorf("%+v", r)
			}
			continue
		}
		if !r.Success || len(r.Result.Ports) != 1 || r.Result.Ports[0].Port != port || r.Result.Ports[0].Host == port ||
			!strings.Contains(strings.Join(r.Warnings, ""), fmt.Sprintf("http://127.0.0.1:%d", r.Result.Ports[0].Host)) {
			t.Fatalf("%+v", r)
		}
		host := fmt.Sprintf("127.0.0.1:%d", r.Result.Ports[0].Host)
		until(t, "the server is reached", func() bool {
			answer, err := http.Get("http://" + host + "/hello")
			if err != nil {
				return false
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			return err == nil && string(text) == "/hello"
		})
		if look := call("job_output", map[string]any{"job_id": r.Result.JobID}); !look.Success || len(look.Warnings) > 0 {
			t.Errorf("%+v", look)
		}
		if end := call("job_kill", map[string]any{"job_id": r.Result.JobID}); !end.Success {
			t.Errorf("%+v", end)
		}
		// A process that the server forks at this moment has the listener until it executes its program.
		until(t, "the port is closed", func() bool {
			c, err := net.Dial("tcp4", host)
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
	}
	who = asked{answer: "reject_once"}
	r := call("bash", map[string]any{"command": line, "background": true})
	if !r.Success || len(who.all) > 0 {
		t.Fatalf("%+v, asked %d times", r, len(who.all))
	}
	var said []string
	until(t, "it listens", func() bool {
		look := call("job_output", map[string]any{"job_id": r.Result.JobID})
		said = append(said, look.Warnings...)
		return len(said) > 0
	})
	said = append(said, call("job_output", map[string]any{"job_id": r.Result.JobID}).Warnings...)
	if len(said) != 1 || !strings.Contains(said[0], fmt.Sprintf("listens at port %d", port)) || !strings.Contains(said[0], fmt.Sprintf("`ports`: [%d]", port)) {
		t.Errorf("%q", said)
	}
	for _, args := range []map[string]any{
		{"command": line, "ports": []int{port}},
		{"command": line, "background": true, "ports": []int{0}},
		{"command": line, "background": true, "ports": []int{65536}},
		{"command": line, "background": true, "ports": []int{port, port}},
		{"command": line, "background": true, "ports": []int{1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		if r := call("bash", args); r.Success || r.Error != "INVALID_ARGS" {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func copied(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}
