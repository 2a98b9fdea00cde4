package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/lspserver/conformance"
	"tandem/lspserver/wire/wiretest"
)

var (
	searches  = flag.Int("searches", 300, "how often files are changed and searched at once")
	searching = flag.Uint64("searching", 1, "the seed of these changes")
)

// source are the folders of Go's own source that stand in the workspace, changing those of them in which files change.
var (
	source   = []string{"crypto", "encoding", "go", "internal", "math", "net", "os", "runtime", "text"}
	changing = []string{"net/http", "encoding", "text"}
)

// checkedOut is how many files differ between the two commits of the workspace: half have another text, half another folder.
const checkedOut = 5000

// linked is how many files of the folders that change have a name outside of the workspace too.
const linked = 20

// sought is a server with an index of a tree that everybody changes.
type sought struct {
	*editor
	session string
	r       *rand.Rand
	n       int    // words so far, zqtoken1 and on
	outside string // a folder beside the workspace
	b       bool   // the second commit is checked out
	// files and folders are what was there at the last look, tokens the words in them.
	files, folders []string
	tokens         []token
	gone           int // folders that were moved outside
}

// token is a line with a word.
type token struct {
	path, text string
	line       int
}

func (k token) String() string { return fmt.Sprintf("%s:%d:%s", k.path, k.line, k.text) }

// TestF165SearchesAreNeverStale changes something and searches at once, again and again, over the wire: edits of the agent, its
// commands, other programs, buffers, rules of what is ignored, checkouts. Each answer is what the files and the buffers hold then.
func TestF165SearchesAreNeverStale(t *testing.T) {
	s := seeking(t)
	ways := map[string]int{}
	var history []string
	rounds := *searches
	if wiretest.Raced() { // then all of it takes several times as long
		rounds = max(rounds/5, 1)
	}
	for round := range rounds {
		what := s.change()
		if round%120 == 60 {
			what = s.checkout()
		}
		ways[strings.Fields(what)[0]]++
		history = append(history, fmt.Sprintf("%d: %s", round, what))
		s.reload()
		s.look()
		if d := s.compare(); d != "" {
			t.Fatalf("round %d (-searching=%d): %s\nopen: %q\nafter\n%s", round, *searching, d, slices.Sorted(maps.Keys(s.Buffers())),
				strings.Join(history[max(0, round-300):], "\n"))
		}
	}
	if state := s.state(); state != "ready" && state != "building" {
		t.Errorf("there is no index at the end: %s", state)
	}
	t.Logf("%d rounds, %d words in %d files at the end: %v", rounds, len(s.tokens), len(s.files), ways)
	s.leaves()
}

// seeking copies the tree, makes the two commits, starts the server and waits for its index.
func seeking(t *testing.T) *sought {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	p := prepared(t, nil)
	p.life = 3*time.Minute + time.Duration(*searches)*time.Second
	files := 0
	for _, name := range source {
		from := filepath.Join(strings.TrimSpace(string(out)), "src", name)
		err = errors.Join(err, filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(from, path)
			to := filepath.Join(p.root, name, rel)
			switch {
			case err != nil:
				return err
			case e.IsDir() && e.Name() == "testdata":
				return fs.SkipDir
			case e.IsDir():
				return os.MkdirAll(to, 0o755)
			case !e.Type().IsRegular():
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil {
				files++
				err = os.WriteFile(to, text, 0o644)
			}
			return err
		}))
	}
	s := &sought{r: rand.New(rand.NewPCG(*searching, 0)), outside: filepath.Join(filepath.Dir(p.root), "outside")}
	if err = errors.Join(err, os.Mkdir(s.outside, 0o755)); err != nil || files < 3000 {
		t.Fatalf("%d files: %v", files, err)
	}
	s.editor = &editor{p: p}
	s.commits()
	s.look()
	for n := range linked {
		s.must(os.Link(filepath.Join(p.root, s.files[n*len(s.files)/linked]), filepath.Join(s.outside, fmt.Sprintf("linked%d", n))))
	}
	p.start(p.env, []string{"--stdio"})
	s.editor = p.editor(conformance.Options{Settings: map[string]any{
		"mode": "auto", "closedFiles": "disk", "requireRead": false, "limits": map[string]any{"maxToolOutputChars": 10_000_000},
	}})
	s.session = s.editor.session("auto")
	s.grep(map[string]any{"pattern": "no file has this"})
	for end := time.Now().Add(p.life); s.state() != "ready"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there is no index: %s", s.state())
		}
	}
	s.look()
	return s
}

