package tools

import (
	"errors"

	"tandem/filetime"
)

// ReadFile is the name of the tool whose permission decides which files a refusal may show unasked.
const ReadFile = "read_file"

// Unread says that err refuses a change of a file that the model has not read, and that it may read it without a question, so
// that the refusal can show it.
func Unread(env *Env, err error) bool {
	var unread *filetime.Error
	return errors.As(err, &unread) && unread.Code == filetime.NotRead && env.mayRead()
}

// Shows says that the failure of a call, which comes before any permission, may quote the file that it is about: the model has
// seen text of it in this session, or may read it without a question.
func Shows(env *Env) bool { return env.FileTime.Knows(env.Place().Path()) || env.mayRead() }

func (e *Env) mayRead() bool { return e.MayRead == nil || e.MayRead(e.Place()) }

// Seen gives the texts of a file that the model has seen, the newest first; see FileTime.Assert. Where nothing has to be read
// before it is changed, the present text counts as seen, as the last of them.
func Seen(env *Env, now filetime.Snapshot, whole bool) ([]filetime.View, error) {
	views, err := env.FileTime.Assert(now, whole)
	var unread *filetime.Error
	switch {
	case env.RequireRead:
		return views, err
	case errors.As(err, &unread) && unread.Code == filetime.NotRead:
		err = nil
	}
	return append(views, filetime.View{Text: now.Text, Rev: now.Rev}), err
}
