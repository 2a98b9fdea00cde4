package text

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text string
		off  int
		s    string
		want string
	}{
		{"a\r\nb\r\n", 3, "x\ny\n", "x\r\ny\r\n"},
		{"a\r\nb\r\n", 3, "x\r\ny\n", "x\r\ny\r\n"},
		{"a\nb\n", 2, "x\r\n", "x\n"},
		{"a\r\nb\nc\n", 0, "x\n", "x\r\n"}, // that of the line
		{"a\r\nb\nc\n", 3, "x\n", "x\n"},
		{"a\r\nb", 4, "\nx", "\r\nx"}, // that of the line before
		{"a\rb\r", 2, "x\n", "x\r"},
		{"a", 1, "\r\nx\n", "\r\nx\n"}, // none to go by
		{"", 0, bom + "x\r\n", bom + "x\r\n"},
		{bom + "a\n", 3, bom + "x\n", "x\n"},
		{"a\nb\n", 0, bom + "x\n", "x\n"},
	} {
		if got := Fit(New(tt.text), tt.off, tt.s); got != tt.want {
			t.Errorf("%q at %d of %q: %q, want %q", tt.s, tt.off, tt.text, got, tt.want)
		}
	}
}

func TestF093OverwriteKeepsFormat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, content, want string }{
		{"LF", "a\nb\n", "a\nx\n", "a\nx\n"},
		{"CRLF", "a\r\nb\r\n", "a\nx\ny\n", "a\r\nx\r\ny\r\n"},
		{"CRLF given", "a\r\nb\r\n", "a\r\nx\r\n", "a\r\nx\r\n"},
		{"CRLF given for LF", "a\nb\n", "a\r\nx\r\n", "a\nx\n"},
		{"mixed", "a\nb\r\nc\n", "a\nb\nx\nc\n", "a\nb\r\nx\nc\n"},
		{"BOM", bom + "a\nb\n", "x\nb\n", bom + "x\nb\n"},
		{"BOM given", bom + "a\nb\n", bom + "x\nb\n", bom + "x\nb\n"},
		{"BOM alone", bom, "x\n", bom + "x\n"},
		{"emptied", bom + "a\r\n", "", bom},
		{"final line end taken away", "a\r\nb\r\n", "a\nb", "a\r\nb"},
		{"final line end added", "a\r\nb", "a\nb\n", "a\r\nb\r\n"},
		{"stray CR stays", "a\rb\r\nc\r\n", "a\rb\nx\n", "a\rb\r\nx\r\n"},
		{"empty", "", bom + "a\r\n", bom + "a\r\n"},
		{"one line", "a", "b\r\nc", "b\r\nc"},
		{"the same", "a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := New(tt.text)
			s := Overwrite(base, tt.content)
			if err := s.Validate(base); err != nil {
				t.Fatal(err)
			}
			if got := s.Apply(base).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text, content := drawText(t, "text", 12), drawText(t, "content", 12)
		base := New(text)
		s := Overwrite(base, content)
		if err := s.Validate(base); err != nil {
			t.Fatal(err)
		}
		got := s.Apply(base).String()
		if strings.HasPrefix(text, bom) != strings.HasPrefix(got, bom) && text != "" && !strings.Contains(content, bom+bom) {
			t.Fatalf("BOM of %q and %q", text, got)
		}
		plain := func(s string) string {
			s = strings.TrimPrefix(s, bom)
			return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
		}
		if plain(got) != plain(content) && !strings.Contains(text+content, "\r") && !strings.Contains(content, bom+bom) {
			t.Fatalf("%q over %q gives %q", content, text, got)
		}
	})
}

func TestViewGoesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawText(t, "text", 15)
		for _, how := range []fold{0, leading, leading | trailing, leading | trailing | glyphs} {
			v := project(s, how)
			if strings.Contains(v.s, "\r") || how&^leading == 0 && strings.Count(v.s, "\n") != countEOL(s) {
				t.Fatalf("%q became %q", s, v.s)
			}
			last := -1
			for p := range len(v.s) + 1 {
				off := v.src(p)
				if off <= last || off > len(s) || v.srcAfter(p) < off || v.find(off) != p {
					t.Fatalf("%q: %d of %q stands for %d, and back for %d", s, p, v.s, off, v.find(off))
				}
				if p < len(v.s) && v.s[p] != '\n' && how&^leading == 0 && s[off] != v.s[p] {
					t.Fatalf("%q: %d of %q stands for %d", s, p, v.s, off)
				}
				last = off
			}
		}
	})
	lines := strings.Split(project("a \r\n\tb\t\r\n \n", trailing).s, "\n")
	if !slices.Equal(lines, []string{"a", "\tb", "", ""}) {
		t.Errorf("got %q", lines)
	}
}
