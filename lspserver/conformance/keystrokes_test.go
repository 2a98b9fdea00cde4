package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/agent/model"
	"tandem/lspserver/wire/wiretest"
)

const (
	agentEdits = 50
	keystrokes = 1000
	fileLines  = 4 * agentEdits
)

// shadow is the file as the person means it, kept by relation and not by offset: what was typed stands right behind or
// right before something that cannot be mistaken. The agent's places hold what the agent says is in them.
type shadow struct {
	atoms []atom
	typed int
	last  string // the latest thing typed, the caret behind it
}

// atom is a piece of text. An anchor is the only one of its kind in the file.
type atom struct {
	text   string
	anchor bool
	label  bool // the beginning of a line of the original
	place  int  // 1-based number of the agent's edit, 0 for none
}

// newShadow gives a file in which every fourth line has a place that the agent will change.
func newShadow() *shadow {
	s := &shadow{}
	for i := range fileLines {
		s.atoms = append(s.atoms, atom{text: fmt.Sprintf("L%04d", i), anchor: true, label: true}, atom{text: " alpha 😀 beta"})
		if i%4 == 2 {
			n := i/4 + 1
			s.atoms = append(s.atoms, atom{text: " ="}, atom{text: before(n), place: n}, atom{text: ";"})
		}
		s.atoms = append(s.atoms, atom{text: "\n"})
	}
	return s
}

func before(n int) string { return fmt.Sprintf("before%02d", n) }

// after is what the agent writes: a word for a word, a word and a new line, or nothing.
func after(n int) string {
	return []string{fmt.Sprintf("after%02d", n), fmt.Sprintf("after%02d;\nand%02d", n, n), ""}[n%3]
}

// wish is the edit of place n as the model asks for it: the whole line as it was when the model read it.
func wish(n int) (old, text string) {
	line := fmt.Sprintf("L%04d alpha 😀 beta =%%s;\n", 4*(n-1)+2)
	return fmt.Sprintf(line, before(n)), fmt.Sprintf(line, after(n))
}

func (s *shadow) text(landed map[int]bool) string {
	var b strings.Builder
	for _, a := range s.atoms {
		if a.place > 0 && landed[a.place] {
			a.text = after(a.place)
		}
		b.WriteString(a.text)
	}
	return b.String()
}

// stroke types where the person was, mostly, and now and then anywhere: a character that is the only one of its kind, a
// newline, a paste, or the key that takes one's own last character back.
func (s *shadow) stroke(r *rand.Rand) Stroke {
	return func(text string) []Splice {
		i := s.find(s.last)
		if i < 0 || r.IntN(12) == 0 {
			for i = r.IntN(len(s.atoms)); !s.atoms[i].anchor; {
				i = r.IntN(len(s.atoms))
			}
		}
		a := s.atoms[i]
		at := strings.Index(text, a.text)
		if at < 0 {
			return nil // an edit stands where it should not, until it is repaired
		}
		s.typed++
		k := r.IntN(20)
		if k < 2 && !a.label {
			s.atoms = append(s.atoms[:i], s.atoms[i+1:]...)
			return []Splice{{at, at + len(a.text), ""}}
		}
		fresh := atom{text: s.mark(), anchor: true}
		switch {
		case k < 5:
			fresh = atom{text: "\n"}
		case k < 6:
			fresh.text += " pasted\nin 😀 "
		}
		if fresh.anchor {
			s.last = fresh.text
		}
		if behind := !a.label || r.IntN(3) > 0; behind {
			i, at = i+1, at+len(a.text)
		}
		s.atoms = append(s.atoms[:i], append([]atom{fresh}, s.atoms[i:]...)...)
		return []Splice{{at, at, fresh.text}}
	}
}

// mark is a character that was never typed before, every third of them outside the basic plane.
func (s *shadow) mark() string {
	if s.typed%3 == 0 {
		return string(rune(0x20000 + s.typed))
	}
	return string(rune(0x4E00 + s.typed))
}

func (s *shadow) find(text string) int {
	for i, a := range s.atoms {
		if a.anchor && a.text == text {
			return i
		}
	}
	return -1
}

// editing is a model that reads the file and then makes the edits, one after each pause, of lines as it saw them then.
// It reads the file again in the middle, and keeps what it was told of each edit.
type editing struct {
	path  string
	pause func() time.Duration

	read chan struct{} // closed when the model has seen the file

	mu   sync.Mutex
	next int
	told map[int]string
}

func (m *editing) Name() string { return "script/editing" }

func (m *editing) Names() []string { return []string{m.Name()} }
func (*editing) API(string) string { return "" }

func (m *editing) Open(string) (model.Model, error) { return m, nil }

