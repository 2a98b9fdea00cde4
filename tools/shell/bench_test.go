package shell

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkClassify tells how long lines of the greatest lengths take: the median, and the 99th of a hundred.
func BenchmarkClassify(b *testing.B) {
	const listed = "git log --oneline -n 5 -- src/a.go | head -n 20 && "
	for name, line := range map[string]string{
		"short":       "git status --short | head -n 20",
		"1KiB":        strings.Repeat(listed, 1024/len(listed)) + "ls -la src",
		"1KiB-deep":   strings.Repeat("$(", 512),
		"16KiB":       strings.Repeat(listed, 16*1024/len(listed)) + "ls -la src",
		"16KiB-words": "cat" + strings.Repeat(" a", 8<<10-2),
		"16KiB-deep":  strings.Repeat("$(", 8<<10),
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				since := time.Now()
				parse(line, "/w/app", "/w/app")
				took = append(took, time.Since(since))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[(len(took)-1)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[(len(took)-1)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
