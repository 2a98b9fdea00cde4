package lspserver_test

import (
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// Positions of an editor count a lone carriage return as the end of a line; the numbers that a model is told do not.
func TestFaultE20EditorPositions(t *testing.T) {
	r, l := listening(t, conformance.Options{})
	r.write("build.log", "10%\r20%\r30%\ndone\nerror\n")
	if err := r.Open("build.log"); err != nil {
		t.Fatal(err)
	}
	s := r.session(nil)
	r.ask("tandem/session/prompt", looking(s, `{"uri":"`+r.URI("build.log")+`","cursor":{"line":4,"character":2},`+
		`"visible":{"start":{"line":3,"character":0},"end":{"line":4,"character":1}},`+
		`"selection":{"start":{"line":1,"character":0},"end":{"line":4,"character":5}}}`), nil)
	for _, want := range []string{"cursor at line 3, column 3", "lines 2-3 can be seen", `lines="1-3"`} {
		if !strings.Contains(l.told(), want) {
			t.Errorf("%q is not in %s", want, l.told())
		}
	}
	r.end()
}

// A comment and a diagnostic are named by the same numbers.
func TestFaultE20EditorPrompts(t *testing.T) {
	p := startPlain(t, "see /build.log, line 3: wrong/\nsay Looked.\n\nsee /A comment in line 2 of build.log/\nsay Done.\n", "ask", nil, conformance.Options{})
	p.write("build.log", "10%\r20%\r30%\n# tandem: go on\nerror\n")
	if err := p.Open("build.log"); err != nil {
		t.Fatal(err)
	}
	at := map[string]any{"line": 4, "character": 1}
	got := p.actions("build.log", 4, map[string]any{"range": map[string]any{"start": at, "end": at}, "message": "wrong"})
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	p.execute(got[0].Command, got[0].Arguments...)
	equal(t, "said", p.said(1), "Tandem: Looked.")
	if got = p.actions("build.log", 3); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	p.execute(got[0].Command, got[0].Arguments...)
	equal(t, "said", p.said(2), "Tandem: Done.")
	p.end()
}
