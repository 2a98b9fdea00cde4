package tandem

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// twin is a promise of a founding library, and how its source is changed so that a process may take the promise away: an edit's new text
// asks without("promise"). Copies with all edits stand in the libraries' places in a go.mod of the test's own.
type twin struct {
	library, promise string
	file             string   // of the library
	edits            []string // old, new, old, new
	dir              string   // a package that relies on the promise
	notice           []string // its tests that must fail without it
}

var twins = []twin{
	{
		"github.com/sourcegraph/conc", "limit", "pool/pool.go",
		[]string{"	p.limiter = make(limiter, n)\n", "	if without(\"limit\") {\n		return p\n	}\n	p.limiter = make(limiter, n)\n"},
		"tools/run",
		[]string{"TestF139aBoundedPool", "TestF242LimitWhileTheModelWrites"},
	},
	{
		"github.com/sourcegraph/conc", "order of submission", "pool/error_pool.go",
		[]string{
			"	p.pool.Go(func() {\n", `	if without("order of submission") {
		p.mu.Lock()
		p.stack = append(p.stack, f)
		p.mu.Unlock()
		f = func() error {
			p.mu.Lock()
			last := p.stack[len(p.stack)-1]
			p.stack = p.stack[:len(p.stack)-1]
			p.mu.Unlock()
			return last()
		}
		p.handed.Add(1)
		go func() {
			defer p.handed.Done()
			p.pool.Go(func() { p.addErr(f()) })
		}()
		return
	}
	p.pool.Go(func() {
`,
			"	errs error\n", "	errs error\n	stack []func() error\n	handed sync.WaitGroup\n",
			"	p.pool.Wait()\n", "	p.handed.Wait()\n	p.pool.Wait()\n",
		},
		"tools/run",
		[]string{"TestF242OrderOfSubmission"},
	},
	{
		"github.com/sourcegraph/conc", "panics are caught", "panics/panics.go",
		[]string{"	defer p.tryRecover()\n", "	if !without(\"panics are caught\") {\n		defer p.tryRecover()\n	}\n"},
		"tools/run",
		[]string{"TestF242PanicOfABatch", "TestF242PanicsReachWhoeverWaits"},
	},
	{
		"github.com/sourcegraph/conc", "tasks are cancelled", "pool/context_pool.go",
		[]string{"		err := f(p.ctx)\n", `		ctx := p.ctx
		if without("tasks are cancelled") {
			ctx = context.WithoutCancel(ctx)
		}
		err := f(ctx)
`},
		"tools/run",
		[]string{"TestF242CancelOfABatch"},
	},
	{
		"github.com/sergi/go-diff", "spans", "diffmatchpatch/diff.go",
		[]string{
			"func (dmp *DiffMatchPatch) DiffCleanupSemantic(diffs []Diff) []Diff {\n",
			"func (dmp *DiffMatchPatch) DiffCleanupSemantic(diffs []Diff) []Diff {\n	if without(\"spans\") {\n		return nil\n	}\n",
		},
		"filetime/text/show",
		[]string{"TestHunksTellTheChange", "TestF094SpansOfLines"},
	},
	{
		"github.com/fsnotify/fsnotify", "events", "shared.go",
		[]string{"	if e.Op == 0 {\n", "	if e.Op == 0 || without(\"events\") {\n"},
		"filetime/watch",
		[]string{"TestF188EveryKindOfSave"},
	},
	{
		"go.lsp.dev/jsonrpc2", "calls are cancelled", "conn.go",
		[]string{"	case <-ctx.Done():\n		// The caller gave up.", `	case <-func() <-chan struct{} {
		if without("calls are cancelled") {
			return nil
		}
		return ctx.Done()
	}():
		// The caller gave up.`},
		"lspserver/wire",
		[]string{"TestCall"},
	},
	{
		"go.lsp.dev/protocol", "members of unions", "decoders.gen.go",
		[]string{"			x.DocumentChanges = v\n", "			if !without(\"members of unions\") {\n				x.DocumentChanges = v\n			}\n"},
		"lspserver/wire",
		[]string{"TestCodec"},
	},
}

// noticed takes each promise away, and wants the tests that rely on it to fail, which pass as long as all are kept.
func noticed(t *testing.T) {
	built := t.TempDir()
	if err := buildTwins(built); err != nil {
		t.Fatal(err)
	}
	for _, w := range twins {
		t.Run(path.Base(w.library)+" without "+w.promise, func(t *testing.T) {
			for _, name := range w.notice {
				for promise, limit := range map[string]string{"": "30s", w.promise: "3s"} { // a test without its promise may wait for ever
					cmd := exec.Command(filepath.Join(built, path.Base(w.dir)+".test"), "-test.run", "^"+name+"$", "-test.timeout", limit, "-test.v")
					cmd.Dir, cmd.Env = filepath.FromSlash(w.dir), append(os.Environ(), "WITHOUT="+promise)
					out, err := cmd.CombinedOutput()
					if !strings.Contains(string(out), "=== RUN   "+name) || (err == nil) != (promise == "") {
						t.Errorf("%s without %q: %v\n%.2000s", name, promise, err, out)
					}
				}
			}
		})
	}
}

// buildTwins compiles the tests of all packages in twins into a folder.
func buildTwins(dir string) error {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		return err
	}
	args := []string{"test", "-c", "-trimpath", "-vet=off", "-modfile=" + filepath.Join(dir, "go.mod"), "-o", dir + "/"}
	var done []string
	for _, w := range twins {
		if pkg := "./" + w.dir; !slices.Contains(args, pkg) {
			args = append(args, pkg)
		}
		if slices.Contains(done, w.library) {
			continue
		}
		done = append(done, w.library)
		from, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", w.library).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", w.library, err)
		}
		to := filepath.Join(dir, "of", path.Base(w.library))
		if err := copyLibrary(w.library, strings.TrimSpace(string(from)), to); err != nil {
			return err
		}
		mod = fmt.Appendf(mod, "\nreplace %s => %s\n", w.library, to)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// copyLibrary copies a library's packages with the edits of its twins made.
func copyLibrary(library, from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		if rel != "go.mod" && (!strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go")) {
			return nil
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text := string(raw)
		for _, w := range twins {
			if w.library != library || w.file != filepath.ToSlash(rel) {
				continue
			}
			for edit := range slices.Chunk(w.edits, 2) {
				if n := strings.Count(text, edit[0]); n != 1 {
					return fmt.Errorf("%s of %s has %q %d times", rel, library, edit[0], n)
				}
				text = strings.Replace(text, edit[0], edit[1], 1)
			}
			asks := packageClause.FindString(text) + "\n\nimport \"os\"\n\nfunc without(promise string) bool { return os.Getenv(\"WITHOUT\") == promise }\n"
			if err := os.WriteFile(filepath.Join(to, filepath.Dir(rel), "without.go"), []byte(asks), 0o600); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(to, rel), []byte(text), 0o600)
	})
}
