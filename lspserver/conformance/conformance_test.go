package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func examine(t *testing.T, spec, only string) *Conformance {
	t.Helper()
	c, err := ParseClient(spec)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Examine(t.Context(), regexp.MustCompile(only), serve)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Each client fails what it was made to fail and nothing else, and Tandem loses nothing with any of them.
func TestConformance(t *testing.T) {
	const noEcho = "echo-first"
	for _, c := range []struct{ client, fail, unsupported string }{
		{"fake:strict", "", ""},
		{"fake:strict,landed", "", ""},
		{"fake:race,landed", "version-check same-tick every-document closed-meanwhile mixed-line-ends", ""},
		{"fake:strict,hold=20ms,merge,landed", "", noEcho},
		{"fake:race", "version-check same-tick every-document closed-meanwhile mixed-line-ends", ""},
		{"fake:lying", "every-document honest closed-meanwhile mixed-line-ends", ""},
		{"fake:race,window=100ms", "same-tick closed-meanwhile mixed-line-ends", ""},
		{"fake:race,split,there=5ms", "version-check same-tick every-document closed-meanwhile mixed-line-ends", ""},
		{"fake:strict,hold=20ms,merge", "", noEcho},
		{"fake:strict,split,reply-first", "", noEcho},
		{"fake:strict,whole", "", ""},
		{"fake:strict,widen", "", ""},
		{"fake:race,widen", "version-check same-tick every-document closed-meanwhile mixed-line-ends", ""},
		{"fake:strict,reorder", "order", ""},
		{"fake:strict,hold=insert", "", ""},
		{"fake:strict,trim", "", ""},
		{"fake:strict,encoding=utf-8", "", "surrogates"},
		{"fake:strict,encoding=utf-32", "", "surrogates"},
		{
			"fake:strict,without=annotations+create+delete+rename+permission+resync+save", "",
			"annotations create delete rename save closed permission resync",
		},
	} {
		t.Run(c.client, func(t *testing.T) {
			t.Parallel()
			found := examine(t, c.client, "")
			got := map[Verdict][]string{}
			for _, f := range found.Rows {
				got[f.Verdict] = append(got[f.Verdict], f.Name)
			}
			if fail := strings.Join(got[Fail], " "); fail != c.fail {
				t.Errorf("it fails %q, want %q", fail, c.fail)
			}
			if !strings.HasSuffix(c.client, ",landed") {
				got[Unsupported] = slices.DeleteFunc(got[Unsupported], func(name string) bool { return name == "landed" })
				found.Unsupported--
			}
			if without := strings.Join(got[Unsupported], " "); without != c.unsupported {
				t.Errorf("it has not %q, want %q", without, c.unsupported)
			}
			for v, n := range map[Verdict]int{Pass: found.Honoured, Fail: found.Not, Unsupported: found.Unsupported} {
				if n != len(got[v]) {
					t.Errorf("%d rows are counted as %s, want %d", n, v, len(got[v]))
				}
			}
			if t.Failed() {
				for _, f := range found.Rows {
					t.Logf("%s %s: %s (%s)", f.Verdict, f.Name, f.Reason, f.Tandem)
				}
				for _, p := range found.Plays {
					for _, wrong := range p.Wrong {
						t.Logf("%s: %s", p.Scenario, wrong)
					}
				}
			}
		})
	}
}

// What is worst of all is said in so many words: a client that takes away what was typed; and one whose versions begin
// anew, so that an edit for a text that is long gone seems to fit.
func TestConformanceCheats(t *testing.T) {
	const rows = "^(version-check|same-tick|typing-stays|echo)$"
	for client, want := range map[string]map[string]string{
		"fake:strict,forget": {
			"version-check": "brought the text of that version back", "same-tick": "brought the text of that version back",
			"typing-stays": "went what had been typed since",
		},
		"fake:strict,forget,whole": {
			"version-check": "brought the text of that version back", "same-tick": "brought the text of that version back",
			"typing-stays": "went what had been typed since",
		},
		"fake:strict,reopen": {"version-check": "put into a later text", "same-tick": "put into a later text"},
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			for _, f := range examine(t, client, rows).Rows {
				if why := want[f.Name]; (f.Verdict == Fail) != (why != "") || !strings.Contains(f.Reason, why) {
					t.Errorf("%s %s: %s; want %q", f.Verdict, f.Name, f.Reason, why)
				}
			}
		})
	}
}

