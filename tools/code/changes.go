package code

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
)

// ChangedFile is a file that was changed at so many places, as the server counts them.
type ChangedFile struct {
	Path   string `json:"path"`
	Places int    `json:"places"`
}

// writable are the file that is named and, as an upper bound, the folders that may be written: only
// the servers know which files they change.
func writable(env *tools.Env, path string) ([]tools.Need, error) {
	needs, err := tools.ToWrite(env, tools.Edits, path)
	if err != nil {
		return nil, err
	}
	for _, root := range env.Paths.Write {
		if place, err := env.Paths.Writable(root); err == nil {
			needs = append(needs, tools.Need{Act: tools.Edits, Place: place, Below: true})
		}
	}
	return needs, nil
}

// attempts is how often the servers are asked while somebody types into the files that they would
// change.
const attempts = 5

// follow makes p change what servers want. ask is called again until none of the files has changed
// meanwhile, so that the positions of its answer are those of the texts that are read here. Nothing
// to change is an empty list.
func follow(
	ctx context.Context, env *tools.Env, p *tools.Plan, ask func() ([]tools.FileEdits, error),
) (files []ChangedFile, places int, err error) {
	before := map[string]uint64{}
	for range attempts {
		list, err := ask()
		if err != nil {
			return nil, 0, err
		}
		same := true
		files, places = nil, 0
		p.Change, p.Needs = &filetime.Change{}, nil
		for _, c := range list {
			need := env.Needs[0]
			if c.Path != need.Place.Path() {
				list, err := tools.ToWrite(env, tools.Edits, c.Path)
				if err != nil {
					return nil, 0, tools.Refuse(filetime.OutsideWriteRoots, "elsewhere", "The language server would change %s too, which may "+
						"not be changed. Nothing was changed. Use edit_file in the other files, if that is right.", env.Name(c.Path))
				}
				need = list[0]
				need.Arg, need.Written = "", c.Path
			}
			now, err := env.Read(ctx, need.Place)
			if err == nil {
				err = planned(env, now)
			}
			if err != nil {
				return nil, 0, err
			}
			// The text that the server had is the present one if it was so before it was asked and
			// is so after.
			if rev, ok := before[c.Path]; !ok || rev != now.Rev {
				before[c.Path], same = now.Rev, false
			}
			set, err := edits(now, c)
			if err != nil && same {
				return nil, 0, err
			}
			if len(set) == 0 {
				continue
			}
			p.Needs = append(p.Needs, need)
			p.Change.Files = append(p.Change.Files, filetime.FileEdit{Path: c.Path, Base: now.Text, Edits: set, Rev: now.Rev})
			files = append(files, ChangedFile{c.Path, len(c.Edits)})
			places += len(c.Edits)
		}
		if same {
			return files, places, nil
		}
	}
	return nil, 0, tools.Refuse(
		filetime.EditConflict, "editor_busy", "The files are being changed all the time. Nothing was changed. Try again in a moment.")
}

// edits are the changes of one file as a set over its text: the least that makes them, in the
// file's own line ends.
func edits(now filetime.Snapshot, c tools.FileEdits) (text.Set, error) {
	t := now.Text
	if !now.Exists {
		return nil, tools.Refuse(tools.Unsupported, "files", "The language server wants to make %s, which is not there. Nothing was changed. "+
			"Use edit_file and write_file.", c.Path)
	}
	var set text.Set
	for _, e := range c.Edits {
		start, far := t.Offset(e.Start, c.Encoding)
		end, _ := t.Offset(e.End, c.Encoding) // all of a text may end in a line behind its last
		if far {
			return nil, fmt.Errorf("the language server wants to change line %d of %s, which is not there", e.Start.Line+1, c.Path)
		}
		set = append(set, text.Edit{Start: start, End: end, New: e.New})
	}
	slices.SortStableFunc(set, func(a, b text.Edit) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	if err := set.Validate(t); err != nil {
		return nil, err
	}
	return text.Overwrite(t, set.Apply(t).String()), nil
}

// span is the lines that a call is about, from 1; without a first line it is the whole file.
type span struct {
	Start int `json:"start_line,omitempty" desc:"First line; absent is the whole file." min:"1"`
	End   int `json:"end_line,omitempty" desc:"Last line; absent is start_line." min:"1"`
}

// in gives the first and the last line, from 0, in a text.
func (s span) in(t text.Text) (first, last int, err error) {
	if s.Start == 0 && s.End == 0 {
		return 0, t.LineCount() - 1, nil
	}
	first = max(s.Start, 1)
	last = cmp.Or(s.End, first)
	if total := tools.Lines(t); last < first || last > total {
		return 0, 0, tools.Refuse(tools.InvalidArgs, "lines", "There are no lines %d to %d: the file has %d.", first, last, total)
	}
	return first - 1, last - 1, nil
}

// says names the lines for a person and a model, "" for all of a file.
func (s span) says() string {
	switch first := max(s.Start, 1); {
	case s.Start == 0 && s.End == 0:
		return ""
	case s.End > first:
		return fmt.Sprintf(" lines %d-%d", first, s.End)
	default:
		return fmt.Sprintf(" line %d", first)
	}
}

// shown is how many bytes of the changed files an answer shows, about.
const shown = 4 << 10

// told is an answer about files that were changed: a sentence, and each file as it is now.
func told(env *tools.Env, sentence string, files []ChangedFile, l filetime.Landed) string {
	var b strings.Builder
	b.WriteString(sentence)
	for i, f := range l.Files {
		fmt.Fprintf(&b, "\n%s: %s\n", env.Name(f.Path), tools.Count(files[i].Places, "place"))
		if place, err := env.Paths.Readable(f.Path); err == nil && b.Len() < shown && tools.Shows(env, place) {
			b.WriteString(strings.TrimSuffix(tools.Told(env, f, false), "\n"))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
