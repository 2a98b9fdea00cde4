// Package wiretest runs connections of package wire in tests.
package wiretest

import (
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
)

// Bubble is synctest.Test for code that calls through a wire.Conn. The jsonrpc2 package pools the channels that its
// calls wait on; one that crosses the border of a bubble would keep it from ever being idle, or end the program, so
// the pools are emptied before and after. No test that runs beside it may use a connection.
func Bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	emptyPools()
	defer emptyPools()
	synctest.Test(t, f)
}

func emptyPools() {
	runtime.GC() // moves what is pooled aside
	runtime.GC() // and drops it
}

// Pipes returns the two ends of a synchronous transport in memory, of the bubble it is called in.
func Pipes() (a, b io.ReadWriteCloser) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return &end{r1, w2}, &end{r2, w1}
}

type end struct {
	*io.PipeReader
	w *io.PipeWriter
}

func (e *end) Write(b []byte) (int, error) { return e.w.Write(b) }

func (e *end) Close() error {
	_ = e.w.Close() // never fails
	return e.PipeReader.Close()
}

// Raced says that the tests run under the race detector.
func Raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
