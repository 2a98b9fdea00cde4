package effects

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tandem/sandbox"
)

func BenchmarkLook(b *testing.B) {
	for _, withGit := range []bool{true, false} {
		b.Run(fmt.Sprintf("git=%v", withGit), func(b *testing.B) {
			dir := b.TempDir()
			for i := range 5000 {
				at := filepath.Join(dir, fmt.Sprintf("d%d", i/100), fmt.Sprintf("e%d", i/25%4))
				if err := os.MkdirAll(at, 0o700); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("file%d.go", i)), fmt.Appendf(nil, "package x // %d\n", i), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			if withGit {
				gitIn(b, dir, "init", "-q")
				gitIn(b, dir, "add", "-A")
			}
			old(b, dir)
			if withGit {
				gitIn(b, dir, "update-index", "--refresh", "-q")
			}
			paths := &sandbox.Paths{Cwd: dir, Read: []string{dir}, Write: []string{dir}}
			m := &Memory{}
			m.Now = later
			b.Run("first", func(b *testing.B) {
				for b.Loop() {
					m := &Memory{Now: later}
					m.Before(b.Context(), paths, nil)
				}
			})
			m.Before(b.Context(), paths, nil)
			b.Run("before", func(b *testing.B) {
				for b.Loop() {
					m.Before(b.Context(), paths, nil)
				}
			})
			look := m.Before(b.Context(), paths, nil)
			b.Run("after", func(b *testing.B) {
				for b.Loop() {
					look.After(b.Context())
				}
			})
		})
	}
}
