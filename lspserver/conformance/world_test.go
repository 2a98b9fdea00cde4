package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"tandem/agent/model"
	"tandem/lspserver/wire/wiretest"
)

var steps = flag.Int("steps", 0, "how many steps the simulated world takes: keystrokes, deliveries, answers, calls; "+
	"0 are 50,000, or 2,500 under the race detector")

var story = flag.Bool("story", false, "print the messages of every simulated world, not only of those that fail")

// unchecked plays racing editors, too, that do not look at the version of an edit at all. With fast typing their misplaced
// edits are not always recognized, and then one may stand there although it was reported as refused, or take typed text
// away.
var unchecked = flag.Bool("unchecked", false, "let editors of the simulated world ignore the versions of edits")

// late plays editors that tell of nothing while somebody types. Not all of these worlds hold yet.
var late = flag.Bool("late", false, "let editors of the simulated world tell of nothing while somebody types")

// knobs has every editor of the simulated world tell and answer as a client of "tandem conformance" with these options does.
var knobs = flag.String("knobs", "", `how the editors of the simulated world tell and answer, as in "hold=insert,widen"; `+
	`"any" draws that for each`)

// insertMode is longer than anybody waits.
const insertMode = 1000 * time.Hour

// The runes that are the only ones of their kind, each born once in a world: the names of the lines at the start, what
// the person types, and what the agent writes.
const (
	firstName  = 0xAC00
	firstTyped = 0x4E00
	firstMark  = 0x20000
)

// world is a person at an editor, a model, and the server between them, with all that may go wrong. It keeps what is
// true of the buffers beside them, told by the editor alone.
type world struct {
	t     *testing.T
	n     uint64 // its seed
	o     Options
	e     *Editor
	gap   time.Duration
	eol   string
	lossy bool // an answer may get lost or be wrong
	vague bool // the server has to guess what was typed from whole texts or wide ranges
	late  bool // the editor tells of nothing while somebody types

	mu     sync.Mutex // guards the fields below; it is taken while the editor stands still
	files  map[string]*tracked
	runes  map[rune]*mark
	typed  rune
	marked rune
	ops    []*op
	doing  int // calls that the model has made so far
	turn   int
	wrong  []string
	counts map[string]int
	trace  hash.Hash // of all that happened, which is the same whenever a seed is played
}

// tracked is what was ever true of one file.
type tracked struct {
	open   bool
	turned time.Time // when it was last opened or closed
	now    string
	log    []Sight
	hashes map[int32][]string
	caret  int
	net    map[rune]int // what the agent's changes add and take away, all in all
	made   bool         // by the agent
}

// mark is one of the runes that are the only ones of their kind.
type mark struct {
	file     string
	byPerson bool
	byHand   bool // the person has taken it away, or brought it back, at least once
	back     bool // the person has typed it, or brought it back, at least once
	told     bool // the server has heard of it
	n        int  // how often it stands in its file
	removed  Deed
	gone     time.Time // when it was last taken away
	added    Deed
	before   rune // the person's rune that stood before it, and after it, when it was typed
	after    rune
}

// op is one edit as the model asks for it.
type op struct {
	id, file, kind   string
	turn, view, seen int // view is the entry of the log that the model had read, seen the newest one when it asked
	arguments        map[string]any
	old, new         string
	count            int
	mark, name       rune     // the rune that it brings and the one that it takes away, 0 for none
	spans            [][2]int // what it changes, in the text that the model had read
	asked, answered  time.Time
	told             string
	outcome          string // landed or the error's code
	undone           bool
	takenBack        time.Time // when the undo was asked for
	stray            bool      // made for a text that was on disk only
}

func (w *world) fault(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *world) file(path string) *tracked {
	name := strings.TrimPrefix(strings.TrimPrefix(path, w.o.Root), "/")
	f := w.files[name]
	if f == nil {
		f = &tracked{hashes: map[int32][]string{}, net: map[rune]int{}}
		w.files[name] = f
	}
	return f
}

// seen takes in what happened to a buffer.
func (w *world) seen(s Sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.file(s.Path)
	if s.Deed == Told || s.Deed == Opened {
		for _, r := range s.Text {
			if m := w.runes[r]; m != nil {
				m.told = true
			}
		}
	}
	switch s.Deed {
	case Told:
		return
	case Opened:
		w.look(s.Path)
		if s.Text != f.now {
			w.note(s.Path, f, Sight{Deed: Typed, Text: s.Text, Splices: []Splice{difference(f.now, s.Text)}})
		}
		f.open, f.turned = true, time.Now()
	case Closed:
		f.open, f.turned = false, time.Now()
		disk, _ := os.ReadFile(s.Path)
		if string(disk) != f.now { // the person threw away what was not saved
			w.discard(f, string(disk))
			w.note(s.Path, f, Sight{Deed: Typed, Text: string(disk), Splices: []Splice{difference(f.now, string(disk))}})
		}
		return
	default:
		w.counts["keys"]++
		w.note(s.Path, f, s)
	}
	sum := sha256.Sum256([]byte(s.Text))
	f.hashes[s.Version] = append(f.hashes[s.Version], hex.EncodeToString(sum[:]))
}

// discard notes that the person throws away the texts since the last one that is on disk: also what the agent had taken out of them.
func (w *world) discard(f *tracked, disk string) {
	for i, s := range slices.Backward(f.log) {
		if s.Text != disk {
			continue
		}
		for _, later := range f.log[i+1:] {
			for _, r := range later.Text {
				if m := w.runes[r]; m != nil && m.n == 0 && m.removed == Applied {
					m.removed = Typed
				}
			}
		}
		return
	}
}

// look takes in what the server may have done to a file that is not open.
func (w *world) look(path string) {
	f := w.file(path)
	if f.open {
		return
	}
	disk, _ := os.ReadFile(path)
	if text := string(disk); text != f.now {
		w.note(path, f, Sight{Deed: Applied, Text: text, Splices: []Splice{difference(f.now, text)}})
	}
}

