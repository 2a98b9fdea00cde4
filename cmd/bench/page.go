package main

import (
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// row is one figure of the page.
type row struct {
	what string
	// ours and other are names of figures; other may be "".
	ours, other string
	otherIs     string
	mark        float64 // 0 for none
	// times is set if the goal is a ratio to the baseline, not an absolute figure.
	times bool
}

const (
	us  = 1e3
	ms  = 1e6
	mib = 1 << 20
)

func rows() []row {
	const fsync = "one such file written and flushed"
	const request = "one request sent by a plain HTTP client"
	out := []row{
		{"from exec to the reply to `initialize`", "Start/tandem", "Start/empty", "an empty Go program that reads and writes JSON", 2.6, true},
		{"from exec to the reply that has the first session", "Start/session", "Start/empty", "the empty program to its reply", 5.5 * ms, false},
		{"processor time of all processes of a start, the first session included", "Start/cpu", "Start/empty-cpu", "the empty program to its reply", 9 * ms, false},
		{"memory at rest, nothing asked for yet, all processes", "Memory/idle", "Memory/empty", "the empty Go program", 21 * mib, false},
		{"memory after 200 calls of tools, all processes", "Memory/used", "Memory/empty", "the empty Go program", 28 * mib, false},
		{"the same, with shared pages counted once", "Memory/used-shared-once", "", "", 0, false},
		{"memory after a command that follows", "Memory/command", "Memory/command-shared-once", "the same, with shared pages counted once", 0, false},
	}
	for _, api := range []struct{ key, name string }{{"openai-chat", "Chat Completions"}, {"anthropic", "Messages"}} {
		k := "Turn/" + api.key + "/"
		for _, r := range []row{
			{"a turn without tools, beyond the model's own time", k + "none", k + "request", request, 2 * ms, false},
			{"each of 20 reads in turn, beyond the model's own time", k + "read", k + "request", request, ms, false},
			{"the same, processor time, the request for it included", k + "read-cpu", "", "", ms / 2, false},
			{"a turn with 8 reads at once", k + "parallel", k + "request", request, 3 * ms, false},
			{"a turn with the command `true`, sandboxed, beyond the model's own time", k + "command", k + "request", request, 0, false},
			{"processor time of the server and its keepers for it", k + "command-cpu", "", "", 3 * ms, false},
			{"a turn that reads and edits an open document", k + "edit", k + "request", request, 6 * ms, false},
		} {
			r.what += " (" + api.name + ")"
			out = append(out, r)
		}
	}
	return append(out,
		row{"memory after 1,000 edits of an open file of 56 KB, all processes", "Memory/edits/56KB/1000", "Memory/edits/56KB/50", "after 50 of them", 1.3, true},
		row{"memory after 250 edits of an open file of 560 KB, all processes", "Memory/edits/560KB/250", "Memory/edits/560KB/50", "after 50 of them", 100 * mib, false},
		row{"processor time of such an edit, 56 KB", "Edits/56KB/cpu", "", "", 0, false},
		row{"the same, 560 KB", "Edits/560KB/cpu", "", "", 0, false},
		row{"the first request of a session", "Request/first", "", "", 7872, false},
		row{"what ten pairs of a read and an edit add to a request", "Request/pairs", "", "", 0, false},
		row{"the first turn of a process, without tools, beyond the model's own time", "Turn/first", "Turn/third", "the third turn", 5 * ms, false},
		row{"processor time of a read after 600 calls of one session", "Turn/long/last", "Turn/long/first", "the first of them", 1.2, true},
		row{"the same after 3,000 calls", "Turn/long/3000", "Turn/long/first", "the first of them", 1.2, true},
		row{"memory of an open session of 15 turns at rest, each of ten after the first", "Memory/session", "Memory/session/first", "all processes with one of them", 2 * mib, false},
		row{"a session of 3,000 calls loaded by another process", "Load/3000", "", "", 120 * ms, false},
		row{"memory after that, all processes", "Memory/load/3000", "Memory/load/before", "before it", 50 * mib, false},
		row{"a call of a tool that does nothing: checked, judged, run, told", "Dispatch/noop", "Dispatch/json", "decoding its arguments alone", 50 * us, false},
		row{"a small JSON-RPC request and its answer, over pipes", "RoundTrip/16B", "RoundTrip/library", "the library by itself", 20 * us, false},
		row{"a key in a document of 1 MB, from the bytes of the message on", "Keystroke/1MB", "Keystroke/decode", "decoding the message alone", 25 * us, false},
		row{"the same, 10 MB", "Keystroke/10MB", "Keystroke/decode", "decoding the message alone", 60 * us, false},
		row{"100 hunks rebased over 1,000 keys in 20 bursts, 5 MB", "Rebase/20bursts", "Rebase/git", "`git merge-file` of the same files", ms / 2, false},
		row{"the same, each key at another place", "Rebase/1000bursts", "Rebase/git", "`git merge-file` of the same files", ms / 2, false},
		row{"diff by lines and words of 1 MB, 40 % of the lines changed", "Diff/400permille", "Diff/git", "`git diff --no-index`, by lines", 80 * ms, false},
		row{"a search by the tool", "Shell/grep", "Shell/rg", "the same by `rg` in a command of the agent", 0, false},
		row{"the answer right behind a key in a 10 MB document while it is searched, 99 of 100", "Searching/key", "Searching/alone", "the same without a search", 2 * ms, false},
		row{"memory after these searches", "Memory/searched", "Memory/unsearched", "before them", 1.2, true},
		row{"a search that finds nothing, with ten files of 14 MiB", "LargeFiles/tandem", "LargeFiles/rg", "the same by `rg`", 0, false},
		row{"a command, without a sandbox", "Run/ours", "Run/plain", "`os/exec`", 0, false},
		row{"a journalled edit of a file of 4 KiB that is not open", "Begin/4KiB/edit-p50-us", "Begin/4KiB/fsync-p50-us", fsync, 3, true},
		row{"the same, 64 KiB", "Begin/64KiB/edit-p50-us", "Begin/64KiB/fsync-p50-us", fsync, 3, true},
		row{"such an edit from the editor's side, 10 kB, with everything about it", "Disk/edit", "Disk/fsync", fsync + " and renamed", 0, true},
	)
}

// value is a figure, the median of all times that it was measured.
func (b *bench) value(name string) (float64, bool) {
	v := b.found[name]
	if len(v) == 0 {
		return 0, false
	}
	return median(v), true
}

// cells are the columns of a row; ok is false if the subject was not measured.
func (b *bench) cells(r row) (cells []string, ok bool) {
	ours, ok := b.value(r.ours)
	if !ok {
		return nil, false
	}
	amount := duration
	switch {
	case strings.HasPrefix(r.ours, "Memory/"):
		amount = size
	case strings.HasPrefix(r.ours, "Request/"):
		amount = byteCount
	}
	cells = []string{r.what, amount(ours), "", "", "", ""}
	ratio, compared := 0.0, false
	if other, ok := b.value(r.other); ok {
		ratio, compared = ours/other, true
		cells[2] = amount(other) + ": " + r.otherIs
		cells[3] = times(ratio)
	}
	held := ours <= r.mark
	switch {
	case r.mark == 0, r.times && !compared:
		return cells, true
	case r.times:
		cells[4], held = times(r.mark), ratio <= r.mark
	default:
		cells[4] = amount(r.mark)
	}
	cells[5] = map[bool]string{true: "yes", false: "**no**"}[held]
	return cells, true
}

func times(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f×", v)
	}
	return fmt.Sprintf("%.3g×", v)
}

