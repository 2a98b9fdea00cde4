package tools_test

import (
	"context"
	"errors"
	"testing"

	"tandem/filetime"
	"tandem/filetime/filetimetest"
	"tandem/sandbox"
	"tandem/tools"
)

// TestFaultT19MayRead: a failure quotes a file only if the model has seen text of it or may read it without a question.
func TestFaultT19MayRead(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	paths := &sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}
	at := func(name string) sandbox.Place {
		p, err := paths.Readable(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	open, closed, seen := at("open"), at("closed"), at("seen")
	files := filetimetest.New()
	files.Put(seen.Path(), "text\n", false)
	env := &tools.Env{FileTime: filetime.New(files, "s", nil), Judged: tools.Judged{Allows: func(p sandbox.Place) bool { return p == open }}}
	now, err := files.Read(context.Background(), seen.Path())
	if err != nil {
		t.Fatal(err)
	}
	env.FileTime.Read(now, 1, 1)
	unread := &filetime.Error{Code: filetime.NotRead}
	for _, c := range []struct {
		place         sandbox.Place
		shows, unread bool
	}{{open, true, true}, {closed, false, false}, {seen, true, false}} {
		if tools.Shows(env, c.place) != c.shows {
			t.Errorf("%s is quoted: %v", c.place.Rel(), !c.shows)
		}
		if tools.Unread(env, c.place, unread) != c.unread {
			t.Errorf("%s can be shown: %v", c.place.Rel(), !c.unread)
		}
		if tools.Unread(env, c.place, errors.New("another")) {
			t.Errorf("%s is shown for another failure", c.place.Rel())
		}
	}
	if env.Judged.Allows = nil; !tools.Shows(env, closed) || !tools.Unread(env, closed, unread) {
		t.Error("without a host's judgement nothing forbids it")
	}
}
