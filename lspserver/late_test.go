package lspserver_test

import (
	"fmt"
	"slices"
	"testing"

	"tandem/lspserver/conformance"
)

// A file with an edit that the editor says it has applied and has not told of is listed as not known, and an undo names it. Once the
// editor has told of it the edit is a change like any other, and once it has shown that nothing is there, nothing is listed.
func TestFaultE15NotKnownYet(t *testing.T) {
	for _, comes := range []bool{true, false} {
		c := newHandClient(t, "a.txt", "", conformance.ToURI)
		c.note("textDocument/didOpen", `{"textDocument":{"uri":%q,"languageId":"x","version":1,"text":"one\ntwo\n"}}`, c.doc)
		var got struct{ Error, Reason string }
		c.tool("2", "read_file", `{"path":"a.txt"}`)
		c.result("2", &got)
		c.tool("3", "edit_file", `{"path":"a.txt","old_text":"two","new_text":"TWO"}`)
		id, _ := c.wait("workspace/applyEdit")
		c.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"applied":true}}`, id)))
		if c.result("3", &got); got.Error != "UNKNOWN" || got.Reason != "held" {
			t.Fatalf("%+v", got)
		}
		n := 10
		list := func() (unknown, hunks int) {
			var out struct {
				Files []struct {
					URI     string
					Unknown bool
					Hunks   []struct{ NewText string }
				}
			}
			n++
			c.send(request(fmt.Sprint(n), "tandem/changes/list", fmt.Sprintf(`{"sessionId":%q}`, c.session)))
			c.result(fmt.Sprint(n), &out)
			for _, f := range out.Files {
				if f.Unknown {
					unknown++
				}
				hunks += len(f.Hunks)
			}
			return unknown, hunks
		}
		if unknown, hunks := list(); unknown != 1 || hunks != 0 {
			t.Errorf("before it is told: %d files not known, %d hunks", unknown, hunks)
		}
		var undone struct {
			Conflicts []struct{ URI, Reason string }
		}
		c.send(request("4", "tandem/changes/undo", fmt.Sprintf(`{"sessionId":%q,"scope":"session"}`, c.session)))
		if c.result("4", &undone); len(undone.Conflicts) != 1 || undone.Conflicts[0].URI != c.doc {
			t.Errorf("undone with the conflicts %+v", undone.Conflicts)
		}
		if comes {
			c.note("textDocument/didChange", `{"textDocument":{"uri":%q,"version":2},"contentChanges":[{"text":"one\nTWO\n"}]}`, c.doc)
		} else {
			c.send(request("5", "textDocument/codeLens", fmt.Sprintf(`{"textDocument":{"uri":%q}}`, c.doc)))
			c.answers("5", 0)
		}
		want := map[bool]int{true: 1}[comes]
		if unknown, hunks := list(); unknown != 0 || hunks > want {
			t.Errorf("after it is told: %d files not known, %d hunks", unknown, hunks)
		}
		for hunks := -1; hunks != want; _, hunks = list() { // it is taken in beside the messages
			if n > 10_000 {
				t.Fatalf("%d hunks", hunks)
			}
		}
		c.bye()
	}
}

// A client that gathers changes leaves versions out, so the change that it told of before its answer waits for the missing one. The answer is
// taken in behind that change: the edit is in the next one, and is not sent again.
func TestFaultE14AnswerBehindSkippedVersion(t *testing.T) {
	c := newHandClient(t, "a.txt", "", conformance.ToURI)
	c.note("textDocument/didOpen", `{"textDocument":{"uri":%q,"languageId":"x","version":1,"text":"one\ntwo\n"}}`, c.doc)
	var got struct{ Error, Reason string }
	c.tool("2", "read_file", `{"path":"a.txt"}`)
	c.result("2", &got)
	c.tool("3", "edit_file", `{"path":"a.txt","old_text":"two","new_text":"TWO"}`)
	id, _ := c.wait("workspace/applyEdit")
	c.note("textDocument/didChange", `{"textDocument":{"uri":%q,"version":3},"contentChanges":[{"text":"zero\none\ntwo\n"}]}`, c.doc)
	c.send(frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"applied":true}}`, id)))
	var out struct{ Files []struct{} }
	for i := range 20 { // the first of them ends the wait
		n := fmt.Sprint(10 + i)
		c.send(request(n, "tandem/changes/list", fmt.Sprintf(`{"sessionId":%q}`, c.session)))
		c.result(n, &out)
	}
	c.note("textDocument/didChange", `{"textDocument":{"uri":%q,"version":4},"contentChanges":[{"text":"zero\none\nTWO\n"}]}`, c.doc)
	if c.result("3", &got); got.Error != "" {
		t.Errorf("%+v", got)
	}
	if slices.Contains(c.passed, "workspace/applyEdit") {
		t.Error("the edit was sent again")
	}
	c.bye()
}
