package logs

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"tandem/sandbox/lazy"
)

const (
	mostReports = 20
	mostLast    = 200
	mostStack   = 64 << 10
)

// remember keeps what a record says, and writes a report where it tells of a panic.
func (l *Logs) remember(r slog.Record, attrs []slog.Attr) {
	line := fmt.Sprintf("%s %s %s", r.Time.UTC().Format("15:04:05.000"), r.Level, r.Message)
	stack := ""
	for _, a := range attrs {
		if a.Key == "stack" {
			stack = a.Value.String()
			continue
		}
		line += " " + a.Key + "=" + bare(a)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stack != "" {
		report := l.hidden.redact(l.words(r, attrs, stack))
		if l.reports == "" {
			if len(l.waiting) < mostReports {
				l.waiting = append(l.waiting, report)
			}
		} else {
			l.report(report)
		}
	}
	if l.last = append(l.last, line); len(l.last) > mostLast {
		l.last = slices.Delete(l.last, 0, len(l.last)-mostLast)
	}
}

// plain is a name of ours: of a method, a session or a code.
var plain = lazy.Regexp{Text: `^[A-Za-z0-9_$/-]{1,64}$`}

// bare is an attribute as a report may have it: a number, or a name of ours. Of anything else only
// the size is said.
func bare(a slog.Attr) string {
	v := a.Value.Resolve()
	text := v.String()
	switch v.Kind() {
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindBool, slog.KindDuration, slog.KindTime:
		return text
	}
	if slices.Contains([]string{"method", "session", "code"}, a.Key) && plain.Get().MatchString(text) {
		return text
	}
	return fmt.Sprintf("(%d bytes)", len(text))
}

// words is a report. It holds nothing that a person or a model has written.
func (l *Logs) words(r slog.Record, attrs []slog.Attr, stack string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Tandem %s: an internal error. The program continued.\n\n", l.o.Version)
	fmt.Fprintf(&b, "time   %s\nsystem %s/%s %s, process %d, %d goroutines\n", r.Time.UTC().Format(time.RFC3339Nano),
		runtime.GOOS, runtime.GOARCH, runtime.Version(), os.Getpid(), runtime.NumGoroutine())
	fmt.Fprintf(&b, "where  %s\n", r.Message)
	for _, a := range attrs {
		switch a.Key {
		case "stack":
		case "panic":
			fmt.Fprintf(&b, "panic  %s\n", fault(a.Value.Any()))
		default:
			fmt.Fprintf(&b, "%-6s %s\n", a.Key, bare(a))
		}
	}
	if len(stack) > mostStack {
		stack = stack[:mostStack] + "\n…\n"
	}
	fmt.Fprintf(&b, "\n%s\nThe log before, without its values:\n%s\n", stack, strings.Join(l.last, "\n"))
	return []byte(b.String())
}

// fault is the value of a panic. What the runtime says is about the program; anything else may
// quote anybody.
func fault(v any) string {
	if e, ok := v.(runtime.Error); ok {
		return e.Error()
	}
	return fmt.Sprintf("a %T; what it says is in the log file", v)
}

// report writes a report and forgets the oldest ones. l.mu is held.
func (l *Logs) report(text []byte) {
	path, err := l.put(text)
	if err != nil {
		_, _ = l.out.Write([]byte("tandem: no crash report: " + err.Error() + "\n"))
		return
	}
	line := []byte("crash report written to " + path + "\n")
	l.file.write(line)
	_, _ = l.out.Write(line)
	select {
	case l.crashes <- path:
	default:
	}
}

func (l *Logs) put(text []byte) (path string, err error) {
	if err := os.MkdirAll(l.reports, 0o700); err != nil {
		return "", err
	}
	name := fmt.Sprintf("crash-%s-%d", l.o.Now().UTC().Format("20060102T150405.000"), os.Getpid())
	var f *os.File
	for n := range 100 {
		path = filepath.Join(l.reports, fmt.Sprintf("%s-%02d.txt", name, n))
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil || !os.IsExist(err) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Close()
	}
	all, globErr := filepath.Glob(filepath.Join(l.reports, "crash-*.txt"))
	if globErr == nil && len(all) > mostReports {
		slices.Sort(all)
		for _, old := range all[:len(all)-mostReports] {
			_ = os.Remove(old) // the next one tries again
		}
	}
	return path, err
}
