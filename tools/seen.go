package tools

import (
	"context"
	"errors"

	"tandem/filetime"
)

// Unread says that err refuses to change what the model has not read and that it may read: the refusal can show it.
func Unread(env *Env, path string, err error) bool {
	var unread *filetime.Error
	if !errors.As(err, &unread) || unread.Code != filetime.NotRead {
		return false
	}
	_, err = env.Paths.Readable(path)
	return err == nil
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