func (m *editing) Stream(ctx context.Context, q model.Request, on func(model.Delta)) (model.Response, error) {
	m.mu.Lock()
	n := m.next
	m.next++
	for _, msg := range q.Messages {
		var k int
		if _, err := fmt.Sscanf(msg.CallID, "edit_%d", &k); err == nil && msg.Role == model.Tool {
			m.told[k] = msg.Text
		}
	}
	m.mu.Unlock()
	if n == 1 {
		close(m.read)
	}
	if n > agentEdits {
		on(model.Delta{Text: "Done."})
		return model.Response{Stop: model.StopEnd}, nil
	}
	if n > 0 {
		select {
		case <-time.After(m.pause()):
		case <-ctx.Done():
			return model.Response{}, ctx.Err()
		}
	}
	old, text := wish(max(n, 1))
	calls := []model.Call{{
		ID: fmt.Sprintf("edit_%d", n), Name: "edit_file",
		Arguments: string(encode(map[string]string{"path": m.path, "old_text": old, "new_text": text})),
	}}
	if read := (model.Call{
		ID: fmt.Sprintf("read_%d", n), Name: "read_file", Arguments: string(encode(map[string]string{"path": m.path})),
	}); n == 0 {
		calls = []model.Call{read}
	} else if n == agentEdits/2 {
		calls = append(calls, read)
	}
	for i, c := range calls {
		on(model.Delta{Call: &model.CallDelta{Index: i, ID: c.ID, Name: c.Name}})
		on(model.Delta{Call: &model.CallDelta{Index: i, Arguments: c.Arguments}})
		on(model.Delta{Call: &model.CallDelta{Index: i, Done: true}})
	}
	return model.Response{Stop: model.StopCalls}, nil
}

// A thousand keystrokes while the agent makes fifty edits of the same file: each is in the final text at its place,
// each edit is there once or was reported, and none was refused although nobody touched its words.
func TestKeystrokes(t *testing.T) {
	ways := []struct {
		name string
		o    Options
	}{
		{"strict", Options{Profile: Strict}},
		{"race", Options{Profile: Race}},
		{"race-window", Options{Profile: Race, Window: 5 * time.Millisecond}},
		{"lying", Options{Profile: Lying}},
		{"lying-held", Options{Profile: Lying, Hold: 150 * time.Millisecond, Merge: true}},
	}
	for _, way := range ways {
		for speed, gap := range map[string]time.Duration{"human": 200 * time.Millisecond, "tenfold": 20 * time.Millisecond} {
			t.Run(way.name+"/"+speed, func(t *testing.T) {
				r := dice(t)
				way.o.Root = root(t)
				wiretest.Bubble(t, func(t *testing.T) { type1000(t, r, way.o, gap, serve) })
			})
		}
	}
}

func type1000(t *testing.T, r *rand.Rand, o Options, gap time.Duration, serve Server) {
	s := newShadow()
	write(t, o.Root, "f.txt", s.text(nil))
	m := &editing{
		path: o.Root + "/f.txt", told: map[int]string{}, read: make(chan struct{}),
		pause: Human(rand.New(rand.NewPCG(r.Uint64(), 1)), gap*keystrokes/(agentEdits+5)),
	}
	jitter := func(r *rand.Rand) Latency {
		return func() time.Duration { return time.Duration(r.IntN(10)) * time.Millisecond }
	}
	client, server := Pipe(jitter(rand.New(rand.NewPCG(r.Uint64(), 2))), jitter(rand.New(rand.NewPCG(r.Uint64(), 3))))
	exit := make(chan int, 1)
	go func() {
		exit <- serve(t.Context(), server, m, nil, nil)
		_ = server.Close()
	}()
	o.Settings = map[string]any{"mode": "auto", "budget": map[string]any{"maxTurnRequests": 2 * agentEdits}}
	e, err := Start(t.Context(), client, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Open("f.txt"); err != nil {
		t.Fatal(err)
	}
	raw, err := e.Request(t.Context(), "tandem/session/new", map[string]any{"cwd": o.Root})
	if err != nil {
		t.Fatal(err)
	}
	var session struct{ SessionID string }
	if err := json.Unmarshal(raw, &session); err != nil {
		t.Fatal(err)
	}
	turn := e.Begin("tandem/session/prompt", map[string]any{
		"sessionId": session.SessionID, "prompt": []any{map[string]any{"type": "text", "text": "Change them all."}},
	})
	<-m.read
	p := Person{e, "f.txt", Human(r, gap)}
	if _, err := p.Type(t.Context(), keystrokes, s.stroke(r)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if end, err := turn(ctx); err != nil || !strings.Contains(string(end), "end_turn") {
		t.Fatalf("the turn ended with %s %v", end, err)
	}
	time.Sleep(5 * time.Second) // what is still under way, and a repair of it
	landed, reported := map[int]bool{}, map[string]int{}
	for n := 1; n <= agentEdits; n++ {
		if code, failed := strings.CutPrefix(m.told[n], "["); failed {
			code, _, _ = strings.Cut(code, "]")
			if reported[code]++; code != "TIMEOUT" {
				t.Errorf("edit %d was refused although nobody touched its words:\n%s", n, m.told[n])
			}
		} else {
			landed[n] = m.told[n] != ""
		}
	}
	applies, stale, refused := e.Counts()
	t.Logf("%d keys, %d of %d edits landed, reported %v; %d applyEdits, %d of them stale, %d refused",
		s.typed, len(landed), agentEdits, reported, applies, stale, refused)
	if got, _ := e.Text("f.txt"); got != s.text(landed) {
		t.Errorf("the text is not what was typed and landed (- should, + is):\n%s", Diff(s.text(landed), got))
	}
	if s.typed < keystrokes*95/100 {
		t.Errorf("only %d keystrokes found their place", s.typed)
	}
	if gap > 100*time.Millisecond && len(landed) != agentEdits {
		t.Errorf("at human speed all edits land, not %d", len(landed))
	}
	if v := e.Violations(); len(v) > 0 {
		t.Error(v)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d", code)
	}
}
