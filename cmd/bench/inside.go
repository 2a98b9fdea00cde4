package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// benchmarks are Go benchmarks of one package, a subject together with its baseline.
type benchmarks struct {
	key, pkg string
	patterns []string // as go test -bench takes them
}

func inside() []benchmarks {
	return []benchmarks{
		{"wire", "lspserver/wire", []string{"^BenchmarkRoundTrip$/^(16B|library)$"}},
		{"dispatch", "tools/run", []string{"^BenchmarkDispatch$"}},
		{"text", "filetime/text", []string{"^BenchmarkKeystroke$", "^BenchmarkRebase$", "^BenchmarkDiff$/^(400permille|git)$"}},
		{"command", "sandbox", []string{"^BenchmarkRun$"}},
		{"journal", "agent/store", []string{"^BenchmarkBegin$/^(4|64)KiB$"}},
	}
}

// measure runs them in several interleaved rounds, so that drift of the machine affects both alike.
func (p benchmarks) measure(b *bench, ctx context.Context) error {
	program := filepath.Join(b.dir, p.key+".test")
	if err := goCommand(ctx, "test", "-c", "-o", program, "tandem/"+p.pkg); err != nil {
		return err
	}
	b.of("tandem/" + p.pkg)
	all := map[string][]float64{}
	for range b.rounds(5) {
		for _, pattern := range p.patterns {
			cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench="+pattern, "-test.benchtime=200ms", "-test.benchmem")
			cmd.Dir = b.dir
			text, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w\n%s", err, text)
			}
			if err := parse(text, b.out, all); err != nil {
				return err
			}
		}
	}
	for name, values := range all {
		b.found[name] = append(b.found[name], median(values))
	}
	return nil
}

// parse copies the lines of benchmarks from text to out and gathers what they measured, in
// nanoseconds, by name. What a benchmark reports of its own in microseconds has its unit after the
// name.
func parse(text []byte, out io.Writer, all map[string][]float64) error {
	procs := regexp.MustCompile(`-\d+$`)
	in := bufio.NewScanner(bytes.NewReader(text))
	for in.Scan() {
		fields := strings.Fields(in.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		fmt.Fprintln(out, in.Text())
		name := procs.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return fmt.Errorf("%q: %w", in.Text(), err)
			}
			switch unit := fields[i+1]; {
			case unit == "ns/op":
				all[name] = append(all[name], v)
			case strings.HasSuffix(unit, "-us"):
				all[name+"/"+unit] = append(all[name+"/"+unit], v*us)
			}
		}
	}
	return in.Err()
}
