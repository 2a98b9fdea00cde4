package conformance

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// goldenOrder is the order in which goldens stand in a file: what happened, what it led to, then the messages.
func goldenOrder(goldens map[string]string) []string {
	rank := func(name string) int {
		return slices.IndexFunc([]string{"@updates", "@result", "@buffer/", "@disk/", "@outside/", "@wire"},
			func(p string) bool { return strings.HasPrefix(name, p) })
	}
	return slices.SortedFunc(maps.Keys(goldens), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
	})
}

// compare finds where the goldens of a run differ from those of the file.
func (s *Scenario) compare(goldens map[string]string) (problems []string) {
	for _, name := range goldenOrder(goldens) {
		want, ok := s.known[name]
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("%s: no section %s, which would be:\n%s", s.file, name, goldens[name]))
		case want != goldens[name]:
			problems = append(problems, fmt.Sprintf("%s:%d: %s is not as it should be (- wanted, + is):\n%s",
				s.file, s.first[name], name, Diff(want, goldens[name])))
		}
	}
	for _, f := range s.archive.Files {
		if _, ok := goldens[f.Name]; !ok && strings.HasPrefix(f.Name, "@") {
			problems = append(problems, fmt.Sprintf("%s:%d: nothing came of %s", s.file, s.first[f.Name], f.Name))
		}
	}
	return problems
}

// snapshot reads every file below folder.
func snapshot(folder string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			files[filepath.ToSlash(rel)] = "-> " + target + "\n"
			return err
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	return files, err
}

// changes adds to goldens, below prefix, how the files of after differ from those of before.
func changes(goldens map[string]string, prefix string, before, after map[string]string) {
	for name := range before {
		if _, ok := after[name]; !ok {
			goldens[prefix+name] = "(gone)\n"
		}
	}
	for name, text := range after {
		if old, was := before[name]; !was && text == "" {
			goldens[prefix+name] = "(empty)\n"
		} else if old != text {
			goldens[prefix+name] = Diff(old, text)
		}
	}
}

// Diff is the line difference of two texts without context, in the hunks of the unified format. Carriage returns, byte
// order marks and NUL bytes are made visible.
func Diff(a, b string) string {
	x, y := diffLines(a), diffLines(b)
	pre := 0
	for pre < len(x) && pre < len(y) && x[pre] == y[pre] {
		pre++
	}
	for len(x) > pre && len(y) > pre && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	// common[i][j] is the length of the longest common subsequence of x[i:] and y[j:].
	common := make([][]int, len(x)+1)
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= pre; i-- {
		for j := len(y) - 1; j >= pre; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := pre, pre; i < len(x) || j < len(y); {
		if i < len(x) && j < len(y) && x[i] == y[j] {
			i, j = i+1, j+1
			continue
		}
		p, q := i, j
		for (p < len(x) || q < len(y)) && !(p < len(x) && q < len(y) && x[p] == y[q]) {
			if q == len(y) || p < len(x) && common[p+1][q] >= common[p][q+1] {
				p++
			} else {
				q++
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(i, p), span(j, q))
		for ; i < p; i++ {
			out.WriteString("-" + x[i])
		}
		for ; j < q; j++ {
			out.WriteString("+" + y[j])
		}
	}
	return out.String()
}

func span(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func diffLines(text string) []string {
	text = strings.NewReplacer("\r", "␍", "\ufeff", "«BOM»", "\x00", "␀").Replace(text)
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	} else {
		lines[last] += "\n\\ No newline at end of file\n"
	}
	return lines
}
