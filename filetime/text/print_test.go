package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPrinter: two versions have one fingerprint where they are equal, whatever came between and
// however they are cut into chunks, and only there.
func TestPrinter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := New(strings.Repeat(rapid.SampledFrom([]string{"ab\x00\n", "line\r\n", "日本\n", ""}).Draw(t, "line"), rapid.IntRange(0, 9000).Draw(t, "lines")))
		var p Printer
		prints := map[string]uint64{now.String(): p.Print(now)}
		texts := map[uint64]string{p.Print(now): now.String()}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			start := rapid.IntRange(0, now.Len()).Draw(t, "start")
			end := rapid.IntRange(start, min(now.Len(), start+rapid.SampledFrom([]int{1, 30, 20_000}).Draw(t, "most"))).Draw(t, "end")
			fresh := strings.Repeat(rapid.SampledFrom([]string{"", "a", "\x00", "b\n", "\xff"}).Draw(t, "new"), rapid.SampledFrom([]int{1, 2, 20_000}).Draw(t, "times"))
			now = now.Replace(start, end, fresh)
			s, print := now.String(), p.Print(now)
			var anew Printer
			if other := anew.Print(New(s)); other != print {
				t.Fatalf("%x by the versions before, %x by itself", print, other)
			}
			if was, ok := prints[s]; ok && was != print {
				t.Fatalf("%x and %x for one text", was, print)
			}
			if was, ok := texts[print]; ok && was != s {
				t.Fatalf("%x for two texts", print)
			}
			prints[s], texts[print] = print, s
		}
	})
}

// Bytes that a weaker sum takes for nothing count, and so does their order.
func TestPrinterOfShortTexts(t *testing.T) {
	seen := map[uint64]string{}
	for _, s := range []string{"", "\x00", "\x00\x00", "a", "a\x00", "\x00a", "ab", "ba", "abcd", "abdc", "aabbccdd", "ccddaabb", "\xff\xff\xff\xff", "\xff\xff\xff"} {
		var p Printer
		print := p.Print(New(s))
		if was, ok := seen[print]; ok {
			t.Errorf("%q and %q have one fingerprint", was, s)
		}
		seen[print] = s
	}
}

// BenchmarkPrint is what the fingerprint of the text after a key costs, as a ratio of what it costs
// to make the text.
func BenchmarkPrint(b *testing.B) {
	for name, size := range map[string]int{"100KB": 100 << 10, "10MB": 10 << 20} {
		b.Run(name, func(b *testing.B) {
			now := New(source(size, 1))
			var p Printer
			p.Print(now)
			spent := func(do func(now Text)) float64 {
				start := b.Elapsed()
				for i := range 100 {
					at := (i * 7919) % now.Len()
					now = now.Replace(at, at, "x")
					do(now)
				}
				return float64(b.Elapsed() - start)
			}
			var with, without float64
			for b.Loop() {
				without += spent(func(Text) {})
				with += spent(func(t Text) { p.Print(t) })
			}
			b.ReportMetric(with/without, "ratio")
		})
	}
}
