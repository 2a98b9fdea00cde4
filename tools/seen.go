package tools

import (
	"errors"
	"fmt"

	"tandem/filetime"
	"tandem/sandbox"
)

// ReadFile is the name of the tool whose permission decides which files a refusal may show unasked.
const ReadFile = "read_file"

// Unread says that err refuses a change of the file at a Place that the model has not read, and that it may read it without a
// question, so that the refusal can show it.
func Unread(env *Env, p sandbox.Place, err error) bool {
	var unread *filetime.Error
	return errors.As(err, &unread) && unread.Code == filetime.NotRead && env.Judged.MayRead(p)
}

// Shows says that the failure of a call, which comes before any permission, may quote the file at a Place: the model has
// seen text of it in this session, or may read it without a question.
func Shows(env *Env, p sandbox.Place) bool {
	return env.FileTime.Knows(p.Path()) || env.Judged.MayRead(p)
}

// UnreadWhole refuses to replace, delete or move a file of which the model has not seen all, and shows it, as far as there is room: that
// counts as read then. done is what has not been done to it, in the past tense, and instead what is left to do with a file that cannot be shown.
func UnreadWhole(env *Env, now filetime.Snapshot, done, instead string) error {
	e := WholeFile(env)
	total := Lines(now.Text)
	e.Lines(now.Text, 1, total)
	e.Seen(env.FileTime, now)
	next := "This is the whole file and now counts as read. If the call is still right, send it again unchanged."
	switch {
	case e.Cut():
		next = fmt.Sprintf("Lines of more than %d characters cannot be shown whole, so that it cannot be %s: %s.", MaxLine, done, instead)
	case e.Count() < total:
		next = fmt.Sprintf("These lines count as read now. Read the others with read_file, from start_line %d on, "+
			"then send the same call again.", e.Count()+1)
	}
	return Refuse(filetime.NotRead, "not_read", "%s has not been read whole in this session, so it was not %s. It says (%s):\n%s%s",
		env.Name(now.Path), done, Count(total, "line"), e, next)
}

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
