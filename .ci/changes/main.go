// Changes changes the code of a package one place at a time and tells what its tests do not notice.
//
//	go run ./.ci/changes PACKAGE...              which changes no test of the package notices, and the share that is noticed
//	go run ./.ci/changes -rows TEST PACKAGE      which rows (subtests) of a test no change makes fail
//
// All changes are compiled into one program, each off; to try one, eight digits in a copy of the program are overwritten. So a change
// costs a run of the tests that reach its place, and no build. Where the tests start copies of themselves, those have the change too.
// Changed are comparisons and conditions (negated), < and <= (the other one), + - * / and ++ (the opposite), and the results true and
// false; with -operands also operands of && and || (taken away), with -rows those and the lines of embedded tables *.txt.
//
// A changed program may delete or kill what it should not: it runs in namespaces of its own, where nothing can be written but a
// temporary folder and Go's build cache. That needs the rights of root, and Linux.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	rows := flag.String("rows", "", "the test whose rows are looked at")
	in := flag.String("in", "", "folders whose code is changed, separated by commas (the package's own)")
	most := flag.Float64("at-most", 0.25, "with -rows: a change that makes a greater share of the rows fail proves nothing about one")
	least := flag.Float64("least", 85, "share of the changes that must be noticed, in percent")
	known := flag.String("known", "docs/mutants.md", "page of changes that are no hole, with a reason each")
	operands := flag.Bool("operands", false, "take operands of && and || away too")
	sample := flag.Int("sample", 0, "try so many changes, drawn evenly with a fixed seed (all)")
	skip := flag.String("skip", "", "tests that are left out, a regular expression")
	workers := flag.Int("workers", runtime.NumCPU(), "changes tried at once")
	flag.Parse()
	if flag.NArg() == 0 || *rows != "" && flag.NArg() != 1 {
		log.Fatal("changes: a package is needed")
	}
	explained, err := os.ReadFile(*known)
	if err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
	failed := false
	for _, pkg := range flag.Args() {
		dirs := []string{pkg}
		if *in != "" {
			dirs = strings.Split(*in, ",")
		}
		p, err := build(pkg, dirs)
		if err != nil {
			log.Fatalf("%s: %v", pkg, err)
		}
		p.workers, p.skip, p.operands = *workers, *skip, *operands || *rows != ""
		if *rows != "" {
			failed = !p.rows(*rows, *most) || failed
		} else {
			failed = !p.tests(*sample, *least, string(explained)) || failed
		}
		os.RemoveAll(p.tmp)
	}
	if failed {
		os.Exit(1)
	}
}

// program is a package's tests with all changes built in.
type program struct {
	pkg, dir, tmp string
	module        string
	hits          string
	text          []byte // of the program
	active        int    // where the number of the active change stands in it
	changes       []change
	workers       int
	skip          string
	// operands has those of && and || taken away. Many of them make no difference: what they guard is refused later, too.
	operands bool
}

const markerText = "tandem change that is active: 00000000"

func build(pkg string, dirs []string) (*program, error) {
	module, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	// Not below /tmp, which each program has for itself.
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(cache, "tandem-changes"), 0o700); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(filepath.Join(cache, "tandem-changes"), "")
	if err != nil {
		return nil, err
	}
	p := &program{pkg: pkg, module: module, dir: filepath.Join(module, pkg), tmp: tmp, hits: filepath.Join(tmp, "hits")}
	texts, all, err := instrumented(module, dirs, markerText, p.hits)
	if err != nil {
		return nil, err
	}
	p.changes = all
	replace := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(texts)) {
		file := filepath.Join(tmp, fmt.Sprint(i, ".go"))
		if err := os.WriteFile(file, texts[path], 0o600); err != nil {
			return nil, err
		}
		replace[path] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlaid := filepath.Join(tmp, "overlay")
	if err := os.WriteFile(overlaid, overlay, 0o600); err != nil {
		return nil, err
	}
	binary := filepath.Join(tmp, "tests")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w -s", "-overlay", overlaid, "-o", binary, "./"+filepath.Clean(pkg)).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	if p.text, err = os.ReadFile(binary); err != nil {
		return nil, err
	}
	at := bytes.Index(p.text, []byte(markerText))
	if at < 0 || bytes.Count(p.text, []byte(markerText)) != 1 {
		return nil, fmt.Errorf("the program holds its mark %d times", bytes.Count(p.text, []byte(markerText)))
	}
	p.active = at + len(markerText) - 8
	return p, nil
}

