package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ID is the name of an object: the SHA-1 of its type, its size and its content.
type ID [20]byte

func (id ID) String() string { return fmt.Sprintf("%x", id[:]) }

// Entry is what the index has of a file: its content, and the metadata that the file had when its
// content was that.
type Entry struct {
	ID                         ID
	Seconds, Nanos             uint32 // of the modification
	ChangeSeconds, ChangeNanos uint32 // of the inode
	Inode, Size                uint32 // the lowest 32 bits
	Mode                       uint32 // 0100644, 0100755, 0120000 for a link
}

// Index gives the entries of the index by their paths, which have forward slashes. Files of an
// unfinished merge, those that are only announced, and those that are not in the work tree are left
// out. An index whose objects have SHA-256 names is ErrFormat.
func (r *Repository) Index() (map[string]Entry, error) {
	x, err := r.complete()
	if err == nil && x.size != len(ID{}) {
		err = fmt.Errorf("%w: objects with SHA-256 names", ErrFormat)
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string]Entry, len(x.files))
	for _, f := range x.files {
		if f.plain {
			out[f.name] = f.Entry
		}
	}
	return out, nil
}

// Names gives all files that git tracks, relative to the work tree and with forward slashes.
func (r *Repository) Names() ([]string, error) {
	x, err := r.complete()
	out := make([]string, 0, len(x.files))
	for _, f := range x.files {
		if f.Mode&kindBits != submodule {
			out = append(out, f.name)
		}
	}
	return out, err
}

// Tracked are the paths that git tracks, and more where only that can be told.
type Tracked struct {
	paths   map[string]bool
	folders map[string]bool // which have one of the paths below them
	sparse  []string        // folders whose files are not listed, with a slash at the end
}

// Has says that git tracks a path or something below it.
func (t *Tracked) Has(rel string) bool {
	return t.paths[rel] || t.folders[rel] || slices.ContainsFunc(t.sparse, func(folder string) bool {
		return strings.HasPrefix(rel+"/", folder) || strings.HasPrefix(folder, rel+"/")
	})
}

// Tracked gives what git tracks, submodules included. It reads split and sparse indexes too, and of
// a split one also what was removed since it was split. The error is fs.ErrNotExist where there is
// no index yet, and ErrFormat.
func (r *Repository) Tracked() (*Tracked, error) {
	x, err := r.index()
	if err != nil {
		return nil, err
	}
	files := x.files
	if x.base != "" {
		base, err := read(filepath.Join(r.dir, "sharedindex."+x.base))
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrFormat, err)
		}
		files = append(files, base.files...)
	}
	t := &Tracked{paths: make(map[string]bool, len(files)), folders: map[string]bool{}}
	for _, f := range files {
		if f.Mode&kindBits == sparse {
			t.sparse = append(t.sparse, strings.TrimSuffix(f.name, "/")+"/")
			continue
		}
		t.paths[f.name] = true
		for dir := path.Dir(f.name); dir != "." && !t.folders[dir]; dir = path.Dir(dir) {
			t.folders[dir] = true
		}
	}
	return t, nil
}

// index is what an index file says.
type index struct {
	files  []file
	size   int    // of its hashes
	base   string // the hash of the index that this one is split from, "" for none
	sparse bool   // it has folders whose files are not listed
}

// file is an entry with its name, which is "" where the shared index has it. plain says that the
// file is as git would check it out.
type file struct {
	Entry
	name  string
	plain bool
}

// complete reads the index. One that does not name all files is ErrFormat.
func (r *Repository) complete() (index, error) {
	x, err := r.index()
	if err == nil && (x.base != "" || x.sparse) {
		return index{}, fmt.Errorf("%w: index", ErrFormat)
	}
	return x, err
}

func (r *Repository) index() (index, error) { return read(r.IndexFile()) }

func read(name string) (index, error) {
	raw, err := whole(name, maxFile)
	if err != nil {
		return index{}, err
	}
	return parse(raw)
}

func parse(raw []byte) (index, error) {
	for _, kind := range []func() hash.Hash{sha1.New, sha256.New} {
		h := kind()
		if end := len(raw) - h.Size(); end > header {
			h.Write(raw[:end])
			if sum := raw[end:]; bytes.Equal(sum, h.Sum(nil)) || bytes.Equal(sum, make([]byte, h.Size())) { // index.skipHash
				if x, ok := entries(raw[:end], h.Size()); ok {
					return x, nil
				}
			}
		}
	}
	return index{}, fmt.Errorf("%w: index", ErrFormat)
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

// entries reads an index without its sum, with hashes of a size. ok is false unless all of it is
// understood.
func entries(data []byte, hash int) (x index, ok bool) {
	x.size = hash
	if len(data) < header || string(data[:4]) != "DIRC" {
		return x, false
	}
	u32, u16 := binary.BigEndian.Uint32, binary.BigEndian.Uint16
	version, n := u32(data[4:]), int(u32(data[8:]))
	if version < 2 || version > 4 || n > len(data)/(metadata+hash) {
		return x, false
	}
	x.files = make([]file, 0, n)
	end, last, unnamed := len(data), "", false
	at := header
	for range n {
		fixed := metadata + hash + 2
		if at+fixed+2 > end {
			return x, false
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
				return x, false
			}
			fixed += 2
		}
		from := at + fixed
		if version == 4 {
			cut, length := varint(data[from:])
			if length == 0 || cut > uint64(len(last)) {
				return x, false
			}
			from, last = from+length, last[:len(last)-int(cut)]
		} else {
			last = ""
		}
		size := bytes.IndexByte(data[from:], 0)
		if size < 0 {
			return x, false
		}
		last += string(data[from : from+size])
		if said := int(flags & longName); said != min(len(last), longName) {
			return x, false
		}
		unnamed = unnamed || last == ""
		x.sparse = x.sparse || e.Mode&kindBits == sparse
		if at = from + size + 1; version < 4 { // entries are filled up with zeros, one at least
			begin := from - fixed
			at = begin + (fixed+size+entryAlign)/entryAlign*entryAlign
		}
		x.files = append(x.files, file{e, last, flags&stage == 0 && more&(announced|skipped) == 0})
	}
	for at < end { // extensions; those that change what the index says have a name in small letters
		if at+8 > end {
			return x, false
		}
		name, size := string(data[at:at+4]), int(u32(data[at+4:]))
		at += 8
		switch {
		case name == "link" && size >= hash && at+hash <= end:
			x.base = strings.TrimLeft(hex.EncodeToString(data[at:at+hash]), "0")
			if x.base != "" {
				x.base = hex.EncodeToString(data[at : at+hash])
			}
		case name == "sdir":
			x.sparse = true
		case name[0] < 'A' || name[0] > 'Z':
			return x, false
		}
		at += size
	}
	return x, at == end && (!unnamed || x.base != "")
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
