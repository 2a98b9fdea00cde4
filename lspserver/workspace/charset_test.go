package workspace

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
)

// coded is a text in a charset, by another library than the one under test.
func coded(t *testing.T, charset, s string) string {
	t.Helper()
	endian, ok := map[string]unicode.Endianness{"utf-16le": unicode.LittleEndian, "utf-16be": unicode.BigEndian}[charset]
	if !ok {
		return s
	}
	out, err := unicode.UTF16(endian, unicode.UseBOM).NewEncoder().String(strings.TrimPrefix(s, "\ufeff"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// onDiskOnly makes a file and a workspace whose editor, if it has one, cannot apply edits.
func onDiskOnly(t *testing.T, content string) (*Workspace, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.txt")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return New(Options{Roots: everything()}), path
}

// edited quotes old as a model does that has read the file, and puts new in its place.
func edited(t *testing.T, w *Workspace, path, old, new string) (filetime.LandedFile, error) {
	t.Helper()
	s, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	found, err := text.Locate(s.Text, old, new, false)
	if err != nil {
		t.Fatal(err)
	}
	landed, err := w.Commit(t.Context(), filetime.Change{Files: []filetime.FileEdit{{
		Path: path, Base: s.Text, Rev: s.Rev, Edits: found.Edits,
	}}})
	if err != nil {
		return filetime.LandedFile{}, err
	}
	return landed.Files[0], nil
}

func onDiskIs(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("on disk is %q, want %q (%v)", got, want, err)
	}
}

const utf16File = "\ufeffone 😀\r\ntwo 日本\r\nthree\r\n"

func TestF093CharsetIsKept(t *testing.T) {
	for _, charset := range []string{"utf-8", "utf-16le", "utf-16be"} {
		t.Run(charset, func(t *testing.T) {
			w, path := onDiskOnly(t, coded(t, charset, utf16File))
			s, err := w.Read(t.Context(), path)
			if err != nil || s.Text.String() != utf16File {
				t.Fatalf("read %q, %v", s.Text.String(), err)
			}
			// A line of it, with another line end and new characters.
			if _, err := edited(t, w, path, "two 日本\n", "2 本日\n3 😀\n"); err != nil {
				t.Fatal(err)
			}
			want := coded(t, charset, "\ufeffone 😀\r\n2 本日\r\n3 😀\r\nthree\r\n")
			onDiskIs(t, path, want)
			state := w.States([]string{path})[0]
			if state.Size != len(want) || state.Hash != fmt.Sprintf("%x", sha256.Sum256([]byte(want))) {
				t.Errorf("the file is told of as %d bytes, %s", state.Size, state.Hash)
			}
			// All of it.
			s, _ = w.Read(t.Context(), path)
			over := filetime.FileEdit{Path: path, Base: s.Text, Rev: s.Rev, Edits: text.Overwrite(s.Text, "a\nb é\n")}
			if _, err := w.Commit(t.Context(), filetime.Change{Files: []filetime.FileEdit{over}}); err != nil {
				t.Fatal(err)
			}
			onDiskIs(t, path, coded(t, charset, "\ufeffa\r\nb é\r\n"))
			// Somebody stores it in another way between two edits.
			if err := os.WriteFile(path, []byte("a\nb\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := edited(t, w, path, "b", "c"); err != nil {
				t.Fatal(err)
			}
			onDiskIs(t, path, "a\nc\n")
		})
	}
}

func TestF089UnknownEncoding(t *testing.T) {
	for _, tt := range []struct{ name, content, reason string }{
		{"half of a code unit", "\xff\xfea\x00b", "encoding"},
		{"half of a surrogate pair", "\xff\xfea\x00\x3d\xd8", "encoding"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "encoding"},
		{"latin-1", "caf\xe9\n", "encoding"},
		{"a BOM and an invalid byte", "\ufeffcaf\xe9\x00\n", "encoding"},
		{"NULs", "\x7fELF\x02\x00\x00\xff", "binary"},
		{"NULs in UTF-8", "a\x00b\n", "binary"},
		{"NULs in UTF-16", "\xfe\xff\x00a\x00\x00", "binary"},
		{"UTF-16 without its mark", "a\x00b\x00", "binary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, path := onDiskOnly(t, tt.content)
			_, err := w.Read(t.Context(), path)
			var refused *filetime.Error
			if !errors.As(err, &refused) || refused.Code != filetime.BinaryFile || refused.Reason != tt.reason {
				t.Fatalf("got %v", err)
			}
			if tt.reason == "encoding" != strings.Contains(refused.Message, "unknown encoding") {
				t.Error(refused.Message)
			}
			onDiskIs(t, path, tt.content)
		})
	}
}

// TestCharsetMeetsSave has somebody save in another charset at the last moment: theirs stays, and the edit is in it.
func TestCharsetMeetsSave(t *testing.T) {
	w, path := onDiskOnly(t, coded(t, "utf-16le", utf16File))
	s, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, theirs := range []struct{ charset, text, want string }{
		{"utf-16be", utf16File, strings.Replace(utf16File, "three", "3", 1)},
		{"utf-8", "zero\r\n" + utf16File[len("\ufeff"):], "zero\r\none 😀\r\ntwo 日本\r\n3\r\n"},
	} {
		if err := os.WriteFile(path, []byte(coded(t, theirs.charset, theirs.text)), 0o644); err != nil {
			t.Fatal(err)
		}
		f := w.file(path)
		f.mu.Lock()
		after := text.New(strings.Replace(utf16File, "three", "3", 1))
		tx := w.begin(filetime.Change{})
		final, err := w.swap(f, delivery.Plan{Before: s.Text, After: after}, text.CharsetUTF16LE, filetime.FileEdit{}, tx)
		tx.End(err)
		f.mu.Unlock()
		if err != nil || final.Text.String() != theirs.want {
			t.Fatalf("%s: %q, %v", theirs.charset, final.Text.String(), err)
		}
		onDiskIs(t, path, coded(t, theirs.charset, theirs.want))
	}
	w.Settle()
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), disk.TempPrefix+"*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCharsetBehindEditor has the file open in an editor that cannot apply edits: its buffer has neither the mark nor the
// line ends of the file.
func TestCharsetBehindEditor(t *testing.T) {
	w, path := onDiskOnly(t, coded(t, "utf-16be", utf16File))
	buffer := strings.ReplaceAll(strings.TrimPrefix(utf16File, "\ufeff"), "\r\n", "\n")
	w.Open(path, URI(path), 1, buffer)
	l, err := edited(t, w, path, "three\n", "3\n4\n")
	if err != nil || l.Source != "disk" {
		t.Fatalf("%+v, %v", l, err)
	}
	onDiskIs(t, path, coded(t, "utf-16be", strings.Replace(utf16File, "three", "3\r\n4", 1)))
	if l.After.String() != strings.Replace(buffer, "three", "3\n4", 1) {
		t.Errorf("the buffer is thought to say %q", l.After.String())
	}
}

// TestFormattedMeanwhile has blanks in the replaced lines change before the edit lands: nobody can tell a formatter from a
// person, so the edit is a conflict and the blanks stay.
func TestFormattedMeanwhile(t *testing.T) {
	const was, is = "func f() {\n\tone()\n\ttwo()\n}\n", "func f() {\n\t\tone()\n\t\ttwo()\n}\n"
	b := &buffer{text: was, ver: 1}
	path := filepath.Join(t.TempDir(), "f.go")
	b.uri = URI(path)
	b.w = New(Options{Roots: everything(), Editor: b, Features: Features{Apply: true}})
	b.w.Open(path, b.uri, 1, was)
	s, err := b.w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	start, end := strings.Index(was, "one"), strings.Index(was, "}")
	b.mu.Lock()
	b.text, b.ver = is, 2
	b.w.Change(b.uri, 2, []ContentChange{{Text: is}})
	b.mu.Unlock()
	_, err = b.w.Commit(t.Context(), filetime.Change{Files: []filetime.FileEdit{{
		Path: path, Base: s.Text, Rev: s.Rev, Edits: text.Set{{Start: start, End: end, New: "1()\n\t2()\n"}},
	}}})
	var conflict *filetime.Conflict
	if !errors.As(err, &conflict) || b.text != is {
		t.Errorf("%q, %v", b.text, err)
	}
}
