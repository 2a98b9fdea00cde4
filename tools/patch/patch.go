// Package patch is the tool patch: it adds, deletes, updates and moves files in one change, all of
// it or nothing.
package patch

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/entry"
	"tandem/tools/quote"
)

//go:embed patch.md
var description string

// Args are the arguments of patch.
type Args struct {
	Patch string `json:"patch" desc:"The patch, from *** Begin Patch to *** End Patch; or a unified diff." minlen:"1" alias:"input,patch_text,diff,command" argv:"apply_patch" nocoerce:"true"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "patch", Aliases: []string{"apply_patch"},
			Kind: tools.Edit, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.OtherFiles, Source: "builtin", Deferred: true, InputStreaming: true,
		},
		Title: title,
		Needs: needs,
		Plan:  plan,
	})
}

func title(in Args) string {
	ops, err := parse(in.Patch)
	switch {
	case err != nil:
		return "Patch"
	case len(ops) == 1:
		return "Patch " + strings.TrimSpace(ops[0].path)
	}
	return fmt.Sprintf("Patch %d files", len(ops))
}

// target is an operation with the places that it is about.
type target struct {
	operation
	place, dest sandbox.Place // dest is where an update moves the file to
	replaces    bool          // an update whose content is all of the file: it was deleted and added
}

// targets reads the patch and finds the files that it is about, each once: updates of one file
// become one, and so do its deletion and addition after that.
func targets(env *tools.Env, in Args) ([]target, error) {
	ops, err := parse(in.Patch)
	if err != nil {
		return nil, tools.Refuse(tools.PatchParseError, "syntax", "%v. Nothing was applied. Correct the patch and send all of it again.", err)
	}
	var out []target
	type first struct{ at, line int } // the index in out, and where the operation begins
	seen := map[string]first{}        // by path
	for _, o := range ops {
		o.path, o.to = existing(env, o.path), existing(env, o.to)
		t := target{operation: o}
		if t.place, err = env.Paths.WritableName(o.path); err == nil && o.to != "" {
			t.dest, err = env.Paths.WritableName(o.to)
		}
		if err != nil {
			return nil, err
		}
		at := len(out)
		if before, again := seen[t.place.Path()]; again {
			switch file := &out[before.at]; {
			case o.op == Update && file.op == Update && (o.to == "" || file.to == ""):
				if file.hunks = append(file.hunks, o.hunks...); o.to != "" {
					file.to, file.dest = o.to, t.dest
				}
				t.place, at = sandbox.Place{}, before.at
			case o.op == Add && file.op == Delete && len(file.hunks) == 0:
				file.op, file.content, file.replaces = Update, o.content, true
				t.place = sandbox.Place{}
			}
		}
		for _, p := range []sandbox.Place{t.place, t.dest} {
			if p == (sandbox.Place{}) {
				continue
			}
			if before, again := seen[p.Path()]; again {
				return nil, tools.Refuse(tools.PatchParseError, "twice", "Patch parse error: line %d: %s is in the operation at line %d too. "+
					"Nothing was applied. Name each file in one operation, or send a second patch after this one.",
					o.line, env.Name(p.Path()), before.line)
			}
			seen[p.Path()] = first{at, o.line}
		}
		if t.place != (sandbox.Place{}) {
			out = append(out, t)
		}
	}
	return out, nil
}

// existing is a name as it stands in the patch, if a file has it, else without the blanks and the
// quotes round it.
func existing(env *tools.Env, written string) string {
	if env.Paths.Literal(written) {
		return written
	}
	bare := strings.TrimSpace(written)
	if n := len(bare); n > 2 && strings.ContainsAny(bare[:1], "\"'`") && bare[n-1] == bare[0] && !env.Paths.Literal(bare) {
		return bare[1 : n-1]
	}
	return bare
}

