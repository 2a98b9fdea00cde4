package run

import (
	"context"
	"errors"
)

// Cancelled says that a person answered a question by ending the turn.
func (s *Stream) Cancelled() bool { return errors.Is(context.Cause(s.ctx), errTurnCancelled) }
