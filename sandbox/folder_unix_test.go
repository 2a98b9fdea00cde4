//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFindingS18FolderMadeAnew: no path is given while another folder stands at the path of one that was opened, also where
// the file system gives the new one the number of the old one.
func TestFindingS18FolderMadeAnew(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(t *testing.T, app string)
		replaced bool
	}{
		"nothing":     {func(*testing.T, string) {}, false},
		"its content": {func(t *testing.T, app string) { must(t, os.Remove(app+"/x"), os.WriteFile(app+"/x", nil, 0o644)) }, false},
		"its mode":    {func(t *testing.T, app string) { must(t, os.Chmod(app, 0o700)) }, false},
		"deleted":     {func(t *testing.T, app string) { must(t, os.RemoveAll(app)) }, false},
		"made anew": {func(t *testing.T, app string) {
			must(t, os.RemoveAll(app), os.Mkdir(app, 0o755), os.WriteFile(app+"/x", []byte("x"), 0o644))
		}, true},
		"made anew often": {func(t *testing.T, app string) {
			for range 50 {
				must(t, os.RemoveAll(app), os.Mkdir(app, 0o755))
			}
		}, true},
		"another one": {func(t *testing.T, app string) { must(t, os.Rename(app, app+"2"), os.Mkdir(app, 0o755)) }, true},
		"a file":      {func(t *testing.T, app string) { must(t, os.RemoveAll(app), os.WriteFile(app, nil, 0o644)) }, true},
		"a link":      {func(t *testing.T, app string) { must(t, os.RemoveAll(app), os.Symlink(t.TempDir(), app)) }, true},
		"a link to itself": {func(t *testing.T, app string) {
			must(t, os.Rename(app, app+"2"), os.Symlink(app+"2", app))
		}, false},
		"there and back": {func(t *testing.T, app string) {
			must(t, os.Rename(app, app+"2"), os.Mkdir(app, 0o755), os.Remove(app), os.Rename(app+"2", app))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := jail(t, map[string]string{"app/x": "x", "lib/y": "y"})
			app, lib := OpenFolder(dir+"/app"), OpenFolder(dir+"/lib")
			defer app.Close()
			defer lib.Close()
			p.Folders, p.Read = []*Folder{lib, app}, append(p.Read, dir+"/lib")
			c.change(t, dir+"/app")
			_, read := p.Readable(dir + "/lib/y") // also beside it
			_, write := p.Writable("x")
			for _, err := range []error{p.Intact(), read, write} {
				var e *PathError
				refused := errors.As(err, &e) && e.Code == "OUTSIDE_ROOTS" && e.Reason == "replaced" && e.Path == dir+"/app"
				if refused != c.replaced {
					t.Errorf("replaced: %v, %v", refused, err)
				}
			}
			again := app.Again()
			defer again.Close()
			if again.Replaced() || (again == app) == c.replaced {
				t.Errorf("opened again it is replaced: %v, the same: %v", again.Replaced(), again == app)
			}
		})
	}
	if f := OpenFolder(filepath.Join(t.TempDir(), "none")); f.Replaced() {
		t.Error("one that was not there is replaced")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