func needs(env *tools.Env, in Args) ([]tools.Need, error) {
	ts, err := targets(env, in)
	if err != nil {
		return nil, err
	}
	var out []tools.Need
	for _, t := range ts {
		n := tools.Need{Act: tools.Edits, Place: t.place, Arg: tools.PathArg, Written: t.path}
		switch {
		case t.op == Add:
			n.Act = tools.Creates
		case t.op == Delete:
			n.Act, n.Does = tools.Replaces, tools.Delete
		case t.replaces:
			n.Act = tools.Replaces
		case t.to != "":
			n.Act, n.Does = tools.Replaces, tools.Move
		}
		if out = append(out, n); t.to != "" {
			out = append(out, tools.Need{Act: tools.Creates, Place: t.dest, Arg: tools.PathArg, Written: t.to})
		}
	}
	return out, nil
}

// patching is one call on its way.
type patching struct {
	env   *tools.Env
	files []*file
}

// file is one file of the patch, as it is worked out.
type file struct {
	target
	name    string // as a model reads it
	edit    filetime.FileEdit
	match   *quote.Match  // of an update
	already *tools.Result // of an update that somebody else has made; then there is no edit
	deleted bool          // of a file that is added: it was there when the model saw it last
	line    int           // of the first place
	landed  *filetime.LandedFile
}

func plan(ctx context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
	ts, err := targets(env, in)
	if err != nil {
		return nil, err
	}
	p := &patching{env: env}
	failed := failures{patching: p}
	change := &filetime.Change{}
	var at []tools.Location
	for _, t := range ts {
		f := &file{target: t, name: env.Name(t.place.Path())}
		p.files = append(p.files, f)
		if err := p.file(ctx, f); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			failed.files, failed.errs = append(failed.files, f), append(failed.errs, err)
			continue
		}
		at = append(at, tools.Location{Path: t.place.Path(), Line: f.line})
	}
	// What cannot be taken back comes last, when the rest has landed.
	first := slices.DeleteFunc(slices.Clone(p.files), (*file).lost)
	p.files = append(first, slices.DeleteFunc(p.files, func(f *file) bool { return !f.lost() })...)
	lost := len(p.files) - len(first)
	danger, needs := tools.Moderate, slices.Clone(env.Needs)
	for _, f := range p.files {
		if f.already == nil {
			change.Files = append(change.Files, f.edit)
		}
		for i := range needs {
			if f.lost() && needs[i].Place == f.place {
				danger, needs[i].Danger = tools.Dangerous, tools.Dangerous
			}
		}
	}
	switch {
	case len(failed.errs) > 0:
		return nil, failed.joined()
	case len(change.Files) == 0:
		return nil, &tools.Refusal{Result: p.result()}
	}
	title := "Patch " + p.files[0].name
	if n := len(p.files); n > 1 {
		title = fmt.Sprintf("Patch %d files", n)
	}
	if lost > 0 {
		title += fmt.Sprintf(" (%s cannot be restored)", tools.Count(lost, "file"))
	}
	return &tools.Plan{
		Title: title, Danger: danger, Semantic: "write", Needs: needs, Locations: at, Change: change, Done: p.done, Failed: p.failed,
	}, nil
}

// file works out what becomes of one file.
func (p *patching) file(ctx context.Context, f *file) error {
	switch {
	case f.op == Add:
		return p.add(ctx, f)
	case f.op == Delete:
		return p.delete(ctx, f)
	case f.replaces:
		return p.replace(ctx, f)
	}
	return p.update(ctx, f)
}

func (p *patching) add(ctx context.Context, f *file) error {
	if err := p.free(ctx, f.place, "Change it with *** Update File:, or give the new file another name."); err != nil {
		return err
	}
	f.deleted = p.env.FileTime.Knows(f.place.Path())
	f.edit = filetime.FileEdit{Path: f.place.Path(), Create: true}
	if f.content != "" {
		f.edit.Edits = text.Set{{New: f.content}}
	}
	if f.program {
		f.edit.Mode = 0o755
	}
	return nil
}