// with writes the program with a change that is on, 0 for none.
func (p *program) with(n int) (string, error) {
	text := slices.Clone(p.text)
	if n > 0 && p.changes[n-1].kind == "row" {
		c := p.changes[n-1]
		at := bytes.Index(text, c.row)
		if at < 0 {
			return "", fmt.Errorf("%s is not embedded", c.file)
		}
		text[at+c.at] = '#'
	} else {
		copy(text[p.active:], fmt.Sprintf("%08d", n))
	}
	f := filepath.Join(p.tmp, fmt.Sprint("changed", n))
	return f, os.WriteFile(f, text, 0o700)
}

// run runs tests: whether they passed, and what they wrote.
func (p *program) run(n int, limit time.Duration, flags ...string) (bool, []byte, error) {
	binary, err := p.with(n)
	if err != nil {
		return false, nil, err
	}
	defer os.Remove(binary)
	return p.start(binary, limit, flags...)
}

func (p *program) start(binary string, limit time.Duration, flags ...string) (bool, []byte, error) {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	runtime.LockOSThread() // the kernel kills a child with the thread that started it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", writable, "sh", p.tmp, p.dir, p.module, binary}, flags...)...)
	cmd.Dir = p.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	return err == nil, out.Bytes(), nil
}

// writable mounts all read-only but a temporary folder, $1, and Go's build cache; then it starts the program in the folder $2 of the module $3, with
// 12 GB of addresses: a change may have it collect without end.
//
// The root is remounted and not mounted over: below another mount the kernel takes a process as one in a chroot, which gets no user
// namespace. Other users may enter the temporary folder.
const writable = `set -e
mount --make-rprivate /
cache=$(go env GOCACHE)
mkdir -p "$1/tmp"
keep=$(mktemp -d "$1/tmp/XXXXXX")
chmod 1777 "$keep"
mount -o remount,bind,ro /
mount --bind "$cache" "$cache" && mount -o remount,bind,rw "$cache"
mount --bind "$1" "$1" && mount -o remount,bind,rw "$1"
case $2 in /tmp/*) # the code itself
	mkdir -p "$keep${3#/tmp}"
	mount --bind "$3" "$keep${3#/tmp}" ;;
esac
mount --rbind "$keep" /tmp
cd "$2"
shift 3
ulimit -v 12000000
exec "$@"`

type reached struct {
	test string
	took time.Duration
	hit  []byte
}

// reach runs each test by itself and notes which changes' places it reaches.
func (p *program) reach(tests []string) ([]reached, error) {
	binary, err := p.with(0)
	if err != nil {
		return nil, err
	}
	defer os.Remove(binary)
	var all []reached
	for _, test := range tests {
		if err := os.WriteFile(p.hits, make([]byte, len(p.changes)+1), 0o600); err != nil {
			return nil, err
		}
		begin := time.Now()
		passed, out, _ := p.start(binary, 5*time.Minute, "-test.run", "^"+test+"$", "-test.timeout", "5m")
		took := time.Since(begin)
		if !passed {
			log.Printf("%s %s fails as it is and is left out:\n%s", p.pkg, test, tail(out))
			continue
		}
		hit, err := os.ReadFile(p.hits)
		if err != nil {
			return nil, err
		}
		all = append(all, reached{test, took, hit})
	}
	os.Remove(p.hits)
	slices.SortFunc(all, func(a, b reached) int { return int(a.took - b.took) })
	return all, nil
}

func tail(out []byte) []byte {
	if len(out) > 2000 {
		return out[len(out)-2000:]
	}
	return out
}

// tests tells what no test notices.
func (p *program) tests(sample int, least float64, explained string) bool {
	listed, out, _ := p.run(0, time.Minute, "-test.list", ".")
	if !listed {
		log.Fatalf("%s: its tests cannot be listed: %s", p.pkg, out)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Test") || strings.HasPrefix(line, "Fuzz") || strings.HasPrefix(line, "Example") {
			if p.skip == "" || !regexp.MustCompile(p.skip).MatchString(line) {
				names = append(names, line)
			}
		}
	}
	tests, err := p.reach(names)
	if err != nil {
		log.Fatal(err)
	}
	var numbers []int
	for i, c := range p.changes {
		if c.kind != "row" && (c.kind != "drop" || p.operands) {
			numbers = append(numbers, i+1)
		}
	}
	of := len(numbers)
	if sample > 0 && sample < len(numbers) {
		rand.New(rand.NewPCG(7919, 0)).Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
		numbers = numbers[:sample]
		slices.Sort(numbers)
	}
	var noticed, unreached, known atomic.Int64
	var mu sync.Mutex
	var left []string
	p.each(numbers, func(n int) {
		var reach []reached
		for _, t := range tests {
			if t.hit[n] != 0 {
				reach = append(reach, t)
			}
		}
		switch {
		case len(reach) > 0 && p.noticed(n, reach):
			noticed.Add(1)
			return
		case strings.Contains(explained, "`"+p.changes[n-1].name()+"`"):
			known.Add(1)
			return
		case len(reach) == 0:
			unreached.Add(1)
		}
		mu.Lock()
		defer mu.Unlock()
		c := p.changes[n-1]
		reason := ""
		if len(reach) == 0 {
			reason = "  (in no test does it make a difference)"
		}
		left = append(left, fmt.Sprintf("%s:%d: %s%s", c.file, c.line, c.what, reason))
	})
	slices.Sort(left)
	for _, l := range left {
		fmt.Println(l)
	}
	share := 100 * float64(noticed.Load()+known.Load()) / float64(len(numbers))
	fmt.Printf("== %s: %.1f %%: %d of %d changes are noticed, %d more are explained, %d are not, of which %d make no difference in any test (%d changes in all)\n",
		p.pkg, share, noticed.Load(), len(numbers), known.Load(), len(left), unreached.Load(), of)
	return share >= least
}

