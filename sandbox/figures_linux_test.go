package sandbox

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// times is how much TestFigures… measures. The figures that are written down are those of 100, see "make security".
var times = flag.Int("times", 1, "how often the figures of the sandbox are measured")

// scenarios are the ways in which a command tries to outlive its end. Each of its processes holds the lifeline. ends says
// that the command ends by itself; the others are ended by their time.
var scenarios = map[string]struct {
	line string
	ends bool
}{
	"sleeps":                      {line: `sleep 600; :`},
	"ignores TERM":                {line: `trap "" TERM; while :; do sleep 1; done`},
	"grandchildren ignore TERM":   {line: `for i in 1 2 3; do bash -c 'trap "" TERM; while :; do sleep 1; done' & done; wait`},
	"another session":             {line: `setsid sleep 600 & sleep 600; :`},
	"daemon, the leader ends":     {line: `( setsid sh -c 'sleep 600 & exit' & ); exit 0`, ends: true},
	"daemon that holds stdout":    {line: `setsid sleep 600 & echo out; exit 0`, ends: true},
	"200 daemons":                 {line: `for i in $(seq 200); do setsid sleep 600 & done; wait`},
	"stopped":                     {line: `sh -c 'kill -STOP $$; sleep 600' & sleep 600; :`},
	"jobs in groups of their own": {line: `set -m; sleep 600 & sleep 600 & wait`},
	"floods its output":           {line: `yes & yes`},
	"forks on":                    {line: `f() { sleep 0.02; f & }; f; f; f; wait; sleep 600`},
	"no environment, no files":    {line: `env -i setsid sleep 600 >/dev/null 2>&1 </dev/null & sleep 600; :`},
}

// TestFiguresSurvivors runs each scenario at each level, as whoever runs the test, and as root also as an ordinary user. No
// process may be left, and the command returns soon after its time and its grace.
func TestFiguresSurvivors(t *testing.T) {
	atOnce(t)
	timeout, grace := time.Second, 300*time.Millisecond
	for _, level := range []string{LevelNone, LevelPart, LevelFull} {
		t.Run(level, func(t *testing.T) {
			atOnce(t)
			s := newSuite(t, level)
			var mu sync.Mutex
			runs, idle, left, late := 0, 0, 0, []time.Duration{}
			run := func(t *testing.T, name string) {
				l := lifelineAt(t, filepath.Join(s.app, strings.ReplaceAll(name, " ", "-")))
				defer os.Remove(l.path)
				c := l.holding(scenarios[name].line)
				c.Dir, c.Surroundings, c.Timeout, c.Grace = s.folder, s.in, timeout, grace
				if c.Profile = Loopback; level == LevelNone {
					c.Profile = Unconfined
				}
				if scenarios[name].ends {
					c.Timeout = time.Minute
				}
				p, err := s.start(t.Context(), c, level)
				must(t, err)
				o := p.Wait()
				_ = l.w.Close()
				if o.TimedOut == scenarios[name].ends { // Left counts those that die slowly on a busy machine too
					t.Errorf("%+v", o)
				}
				must(t, l.r.SetReadDeadline(time.Now().Add(20*time.Second)))
				said, err := io.ReadAll(l.r)
				mu.Lock()
				defer mu.Unlock()
				if runs++; len(said) == 0 { // its time was over before
					idle++
				}
				if o.TimedOut && o.Duration > timeout+grace { // others do not need the grace
					late = append(late, o.Duration-timeout-grace)
				}
				if err != nil {
					left++
					t.Errorf("something is alive: %v", err)
				}
			}
			t.Run("all", func(t *testing.T) {
				for name := range scenarios {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						for range *times {
							run(t, name)
						}
					})
				}
			})
			slices.Sort(late)
			t.Logf("uid %d, level %s: %d survivors in %d runs of %d scenarios, of which %d did not come to begin; %d needed the grace; after time and grace p50 %v, p99 %v, last %v",
				os.Getuid(), level, left, runs, len(scenarios), idle, len(late), quantile(late, 50), quantile(late, 99), quantile(late, 100))
			if last := quantile(late, 100); last > 10*time.Second {
				t.Errorf("it returns %v late", last)
			}
		})
	}
	asUser(t)
}

// atOnce runs a test beside others, unless figures are taken that are written down.
func atOnce(t *testing.T) {
	if *times == 1 {
		t.Parallel()
	}
}