// note takes one change into the books.
func (w *world) note(path string, f *tracked, s Sight) {
	s.Path = strings.TrimPrefix(strings.TrimPrefix(path, w.o.Root), "/")
	before := f.now
	for _, p := range s.Splices {
		for _, r := range before[p.Start:p.End] {
			w.count(f, s, r, -1)
		}
		for _, r := range p.New {
			w.count(f, s, r, 1)
		}
	}
	if s.Deed == Typed {
		for _, p := range s.Splices {
			w.place(f, before, p)
		}
	} else {
		shift := 0
		for _, p := range slices.SortedFunc(slices.Values(s.Splices), func(a, b Splice) int { return a.Start - b.Start }) {
			if p.End+shift <= f.caret {
				f.caret += len(p.New) - (p.End - p.Start)
			} else if p.Start+shift < f.caret {
				f.caret = p.Start + shift
			}
			shift += len(p.New) - (p.End - p.Start)
		}
	}
	f.now = s.Text
	f.log = append(f.log, s)
	fmt.Fprintln(w.trace, time.Now().UnixNano(), s)
}

func (w *world) count(f *tracked, s Sight, r rune, n int) {
	if s.Deed == Applied && r != '\r' {
		f.net[r] += n
	}
	m := w.runes[r]
	if m == nil {
		return
	}
	m.byHand = m.byHand || s.Deed == Typed
	if m.n += n; n < 0 {
		m.removed, m.gone = s.Deed, time.Now()
	} else {
		m.added, m.file = s.Deed, s.Path
		m.back = m.back || s.Deed == Typed
	}
}

// place notes between which of the person's runes a new one was typed.
func (w *world) place(f *tracked, before string, p Splice) {
	neighbour := func(text string, last bool) rune {
		for len(text) > 0 {
			r, size := utf8.DecodeRuneInString(text)
			if last {
				r, size = utf8.DecodeLastRuneInString(text)
				text = text[:len(text)-size]
			} else {
				text = text[size:]
			}
			if m := w.runes[r]; m != nil && m.byPerson {
				return r
			}
		}
		return 0
	}
	previous := rune(-1)
	for _, r := range p.New {
		m := w.runes[r]
		if m == nil || !m.byPerson || m.before != 0 || m.after != 0 {
			continue
		}
		if previous < 0 {
			previous = neighbour(before[:p.Start], true)
		}
		m.before, m.after = previous, neighbour(before[p.End:], false)
		previous = r
	}
}

// fresh is a rune that was never there before. The caller holds w.mu.
func (w *world) fresh(byPerson bool) rune {
	r := &w.marked
	if byPerson {
		r = &w.typed
	}
	*r++
	w.runes[*r] = &mark{byPerson: byPerson}
	return *r
}

// lines makes the text that a file begins with.
func (w *world) lines(n int) string {
	var b strings.Builder
	for i := range n {
		name := rune(firstName + len(w.runes))
		w.runes[name] = &mark{}
		switch i % 5 {
		case 3:
			fmt.Fprintf(&b, "%c\t}%s", name, w.eol)
		default:
			fmt.Fprintf(&b, "%c\tv%d := alpha(beta%d, 😀 gamma) // é %d%s", name, i%7, i%3, i, w.eol)
		}
	}
	return b.String()
}

// stroke is one thing that the person does to the text before them.
func (w *world) stroke(r *rand.Rand, name string) Stroke {
	return func(text string) []Splice {
		w.mu.Lock()
		defer w.mu.Unlock()
		f := w.files[name]
		if f.caret = min(f.caret, len(text)); r.IntN(15) == 0 {
			f.caret = r.IntN(len(text) + 1)
		}
		for !boundary(text, f.caret) {
			f.caret--
		}
		start, end, insert := f.caret, f.caret, ""
		back := func(n int) {
			for ; n > 0 && start > 0; n-- {
				for start--; !boundary(text, start); start-- {
				}
			}
		}
		switch k := r.IntN(150); {
		case k >= 100: // Enter at the end of a line, and often lines of one's own
			if n := strings.IndexAny(text[end:], "\r\n"); n >= 0 {
				end += n
			} else {
				end = len(text)
			}
			start, insert = end, []string{"\n", "\n\n"}[r.IntN(2)]
			for range r.IntN(3) {
				insert += fmt.Sprintf("%c%s", w.fresh(true), []string{"", " }", "\n", "\n}"}[r.IntN(4)])
			}
		case k < 60:
			insert = string(w.fresh(true))
		case k < 66:
			insert = " "
		case k < 72:
			insert = "\n"
		case k < 75:
			insert = fmt.Sprintf("%c pasted %c 😀\n\t%c", w.fresh(true), w.fresh(true), w.fresh(true))
		case k < 90:
			back(1)
		case k < 94:
			back(1 + r.IntN(12))
		case k < 97:
			back(1 + r.IntN(6))
			insert = string(w.fresh(true))
		case end < len(text):
			for end++; !boundary(text, end); end++ {
			}
		}
		if start == end && insert == "" {
			return nil
		}
		f.caret = start + len(insert)
		if w.o.Profile != Strict && strings.Contains(insert, "\n") && w.eol == "\r\n" {
			f.caret += strings.Count(insert, "\n")
		}
		return []Splice{{start, end, insert}}
	}
}

// tinker is a model that reads and edits at random places, and keeps what it was told of each edit.
type tinker struct {
	w *world
	r *rand.Rand

	mu    sync.Mutex
	left  int // messages with edits before the turn ends
	views map[string]*view
	wants string // the file that a read is under way of
}

// view is a file as the model knows it.
type view struct {
	text string
	at   int // the entry of the log
	used map[int]bool

	stray bool // it was on disk only
}

func (m *tinker) Name() string { return "script/tinker" }

func (m *tinker) Names() []string { return []string{m.Name()} }
func (*tinker) API(string) string { return "" }

func (m *tinker) Open(string) (model.Model, error) { return m, nil }

func (m *tinker) Stream(ctx context.Context, q model.Request, on func(model.Delta)) (model.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heed(q.Messages)
	select {
	case <-time.After(Human(m.r, m.w.gap*4)()):
	case <-ctx.Done():
		return model.Response{}, ctx.Err()
	}
	calls := m.next()
	if len(calls) == 0 {
		on(model.Delta{Text: "Done."})
		return model.Response{Stop: model.StopEnd}, nil
	}
	for i, c := range calls {
		on(model.Delta{Call: &model.CallDelta{Index: i, ID: c.ID, Name: c.Name}})
		on(model.Delta{Call: &model.CallDelta{Index: i, Arguments: c.Arguments}})
		on(model.Delta{Call: &model.CallDelta{Index: i, Done: true}})
	}
	return model.Response{Stop: model.StopCalls}, nil
}