// free fails where there is a file, which it shows.
func (p *patching) free(ctx context.Context, place sandbox.Place, next string) error {
	now, err := p.env.Read(ctx, place)
	if err != nil || !now.Exists {
		return err
	}
	name := p.env.Name(place.Path())
	if !tools.Shows(p.env, place) {
		return tools.Refuse(filetime.FileExists, "exists", "File already exists: %s. %s", name, next)
	}
	e := tools.Places(p.env)
	total := tools.Lines(now.Text)
	e.Lines(now.Text, 1, total)
	e.Seen(p.env.FileTime, now)
	return tools.Refuse(filetime.FileExists, "exists", "File already exists: %s. %s It says (%s):\n%s", name, next,
		tools.Count(total, "line"), strings.TrimSuffix(e.String(), "\n"))
}

// whole gives the newest text of a file that the model has seen all of.
func (p *patching) whole(ctx context.Context, f *file, done string) (filetime.View, error) {
	now, err := p.env.Read(ctx, f.place)
	if err != nil {
		return filetime.View{}, err
	}
	return entry.Whole(p.env, f.place, now, done)
}

// replace gives a file other content, where the model saw something else.
func (p *patching) replace(ctx context.Context, f *file) error {
	v, err := p.whole(ctx, f, "replaced")
	if err != nil {
		return err
	}
	f.edit = filetime.FileEdit{Path: f.place.Path(), Base: v.Text, Since: v.Since, By: v.By, Rev: v.Rev, Edits: text.Overwrite(v.Text, f.content)}
	switch r := text.Rebase(v.Text, f.edit.Edits, v.Since); {
	case len(r.Conflicts) > 0:
		return filetime.Collision(f.edit, v.Since, v.Since.Apply(v.Text), r.Conflicts, v.Author)
	case len(f.edit.Edits) == 0:
		return tools.Refuse(tools.NoChange, "same", "It says what the patch adds already.")
	case len(r.Set) == 0:
		f.already = &tools.Result{Success: true}
	}
	return nil
}

func (p *patching) delete(ctx context.Context, f *file) error {
	v, err := p.whole(ctx, f, "deleted")
	if entry.NoText(err) && len(f.hunks) == 0 {
		return p.bytes(f)
	}
	if err != nil {
		return err
	}
	if len(f.hunks) > 0 { // the diff says what is deleted
		first := &f.hunks[0].block
		first.AtStart, f.hunks[len(f.hunks)-1].block.AtEnd = true, true
		if _, err := p.search(f).Run(ctx); err != nil {
			return err
		}
	}
	f.edit = filetime.FileEdit{Path: f.place.Path(), Delete: true, Base: v.Text, Since: v.Since, By: v.By, Rev: v.Rev}
	if n := len(v.Since); n > 0 {
		start, end := v.Since[0].Start, v.Since[n-1].End
		found := []text.Conflict{{Start: start, End: end, Base: v.Text.Slice(start, end)}}
		return filetime.Collision(f.edit, v.Since, v.Since.Apply(v.Text), found, v.Author)
	}
	return nil
}

// bytes deletes a file that is no text, which cannot be undone.
func (p *patching) bytes(f *file) error {
	found, err := entry.At(p.env, f.place)
	if err == nil {
		err = entry.SeenBytes(p.env, found)
	}
	if err == nil {
		f.edit = filetime.FileEdit{Path: f.place.Path(), Delete: true, Entry: filetime.Bytes, Was: filetime.Mark(found.Info)}
	}
	return err
}

// lost says that no copy of the file is kept.
func (f *file) lost() bool { return f.edit.Entry == filetime.Bytes }

// search is the search for the hunks of an update.
func (p *patching) search(f *file) *quote.Search {
	s := &quote.Search{Env: p.env, Place: f.place}
	loose := !indents(f.place.Path())
	for i := range f.hunks {
		h := &f.hunks[i]
		h.block.Loose = loose
		s.Parts = append(s.Parts, quote.Part{Label: fmt.Sprintf("hunk %d", i+1), Block: &h.block, Bare: h.bare})
	}
	return s
}

