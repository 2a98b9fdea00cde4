package text

import (
	"go/build"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// corpus returns n files of Go's standard library, the same for the same seed and
// release of Go. It skips the test where there are no sources.
func corpus(t testing.TB, n int, seed uint64) []string {
	t.Helper()
	root := filepath.Join(build.Default.GOROOT, "src")
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > 1<<10 && info.Size() < 48<<10 {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil || len(paths) < n {
		t.Skipf("the sources of Go are not here: %d files, %v", len(paths), err)
	}
	slices.Sort(paths)
	r := rand.New(rand.NewPCG(seed, 11))
	r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	out := make([]string, 0, n)
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil && utf8.Valid(b) && len(out) < n {
			out = append(out, string(b))
		}
	}
	return out
}

// author changes source code as people and models do, a few places at a time.
type author struct {
	r   *rand.Rand
	who string
}

// words returns where the identifiers of a line begin and end.
func words(line string) []Range {
	var out []Range
	for at := 0; at < len(line); {
		n := tokenEnd(line[at:])
		if c, _ := utf8.DecodeRuneInString(line[at:]); isWord(c) {
			out = append(out, Range{at, at + n})
		}
		at += n
	}
	return out
}

// renamed returns the line with another word in the place of one of its own.
func (a author) renamed(line string) string {
	ws := words(line)
	if len(ws) == 0 {
		return a.line()
	}
	w := ws[a.r.IntN(len(ws))]
	return line[:w.Start] + a.word() + line[w.End:]
}

func (a author) word() string {
	return a.who + []string{"Count", "Index", "Name", "Err", "Buf", "Next"}[a.r.IntN(6)] + string(rune('A'+a.r.IntN(26)))
}

func (a author) line() string {
	return strings.Repeat("\t", 1+a.r.IntN(3)) + a.word() + " := " + a.word() + "(" + a.word() + ")\n"
}

// change makes one change near a line.
func (a author) change(lines []string, at int) []string {
	size := min(1+a.r.IntN(4), len(lines)-at)
	block := slices.Clone(lines[at : at+size])
	switch a.r.IntN(10) {
	case 0, 1, 2:
		block[0] = a.renamed(block[0])
	case 3, 4:
		block = append(block, a.line())
		if a.r.IntN(2) == 0 {
			block = append(block, a.line(), "\n")
		}
	case 5:
		block = nil
	case 6: // the same again, with other names
		for _, l := range lines[at : at+size] {
			block = append(block, a.renamed(l))
		}
	case 7:
		for i, l := range block {
			if strings.TrimSpace(l) != "" {
				block[i] = "\t" + l
			}
		}
		block = append([]string{"\tif " + a.word() + " {\n"}, append(block, "\t}\n")...)
	case 8:
		for i := range block {
			block[i] = a.line()
		}
	default: // moved
		to := a.r.IntN(len(lines) - size + 1)
		rest := slices.Delete(slices.Clone(lines), at, at+size)
		return slices.Insert(rest, to, block...)
	}
	return slices.Replace(slices.Clone(lines), at, at+size, block...)
}
