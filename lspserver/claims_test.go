package lspserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
)

// TestF192ClaimOfAnEdit lists the claim of an edit that is on its way to the editor, and has another session ask for the same text.
func TestF192ClaimOfAnEdit(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	arrive, letGo := sync.OnceFunc(func() { close(arrived) }), sync.OnceFunc(func() { close(release) })
	defer letGo()
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto"}, Reply: func(int) conformance.Reply {
		arrive()
		select {
		case <-release:
			return conformance.Answered
		default: // not now; the server asks again
			return conformance.Refused
		}
	}}, options(nil))
	r.write("a.txt", "one\ntwo\nthree\n")
	if err := r.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	mine, theirs := r.session(nil), r.session(nil)
	for _, id := range []string{mine, theirs} {
		r.call(id, "read_file", `{"path":"a.txt"}`)
	}
	claims := func(params any) []protocol.Claim {
		t.Helper()
		var out protocol.ClaimsResult
		r.ask("tandem/claims/list", params, &out)
		return out.Claims
	}
	equal(t, "before", len(claims(nil)), 0)
	first := make(chan result, 1)
	go func() {
		first <- r.call(mine, "edit_file", `{"path":"a.txt","old_text":"two","new_text":"2"}`, "callId", "mine")
	}()
	select {
	case <-arrived:
	case <-r.ctx.Done():
		t.Fatal("the edit did not reach the editor")
	}
	all := claims(map[string]any{"sessionId": mine})
	want := lsp.Range{Start: lsp.Position{Line: 1}, End: lsp.Position{Line: 1, Character: 3}}
	if len(all) != 1 || all[0].URI != r.URI("a.txt") || all[0].Range == nil || *all[0].Range != want || all[0].Holder != mine || all[0].ToolCallID != "mine" {
		t.Errorf("claims %+v", all)
	}
	if _, err := time.Parse(time.RFC3339, all[0].Since); err != nil {
		t.Error(err)
	}
	equal(t, "of the other session", len(claims(map[string]any{"sessionId": theirs})), 0)
	if err := r.refused("tandem/claims/list", map[string]any{"sessionId": "none"}); err == nil || err.Code != -32011 {
		t.Errorf("of no session: %v", err)
	}
	got := r.call(theirs, "edit_file", `{"path":"a.txt","old_text":"two","new_text":"zwei"}`)
	if got.Error != "CLAIMED" || !strings.Contains(got.Data, mine) {
		t.Errorf("%s", got.raw)
	}
	// A session that would delete, move or overwrite the file, or move another onto it, is told so too, and what it would change stays.
	r.write("b.txt", "other\n")
	r.call(theirs, "read_file", `{"path":"b.txt"}`)
	for tool, args := range map[string]string{
		"delete_file": `{"path":"a.txt"}`,
		"move_file":   `{"path":"a.txt","destination":"c.txt"}`,
		"write_file":  `{"path":"a.txt","content":"all mine\n","mode":"overwrite"}`,
		"patch":       `{"patch":"*** Begin Patch\n*** Update File: b.txt\n-other\n+another\n*** Delete File: a.txt\n*** End Patch"}`,
	} {
		if got := r.call(theirs, tool, args); got.Error != "CLAIMED" || !strings.Contains(got.Data, mine) {
			t.Errorf("%s: %s", tool, got.raw)
		}
	}
	if got := r.call(theirs, "move_file", `{"path":"b.txt","destination":"a.txt","overwrite":true}`); got.Error != "CLAIMED" || !strings.Contains(got.Data, mine) {
		t.Errorf("move onto it: %s", got.raw)
	}
	if text, err := os.ReadFile(filepath.Join(r.root, "b.txt")); string(text) != "other\n" {
		t.Errorf("%q %v", text, err)
	}
	equal(t, "claims", len(claims(nil)), 1)
	letGo()
	if r := <-first; !r.Success {
		t.Errorf("%s", r.raw)
	}
	equal(t, "after", len(claims(nil)), 0)
	text, _ := r.Text("a.txt")
	equal(t, "buffer", text, "one\n2\nthree\n")
	r.end()
}