// commits makes two of 5,000 files each and checks the first out.
func (s *sought) commits() {
	s.git("init", "-q")
	for _, c := range []struct {
		name  string
		moved int
	}{{"a", 0}, {"b", checkedOut / 2}} {
		for n := range checkedOut {
			dir := "many"
			if n < c.moved {
				dir = "more"
				s.must(os.Remove(s.path("many", n)))
			}
			file := s.path(dir, n)
			s.must(os.MkdirAll(filepath.Dir(file), 0o755))
			s.must(os.WriteFile(file, fmt.Appendf(nil, "zqcommit%s of %d\n", c.name, n), 0o644))
		}
		s.git("add", "--all", "many")
		if c.moved > 0 {
			s.git("add", "--all", "more")
		}
		s.git("-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", c.name)
		s.git("tag", c.name)
	}
	s.git("checkout", "-q", "a")
}

func (s *sought) path(dir string, n int) string {
	return filepath.Join(s.p.root, dir, fmt.Sprintf("d%d", n%50), fmt.Sprintf("f%d.txt", n))
}

func (s *sought) git(args ...string) {
	s.p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "advice.detachedHead=false"}, args...)...)
	cmd.Dir, cmd.Env = s.p.root, s.p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		s.p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (s *sought) must(err error) {
	s.p.t.Helper()
	if err != nil {
		s.p.t.Fatal(err)
	}
}

// state is that of the index of the workspace.
func (s *sought) state() string {
	s.p.t.Helper()
	var status struct {
		Searched []struct{ Root, State, Reason string }
	}
	s.ask("tandem/status", map[string]any{}, &status)
	for _, r := range status.Searched {
		if r.Root == s.p.root {
			return strings.TrimSpace(r.State + " " + r.Reason)
		}
	}
	return "none"
}

type answer struct {
	Matches []struct {
		Path, Text string
		Line       int
	}
	Files []string
	Total *int
}

// grep searches and wants a whole answer.
func (s *sought) grep(arguments map[string]any) (a answer) {
	s.p.t.Helper()
	arguments["head_limit"] = 1_000_000
	var r struct {
		Success, Truncated bool
		Data               string
		Result             *answer
	}
	r.Result = &a
	s.ask("tandem/tools/call", map[string]any{"sessionId": s.session, "name": "grep", "arguments": arguments}, &r)
	if !r.Success || r.Truncated || a.Total == nil {
		s.p.t.Fatalf("%v: %.1000s", arguments, r.Data)
	}
	return a
}

