package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// finder is the baseline of searches: ripgrep from version 15 on.
type finder struct{ program, version string }

// ripgrep finds the program: the one that was named, else the one that npm ships.
func (b *bench) ripgrep(ctx context.Context) (*finder, error) {
	if b.rg == "" {
		arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
		dir := filepath.Join(b.dir, "ripgrep")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		const script = `npm pack --silent "$0" >/dev/null && tar xzf ./*.tgz`
		cmd := exec.CommandContext(ctx, "sh", "-c", script, "@vscode/ripgrep-"+runtime.GOOS+"-"+arch+"@1.18.0")
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ripgrep by npm: %w\n%s", err, text)
		}
		b.rg = filepath.Join(dir, "package", "bin", "rg")
	}
	out, err := exec.CommandContext(ctx, b.rg, "--version").Output()
	if err != nil {
		return nil, err
	}
	version, _, _ := strings.Cut(string(out), "\n")
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "ripgrep "), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 15 {
		return nil, fmt.Errorf("%s is %q, not ripgrep from 15 on", b.rg, version)
	}
	return &finder{b.rg, version}, nil
}

// run searches dir and returns the output, the wall time and the processor time.
func (f *finder) run(ctx context.Context, dir string, q query) (out []byte, took, cpu time.Duration, err error) {
	args := append([]string{"--no-config", "--hidden", "--no-messages", "--color=never"}, q.flags...)
	if q.tool == "grep" {
		args = append(args, "--no-heading", "--line-number", "--with-filename", "-e", q.pattern)
		if !slices.Contains(q.flags, "-l") { // there each name would end with it
			args = append(args, "--null")
		}
	}
	cmd := exec.CommandContext(ctx, f.program, append(args, "-g!.git", "./")...) // the last glob that fits is the one that counts
	cmd.Dir = dir
	var printed bytes.Buffer
	cmd.Stdout = &printed
	runtime.GC() // what the client has read before is not the program's
	began := time.Now()
	err = cmd.Run()
	took = time.Since(began)
	var end *exec.ExitError
	if errors.As(err, &end) && end.ExitCode() == 1 { // nothing was found
		err = nil
	}
	if s := cmd.ProcessState; s != nil {
		cpu = s.UserTime() + s.SystemTime()
	}
	return printed.Bytes(), took, cpu, err
}

// places parses ripgrep's output as path:line, path:count or path, in order.
func (q query) places(out []byte) []string {
	var found []string
	for line := range bytes.Lines(out) {
		line = bytes.TrimPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("./"))
		name, rest, has := bytes.Cut(line, []byte{0})
		number, _, _ := bytes.Cut(rest, []byte(":"))
		if has && len(number) > 0 {
			name = append(append(name[:len(name):len(name)], ':'), number...)
		}
		found = append(found, string(name))
	}
	slices.Sort(found)
	return found
}

// tree is a folder that is searched.
type tree struct {
	name, dir    string
	files        int
	bytes        float64
	literal, all float64 // the marks of the means: of rare questions, and of all
}

// searches is the server and the session that searches run in.
type searches struct {
	b       *bench
	t       *tree
	process *process
	session string
}

