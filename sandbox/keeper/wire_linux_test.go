package keeper

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func pair(t *testing.T) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b = os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// What is sent is what is received, whatever bytes it is made of and however much it is; the files that come are the ones
// that were sent.
func TestMessages(t *testing.T) {
	a, b := pair(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.Custom(func(t *rapid.T) string {
			w := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "word")
			return string(bytes.Repeat(w, rapid.SampledFrom([]int{1, 1, 1, 20_000}).Draw(t, "times")))
		})
		s := Spec{
			Argv: rapid.SliceOfN(word, 1, 5).Draw(t, "argv"), Env: rapid.SliceOfN(word, 0, 5).Draw(t, "env"),
			Privileged: rapid.Bool().Draw(t, "privileged"), Leave: rapid.Bool().Draw(t, "leave"),
		}
		body, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() { sent <- send(a, msgStart, body, null, a, null, null) }()
		kind, got, files, err := receive(b)
		if err := errors.Join(err, <-sent); err != nil || kind != msgStart || !bytes.Equal(got, body) {
			t.Fatalf("%c, %d bytes of %d, %v", kind, len(got), len(body), err)
		}
		back, err := decodeSpec(got, files)
		if err != nil || !slices.Equal(back.Argv, s.Argv) || !slices.Equal(back.Env, s.Env) || back.Privileged != s.Privileged || back.Leave != s.Leave {
			t.Fatalf("%+v, %v", back, err)
		}
		for i, f := range []*os.File{null, a, null, null} {
			was, err1 := f.Stat()
			is, err2 := files[i].Stat()
			if errors.Join(err1, err2) != nil || !os.SameFile(was, is) {
				t.Fatalf("file %d is another one", i)
			}
			_ = files[i].Close()
		}
	})
	_ = a.Close()
	if _, _, _, err := receive(b); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// What a keeper cannot make sense of is refused, and none of it makes it fail otherwise.
func FuzzSpec(f *testing.F) {
	for _, fields := range [][]string{
		{"true", "false", "/", "", "1", "/bin/true", "A=b"}, {"true", "false", "/", "", "-1", "/bin/true"}, {"", "", "", "x", "1", "y"},
	} {
		f.Add(join(fields))
	}
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := decodeSpec(body, make([]*os.File, 4))
		if err == nil {
			again, err := s.encode()
			if err != nil {
				t.Fatal(err)
			}
			back, err := decodeSpec(again, make([]*os.File, 4))
			if err != nil || len(s.Argv) == 0 || !slices.Equal(back.Argv, s.Argv) || !slices.Equal(back.Env, s.Env) || back.Path != s.Path {
				t.Errorf("%+v", s)
			}
		}
		if _, err := decodeSpec(body, nil); err == nil {
			t.Error("without files")
		}
	})
}
