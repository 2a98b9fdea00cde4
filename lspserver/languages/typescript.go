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

// compilerServesSince is the major version of the package typescript from which on its compiler is
// the only language server.
const compilerServesSince = 7

// compiler is a program tsc. The major version of its package is 0 if unknown.
type compiler struct {
	major   int
	program string
}

// supports reports whether a program supports the TypeScript version of a project. A command that
// the user configured serves every version and replaces the presets.
func (s *session) supports(env *tools.Env, p Program, root string) bool {
	return matchesVersion(p, s.pool.o.Programs(), func() int { return s.compiler(env, root).major })
}

func matchesVersion(p Program, all []Program, major func() int) bool {
	isBound := func(p Program) bool { return p.Since > 0 || p.Before > 0 }
	switch {
	case !isBound(p) || p.ByUser:
		return true
	case slices.ContainsFunc(all, func(p Program) bool { return isBound(p) && p.ByUser }):
		return false
	}
	v := major()
	return v >= p.Since && (p.Before == 0 || v < p.Before)
}

// compiler finds the compiler of the nearest node_modules with the package typescript, else the one
// on the PATH. A workspace's compiler is untrusted code, so it runs confined, like the modules that
// typescript-language-server loads from there.
func (s *session) compiler(env *tools.Env, root string) compiler {
	for dir := root; ; dir = filepath.Dir(dir) {
		if at, err := env.Paths.Readable(filepath.Join(dir, "node_modules", "typescript", "package.json")); err == nil {
			if f, _, err := at.Open(); err == nil {
				defer f.Close()
				c := compiler{majorOf(f), filepath.Join(dir, "node_modules", ".bin", "tsc")}
				if !isReadableFile(env, c.program) {
					c.program = ""
				}
				return c
			}
		}
		inside := func(folder string) bool {
			folder = sandbox.Canonical(folder)
			return folder != dir && isBelow(folder, dir)
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
	if err != nil { // a wrapper script, such as those of pnpm
		return compiler{0, program}
	}
	defer f.Close()
	return compiler{majorOf(f), program}
}

// majorOf is the major version in a package.json, 0 if it has none.
func majorOf(manifest io.Reader) int {
	var m struct{ Version string }
	if json.NewDecoder(io.LimitReader(manifest, 1<<20)).Decode(&m) != nil {
		return 0
	}
	major, _, _ := strings.Cut(m.Version, ".")
	n, _ := strconv.Atoi(major)
	return n
}
