package stored

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	versions := [][]byte{[]byte("a\nB\nc\n5\n"), []byte("a\nb\nc\n5\n"), []byte("a\nB\nc\n"), nil, []byte("a\nb\nc\nd")}
	for data, want := range map[string]int{
		"a\nB\nc\n5\n6\n": 0, "a\nb\nc\n5\n6\n": 1, "a\nB\nc\n6\n": 2, "x\n": 3, "": 3, "a\nb\nc\nd": 4,
		"0\na\nB\nc\n5\n": 0, "0\na\nb\nc\n5\n": 1,
	} {
		if got := Nearest(versions, []byte(data)); got != want {
			t.Errorf("%q is nearest to %d, want %d", data, got, want)
		}
	}
	// The same lines in another order are another text, and lines that were added are nearer than
	// one that has moved.
	moved := [][]byte{[]byte("a\nc\nb\n"), []byte("a\nb\nd\nc\n"), []byte("a\nb\n")}
	for data, want := range map[string]int{"a\nb\nc\n": 2, "a\nb\nc\nd\n": 2, "a\nb\nd\nc\ne\n": 1, "a\nc\nb\n": 0} {
		if got := Nearest(moved, []byte(data)); got != want {
			t.Errorf("%q is nearest to %d, want %d", data, got, want)
		}
	}
}

// TestDistance compares with the longest common subsequence as the textbook has it, of lines that
// repeat.
func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() (lines []string) {
		for range r.IntN(9) {
			lines = append(lines, string(rune('a'+r.IntN(4)))+"\n")
		}
		return lines
	}
	for range 5000 {
		a, b := text(), text()
		common := make([][]int, len(a)+1)
		for i := range common {
			common[i] = make([]int, len(b)+1)
			for j := range common[i] {
				switch {
				case i == 0 || j == 0:
				case a[i-1] == b[j-1]:
					common[i][j] = common[i-1][j-1] + 1
				default:
					common[i][j] = max(common[i-1][j], common[i][j-1])
				}
			}
		}
		n := common[len(a)][len(b)]
		want := len(b) - n + 2*(len(a)-n)
		x, y := []byte(strings.Join(a, "")), []byte(strings.Join(b, ""))
		if got := distance(x, y, -1); got != want {
			t.Fatalf("from %q to %q it is %d, want %d", x, y, got, want)
		}
		if got := distance(x, y, want); got < want {
			t.Fatalf("from %q to %q it is %d below %d", x, y, got, want)
		}
	}
	// An agent's edit, and a save of the text with it, both of lines that are everywhere.
	before := "top\nf0\ng0\n}\nmid\np0\nq0\n}\nend\n"
	edited := strings.Replace(before, "mid\n", "mid\nagent\n}\n", 1)
	saved := strings.Replace(edited, "top\n", "top\nnew\n}\n", 1) + "last\n"
	if got := Nearest([][]byte{[]byte(before), []byte(edited)}, []byte(saved)); got != 1 {
		t.Error("the save is taken for one of the text before the edit")
	}
	deleted := strings.Replace(saved, "agent\n}\n", "", 1)
	if got := Nearest([][]byte{[]byte(edited), []byte(before)}, []byte(deleted)); got != 1 {
		t.Error("the save is taken for one of the text with the edit")
	}
	many := strings.Repeat("}\n", 2000)
	if got := distance([]byte("a\n"+many), []byte("b\n"+many+"c\n"), -1); got != 4 {
		t.Errorf("it is %d with many like lines", got)
	}
}
