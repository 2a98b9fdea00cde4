package text

import "testing"

// setOf reads a set over base out of bytes: distance, length and text of each edit.
func setOf(base string, data []byte) Set {
	var s Set
	at := 0
	for len(data) >= 3 && at <= len(base) {
		start := min(len(base), at+int(data[0])%16)
		end := min(len(base), start+int(data[1])%8)
		n := min(int(data[2])%6, len(data)-3)
		for splits(base, start) {
			start++
		}
		for end = max(end, start); splits(base, end); {
			end++
		}
		s = append(s, Edit{start, end, string(data[3 : 3+n])})
		data, at = data[3+n:], end
	}
	return s
}

func FuzzCompose(f *testing.F) {
	f.Add("one\r\ntwo\n", []byte{1, 2, 1, 'x', 3, 0, 2, '\r', '\n'}, []byte{0, 3, 0}, []byte{2, 2, 1, '\n'})
	f.Fuzz(func(t *testing.T, base string, x, y, z []byte) {
		a := setOf(base, x)
		mid := splice(base, a)
		b := setOf(mid, y)
		late := splice(mid, b)
		c := setOf(late, z)
		want := splice(late, c)
		left, right := Compose(Compose(a, b), c), Compose(a, Compose(b, c))
		if splice(base, left) != want || splice(base, right) != want {
			t.Fatalf("%q: %v, %v, %v give %v and %v", base, a, b, c, left, right)
		}
		got := left.Apply(New(base))
		sound(t, got)
		if back := left.Inverse(New(base)).Apply(got); back.String() != base {
			t.Fatalf("%q came back as %q", base, back)
		}
	})
}

func FuzzRebase(f *testing.F) {
	f.Add("one two\nthree\n", []byte{0, 3, 1, '1'}, []byte{4, 3, 2, '2', '\n'})
	f.Add("000", []byte("0\xe1\xe1020"), []byte("0\xe1\xe102020000000010000000000000"))
	f.Add("\xbb\xbb\x00\xd6", []byte("\x01\x00\xbb\xbb\x00\xd6\x00P\x1c՜~\xb2\xd1z\xfc\xc5/j\x85@\xc7"),
		[]byte("\xbb\xbb\xbb\xbb"))
	f.Add("a\xf0\x9f\r\n", []byte{3, 0, 2, 0x98, 0x80}, []byte{0, 1, 0})
	f.Fuzz(func(t *testing.T, base string, x, y []byte) {
		ours, theirs := setOf(base, x), setOf(base, y)
		r, m := Rebase(New(base), ours, theirs), RebaseTheirs(New(base), theirs, ours)
		if len(r.Conflicts) > 0 {
			checkConflicts(t, base, r)
			return
		}
		now, alone := New(splice(base, theirs)), New(splice(base, ours))
		if err := r.Set.Validate(now); err != nil {
			t.Fatal(err)
		}
		if err := m.Set.Validate(alone); err != nil {
			t.Fatal(err)
		}
		if a, b := r.Set.Apply(now).String(), m.Set.Apply(alone).String(); a != b {
			t.Fatalf("%q: ours %v, theirs %v give %q and %q", base, ours, theirs, a, b)
		}
		if !SameSpans(New(base), ours, now, r.Set) {
			t.Fatalf("%q: ours %v became %v over %q", base, ours, r.Set, now)
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\r\nc", "a\nc\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) < 4000 {
			checkDiff(t, a, b)
		}
	})
}

func FuzzLocate(f *testing.F) {
	f.Add("a\r\n b \n", "a\n b\n", "x", false)
	f.Add("“a”\n", `\"a\"`, "b", true)
	f.Add("\ta\n\tb\n", "a\nb\n", "a\nc", true)
	f.Fuzz(func(t *testing.T, s, old, new string, all bool) {
		if len(s) < 2000 {
			checkLocate(t, s, old, new, all)
			checkLocate(t, s, s, new, all)
		}
	})
}
