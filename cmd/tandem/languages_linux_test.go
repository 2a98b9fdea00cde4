package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/lspserver/conformance"
	"tandem/lspserver/languages"
)

// serverProject is a small project for one of the language servers that can be started, with the same function and the same use of it.
type serverProject struct {
	files map[string]string // ROOT is the folder
	// probe are arguments with which the program only says that it runs.
	probe []string
	// made and used are the places of the function and of its use.
	made, used place
	// listed are the names in the file of the function.
	listed string
	// wrong is what is said of cc in place of b; noted says that it comes with the answer of the edit, too, from a server that is in time.
	wrong string
	noted bool
	// renamed is what the line with the use is after the rename.
	renamed string
}

type place struct {
	file string
	line int
	name string
}

var serverProjects = map[string]serverProject{
	"gopls": {
		files: map[string]string{
			"go.mod":  "module calc\n\ngo 1.24\n",
			"calc.go": "package calc\n\nfunc add(a, b int) int { return a + b }\n",
			"use.go":  "package calc\n\nimport \"strings\"\n\nvar three = add(1, len(strings.ToUpper(\"ab\")))\n",
		},
		probe: []string{"version"},
		made:  place{"calc.go", 3, "add"}, used: place{"use.go", 5, "add"}, listed: "3 | function add",
		wrong: "calc.go:3 error: undefined: cc", renamed: "var three = sum(1,",
	},
	"typescript-language-server": {
		files: map[string]string{
			"tsconfig.json": "{\"compilerOptions\": {\"strict\": true}}\n",
			"calc.ts":       "export function add(a: number, b: number): number { return a + b; }\n",
			"use.ts":        "import { add } from './calc';\nexport const three: number = add(1, 2);\n",
		},
		probe: []string{"--version"},
		made:  place{"calc.ts", 1, "add"}, used: place{"use.ts", 2, "add"}, listed: "1 | function add",
		wrong: "calc.ts:1 error: Cannot find name 'cc'.", noted: true, renamed: "three: number = sum(1, 2)",
	},
	"typescript": {
		files: map[string]string{
			"tsconfig.json": "{\"compilerOptions\": {\"strict\": true}}\n",
			"calc.ts":       "export function add(a: number, b: number): number { return a + b; }\n",
			"use.ts":        "import { add } from './calc';\nexport const three: number = add(1, 2);\n",
		},
		probe: []string{"--lsp", "--stdio"},
		made:  place{"calc.ts", 1, "add"}, used: place{"use.ts", 2, "add"}, listed: "1 | function add",
		wrong: "calc.ts:1 error: Cannot find name 'cc'.", noted: true, renamed: "three: number = sum(1, 2)",
	},
	"pyright": {
		files: map[string]string{
			"pyproject.toml": "[project]\nname = \"calc\"\n",
			"calc.py":        "def add(a: int, b: int) -> int:\n    return a + b\n",
			"use.py":         "from calc import add\n\nthree: int = add(1, 2)\n",
		},
		made: place{"calc.py", 1, "add"}, used: place{"use.py", 3, "add"}, listed: "1 | function add",
		wrong: "calc.py:2 error: \"cc\" is not defined", noted: true, renamed: "three: int = sum(1, 2)",
	},
	"rust-analyzer": {
		files: map[string]string{
			"Cargo.toml":  "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
			"src/lib.rs":  "pub mod calc;\npub mod used;\n",
			"src/calc.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n",
			"src/used.rs": "use crate::calc::add;\n\npub fn three() -> i32 {\n    add(1, 2)\n}\n",
		},
		probe: []string{"--version"},
		made:  place{"src/calc.rs", 1, "add"}, used: place{"src/used.rs", 4, "add"}, listed: "1 | function add",
		wrong: "src/calc.rs:2 error: ", renamed: "    sum(1, 2)",
	},
	"clangd": {
		files: map[string]string{
			"compile_commands.json": `[{"directory": "ROOT", "file": "calc.c", "command": "cc -c calc.c"},` +
				`{"directory": "ROOT", "file": "use.c", "command": "cc -c use.c"}]`,
			"calc.h": "int add(int a, int b);\n",
			"calc.c": "#include \"calc.h\"\nint add(int a, int b) { return a + b; }\n",
			"use.c":  "#include \"calc.h\"\nint three(void) { return add(1, 2); }\n",
		},
		probe: []string{"--version"},
		made:  place{"calc.c", 2, "add"}, used: place{"use.c", 2, "add"}, listed: "2 | function add",
		wrong: "calc.c:2 error: Use of undeclared identifier 'cc'", noted: true, renamed: "return sum(1, 2)",
	},
}

// installed gives the PATH with which a language server is found, or skips the test. editors/test/run.sh installs some.
func installed(t *testing.T, p languages.Program, probe []string) string {
	path := os.Getenv("PATH")
	if cache := os.Getenv("TANDEM_EDITORS"); cache != "" {
		path += servers(cache)
	} else if cache, err := os.UserCacheDir(); err == nil {
		path += servers(filepath.Join(cache, "tandem-editors"))
	}
	for _, dir := range filepath.SplitList(path) {
		program, err := exec.LookPath(filepath.Join(dir, p.Command))
		if err == nil && (probe == nil || exec.Command(program, probe...).Run() == nil) {
			return dir + ":" + path
		}
	}
	t.Skipf("%s is missing: %s", p.Command, p.Install)
	return ""
}