// indents says that the indentation of a line means something in files of this name, so that it cannot be guessed.
func indents(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".py", ".pyi", ".pyx", ".yaml", ".yml", ".coffee", ".haml", ".slim", ".pug", ".sass", ".styl", ".nim", ".fs", ".fsx", ".hs", ".elm",
		".mk", ".rst":
		return true
	}
	return strings.EqualFold(filepath.Base(path), "makefile")
}

func (p *patching) update(ctx context.Context, f *file) error {
	if f.to != "" {
		v, err := p.whole(ctx, f, "moved")
		if err == nil {
			err = p.free(ctx, f.dest, "Move it to another name, or delete that file first.")
		}
		if err != nil {
			return err
		}
		f.edit = filetime.FileEdit{Path: f.place.Path(), Base: v.Text, Since: v.Since, By: v.By, Rev: v.Rev, To: f.dest.Path()}
		f.name = f.name + " -> " + p.env.Name(f.dest.Path())
	}
	if len(f.hunks) == 0 {
		return nil
	}
	m, err := p.search(f).Run(ctx)
	var made *tools.Refusal
	switch {
	case errors.As(err, &made) && made.Result.Success:
		if f.to == "" {
			f.already = &made.Result
		}
		return nil
	case err != nil:
		return err
	case len(m.Edit.Edits) == 0 && f.to == "":
		return tools.Refuse(tools.NoChange, "same", "The hunks change nothing: they add what they remove.")
	}
	to := f.edit.To
	f.match, f.edit, f.line = m, m.Edit, m.Line
	f.edit.To = to
	return nil
}

