package shell

import (
	"slices"
	"testing"
)

// TestTestsThatRead: of the builtin test, what looks at files and numbers reads; what looks at variables, and what is no test, is asked about.
func TestTestsThatRead(t *testing.T) {
	for _, tt := range []struct {
		args  []string
		fine  bool
		reads []string
	}{
		{nil, false, nil},
		{[]string{"x"}, true, nil},
		{[]string{"!"}, true, nil},
		{[]string{"!", "x"}, true, nil},
		{[]string{"-f", "a"}, true, []string{"a"}},
		{[]string{"!", "-f", "a"}, true, []string{"a"}},
		{[]string{"-G", "a"}, true, []string{"a"}},
		{[]string{"-n", "a"}, true, nil},
		{[]string{"-z", "a"}, true, nil},
		{[]string{"-v", "a[$(x)]"}, false, nil},
		{[]string{"-R", "a"}, false, nil},
		{[]string{"-t", "1"}, false, nil},
		{[]string{"-ff", "a"}, false, nil},
		{[]string{"f", "a"}, false, nil},
		{[]string{"a", "=", "b"}, true, nil},
		{[]string{"a", "!=", "b"}, true, nil},
		{[]string{"1", "-eq", "2"}, true, nil},
		{[]string{"a", "-nt", "b"}, true, []string{"a", "b"}},
		{[]string{"", "-ot", "b"}, true, []string{"b"}},
		{[]string{"-e", "a", "b"}, false, nil},
		{[]string{"a", "-x", "b"}, false, nil},
	} {
		words := []value{exactly("test")}
		for _, a := range tt.args {
			words = append(words, exactly(a))
		}
		r := &reader{}
		r.tests(words, []string{""})
		ok := r.opaque == ""
		var got []string
		for _, r := range r.reads {
			got = append(got, r.Path)
		}
		if ok != tt.fine || ok && !slices.Equal(got, tt.reads) {
			t.Errorf("%q: %q, %v", tt.args, got, ok)
		}
	}
}

// TestSpellingsOfGit: a rule about a command covers it by its path, and git with a command in either form.
func TestSpellingsOfGit(t *testing.T) {
	for _, tt := range []struct{ argv, also []string }{
		{[]string{"/usr/bin/git", "push"}, []string{"git", "push"}},
		{[]string{"git-push", "x"}, []string{"git", "push", "x"}},
		{[]string{"/usr/lib/git-core/git-push"}, []string{"git", "push"}},
		{[]string{"git", "-C", "x", "push"}, []string{"git", "push"}},
		{[]string{"/bin/rm", "x"}, []string{"rm", "x"}},
	} {
		forms := Spellings(tt.argv)
		if !slices.Equal(forms[0], tt.argv) || !slices.ContainsFunc(forms, func(f []string) bool { return slices.Equal(f, tt.also) }) {
			t.Errorf("%q: %q", tt.argv, forms)
		}
	}
	for _, argv := range [][]string{nil, {""}, {"rm", "x"}} {
		if forms := Spellings(argv); len(forms) != 1 {
			t.Errorf("%q: %q", argv, forms)
		}
	}
}

// TestUnreadableTexts: what people do not see, and what parsers may read in two ways.
func TestUnreadableTexts(t *testing.T) {
	for text, fine := range map[string]bool{
		"ls": true, "l\ts\n": true, "é ü 日本 ✓ €": true, "e\u0301": true, "ls \x7f": false, "ls \x1f": false, "ls \r": false, "ls \x00": false, "ls \u0085": false, "ls \u200b": false, "ls \u202e": false,
		"ls \u00a0": false, "ls \u00ad": false, "ls \ufe0f": false, "ls \xff": false, "ls \\\n-l": false, "ls \\n": true, "ls \U000e0041": false, "ls \u3164": false, "ls \u2028": false,
	} {
		if why := unreadable(text); (why == "") != fine {
			t.Errorf("%q: %q", text, why)
		}
	}
}
