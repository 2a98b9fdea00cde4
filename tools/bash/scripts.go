package bash

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/shell"
)

// What is read of the files that say what a command does.
const (
	maxScripts = 64
	maxScript  = 4 << 20
)

// scripts is Need.Scripts of a line in a folder: the names of the files that say what its one
// command does, and a hash of their content; a hash alone where it would do what files say, and
// there are none.
func scripts(env *tools.Env, dir sandbox.Place, parsed shell.Command) string {
	if parsed.ReadOnly || !parsed.Literal || len(parsed.Calls) != 1 {
		return ""
	}
	manifests, words, ok := shell.Scripts(parsed.Calls[0])
	if !ok {
		return ""
	}
	s := digest{seen: map[string]bool{}, hash: sha256.New()}
	folders := []sandbox.Place{dir}
	for at := dir; at.Rel() != "."; {
		at, _ = at.Parent()
		folders = append(folders, at)
	}
	for _, w := range words {
		if !filepath.IsAbs(w) {
			w = dir.Path() + "/" + w
		}
		place, err := env.Paths.Readable(w)
		if err != nil {
			continue
		}
		if info, err := place.Stat(); err == nil && info.IsDir() {
			folders = append(folders, place)
		} else if err == nil {
			s.add(env, place)
		}
	}
	for _, folder := range folders {
		for _, name := range manifests {
			s.add(env, folder.Join(name))
		}
	}
	return fmt.Sprintf("%s %.16x", strings.Join(s.names, ", "), s.hash.Sum(nil))
}

// digest gathers files.
type digest struct {
	names []string
	seen  map[string]bool
	hash  hash.Hash
}

func (s *digest) add(env *tools.Env, place sandbox.Place) {
	if s.seen[place.Path()] || len(s.names) == maxScripts {
		return
	}
	s.seen[place.Path()] = true
	f, info, err := place.Open()
	if err != nil {
		return
	}
	defer f.Close()
	s.names = append(s.names, env.Name(place.Path()))
	fmt.Fprintf(s.hash, "%q %d\n", place.Path(), info.Size())
	if info.Size() > maxScript {
		fmt.Fprintf(s.hash, "%d\n", info.ModTime().UnixNano())
	}
	_, _ = io.Copy(s.hash, io.LimitReader(f, maxScript))
}