// compare asks for some of what there is now and says how the answer differs.
func (s *sought) compare() string {
	s.p.t.Helper()
	arguments, dir := map[string]any{}, ""
	if s.r.IntN(3) == 0 {
		dir = changing[s.r.IntN(len(changing))] // which is never moved
		arguments["path"] = dir
	}
	word := fmt.Sprintf("zqtoken%d", s.n)
	if len(s.tokens) > 0 && s.r.IntN(2) == 0 {
		word = zqtoken.FindString(s.tokens[s.r.IntN(len(s.tokens))].text)
	}
	pattern, fits := "zqtoken", func(string) bool { return true }
	switch s.r.IntN(6) {
	case 0:
		pattern, fits = word, func(text string) bool { return zqtoken.FindString(text) == word }
		arguments["word"] = true
	case 1:
		pattern, fits = strings.ToUpper(word)+`\b`, func(text string) bool { return zqtoken.FindString(text) == word }
		arguments["case_insensitive"] = true
	case 2:
		pattern, fits = "zqtoken[0-9]*7 here", func(text string) bool { return strings.HasSuffix(zqtoken.FindString(text), "7") }
	}
	arguments["pattern"] = pattern
	files := s.r.IntN(5) == 0
	if files {
		arguments["output_mode"] = "files_with_matches"
	}
	var want, got []string
	for _, k := range s.tokens {
		switch {
		case dir != "" && !strings.HasPrefix(k.path, dir+"/"), !fits(k.text):
		case files:
			want = append(want, k.path)
		default:
			want = append(want, k.String())
		}
	}
	a := s.grep(arguments)
	for _, f := range a.Files {
		got = append(got, s.rel(f))
	}
	for _, m := range a.Matches {
		got = append(got, token{s.rel(m.Path), m.Text, m.Line}.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	want = slices.Compact(want)
	if slices.Equal(got, want) {
		return ""
	}
	only := func(these, those []string) (out []string) {
		for _, x := range these {
			if _, ok := slices.BinarySearch(those, x); !ok {
				out = append(out, x)
			}
		}
		return out
	}
	return fmt.Sprintf("%v has %d results of %d; missing %.1000q, too many %.1000q", arguments, len(got), len(want), only(want, got), only(got, want))
}

func (s *sought) rel(name string) string {
	rel, err := filepath.Rel(s.p.root, name)
	s.must(err)
	return rel
}

var zqtoken = regexp.MustCompile(`zqtoken[0-9]+`)

// look finds out what there is: the files in the folders that change, with the buffers over them, but what the rules exclude.
func (s *sought) look() {
	s.p.t.Helper()
	s.files, s.folders, s.tokens = nil, nil, nil
	rules := map[string][]string{}
	read := func(dir string) {
		for _, name := range []string{".gitignore", ".ignore"} {
			if text, err := os.ReadFile(filepath.Join(s.p.root, dir, name)); err == nil {
				rules[dir] = append(rules[dir], strings.Fields(string(text))...)
			}
		}
	}
	ignored := func(rel string, folder bool) bool {
		for dir := path.Dir(rel); ; dir = path.Dir(dir) {
			for _, rule := range rules[dir] {
				name, only := strings.CutSuffix(rule, "/")
				at, anchored := strings.CutPrefix(name, "/")
				switch fits, _ := path.Match(name, path.Base(rel)); {
				case only && !folder:
				case anchored && path.Join(dir, at) == rel, !anchored && fits:
					return true
				}
			}
			if dir == "." {
				return false
			}
		}
	}
	for dir := range above() {
		read(dir)
	}
	var buffers map[string]string
	if s.Editor != nil {
		buffers = s.Buffers()
	}
	take := func(rel string, text []byte) {
		if base := path.Base(rel); base != ".gitignore" && base != ".ignore" { // a program's text in the place of rules is more than look knows
			s.files = append(s.files, rel)
		}
		if !bytes.Contains(text, []byte("zqtoken")) {
			return
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			if zqtoken.Match(line) {
				s.tokens = append(s.tokens, token{rel, string(line), n + 1})
			}
		}
	}
	for _, top := range changing {
		s.must(filepath.WalkDir(filepath.Join(s.p.root, top), func(name string, e fs.DirEntry, err error) error {
			s.must(err)
			rel := s.rel(name)
			switch {
			case ignored(rel, e.IsDir()) && e.IsDir():
				return fs.SkipDir
			case ignored(rel, e.IsDir()):
			case e.IsDir():
				read(rel)
				if rel != top {
					s.folders = append(s.folders, rel)
				}
			case e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".tandem-tmp-"): // which the server takes away when it likes
				if _, open := buffers[rel]; open {
					return nil
				}
				text, err := os.ReadFile(name)
				s.must(err)
				take(rel, text)
			}
			return nil
		}))
	}
	for rel, text := range buffers {
		hidden := ignored(rel, false)
		for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
			hidden = hidden || ignored(dir, true)
		}
		if !hidden {
			take(rel, []byte(text))
		}
	}
	slices.Sort(s.files) // so that the seed decides what happens
	slices.SortFunc(s.tokens, func(a, b token) int { return strings.Compare(a.String(), b.String()) })
}

// above are the folders over those that change.
func above() map[string]bool {
	out := map[string]bool{}
	for _, top := range changing {
		for top != "." {
			top = path.Dir(top)
			out[top] = true
		}
	}
	return out
}

// checkout has git exchange the commits, and wants no file of the other.
func (s *sought) checkout() string {
	s.p.t.Helper()
	s.b = !s.b
	now, before := "a", "b"
	if s.b {
		now, before = before, now
	}
	s.git("checkout", "-q", now)
	for name, want := range map[string]int{now: checkedOut, before: 0} {
		if a := s.grep(map[string]any{"pattern": "zqcommit" + name, "output_mode": "files_with_matches"}); len(a.Files) != want {
			s.p.t.Fatalf("commit %s is checked out: %d files of %s", now, len(a.Files), name)
		}
	}
	return "checkout of " + now
}

