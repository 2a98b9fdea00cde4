package workspace

import (
	"tandem/filetime/text"
)

// document is an open document: the editor's buffer of a file.
type document struct {
	version     int32
	unversioned bool // the client does not say a version: ours is a count of its changes
	opener      opener
	unplaced    bool // it was opened without a Place, so that it was not compared with the disk
	sync        syncState
	lineEnds    lineEnds
	rivals      int        // further names that the editor has it open under
	clamped     int        // positions that were cut to fit
	editorText  *text.Text // the editor's text, if the file was written on disk because it cannot apply edits
	echo        uint64     // the last revision that made the text the one that an edit in flight was to lead to
}

// opener is on whose account the editor opened a document.
type opener uint8

const (
	byPerson opener = iota
	forEdit         // only to apply our edit, or to answer a request about it
)

// syncState says how far the text of an open document can be trusted to be the editor's.
type syncState uint8

const (
	inSync syncState = iota
	// maybeDrifted: a position did not fit. The text is read, and not edited.
	maybeDrifted
	// lostSync: a change was not understood, so the text is another one than the editor's. It is neither read nor edited.
	lostSync
)

// lineEnds says whether a text has line ends that clients count differently.
type lineEnds uint8

const (
	plainEnds  lineEnds = iota
	oddEnds             // it has one, or had since it was opened
	behindEnds          // and the client has changed text behind one since it was saved
)
