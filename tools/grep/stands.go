package grep

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strings"

	"tandem/filetime/text"
)

// stands says that what another program has found is there at the Places of the files: that program opens paths by itself, and may
// have been led elsewhere by a link that came to stand on the way. Of the buffers nothing was opened.
func (c *collector) stands() bool {
	lines := map[string][]line{}
	var order []string
	for _, h := range c.hits {
		if slices.ContainsFunc(c.q.buffers, func(b buffer) bool { return b.path == h.path }) {
			continue
		}
		if _, known := lines[h.path]; !known {
			order = append(order, h.path)
		}
		lines[h.path] = append(lines[h.path], h.lines...)
	}
	return !slices.ContainsFunc(order, func(path string) bool { return !c.q.says(path, lines[path]) })
}

// says says that a file, as it is at its Place, has these lines.
func (q *query) says(path string, lines []line) bool {
	f, err := q.tree.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if len(lines) == 0 {
		return true
	}
	raw, err := io.ReadAll(io.LimitReader(f, wholeFile))
	if err != nil {
		return false
	}
	var in io.Reader = bytes.NewReader(raw)
	if len(raw) == wholeFile {
		in = io.MultiReader(in, f)
	} else if t, _, err := text.Decode(raw); err == nil {
		in = strings.NewReader(t.String())
	}
	wanted := map[int][]string{}
	for _, l := range lines {
		wanted[l.n] = append(wanted[l.n], strings.TrimSuffix(strings.TrimPrefix(l.text, "\uFEFF"), "\r"))
	}
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 64<<10), maxRecord)
	for n := 1; len(wanted) > 0 && scan.Scan(); n++ {
		for _, l := range wanted[n] {
			have := strings.TrimPrefix(scan.Text(), "\uFEFF")
			if l != have && !strings.Contains(have, strings.TrimSuffix(strings.TrimPrefix(l, "…"), "…")) {
				return false
			}
		}
		delete(wanted, n)
	}
	return len(wanted) == 0
}