// noticed runs the tests that reach a change, quick ones together and first.
func (p *program) noticed(n int, tests []reached) bool {
	binary, err := p.with(n)
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(binary)
	for len(tests) > 0 {
		some := tests[:1]
		for len(some) < len(tests) && tests[len(some)].took < 300*time.Millisecond {
			some = tests[:len(some)+1]
		}
		tests = tests[len(some):]
		var names []string
		limit := 10 * time.Second
		for _, t := range some {
			names = append(names, t.test)
			limit += 5 * t.took
		}
		if passed, _, _ := p.start(binary, limit, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast"); !passed {
			return true
		}
	}
	return false
}

// each does something for all numbers, some at once.
func (p *program) each(numbers []int, do func(int)) {
	todo := make(chan int)
	var wg sync.WaitGroup
	for range p.workers {
		wg.Go(func() {
			for n := range todo {
				do(n)
			}
		})
	}
	for _, n := range numbers {
		todo <- n
	}
	close(todo)
	wg.Wait()
}

var (
	ran  = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL): ([^ /]+/\S+)`)
	over = regexp.MustCompile(`(?m)^(PASS|FAIL)$`)
)

// rows tells which rows of a test no change makes fail.
func (p *program) rows(test string, most float64) bool {
	reach, err := p.reach([]string{test})
	if err != nil || len(reach) != 1 {
		log.Fatalf("rows: the test fails as it is: %v", err)
	}
	outcome := func(n int) (rows, failed []string, ended bool) {
		_, out, _ := p.run(n, 10*time.Second+5*reach[0].took, "-test.v", "-test.run", "^"+test+"$")
		if !over.Match(out) || bytes.Contains(out, []byte("panic: ")) {
			return nil, nil, false
		}
		for _, m := range ran.FindAllSubmatch(out, -1) {
			rows = append(rows, string(m[2]))
			if string(m[1]) == "FAIL" {
				failed = append(failed, string(m[2]))
			}
		}
		return rows, failed, true
	}
	all, _, _ := outcome(0)
	inner := map[string]bool{}
	for _, row := range all {
		for at := strings.LastIndexByte(row, '/'); at > 0; at = strings.LastIndexByte(row[:at], '/') {
			inner[row[:at]] = true
		}
	}
	all = slices.DeleteFunc(all, func(row string) bool { return inner[row] })
	var numbers []int
	for i, c := range p.changes {
		if c.kind == "row" || reach[0].hit[i+1] != 0 {
			numbers = append(numbers, i+1)
		}
	}
	var mu sync.Mutex
	noticed := map[string]string{}
	counts := map[string]int{}
	p.each(numbers, func(n int) {
		mu.Lock()
		done := len(noticed) == len(all)
		mu.Unlock()
		if done {
			return
		}
		_, failed, ended := outcome(n)
		failed = slices.DeleteFunc(failed, func(row string) bool { return inner[row] })
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !ended:
			counts["stop the test"]++
		case len(failed) == 0:
			counts["make no row fail"]++
		case float64(len(failed)) > most*float64(len(all)):
			counts["make too many rows fail"]++
		default:
			counts["make some rows fail"]++
			for _, row := range failed {
				noticed[row] = p.changes[n-1].name()
			}
		}
	})
	for what, n := range counts {
		log.Printf("%5d changes %s", n, what)
	}
	for _, row := range all {
		if noticed[row] == "" {
			fmt.Println(row)
		}
	}
	fmt.Printf("== %s %s: %d of %d rows are made to fail by some change\n", p.pkg, test, len(noticed), len(all))
	return len(noticed) == len(all)
}
