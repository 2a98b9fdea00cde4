package conformance

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/agenttest"
)

var update = flag.Bool("update", false, "rewrite the goldens of the scenarios")

// TestScenario plays every file below testdata, in each of its editors.
func TestScenario(t *testing.T) {
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txtar" {
			return err
		}
		name, _ := strings.CutPrefix(strings.TrimSuffix(filepath.ToSlash(path), ".txtar"), "testdata/")
		t.Run(name, func(t *testing.T) {
			s, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, profile := range s.Profiles() {
				t.Run(string(profile), func(t *testing.T) {
					kept := agenttest.Store(t)
					r := perform(t, s, profile, keeping(kept))
					agenttest.Audited(t, kept)
					if *update && i == 0 {
						if err := os.WriteFile(path, s.Update(r), 0o644); err != nil {
							t.Fatal(err)
						}
						if s, err = Load(path); err != nil {
							t.Fatal(err)
						}
						r.Problems = r.strict
					}
					for _, p := range r.Problems {
						t.Error(p)
					}
				})
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
