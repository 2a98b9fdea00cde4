package bash

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/toolstest"
)

// TestCaseA12Removes: in auto, what a build makes again is removed without a question, and everything else asks.
func TestCaseA12Removes(t *testing.T) {
	w := toolstest.NewWorld(t, New())
	commit(t, w.Root, "src/a.go", "kept/b.go", "f.txt")
	for name, text := range map[string]string{
		".gitignore": "node_modules/\n/build\nkept\nsecrets\nnested\n", "node_modules/x/i.js": "", "build/out/a.o": "", "secrets/.env": "",
		"sub/node_modules/y": "", "new/work.go": "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(w.Path(name)), 0o755), os.WriteFile(w.Path(name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, w.Path("nested/r"), "x")
	w.Env.Commands.Runner, w.Host.Gate = &scripted{level: "full"}, gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root})
	for line, asks := range map[string]bool{
		"rm -rf node_modules": false, "rm -rf build": false, "rm -rf ./build/out node_modules": false, "rm -rf -- build": false, "rm -rf absent": true,
		"rm -rf f.txt": false, "rm -rf sub/node_modules": false, "rm -rf node_modules && npm ci": false, "dd if=/dev/zero of=disk.img bs=1M count=1": false,
		"rm -rf src": true, "rm -rf build src": true, "rm -rf kept": true, "rm -rf new": true, "rm -rf secrets": true, "rm -rf build/*": true,
		"rm -rf $X": true, "rm -rf .git": true, "rm -rf nested": true, "rm -rf nested/r": true, "rm -rf sub": true, "cd sub; rm -rf node_modules": true,
		"rm -rf build; git reset --hard": true, "echo build | xargs rm -rf": true, "rm -rf src/../build": true, "rm -rf /etc/x": true, "rm -rf \"$(pwd)/build\"": true,
		"dd if=x of=/dev/sda": true, "dd if=x of=$Y": true, "dd": true, "shred f.txt": true,
	} {
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		w.Asked = nil
		r := w.Call("bash", string(args))
		if refused := r.Error == tools.GateDenied; (len(w.Asked) > 0 || refused) != asks {
			t.Errorf("%s: asked %d times: %+v", line, len(w.Asked), r)
		}
	}
}

func gitIn(t *testing.T, top string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", top, "-c", "user.name=x", "-c", "user.email=x@y"}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// A folder is made again by a build only where git ignores it: what ripgrep would not search, and what an index that is not read
// tracks, is asked about.
func TestFaultW6RemovesByGitsRules(t *testing.T) {
	for name, prepare := range map[string]func(top string){
		"plain": func(string) {}, "split": func(top string) { gitIn(t, top, "update-index", "--split-index") },
		"sparse": func(top string) { gitIn(t, top, "sparse-checkout", "set", "--sparse-index", "src") },
	} {
		t.Run(name, func(t *testing.T) {
			w := toolstest.NewWorld(t, New())
			for name, text := range map[string]string{
				".gitignore": "{tmpl,dist}/\nbuild/\nkept/\nout\n!out\nblank \ngen\\\n", ".ignore": "notes/\n", ".rgignore": "drafts/\n", "tmpl/x": "", "dist/x": "",
				"notes/x": "", "drafts/x": "", "build/x": "", "kept/x": "", "out/x": "", "blank/x": "", "gen/x": "", "src/a": "",
			} {
				if err := errors.Join(os.MkdirAll(filepath.Dir(w.Path(name)), 0o755), os.WriteFile(w.Path(name), []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			gitIn(t, w.Root, "init", "-q")
			gitIn(t, w.Root, "add", "-f", ".gitignore", "kept", "src")
			gitIn(t, w.Root, "commit", "-qm", "x")
			prepare(w.Root)
			if err := os.MkdirAll(w.Path("kept"), 0o755); err != nil {
				t.Fatal(err)
			}
			w.Env.Commands.Runner, w.Host.Gate = &scripted{level: "full"}, gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root})
			for folder, asks := range map[string]bool{
				"build": false, "blank": false, "tmpl": true, "dist": true, "notes": true, "drafts": true, "kept": true, "out": true, "gen": true,
			} {
				w.Asked = nil
				r := w.Call("bash", `{"command": "rm -rf `+folder+`"}`)
				if (len(w.Asked) > 0) != asks {
					t.Errorf("rm -rf %s: asked %d times: %+v", folder, len(w.Asked), r)
				}
			}
		})
	}
}