// A client that applies no edits is not asked to; what it types is followed all the same.
func TestConformanceWithoutApply(t *testing.T) {
	found := examine(t, "fake:strict,without=apply", "")
	for _, f := range found.Rows {
		if f.Verdict == Fail {
			t.Errorf("%s: %s", f.Name, f.Reason)
		}
		if f.Verdict == Unsupported && !strings.Contains(f.Reason, applyEdit+" is not declared: Tandem ") {
			t.Errorf("%s: %s", f.Name, f.Reason)
		}
	}
	if found.Unsupported < 15 {
		t.Errorf("%d rows are unsupported", found.Unsupported)
	}
}

// tampered is a log with every message that is of the method, or the answer to one, changed by f; nil takes it out.
func tampered(log []Wire, toServer bool, method string, f func(n int, raw string) string) []Wire {
	var out []Wire
	asked := map[string]string{}
	n := 0
	for _, w := range log {
		var m message
		_ = json.Unmarshal(w.Raw, &m)
		name := m.Method
		if name == "" && w.ToServer {
			name = "answer to " + asked[string(m.ID)]
		} else if !w.ToServer {
			asked[string(m.ID)] = m.Method
		}
		if w.ToServer == toServer && name == method {
			n++
			w.Raw = []byte(f(n, string(w.Raw)))
		}
		if len(w.Raw) > 0 {
			out = append(out, w)
		}
	}
	return out
}

// Every row notices the one fault that it is there for: the log of a client that does all as it should is spoilt in one
// place each time. What the fake editors themselves do wrong is not repeated here.
func TestConformanceNoticesFaults(t *testing.T) {
	all := func(old, text string) func(int, string) string {
		return func(_ int, raw string) string { return strings.ReplaceAll(raw, old, text) }
	}
	gone := func(int, string) string { return "" }
	from := func(first int, f func(int, string) string) func(int, string) string {
		return func(n int, raw string) string {
			if n < first {
				return raw
			}
			return f(n, raw)
		}
	}
	const (
		edit   = "answer to workspace/applyEdit"
		change = "textDocument/didChange"
		ask    = "answer to tandem/session/requestPermission"
	)
	refuse := all(`"applied":true`, `"applied":false`)
	for i, c := range []struct {
		row, method string
		f           func(int, string) string
		want        string
	}{
		{"honest", change, gone, "said to be applied, and the text does not show it"},
		{"honest", edit, gone, "got no answer"},
		{"honest", edit, refuse, "said not to be applied, and the text shows it"},
		{"undo", change, from(2, gone), "one undo did not take all 2 places back"},
		{"echo", change, gone, "no didChange shows an edit that was said to be applied"},
		{"order", change, func(n int, raw string) string {
			return strings.ReplaceAll(raw, fmt.Sprintf(`"version":%d`, n+1), fmt.Sprintf(`"version":%d`, []int{3, 2, 4, 5, 6}[min(n-1, 4)]))
		}, "3 changes came before the one that they follow"},
		{"landed", edit, all(`"version":2`, `"version":3`), "names version 3, and the edit is version 2"},
		{"landed", edit, all(`"tandem"`, `"other"`), "names no version"},
		{"annotations", edit, refuse, "it refused"},
		{"annotations", edit, gone, "it did not answer"},
		{"create", edit, refuse, "it refused"},
		{"delete", edit, refuse, "it refused"},
		{"rename", edit, all(`"result":{"applied":true,"tandem":{"versions":[]}}`, `"error":{"code":-32603,"message":"oops"}`), "with an error: oops"},
		{"rename", "textDocument/didClose", gone, "the old document was not closed"},
		{"rename", "textDocument/didOpen", all("saved and not", "saved, not"), "the unsaved text did not come along"},
		{"save", "answer to tandem/documents/save", all(`"saved":["`, `"saved":["x`), "calc.go was not saved"},
		{"closed", "textDocument/didClose", gone, "the document stays open"},
		{"closed", edit, refuse, "was not applied"},
		{"permission", ask, all("allow_once", "yes"), `"yes" is none of the options`},
		{"permission", ask, all(`"outcome":{`, `"outcome":7,"x":{`), "cannot be read"},
		{"cancel", "tandem/session/cancel", gone, "tandem/session/cancel did not come"},
		{"positions", change, all(`"character":2`, `"character":5`), "followed in utf-16"},
		{"positions", "textDocument/didSave", gone, "no didSave came"},
		{"surrogates", change, all(`"character":4`, `"character":3`), "followed in utf-16"},
		{"resync", "answer to tandem/documents/resync", all(`"version":2`, `"version":1`), "it is version 1, and the last"},
		{"resync", "answer to tandem/documents/resync", all(`"text"`, `"txt"`), "cannot be read"},
	} {
		t.Run(fmt.Sprintf("%s-%d", c.row, i), func(t *testing.T) {
			t.Parallel()
			client, err := ParseClient("fake:strict,landed")
			if err != nil {
				t.Fatal(err)
			}
			r := rows()[slices.IndexFunc(rows(), func(r row) bool { return r.name == c.row })]
			var plays []*playing
			for _, name := range r.scenarios {
				p, err := client.play(t.Context(), name, root(t), serve)
				if err != nil {
					t.Fatal(err)
				}
				plays = append(plays, p)
			}
			if f := r.find(plays); f.Verdict != Pass {
				t.Fatalf("before: %s, %s", f.Verdict, f.Reason)
			}
			for _, p := range plays {
				p.seen = observe(tampered(p.wire, true, c.method, c.f))
			}
			if f := r.find(plays); f.Verdict != Fail || !strings.Contains(f.Reason, c.want) {
				t.Errorf("%s, %s; want %s", f.Verdict, f.Reason, c.want)
			}
		})
	}
}

