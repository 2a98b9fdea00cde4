package grep

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/sandbox/search/regex"
	"tandem/sandbox/tree"
)

// searcher is a way to search. It hands what it finds to a sink, file by file in the order of
// compare, until the sink has enough.
type searcher interface {
	files(ctx context.Context, q *query, to sink) error
	text(ctx context.Context, q *query, t text.Text) found
}

// sink takes what is found in a file, and answers whether more is wanted.
type sink interface {
	take(path string, f found) bool
}

// found is what is found in one text: lines where they are shown, otherwise how many match.
type found struct {
	most, hits int
	lines      []line
}

func (f *found) full() bool { return f.hits >= f.most }

// line is a line of a file, numbered from 1, without its end. at is where the match begins in it.
type line struct {
	n, at int
	text  string
	// match says that the line matches, more that it only goes on with the match of the line
	// before.
	match, more bool
	// cut says that the text is not the whole line.
	cut bool
}

// buffer is an unsaved text with what was found in it.
type buffer struct {
	path  string
	snap  filetime.Snapshot
	found found
}

// query is what to look for and where.
type query struct {
	input
	before, after int
	re            *regex.Regexp
	// note says how the pattern was taken where that is not as it stands, "" otherwise.
	note string
	glob *tree.Glob
	// asked is the glob of the call, of which input.Glob is what is below the directory.
	asked  string
	kind   string
	ofType []*tree.Glob // of kind

	dir, file string
	folder    sandbox.Place // dir
	tree      *tree.Tree
	indexes   *index.Indexes
	withheld  int // entries of the directory that hold keys
	buffers   []buffer
	// odd is set if a text that was searched, or one that was left out, may have other signs than
	// ASCII.
	odd atomic.Bool
	// crammed says that the answer has no room for further results. They are counted.
	crammed atomic.Bool
}

// enough is after how many results a search ends: the one after the last that is shown says that
// there are more.
func (q *query) enough() int { return q.Offset + q.HeadLimit + 1 }

func parse(in input) (*query, error) {
	q := &query{input: in, before: max(in.Before, in.Context), after: max(in.After, in.Context), kind: in.Type}
	if in.OutputMode == "" {
		q.OutputMode = content
	}
	if in.HeadLimit == 0 {
		q.HeadLimit = 100
	}
	if strings.ContainsRune(in.Pattern, 0) {
		return nil, invalid("$.pattern", "string", "pattern cannot contain a NUL character")
	}
	if len(in.Pattern) > maxPattern {
		return nil, invalid("$.pattern", "string", fmt.Sprintf("pattern is %d bytes long, the limit is %d: look for a part of it",
			len(in.Pattern), maxPattern))
	}
	var err error
	if q.glob, err = tree.ParseGlob(in.Glob); err != nil {
		return nil, invalid("$.glob", "glob", "glob: "+err.Error())
	}
	if q.kind != "" && types()[q.kind] == nil {
		return nil, invalid("$.type", "file type", "type "+q.kind+" is not known. Use glob instead, for example *."+strings.NewReplacer(", ", ",*.", ",", ",*.").Replace(q.kind))
	}
	for _, pattern := range types()[q.kind] {
		g, err := tree.ParseGlob(pattern)
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", q.kind, err)
		}
		q.ofType = append(q.ofType, g)
	}
	return q, q.compile()
}

// maxPattern is how many bytes a pattern may have.
const maxPattern = 4 << 10

// compile finds out what kind of pattern it is. One that fails only for a brace or a bracket was
// not meant as a regular expression.
func (q *query) compile() error {
	o := regex.Options{IgnoreCase: q.IgnoreCase, Word: q.Word, Fixed: q.Fixed, Multiline: q.Multiline, CRLF: true}
	re, err := regex.Parse(q.Pattern, o)
	var se *regex.SyntaxError
	if errors.As(err, &se) && se.Kind == regex.Unbalanced {
		q.note = fmt.Sprintf("The pattern is not a valid regular expression (%s), so it was searched for literally.", se.Message)
		o.Fixed = true
		re, err = regex.Parse(q.Pattern, o)
	}
	switch {
	case err == nil && re.Braces:
		q.note = "A brace in the pattern repeats nothing, so it was taken literally."
	case !errors.As(err, &se):
	case se.Kind == regex.TooLarge:
		return invalid("$.pattern", "pattern", "pattern repeats so much that "+
			"it stands for too many characters or classes: make the numbers in its braces smaller")
	case se.Kind == regex.Perl:
		return invalid("$.pattern", "pattern", fmt.Sprintf("pattern %q looks around or refers back in a way "+
			"that is not supported here. Search for the plain part and judge the lines yourself.", q.Pattern))
	default:
		return invalid("$.pattern", "pattern", fmt.Sprintf("pattern %q is not a valid regular expression: %s. "+
			"Mend it, or set fixed to take it literally.", q.Pattern, se.Message))
	}
	q.re = re
	return nil
}

// compare is the order of paths: name by name on the way down, so that what is in a directory stays
// together.
func compare(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

//go:embed types.txt
var typeList string

// types are the types of files by their names, each with the globs of the names of its files. They
// are those that ripgrep lists.
var types = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for l := range strings.Lines(typeList) {
		name, globs, _ := strings.Cut(strings.TrimSpace(l), ": ")
		out[name] = strings.Split(globs, ", ")
	}
	return out
})

// hasType tells whether a file is of the type that is searched.
func (q *query) hasType(file string) bool {
	name := path.Base(file)
	return slices.ContainsFunc(q.ofType, func(g *tree.Glob) bool { return g.Fits(name) })
}
