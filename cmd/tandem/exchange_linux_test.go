package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tandem/lspserver/conformance"
)

var tries = flag.Int("tries", 2000, "how many calls are made while what they name is exchanged for links to outside")

// The text of every file outside.
const canary = "OUTSIDE-CANARY"

// TestCaseR01R02R03FindingS1ExchangedPaths: a program exchanges a file, a folder, a folder above, a link and a FIFO for links to outside, again
// and again, while tools read, search, list and write there. No byte from outside is told, and none is changed.
func TestCaseR01R02R03FindingS1ExchangedPaths(t *testing.T) {
	const most = 1000 // of one process
	for done := 0; done < *tries && !t.Failed(); done += most {
		exchangedPaths(t, min(most, *tries-done))
	}
}

func exchangedPaths(t *testing.T, calls int) {
	p := run(t, map[string]any{"requireRead": false}, nil, "--stdio")
	e := p.editor(quick(t, conformance.Options{}))
	s := e.session("auto")
	outside := filepath.Join(filepath.Dir(p.root), "outside")
	put := func(dir, text string) {
		for _, name := range []string{"f", "h/f", "new"} {
			path := filepath.Join(dir, name)
			e.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text+" "+name+"\n"), 0o644)))
		}
	}
	put(outside, canary)
	before := hashes(t, outside)

	// Each pair of names is exchanged again and again; the second is out of the way of the tools, which pass hidden folders over.
	var pairs [][2]string
	exchanged := func(name string, make func(path string) error) {
		hidden := filepath.Join(p.root, ".git", name)
		e.must(errors.Join(os.MkdirAll(filepath.Dir(hidden), 0o755), make(hidden)))
		pairs = append(pairs, [2]string{filepath.Join(p.root, name), hidden})
	}
	link := func(to string) func(string) error { return func(at string) error { return os.Symlink(to, at) } }
	for _, name := range []string{"folder", "above"} {
		put(filepath.Join(p.root, name), "inside")
		exchanged(name, link(outside))
	}
	for _, name := range []string{"file", "pipe"} {
		e.must(os.WriteFile(filepath.Join(p.root, name), []byte("inside\n"), 0o644))
	}
	exchanged("file", link(filepath.Join(outside, "f")))
	exchanged("pipe", func(at string) error { return unix.Mkfifo(at, 0o644) })
	e.must(os.Symlink("file", filepath.Join(p.root, "link")))
	exchanged("link", link(filepath.Join(outside, "f")))

	ctx, stop := context.WithTimeout(t.Context(), 10*patience) // of all calls
	defer stop()
	var attack sync.WaitGroup
	rounds := 0
	attacking, end := context.WithCancel(ctx)
	attack.Go(func() {
		for attacking.Err() == nil {
			for _, pair := range pairs {
				if err := unix.Renameat2(unix.AT_FDCWD, pair[0], unix.AT_FDCWD, pair[1], unix.RENAME_EXCHANGE); err == nil {
					rounds++
				}
			}
			time.Sleep(10 * time.Microsecond) // the server is to have its turn where there are few processors
		}
	})
	paths := []string{"folder/f", "above/h/f", "file", "link", "pipe", "folder/new", "above/h/new", "folder/made/new"}
	did, told := map[string]int{}, 0
	for i := range calls {
		path := paths[i%len(paths)]
		name, arguments := "read_file", map[string]any{"path": path}
		n := i / len(paths)
		switch top := filepath.Dir(path) == "."; {
		case n%25 == 7 && !top:
			name, arguments = "grep", map[string]any{"pattern": "CANARY|inside", "path": filepath.Dir(path)}
		case n%25 == 12:
			name, arguments = "grep", map[string]any{"pattern": "CANARY", "path": path}
		case n%5 == 1:
			name = "list_files"
			arguments["path"] = filepath.Dir(path)
		case n%10 == 3:
			name, arguments = "glob", map[string]any{"pattern": "**/*", "path": filepath.Dir(path)}
		case n%10 == 4: // of what a call before has written
			name = "edit_file"
			arguments["old_text"], arguments["new_text"] = "n", "N"
		case n%5 == 4:
			name = "write_file"
			arguments["content"] = fmt.Sprintf("written %d\n", i)
		case n%10 == 8:
			name = "edit_file"
			arguments["old_text"], arguments["new_text"] = canary, "changed"
		}
		raw, err := e.Request(ctx, "tandem/tools/call", map[string]any{"sessionId": s, "name": name, "arguments": arguments})
		if err != nil {
			t.Fatalf("%s %s: %v", name, path, err)
		}
		if strings.Contains(strings.ReplaceAll(string(raw), `"changed"`, ""), canary) && !saidIt(raw, name) {
			t.Errorf("%s %s tells: %.600s", name, path, raw)
			if told++; told == 5 {
				break
			}
		}
		var r struct{ Success bool }
		if json.Unmarshal(raw, &r) == nil && r.Success {
			did[name]++
		}
	}
	end()
	attack.Wait()
	if after := hashes(t, outside); after != before {
		t.Errorf("outside, before:\n%s\nafter:\n%s", before, after)
	}
	whole := regexp.MustCompile(`^(i[nN]side|writte[nN])( [\w/]+)?\n$`)
	e.must(filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if text, err := os.ReadFile(path); err != nil || !whole.Match(text) {
				t.Errorf("%s: %q, %v", path, text, err)
			}
		}
		return err
	}))
	t.Logf("%d exchanges during %d calls, of which succeeded: %v", rounds, calls, did)
	for _, name := range []string{"read_file", "list_files", "glob", "write_file", "edit_file"} {
		if did[name] == 0 {
			t.Errorf("no call of %s was done", name)
		}
	}
	if e.Close(ctx) != nil {
		t.Error("the server does not end")
	}
}

// saidIt says that a call's answer only repeats what was asked for.
func saidIt(raw []byte, tool string) bool {
	var r struct{ Success bool }
	return tool == "edit_file" && json.Unmarshal(raw, &r) == nil && !r.Success && strings.Count(string(raw), canary+" ") == 0
}

// hashes are the names, modes and contents of all that lies in a folder.
func hashes(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", path, info.Mode())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(content))
		}
		fmt.Fprintln(&b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
