// Package tracked lists what git tracks, from the index of a repository and without running git: a program of the repository's
// choice could run with it.
package tracked

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrUnknown says that it cannot be told what is tracked: there is no index, or it is one that does not name all files.
var ErrUnknown = errors.New("what git tracks cannot be told")

// maxIndex is the size of the largest index that is read: about half a million files.
const maxIndex = 64 << 20

// Repository is a work tree.
type Repository struct {
	// Top is its folder, Names are the tracked files in it, relative to it, with forward slashes.
	Top   string
	Names []string
}

// Find gives the repository that git finds from an absolute folder, which need not exist; nil where there is none. What it
// opens may lie anywhere: nothing of it is given but names.
func Find(folder string) (*Repository, error) {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		git, err := gitDir(at)
		if err != nil {
			return nil, err
		}
		if git != "" {
			data, err := small(filepath.Join(git, "index"), maxIndex)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
			}
			names, err := parse(data)
			if err != nil {
				return nil, err
			}
			return &Repository{at, names}, nil
		}
		if at == filepath.Dir(at) {
			return nil, nil
		}
	}
}

// gitDir is the folder that git keeps the repository of a work tree in, "" where git goes on above the folder.
func gitDir(top string) (string, error) {
	git := filepath.Join(top, ".git")
	info, err := os.Stat(git)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrUnknown, err)
	case info.IsDir():
		if !is(git, "HEAD") || !is(git, "commondir") && !(is(git, "objects") && is(git, "refs")) {
			return "", nil
		}
		return git, nil
	}
	text, err := small(git, 64<<10)
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if err != nil || !ok {
		return "", fmt.Errorf("%w: %s leads to no repository", ErrUnknown, git)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(top, target)
	}
	return target, nil
}

func is(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// small reads a regular file of at most so many bytes. It never blocks.
func small(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", name, most)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// parse gives the names in an index, of hashes of either kind.
func parse(data []byte) ([]string, error) {
	for _, hash := range []func() hash.Hash{sha1.New, sha256.New} {
		h := hash()
		if end := len(data) - h.Size(); end > header {
			h.Write(data[:end])
			sum := data[end:]
			if zero := make([]byte, h.Size()); !bytes.Equal(sum, h.Sum(nil)) && !bytes.Equal(sum, zero) { // index.skipHash
				continue
			}
			if names, ok := entries(data[:end], h.Size()); ok {
				return names, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: the index has a form that is not known", ErrUnknown)
}

// The parts of an index, see gitformat-index(5).
const (
	header     = 12
	stat       = 40 // of an entry, before its hash
	longName   = 0xfff
	extended   = 0x4000
	sparse     = 0o040000 // the mode of a folder whose files are not listed
	submodule  = 0o160000
	entryAlign = 8
)

// entries reads an index without its sum, with hashes of a length. ok is false unless all of it is understood.
func entries(data []byte, hash int) (names []string, ok bool) {
	if len(data) < header || string(data[:4]) != "DIRC" {
		return nil, false
	}
	version, n := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	if version < 2 || version > 4 || n > len(data)/(stat+hash) {
		return nil, false
	}
	names = make([]string, 0, n)
	end, last := len(data), ""
	at := header
	for range n {
		fixed := stat + hash + 2
		if at+fixed > end {
			return nil, false
		}
		mode := binary.BigEndian.Uint32(data[at+24:])
		flags := binary.BigEndian.Uint16(data[at+stat+hash:])
		if flags&extended != 0 {
			if fixed += 2; version == 2 {
				return nil, false
			}
		}
		from := at + fixed
		if version == 4 {
			strip, length := prefix(data[min(from, end):end])
			if length == 0 || strip > len(last) {
				return nil, false
			}
			from, last = from+length, last[:len(last)-strip]
		} else {
			last = ""
		}
		size := bytes.IndexByte(data[min(from, end):end], 0)
		if size < 0 {
			return nil, false
		}
		last += string(data[from : from+size])
		if said := int(flags & longName); last == "" || said != min(len(last), longName) || mode&0o170000 == sparse {
			return nil, false
		}
		if at = from + size + 1; version < 4 { // entries are filled up with zeros, one at least
			begin := from - fixed
			at = begin + (fixed+size+entryAlign)/entryAlign*entryAlign
		}
		if mode&0o170000 != submodule {
			names = append(names, last)
		}
	}
	for at < end { // extensions; those that change what the index says have a name in small letters
		if at+8 > end || data[at] < 'A' || data[at] > 'Z' {
			return nil, false
		}
		at += 8 + int(binary.BigEndian.Uint32(data[at+4:]))
	}
	return names, at == end
}

// prefix reads how many bytes of the name before are left out, and the length of that number; 0 where there is none.
func prefix(data []byte) (strip, length int) {
	for i, c := range data {
		if i == 4 {
			return 0, 0
		}
		if i > 0 {
			strip++
		}
		strip = strip<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return strip, i + 1
		}
	}
	return 0, 0
}