// change has somebody change something, and says who did what.
func (s *sought) change() string {
	s.p.t.Helper()
	s.n++
	text := fmt.Sprintf("// zqtoken%d here\n%s", s.n, strings.Repeat("// more\n", s.r.IntN(9)))
	file, other := s.pick(), s.pick()
	folder := s.folders[s.r.IntN(len(s.folders))]
	at := func(name string) string { return filepath.Join(s.p.root, name) }
	switch s.r.IntN(30) {
	case 0, 1:
		return s.calls("write_file", map[string]any{"path": file, "content": text})
	case 2, 3:
		if len(s.tokens) == 0 {
			break
		}
		k := s.tokens[s.r.IntN(len(s.tokens))]
		return s.calls("edit_file", map[string]any{"path": k.path, "old_text": k.text, "new_text": strings.TrimSpace(text)})
	case 4:
		return s.calls("move_file", map[string]any{"path": file, "destination": s.fresh()})
	case 5, 6:
		commands := []string{
			"echo '// zqtoken%[1]d here' >> %[2]s", "sed -i 's/zqtoken[0-9]*/zqtoken%[1]d/' %[2]s", "mv -f %[2]s %[3]s",
			"mkdir -p %[4]s/made && echo '// zqtoken%[1]d here' > %[4]s/made/by%[1]d.go", "cp -p %[2]s %[3]s", "rm -f %[2]s",
		}
		return s.calls("bash", map[string]any{"command": fmt.Sprintf(commands[s.r.IntN(len(commands))], s.n, file, other, folder)})
	case 7, 8:
		return "program writes " + s.did(os.WriteFile(at(file), []byte(text), 0o644), file)
	case 9: // as long as before, and as old
		return "program-keeps-time " + s.did(s.overwrite(at(file)), file)
	case 10, 11:
		name := filepath.Join(s.outside, "new")
		return "program renames over " + s.did(errors.Join(os.WriteFile(name, []byte(text), 0o644), os.Rename(name, at(file))), file)
	case 12:
		return "program deletes " + s.did(os.Remove(at(file)), file)
	case 13:
		return "program moves " + s.did(os.Rename(at(file), at(other)), file, other)
	case 14:
		return "folder is renamed " + s.did(os.Rename(at(folder), at(path.Join(s.folder(), fmt.Sprintf("renamed%d", s.n)))), folder)
	case 15:
		s.gone++
		return "folder is moved outside " + s.did(os.Rename(at(folder), filepath.Join(s.outside, fmt.Sprint("gone", s.gone))), folder)
	case 16:
		if s.gone == 0 {
			break
		}
		from := filepath.Join(s.outside, fmt.Sprint("gone", 1+s.r.IntN(s.gone)))
		for n := range 3 { // while it is outside
			_ = os.WriteFile(filepath.Join(from, fmt.Sprintf("outside%d.go", n)), []byte(text), 0o644)
		}
		return "folder comes back " + s.did(os.Rename(from, at(path.Join(s.folder(), fmt.Sprintf("back%d", s.n)))), from)
	case 17:
		again := os.RemoveAll(at(folder))
		return "folder is made anew " + s.did(errors.Join(again, os.Mkdir(at(folder), 0o755),
			os.WriteFile(filepath.Join(at(folder), "a.go"), []byte(text), 0o644)), folder)
	case 18:
		deep := path.Join(s.folder(), fmt.Sprintf("deep%d/one/two", s.n))
		return "folders are made " + s.did(errors.Join(os.MkdirAll(at(deep), 0o755), os.WriteFile(at(deep+"/a.go"), []byte(text), 0o644)), deep)
	case 19, 20, 21:
		f, err := os.OpenFile(at(file), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("\n" + text)
			err = errors.Join(err, f.Close())
		}
		return "program appends to " + s.did(err, file)
	case 22: // by a name that is not in the workspace, which was there before the index: see decision 0099 of later ones
		name := filepath.Join(s.outside, fmt.Sprintf("linked%d", s.r.IntN(linked)))
		return "program-by-another-name writes " + s.did(os.WriteFile(name, []byte(text), 0o644), name)
	case 23, 24, 25:
		return s.buffer(file, text)
	case 26, 27:
		// Most are written where they are and nothing else changes, so that the folder's own time tells nothing.
		name := []string{".gitignore", "net/.gitignore", ".gitignore", "net/http/.ignore"}[s.r.IntN(4)]
		rules := []string{"*.skip\n", "hid/\n", "a.go\n", "deep*/\n", "by*\n", "/internal/\n", "/encoding/json/\n", "\n"}
		rule := rules[s.r.IntN(len(rules))] + rules[s.r.IntN(len(rules))]
		if s.r.IntN(6) == 0 {
			return "rules are deleted " + s.did(os.Remove(at(name)), name)
		}
		return "rules are written " + s.did(os.WriteFile(at(name), []byte(rule), 0o644), name, rule)
	case 28:
		return "mode changes " + s.did(errors.Join(os.Chmod(at(file), 0o600), os.WriteFile(at(file), []byte(text), 0o644)), file)
	}
	return "nothing"
}