// TestFiguresStart measures what a start costs at each level, beside one that os/exec makes. A keeper that was closed, or
// started ahead, has ten starts of os/exec and more to come to rest.
func TestFiguresStart(t *testing.T) {
	type way struct {
		name           string
		prepare, start func()
	}
	plain := func() { must(t, exec.CommandContext(t.Context(), "/bin/true").Run()) }
	ways := []way{{"plain", nil, plain}}
	add := func(name, level string, prepare func(s *system)) {
		t.Run(name, func(t *testing.T) { newSuite(t, level) }) // says where there is none
		if try(level, trialTime) != nil {
			return
		}
		s := newSuite(t, level)
		s.system.alone = true
		c := bash("")
		c.Argv, c.Profile, c.Dir, c.Surroundings = []string{"/bin/true"}, Loopback, s.folder, s.in
		if level == LevelNone {
			c.Profile = Unconfined
		}
		w := way{name: name, start: func() {
			p, err := s.start(t.Context(), c, level)
			must(t, err)
			p.Wait()
		}}
		if prepare != nil {
			w.prepare = func() { prepare(&s.system) }
		}
		w.start() // the keeper is there from now on
		ways = append(ways, w)
	}
	for _, level := range []string{LevelNone, LevelPart, LevelFull} {
		add(level, level, nil)
	}
	add("new keeper, none", LevelNone, (*system).close)
	add("new keeper, full", LevelFull, (*system).close)
	add("spare keeper, full", LevelFull, func(s *system) {
		s.close()
		s.alone = false
		s.ahead()
		s.alone = true
	})
	took := make([][]time.Duration, len(ways))
	measure := func(i int) {
		begun := time.Now()
		ways[i].start()
		took[i] = append(took[i], time.Since(begun))
	}
	for range 20 * *times {
		for i, w := range ways {
			if w.prepare == nil {
				measure(i)
			}
		}
	}
	for range 20 * *times {
		for _, w := range ways {
			if w.prepare != nil {
				w.prepare()
			}
		}
		for i, w := range ways {
			if w.prepare != nil {
				for range 10 {
					plain()
				}
				measure(i)
			}
		}
	}
	for i, w := range ways {
		slices.Sort(took[i])
		p50, p99 := quantile(took[i], 50), quantile(took[i], 99)
		t.Logf("%-18s p50 %8v  p99 %8v  more than plain: p50 %8v  p99 %8v", w.name, p50, p99, p50-quantile(took[0], 50), p99-quantile(took[0], 99))
	}
}

// TestFiguresFlood reads what a command writes without end, and keeps its head and tail.
func TestFiguresFlood(t *testing.T) {
	s := newSuite(t, LevelFull)
	size := int64(*times) * 100 << 20
	peak := func() int {
		text, err := os.ReadFile("/proc/self/status")
		must(t, err)
		_, rest, _ := strings.Cut(string(text), "VmHWM:")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		must(t, err)
		return n
	}
	must(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // the peak begins here
	before := peak()
	o := s.does(t, Loopback, fmt.Sprintf("head -c %d /dev/zero", size))
	grown := (peak() - before) >> 10
	t.Logf("%d MB of output: memory grows by %d MB at its peak, in %v", size>>20, grown, o.Duration)
	if grown > 64 || int64(len(o.Stdout))+o.StdoutGap.Bytes != size {
		t.Errorf("%d bytes kept, %d left out", len(o.Stdout), o.StdoutGap.Bytes)
	}
}

func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100].Round(10 * time.Microsecond)
}

// asUser runs the test again as an ordinary user, where it runs as root.
func asUser(t *testing.T) {
	t.Run("as an ordinary user", func(t *testing.T) {
		if os.Getuid() != 0 {
			return
		}
		dir, err := os.MkdirTemp("", "figures")
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		self, err := os.ReadFile("/proc/self/exe")
		must(t, err, os.Chmod(dir, 0o755), os.WriteFile(dir+"/test", self, 0o755))
		name, _, _ := strings.Cut(t.Name(), "/")
		again := exec.CommandContext(t.Context(), dir+"/test", "-test.v", "-test.run=^"+name+"$", "-times="+strconv.Itoa(*times))
		again.Dir = dir
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := again.CombinedOutput()
		for l := range strings.Lines(string(out)) {
			if strings.Contains(l, "level ") || err != nil {
				t.Log(strings.TrimSpace(l))
			}
		}
		must(t, err)
	})
}
