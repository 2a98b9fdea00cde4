package languages

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
)

// compilerServes is the major version of the package typescript from which on its compiler is a
// language server, and no other program can be one for it.
const compilerServes = 7

// compiler is a program tsc. The major version of its package is 0 where that is not known.
type compiler struct {
	major   int
	program string
}

// takes reports whether a program is for the version of TypeScript of a project. A program that the
// person has named is taken for every version, in place of the presets.
func (s *session) takes(env *tools.Env, p Program, root string) bool {
	return fits(p, s.pool.o.Programs(), func() int { return s.compiler(env, root).major })
}

func fits(p Program, all []Program, major func() int) bool {
	bound := func(p Program) bool { return p.Since > 0 || p.Before > 0 }
	switch {
	case !bound(p) || p.Named:
		return true
	case slices.ContainsFunc(all, func(p Program) bool { return bound(p) && p.Named }):
		return false
	}
	v := major()
	return v >= p.Since && (p.Before == 0 || v < p.Before)
}

// compiler is that of the nearest node_modules with the package typescript, else the one of the
// PATH. That of a workspace is code of the workspace: it runs confined, as what
// typescript-language-server loads from there.
func (s *session) compiler(env *tools.Env, root string) compiler {
	for dir := root; ; dir = filepath.Dir(dir) {
		if at, err := env.Paths.Readable(filepath.Join(dir, "node_modules", "typescript", "package.json")); err == nil {
			if f, _, err := at.Open(); err == nil {
				defer f.Close()
				c := compiler{majorOf(f), filepath.Join(dir, "node_modules", ".bin", "tsc")}
				if !there(env, c.program) {
					c.program = ""
				}
				return c
			}
		}
		inside := func(folder string) bool {
			folder = sandbox.Canonical(folder)
			return folder != dir && below(folder, dir)
		}
		if !slices.ContainsFunc(env.Paths.Read, inside) {
			break
		}
	}
	if env.Commands.Runner == nil {
		return compiler{}
	}
	program, err := env.Commands.Runner.Find("tsc", sandbox.Surroundings{})
	if err != nil {
		return compiler{}
	}
	f, err := os.Open(filepath.Join(filepath.Dir(sandbox.Canonical(program)), "..", "package.json"))
	if err != nil { // a script that starts it, such as those of pnpm
		return compiler{0, program}
	}
	defer f.Close()
	return compiler{majorOf(f), program}
}

// majorOf is the major version in a package.json, 0 where there is none.
func majorOf(manifest io.Reader) int {
	var m struct{ Version string }
	if json.NewDecoder(io.LimitReader(manifest, 1<<20)).Decode(&m) != nil {
		return 0
	}
	major, _, _ := strings.Cut(m.Version, ".")
	n, _ := strconv.Atoi(major)
	return n
}