// heed takes in what the calls came to.
func (m *tinker) heed(messages []model.Message) {
	w := m.w
	w.mu.Lock()
	defer w.mu.Unlock()
	told := map[string]string{}
	for _, msg := range messages {
		if msg.Role == model.Tool {
			told[msg.CallID] = msg.Text
		}
	}
	var done []*op
	for _, o := range w.ops {
		if text, ok := told[o.id]; ok && o.outcome == "" {
			o.told, o.answered = text, time.Now()
			done = append(done, o)
		}
	}
	w.judge(done)
	if last := messages[len(messages)-1]; m.wants != "" && strings.HasPrefix(last.CallID, "read_") {
		w.look(w.o.Root + "/" + m.wants)
		disk, _ := os.ReadFile(w.o.Root + "/" + m.wants)
		if strings.HasPrefix(last.Text, "Unchanged: ") { // what it has already is what it would have been sent
			for _, before := range messages {
				if before.Role == model.Tool && strings.HasPrefix(before.Text, fmt.Sprintf("<file path=%q ", m.wants)) {
					last.Text = before.Text
				}
			}
		}
		if whole := wholeFile.FindStringSubmatch(last.Text); whole != nil && whole[1] != whole[2] {
			delete(m.views, m.wants) // much was typed while an edit waited: the file is longer than a read
			m.left = max(m.left-1, 0)
		} else if v := w.match(m.wants, numbered(last.Text)); v != nil {
			m.views[m.wants] = v
		} else if p := plain(string(disk)); alike(p, numbered(last.Text)) {
			// The server has written to the disk what the editor has opened the text before.
			m.views[m.wants] = &view{p, len(w.files[m.wants].log) - 1, map[int]bool{}, true}
		} else {
			w.fault("I1: the model was shown a text of %s that never was: %s\n%.300s", m.wants, w.nearest(m.wants, numbered(last.Text)), last.Text)
		}
	} else if last.Role == model.User {
		m.left = 3 + m.r.IntN(6)
		m.views = map[string]*view{}
	}
	m.wants = ""
}

var replacements = regexp.MustCompile(`(?m)^Replacements: (\d+)$`)

var numberedLine = regexp.MustCompile(`(?m)^ *\d+ \| (.*)$`)

// wholeFile has the last line that a read shows and how many there are.
var wholeFile = regexp.MustCompile(`^<file path="[^"]*" lines="1-(\d+)" total="(\d+)"`)

func numbered(text string) string {
	var b strings.Builder
	for _, l := range numberedLine.FindAllStringSubmatch(text, -1) {
		b.WriteString(l[1] + "\n")
	}
	return b.String()
}

// plain is a text as a model sees it.
func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// match finds the newest text of a file that looks like this.
func (w *world) match(name, text string) *view {
	f := w.files[name]
	for i, s := range slices.Backward(f.log) {
		if p := plain(s.Text); alike(p, text) {
			return &view{p, i, map[int]bool{}, false}
		}
	}
	return nil
}

func alike(a, b string) bool { return strings.TrimSuffix(a, "\n") == strings.TrimSuffix(b, "\n") }

// nearest says how a text differs from the one of the log that is most like it.
func (w *world) nearest(name, text string) string {
	best, least := "", len(text)+1
	for i, s := range w.files[name].log {
		d := difference(strings.TrimSuffix(plain(s.Text), "\n"), strings.TrimSuffix(text, "\n"))
		if n := d.End - d.Start + len(d.New); n < least {
			best, least = fmt.Sprintf("%d bytes at %d are %q in entry %d of %d", d.End-d.Start, d.Start, d.New, i, len(w.files[name].log)), n
		}
	}
	return best
}

// next is what the model does now; nothing ends the turn.
func (m *tinker) next() []model.Call {
	w := m.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.left == 0 {
		return nil
	}
	m.left--
	call := func(id, tool string, arguments map[string]any) model.Call {
		return model.Call{ID: id, Name: tool, Arguments: string(encode(arguments))}
	}
	name := []string{"a.go", "a.go", "a.go", "b.go", "c.go"}[m.r.IntN(5)]
	v := m.views[name]
	w.doing++
	id := fmt.Sprintf("%d", w.doing)
	w.counts["calls"]++
	if m.r.IntN(15) == 0 {
		o := &op{id: "make_" + id, kind: "make", file: "n" + id + ".go", count: 1, mark: w.fresh(false), turn: w.turn, asked: time.Now()}
		o.new = fmt.Sprintf("package %c\n\nmade\n", o.mark)
		w.ops = append(w.ops, o)
		w.file(o.file).made = true
		return []model.Call{call(o.id, "write_file", map[string]any{"path": o.file, "content": o.new})}
	}
	if v == nil || m.r.IntN(4) == 0 {
		m.left++
		if v != nil && m.r.IntN(2) == 0 {
			m.left--
		}
		m.wants = name
		return []model.Call{call("read_"+id, "read_file", map[string]any{"path": name})}
	}
	n := 1
	if m.r.IntN(6) == 0 {
		n = 2 + m.r.IntN(2)
	}
	var calls []model.Call
	for i := range n {
		if o := m.edit(name, v); o != nil {
			o.id = fmt.Sprintf("%s_%s_%d", o.kind, id, i)
			o.file, o.turn, o.view, o.seen, o.asked, o.stray = name, w.turn, v.at, len(w.files[name].log), time.Now(), v.stray
			w.ops = append(w.ops, o)
			tool := "edit_file"
			if o.arguments == nil {
				o.arguments = map[string]any{"old_text": o.old, "new_text": o.new}
			}
			o.arguments["path"] = name
			if o.kind == "write" {
				tool = "write_file"
			}
			calls = append(calls, call(o.id, tool, o.arguments))
		}
	}
	if len(calls) == 0 {
		m.left++
		m.wants = name
		return []model.Call{call("read_"+id, "read_file", map[string]any{"path": name})}
	}
	return calls
}

var word = regexp.MustCompile(`[A-Za-z0-9_\p{L}]+`)

