// Package logs is where a process says what happens in it, for those who have to find out later: a
// log, reports of crashes, and on demand the trace of a connection. Nothing that looks like a key
// gets into any of them.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// A file that has grown to its size is kept under its name with ".1", once.
	logSize   = 10 << 20
	traceSize = 64 << 20

	suffix = ".1"
)

// Options of the logs of a process.
type Options struct {
	Version string
	Now     func() time.Time
	// Environ are the variables of the environment, as NAME=value: what the names of some say to be
	// a secret is left out.
	Environ []string
}

// Logs is the log of a process. Its methods may be called concurrently.
//
// A record with an attribute "stack" tells of a panic: a report of it is written. Whoever recovers
// from one logs it so.
type Logs struct {
	o       Options
	level   slog.LevelVar
	hidden  hidden
	crashes chan string

	mu      sync.Mutex
	out     io.Writer
	file    *file
	last    []string // what the latest records said, without their values
	reports string   // folder
	waiting [][]byte // reports for which there is no folder yet
}

// New writes to out, and from Configure on to a file.
func New(out io.Writer, o Options) *Logs {
	l := &Logs{o: o, out: out, crashes: make(chan string, 1)}
	for _, v := range o.Environ {
		name, value, _ := strings.Cut(v, "=")
		l.HideNamed(name, value)
	}
	return l
}

// Logger writes here.
func (l *Logs) Logger() *slog.Logger {
	return slog.New(&handler{l: l, lines: slog.NewTextHandler(writer{l}, &slog.HandlerOptions{Level: &l.level})})
}

// Hide keeps a text, such as a key, out of everything that is written from now on.
func (l *Logs) Hide(text string) { l.hidden.add(text) }

// HideNamed does so where the name of a variable or a header says that its value is a secret.
func (l *Logs) HideNamed(name, value string) { l.hidden.named(name, value) }

// Redact gives text without what must not be written. It may be called concurrently, and gives text
// itself where nothing is left out. JSON stays JSON, unless its names are odd.
func (l *Logs) Redact(text []byte) []byte { return l.hidden.redact(text) }

// Crashes gives the paths of reports, at least of the first: while nobody takes it the later ones
// are passed over.
func (l *Logs) Crashes() <-chan string { return l.crashes }

// Configure sets the level, the file of the log and the folder of the reports, which are made where
// they are missing. It may be called again.
func (l *Logs) Configure(level, path, reports string) {
	if err := l.level.UnmarshalText([]byte(level)); err != nil {
		l.Logger().Error("log.level", "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reports = reports
	for _, r := range l.waiting {
		l.report(r)
	}
	l.waiting = nil
	if l.file != nil && l.file.path == path {
		return
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var f *file
	if err == nil {
		f, err = openFile(path, logSize)
	}
	if err != nil {
		_, _ = io.WriteString(l.out, "tandem: no log file: "+err.Error()+"\n") // the log itself is what fails
		return
	}
	l.file.close()
	l.file = f
}

// Close closes the files.
func (l *Logs) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.close()
	l.file = nil
}

// writer takes the lines that slog makes, one at a time.
type writer struct{ l *Logs }

func (w writer) Write(line []byte) (int, error) {
	clean := w.l.hidden.redact(line)
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	w.l.file.write(clean)
	_, err := w.l.out.Write(clean)
	return len(line), err
}

// handler remembers what is said, for the report of a crash, and notices one.
type handler struct {
	l     *Logs
	lines slog.Handler
	attrs []slog.Attr
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.lines.Enabled(ctx, level)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := append(append([]slog.Attr(nil), h.attrs...), attrs...)
	return &handler{l: h.l, lines: h.lines.WithAttrs(attrs), attrs: all}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{l: h.l, lines: h.lines.WithGroup(name), attrs: h.attrs}
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	attrs := append([]slog.Attr(nil), h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	err := h.lines.Handle(ctx, r)
	h.l.remember(r, attrs)
	return err
}

// file is a file that grows to a size and then begins anew. Several processes may have the same one
// open. A nil file takes nothing.
type file struct {
	path  string
	most  int64
	f     *os.File
	since int // bytes written since the file was last looked at
}

// openFile opens a file in a folder that is there.
func openFile(path string, most int64) (*file, error) {
	f := &file{path: path, most: most}
	err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no folder %s", filepath.Dir(path))
	}
	return f, err
}

func (f *file) open() (err error) {
	f.f, err = os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|noFollow, 0o600)
	return err
}

// write adds a line. What cannot be written is lost: there is nobody left to tell.
func (f *file) write(line []byte) {
	if f == nil || f.f == nil {
		return
	}
	if f.since += len(line); f.since > int(f.most/64) {
		f.since = len(line)
		f.turn()
	}
	if _, err := f.f.Write(line); err != nil {
		f.close()
	}
}

// turn begins anew where the file is full, or where another process has done so.
func (f *file) turn() {
	mine, err := f.f.Stat()
	if err != nil {
		return
	}
	there, err := os.Lstat(f.path)
	same := err == nil && os.SameFile(mine, there)
	if same && there.Size() >= f.most {
		same = os.Rename(f.path, f.path+suffix) != nil
	}
	if !same {
		f.close()
		_ = f.open() // without one nothing more is written
	}
}

func (f *file) close() {
	if f != nil && f.f != nil {
		_ = f.f.Close()
		f.f = nil
	}
}
