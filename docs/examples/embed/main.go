// Command embed has a model loop and a buffer of its own and lets Tandem run the tools:
//
//	go run ./docs/examples/embed            with Tandem from this repository
//	go run ./docs/examples/embed tandem     with an installed one
//
// It needs the standard library alone. docs/embedding.md goes through it.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// model stands in for a service: it is given what came of the calls that it asked for, and asks for the next ones.
func model(results []result) []call {
	switch {
	case results == nil:
		return []call{{"read_file", object{"path": "calc.go"}}, {"grep", object{"pattern": "func"}}}
	case strings.Contains(results[0].Data, "return a - b }"):
		return []call{
			{"edit_file", object{"path": "calc.go", "old_text": "a - b", "new_text": "a + b"}},
			{"edit_file", object{"path": "calc.go", "old_text": "func add", "new_text": "// It adds.\nfunc add"}},
		}
	}
	return nil
}

// host is the connection to Tandem, a session there, and the one document that is open here.
type host struct {
	*tandem
	session   struct{ SessionID string }
	uri, text string
	version   int
}

func main() {
	folder, err := os.MkdirTemp("", "embed-")
	check(err)
	folder, err = filepath.EvalSymlinks(folder)
	check(err)
	h := &host{tandem: start(os.Args[1:]), uri: "file://" + folder + "/calc.go", version: 1}
	h.text = "package calc\n\nfunc add(a, b int) int { return a - b }\n"
	h.request("initialize", object{
		"rootUri": "file://" + folder, "initializationOptions": object{"mode": "auto"},
		"capabilities": object{
			"general":      object{"positionEncodings": []string{"utf-8"}}, // a character is a byte then
			"experimental": object{"tandem": object{}},                     // so the options above are this program's own word
		},
	})(nil)
	h.notify("initialized", object{})
	h.notify("textDocument/didOpen", object{
		"textDocument": object{"uri": h.uri, "languageId": "go", "version": h.version, "text": h.text},
	})
	h.request("tandem/session/new", object{"cwd": folder, "model": "script/embedded"})(&h.session)
	for results, calls := []result(nil), model(nil); calls != nil; calls = model(results) {
		results = h.run(calls)
	}
	h.request("shutdown", nil)(nil)
	h.notify("exit", nil)
	check(h.Wait())
	check(os.Remove(folder)) // it is empty: nothing was written behind the buffer's back
	fmt.Print(h.text)
}

// run has calls run and applies what they would change, unless the text has moved on: then it asks again.
func (h *host) run(calls []call) []result {
	var done struct{ Results []result }
	answer := h.request("tandem/tools/batch", object{"sessionId": h.session.SessionID, "calls": calls, "apply": "none"})
	if len(calls) > 1 { // somebody types on while that is under way
		h.change([]edit{{span{position{Line: 1}, position{Line: 1}}, "// Typed.\n"}})
	}
	answer(&done)
	for i, r := range done.Results {
		for _, c := range r.Edit.DocumentChanges {
			if c.TextDocument.URI != h.uri {
				log.Fatalf("%s is not open here", c.TextDocument.URI)
			} else if c.TextDocument.Version != h.version {
				done.Results[i] = h.run(calls[i : i+1])[0]
				break
			}
			h.change(c.Edits)
		}
	}
	return done.Results
}

// change edits the document and tells Tandem: the last place first, so that the ranges before it stay right.
func (h *host) change(edits []edit) {
	changes := []object{}
	for _, e := range slices.Backward(edits) {
		h.text = h.text[:h.offset(e.Range.Start)] + e.NewText + h.text[h.offset(e.Range.End):]
		changes = append(changes, object{"range": e.Range, "text": e.NewText})
	}
	h.version++
	h.notify("textDocument/didChange", object{
		"textDocument": object{"uri": h.uri, "version": h.version}, "contentChanges": changes,
	})
}

func (h *host) offset(p position) int {
	return len(strings.Join(strings.SplitAfter(h.text, "\n")[:p.Line], "")) + p.Character
}