func duration(ns float64) string {
	for _, u := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= u.ns {
			return fmt.Sprintf("%.3g %s", ns/u.ns, u.name)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

func size(n float64) string { return fmt.Sprintf("%.1f MiB", n/mib) }

func byteCount(n float64) string { return fmt.Sprintf("%.0f bytes", n) }

// table is the results as Markdown, and the names of missing figures.
func (b *bench) table() (table string, missing []string) {
	var s strings.Builder
	s.WriteString("| what | ours | beside it | ratio | mark | kept |\n|---|---|---|---|---|---|\n")
	for _, r := range rows() {
		c, ok := b.cells(r)
		if !ok {
			missing = append(missing, r.what)
			continue
		}
		fmt.Fprintf(&s, "| %s |\n", strings.Join(c, " | "))
	}
	return s.String(), missing
}

//go:embed page.md
var text string

// page is the whole page of the documentation.
func (b *bench) page(m machineInfo, now time.Time) string {
	table, missing := b.table()
	if len(missing) > 0 {
		table += "\nNot measured on this machine, since something to compare with was not there: " + strings.Join(missing, "; ") + ".\n"
	}
	return strings.NewReplacer(
		"{date}", now.Format("2006-01-02"), "{machine}", m.String(), "{table}\n", table, "{searches}\n", b.searched(),
	).Replace(text)
}

// machineInfo describes the kind of machine of a run, without anything that identifies it.
type machineInfo struct{ os, arch, cpu, kernel, goVersion, cores, load string }

func machine() machineInfo {
	m := machineInfo{
		os: runtime.GOOS, arch: runtime.GOARCH, cpu: "unknown", goVersion: runtime.Version(), cores: fmt.Sprint(runtime.NumCPU()),
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			m.cpu = strings.TrimLeft(line, "\t :")
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(text), " ")
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.kernel = strings.TrimSpace(string(text))
	}
	return m
}

func (m machineInfo) String() string {
	return fmt.Sprintf("%s cores of %s, %s %s, %s, load %s when it began", m.cores, m.cpu, m.os, m.kernel, m.goVersion, m.load)
}
