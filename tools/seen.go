package tools

import (
	"context"
	"errors"

	"tandem/filetime"
)

// ReadFile is the name of the tool whose permission decides which files a refusal may show unasked.
const ReadFile = "read_file"

// Unread says that err refuses to change what the model has not read, and that it may read it without a question: the refusal
// can show it.
func Unread(env *Env, path string, err error) bool {
	var unread *filetime.Error
	if !errors.As(err, &unread) || unread.Code != filetime.NotRead {
		return false
	}
	return env.shows(path)
}

// Shows says that the failure of a call, which comes before any permission, may quote a file: the model has seen text of it
// in this session, or may read it without a question.
func Shows(env *Env, path string) bool { return env.FileTime.Knows(path) || env.shows(path) }

func (e *Env) shows(path string) bool {
	place, err := e.Paths.Readable(path)
	return err == nil && (e.MayRead == nil || e.MayRead(place))
}

// Seen gives what a file says now and the texts of it that the model has seen, the newest first; see FileTime.Assert.
// Where nothing has to be read before it is changed, the present text counts as seen, as the last of them.
func Seen(ctx context.Context, env *Env, path string, whole bool) (filetime.Snapshot, []filetime.View, error) {
	now, views, err := env.FileTime.Assert(ctx, path, whole)
	var unread *filetime.Error
	switch {
	case env.RequireRead:
		return now, views, err
	case errors.As(err, &unread) && unread.Code == filetime.NotRead:
		err = nil
	}
	return now, append(views, filetime.View{Text: now.Text, Rev: now.Rev}), err
}
