package run

import (
	"context"
	"errors"

	"tandem/filetime"
)

// Cancelled says that a person answered a question by ending the turn.
func (s *Stream) Cancelled() bool { return errors.Is(context.Cause(s.ctx), errTurnCancelled) }

// Meets reports whether the claims of two edits are about the same text.
func Meets(files filetime.Files, a, b filetime.FileEdit) bool {
	return (&claim{files: files, path: a.Path, edit: a}).meets(&claim{files: files, path: b.Path, edit: b})
}
