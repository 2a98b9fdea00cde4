package review

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tandem/filetime/text/show"
)

// What the model is told of a review is bounded: a person may have judged hundreds of hunks.
const (
	minGroup     = 3    // a file or turn with more that is rejected as a whole is one sentence
	maxTexts     = 8    // that many hunks are told with their text
	maxTextBytes = 6000 // and that many bytes of it, all together
	maxTurns     = 4    // that many whole turns have a sentence of their own
	maxNames     = 10   // that many files are named in one list
	maxHunkBytes = 2000 // that much of one text
)

// The ways in which a hunk is not what the model was last told.
type newsKind int

const (
	newsRejected newsKind = iota
	newsAmended
	newsRestored
	newsOverwritten
)

// report is one hunk of which there is news.
type report struct {
	id   string
	path string
	turn int
	kind newsKind
	text string
}

// News words, for the model, which of its changes a person has rejected or amended since it was
// last told; "" for none. told must be called once it has been told.
func (l *Log) News(ctx context.Context, name func(path string) string) (news string, told func()) {
	var reports []report
	said := map[*hunk]string{}
	all := map[any]int{} // hunks by path, and by turn
	for _, p := range l.refresh(ctx, "") {
		l.mu.Lock()
		v := l.view(l.tracks[p])
		for _, o := range v.t.ops {
			all[o.turn] += len(o.hunks)
			all[p] += len(o.hunks)
			for _, h := range o.hunks {
				kind, how := v.news(h)
				if digest(how) == h.newsDigest {
					continue
				}
				said[h] = digest(how)
				switch {
				case how == "" && h.move:
					kind, how = newsRestored, "your move of it to here.\n"
				case how == "":
					kind, how = newsRestored, diffLines("-", h.old)+diffLines("+", h.new)
				}
				reports = append(reports, report{h.id, p, o.turn, kind, how})
			}
		}
		l.mu.Unlock()
	}
	told = func() {
		if len(said) == 0 {
			return
		}
		d := Decision{Said: map[string]string{}}
		l.mu.Lock()
		for h, how := range said {
			h.newsDigest, d.Said[h.key] = how, how
		}
		l.mu.Unlock()
		l.keep(d)
	}
	if len(reports) == 0 {
		return "", told
	}
	head := "The user has reviewed your changes:\n"
	if !slices.ContainsFunc(reports, func(r report) bool { return r.kind != newsOverwritten }) {
		head = "Your changes since were overwritten:\n"
	}
	return head + formatNews(reports, all, name), told
}

