package workspace_test

import (
	"os"
	"testing"

	"tandem/filetime/filetimetest"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
)

func TestContract(t *testing.T) {
	filetimetest.Contract(t, func(t *testing.T) filetimetest.Subject {
		dir, roots := t.TempDir(), &sandbox.Roots{}
		roots.Add(dir)
		w := workspace.New(workspace.Options{Roots: roots})
		t.Cleanup(w.Settle)
		return filetimetest.Subject{
			Files: w, Dir: dir,
			Write: func(t *testing.T, path, content string) {
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			Remove: func(t *testing.T, path string) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
