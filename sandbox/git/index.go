package git

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// Index gives the entries of the index by their paths, which have forward slashes. Files of an unfinished merge are left out, and so
// are those that only a shared index has.
func (r *Repository) Index() (map[string]Entry, error) {
	raw, err := whole(r.IndexFile(), maxFile)
	if err != nil {
		return nil, err
	}
	return parseIndex(raw)
}

// Lengths in an index.
const (
	head  = 12
	fixed = 62 // of an entry, without its name
)

func parseIndex(raw []byte) (map[string]Entry, error) {
	broken := fmt.Errorf("%w: index", ErrFormat)
	if len(raw) < head || string(raw[:4]) != "DIRC" {
		return nil, broken
	}
	u32 := binary.BigEndian.Uint32
	version, count := u32(raw[4:]), int(u32(raw[8:]))
	if version < 2 || version > 4 || count > len(raw)/fixed {
		return nil, broken
	}
	out := make(map[string]Entry, count)
	rest := raw[head:]
	name := ""
	for range count {
		if len(rest) < fixed+2 {
			return nil, broken
		}
		e := Entry{
			ChangeSeconds: u32(rest), ChangeNanos: u32(rest[4:]), Seconds: u32(rest[8:]), Nanos: u32(rest[12:]), Inode: u32(rest[20:]),
			Mode: u32(rest[24:]), Size: u32(rest[36:]), ID: ID(rest[40:60]),
		}
		flags, n := binary.BigEndian.Uint16(rest[60:]), fixed
		var more uint16
		if flags&0x4000 != 0 {
			more = binary.BigEndian.Uint16(rest[62:])
			n += 2
		}
		keep := 0
		if version == 4 {
			cut, size := varint(rest[n:])
			if size == 0 || cut > uint64(len(name)) {
				return nil, broken
			}
			keep, n = len(name)-int(cut), n+size
		}
		end := bytes.IndexByte(rest[n:], 0)
		if end < 0 {
			return nil, broken
		}
		name = name[:keep] + string(rest[n:n+end])
		if n += end + 1; version < 4 {
			n = (n + 7) &^ 7
		}
		if n > len(rest) {
			return nil, broken
		}
		rest = rest[n:]
		const toAdd, skipped = 0x2000, 0x4000
		if flags&0x3000 == 0 && more&(toAdd|skipped) == 0 {
			out[name] = e
		}
	}
	return out, nil
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