// edit makes one up; nil where nothing offers itself.
func (m *tinker) edit(name string, v *view) *op {
	w, r := m.w, m.r
	lines := strings.SplitAfter(v.text, "\n")
	starts := make([]int, len(lines)+1)
	for i, l := range lines {
		starts[i+1] = starts[i] + len(l)
	}
	unique := func(i int) bool {
		l := strings.TrimSuffix(lines[i], "\n")
		return !v.used[i] && strings.HasSuffix(lines[i], "\n") && len(l) > 3 && strings.Count(v.text, l) == 1 &&
			strings.ContainsFunc(l, func(r rune) bool { return w.runes[r] != nil })
	}
	near := 0
	f := w.files[name]
	if at := min(f.caret, len(f.now)); len(lines) > 0 {
		near = strings.Count(f.now[:at], "\n")
	}
	for range 20 {
		i := r.IntN(len(lines))
		switch k := r.IntN(10); {
		case k == 0:
			i = near
		case k < 6:
			i = near - 5 + r.IntN(11)
		}
		if i < 0 || i >= len(lines) || !unique(i) {
			continue
		}
		at, line := starts[i], strings.TrimSuffix(lines[i], "\n")
		words := word.FindAllStringIndex(line, -1)
		if len(words) == 0 {
			continue
		}
		token := words[r.IntN(len(words))]
		o := &op{mark: w.fresh(false), count: 1}
		put := func(l string, span []int) string { return fmt.Sprintf("%sw%c%s", l[:span[0]], o.mark, l[span[1]:]) }
		v.used[i] = true
		switch r.IntN(9) {
		default: // a word, quoted with its line
			o.kind, o.old, o.new = "token", line, put(line, token)
			o.spans = [][2]int{{at + token[0], at + token[1]}}
		case 3: // a word, quoted with the lines around it
			if i == 0 || i+1 >= len(lines) || v.used[i-1] || v.used[i+1] {
				continue
			}
			o.kind = "block"
			o.old, o.new = lines[i-1]+lines[i]+lines[i+1], lines[i-1]+put(line, token)+"\n"+lines[i+1]
			o.spans = [][2]int{{at + token[0], at + token[1]}}
		case 4:
			o.kind, o.old, o.new = "line", line, fmt.Sprintf("instead of it %c;", o.mark)
			o.spans = [][2]int{{at, at + len(line)}}
		case 5:
			o.kind, o.old, o.new = "insert", line, fmt.Sprintf("%s\nnew line %c;", line, o.mark)
			o.spans = [][2]int{{at + len(line), at + len(line) + 1}}
		case 6:
			o.kind, o.old, o.new, o.mark, o.count = "delete", lines[i], "", 0, 0
			for _, c := range line {
				if m := w.runes[c]; m != nil && m.n == 1 {
					o.name = c
				}
			}
			if o.name == 0 {
				continue
			}
			o.spans = [][2]int{{max(at-1, 0), at + len(line) + 1}}
		case 7:
			o.kind, o.old = "all", "alpha"
			o.new = fmt.Sprintf("alpha%c", o.mark)
			if r.IntN(2) == 0 {
				o.old = fmt.Sprintf("beta%d", r.IntN(3))
				o.new = fmt.Sprintf("b%c", o.mark)
			}
			for j := 0; ; {
				k := strings.Index(v.text[j:], o.old)
				if k < 0 {
					break
				}
				o.spans = append(o.spans, [2]int{j + k, j + k + len(o.old)})
				j += k + len(o.old)
			}
			if o.count = len(o.spans); o.count == 0 {
				continue
			}
			o.arguments = map[string]any{"old_text": o.old, "new_text": o.new, "replace_all": true}
			for j := range lines {
				v.used[j] = v.used[j] || strings.Contains(lines[j], o.old)
			}
		case 8: // the whole file again, with a word changed in two lines
			if len(v.used) > 1 {
				continue
			}
			k := r.IntN(len(lines))
			if k == i || !unique(k) {
				continue
			}
			other := strings.TrimSuffix(lines[k], "\n")
			more := word.FindStringIndex(other)
			if more == nil {
				continue
			}
			fresh := slices.Clone(lines)
			fresh[i], fresh[k] = put(line, token)+"\n", put(other, more)+"\n"
			o.kind, o.old, o.new, o.count = "write", v.text, strings.Join(fresh, ""), 2
			o.spans = [][2]int{{at + token[0], at + token[1]}, {starts[k] + more[0], starts[k] + more[1]}}
			o.arguments = map[string]any{"content": o.new}
			for j := range lines {
				v.used[j] = true
			}
		}
		return o
	}
	return nil
}

// longest is how long a call may take: ten seconds for its tries, the reply to the last one, and a repair.
const longest = 27 * time.Second

// longestLate is the same for an edit that waits for the person to pause, or behind one that does.
const longestLate = longest + 2*time.Minute

// judge holds what the model was told of its calls against what is so. The caller holds w.mu.
func (w *world) judge(done []*op) {
	for _, o := range done {
		path := w.o.Root + "/" + o.file
		w.look(path)
		o.outcome = "landed"
		if code, failed := strings.CutPrefix(o.told, "["); failed {
			o.outcome, _, _ = strings.Cut(code, "]")
		}
		w.counts["ops"]++
		w.counts[o.outcome]++
		most := longest
		if w.late || strings.Contains(o.told, "has not shown the previous edit") {
			most = longestLate
		}
		if took := time.Since(o.asked); took > time.Duration(len(done))*most {
			w.fault("I8: %s of %s took %v and was %s", o.id, o.file, took, o.outcome)
		}
		if n := replacements.FindStringSubmatch(o.told); n != nil && o.kind == "all" {
			o.count, _ = strconv.Atoi(n[1]) // the newest text that it was shown decides, which may be one of its own edits
		}
		if o.outcome != "UNKNOWN" { // what was put at a wrong place may still be on its way back
			w.check(o)
		}
		touched := w.touched(o)
		switch o.outcome {
		case "landed", "TIMEOUT":
		case "UNKNOWN":
			if !w.lossy && !w.vague && !w.late && w.e.Misplaced() == 0 && w.files[o.file].turned.Before(o.asked.Add(-time.Second)) {
				w.fault("I2: %s of %s ended unknown in an honest world: %s", o.id, o.file, o.told)
			}
		default:
			if !touched && !w.vague {
				w.fault("%s of %s was refused although nobody touched its words: %s\nold %q\nnew %q", o.id, o.file, o.told, o.old, o.new)
			}
		}
	}
}

