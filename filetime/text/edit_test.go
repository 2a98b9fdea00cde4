package text

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestApplySplices(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base", 20)
		s := drawSet(t, "s", base, 5)
		if err := s.Validate(New(base)); err != nil {
			t.Fatal(err)
		}
		got := s.Apply(New(base))
		if want := splice(base, s); got.String() != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		sound(t, got)
	})
}

func TestInverseIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base", 20)
		s := drawSet(t, "s", base, 5)
		after := s.Apply(New(base))
		inv := s.Inverse(New(base))
		if err := inv.Validate(after); err != nil {
			t.Fatalf("inverse %v of %v: %v", inv, s, err)
		}
		if got := inv.Apply(after).String(); got != base {
			t.Fatalf("inverse %v of %v gives %q, want %q", inv, s, got, base)
		}
	})
}

func TestComposeIsExactAndAssociative(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base", 20)
		a := drawSet(t, "a", base, 4)
		mid := splice(base, a)
		b := drawSet(t, "b", mid, 4)
		late := splice(mid, b)
		c := drawSet(t, "c", late, 4)

		ab := Compose(a, b)
		if err := ab.Validate(New(base)); err != nil {
			t.Fatalf("%v after %v = %v: %v", b, a, ab, err)
		}
		if got := splice(base, ab); got != late {
			t.Fatalf("%v after %v = %v gives %q, want %q", b, a, ab, got, late)
		}
		for i := 1; i < len(ab); i++ {
			if ab[i-1].End >= ab[i].Start {
				t.Fatalf("edits touch: %v", ab)
			}
		}
		left, right := Compose(ab, c), Compose(a, Compose(b, c))
		if !slices.Equal(left, right) {
			t.Fatalf("(ab)c = %v, a(bc) = %v", left, right)
		}
		if all := ComposeAll([]Set{a, b, c}); !slices.Equal(all, left) {
			t.Fatalf("by halves %v, in order %v", all, left)
		}
	})
}

func TestComposeKeystrokes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base", 10)
		now := base
		var keys []Set
		for range rapid.IntRange(0, 20).Draw(t, "keys") {
			s := drawSet(t, "key", now, 1)
			keys = append(keys, s)
			now = splice(now, s)
		}
		if got := splice(base, ComposeAll(keys)); got != now {
			t.Fatalf("got %q, want %q", got, now)
		}
	})
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		base string
		a, b Set
	}{
		{"abc", Set{{0, 1, "x"}, {1, 2, "y"}}, Set{{0, 2, "xy"}}},
		{"abc", Set{{0, 3, "aXc"}}, Set{{1, 2, "X"}}},
		{"abc", Set{{0, 3, "abc"}}, nil},
		{"aab", Set{{0, 0, "a"}}, Set{{2, 2, "a"}}},
		{"aab", Set{{0, 1, ""}}, Set{{1, 2, ""}}},
		{"f(a, c)", Set{{3, 3, ", b"}}, Set{{5, 5, "b, "}}},
		{"xx", Set{{0, 0, "x"}, {2, 2, "y"}}, Set{{2, 2, "xy"}}},
		{"a\nb\n", Set{{2, 2, "b\n"}}, Set{{4, 4, "b\n"}}},
		{"a\r\nb", Set{{1, 3, "\n"}}, Set{{1, 3, "\n"}}}, // not cut inside the CRLF
		{"é", Set{{0, 2, "è"}}, Set{{0, 2, "è"}}},        // nor inside a rune
	} {
		a, b := Canonical(New(tt.base), tt.a), Canonical(New(tt.base), tt.b)
		if !slices.Equal(a, b) || splice(tt.base, a) != splice(tt.base, tt.a) || !slices.Equal(b, tt.b) {
			t.Errorf("%q: %v and %v became %v and %v", tt.base, tt.a, tt.b, a, b)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base", 20)
		s := drawSet(t, "s", base, 5)
		c := Canonical(New(base), s)
		if err := c.Validate(New(base)); err != nil {
			t.Fatal(err)
		}
		if got, want := splice(base, c), splice(base, s); got != want {
			t.Fatalf("%v became %v: %q, want %q", s, c, got, want)
		}
		if again := Canonical(New(base), c); !slices.Equal(again, c) {
			t.Fatalf("%v is not stable: %v", c, again)
		}
	})
}

func TestMapPos(t *testing.T) {
	t.Parallel()
	s := Set{{2, 2, "xx"}, {4, 6, "y"}, {8, 10, ""}}
	for _, tt := range []struct{ off, before, after int }{
		{0, 0, 0}, {2, 2, 4}, {3, 5, 5}, {4, 6, 6}, {5, 6, 7}, {6, 7, 7}, {8, 9, 9}, {9, 9, 9}, {10, 9, 9}, {12, 11, 11},
	} {
		if b, a := s.MapPos(tt.off, false), s.MapPos(tt.off, true); b != tt.before || a != tt.after {
			t.Errorf("MapPos(%d) = %d, %d, want %d, %d", tt.off, b, a, tt.before, tt.after)
		}
	}
	// A place that no edit touches keeps what is on both sides of it.
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base", 20)
		s := drawSet(t, "s", base, 5)
		off := rapid.SampledFrom(places(base)).Draw(t, "off")
		last := 0
		for _, e := range s {
			last = max(last, e.End)
			if e.Start <= off && off <= e.End {
				return
			}
		}
		after := splice(base, s)
		p := s.MapPos(off, false)
		if q := s.MapPos(off, true); q != p {
			t.Fatalf("%d and %d", p, q)
		}
		if off > 0 && after[p-1] != base[off-1] || off < len(base) && after[p] != base[off] {
			t.Fatalf("%d of %q became %d of %q", off, base, p, after)
		}
		if off >= last && after[p:] != base[off:] {
			t.Fatalf("the rest is %q, want %q", after[p:], base[off:])
		}
	})
}

func TestValidateRefuses(t *testing.T) {
	base := New("aé\r\nz")
	for _, s := range []Set{
		{{-1, 0, ""}},
		{{1, 0, ""}},
		{{0, 7, ""}},
		{{0, 3, ""}, {1, 1, ""}},
		{{3, 3, ""}, {1, 1, ""}},
		{{2, 3, ""}}, // inside é
		{{0, 4, ""}}, // inside the CRLF
	} {
		if s.Validate(base) == nil {
			t.Errorf("%v is taken", s)
		}
	}
	if err := (Set{{0, 1, ""}, {1, 1, "x"}, {3, 5, ""}, {6, 6, "y"}}).Validate(base); err != nil {
		t.Error(err)
	}
}

func TestSnapWidens(t *testing.T) {
	base := New("a\r\né")
	for _, tt := range []struct{ in, want Set }{
		{Set{{2, 2, "x"}}, Set{{1, 3, "\rx\n"}}},
		{Set{{0, 2, "x"}, {2, 4, "y"}}, Set{{0, 5, "xy\xa9"}}},
		{Set{{2, 3, ""}}, Set{{1, 3, "\r"}}},
	} {
		if got := snapToRunes(base, tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%v became %v, want %v", tt.in, got, tt.want)
		}
	}
}

func TestApplyKeepsUntouchedChunks(t *testing.T) {
	base := New(strings.Repeat("some text of a line\n", 10_000))
	after := base.Replace(100_000, 100_003, "other")
	shared := 0
	for _, p := range after.c.parts {
		if slices.Contains(base.c.parts, p) {
			shared++
		}
	}
	if shared < len(base.c.parts)-3 {
		t.Errorf("%d of %d chunks are shared", shared, len(base.c.parts))
	}
}