// PatchOp is what became of one file of a patch, for a program. Path is where it was, To where it has been moved to.
type PatchOp struct {
	Op        Op     `json:"op"`
	Path      string `json:"path"`
	To        string `json:"to,omitzero"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	// Already says that somebody else had made the same change.
	Already bool `json:"already,omitzero"`
}

// Value is what a program gets of a patch that landed.
type Value struct {
	Operations []PatchOp `json:"operations"`
}

// done words what landed.
func (p *patching) done(landed filetime.Landed) tools.Result {
	files := landed.Files
	for _, f := range p.files {
		if f.already == nil && len(files) > 0 {
			f.landed, files = &files[0], files[1:]
		}
	}
	return p.result()
}

// result words what became of each file, a line each, and what there is to know about it.
func (p *patching) result() tools.Result {
	var b strings.Builder
	r := tools.Result{Success: true}
	var ops []PatchOp
	add, del, changed := 0, 0, 0
	tier := text.TierExact
	for _, f := range p.files {
		op := PatchOp{Op: f.op, Path: f.place.Path()}
		if f.to != "" {
			op.To = f.dest.Path()
		}
		l := f.landed
		if l == nil || l.Already {
			op.Already = true
			ops = append(ops, op)
			fmt.Fprintf(&b, "Unchanged %s: somebody else made the same change since you read it\n", f.name)
			continue
		}
		d := tools.Diff(p.env, *l)
		op.Additions, op.Deletions = d.Additions, d.Deletions
		r.Diffs, ops = append(r.Diffs, d), append(ops, op)
		add, del, changed = add+d.Additions, del+d.Deletions, changed+1
		b.WriteString(p.told(f))
		if m := f.match; m != nil {
			m.Made(*l)
			if m.Tier > tier {
				tier, r.Meta.Tier = m.Tier, m.TierName
			}
		}
	}
	r.Data = strings.TrimSuffix(b.String(), "\n")
	r.Value = Value{ops}
	first := filepath.Base(p.files[0].place.Path())
	switch {
	case changed == 0:
		r.Summary = "Already so: the patch"
		if len(p.files) == 1 {
			r.Summary = "Already so: " + first
		}
	case len(p.files) == 1:
		word := map[Op]string{Add: "Created", Delete: "Deleted", Update: "Modified"}[p.files[0].op]
		if to := p.files[0].dest.Path(); to != "" {
			word, first = "Moved", first+" -> "+filepath.Base(to)
		}
		r.Summary = fmt.Sprintf("%s: %s (+%d -%d)", word, first, add, del)
	default:
		r.Summary = fmt.Sprintf("Patched: %s (+%d -%d)", tools.Count(changed, "file"), add, del)
	}
	return r
}

// told is what a model is told of one file that has landed.
func (p *patching) told(f *file) string {
	var b strings.Builder
	l := f.landed
	word := map[Op]string{Add: "Added", Delete: "Deleted", Update: "Updated"}[f.op]
	switch {
	case f.to != "":
		word = "Moved"
	case f.op == Delete && !l.Deleted:
		word = "Emptied"
	}
	fmt.Fprintf(&b, "%s %s\n", word, f.name)
	if f.op == Delete && l.Applied && !l.Deleted {
		b.WriteString("The editor that has it open cannot delete files, so it is empty now.\n")
	}
	if f.lost() {
		b.WriteString("It was no text and cannot be restored.\n")
	}
	if f.deleted {
		b.WriteString("The file had been deleted since you last saw it.\n")
	}
	if !l.Applied {
		b.WriteString(quote.NotApplied)
	}
	if f.match != nil {
		b.WriteString(f.match.Likeness())
	}
	if l.Over > 0 {
		b.WriteString(tools.Told(p.env, *l, true))
	}
	return b.String()
}

// failures are the files of a patch that cannot be changed, and why.
type failures struct {
	*patching
	files []*file
	errs  []error
	stays bool // something of the patch stays applied
}

func (f failures) joined() error { return &tools.Joined{Errs: f.errs, Join: f.join} }

// join makes one answer of those about the files. A class that says more than that the patch does not fit stays.
func (f failures) join(each []tools.Result) tools.Result {
	var b strings.Builder
	var r tools.Result
	for i, one := range each {
		fmt.Fprintf(&b, "Patch failed on %s: %s\n", f.files[i].name, one.Data)
		if !fits(one.Error) {
			one.Reason, one.Error = cmp.Or(one.Reason, strings.ToLower(string(one.Error))), tools.PatchFailed
		}
		if r.Error == "" || r.Error == filetime.NotRead {
			r.Error, r.Reason, r.Value, r.Summary = one.Error, one.Reason, one.Value, one.Summary
		}
	}
	var others []string
	for _, o := range f.patching.files {
		if !slices.Contains(f.files, o) {
			others = append(others, o.name)
		}
	}
	switch {
	case f.stays:
	case len(others) > 0:
		fmt.Fprintf(&b, "Nothing of the patch was applied. These files are as they were, too: %s.", strings.Join(others, ", "))
	case len(f.files) > 1:
		b.WriteString("Nothing of the patch was applied.")
	}
	r.Data = strings.TrimSuffix(b.String(), "\n")
	return r
}

// fits says that a class of failures is not about what the patch says of the file.
func fits(c filetime.Code) bool {
	switch c {
	case tools.TextNotFound, tools.TextMultipleMatches, tools.NoChange, filetime.ReadError, "":
		return false
	}
	return true
}

// failed names the file for which the change was refused when it came to land.
func (p *patching) failed(err error) error {
	path := ""
	var conflict *filetime.Conflict
	var refused *filetime.Error
	switch {
	case errors.As(err, &conflict):
		path = conflict.Path
	case errors.As(err, &refused):
		path = refused.Path
	}
	f := failures{patching: p}
	if part, ok := errors.AsType[*filetime.Incomplete](err); ok {
		f.stays = slices.ContainsFunc(part.Files, func(r filetime.FileReport) bool { return r.State == filetime.Stays })
	}
	for _, one := range p.files {
		if path != "" && (one.place.Path() == path || one.dest.Path() == path) {
			f.files, f.errs = []*file{one}, []error{err}
			return f.joined()
		}
	}
	return err
}
