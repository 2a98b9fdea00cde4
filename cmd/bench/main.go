// Command bench measures the server and its baselines in one run, and reports the ratios. It prints
// what it finds as Go's benchmarks do, for benchstat, and the figures with their marks on standard
// error; with -o it writes them down as a page of the documentation.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	short := flag.Bool("short", false, "measure each figure a few times only")
	only := flag.String("only", "", "measure only what matches `regexp`, of "+fmt.Sprint(keys()))
	count := flag.Int("count", 1, "measure everything so many `times`")
	program := flag.String("program", "", "measure the server in `file`, not one that is built for it")
	large := flag.String("large", "", "measure searches of a copy of these `folders` too, of 60,000 files at least")
	rg := flag.String("rg", "", "compare searches with the ripgrep in `file`, not the one that npm ships")
	leads := flag.String("lead", "", "fail where a figure is a fifth worse than the ratio in `file`")
	page := flag.String("o", "", "write the page of figures to `file`; of all figures only")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	switch {
	case err != nil:
		return err
	case flag.NArg() > 0:
		return fmt.Errorf("there are no arguments, only flags: %q", flag.Args())
	case *count < 1:
		return fmt.Errorf("-count is %d", *count)
	case *page != "" && (*short || *only != "" || *program != ""):
		return fmt.Errorf("the page is for all figures of this version: no -only, -short and -program")
	}
	b := &bench{
		short: *short, out: os.Stdout, log: slog.New(slog.DiscardHandler), found: map[string][]float64{}, large: *large, rg: *rg,
	}
	if *program != "" {
		if b.program, err = filepath.Abs(*program); err != nil {
			return err
		}
	}
	if b.dir, err = os.MkdirTemp("", "tandem-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.dir, err = filepath.EvalSymlinks(b.dir); err != nil {
		return err
	}
	m := machine()
	fmt.Fprintf(b.out, "goos: %s\ngoarch: %s\ncpu: %s\n", m.os, m.arch, m.cpu)
	if err := b.build(ctx); err != nil {
		return err
	}
	for range *count {
		for _, what := range measurements() {
			if !wanted.MatchString(what.key) {
				continue
			}
			began := time.Now()
			fmt.Fprintf(os.Stderr, "%s …", what.key)
			if err := what.measure(b, ctx); err != nil {
				return fmt.Errorf("%s: %w", what.key, err)
			}
			fmt.Fprintf(os.Stderr, " %.0f s\n", time.Since(began).Seconds())
		}
	}
	table, _ := b.table()
	fmt.Fprint(os.Stderr, "\n", table, "\n", b.searched())
	if len(b.failed) > 0 {
		return fmt.Errorf("searches do not find what they have to:\n%s", strings.Join(b.failed, "\n"))
	}
	if *leads != "" {
		if err := b.checkLead(*leads); err != nil {
			return err
		}
	}
	if *page == "" {
		return nil
	}
	return os.WriteFile(*page, []byte(b.page(m, time.Now())), 0o644)
}

// measurement is a group of figures that are measured together.
type measurement struct {
	key     string
	measure func(*bench, context.Context) error
}

func measurements() []measurement {
	all := []measurement{
		{"start", (*bench).start},
		{"memory", (*bench).memory},
		{"turn", (*bench).turns},
		{"long", (*bench).long},
		{"sessions", (*bench).sessions},
		{"shell", (*bench).shell},
		{"search", (*bench).sourceTree},
		{"small", (*bench).smallTree},
		{"files", (*bench).largeFiles},
		{"keys", (*bench).searchedKeys},
		{"large", (*bench).largeTree},
		{"disk", (*bench).edits},
		{"open", (*bench).openEdits},
	}
	for _, p := range inside() {
		all = append(all, measurement{p.key, p.measure})
	}
	return all
}

func keys() []string {
	var out []string
	for _, m := range measurements() {
		out = append(out, m.key)
	}
	return out
}

// bench is one run.
type bench struct {
	short   bool
	out     io.Writer
	log     *slog.Logger
	dir     string // everything that is made lies below it
	work    string // the workspace
	program string // the server
	empty   string // the least that a Go program can do
	pkg     string // package of the last figures
	found   map[string][]float64
	large   string   // folders for largeTree
	rg      string   // the program
	finder  string   // its version
	trees   []tree   // that were searched
	failed  []string // gates that were missed
}

// build makes the programs, both in the same way.
func (b *bench) build(ctx context.Context) error {
	b.work = filepath.Join(b.dir, "work")
	for _, dir := range []string{b.work, filepath.Join(b.dir, "home")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	b.empty = filepath.Join(b.dir, "empty")
	if b.program == "" {
		b.program = filepath.Join(b.dir, "tandem")
		if err := goCommand(ctx, "build", "-trimpath", "-o", b.program, "tandem/cmd/tandem"); err != nil {
			return err
		}
	}
	return goCommand(ctx, "build", "-trimpath", "-o", b.empty, "tandem/cmd/bench/testdata/empty")
}

func goCommand(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, text)
	}
	return nil
}

// rounds is how often something is measured that is measured n times otherwise.
func (b *bench) rounds(n int) int {
	if b.short {
		return max(3, n/8)
	}
	return n
}

// add takes a figure in, measured n times, and prints it as a benchmark of this program's.
func (b *bench) add(name string, n int, value float64, unit string) {
	b.of("tandem/cmd/bench")
	fmt.Fprintf(b.out, "Benchmark%s\t%d\t%.0f %s\n", name, n, value, unit)
	b.found[name] = append(b.found[name], value)
}

// of sets the package of the following figures.
func (b *bench) of(pkg string) {
	if b.pkg != pkg {
		b.pkg = pkg
		fmt.Fprintln(b.out, "pkg:", pkg)
	}
}

// median is the middle one of values, of which there is one at least.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// timed runs each of fns once a round and returns the median of each in nanoseconds. The first
// round is a warm-up.
func timed(rounds int, fns ...func() error) ([]float64, error) {
	took := make([][]float64, len(fns))
	for round := range rounds + 1 {
		for i, fn := range fns {
			began := time.Now()
			if err := fn(); err != nil {
				return nil, err
			}
			if round > 0 {
				took[i] = append(took[i], float64(time.Since(began)))
			}
		}
	}
	out := make([]float64, len(fns))
	for i := range took {
		out[i] = median(took[i])
	}
	return out, nil
}
