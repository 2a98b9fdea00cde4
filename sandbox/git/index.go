package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
)

// ID is the name of an object: the SHA-1 of its type, its size and its content.
type ID [20]byte

func (id ID) String() string { return fmt.Sprintf("%x", id[:]) }

// Entry is what the index has of a file: its content, and the metadata that the file had when its content was that.
type Entry struct {
	ID                         ID
	Seconds, Nanos             uint32 // of the modification
	ChangeSeconds, ChangeNanos uint32 // of the inode
	Inode, Size                uint32 // the lowest 32 bits
	Mode                       uint32 // 0100644, 0100755, 0120000 for a link
}

// Index gives the entries of the index by their paths, which have forward slashes. Files of an unfinished merge, those that are only
// announced, and those that are not in the work tree are left out. An index whose objects have SHA-256 names is ErrFormat.
func (r *Repository) Index() (map[string]Entry, error) {
	files, size, err := r.index()
	if err == nil && size != len(ID{}) {
		err = fmt.Errorf("%w: objects with SHA-256 names", ErrFormat)
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string]Entry, len(files))
	for _, f := range files {
		if f.plain {
			out[f.name] = f.Entry
		}
	}
	return out, nil
}

// Names gives all files that git tracks, relative to the work tree and with forward slashes.
func (r *Repository) Names() ([]string, error) {
	files, _, err := r.index()
	out := make([]string, 0, len(files))
	for _, f := range files {
		if f.Mode&kindBits != submodule {
			out = append(out, f.name)
		}
	}
	return out, err
}

// file is an entry with its name. plain says that the file is as git would check it out.
type file struct {
	Entry
	name  string
	plain bool
}

// index reads the index, and gives the size of its hashes. An index that does not name all files is ErrFormat.
func (r *Repository) index() (files []file, size int, err error) {
	raw, err := whole(r.IndexFile(), maxFile)
	if err != nil {
		return nil, 0, err
	}
	return parse(raw)
}

func parse(raw []byte) (files []file, size int, err error) {
	for _, kind := range []func() hash.Hash{sha1.New, sha256.New} {
		h := kind()
		if end := len(raw) - h.Size(); end > header {
			h.Write(raw[:end])
			if sum := raw[end:]; bytes.Equal(sum, h.Sum(nil)) || bytes.Equal(sum, make([]byte, h.Size())) { // index.skipHash
				if files, ok := entries(raw[:end], h.Size()); ok {
					return files, h.Size(), nil
				}
			}
		}
	}
	return nil, 0, fmt.Errorf("%w: index", ErrFormat)
}

// The parts of an index, see gitformat-index(5).
const (
	header     = 12
	metadata   = 40 // of an entry, before its hash
	longName   = 0xfff
	extended   = 0x4000 // there are more flags
	stage      = 0x3000 // of a file in an unfinished merge
	announced  = 0x2000 // of the further flags: git add --intent-to-add
	skipped    = 0x4000 // not in the work tree
	kindBits   = 0o170000
	sparse     = 0o040000 // the mode of a folder whose files are not listed
	submodule  = 0o160000
	entryAlign = 8
)

// entries reads an index without its sum, with hashes of a size. ok is false unless all of it is understood.
func entries(data []byte, hash int) (files []file, ok bool) {
	if len(data) < header || string(data[:4]) != "DIRC" {
		return nil, false
	}
	u32, u16 := binary.BigEndian.Uint32, binary.BigEndian.Uint16
	version, n := u32(data[4:]), int(u32(data[8:]))
	if version < 2 || version > 4 || n > len(data)/(metadata+hash) {
		return nil, false
	}
	files = make([]file, 0, n)
	end, last := len(data), ""
	at := header
	for range n {
		fixed := metadata + hash + 2
		if at+fixed+2 > end {
			return nil, false
		}
		raw := data[at:]
		e := Entry{
			ChangeSeconds: u32(raw), ChangeNanos: u32(raw[4:]), Seconds: u32(raw[8:]), Nanos: u32(raw[12:]), Inode: u32(raw[20:]),
			Mode: u32(raw[24:]), Size: u32(raw[36:]),
		}
		copy(e.ID[:], raw[metadata:metadata+hash])
		flags, more := u16(raw[metadata+hash:]), uint16(0)
		if flags&extended != 0 {
			if more = u16(raw[fixed:]); version == 2 {
				return nil, false
			}
			fixed += 2
		}
		from := at + fixed
		if version == 4 {
			cut, length := varint(data[from:])
			if length == 0 || cut > uint64(len(last)) {
				return nil, false
			}
			from, last = from+length, last[:len(last)-int(cut)]
		} else {
			last = ""
		}
		size := bytes.IndexByte(data[from:], 0)
		if size < 0 {
			return nil, false
		}
		last += string(data[from : from+size])
		if said := int(flags & longName); last == "" || said != min(len(last), longName) || e.Mode&kindBits == sparse {
			return nil, false
		}
		if at = from + size + 1; version < 4 { // entries are filled up with zeros, one at least
			begin := from - fixed
			at = begin + (fixed+size+entryAlign)/entryAlign*entryAlign
		}
		files = append(files, file{e, last, flags&stage == 0 && more&(announced|skipped) == 0})
	}
	for at < end { // extensions; those that change what the index says have a name in small letters
		if at+8 > end || data[at] < 'A' || data[at] > 'Z' {
			return nil, false
		}
		at += 8 + int(u32(data[at+4:]))
	}
	return files, at == end
}

// varint reads a number in the form of offsets in packs; size is 0 where there is none.
func varint(b []byte) (n uint64, size int) {
	for i, c := range b {
		if i > 8 {
			break
		}
		n |= uint64(c & 0x7f)
		if c&0x80 == 0 {
			return n, i + 1
		}
		n = (n + 1) << 7
	}
	return 0, 0
}
