package backend

import (
	"errors"
	"fmt"

	"tandem/agent"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/sandbox"
)

// Kind is the reason of a refusal. A refused request has changed nothing.
type Kind string

// The kinds. Invalid is a mistake in the request itself.
const (
	Invalid          Kind = ""
	NoSuchFolder     Kind = "no_such_folder"
	UnknownSession   Kind = "unknown_session"
	SessionBusy      Kind = "session_busy"
	ModelUnavailable Kind = "model_unavailable"
	NotPermitted     Kind = "not_permitted"
	NoTurn           Kind = "no_turn"
)

// Error is a refused request. Message is a sentence for the user.
type Error struct {
	Kind    Kind
	Message string
	// PID is the process that holds the session, if that is the reason.
	PID int
	// NeedsKey says of a ModelUnavailable that a person has to give a key.
	NeedsKey bool
}

func (e *Error) Error() string { return e.Message }

// Is says whether err is a refusal of that kind.
func (k Kind) Is(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

func refuse(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}

func unknownSession(id string) error {
	return refuse(UnknownSession,
		"There is no session %.80q open here; tandem/session/load opens one that is kept, tandem/session/new makes one.", id)
}

func noSuchFolder(path string) error {
	return refuse(NoSuchFolder, "%s is no folder that exists; open one that does.", path)
}

// Refused converts an error of a session into an *Error.
func Refused(err error) error {
	var m *model.Error
	var mode *agent.ModeError
	var id *agent.CallIDError
	var command *agent.CommandError
	var folder *sandbox.PathError
	switch {
	case errors.As(err, &folder):
		return refuse(NotPermitted, "%s was deleted and made anew, or another folder was put in its place. Open the session again or "+
			"begin a new one to work in it.", folder.Path)
	case errors.As(err, &m):
		return &Error{Kind: ModelUnavailable, Message: m.Message, NeedsKey: m.NeedsKey}
	case errors.Is(err, agent.ErrBusy):
		return refuse(SessionBusy, "The session is answering another prompt.")
	case errors.Is(err, agent.ErrIdle):
		return refuse(NoTurn, "No prompt is being answered; send this one with tandem/session/prompt.")
	case errors.Is(err, agent.ErrClosed):
		return refuse(UnknownSession, "The session is closed.")
	case errors.As(err, &mode), errors.As(err, &id), errors.As(err, &command), errors.Is(err, agent.ErrEmpty):
		return refuse(Invalid, "%v", err)
	}
	return err
}

// refusal converts an error of a store into an *Error.
func (b *Backend) refusal(id string, err error) error {
	var held *store.HeldError
	var known *Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, store.ErrUnknown):
		if why := b.keeper.unkept(); why != "" {
			return refuse(UnknownSession, "There is no session %.80q open here, and those that are kept cannot be read: %s.", id, why)
		}
		return refuse(UnknownSession,
			"There is no session %.80q, neither open here nor kept; tandem/session/list names those that are.", id)
	case errors.As(err, &held):
		return &Error{
			Kind: SessionBusy, Message: fmt.Sprintf("The session is open in another process (%d); close it there.", held.PID), PID: held.PID,
		}
	}
	return err
}