// An edit that was told of in one range with typing is seen by what it brings and by what it takes away.
func TestEditsToldWithTypingAreSeen(t *testing.T) {
	const before, uri = "one = old;\ntwo = old;\n", "file:///f"
	for edit, after := range map[Splice]string{
		{4, 9, ""}:      "one;\ntwo = oldest;\n",
		{4, 10, "\n"}:   "one\n\ntwo = old;+\n",
		{6, 9, "new"}:   "one = new;\ntwo = old;+\n",
		{10, 10, "\n!"}: "one+ = old;\n!\ntwo = old;\n",
	} {
		o := &observed{agreed: UTF16}
		at := func(i int) Position { return UTF16.Position(before, i) }
		c := documentChange{Edits: []sentEdit{{Range{at(edit.Start), at(edit.End)}, edit.New}}}
		c.TextDocument.URI = uri
		a := &asked{request: &request{at: 1}, change: c, echo: -1, before: state{uri: uri, open: true, text: before}}
		for _, s := range []struct {
			text string
			echo int
		}{{"+" + before, -1}, {after, 3}} {
			o.states = []state{a.before, {at: 3, uri: uri, open: true, text: s.text}}
			if o.match(a, nil); a.echo != s.echo {
				t.Errorf("%+v: in %q the edit is at %d, want %d", edit, s.text, a.echo, s.echo)
			}
		}
	}
}

// What is wrong in the end is told, by the rows that look at texts.
func TestConformanceWrongTexts(t *testing.T) {
	p := &playing{comparable: true, report: &Report{disk: map[string]string{"dos.txt": "one\n"}}, seen: &observed{}}
	p.Scenario, p.Wrong = "x", []string{"disk/dos.txt (- should be, + is):\n"}
	for _, judge := range []func([]*playing) (Verdict, string){lineEnds(""), nothingLost} {
		if v, why := judge([]*playing{p}); v != Fail || !strings.Contains(why, "x") {
			t.Error(v, why)
		}
	}
	p.comparable = false
	if v, why := nothingLost([]*playing{p}); v != Pass || !strings.Contains(why, "1 took another course") {
		t.Error(v, why)
	}
}