// toolchains is the folder of the Rust compilers of whoever runs the tests: cargo and rust-analyzer look there for themselves.
func toolchains() string {
	home, _ := os.UserHomeDir()
	return cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(home, ".rustup"))
}

// servers are the folders of programs below the cache of the editors' tests.
func servers(cache string) string {
	return ":" + filepath.Join(cache, "gopls", "bin") + ":" + filepath.Join(cache, "servers", "node_modules", ".bin") +
		":" + filepath.Join(cache, "typescript7", "node_modules", ".bin")
}

// TestF219LanguageServers: the language servers that are known, as far as they are installed, each as the program starts it in the sandbox
// for a client that is no editor: from the first question on an answer has all files, also with the caches of an earlier start, and what an
// edit breaks is said and taken back.
func TestF219LanguageServers(t *testing.T) {
	full(t)
	for _, preset := range languages.Presets() {
		t.Run(preset.Name, func(t *testing.T) {
			project, ok := serverProjects[preset.Name]
			if !ok {
				t.Fatal("it has no project here")
			}
			languageServer(t, project, installed(t, preset, project.probe), nil)
		})
	}
}

// TestFaultW14LanguageServers: TypeScript 7 among the packages of a workspace serves it, also where typescript-language-server is on
// the PATH, which cannot use it.
func TestFaultW14LanguageServers(t *testing.T) {
	full(t)
	presets := languages.Presets()
	at := slices.IndexFunc(presets, func(p languages.Program) bool { return p.Since > 0 })
	project := serverProjects[presets[at].Name]
	from, _, _ := strings.Cut(installed(t, presets[at], project.probe), ":")
	languageServer(t, project, installed(t, presets[at-1], serverProjects[presets[at-1].Name].probe), func(root string) {
		if out, err := exec.Command("cp", "-a", filepath.Dir(from), filepath.Join(root, "node_modules")).CombinedOutput(); err != nil {
			t.Fatalf("%s %v", out, err)
		}
	})
}

func languageServer(t *testing.T, project serverProject, path string, prepare func(root string)) {
	t.Helper()
	p := prepared(t, nil)
	if prepare != nil {
		prepare(p.root)
	}
	for name, content := range project.files {
		file := filepath.Join(p.root, name)
		if err := cmp.Or(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(strings.ReplaceAll(content, "ROOT", p.root)), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var e *editor
	var s string
	open := func() {
		p.start(append(p.env, "PATH="+path, "RUSTUP_HOME="+toolchains()), []string{"--stdio"})
		e = p.editor(conformance.Options{})
		s = e.session("auto")
	}
	open()
	call := func(tool string, args map[string]any, want ...string) (data string) {
		t.Helper()
		var r struct {
			Success     bool
			Data, Error string
		}
		e.ask("tandem/tools/call", map[string]any{"sessionId": s, "name": tool, "arguments": args}, &r)
		for _, part := range want {
			if !r.Success || !strings.Contains(r.Data, part) {
				t.Errorf("%s %v: %s\n%s\nwants %q", tool, args, r.Error, r.Data, part)
			}
		}
		return r.Data
	}
	at := func(p place) map[string]any { return map[string]any{"path": p.file, "line": p.line, "symbol": p.name} }
	made := map[string]any{"path": project.made.file}
	first := func(caches string) {
		t.Helper()
		begun := time.Now()
		call("references", at(project.made), project.made.file+":", project.used.file+":")
		t.Logf("the first answer, %s: %v", caches, time.Since(begun).Round(time.Millisecond))
	}
	first("with empty caches")
	call("definition", at(project.used), "1 definition", project.made.file+":")
	call("document_symbols", made, project.listed)
	call("workspace_symbols", map[string]any{"query": "add"}, project.made.file+":")
	call("diagnostics", made, "No diagnostics in ")
	call("read_file", made)
	change := func(from, to string) string {
		return call("edit_file", map[string]any{"path": project.made.file, "old_text": from, "new_text": to}, "File edited")
	}
	// A server that is late says it with the next edit that breaks the file: until then nothing wrong may be said.
	const tries = 30
	for try, noted := 0, false; try < 2 || project.noted && !noted; try++ {
		said := change("a + b", "a + cc")
		noted = noted || strings.Contains(said, "New: "+project.wrong)
		if try == tries {
			t.Fatalf("no edit that breaks it has said so; the last says\n%s", said)
		}
		call("diagnostics", made, project.wrong)
		if said := change("a + cc", "a + b"); strings.Contains(said, "New: ") {
			t.Errorf("an edit that repairs it says\n%s", said)
		}
		call("diagnostics", made, "No diagnostics in ")
	}
	rename := at(project.made)
	rename["new_name"] = "sum"
	call("rename_symbol", rename, "Renamed `add` to `sum`")
	call("read_file", map[string]any{"path": project.used.file}, project.renamed)
	e.leaves()
	project.made.name = "sum"
	open()
	first("with the caches of the start before")
	e.leaves()
}
