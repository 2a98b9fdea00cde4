package workspace_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"tandem/filetime"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
	"tandem/tools/edit"
	"tandem/tools/patch"
	"tandem/tools/read"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

// TestF093ToolsKeepUTF16 has the tools read and change a file of UTF-16 as a model calls them.
func TestF093ToolsKeepUTF16(t *testing.T) {
	for name, endian := range map[string]unicode.Endianness{"le": unicode.LittleEndian, "be": unicode.BigEndian} {
		t.Run(name, func(t *testing.T) {
			world := toolstest.NewWorld(t, read.New(), edit.New(), write.New())
			files := workspace.New(workspace.Options{Roots: everything()})
			world.Host.Files = files
			world.Env.FileTime = filetime.New(files, "s", files.Seen)
			path := world.Path("f.txt")
			coded := func(s string) string {
				out, err := unicode.UTF16(endian, unicode.UseBOM).NewEncoder().String(s)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			call := func(name string, args map[string]string, want string) string {
				t.Helper()
				js, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				r := world.Call(name, string(js))
				if !r.Success {
					t.Fatalf("%s: %s", name, r.Data)
				}
				if got, err := os.ReadFile(path); err != nil || string(got) != coded(want) {
					t.Fatalf("after %s the file has %q, want %q (%v)", name, got, coded(want), err)
				}
				return r.Data
			}
			if err := os.WriteFile(path, []byte(coded("one 日\r\ntwo 😀\r\n")), 0o644); err != nil {
				t.Fatal(err)
			}
			said := call("read_file", map[string]string{"path": "f.txt"}, "one 日\r\ntwo 😀\r\n")
			if !strings.Contains(said, "   1 | one 日\n   2 | two 😀\n") {
				t.Errorf("the model sees\n%s", said)
			}
			call("edit_file", map[string]string{"path": "f.txt", "old_text": "two 😀", "new_text": "2 😀\n3 é"},
				"one 日\r\n2 😀\r\n3 é\r\n")
			call("write_file", map[string]string{"path": "f.txt", "content": "a\nb 日\n"}, "a\r\nb 日\r\n")
			call("write_file", map[string]string{"path": "f.txt", "content": "c\n", "mode": "append"},
				"a\r\nb 日\r\nc\r\n")
		})
	}
}

// TestLinkStays has the tools change a file through a link: the file changes, and the link stays one.
func TestLinkStays(t *testing.T) {
	world := toolstest.NewWorld(t, read.New(), edit.New(), write.New())
	files := workspace.New(workspace.Options{Roots: everything()})
	world.Host.Files = files
	world.Env.FileTime = filetime.New(files, "s", files.Seen)
	if err := os.WriteFile(world.Path("f.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f.txt", world.Path("link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, call := range [][2]string{
		{"read_file", `{"path":"link.txt"}`},
		{"edit_file", `{"path":"link.txt","old_text":"one","new_text":"two"}`},
		{"write_file", `{"path":"link.txt","content":"three\n"}`},
	} {
		if r := world.Call(call[0], call[1]); !r.Success {
			t.Fatalf("%s: %s", call[0], r.Data)
		}
	}
	if to, err := os.Readlink(world.Path("link.txt")); err != nil || to != "f.txt" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if got, err := os.ReadFile(world.Path("f.txt")); err != nil || string(got) != "three\n" {
		t.Errorf("the file says %q, %v", got, err)
	}
}

// everything are Roots below which all of the machine lies.
func everything() *sandbox.Roots {
	r := &sandbox.Roots{}
	r.Add("/")
	return r
}

// TestF161PatchesOnDisk plays the cases of patch on files of the disk, while another program writes into each of them.
func TestF161PatchesOnDisk(t *testing.T) {
	toolstest.VariantsOnDisk(t, "../../tools/patch/testdata", func(*toolstest.World) filetime.Files {
		return workspace.New(workspace.Options{Roots: everything()})
	}, patch.New(), edit.New())
}