// reload is what an editor does with documents that have nothing unsaved when their files change: it reads them again, or closes
// those whose file is no more.
func (s *sought) reload() {
	s.p.t.Helper()
	for name := range s.Buffers() {
		if s.Reload(name) != nil {
			s.must(s.CloseFile(name))
		}
	}
}

// did says what was done to names, or that it could not be.
func (s *sought) did(err error, names ...string) string {
	if err != nil {
		return fmt.Sprintf("%q, in vain: %v", names, err)
	}
	return fmt.Sprintf("%q", names)
}

// pick gives a file that is there, one that held a word before more often than not, or a new one.
func (s *sought) pick() string {
	switch n := s.r.IntN(5); {
	case n == 0 || len(s.files) == 0:
		return s.fresh()
	case n > 2 && len(s.tokens) > 0:
		return s.tokens[s.r.IntN(len(s.tokens))].path
	}
	return s.files[s.r.IntN(len(s.files))]
}

func (s *sought) fresh() string {
	return path.Join(s.folder(), fmt.Sprintf("new%d%s", s.r.IntN(1000), []string{".go", ".skip", ".txt"}[s.r.IntN(3)]))
}

func (s *sought) folder() string {
	if all := append(slices.Clone(s.folders), changing...); s.r.IntN(3) > 0 {
		return all[s.r.IntN(len(all))]
	}
	return changing[s.r.IntN(len(changing))]
}

// calls has the agent call a tool, which may refuse.
func (s *sought) calls(name string, arguments map[string]any) string {
	s.p.t.Helper()
	var r struct {
		Success bool
		Data    string
	}
	s.ask("tandem/tools/call", map[string]any{"sessionId": s.session, "name": name, "arguments": arguments}, &r)
	if !r.Success {
		name += "-refused"
	}
	return fmt.Sprintf("%s %v: %.200s", name, arguments, r.Data)
}

// overwrite puts other bytes over the beginning of a file, and gives it the times that it had.
func (s *sought) overwrite(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("// zqtoken%d here\n", s.n)
	_, err = f.WriteAt([]byte(text[:min(len(text), int(info.Size()))]), 0)
	return errors.Join(err, f.Close(), os.Chtimes(name, info.ModTime(), info.ModTime()))
}

// buffer has the person open a file, type into it, save it or close it.
func (s *sought) buffer(file, text string) string {
	open := s.Buffers()
	if len(open) > 4 || len(open) > 0 && s.r.IntN(3) == 0 {
		var names []string
		for name := range open {
			names = append(names, name)
		}
		slices.Sort(names)
		name := names[s.r.IntN(len(names))]
		switch s.r.IntN(4) {
		case 0:
			return "buffer is saved " + s.did(s.Save(name), name)
		case 1:
			return "buffer is typed into " + s.did(s.Change(name, func(string) []conformance.Splice {
				return []conformance.Splice{{New: text}}
			}), name)
		}
		return "buffer is closed " + s.did(s.CloseFile(name), name)
	}
	if _, ok := open[file]; ok {
		return "nothing"
	}
	s.OpenUnsaved(file, text)
	return "buffer is opened " + file
}
