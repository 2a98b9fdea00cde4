package sandbox

import (
	"os"
	"testing"
)

// TestFindingS7HeldFolder exchanges the folder of a command between its last check and the start: the command runs in the
// folder that was checked, wherever that is now.
func TestFindingS7HeldFolder(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/a", 0o700), os.Mkdir(dir+"/b", 0o700), os.WriteFile(dir+"/a/mark", nil, 0o600))
	c := bash("ls; pwd -P")
	c.Dir = OpenFolder(dir + "/a")
	defer c.Dir.Close()
	for _, exchange := range []func() error{
		func() error { return nil },
		func() error { return os.Rename(dir+"/a", dir+"/c") },
		func() error { return os.Symlink("/", dir+"/a") },
		func() error { return os.Remove(dir + "/a") },
		func() error { return os.Rename(dir+"/b", dir+"/a") },
	} {
		must(t, exchange())
		at := dir + "/c"
		if _, err := os.Stat(at); err != nil {
			at = dir + "/a"
		}
		if o := run(t, c); o.Stdout != "mark\n"+at+"\n" {
			t.Errorf("%+v", o)
		}
	}
}