// formatNews says what became of hunks: of whole turns and files in a sentence, of the first others
// with their text, and how many more there are in which file. all counts the hunks that there ever
// were, by turn and by path.
func formatNews(reports []report, all map[any]int, name func(path string) string) string {
	var b strings.Builder
	// whole takes out those whose key has been rejected as a whole.
	whole := func(most int, key func(report) any, say func(gone []report), more string) {
		by := map[any][]report{}
		for _, r := range reports {
			if r.kind == newsRejected {
				by[key(r)] = append(by[key(r)], r)
			}
		}
		var rest []report
		said := 0
		for _, r := range reports {
			switch gone := by[key(r)]; {
			case len(gone) <= minGroup || len(gone) < all[key(r)]:
				rest = append(rest, r)
			case r.id != gone[0].id:
			case said < most:
				say(gone)
				fallthrough
			default:
				said++
			}
		}
		if reports = rest; said > most {
			fmt.Fprintf(&b, "\nSo were all changes "+more+".\n", said-most)
		}
	}
	whole(maxTurns, func(r report) any { return r.turn }, func(gone []report) {
		fmt.Fprintf(&b, "\nAll %d changes that you made in one turn were rejected and are not in the files any more; "+
			"do not make them again unasked: %s.\n", len(gone), countByFile(gone, name))
	}, "of %d more turns")
	whole(maxNames, func(r report) any { return r.path }, func(gone []report) {
		fmt.Fprintf(&b, "\n%s: all %d changes that you made to this file were rejected and are not in it any more; "+
			"do not make them again unasked.\n", name(gone[0].path), len(gone))
	}, "that you made to %d more files")
	n, size := 0, 0
	for n < len(reports) && n < maxTexts && (n == 0 || size+len(reports[n].text) <= maxTextBytes) {
		size += len(reports[n].text)
		n++
	}
	for kind, what := range []string{
		"Changes rejected, and not in the files any more; do not make them again unasked",
		"Changes amended, what you wrote was rejected in part; read the text before you change it again",
		"Changes in the files again as you made them, after you were told otherwise",
		"Changes not in the files any more, since another program wrote over them or a buffer was closed unsaved; nobody has judged them",
	} {
		some := slices.DeleteFunc(slices.Clone(reports[:n]), func(r report) bool { return int(r.kind) != kind })
		for i, r := range some {
			if i == 0 {
				fmt.Fprintf(&b, "\n%s:\n", what)
			}
			if i == 0 || r.path != some[i-1].path {
				b.WriteString(name(r.path) + ":\n")
			} else {
				b.WriteString("…\n")
			}
			b.WriteString(r.text)
		}
	}
	for kind, what := range []string{
		"were rejected and are not in the files any more; do not make them again unasked",
		"were amended, what you wrote was rejected in part; read the text before you change it again",
		"of which you were told otherwise are in the files again",
		"are not in the files any more, since another program wrote over them or a buffer was closed unsaved",
	} {
		left := slices.DeleteFunc(slices.Clone(reports[n:]), func(r report) bool { return int(r.kind) != kind })
		if len(left) > 0 {
			fmt.Fprintf(&b, "\n%d more changes %s: %s.\n", len(left), what, countByFile(left, name))
		}
	}
	return b.String()
}

// countByFile names the files of some hunks, those with the most of them first, with how many each
// has.
func countByFile(reports []report, name func(path string) string) string {
	by := map[string]int{}
	for _, r := range reports {
		by[r.path]++
	}
	paths := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b))
	})
	var out []string
	for i, p := range paths {
		if i == maxNames {
			out = append(out, fmt.Sprintf("%d more files", len(paths)-i))
			break
		}
		out = append(out, fmt.Sprintf("%s (%d)", name(p), by[p]))
	}
	return strings.Join(out, ", ")
}

// digest stands for what was said, "" for nothing.
func digest(how string) string {
	if how == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(how))
	return fmt.Sprintf("%x", sum[:8])
}

// news words what a person made of a hunk, "" where it is as the agent left it.
func (v view) news(h *hunk) (newsKind, string) {
	switch {
	case h.move && h.gone:
		return newsRejected, fmt.Sprintf("your move of it to %s.\n", show.Visible(filepath.Base(h.op.dest), false))
	case h.move:
		return newsRejected, ""
	case !v.stands(h) && h.revertedAt == 0 && slices.ContainsFunc(h.edits, func(e int) bool { _, lost := v.w.lost[e]; return lost }):
		if slices.ContainsFunc(h.edits, func(e int) bool { return v.w.lost[e] }) {
			return newsOverwritten, diffLines("-", h.old) + diffLines("+", h.new)
		}
		return newsOverwritten, ""
	case !v.stands(h):
		byOthers := len(h.edits) == 0 || slices.ContainsFunc(h.edits, func(e int) bool {
			return v.statuses[e].gone || !v.statuses[e].trace
		})
		if !byOthers {
			return newsRejected, ""
		}
		return newsRejected, diffLines("-", h.old) + diffLines("+", h.new)
	case slices.ContainsFunc(h.edits, func(e int) bool { return v.amended[e] }):
		now := v.hunk(h)
		return newsAmended, diffLines("-", h.old) + diffLines("+", h.new) + "The text now, the user's choice:\n" +
			diffLines(" ", now.Now.Slice(now.Start, now.End))
	}
	return newsRejected, ""
}

func diffLines(mark, s string) string {
	if s == "" {
		return ""
	}
	if len(s) > maxHunkBytes {
		s = strings.ToValidUTF8(s[:maxHunkBytes], "") + "…"
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(mark + strings.TrimRight(line, "\r\n") + "\n")
	}
	return b.String()
}
