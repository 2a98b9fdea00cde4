// Package landing lands a change of several files as one: what is to be done is in the journal
// first, and if one of the files cannot be changed after others were, those are reverted.
package landing

import (
	"context"
	"errors"
	"slices"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/stored"
)

// Files changes files one by one.
type Files interface {
	// Plan works out what is to be done to file i of a change, for the journal; an error refuses all.
	Plan(ctx context.Context, tx *Transaction, i int) ([]disk.Planned, error)
	// Land changes one file.
	Land(ctx context.Context, tx *Transaction, e filetime.FileEdit) (filetime.LandedFile, error)
}

// Transaction is one change that is landing: what of it is in the journal, and warnings for a
// person.
type Transaction struct {
	Change   filetime.Change
	Reverts  bool // it takes back what has landed of another
	Disk     *disk.Change
	on       *disk.Disk
	journal  bool
	buffers  map[string]bool // the paths that are in the journal
	warnings []filetime.Warning
}

// Begin makes the transaction of a change, which writes to the journal of a disk if there is one.
func Begin(on *disk.Disk, journal bool, c filetime.Change) *Transaction {
	in := disk.Intent{Session: c.Session, Call: c.Call, Turn: c.Turn, Tool: c.Tool}
	return &Transaction{Change: c, Disk: on.Change(in), on: on, journal: journal, buffers: map[string]bool{}}
}

// TakesBack says that the change takes back what has landed of another.
func (tx *Transaction) TakesBack() bool { return tx.Reverts || tx.Change.ForUser || tx.Change.Undo }

// Warn has a person warned about a file.
func (tx *Transaction) Warn(path, says string) {
	tx.warnings = append(tx.warnings, filetime.Warning{Path: path, Says: says})
}

// End writes the outcome to the journal; err is the last error.
func (tx *Transaction) End(err error) {
	var doubt *filetime.Error
	switch {
	case err == nil:
		tx.Disk.End(disk.Landed)
	case errors.As(err, &doubt) && doubt.Code == filetime.Unknown:
		tx.Disk.End(disk.Unknown)
	default:
		tx.Disk.End(disk.NotLanded)
	}
}

// Write writes to the journal, if there is one, what is to be done to files.
func (tx *Transaction) Write(files ...disk.Planned) error {
	if !tx.journal {
		return nil
	}
	return tx.write(files)
}

func (tx *Transaction) write(files []disk.Planned) error {
	if len(files) == 0 {
		return nil
	}
	if err := tx.Disk.Begin(files...); err != nil {
		return stored.WriteError(files[0].Path, err)
	}
	for _, p := range files {
		tx.buffers[p.Path] = p.Buffer
	}
	return nil
}

// Earlier are the files of a change that is only worked out, which have not been carried out when it
// comes to a later one.
func (tx *Transaction) Earlier() []filetime.FileEdit {
	if tx.Change.Apply == filetime.None {
		return tx.Change.Files
	}
	return nil
}

// Written says that the journal has something that is to be done to a file.
func (tx *Transaction) Written(path string) bool {
	_, is := tx.buffers[path]
	return is
}

// LacksBuffer says that the change of a buffer is not in the journal yet.
func (tx *Transaction) LacksBuffer(path string) bool { return tx.journal && !tx.buffers[path] }

// plan works out a change of several files, writes one intent for them, and refuses the change if
// one of them cannot be changed.
func (tx *Transaction) plan(ctx context.Context, files Files) error {
	var all []disk.Planned
	for i := range tx.Change.Files {
		planned, err := files.Plan(ctx, tx, i)
		if err != nil {
			return err
		}
		all = append(all, planned...)
	}
	return tx.write(all)
}

// Commit lands the change. If one of several files cannot be changed after others were, those are
// reverted, and the error is a *filetime.Incomplete.
func (tx *Transaction) Commit(ctx context.Context, files Files) (out filetime.Landed, err error) {
	c := tx.Change
	if len(c.Files) > 1 {
		if err := tx.plan(ctx, files); err != nil {
			tx.End(err)
			return out, err
		}
	}
	for i, e := range c.Files {
		if c.Apply == filetime.None && c.Makes(i) { // what is there is still there
			out.Files = append(out.Files, e.Made())
			continue
		}
		l, err := files.Land(ctx, tx, e)
		if err == nil {
			if l.Stale != "" {
				tx.Warn(l.Path, l.Stale)
			}
			if l.EndKept {
				tx.Warn(l.Path, endSays)
			}
			out.Files = append(out.Files, l)
			continue
		}
		if i == 0 {
			tx.End(err)
			return out, err
		}
		report := tx.revert(ctx, files, out.Files, i, err)
		landed := out.Files
		out = filetime.Landed{Warnings: tx.warnings}
		for i, l := range landed { // a file that was moved has another path than in the change
			if report.Files[i].State != filetime.Reverted {
				out.Files = append(out.Files, l)
			}
		}
		if len(out.Files) > 0 {
			tx.Disk.End(disk.Partly)
		} else {
			tx.End(err)
		}
		return out, report
	}
	tx.End(nil)
	out.Warnings = tx.warnings
	return out, nil
}

// endSays is the warning about LandedFile.EndKept.
const endSays = "ends with a line break: the editor adds one to every text, so it stands there although the edit has none."

// errForGood says that a removal cannot be reverted.
var errForGood = errors.New("what was deleted was no text, and no copy of it is kept")

// revert reverts what has landed, because file k of the change did not. Later changes by others
// stay; where they conflict, the file stays changed.
func (tx *Transaction) revert(ctx context.Context, files Files, landed []filetime.LandedFile, k int, err error) *filetime.Incomplete {
	report := &filetime.Incomplete{Err: err}
	for i, e := range tx.Change.Files {
		state := filetime.Untouched
		if i == k {
			state = filetime.Refused
		}
		report.Files = append(report.Files, filetime.FileReport{Path: e.Path, State: state})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), delivery.SendBudget+delivery.ReplyTimeout)
	defer cancel()
	for i, l := range slices.Backward(landed) {
		if !l.Applied {
			continue
		}
		e := filetime.FileEdit{Path: l.Path, Base: l.After, Rev: l.Rev, Entry: l.Entry}
		switch was := tx.Change.Files[i]; {
		case l.Entry != filetime.File && was.Delete && l.Entry != filetime.Folder:
			report.Files[i].State, report.Files[i].Err = filetime.Stays, errForGood
			continue
		case l.Entry != filetime.File:
			e.Create, e.Delete, e.To = was.Delete, was.Create && !l.Already, l.Origin
		case was.Create:
			e.Delete = true
		case was.Delete:
			e.Create, e.Base, e.Edits, e.Mode = true, text.Text{}, text.Set{{New: l.Before.String()}}, l.Mode
		default:
			e.To, e.Edits = l.Origin, l.Set.Inverse(l.Before)
		}
		err := tx.TakeBack(ctx, files, e)
		report.Files[i].State, report.Files[i].Err = filetime.Reverted, err
		if err != nil {
			report.Files[i].State = filetime.Stays
		}
	}
	return report
}

// TakeBack lands an edit that takes back what has landed of the change.
func (tx *Transaction) TakeBack(ctx context.Context, files Files, e filetime.FileEdit) error {
	back := Begin(tx.on, tx.journal, tx.Change)
	back.Reverts = true
	_, err := files.Land(ctx, back, e)
	back.End(err)
	return err
}
