package lspserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
	"tandem/tools"
)

const (
	pngHead = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	pdfHead = "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
)

// contentOf are the parts of a result on the wire.
func contentOf(t *testing.T, r result) (parts []struct{ Type, MediaType, Name, Data string }) {
	t.Helper()
	var out struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(r.raw, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Content) > 0 {
		if err := json.Unmarshal(out.Content, &parts); err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

// A host is given images and documents as parts, with their types; what is over the limit is refused.
func TestF121F145F146F264F284ReadMedia(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	r.write("a.png", pngHead)
	r.write("a.webp", "RIFF\x24\x00\x00\x00WEBPVP8 ")
	r.write("a.pdf", pdfHead)
	r.write("broken.webp", "\x00\x01")
	r.write("big.png", pngHead+strings.Repeat("\x00", 6<<20))
	r.write("big.pdf", pdfHead+strings.Repeat("\x00", 6<<20))
	s := r.session(nil)
	for name, want := range map[string]struct{ kind, mediaType, data string }{
		"a.png": {"image", "image/png", pngHead}, "a.webp": {"image", "image/webp", "RIFF\x24\x00\x00\x00WEBPVP8 "},
		"a.pdf": {"document", "application/pdf", pdfHead}, "broken.webp": {"image", "application/octet-stream", "\x00\x01"},
	} {
		got := r.call(s, "read_file", `{"path":"`+name+`"}`)
		parts := contentOf(t, got)
		if !got.Success || len(parts) != 1 || !strings.HasPrefix(got.Context, "Read "+want.kind+": "+name+" (") {
			t.Errorf("%s: %.300s", name, got.raw)
			continue
		}
		p := parts[0]
		if p.Type != want.kind || p.MediaType != want.mediaType || p.Name != name || p.Data != base64.StdEncoding.EncodeToString([]byte(want.data)) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for name, want := range map[string]string{"big.png": "Image file exceeds 5MB limit", "big.pdf": "PDF file exceeds 5MB limit"} {
		if got := r.call(s, "read_file", `{"path":"`+name+`"}`); got.Error != "FILE_TOO_LARGE" || !strings.HasPrefix(got.Data, want) {
			t.Errorf("%s: %.300s", name, got.raw)
		}
	}
	r.end()
}

// A model gets what it can take of what it reads, and is told of the rest in its place.
func TestF121ImagesThatAreReadReachTheModel(t *testing.T) {
	s := newService(t, "right", map[int]string{
		0: toolCall("read_file", `{"path":"a.png"}`) + stop("tool_calls"),
		1: toolCall("read_file", `{"path":"a.pdf"}`) + stop("tool_calls"),
		2: content("Nice.") + stop("stop"),
	})
	r := start(t, conformance.Options{Settings: s.settings()}, options(map[string]string{"MOCK_KEY": "right"}))
	r.write("a.png", pngHead)
	r.write("a.pdf", pdfHead)
	id := r.session(nil)
	equal(t, "stop", r.prompt(id, "look").StopReason, "end_turn")
	last := s.bodies[len(s.bodies)-1]
	for _, want := range []string{
		"Read image: a.png (image/png, ", "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(pngHead)),
		"Read document: a.pdf (application/pdf, ", "[Not shown, since this model cannot take it: a.pdf (application/pdf, ",
	} {
		if !strings.Contains(last, want) {
			t.Errorf("the model was not told %q:\n%s", want, last)
		}
	}
	r.end()
}

// A tool of a client's own that floods its answer is cut by the pipeline as every other is, and the rest can be read.
func TestF088FindingP7CutOutputIsReadOn(t *testing.T) {
	var flood strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&flood, "row %d\n", i+1)
	}
	plugin := probe(tools.Spec{Name: "flood", Kind: tools.Read}, func(context.Context, *tools.Env, struct{}) (tools.Result, error) {
		return tools.Result{Success: true, Data: flood.String()}, nil
	})
	r := start(t, conformance.Options{}, options(nil, plugin))
	s := r.session(map[string]any{"mode": "auto"})
	for name, args := range map[string]string{"flood": `{}`, "bash": `{"command":"for i in $(seq 50000); do echo row $i; done"}`} {
		got := r.call(s, name, args, "callId", "c-"+name)
		m := regexp.MustCompile(`\n… \[(\d+) lines, \d+ bytes cut: read_file shows them with path "(output:c-` + name + `)" and start_line (\d+)\] …\nrow (\d+)\n`).FindStringSubmatch(got.Data)
		if m == nil || len(got.Data) > 31_000 {
			t.Fatalf("%s: %d bytes: %.100s", name, len(got.Data), got.Data[min(14_900, len(got.Data)):])
		}
		gone, _ := strconv.Atoi(m[1])
		after, _ := strconv.Atoi(m[4])
		if rest := r.call(s, "read_file", fmt.Sprintf(`{"path":%q,"start_line":%s}`, m[2], m[3])); !strings.Contains(rest.Data, fmt.Sprintf("| row %d\n", after-gone)) {
			t.Errorf("%s: %.300s", name, rest.Data)
		}
		if meta := string(got.raw); !strings.Contains(meta, `"output":"c-`+name+`"`) {
			t.Error("a program is not told where the rest is")
		}
	}
	other := r.session(nil)
	for _, session := range []string{s, other} {
		gone := r.call(session, "read_file", `{"path":"output:c-none"}`)
		if gone.Error != "READ_ERROR" || gone.Reason != "output_gone" || !strings.Contains(gone.Data, "Make the call again") {
			t.Errorf("%s", gone.raw)
		}
	}
	if got := r.call(other, "read_file", `{"path":"output:c-bash"}`); got.Reason != "output_gone" {
		t.Error("another session reads it")
	}
	r.end()
}

// cache is tandem/status (cache).
func (r *rig) cache() (c struct{ Hits, Misses int64 }) {
	r.t.Helper()
	var st struct {
		Cache struct{ Hits, Misses int64 }
	}
	r.ask("tandem/status", map[string]any{}, &st)
	return st.Cache
}

// cached calls read_file and wants a text, and how it was had.
func (r *rig) cached(session, name, want, how string) result {
	r.t.Helper()
	before := r.cache()
	got := r.call(session, "read_file", `{"path":"`+name+`"}`)
	var meta struct{ Meta struct{ Cache string } }
	if err := json.Unmarshal(got.raw, &meta); err != nil {
		r.t.Fatal(err)
	}
	if !strings.Contains(got.Data, want) || meta.Meta.Cache != how {
		r.t.Errorf("cache %q, want %q with %q: %s", meta.Meta.Cache, how, want, got.Data)
	}
	after := r.cache()
	if hits, misses := after.Hits-before.Hits, after.Misses-before.Misses; hits+misses != 1 || (hits == 1) != (how == "hit") {
		r.t.Errorf("%d hits and %d misses for a %s", hits, misses, how)
	}
	return got
}

// A second read of a file costs no disk read; a change from outside, however it is saved, ends that.
func TestF150F190SecondReadIsCached(t *testing.T) {
	root := folder(t)
	path := filepath.Join(root, "a.txt")
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, conformance.Options{Root: root}, options(nil))
	s := r.session(nil)
	r.cached(s, "a.txt", "   1 | one", "miss")
	for range 3 {
		got := r.cached(s, "a.txt", "   1 | one", "hit")
		if strings.Contains(got.Data, "changed since") {
			t.Errorf("%s", got.Data)
		}
	}
	r.cached(r.session(nil), "a.txt", "   1 | one", "hit")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := r.call(s, "read_file", `{"path":"a.txt"}`)
	if !strings.Contains(got.Data, "   2 | two") || !strings.HasSuffix(got.Data, "\n(changed since you read it (on disk), line 2)") {
		t.Errorf("%s", got.Data)
	}
	if got := r.call(s, "read_file", `{"path":"a.txt"}`); strings.Contains(got.Data, "changed since") {
		t.Errorf("it has read that: %s", got.Data)
	}
	r.end()
}

