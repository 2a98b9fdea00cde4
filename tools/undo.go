package tools

import (
	"context"

	"tandem/filetime"
	"tandem/filetime/text"
)

// Undo is what a host knows of the changes that the session's own calls have made, commands included, and how they are taken back. All
// methods may be called concurrently; none changes a file.
type Undo interface {
	// Turn is the newest turn of which something stands in the files, 0 where there is none.
	Turn() int
	// Paths gives the canonical paths of the files that a turn has changed, sorted. It reads no file.
	Paths(turn int) []string
	// Origins gives the canonical paths that the session's calls have moved a file from: taking its changes back may move it there.
	Origins(path string) []string
	// RevertTurn works out how what a turn has changed in a file is taken back, RevertLast how the newest change of it that stands is.
	// The edit may only land as part of a Change of that call, with Change.Undo.
	RevertTurn(ctx context.Context, call, path string, turn int) Revert
	RevertLast(ctx context.Context, call, path string) Revert
}

// Revert is how changes of one file are taken back: an edit of the file as it is now.
type Revert struct {
	// Edit takes back what can be; nil where nothing can.
	Edit *filetime.FileEdit
	// Now is the file as it is, Taken counts the changes that Edit takes back, Turn is that of the newest of them.
	Now         filetime.Snapshot
	Taken, Turn int
	// Stay are the places in Now of changes that stay, since others have changed their text. Accepted counts those that stay since
	// a person has accepted them, Lost the changes whose original text is no longer stored.
	Stay           []text.Range
	Accepted, Lost int
	// Err says that the file cannot be read.
	Err error
}

// UndoFile and UndoTurn are the names of the tools that take the session's own changes back.
const (
	UndoFile = "undo_file"
	UndoTurn = "undo_turn"
)
