package text

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gitMerge merges texts with git merge-file. conflicts is how many places git leaves open.
func gitMerge(t *testing.T, git, dir, base, ours, theirs string) (text string, conflicts int) {
	t.Helper()
	paths := make([]string, 3)
	for i, s := range []string{theirs, base, ours} {
		paths[i] = filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(paths[i], []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(git, "merge-file", "-p", paths[0], paths[1], paths[2]).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 128 {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// open counts the places that a person would have to look at: conflicts with at most
// three lines between them are one to git.
func open(base Text, list []Conflict) int {
	n, last := 0, -10
	for _, c := range list {
		if base.Line(c.Start) > last+4 {
			n++
		}
		last = base.Line(c.End)
	}
	return n
}

// untouched fails where a merge changes a byte that neither side has changed.
func untouched(t failer, base string, ours, theirs, merged Set) {
	sides := [2]Set{ours, theirs}
	for _, m := range merged {
		for at := m.Start; at < m.End; at++ {
			by := false
			for i, s := range sides {
				for len(s) > 0 && s[0].End <= at {
					s = s[1:]
				}
				sides[i] = s
				by = by || len(s) > 0 && s[0].Start <= at
			}
			if !by {
				t.Fatalf("byte %d (%q) is in no edit of either side, and in %v", at, base[at], m)
			}
		}
	}
}

// doubled returns the lines with a word in them that both sides have put in and that stand in the merge more often than
// in any of the two texts and in what git makes of them. Where git leaves places open, it shows what both want there.
func doubled(base, ours, theirs, merged, git string) []string {
	count := func(s string) map[string]int {
		n := map[string]int{}
		for l := range strings.Lines(s) {
			if l = strings.TrimSuffix(l, "\n"); containsWord(l) {
				n[l]++
			}
		}
		return n
	}
	b, o, t, g := count(base), count(ours), count(theirs), count(git)
	var out []string
	for l, n := range count(merged) {
		if o[l] > b[l] && t[l] > b[l] && n > max(o[l], t[l], g[l]) {
			out = append(out, l)
		}
	}
	return out
}

// TestMergeOfRealFiles has two people change files of Go's library, three times in ten
// at the same place, and compares with git merge-file. Each file is changed anew three
// times. In every second round both have also put in lines of which some are the same,
// at places that may differ by the lines that are like them.
func TestMergeOfRealFiles(t *testing.T) {
	t.Parallel()
	const files, rounds = 340, 3
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here")
	}
	dir := t.TempDir()
	var clean, same, refused, more, places, gitPlaces, twice, copies int
	all := corpus(t, files, 1)
	for i := range files * rounds {
		base := all[i%files]
		r := rand.New(rand.NewPCG(uint64(i), 3))
		lines := strings.SplitAfter(base, "\n")
		hot := r.IntN(len(lines))
		one := author{r, "both"}
		common := []string{one.line(), "\n", one.line()}
		edit := func(who string) string {
			a, out := author{r, who}, lines
			if (i/files)%2 == 1 {
				more := slices.Clone(common[:1+r.IntN(3)])
				for range r.IntN(3) - 1 {
					more = slices.Insert(more, r.IntN(len(more)+1), a.line())
				}
				out = slices.Insert(slices.Clone(out), hot, more...)
			}
			for range 1 + r.IntN(5) {
				at := r.IntN(len(out))
				if r.IntN(10) < 3 {
					at = min(max(0, hot+r.IntN(7)-3), len(out)-1)
				}
				out = a.change(out, at)
			}
			return strings.Join(out, "")
		}
		ours, theirs := edit("agent"), edit("user")
		want, conflicts := gitMerge(t, git, dir, base, ours, theirs)
		x := New(base)
		a, b := Diff(x, New(ours)), Infer(x, New(theirs))
		m := Rebase(x, a, b)
		if conflicts == 0 {
			clean++
		}
		gitPlaces += conflicts
		switch {
		case len(m.Conflicts) > 0:
			refused++
			places += open(x, m.Conflicts)
			own := slices.ContainsFunc(m.Conflicts, func(k Conflict) bool { return k.Rule == RuleDoubled })
			if own {
				twice++
			}
			if conflicts == 0 && !own {
				t.Errorf("file %d: git merges, we do not: %+v", i, m.Conflicts)
			}
			if n := open(x, m.Conflicts); n > conflicts && !own {
				t.Errorf("file %d: %d conflicts, git has %d: %+v", i, n, conflicts, m.Conflicts)
			}
			continue
		case conflicts > 0:
			more++
		case m.Set.Apply(New(theirs)).String() == want:
			same++
		default:
			t.Logf("file %d: merged otherwise than git: %v", i, Diff(New(want), m.Set.Apply(New(theirs))))
		}
		if list := doubled(base, ours, theirs, m.Set.Apply(New(theirs)).String(), want); len(list) > 0 {
			copies++
			t.Logf("file %d: these lines stand there twice: %q", i, list)
		}
		whole := Compose(b, m.Set)
		if splice(base, whole) != m.Set.Apply(New(theirs)).String() {
			t.Fatalf("file %d: the merge is not the merge", i)
		}
		untouched(t, base, a, b, whole)
	}
	t.Logf("of %d changes of %d files git merged %d, we %d of the same with the same result and %d more; "+
		"%d and %d places left open; in %d merges both sides put the same line in at one place",
		files*rounds, files, clean, same, more, gitPlaces, places, twice)
	if clean < 300 || refused < 60 || twice < 30 {
		t.Error("too few of a kind to mean anything")
	}
	// What stands twice is a line that came of several edits of one side.
	if copies > files*rounds/200 {
		t.Errorf("lines that both sides put in stand twice in %d merges", copies)
	}
	if float64(same) < 0.99*float64(clean) {
		t.Errorf("the same result in %d of %d files", same, clean)
	}
}
