package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	const text = `goos: linux
pkg: tandem/x
BenchmarkKeystroke/1MB-2         	    5584	     49765 ns/op	   12329 B/op	      11 allocs/op
BenchmarkKeystroke/1MB-2         	    5584	     50001.5 ns/op
BenchmarkOpen/10kB     	 1	 2.2 %-over-its-bytes	 7 kB/version
--- BENCH: BenchmarkOpen/10kB
BenchmarkRoundTrip/library       	       3	        12 ns/op
BenchmarkBegin/4KiB-2            	      36	   5000000 ns/op	       4.100 edit/fsync	       900.0 edit-p50-us
PASS
`
	var out bytes.Buffer
	all := map[string][]float64{}
	if err := parse([]byte(text), &out, all); err != nil {
		t.Fatal(err)
	}
	if v := all["Keystroke/1MB"]; len(v) != 2 || v[0] != 49765 || v[1] != 50001.5 {
		t.Errorf("Keystroke/1MB is %v", v)
	}
	if v := all["RoundTrip/library"]; len(v) != 1 || v[0] != 12 {
		t.Errorf("RoundTrip/library is %v", v)
	}
	if v := all["Begin/4KiB/edit-p50-us"]; len(v) != 1 || v[0] != 900_000 {
		t.Errorf("Begin/4KiB/edit-p50-us is %v", v)
	}
	if n := strings.Count(out.String(), "\n"); n != 5 || len(all) != 4 {
		t.Errorf("%d lines of %d benchmarks:\n%s", n, len(all), out.String())
	}
}

func TestPage(t *testing.T) {
	b := &bench{found: map[string][]float64{
		"Start/tandem": {8 * ms, 7 * ms, 6 * ms}, "Start/empty": {2 * ms},
		"Memory/idle": {40 * mib}, "Run/ours": {12 * us, 14 * us}, "Shell/grep": {2.5e9},
	}}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	page := b.page(machine(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, want := range []string{
		"Measured on 2026-01-02: ",
		"| from exec to the reply to `initialize` | 7 ms | 2 ms: an empty Go program that reads and writes JSON | 3.5× | 2.6× | **no** |",
		"| memory at rest, nothing asked for yet, all processes | 40.0 MiB |  |  | 21.0 MiB | **no** |",
		"| a command, without a sandbox | 13 µs |  |  |  |  |",
		"| a search by the tool | 2.5 s |",
		"Not measured on this machine",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page:\n%s", want, page)
		}
	}
	if strings.Contains(page, host) || strings.ContainsAny(page, "{}") {
		t.Errorf("the page names the machine, or was not filled in:\n%s", page)
	}
}

// TestRows wants every row to be of figures that some measurement finds, as far as their names tell.
func TestRows(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rows() {
		group, _, _ := strings.Cut(r.ours, "/")
		known[group] = true
		if r.otherIs == "" && r.other != "" || r.times && r.other == "" {
			t.Errorf("%s: what it is compared with is not said", r.what)
		}
	}
	for _, p := range inside() {
		for _, pattern := range p.patterns {
			name, _, _ := strings.Cut(strings.TrimPrefix(pattern, "^Benchmark"), "$")
			if !known[name] {
				t.Errorf("%s of %s is measured, and no row is about it", name, p.pkg)
			}
		}
	}
}

// TestLead: a ratio that is a fifth worse than the kept one fails, one that is nearly so does not,
// and neither does a figure that is missing go unnoticed.
func TestLead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lead.json")
	if err := os.WriteFile(file, []byte(`[{"figure":"Start/tandem","beside":"Start/empty","ratio":3}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, found := range map[string]map[string][]float64{
		"":                             {"Start/tandem": {3.5}, "Start/empty": {1}},
		"Start/tandem is 3.7× of":      {"Start/tandem": {3.7}, "Start/empty": {1}},
		"Start/empty was not measured": {"Start/tandem": {1}},
	} {
		err := (&bench{found: found}).checkLead(file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	kept := &bench{found: map[string][]float64{}}
	if err := kept.checkLead(filepath.Join("testdata", "lead.json")); err == nil || strings.Count(err.Error(), "\n") != 6 {
		t.Errorf("the file that is kept: %v", err)
	}
	for _, r := range rows() {
		kept.found[r.ours], kept.found[r.other] = []float64{1}, []float64{1}
	}
	if err := kept.checkLead(filepath.Join("testdata", "lead.json")); err != nil {
		t.Errorf("a figure that is in no row: %v", err)
	}
}
