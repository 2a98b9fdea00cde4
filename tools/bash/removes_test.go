package bash

import (
	"encoding/json"
	"errors"
	"os"
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
	w.Env.Runner, w.Host.Gate = &scripted{level: "full"}, gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root})
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