// searching starts the server on a tree.
func (b *bench) searching(t *tree) (*searches, error) {
	config := filepath.Join(b.dir, "config") // what makes limits wider is the person's own file alone
	const settings = `{"mode": "auto", "limits": {"maxToolOutputChars": 200000000, "toolTimeoutMs": 600000}}`
	err := os.MkdirAll(filepath.Join(config, "tandem"), 0o700)
	if err = errors.Join(err, os.WriteFile(filepath.Join(config, "tandem", "config.json"), []byte(settings), 0o600)); err != nil {
		return nil, err
	}
	p, err := b.spawnIn(t.dir, b.program, "XDG_CONFIG_HOME="+config)
	if err != nil {
		return nil, err
	}
	s := &searches{b: b, t: t, process: p}
	if err = p.initialize(t.dir); err == nil {
		err = p.send(object{"method": "initialized", "params": object{}})
	}
	if err == nil {
		var answer []byte
		if answer, _, err = p.ask("tandem/session/new", object{}); err == nil {
			var r struct{ SessionID string }
			r, err = result[struct{ SessionID string }](answer)
			s.session = r.SessionID
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return s, nil
}

// found is the answer of a tool.
type found struct {
	Success, Truncated bool
	Data               string
	Result             struct {
		Matches []struct {
			Path string
			Line int
		}
		Counts []struct {
			Path  string
			Count int
		}
		Files   []string
		Entries []struct{ Path, Type string } // of list_files
	}
}

// ask asks for all that there is, in as many answers as have room for it, or for limit results.
func (s *searches) ask(q query, limit int) (places []string, took, cpu time.Duration, err error) {
	args := maps.Clone(q.args)
	many := map[string]string{"grep": "head_limit", "glob": "limit", "list_files": "limit"}[q.tool]
	args[many] = 1_000_000_000
	if limit > 0 {
		args[many] = limit
	}
	for {
		runtime.GC() // as for ripgrep
		before, err := s.process.cpu()
		if err != nil {
			return nil, 0, 0, err
		}
		answer, waited, err := s.process.ask("tandem/tools/call", object{"sessionId": s.session, "name": q.tool, "arguments": args})
		if err != nil {
			return nil, 0, 0, err
		}
		after, err := s.process.cpu()
		if err != nil {
			return nil, 0, 0, err
		}
		took, cpu = took+waited, cpu+after-before
		r, err := result[found](answer)
		if err != nil || !r.Success {
			return nil, 0, 0, fmt.Errorf("%s: %w %.300s", q.name, err, r.Data)
		}
		rel := func(name string) string { return strings.TrimPrefix(name, s.t.dir+"/") }
		for _, m := range r.Result.Matches {
			places = append(places, rel(m.Path)+":"+strconv.Itoa(m.Line))
		}
		for _, m := range r.Result.Counts {
			places = append(places, rel(m.Path)+":"+strconv.Itoa(m.Count))
		}
		for _, name := range r.Result.Files {
			places = append(places, rel(name))
		}
		for _, e := range r.Result.Entries {
			if e.Type == "file" { // ripgrep lists no folders and links
				places = append(places, rel(e.Path))
			}
		}
		if !r.Truncated || limit > 0 || q.tool != "grep" {
			break
		}
		args["offset"] = len(places)
	}
	slices.Sort(places)
	return places, took, cpu, nil
}

// state is the state of the index and its size in bytes.
func (s *searches) state() (string, float64, error) {
	answer, _, err := s.process.ask("tandem/status", object{})
	if err != nil {
		return "", 0, err
	}
	r, err := result[struct {
		Searched []struct {
			Root, State, Reason string
			Bytes               float64
		}
	}](answer)
	for _, x := range r.Searched {
		if x.Root == s.t.dir {
			return x.State, x.Bytes, err
		}
	}
	return "", 0, err
}

// ready waits until the index is there.
func (s *searches) ready(ctx context.Context) error {
	for building := false; ; {
		state, _, err := s.state()
		if err != nil || state == "ready" {
			return err
		}
		if building = building || state == "building"; building && state == "walking" {
			return errors.New("the index was given up: 'tandem/status' says why")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// compared are figures of one question, taken in turn.
type compared struct{ ours, oursCPU, rg, rgCPU []float64 }

func (c *compared) add(ours, oursCPU, rg, rgCPU time.Duration) {
	c.ours, c.oursCPU = append(c.ours, float64(ours)), append(c.oursCPU, float64(oursCPU))
	c.rg, c.rgCPU = append(c.rg, float64(rg)), append(c.rgCPU, float64(rgCPU))
}

// tell adds the figures to the run.
func (c *compared) tell(b *bench, name string) {
	if len(c.ours) == 0 {
		return
	}
	for _, f := range []struct {
		by   string
		took []float64
		cpu  []float64
	}{{"tandem", c.ours, c.oursCPU}, {"rg", c.rg, c.rgCPU}} {
		b.add(name+"/by="+f.by, len(f.took), median(f.took), "ns/op")
		b.add(name+"/by="+f.by+"/cpu", len(f.cpu), median(f.cpu), "ns/op")
	}
}

// sourceTree copies Go's source, which is a tree of the usual kind.
func (b *bench) sourceTree(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	return b.searchTree(ctx, &tree{name: "go", literal: 50, all: 12}, filepath.Join(strings.TrimSpace(string(out)), "src"))
}

// largeTree copies what the folders of -large have, where it was given.
func (b *bench) largeTree(ctx context.Context) error {
	if b.large == "" {
		return nil
	}
	return b.searchTree(ctx, &tree{name: "large", literal: 50, all: 15}, filepath.SplitList(b.large)...)
}

// smallTree is of 200 files, where ripgrep takes the time that a process takes.
func (b *bench) smallTree(ctx context.Context) error {
	from := filepath.Join(b.dir, "small")
	for i := range 200 {
		dir := filepath.Join(from, fmt.Sprintf("part%d", i%10))
		text := "package part\n" + lines(100, i)
		if i == 70 {
			text += "// ErrBodyNotAllowed\n"
		}
		err := os.MkdirAll(dir, 0o700)
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", i)), []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return b.searchTree(ctx, &tree{name: "small"}, from)
}

// searchTree measures the searches of a copy of folders.
func (b *bench) searchTree(ctx context.Context, t *tree, from ...string) error {
	rg, err := b.ripgrep(ctx)
	if err != nil {
		return err
	}
	t.dir = filepath.Join(b.dir, "tree-"+t.name)
	defer os.RemoveAll(t.dir)
	for i, dir := range from {
		if err := b.copyTree(filepath.Join(t.dir, strconv.Itoa(i)), dir); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(t.dir, ".git"), 0o700); err != nil { // without it .gitignore says nothing
		return err
	}
	time.Sleep(3 * time.Second) // what was written a moment ago is not indexed yet
	all := query{tool: "glob", flags: []string{"--files"}}
	out, _, _, err := rg.run(ctx, t.dir, all)
	if err != nil {
		return err
	}
	for _, name := range all.places(out) {
		if info, err := os.Lstat(filepath.Join(t.dir, name)); err == nil {
			t.files, t.bytes = t.files+1, t.bytes+float64(info.Size())
		}
	}
	fmt.Fprintf(os.Stderr, " %s, %d files, %.0f MiB …", rg.version, t.files, t.bytes/mib)
	if t.name == "large" && t.files < 60_000 {
		return fmt.Errorf("-large has %d files, not 60,000", t.files)
	}
	b.trees = append(b.trees, *t)
	b.finder = rg.version
	if err := b.indexed(ctx, rg, t); err != nil || t.name == "small" {
		return err
	}
	return b.whileBuilding(ctx, rg, t)
}

// copyTree copies what is no link, no repository, not larger than a source file is and not where
// keys are kept, which searches leave out.
func (b *bench) copyTree(to, from string) error {
	const largest = 64 << 20
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir() && (e.Name() == ".git" || e.Name() == ".aws"):
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		if info, err := e.Info(); err != nil || info.Size() > largest {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o600)
	})
}

// indexed measures all queries with the index, and the cost of the index.
func (b *bench) indexed(ctx context.Context, rg *finder, t *tree) error {
	s, err := b.searching(t)
	if err != nil {
		return err
	}
	defer s.process.kill() //nolint:errcheck // what was measured is measured
	name := "Search/tree=" + t.name
	before, _, err := s.process.resident()
	if err != nil {
		return err
	}
	began, err := s.process.cpu()
	if err != nil {
		return err
	}
	nothing := queries()[0]
	if _, _, _, err := s.ask(nothing, 0); err != nil {
		return err
	}
	if t.name != "small" {
		if err := s.ready(ctx); err != nil {
			return err
		}
		built, err1 := s.process.cpu()
		after, _, err2 := s.process.resident()
		_, own, err3 := s.state()
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		b.add(name+"/index/build-cpu", 1, float64(built-began), "ns/op")
		b.add(name+"/index/resident", 1, max(after-before, 0), "B")
		b.add(name+"/index/own", 1, own, "B")
		const idle = 3 * time.Second
		time.Sleep(idle)
		now, err := s.process.cpu()
		if err != nil {
			return err
		}
		b.add(name+"/index/idle-cpu-permyriad", 1, 1e4*float64(now-built)/float64(idle+time.Second/2), "1/10000")
	}
	rounds := b.rounds(5)
	for _, q := range queries() {
		var whole, first compared
		for range rounds {
			out, rgTook, rgCPU, err := rg.run(ctx, t.dir, q)
			if err != nil {
				return err
			}
			places, took, cpu, err := s.ask(q, 0)
			if err != nil {
				return err
			}
			whole.add(took, cpu, rgTook, rgCPU)
			want := q.places(out)
			b.found[name+"/lines/"+q.name] = []float64{float64(len(want))}
			if !slices.Equal(places, want) {
				b.fail("%s on %s: %d places, ripgrep has %d: %s", q.name, t.name, len(places), len(want), difference(places, want))
			}
			if q.literal && q.tool == "grep" {
				if _, took, cpu, err = s.ask(q, 100); err != nil {
					return err
				}
				first.add(took, cpu, rgTook, rgCPU)
			}
		}
		whole.tell(b, name+"/query="+q.name)
		first.tell(b, name+"/first100="+q.name)
	}
	var echo []float64
	for range 10 * rounds {
		_, took, err := s.process.ask("tandem/status/none", object{}) // a request that it does not know
		if err != nil {
			return err
		}
		echo = append(echo, float64(took))
	}
	b.add(name+"/echo", len(echo), median(echo), "ns/op")
	return b.afterWrites(s, b.rounds(400))
}

// difference is one place of each that the other has not.
func difference(ours, rg []string) string {
	only := func(these, those []string) string {
		for _, x := range these {
			if _, ok := slices.BinarySearch(those, x); !ok {
				return x
			}
		}
		return "nothing"
	}
	return fmt.Sprintf("only ours %s, only ripgrep's %s", only(ours, rg), only(rg, ours))
}

// fail notes that a gate is missed, which is the end of the program.
func (b *bench) fail(format string, args ...any) {
	if message := fmt.Sprintf(format, args...); !slices.Contains(b.failed, message) {
		b.failed = append(b.failed, message)
		fmt.Fprintf(os.Stderr, " %s,", message) // also where the run is stopped
	}
}

// afterWrites changes a file and searches at once, and wants what was written.
func (b *bench) afterWrites(s *searches, rounds int) error {
	q := query{name: "fresh", tool: "grep"}
	stale := 0
	for n := range rounds {
		word := fmt.Sprintf("zqfresh%dzq", n)
		name := fmt.Sprintf("0/fresh%d.txt", n%7)
		path := filepath.Join(s.t.dir, name)
		err := os.WriteFile(path, []byte(word+"\n"), 0o600)
		if err == nil && n%3 == 1 {
			next := filepath.Join(b.dir, "next")
			err = errors.Join(os.WriteFile(next, []byte(word+"\n"), 0o600), os.Rename(next, path))
		}
		if err == nil && n%3 == 2 {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
		q.args = object{"pattern": word}
		places, _, _, err := s.ask(q, 0)
		if err != nil {
			return err
		}
		if want := n%3 != 2; want != slices.Equal(places, []string{name + ":1"}) || !want && len(places) > 0 {
			stale++
		}
	}
	b.add("Search/tree="+s.t.name+"/stale", rounds, float64(stale), "stale")
	if stale > 0 {
		b.fail("%d of %d searches on %s are stale", stale, rounds, s.t.name)
	}
	return nil
}

// whileBuilding measures the questions while the index is not there yet, with a new server each
// time that it is.
func (b *bench) whileBuilding(ctx context.Context, rg *finder, t *tree) error {
	var s *searches
	end := func() error {
		if s == nil {
			return nil
		}
		err := s.process.kill()
		s = nil
		return err
	}
	for _, q := range queries() {
		var c compared
		for tries := 0; len(c.ours) < b.rounds(5) && tries < 100; tries++ {
			if s == nil {
				var err error
				if s, err = b.searching(t); err != nil {
					return err
				}
				if _, _, _, err = s.ask(queries()[0], 0); err != nil {
					return err
				}
			}
			_, rgTook, rgCPU, err := rg.run(ctx, t.dir, q)
			if err != nil {
				return err
			}
			_, took, cpu, err := s.ask(q, 0)
			if err != nil {
				return err
			}
			state, _, err := s.state()
			if err != nil {
				return err
			}
			if state != "ready" {
				c.add(took, cpu, rgTook, rgCPU)
			} else if err := end(); err != nil {
				return err
			}
		}
		c.tell(b, "Search/tree="+t.name+"/building="+q.name)
	}
	return end()
}
