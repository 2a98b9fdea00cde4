package logs

import (
	"io"
	"strings"
	"testing"
)

func BenchmarkRedact(b *testing.B) {
	l := newLogs(io.Discard)
	one := `{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"text":"func main() { return }"}}`
	text := []byte(strings.Repeat(one, 700))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		l.hidden.redact(text)
	}
}