func TestParseClient(t *testing.T) {
	for spec, want := range map[string]string{
		"fake:strict": "", "fake:race,window=5ms,hold=1s,merge": "", "fake:strict,hold=insert,reorder,widen": "", "fake:lying,without=save+apply,reply=1:lost+2:error": "",
		"nvim:":                     `unknown client "nvim:"`,
		"":                          `unknown client ""`,
		"fake":                      `unknown client "fake"`,
		"fake:":                     "exactly one profile is needed",
		"fake:emacs":                "no profile is called emacs",
		"fake:strict,speed=9":       "not defined: -speed",
		"fake:strict,hold=long":     "invalid value",
		"fake:strict,reply=1:later": "not a reply",
		"fake:strict,without=money": `unknown capability "money"`,
		"fake:strict,profile=race":  "unknown option: profile",
		"fake:strict, hold=1s":      "not defined",
	} {
		_, err := ParseClient(spec)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
	for _, word := range []string{"fake:strict", "fake:race", "fake:lying", "window", "resync"} {
		if !strings.Contains(ClientHelp(), word) {
			t.Errorf("the help does not name %s", word)
		}
	}
}

// Every scenario that a row names is there, and each row has a name of its own.
func TestConformanceRows(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Checks() {
		if seen[f.Name] || f.What == "" {
			t.Errorf("%q is there twice, or says nothing", f.Name)
		}
		seen[f.Name] = true
		for _, name := range f.Scenarios {
			if _, err := embedded(name); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTranscript(t *testing.T) {
	found := examine(t, "fake:strict", "^echo$")
	var b strings.Builder
	if err := found.Plays[0].Transcript(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`-> {"jsonrpc":"2.0","id":1,"method":"initialize"`, `<- {"jsonrpc":"2.0","method":"workspace/applyEdit"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), `"method":"`+barrier) || strings.Contains(b.String(), "tandem-conformance-") {
		t.Errorf("it has what differs from run to run:\n%s", b.String())
	}
}

// byteByByte is a connection whose pieces are as small as can be.
type byteByByte struct {
	in  io.Reader
	out bytes.Buffer
}

func (b *byteByByte) Read(p []byte) (int, error)  { return b.in.Read(p[:min(1, len(p))]) }
func (b *byteByByte) Write(p []byte) (int, error) { return b.out.Write(p) }
func (b *byteByByte) Close() error                { return nil }

// Whatever passes a tap comes out as it went in, in whatever pieces.
func FuzzTap(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}Content-Length: 4\r\n\r\nnull"))
	f.Add([]byte("Content-Length: -1\r\n\r\n{}\r\n\r\nContent-Length: x\r\n\r\n"))
	f.Add([]byte("content-type: x\r\n\r\nContent-Length: 99999999999999999999\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		far := &byteByByte{in: bytes.NewReader(data)}
		tp := newTap(far)
		got, err := io.ReadAll(tp)
		if err != nil || !bytes.HasPrefix(data, got) || len(data)-len(got) != len(tp.in) {
			t.Errorf("%q of %q arrived, %q is held: %v", got, data, tp.in, err)
		}
		for _, b := range data {
			if _, err := tp.Write([]byte{b}); err != nil {
				t.Error(err)
			}
		}
		if sent := far.out.Bytes(); !bytes.Equal(append(slices.Clone(sent), tp.out...), data) {
			t.Errorf("%q of %q was sent, %q is held", sent, data, tp.out)
		}
	})
}

// Two insertions at one point count in either order, and nothing else does.
func TestFaultE14OrderOfATie(t *testing.T) {
	const known = "@@ -2,0 +3,3 @@\n+- mine\n+- agent\n+- agent too\n"
	for got, want := range map[string]bool{
		"@@ -2,0 +3,3 @@\n+- agent\n+- agent too\n+- mine\n":   true,
		"@@ -2,0 +3,3 @@\n+- agent too\n+- agent\n+- mine\n":   false,
		"@@ -2,0 +3,2 @@\n+- agent\n+- agent too\n":            false,
		"@@ -1,0 +2,3 @@\n+- agent\n+- agent too\n+- mine\n":   false,
		"@@ -2,1 +3,3 @@\n-- two\n+- agent\n+- agent too\n":    false,
		"@@ -2,0 +3,3 @@\n+- mine\n+- agent\n+- agent three\n": false,
		"": false,
	} {
		if tied(known, got) != want {
			t.Errorf("%q: %v", got, !want)
		}
	}
	for _, same := range []string{"@@ -2,1 +3,1 @@\n-b\n+B\n", ""} {
		if tied(same, same) {
			t.Errorf("%q is no tie", same)
		}
	}
}

// A client that holds changes back has time for all edits of the longest scenario, each of which waits for typing and for its echo.
func TestFaultE14PatienceWithHeldEdits(t *testing.T) {
	names, err := forAnyEditor()
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, name := range names {
		s, err := embedded(name)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, strings.Count(s.known["model"], "call edit_file"))
	}
	for _, client := range []string{"fake:strict", "fake:strict,hold=2500ms", "fake:race,hold=5s,idle"} {
		c, err := ParseClient(client)
		if err != nil {
			t.Fatal(err)
		}
		if need := time.Duration(2*most)*c.ways.hold + time.Minute/2; most < 10 || c.patienceLive() < need {
			t.Errorf("%s: %v for %d edits, which take %v", client, c.patienceLive(), most, need)
		}
	}
}