// check says whether an edit is in the text as often as its outcome says.
func (w *world) check(o *op) {
	if o.name != 0 {
		m := w.runes[o.name]
		if o.outcome == "landed" && !o.undone && m.n != 0 && !m.byHand &&
			!w.files[o.file].turned.After(o.asked.Add(-time.Second)) {
			w.fault("I2: %s of %s has landed, and what it deleted stands there", o.id, o.file)
		}
		if o.outcome != "landed" && o.outcome != "UNKNOWN" && m.n == 0 && m.removed == Applied && !w.takenBy(o.name, o) &&
			!slices.ContainsFunc(w.ops, func(by *op) bool { return by.mark == o.name && by.undone }) {
			w.fault("I2: %s of %s was %s, and what it should have deleted is gone", o.id, o.file, o.outcome)
		}
		return
	}
	m := w.runes[o.mark]
	// An edit that went to the disk while the file was being opened is there, and the editor shows the text before it.
	overtaken := w.files[o.file].turned.After(o.asked.Add(-time.Second))
	switch {
	case o.outcome == "UNKNOWN":
		if m.n > o.count && w.e.Misplaced() == 0 {
			w.fault("I2: %s of %s is there %d times", o.id, o.file, m.n)
		}
	case o.outcome == "landed" && !o.undone:
		// The person's own undo of a repair, or closing without saving what was repaired, brings back what had landed at a
		// wrong place.
		again := m.back && w.e.Misplaced() > 0
		if m.n > o.count && !again || m.n < o.count && !m.byHand && !overtaken && !w.takenBy(o.mark, o) {
			w.fault("I2: %s of %s has landed and is there %d times, not %d", o.id, o.file, m.n, o.count)
		}
	case o.undone && w.files[o.file].turned.After(o.takenBack.Add(-time.Second)):
	case m.n > 0 && !m.byHand:
		w.fault("I2: %s of %s was %s and is there %d times (undone %v)", o.id, o.file, o.outcome, m.n, o.undone)
	}
}

// takenBy says that another edit took r away, knowing it.
func (w *world) takenBy(r rune, but *op) bool {
	return slices.ContainsFunc(w.ops, func(o *op) bool {
		return o != but && (o.outcome == "landed" || o.outcome == "UNKNOWN" || o.outcome == "") &&
			strings.Count(o.old, string(r)) > strings.Count(o.new, string(r))
	})
}

// reported says that a rune was taken away by an edit that the editor had put at a wrong place and that was reported as
// unknown: an editor that gathers changes may hide what it did.
func (w *world) reported(m *mark) bool {
	return w.e.Misplaced() > 0 && slices.ContainsFunc(w.ops, func(o *op) bool {
		return o.outcome == "UNKNOWN" && o.file == m.file && !m.gone.Before(o.asked) && !m.gone.After(o.answered)
	})
}

// disordered says that the editor has put an edit of a file at a wrong place, which was reported as unknown.
func (w *world) disordered(file string) bool {
	return w.e.Misplaced() > 0 && slices.ContainsFunc(w.ops, func(o *op) bool { return o.outcome == "UNKNOWN" && o.file == file })
}

// touched says that somebody else changed what the edit changes, or right beside it, since the model had read it.
func (w *world) touched(o *op) bool {
	f := w.files[o.file]
	if o.stray {
		return true
	}
	if o.view >= len(f.log) || o.kind == "make" {
		return false
	}
	for _, b := range w.ops { // its own edit before, which went to the disk while the person opened the file
		if b != o && b.file == o.file && b.outcome == "landed" && b.old == o.old {
			return true
		}
	}
	text := f.log[o.view].Text
	for _, span := range o.spans {
		from, to := raw(text, span[0]), raw(text, span[1])
		for _, s := range f.log[o.view+1:] {
			splices := slices.SortedFunc(slices.Values(s.Splices), func(a, b Splice) int { return a.Start - b.Start })
			for _, p := range slices.Backward(splices) {
				if p.Start <= to && p.End >= from {
					return true
				}
				if p.End < from {
					from += len(p.New) - (p.End - p.Start)
					to += len(p.New) - (p.End - p.Start)
				}
			}
		}
	}
	return false
}

// raw is the place in a text of a place in what a model sees of it.
func raw(text string, at int) int {
	i := 0
	for ; at > 0 && i < len(text); i++ {
		if text[i] != '\r' {
			at--
		}
	}
	return i
}

// quiet checks all that must hold when nothing is under way.
func (w *world) quiet() {
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		raw, err := w.e.conn.begin("tandem/fileTime/get", map[string]any{"uris": []string{w.e.URI(name)}})(w.t.Context())
		w.compare(name, raw, err, true)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.files {
		w.look(w.o.Root + "/" + name)
	}
	for _, o := range w.ops {
		if o.outcome == "" {
			w.fault("I2: %s of %s never came to an end", o.id, o.file)
			continue
		}
		w.check(o)
	}
	at := map[rune]int{}
	for _, f := range w.files {
		for i, r := range f.now {
			if m := w.runes[r]; m != nil && m.byPerson {
				at[r] = i
			}
		}
	}
	for r, m := range w.runes {
		if !m.byPerson {
			continue
		}
		switch {
		case m.n > 1:
			w.fault("I1: %c, typed in %s, is there %d times", r, m.file, m.n)
		case m.n == 0 && m.removed == Applied && !w.takenBy(r, nil) && !w.reported(m) && (m.told || w.e.Misplaced() == 0):
			w.fault("I1: %c, typed in %s, is lost", r, m.file)
		}
		// Where the person has typed into an edit at a wrong place, what it took away comes to stand beside that.
		if m.n != 1 || w.takenBy(r, nil) || w.disordered(m.file) {
			continue
		}
		for _, o := range []rune{m.before, m.after} {
			if n := w.runes[o]; o != 0 && n.n == 1 && n.file == m.file && !w.takenBy(o, nil) && (at[o] < at[r]) != (o == m.before) {
				w.fault("I1: %c and %c, typed in %s, have changed places", r, o, m.file)
			}
		}
	}
}