// A write brings the cache up to date within one batch, in a file and in a buffer.
func TestF137F191WriteThenRead(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	r.write("a.txt", "old\n")
	r.write("open.txt", "old\n")
	if err := r.Open("open.txt"); err != nil {
		t.Fatal(err)
	}
	s := r.session(map[string]any{"mode": "auto"})
	for _, name := range []string{"a.txt", "open.txt", "made.txt"} {
		if name != "made.txt" {
			r.call(s, "read_file", `{"path":"`+name+`"}`)
		}
		var out struct {
			Results []struct {
				Success bool
				Data    string
				Meta    struct{ Cache string }
			}
		}
		r.ask("tandem/tools/batch", map[string]any{"sessionId": s, "calls": []any{
			map[string]any{"name": "write_file", "arguments": map[string]any{"path": name, "content": "new\n"}},
			map[string]any{"name": "read_file", "arguments": map[string]any{"path": name}},
		}}, &out)
		if w, got := out.Results[0], out.Results[1]; !w.Success || !strings.Contains(got.Data, "   1 | new\n") || got.Meta.Cache != "hit" {
			t.Errorf("%s: %+v", name, out)
		}
	}
	r.end()
}

// A host's own calls are always given the text; in a turn the model is told in a line that nothing has changed, and what the person
// has typed since.
func TestR7R38UnchangedAndChanged(t *testing.T) {
	service := newService(t, "right", map[int]string{
		0: toolCall("read_file", `{"path":"a.txt"}`) + stop("tool_calls"),
		1: toolCall("read_file", `{"path":"a.txt","start_line":2,"end_line":3}`) + stop("tool_calls"),
		2: content("So.") + stop("stop"),
	})
	r := start(t, conformance.Options{Settings: service.settings()}, options(map[string]string{"MOCK_KEY": "right"}))
	r.write("a.txt", "one\ntwo\nthree\n")
	if err := r.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	s := r.session(nil)
	equal(t, "stop", r.prompt(s, "look").StopReason, "end_turn")
	last := service.bodies[len(service.bodies)-1]
	if !strings.Contains(last, "Unchanged: lines 2-3 of a.txt are as you read them before, see the earlier result.") || strings.Count(last, "| two") != 1 {
		t.Errorf("%s", last)
	}
	if got := r.call(s, "read_file", `{"path":"a.txt","start_line":2,"end_line":3}`); !strings.Contains(got.Data, "   2 | two\n") {
		t.Errorf("%s", got.Data)
	}
	typed := func(text string) []conformance.Splice {
		at := strings.Index(text, "two")
		return []conformance.Splice{{Start: at, End: at + len("two"), New: "zwei"}}
	}
	if err := r.Change("a.txt", typed); err != nil {
		t.Fatal(err)
	}
	got := r.call(s, "read_file", `{"path":"a.txt"}`)
	if !strings.HasSuffix(got.Data, "\n(changed since you read it (by the user), line 2)") || !strings.Contains(got.Data, "| zwei") {
		t.Errorf("%s", got.Data)
	}
	r.end()
}
