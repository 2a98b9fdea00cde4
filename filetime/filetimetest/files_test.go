package filetimetest_test

import (
	"testing"

	"tandem/filetime"
	"tandem/filetime/filetimetest"
	"tandem/filetime/text"
)

func TestContract(t *testing.T) {
	filetimetest.Contract(t, func(*testing.T) filetimetest.Subject {
		f := filetimetest.New()
		return filetimetest.Subject{
			Files: f, Dir: "/w",
			Write: func(_ *testing.T, path, content string) {
				old, exists := f.Text(path)
				if !exists {
					f.Put(path, content, false)
					return
				}
				f.Type(path, text.Diff(text.New(old), text.New(content)), filetime.Disk)
			},
			Remove: func(_ *testing.T, path string) { f.Remove(path) },
		}
	})
}
