package rawjson

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func check(t *testing.T, s string) {
	t.Helper()
	want, err := json.Marshal(s, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		t.Fatal(err)
	}
	if got := AppendString([]byte("x"), s); string(got) != "x"+string(want) {
		t.Errorf("%q is %q, want %q", s, got[1:], want)
	}
	if got := slices.Concat(String(s)...); string(got) != string(want) {
		t.Errorf("%.300q in pieces is %.300q, want %.300q", s, got, want)
	}
}

// TestString cuts characters, and bytes that are none, at every place.
func TestString(t *testing.T) {
	for _, odd := range []string{"a", "é", "€", "\U0001F600", "\n", "\x80", "\xe2\x82", "\x80\x80\x80\x80\x80\xc3"} {
		for shift := range 8 {
			check(t, strings.Repeat("b", shift)+strings.Repeat(odd, piece/len(odd)))
		}
	}
}

// TestAppendString puts each byte, and some characters, at each place of words of eight bytes.
func TestAppendString(t *testing.T) {
	odd := []string{"é", "€", "\U0001F600", "\xff\xff", "\xed\xa0\x80", "\u2028", "\x7f\x80"}
	for c := range 256 {
		odd = append(odd, string([]byte{byte(c)}))
	}
	for _, o := range odd {
		for n := range 18 {
			check(t, strings.Repeat("a", n)+o)
			check(t, strings.Repeat("ÿ", n)+o+strings.Repeat("~", 9))
			check(t, strings.Repeat(o, n))
		}
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("\tif err != nil {\n\t\treturn \"\\\"\x00é\xff\"\n")
	f.Fuzz(check)
}

func BenchmarkAppendString(b *testing.B) {
	s := strings.Repeat("12. src/net/http/server.go:2310 → func (mux *ServeMux) ServeHTTP(w ResponseWriter, r *Request) {\n", 10000)
	out := make([]byte, 0, 2*len(s))
	for _, way := range []struct {
		name string
		do   func([]byte, string) []byte
	}{
		{"ours", AppendString},
		{"jsontext", func(b []byte, s string) []byte { b, _ = jsontext.AppendQuote(b, s); return b }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				out = way.do(out[:0], s)
			}
		})
	}
}
