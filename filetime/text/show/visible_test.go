package show_test

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"tandem/filetime/text/show"
)

func TestFindingS3S4Visible(t *testing.T) {
	for _, c := range []struct{ name, in, line, lines string }{
		{"plain", `go test ./... | tail -5 \u{1b}`, ``, ``},
		{"other scripts", "Größe — 漢字 עברית हिन्दी 🦀 é e\u0301", ``, ``},
		{"blank of its own width", "a\u00a0b\u3000c", ``, ``},
		{"escape sequence", "\x1b[2K\x1b[1Aok", `\u{1b}[2K\u{1b}[1Aok`, ``},
		{"clipboard by OSC 52", "\x1b]52;c;cm0=\a", `\u{1b}]52;c;cm0=\u{7}`, ``},
		{"NUL, DEL", "a\x00b\x7f", `a\u{0}b\u{7f}`, ``},
		{"C1", "\u009b31m\u0085", `\u{9b}31m\u{85}`, ``},
		{"line ends", "a\nb\tc\r\n", `a\u{a}b\u{9}c\u{d}\u{a}`, "a\nb\tc\\u{d}\n"},
		{"carriage return over the line", "rm -rf /\rls", `rm -rf /\u{d}ls`, ``},
		{"bidi", "a\u202eb\u2066c\u2069\u200f\u061c", `a\u{202e}b\u{2066}c\u{2069}\u{200f}\u{61c}`, ``},
		{"zero width", "a\u200bb\u200c\u200d\u2060\ufeff\u00ad", `a\u{200b}b\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}`, ``},
		{"fillers", "\u115f\u1160\u3164\uffa0\u034f", `\u{115f}\u{1160}\u{3164}\u{ffa0}\u{34f}`, ``},
		{"tags", "a\U000E0001\U000E0041\U000E007F\U000E0FFF", `a\u{e0001}\u{e0041}\u{e007f}\u{e0fff}`, ``},
		{"separators", "a\u2028b\u2029c", `a\u{2028}b\u{2029}c`, ``},
		{"bytes in selectors", "a\ufe00\U000E0100", `a\u{fe00}\u{e0100}`, ``},
		{"an emoji keeps its selector", "⚠\ufe0f careful", ``, ``},
		{"no more than one of them", "⚠\ufe0f\ufe0f", "⚠\ufe0f" + `\u{fe0f}`, ``},
		{"and no letter has one", "a\ufe0f$\ufe0f", `a\u{fe0f}$\u{fe0f}`, ``},
		{"broken UTF-8", "a\xffb\xc3", `a\x{ff}b\x{c3}`, ``},
		{"the replacement character itself", "a\ufffdb", ``, ``},
		{"a surrogate", "\xed\xa0\x80", `\x{ed}\x{a0}\x{80}`, ``},
		{"empty", "", ``, ``},
	} {
		if c.line == "" {
			c.line = c.in
		}
		if c.lines == "" {
			c.lines = c.line
		}
		if got := show.Visible(c.in, false); got != c.line {
			t.Errorf("%s: one line: %q, want %q", c.name, got, c.line)
		}
		if got := show.Visible(c.in, true); got != c.lines {
			t.Errorf("%s: lines: %q, want %q", c.name, got, c.lines)
		}
	}
}

func TestFindingS3VisibleIsTheSameString(t *testing.T) {
	clean := strings.Repeat("wäre 1 ⚠\ufe0f;", 1000)
	for _, multiline := range []bool{false, true} {
		if n := testing.AllocsPerRun(10, func() { show.Visible(clean, multiline) }); n != 0 {
			t.Errorf("%v allocations for a clean text: it was copied", n)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[0m\n", "\u202e\xff", "⚠\ufe0f\ufe0f", "\U000E0041", "\r\n\t"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, in string, multiline bool) {
		got := show.Visible(in, multiline)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if again := show.Visible(got, multiline); again != got {
			t.Fatalf("%q became %q", got, again)
		}
		for _, r := range got {
			if r == '\n' || r == '\t' {
				if !multiline {
					t.Fatalf("%q is not one line", got)
				}
				continue
			}
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) ||
				unicode.Is(unicode.Join_Control, r) || r >= 0xE0000 && r < 0xE1000 {
				t.Fatalf("%q has %U", got, r)
			}
		}
		if multiline && strings.Count(in, "\n") != strings.Count(got, "\n") {
			t.Fatalf("%q has another number of lines than %q", got, in)
		}
	})
}

// The Neovim client has the table of hidden characters written out, since Lua knows no classes of Unicode.
func TestFindingS3HiddenInNeovim(t *testing.T) {
	source, err := os.ReadFile("../../../editors/nvim/lua/tandem/visible.lua")
	if err != nil {
		t.Fatal(err)
	}
	hidden := map[rune]bool{}
	for _, m := range regexp.MustCompile(`\{ 0x([0-9a-f]+), 0x([0-9a-f]+) \}`).FindAllStringSubmatch(string(source), -1) {
		from, err1 := strconv.ParseInt(m[1], 16, 32)
		to, err2 := strconv.ParseInt(m[2], 16, 32)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for r := rune(from); r <= rune(to); r++ {
			hidden[r] = true
		}
	}
	for r := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		if here := show.Visible(string(r), false) != string(r); here != hidden[r] {
			t.Errorf("U+%04X: hidden here is %v, in Neovim %v", r, here, hidden[r])
		}
	}
}