// compare holds what the server says of a file against the buffer of the same version.
func (w *world) compare(name string, answer json.RawMessage, err error, latest bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var r struct {
		Files []struct {
			Hash    string
			Version *int32
		}
	}
	if err != nil || json.Unmarshal(answer, &r) != nil {
		w.fault("tandem/fileTime/get: %s %v", answer, err)
		return
	}
	w.counts["compared"]++
	f := w.files[name]
	if len(r.Files) == 0 || r.Files[0].Version == nil {
		if latest && f.open {
			w.fault("I1: %s is open and the server does not know", name)
		}
		return
	}
	v, hash := *r.Files[0].Version, r.Files[0].Hash
	if !slices.Contains(f.hashes[v], hash) {
		w.fault("I1: version %d of %s is another text for the server", v, name)
	}
	if latest && f.open {
		if sum := sha256.Sum256([]byte(f.now)); hash != hex.EncodeToString(sum[:]) {
			w.fault("I1: the server is at version %d of %s, which is not the latest", v, name)
		}
	}
}

// chance makes up a world: an editor, a network and its faults.
func (w *world) chance(r *rand.Rand) (there, back Latency) {
	o := &w.o
	one := func(n int) bool { return r.IntN(n) == 0 }
	o.Profile = []Profile{Strict, Race, Lying}[r.IntN(3)]
	o.Encoding = []Encoding{UTF8, UTF16, UTF32}[r.IntN(3)]
	w.gap = []time.Duration{200 * time.Millisecond, 20 * time.Millisecond}[r.IntN(2)]
	if w.eol = "\n"; one(5) {
		w.eol = "\r\n"
	}
	if o.Profile == Race && !(*unchecked && one(2)) {
		o.Window = time.Duration(1+r.IntN(20_000)) * time.Microsecond
	}
	if one(3) {
		o.Hold = time.Duration(20_000+r.IntN(200_000)) * time.Microsecond
		o.Merge = one(2)
	}
	o.Split, o.Whole, o.ReplyFirst = one(5), one(6), one(4)
	w.vague = o.Whole || o.Merge
	o.Landed = o.Profile != Lying && o.Hold == 0 && !o.Split && o.Encoding != UTF32
	if one(3) {
		o.Format = trimmed()
	}
	if one(3) {
		w.lossy = true
		fate := rand.New(rand.NewPCG(r.Uint64(), 4))
		o.Reply = func(int) Reply {
			switch fate.IntN(40) {
			case 0:
				return Lost
			case 1:
				return Errored
			case 2, 3:
				return Refused
			}
			return Answered
		}
	}
	w.lossy = w.lossy || o.Profile == Lying
	if one(3) {
		o.Capabilities = map[string]any{"experimental": map[string]any{"tandem": map[string]any{"save": nil}}}
	}
	o.Settings = map[string]any{"mode": "auto", "budget": map[string]any{"maxTurnRequests": 100}}
	o.Seen = w.seen
	most := []time.Duration{time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond}[r.IntN(5)]
	// What is sent at one moment is under way equally long in whatever order it goes out: so a seed plays again.
	jitter := func() Latency {
		salt := r.Uint64()
		return func() time.Duration {
			return time.Duration(rand.New(rand.NewPCG(salt, uint64(time.Now().UnixNano()))).Int64N(int64(most)))
		}
	}
	if *late {
		more := rand.New(rand.NewPCG(w.n, 7))
		w.late, o.Idle, o.Landed = true, true, false
		o.Hold = []time.Duration{150 * time.Millisecond, 500 * time.Millisecond, 2500 * time.Millisecond, 5 * time.Second, insertMode}[more.IntN(5)]
		o.Merge, o.ReplyFirst, o.Fails = more.IntN(2) == 0, more.IntN(2) == 0, more.IntN(3) == 0
		w.vague = o.Whole || o.Merge
	}
	w.turnKnobs(o)
	w.t.Logf("%s, a key every %v, under way up to %v, window %v, hold %v, idle %v, insert %v, reorder %v, widen %v, fails %v, merge %v, split %v, whole %v, reply first %v, landed %v, "+
		"format %v, faults %v, %s, eol %q", o.Profile, w.gap, most, o.Window, o.Hold, o.Idle, o.Insert, o.Reorder, o.Widen, o.Fails, o.Merge, o.Split, o.Whole, o.ReplyFirst, o.Landed,
		o.Format != nil, o.Reply != nil, o.Encoding, w.eol)
	return jitter(), jitter()
}

// turnKnobs has the editor tell and answer as -knobs says.
func (w *world) turnKnobs(o *Options) {
	if *knobs == "" {
		return
	}
	var f ways
	more := rand.New(rand.NewPCG(w.n, 11))
	one := func(n int) bool { return more.IntN(n) == 0 }
	if set := flag.NewFlagSet("", flag.ContinueOnError); *knobs != "any" {
		finish := f.client(set)
		if err := errors.Join(set.Parse(strings.Split("-"+strings.ReplaceAll(*knobs, ",", ",-"), ",")), finish()); err != nil {
			w.t.Fatal(err)
		}
		set.Visit(func(given *flag.Flag) {
			if given.Name == "profile" {
				o.Profile = f.profiles[0]
			}
		})
	} else {
		f = ways{
			hold:  []time.Duration{0, 0, 150 * time.Millisecond, 500 * time.Millisecond, 2500 * time.Millisecond, 5 * time.Second}[more.IntN(6)],
			widen: one(3), merge: one(2), whole: one(6), split: one(5), replyFirst: one(3), fails: one(3),
		}
		f.insert = f.hold > 0 && one(3)
		f.idle = f.hold > 0 && !f.insert && one(2)
		f.reorder = f.hold == 0 && one(2)
	}
	if f.insert { // a person may type for long without a pause
		f.hold = []time.Duration{f.hold, 2500 * time.Millisecond, insertMode}[more.IntN(3)]
	}
	if o.Profile == Race && f.window == 0 {
		f.window = o.Window
	}
	f.landed = f.landed || o.Profile != Lying && f.hold == 0 && !f.split && o.Encoding != UTF32
	f.lay(o)
	w.late, w.vague = f.hold >= 500*time.Millisecond || f.idle || f.insert, f.whole || f.merge && f.hold > 0
}

