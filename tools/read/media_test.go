//go:build unix

package read

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/toolstest"
)

func folder(t *testing.T, name string, content []byte) *tools.Env {
	t.Helper()
	env := toolstest.Workspace(t, &txtar.Archive{})
	if err := os.WriteFile(env.Paths.Cwd+"/"+name, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return env
}

const (
	pngHead  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	jpegHead = "\xff\xd8\xff\xe0\x00\x10JFIF\x00"
	webpHead = "RIFF\x24\x00\x00\x00WEBPVP8 "
	pdfHead  = "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
)

// The type of a part is what its name and its first bytes agree on; a file of neither is no image.
func TestF121F146F264Media(t *testing.T) {
	for _, c := range []struct {
		name, content string
		kind          tools.PartKind
		mimeType      string
	}{
		{"a.png", pngHead, tools.ImagePart, "image/png"},
		{"a.PNG", pngHead, tools.ImagePart, "image/png"},
		{"a.jpg", jpegHead, tools.ImagePart, "image/jpeg"},
		{"a.jpeg", jpegHead, tools.ImagePart, "image/jpeg"},
		{"a.gif", "GIF89a\x01\x00", tools.ImagePart, "image/gif"},
		{"a.gif", "GIF87a\x01\x00", tools.ImagePart, "image/gif"},
		{"a.webp", webpHead, tools.ImagePart, "image/webp"},
		{"called.png", jpegHead, tools.ImagePart, "image/jpeg"},
		{"a.pdf", pdfHead, tools.DocumentPart, "application/pdf"},
		{"a.pdf", "%PDF-1.4\nall of it is ASCII\n", tools.DocumentPart, "application/pdf"},
		{"late.pdf", "\x00junk" + pdfHead, tools.DocumentPart, "application/pdf"},
		{"a.webp", "\x00\x01\x02", tools.ImagePart, "application/octet-stream"},
		{"a.png", pdfHead + "\x00", tools.ImagePart, "application/octet-stream"},
		{"a.pdf", pngHead, tools.DocumentPart, "application/octet-stream"},
		{"a.webp", "RIFF\x00\x00", tools.ImagePart, "application/octet-stream"},
	} {
		r := call(t, folder(t, c.name, []byte(c.content)), `{"path":"`+c.name+`"}`)
		want := fmt.Sprintf("Read %s: %s (%s, %d bytes)", c.kind, c.name, c.mimeType, len(c.content))
		if !r.Success || len(r.Parts) != 1 || !strings.HasPrefix(r.Data, want) {
			t.Errorf("%s %q: %+v", c.name, c.content, r)
			continue
		}
		if p := r.Parts[0]; p.Kind != c.kind || p.MIMEType != c.mimeType || p.Name != c.name || string(p.Data) != c.content {
			t.Errorf("%s %q: %+v", c.name, c.content, p)
		}
	}
}

// A file that is called an image and is text, as Git LFS leaves one, is read as text; no other name makes an image.
func TestF121TextByContent(t *testing.T) {
	const pointer = "version https://git-lfs.github.com/spec/v1\n"
	r := call(t, folder(t, "a.png", []byte(pointer)), `{"path":"a.png"}`)
	if !r.Success || len(r.Parts) > 0 || !strings.Contains(r.Data, "   1 | version https") {
		t.Errorf("%+v", r)
	}
	if r := call(t, folder(t, "a.bin", []byte(pngHead)), `{"path":"a.bin"}`); r.Error != filetime.BinaryFile || len(r.Parts) > 0 {
		t.Errorf("%+v", r)
	}
	if r := call(t, folder(t, "a.png", nil), `{"path":"b.png"}`); r.Error != filetime.ReadError {
		t.Errorf("%+v", r)
	}
}

func TestF145F284TooLarge(t *testing.T) {
	large := bytes.Repeat([]byte{0}, 6<<20)
	for name, want := range map[string]string{
		"a.png": "Image file exceeds 5MB limit: a.png has 6.0MB. ", "a.pdf": "PDF file exceeds 5MB limit: a.pdf has 6.0MB. ",
	} {
		r := call(t, folder(t, name, append([]byte(pngHead), large...)), `{"path":"`+name+`"}`)
		if r.Error != filetime.FileTooLarge || r.Reason != "size" || !strings.HasPrefix(r.Data, want) || r.Line() == r.Data {
			t.Errorf("%s: %+v", name, r)
		}
	}
	just := append([]byte(pngHead), large...)[:5<<20]
	if r := call(t, folder(t, "a.png", just), `{"path":"a.png"}`); !r.Success || len(r.Parts[0].Data) != 5<<20 {
		t.Errorf("%s %s", r.Error, r.Data)
	}
}

// What was shown of a file that is no text is remembered by its bytes.
func TestF265BytesAreSeen(t *testing.T) {
	env := folder(t, "a.png", []byte(pngHead))
	path, sum := env.Paths.Cwd+"/a.png", sha256.Sum256([]byte(pngHead))
	code := func(sum [sha256.Size]byte) filetime.Code {
		var e *filetime.Error
		if err := env.FileTime.AssertBytes(path, sum); errors.As(err, &e) {
			return e.Code
		}
		return ""
	}
	if code(sum) != filetime.NotRead {
		t.Error("it has not been read")
	}
	call(t, env, `{"path":"a.png"}`)
	if code(sum) != "" || code(sha256.Sum256(nil)) != filetime.EditConflict {
		t.Error("it has been read, with these bytes")
	}
}

const notebookJSON = `{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": ["# Title\n", "text"]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "metadata": {},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\u001b[0m\n"]},
    {"output_type": "display_data", "data": {"image/png": "iVBORw0K", "text/plain": "<Figure>", "application/json": {"a": 1}}},
    {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["long"]}
   ],
   "source": "print(1)\nplot()"
  }
 ],
 "metadata": {"kernelspec": {"name": "python3"}},
 "nbformat": 4
}
`

// A notebook is shown by its cells, with the lines of the JSON that it is edited in; with a range those lines are shown.
func TestF121Notebook(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/n.ipynb", Data: []byte(notebookJSON)}}})
	r := call(t, env, `{"path":"n.ipynb"}`)
	const want = `<file path="n.ipynb" cells="1-2" total="2">
cell 1: markdown (JSON lines 3-7)
   1 | # Title
   2 | text
cell 2: code (JSON lines 8-18)
   1 | print(1)
   2 | plot()
output:
     one
     two\u{1b}[0m
output:
     <Figure>
output: [application/json, left out]
output: [image/png, left out]
output: error ValueError: no
</file>
(a notebook is edited as JSON text, which has 22 lines: before an edit read the JSON lines of the cell with start_line and end_line, and quote old_text from them)`
	if r.Data != want || r.Truncated {
		t.Errorf("%s", r.Data)
	}
	if whole(t, env) || !env.FileTime.Knows(env.Paths.Cwd+"/n.ipynb") {
		t.Error("it is known, and not seen whole")
	}
	if r := call(t, env, `{"path":"n.ipynb","start_line":3,"end_line":4}`); !strings.Contains(r.Data, `   4 |    "cell_type": "markdown",`) {
		t.Errorf("%s", r.Data)
	}
	for _, other := range []string{"", "[]", "{", `{"cells": 1}`, `{"cells": [1]}`, `{"cells": []}`, `{"cells": [{"cell_type": "code"}]} x`, `{"a": []}`, notebookJSON[:200]} {
		env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/n.ipynb", Data: []byte(other)}}})
		if r := call(t, env, `{"path":"n.ipynb"}`); !r.Success || strings.Contains(r.Data, "cells=") {
			t.Errorf("%q: %s", other, r.Data)
		}
	}
}

// A notebook of more than there is room for keeps to the limit and says where it goes on.
func TestF147LongNotebook(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\"cells\": [\n")
	for i := range 300 {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "{\"cell_type\": \"code\", \"outputs\": [{\"output_type\": \"stream\", \"text\": %q}],\n\"source\": %q}",
			strings.Repeat("o\n", 100), strings.Repeat("x = 1\n", 40))
	}
	b.WriteString("]}")
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/n.ipynb", Data: []byte(b.String())}}})
	r := call(t, env, `{"path":"n.ipynb"}`)
	v, ok := r.Value.(*notebookValue)
	if !ok || len(r.Data) > env.Limits.MaxReadBytes || !r.Truncated || v.Shown < 20 || v.Shown == v.Cells {
		t.Fatalf("%d bytes, %+v", len(r.Data), v)
	}
	if next := fmt.Sprintf("(the other cells begin at JSON line %d: read on with start_line=%[1]d)", 2+2*v.Shown); !strings.Contains(r.Data, next) {
		t.Errorf("no %q in …%s", next, r.Data[len(r.Data)-400:])
	}
	if !strings.Contains(r.Data, "     … 80 more lines\n") && !strings.Contains(r.Data, "     … 80 lines more\n") {
		t.Error("the outputs are not cut")
	}
}

// FuzzNotebook has no text panic, nor an answer grow over its limit.
func FuzzNotebook(f *testing.F) {
	f.Add(notebookJSON)
	f.Add(`{"cells":[{"cell_type":"code","source":"` + strings.Repeat("x", 1<<10) + `"}]}`)
	f.Add(`{"cells":[{"cell_type":"code","outputs":[` + strings.Repeat(`{"text":"`+strings.Repeat("x", 100)+`"},`, 10) + `{}]}]}`)
	f.Add(`{"cells":[{"cell_type":"code","source":null,"outputs":[{"data":{"text/plain":5}}]}]}`)
	env := toolstest.Workspace(f, &txtar.Archive{})
	env.Limits.MaxReadBytes = 2000 // small inputs reach it
	f.Fuzz(func(t *testing.T, s string) {
		snap := filetime.Snapshot{Path: env.Paths.Cwd + "/n.ipynb", Text: text.New(strings.ToValidUTF8(s, "?")), Rev: 1, Exists: true}
		env.FileTime = filetime.New(held{snap: snap}, "s", nil)
		if r := notebook(env, snap); r != nil && len(r.Data) > env.Limits.MaxReadBytes {
			t.Errorf("%d bytes", len(r.Data))
		}
	})
}
