package lspserver_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"tandem/lspserver/conformance"
)

// heard collects what a method brings.
type heard struct {
	mu  sync.Mutex
	got map[string][]string
}

func (h *heard) hear(method string, params json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.got == nil {
		h.got = map[string][]string{}
	}
	h.got[method] = append(h.got[method], string(params))
}

func (h *heard) all(method string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.got[method], "\n")
}

// A client that was made for another version is told so in three places, and is served all the same.
func TestVersionsDiffer(t *testing.T) {
	for _, c := range []struct {
		version any
		says    string
	}{
		{nil, ""}, {0, ""}, {1, ""}, {2, "is older than the editor's plugin"}, {1000000, "is older than the editor's plugin"}, {-1, "The editor's plugin is older"},
	} {
		var h heard
		var log lockedBuilder
		o := options(nil)
		o.Log = logTo(&log)
		r := start(t, conformance.Options{Heard: h.hear, Capabilities: map[string]any{
			"experimental": map[string]any{"tandem": map[string]any{"protocolVersion": c.version}},
		}}, o)
		var init struct {
			Capabilities struct {
				Experimental struct {
					Tandem struct {
						ProtocolVersion int
						Mismatch        string
					}
				}
			}
		}
		if err := json.Unmarshal(r.InitializeResult(), &init); err != nil {
			t.Fatal(err)
		}
		s := r.session(nil)
		equal(t, "a prompt", r.prompt(s, "x").StopReason, "end_turn")
		ours := init.Capabilities.Experimental.Tandem
		equal(t, "our version", ours.ProtocolVersion, 1)
		if c.says == "" {
			equal(t, "mismatch", ours.Mismatch, "")
			equal(t, "shown", h.all("window/showMessage"), "")
		} else {
			until(t, "the message", patience, func() bool { return strings.Contains(h.all("window/showMessage"), c.says) })
			if !strings.Contains(ours.Mismatch, c.says) || !strings.Contains(log.String(), "versions differ") {
				t.Errorf("%v: %q\n%s", c.version, ours.Mismatch, log.String())
			}
		}
		r.end()
	}
}

// The client's trace can be turned on and off at any time, and has no texts in it.
func TestSetTrace(t *testing.T) {
	var h heard
	r := start(t, conformance.Options{Heard: h.hear}, options(nil))
	s := r.session(nil)
	equal(t, "at first", h.all("$/logTrace"), "")
	r.Notify("$/setTrace", map[string]any{"value": "messages"})
	r.prompt(s, "my words")
	r.refused("tandem/session/steer", prompt("s-none", "my words"))
	r.Notify("$/setTrace", map[string]any{"value": "verbose"})
	r.refused("tandem/session/steer", prompt("s-none", "my words"))
	r.Notify("$/setTrace", map[string]any{"value": "off"})
	until(t, "the last of it", patience, func() bool { return strings.Contains(h.all("$/logTrace"), "-32011") })
	before := h.all("$/logTrace")
	r.ask("tandem/status", map[string]any{}, nil)
	all := h.all("$/logTrace")
	equal(t, "once it is off", all, before)
	for _, want := range []string{"tandem/session/prompt took ", "tandem/session/steer took ", " and failed", `"verbose":"-32011 There is no session`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "my words") {
		t.Error(all)
	}
	r.end()
}