// act is the next thing that the person does.
func (w *world) act(r *rand.Rand) {
	name := "a.go"
	if r.IntN(6) == 0 {
		name = "b.go"
	}
	w.mu.Lock()
	open := map[string]bool{}
	for n, f := range w.files {
		open[n] = f.open
	}
	w.mu.Unlock()
	var err error
	switch k := r.IntN(400); {
	case !open[name]:
		err = w.e.Open(name)
	case k < 2:
		err = w.e.CloseFile(name)
	case k < 5:
		if err = w.e.Save(name); err == nil && k == 2 {
			err = w.e.CloseFile(name)
		}
	case k < 8:
		err = w.e.Save(name)
	case k < 11:
		w.outside(r, "c.go")
	case k < 13:
		w.outside(r, name)
	case k < 15 && open["c.go"]:
		_ = w.e.CloseFile("c.go") // the server may have had it closed
	case k < 15:
		err = w.e.Open("c.go")
	case k < 30:
		_ = w.e.Undo(name) // there may be nothing to undo
	case k < 45 && (w.o.Insert || w.o.Hold == insertMode):
		w.e.Escape()
	default:
		err = w.e.Change(name, w.stroke(r, name))
	}
	if err != nil && !strings.Contains(err.Error(), "is not open") {
		w.t.Error(err)
	}
	w.mu.Lock()
	w.counts["acts"]++
	w.mu.Unlock()
}

// outside is a file saved by another program. An editor reads it again where nothing is unsaved; else it stays behind.
func (w *world) outside(r *rand.Rand, name string) {
	w.e.mu.Lock()
	d := w.e.docs[w.e.URI(name)]
	clean := d == nil || d.text == d.onDisk
	w.e.mu.Unlock()
	if !clean {
		return
	}
	w.mu.Lock()
	path := w.o.Root + "/" + name
	w.look(path)
	f := w.files[name]
	lines := strings.SplitAfter(f.now, "\n")
	i := r.IntN(len(lines))
	lines[i] = fmt.Sprintf("saved %c elsewhere%s", w.fresh(true), w.eol) + lines[i]
	text := strings.Join(lines, "")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Error(err)
	}
	if !f.open {
		w.note(path, f, Sight{Deed: Typed, Text: text, Splices: []Splice{difference(f.now, text)}})
	}
	w.mu.Unlock()
	if d != nil && r.IntN(3) > 0 { // else the buffer stays older than the disk, as Neovim's does without autoread
		_ = w.e.Reload(name)
	}
}

// live lets a world go on for a number of turns.
func (w *world) live(r *rand.Rand, turns int) {
	there, back := w.chance(r)
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		n := 20
		if name == "a.go" {
			n = 60
		}
		text := w.lines(n)
		write(w.t, w.o.Root, name, text)
		f := w.file(name)
		f.now = text
		f.log = append(f.log, Sight{Text: text})
		for _, c := range text {
			if m := w.runes[c]; m != nil {
				m.n, m.file = 1, name
			}
		}
	}
	client, server := Pipe(there, back)
	exit := make(chan int, 1)
	mind := &tinker{w: w, r: rand.New(rand.NewPCG(r.Uint64(), 5))}
	go func() {
		exit <- serve(w.t.Context(), server, mind, nil, nil)
		_ = server.Close()
	}()
	var err error
	if w.e, err = Start(w.t.Context(), client, w.o); err != nil {
		w.t.Fatal(err)
	}
	w.o = w.e.o
	for _, name := range []string{"a.go", "b.go"} {
		if err := w.e.Open(name); err != nil {
			w.t.Fatal(err)
		}
	}
	var session struct{ SessionID string }
	for turn := range turns {
		if turn%3 == 0 {
			raw, err := w.e.Request(w.t.Context(), "tandem/session/new", map[string]any{"cwd": w.o.Root})
			if err != nil || json.Unmarshal(raw, &session) != nil {
				w.t.Fatal(string(raw), err)
			}
		}
		w.turn = turn
		var end struct {
			StopReason string
			Turn       int
		}
		w.wait(r, "tandem/session/prompt", map[string]any{
			"sessionId": session.SessionID, "prompt": []any{map[string]any{"type": "text", "text": "Go on."}},
		}, &end)
		if end.StopReason != "end_turn" {
			w.fault("the turn ended with %+v", end)
		}
		if r.IntN(3) == 0 {
			w.revert(r, session.SessionID, end.Turn)
		}
		if w.o.Insert || w.o.Hold == insertMode {
			w.e.Escape()
		}
		time.Sleep(5*time.Second + min(w.o.Hold, 5*time.Second))
		if w.late { // what has been sent since
			w.e.Escape()
			time.Sleep(20 * time.Second)
			w.e.Escape()
			time.Sleep(time.Second)
		}
		w.quiet()
		if len(w.wrong) > 0 || w.counts["acts"] > 1500 { // a fast person and a slow network make few edits of many keys
			break
		}
	}
	out, shut := w.teller()
	defer shut()
	for _, m := range w.e.Wire() {
		var head struct{ Method string }
		_ = json.Unmarshal(m.Raw, &head)
		tell(out, m)
		switch head.Method {
		case "textDocument/didChange", "textDocument/didOpen", "textDocument/didClose", "textDocument/didSave":
			w.counts["steps"]++
		case "workspace/applyEdit", "tandem/documents/save":
			w.counts["steps"] += 2 // with its answer
			w.counts[head.Method]++
		}
	}
	w.counts["steps"] += w.counts["acts"] + 2*w.counts["calls"]
	_, stale, refused := w.e.Counts()
	w.counts["stale"], w.counts["refused"] = stale, refused
	for _, v := range w.e.Violations() {
		// The person may open a file while an edit of the closed one is under way, and others may save it.
		if !strings.HasPrefix(v, "no version for") && !strings.Contains(v, unversioned) {
			w.fault("%s", v)
		}
	}
	if err := w.e.Close(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if code := <-exit; code != 0 {
		w.t.Errorf("exit code %d", code)
	}
}

// teller is where the messages of the world go: nowhere, or into a file where something is wrong, since what happens at one
// moment may happen in another order when a seed is played again.
func (w *world) teller() (io.Writer, func()) {
	if *story {
		return os.Stdout, func() {}
	}
	if len(w.wrong) == 0 {
		return io.Discard, func() {}
	}
	f, err := os.CreateTemp("", "tandem-world-*.txt")
	if err != nil {
		w.t.Log(err)
		return io.Discard, func() {}
	}
	w.t.Log("all messages: ", f.Name())
	return f, func() { _ = f.Close() }
}

