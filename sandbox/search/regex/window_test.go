package regex

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSkipsLoseNothing finds the same lines in texts of many kinds with all that spares work, without vectors, and character by character.
func TestSkipsLoseNothing(t *testing.T) {
	sample, err := os.ReadFile("testdata/text")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(sample, []byte("\n"))
	r := rand.New(rand.NewPCG(5, 6))
	texts := [][]byte{sample}
	for n := range 40 {
		var b []byte
		for len(b) < n*20 {
			switch r.IntN(3) {
			case 0:
				b = append(b, lines[r.IntN(len(lines))]...)
			case 1:
				for range r.IntN(60) {
					bytes := "abc k_=1\n é\xff\u212afo"
					b = append(b, bytes[r.IntN(len(bytes))])
				}
			default:
				b = append(b, strings.Repeat("-", r.IntN(70))...)
			}
		}
		texts = append(texts, b)
	}
	all := func(r *Regexp, text []byte) (out []int) {
		r.Matcher(nil).Lines(text, func(start, _ int) bool {
			out = append(out, start)
			return true
		})
		return out
	}
	skipped, inner := 0, 0
	for i, p := range patterns(t) {
		flags, pattern, _ := strings.Cut(p, " ")
		re, err := Parse(pattern, options(flags))
		if err != nil || re.perl != nil || re.Multiline || re.finder == nil && re.inner == nil && re.beginning == nil {
			continue
		}
		skipped++
		if re.inner != nil {
			inner++
		}
		slow, plain := *re, *re
		plain.finder, plain.inner, plain.beginning, plain.complete = nil, nil, nil, false
		if re.finder != nil {
			w := *re.finder.window
			slow.finder = &finder{window: &w, texts: re.finder.texts, fold: re.finder.fold}
			w.fast = false
		}
		if re.inner != nil {
			w := *re.inner
			w.fast = false
			slow.inner = &w
		}
		if re.beginning != nil {
			w := *re.beginning
			w.fast = false
			slow.beginning = &w
		}
		for n := range 4 {
			text := texts[(4*i+n)%len(texts)]
			want := all(&plain, text)
			for name, re := range map[string]*Regexp{"fast": re, "slow": &slow} {
				if got := all(re, text); !slices.Equal(got, want) {
					t.Fatalf("%s, %s:\n got %v\nwant %v in %q", p, name, got, want, text)
				}
			}
		}
	}
	if skipped < 200 || inner < 40 {
		t.Errorf("only %d patterns skip anything, %d of them to what is inside of a match", skipped, inner)
	}
}

// BenchmarkLines looks for patterns in 1 MB.
func BenchmarkLines(b *testing.B) {
	sample := bytes.Repeat([]byte("\tif err := json.Unmarshal(data, &v); err != nil {\n\t\treturn fmt.Errorf(\"x_y: %w\", err)\n\t}\n\n// Comment of 2024\n"), 9000)
	for _, p := range []string{
		"return", "(?i)RETURN", "}", "if|for|switch", `[A-Z]{12,}_[0-9]{3}`, `[0-9]+\.[0-9]+e[+-]?[0-9]+`, `^\s*//.*\d{4}$`, `\w+\s*:=`, `^func [A-Z]`, `\p{Greek}`, `\b\w{30,}\b`, "zzqx",
	} {
		b.Run(fmt.Sprintf("%.40s", p), func(b *testing.B) {
			re, err := Parse(p, Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(sample)))
			m := re.Matcher(nil)
			for b.Loop() {
				m.Lines(sample, func(int, int) bool { return true })
			}
		})
	}
}
