package anthropic

import (
	"testing"

	"tandem/agent/model/modeltest"
)

func TestF268Corpus(t *testing.T) {
	if n := modeltest.Corpus(t, New); n < 40 {
		t.Errorf("only %d cases", n)
	}
}

func FuzzStream(f *testing.F) { modeltest.Fuzz(f, New) }

func BenchmarkStream(b *testing.B) { modeltest.Bench(b, New) }

// TestFaultW7W8Quirks plays what services have been seen to send.
func TestFaultW7W8Quirks(t *testing.T) { modeltest.Quirks(t, modeltest.MessagesQuirks, New) }