// tell prints a message in few words.
func tell(out io.Writer, m Wire) {
	type edit struct {
		Range         *Range
		Text, NewText string
	}
	var b struct {
		ID     json.RawMessage
		Method string
		Params struct {
			TextDocument struct {
				URI     string
				Version *int32
			}
			ContentChanges []edit
			Label          string
			Edit           struct {
				DocumentChanges []struct {
					Kind, URI    string
					TextDocument struct {
						URI     string
						Version *int32
					}
					Edits []edit
				}
			}
			Update struct{ ToolCallID, Status string }
		}
		Result json.RawMessage
		Error  json.RawMessage
	}
	_ = json.Unmarshal(m.Raw, &b)
	at := m.At.Format("05.0000 ")
	spans := func(edits []edit) (out string) {
		for _, e := range edits {
			if e.Range == nil {
				out += fmt.Sprintf(" whole(%d)", len(e.Text))
				continue
			}
			r := *e.Range
			out += fmt.Sprintf(" %d:%d-%d:%d%q", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character, e.Text+e.NewText)
		}
		return out
	}
	version := func(v *int32) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v)
	}
	base := func(uri string) string { return uri[strings.LastIndex(uri, "/")+1:] }
	p := b.Params
	switch b.Method {
	case "textDocument/didChange":
		fmt.Fprintln(out, at, "->", base(p.TextDocument.URI), version(p.TextDocument.Version), spans(p.ContentChanges))
	case "textDocument/didOpen", "textDocument/didClose", "textDocument/didSave":
		fmt.Fprintln(out, at, "->", b.Method, base(p.TextDocument.URI), version(p.TextDocument.Version))
	case "workspace/applyEdit":
		for _, c := range p.Edit.DocumentChanges {
			uri := c.URI + c.TextDocument.URI
			fmt.Fprintln(out, at, "<- apply", b.ID, p.Label, c.Kind, base(uri), version(c.TextDocument.Version), spans(c.Edits))
		}
	case "tandem/session/update":
		if p.Update.Status != "" {
			fmt.Fprintf(out, "%s <- %s %s %.3000s\n", at, p.Update.ToolCallID, p.Update.Status, m.Raw)
		}
	case "tandem/changes/undo", "tandem/documents/save":
		fmt.Fprintf(out, "%s %s\n", at, m.Raw)
	case "":
		if m.ToServer || b.Error != nil || strings.Contains(string(b.Result), "conflicts") {
			fmt.Fprintf(out, "%s -> reply %s %s %.300s\n", at, b.ID, b.Error, b.Result)
		}
	}
}

// wait sends a request and lets the person go on until its answer is there.
func (w *world) wait(r *rand.Rand, method string, params, result any) {
	answer := w.e.Begin(method, params)
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(w.t.Context(), patience)
		defer cancel()
		raw, err := answer(ctx)
		if err == nil {
			err = json.Unmarshal(raw, result)
		}
		done <- err
	}()
	gap := Human(r, w.gap)
	for {
		select {
		case err := <-done:
			if err != nil {
				w.fault("%s: %v", method, err)
			}
			return
		case <-time.After(gap()):
		}
		w.act(r)
		look := w.e.conn.begin("tandem/fileTime/get", map[string]any{"uris": []string{w.e.URI("a.go")}})
		w.e.background.Go(func() {
			raw, err := look(w.t.Context())
			w.compare("a.go", raw, err, false)
		})
	}
}

// revert has the server take back what the agent did in a turn, while the person goes on.
func (w *world) revert(r *rand.Rand, session string, turn int) {
	var back struct {
		Changed   []string
		Conflicts []struct{ URI, Reason string }
	}
	began := time.Now()
	w.wait(r, "tandem/changes/undo", map[string]any{"sessionId": session, "scope": "turn", "turn": turn}, &back)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts["undo"]++
	for _, c := range back.Conflicts {
		w.counts["undo conflict"]++
		for _, o := range w.ops {
			if w.e.URI(o.file) == c.URI && o.turn == w.turn {
				o.undone, o.takenBack, o.outcome = true, began, "UNKNOWN" // some of it stays
			}
		}
	}
	for _, uri := range back.Changed {
		for _, o := range w.ops {
			if w.e.URI(o.file) == uri && o.turn == w.turn {
				o.undone, o.takenBack = true, began
			}
		}
	}
}

// mended are seeds of worlds that once failed.
var mended = []uint64{9, 186, 191, 402, 4010, 20039, 60002}

// A person types, saves, closes and takes back while a model edits at random, over all kinds of editors and networks with
// all their faults. Nothing typed is lost or changes places (but for what an editor that puts edits at wrong places has overwritten before it
// told of it), the server knows every version as it is, every edit is
// there once or was reported, in time, and none is refused where nobody touched its words. Each world has a seed of its
// own: -seed=N -steps=1 plays one again.
func TestWorld(t *testing.T) {
	first := max(*seed, 1)
	if *steps == 0 {
		if *steps = 50_000; wiretest.Raced() {
			*steps = 2500
		}
	}
	total := map[string]int{}
	began := time.Now()
	worlds := 0
	play := func(n uint64) {
		t.Run(fmt.Sprintf("seed %d", n), func(t *testing.T) {
			dir := root(t)
			w := &world{
				t: t, n: n, files: map[string]*tracked{}, runes: map[rune]*mark{}, counts: map[string]int{}, typed: firstTyped, marked: firstMark,
				trace: sha256.New(),
			}
			w.o.Root = dir
			wiretest.Bubble(t, func(t *testing.T) {
				w.t = t
				w.live(rand.New(rand.NewPCG(n, 0)), 9)
			})
			for _, f := range w.wrong[:min(len(w.wrong), 12)] {
				t.Error(f)
			}
			for k, v := range w.counts {
				total[k] += v
			}
			t.Logf("%v, trace %x", w.counts, w.trace.Sum(nil)[:4])
		})
		worlds++
	}
	if *seed == 0 {
		for _, n := range mended {
			play(n)
		}
	}
	for n := first; total["steps"] < *steps; n++ {
		play(n)
	}
	t.Logf("-seed=%d: %d worlds in %v: %v", first, worlds, time.Since(began).Round(time.Millisecond), total)
}
