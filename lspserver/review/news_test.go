package review

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
)

// TestFindingU6BoundedNews: what the model is told of a review does not grow with the number of hunks; a whole turn or file
// is one sentence, and of others the first are told with their text and the rest are counted.
func TestFindingU6BoundedNews(t *testing.T) {
	const hunks = 300
	var content strings.Builder
	for i := range 2 * hunks {
		fmt.Fprintf(&content, "line %d of a file that a person and an agent share\n", i)
	}
	// edit changes every second line; turnOf says in which turn.
	edit := func(t *testing.T, turnOf func(i int) int) *desk {
		d := newDesk(t, content.String(), true)
		for i := range hunks {
			s, err := d.w.Read(t.Context(), d.path)
			if err != nil {
				t.Fatal(err)
			}
			at := s.Text.LineStart(2 * i)
			c := filetime.Change{Session: "s", Call: fmt.Sprint("call", i), Turn: turnOf(i), Files: []filetime.FileEdit{{
				Path: d.path, Base: s.Text, Rev: s.Rev, Edits: text.Set{{Start: at, End: at + len("line"), New: "LINE"}},
			}}}
			l, err := d.w.Commit(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			d.log.Landed(c, l)
		}
		return d
	}
	news := func(t *testing.T, d *desk) string {
		got, told := d.log.News(t.Context(), filepath.Base)
		told()
		if again, _ := d.log.News(t.Context(), filepath.Base); again != "" {
			t.Errorf("it is told twice: %s", again)
		}
		if len(got) > 8000 {
			t.Errorf("%d characters", len(got))
		}
		return got
	}
	oneTurn := func(int) int { return 1 }
	t.Run("a whole turn", func(t *testing.T) {
		d := edit(t, oneTurn)
		d.log.Reject(t.Context(), "", nil)
		want := "The user has reviewed your changes:\n\nAll 300 changes that you made in one turn were rejected and are not in the " +
			"files any more; do not make them again unasked: f.txt (300).\n"
		if got := news(t, d); got != want {
			t.Error(got)
		}
	})
	t.Run("a whole file of many turns", func(t *testing.T) {
		d := edit(t, func(i int) int { return 1 + i/2 })
		d.log.Reject(t.Context(), d.path, nil)
		want := "The user has reviewed your changes:\n\nf.txt: all 300 changes that you made to this file were rejected and are " +
			"not in it any more; do not make them again unasked.\n"
		if got := news(t, d); got != want {
			t.Error(got)
		}
	})
	t.Run("many whole turns", func(t *testing.T) {
		d := edit(t, func(i int) int { return 1 + i/6 })
		d.log.Reject(t.Context(), "", nil)
		if got := news(t, d); !strings.Contains(got, "So were all changes of 46 more turns.\n") {
			t.Error(got)
		}
	})
	t.Run("most of them", func(t *testing.T) {
		d := edit(t, oneTurn)
		marks := d.log.Marks(d.path)
		d.log.Accept("", []string{marks[0].ID})
		d.log.Reject(t.Context(), "", nil)
		got := news(t, d)
		if strings.Count(got, "\nChanges rejected, and not in the files any more") != 1 || strings.Count(got, "\n+LINE ") != maxTexts ||
			!strings.Contains(got, "-line 2 of a file that a person and an agent share\n+LINE 2 of a file") ||
			!strings.HasSuffix(got, "\n291 more changes were rejected and are not in the files any more; do not make them again unasked: f.txt (291).\n") {
			t.Error(got)
		}
	})
	t.Run("taken back and made again", func(t *testing.T) {
		d := edit(t, oneTurn)
		d.log.Reject(t.Context(), "", nil)
		news(t, d)
		d.log.Redo(t.Context(), Scope{All: true})
		if got := news(t, d); !strings.Contains(got, "292 more changes of which you were told otherwise are in the files again: f.txt (292).") {
			t.Error(got)
		}
	})
}

// TestFaultV15OneSentence: what became of changes is said once for all of them, and their texts follow by file.
func TestFaultV15OneSentence(t *testing.T) {
	reports := []report{
		{"1", "a.go", 1, newsRejected, "-a\n+A\n"},
		{"2", "a.go", 1, newsRejected, "-b\n+B\n"},
		{"3", "b.go", 2, newsRejected, "+c\n"},
		{"4", "b.go", 2, newsAmended, "-d\n+D\nThe text now, the user's choice:\n e\n"},
	}
	got := formatNews(reports, map[any]int{1: 9, 2: 9, "a.go": 9, "b.go": 9}, filepath.Base)
	want := `
Changes rejected, and not in the files any more; do not make them again unasked:
a.go:
-a
+A
…
-b
+B
b.go:
+c

Changes amended, what you wrote was rejected in part; read the text before you change it again:
b.go:
-d
+D
The text now, the user's choice:
 e
`
	if got != want {
		t.Error(got)
	}
}

// TestFindingU6ManyFiles: many files and turns make it no longer either, nor do long lines.
func TestFindingU6ManyFiles(t *testing.T) {
	var reports []report
	all := map[any]int{}
	for i := range 300 {
		path, turn := fmt.Sprintf("folder/file%d.txt", i), i/3
		for j := range 4 + i%2 {
			all[path], all[turn] = all[path]+1, all[turn]+1
			if i%3 == 2 && j == 4 {
				continue // it was accepted
			}
			text := strings.Repeat("x", 3*maxHunkBytes)
			reports = append(reports, report{fmt.Sprint(i, " ", j), path, turn, newsKind(i % 7 % 3), text})
		}
	}
	got := formatNews(reports, all, func(p string) string { return p })
	if len(got) > 8000+3*maxHunkBytes {
		t.Errorf("%d characters:\n%s", len(got), got)
	}
	for _, want := range []string{
		"that you made to this file were rejected", "So were all changes that you made to ", " more changes were amended", " more files.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
