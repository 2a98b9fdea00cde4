package text

import (
	"errors"
	"testing"
)

// TestFaultW4Ends quotes whole lines, as models do, of texts whose last line has no line end.
func TestFaultW4Ends(t *testing.T) {
	for _, tt := range []struct {
		text, old, new string
		all            bool
		want           string
		tier           int
	}{
		{"a\nb", "b\n", "B\n", false, "a\nB", TierLineEnds},
		{"a\nb", "a\nb\n", "a\nB\n", false, "a\nB", TierLineEnds},
		{"a\nb", "b\n", "B", false, "a\nB", TierLineEnds},
		{"a\nb", "b\n", "b\nc\n", false, "a\nb\nc", TierLineEnds},
		{"a\nb", "b\n", "", false, "a\n", TierLineEnds},
		{"a\nb", "a\nb\n", "a\n", false, "a", TierLineEnds},
		{"a\r\nb", "a\nb\n", "a\nB\nc\n", false, "a\r\nB\r\nc", TierLineEnds},
		{"only", "only\n", "ONLY\n", false, "ONLY", TierLineEnds},
		{"only", "only\r\n", "ONLY\r\n", false, "ONLY", TierLineEnds},
		{"x\n  a\n  b", "a\nb\n", "a\nB\n", false, "x\n  a\n  B", TierIndent},
		{"x\na  \nb", "a\nb\n", "a\nB\n", false, "x\na  \nB", TierTrailing},
		{"b\na\nb", "b\n", "B\n", true, "B\na\nB", TierLineEnds},
		{"b\na", "b\n", "B\n", true, "B\na", TierLineEnds},
		{"a\nb\n", "b\n", "B\n", false, "a\nB\n", TierExact},
		{"b\na\nb", "b\n", "B\n", false, "B\na\nb", TierExact},
	} {
		f, err := Locate(New(tt.text), tt.old, tt.new, tt.all)
		if err != nil {
			t.Errorf("%q in %q: %v", tt.old, tt.text, err)
			continue
		}
		if got := f.Edits.Apply(New(tt.text)).String(); got != tt.want || f.Tier != tt.tier {
			t.Errorf("%q in %q: %q by %s, want %q", tt.old, tt.text, got, f.TierName, tt.want)
		}
		for _, m := range f.Matches {
			if m.End > len(tt.text) || m.Start > m.End {
				t.Errorf("%q in %q: found at %v", tt.old, tt.text, m)
			}
		}
	}
}

// TestFaultW4BlankLines quotes a line with blank lines around it that the text has not.
func TestFaultW4BlankLines(t *testing.T) {
	for _, tt := range []struct{ text, old, new, want string }{
		{"a\nb\nc\n", "b\n\n", "B\n\n", "a\nB\nc\n"},
		{"a\nb\nc\n", "b\n\n", "B\n", "a\nB\nc\n"},
		{"a\nb\nc\n", "b\n\n", "b\n\nx\n\n", "a\nb\n\nx\nc\n"},
		{"a\nb\nc\n", "\na\nb\n", "\nA\nb\n", "A\nb\nc\n"},
		{"a\n\nb\nc\n", "\n\n\nb\n", "\n\n\nB\n", "a\n\nB\nc\n"},
		{"a\nb", "b\n\n", "B\n\n", "a\nB"},
		{"a\r\nb\r\n", "\nb\n\n", "\nB\n\n", "a\r\nB\r\n"},
		{"a\nb\nc\n", "b\n  \n", "", "a\nc\n"},
		{"a\nb\nb\n", "b\n\n\n", "B\n", "!"},
		{"a\nb\nc\n", "b\n\nc\n", "B\n", "!"},
		{"a\nb\nc\n", "b\n\n", "b\n", "!"},
	} {
		f, err := LocateBare(New(tt.text), tt.old, tt.new, false)
		got := "!"
		if err == nil {
			got = f.Edits.Apply(New(tt.text)).String()
		}
		if got != tt.want || err == nil && f.Tier != TierEnds {
			t.Errorf("%q in %q: %q by %s (%v), want %q", tt.old, tt.text, got, f.TierName, err, tt.want)
		}
	}
	var none *NotFoundError
	if _, err := Locate(New("a\nb\nc\n"), "b\n\n", "B\n", false); !errors.As(err, &none) {
		t.Errorf("in a text of which it was not made: %v", err)
	}
}
