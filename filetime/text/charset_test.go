package text

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, bytes string
		charset     Charset
		text        string
		bad         int // offset of the error, or -1
	}{
		{"empty", "", CharsetUTF8, "", -1},
		{"UTF-8", "aé😀\r\n", CharsetUTF8, "aé😀\r\n", -1},
		{"UTF-8 with its mark", bom + "a", CharsetUTF8, bom + "a", -1},
		{"a replacement character", "a\uFFFD", CharsetUTF8, "a\uFFFD", -1},
		{"UTF-16LE", "\xFF\xFEa\x00\r\x00\n\x00\x3d\xd8\x00\xde", CharsetUTF16LE, bom + "a\r\n😀", -1},
		{"UTF-16BE", "\xFE\xFF\x00a\x00\r\x00\n\xd8\x3d\xde\x00", CharsetUTF16BE, bom + "a\r\n😀", -1},
		{"UTF-16 of nothing", "\xFF\xFE", CharsetUTF16LE, bom, -1},
		{"UTF-16BE with a NUL first", "\xFE\xFF\x00\x00", CharsetUTF16BE, bom + "\x00", -1},
		{"UTF-16, mark twice", "\xFF\xFE\xFF\xFE", CharsetUTF16LE, bom + bom, -1},

		{"Latin-1", "caf\xe9", CharsetUTF8, "", 3},
		{"a surrogate in UTF-8", "a\xed\xa0\x80", CharsetUTF8, "", 1},
		{"half a mark", "\xFF", CharsetUTF8, "", 0},
		{"UTF-16, a byte too many", "\xFF\xFEa\x00b", CharsetUTF16LE, "", 4},
		{"UTF-16, low first", "\xFF\xFE\x00\xde\x3d\xd8", CharsetUTF16LE, "", 2},
		{"UTF-16, high alone", "\xFE\xFF\x00a\xd8\x3d", CharsetUTF16BE, "", 4},
		{"UTF-16, high twice", "\xFE\xFF\xd8\x3d\xd8\x3d\xde\x00", CharsetUTF16BE, "", 2},
		{"UTF-32LE", "\xFF\xFE\x00\x00a\x00\x00\x00", CharsetUTF8, "", 0},
		{"UTF-32BE", "\x00\x00\xFE\xFF\x00\x00\x00a", CharsetUTF8, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, c, err := Decode([]byte(tt.bytes))
			var bad *CharsetError
			if tt.bad >= 0 {
				if !errors.As(err, &bad) || bad.Offset != tt.bad || x.Len() > 0 {
					t.Fatalf("%q, %v, %v", x.String(), c, err)
				}
				return
			}
			if err != nil || c != tt.charset || x.String() != tt.text {
				t.Fatalf("%q, %v, %v", x.String(), c, err)
			}
			if b, err := Encode(x, c); string(b) != tt.bytes || err != nil {
				t.Errorf("back: %q, %v", b, err)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		text    string
		charset Charset
		bad     int
	}{
		{"a\xff", CharsetUTF8, 1},
		{bom + "a\xff", CharsetUTF16LE, 4},
		{"a", CharsetUTF16LE, 0}, // nobody would know what it is
		{"", CharsetUTF16BE, 0},
		{bom + "\x00a", CharsetUTF16LE, 3},
	} {
		b, err := Encode(New(tt.text), tt.charset)
		var bad *CharsetError
		if !errors.As(err, &bad) || bad.Offset != tt.bad || bad.Charset != tt.charset || b != nil {
			t.Errorf("%q as %v: %q, %v", tt.text, tt.charset, b, err)
		}
	}
}

// TestF093EditOfUTF16 edits a file the way a tool does: located, fitted and spliced.
func TestF093EditOfUTF16(t *testing.T) {
	units := func(s string) (b []byte) {
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return b
	}
	x, c, err := Decode(units(bom + "one 😀\r\ntwo\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Locate(x, "two\n", "2\n3 日\n", false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Encode(f.Edits.Apply(x), c)
	if want := units(bom + "one 😀\r\n2\r\n3 日\r\n"); err != nil || !bytes.Equal(b, want) {
		t.Errorf("%q, %v, want %q", b, err, want)
	}
}

// checkCharset decodes bytes and encodes the text of them, there and back.
func checkCharset(t failer, b []byte) {
	if x, c, err := Decode(b); err == nil {
		if back, err := Encode(x, c); err != nil || !bytes.Equal(b, back) {
			t.Fatalf("%q is %q in %v, which is %q, %v", b, x.String(), c, back, err)
		}
		if !utf8.ValidString(x.String()) {
			t.Fatalf("%q became %q", b, x.String())
		}
	}
	for _, c := range []Charset{CharsetUTF8, CharsetUTF16LE, CharsetUTF16BE} {
		for _, s := range []string{string(b), bom + string(b)} {
			coded, err := Encode(New(s), c)
			if err != nil {
				continue
			}
			if x, got, err := Decode(coded); err != nil || got != c || x.String() != s {
				t.Fatalf("%q in %v is %q, which is %q in %v, %v", s, c, coded, x.String(), got, err)
			}
		}
	}
}

func TestCharsetsGoThereAndBack(t *testing.T) {
	t.Parallel()
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(drawText(t, "text", 8))
		checkCharset(t, b)
		mark := rapid.SampledFrom([]string{markLE, markBE, mark32LE, mark32BE}).Draw(t, "mark")
		b = append([]byte(mark), b...)
		checkCharset(t, b)
		if _, _, err := Decode(b); err == nil {
			read++
		}
	})
	if read < 500 {
		t.Errorf("only %d texts of UTF-16 were read", read)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xFF\xFEa\x00\x3d\xd8\x00\xde"))
	f.Add([]byte("\xFE\xFF\xd8\x3d\xde\x00"))
	f.Add([]byte("\xFF\xFE\x00\x00"))
	f.Add([]byte("caf\xe9"))
	f.Fuzz(func(t *testing.T, b []byte) { checkCharset(t, b) })
}
