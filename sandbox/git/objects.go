package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // it is the name of git's objects
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// maxDepth is how many objects a packed one may be built on.
const maxDepth = 200

// kind is the type of an object in a pack. The first four are those of whole ones.
type kind byte

const (
	blob        kind = 3
	offsetDelta kind = 6
	idDelta     kind = 7
)

// Objects reads objects. It keeps the packs open, and must be closed.
type Objects struct {
	dir   string
	packs []*pack
	found bool // packs are listed
}

// Objects are those of the repository.
func (r *Repository) Objects() *Objects { return &Objects{dir: filepath.Join(r.common, "objects")} }

// Close closes the packs.
func (o *Objects) Close() {
	for _, p := range o.packs {
		_ = p.data.Close()
	}
	o.packs, o.found = nil, false
}

// Blob gives the content of a file of at most limit bytes. That it is the content of this name is
// checked. The error is fs.ErrNotExist if the repository has no such object.
func (o *Objects) Blob(id ID, limit int) ([]byte, error) {
	content, err := o.loose(id, limit)
	if errors.Is(err, fs.ErrNotExist) {
		content, err = o.packed(id, limit)
	}
	if err != nil {
		return nil, err
	}
	if BlobID(content) != id {
		return nil, fmt.Errorf("%w: object %s is damaged", ErrFormat, id)
	}
	return content, nil
}

// BlobID is the name of an object with this content.
func BlobID(content []byte) (id ID) {
	h := sha1.New() //nolint:gosec // it is the name of git's objects
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	h.Sum(id[:0])
	return id
}

func (o *Objects) loose(id ID, limit int) ([]byte, error) {
	name := id.String()
	f, _, err := regular(filepath.Join(o.dir, name[:2], name[2:]))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(io.LimitReader(z, int64(limit)+64))
	header, err := r.ReadString(0)
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(header, "blob "), "\x00"))
	if err != nil || size < 0 || size > limit {
		return nil, fmt.Errorf("%w: object %s", ErrFormat, id)
	}
	content := make([]byte, size)
	_, err = io.ReadFull(r, content)
	return content, err
}

// pack is a pack with its index, of version 2.
type pack struct {
	data  *os.File
	size  int64
	index []byte
	count int
}

func (o *Objects) packed(id ID, limit int) ([]byte, error) {
	if !o.found {
		o.found = true
		names, err := filepath.Glob(filepath.Join(o.dir, "pack", "pack-*.idx"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if p, err := openPack(name); err == nil {
				o.packs = append(o.packs, p)
			}
		}
	}
	for _, p := range o.packs {
		if at, ok := p.find(id); ok {
			k, content, err := p.object(at, limit, maxDepth)
			if err == nil && k != blob {
				err = fmt.Errorf("%w: object %s is no file", ErrFormat, id)
			}
			return content, err
		}
	}
	return nil, fs.ErrNotExist
}

const (
	fanout = 8
	names  = fanout + 256*4
)

func openPack(index string) (*pack, error) {
	raw, err := whole(index, maxFile)
	if err != nil {
		return nil, err
	}
	if len(raw) < names || !bytes.Equal(raw[:8], []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}) {
		return nil, fmt.Errorf("%w: %s", ErrFormat, index)
	}
	p := &pack{index: raw, count: int(binary.BigEndian.Uint32(raw[names-4:]))}
	if p.count > len(raw)/28 || len(raw) < names+p.count*28 {
		return nil, fmt.Errorf("%w: %s", ErrFormat, index)
	}
	p.data, p.size, err = regular(strings.TrimSuffix(index, ".idx") + ".pack")
	return p, err
}

// find gives where an object begins.
func (p *pack) find(id ID) (at int64, ok bool) {
	u32 := func(at int) int { return int(binary.BigEndian.Uint32(p.index[at:])) }
	low, high := 0, u32(fanout+4*int(id[0]))
	if id[0] > 0 {
		low = u32(fanout + 4*int(id[0]) - 4)
	}
	if low > high || high > p.count {
		return 0, false
	}
	i := low + sort.Search(high-low, func(i int) bool {
		at := names + 20*(low+i)
		return bytes.Compare(p.index[at:at+20], id[:]) >= 0
	})
	if i == high || !bytes.Equal(p.index[names+20*i:names+20*i+20], id[:]) {
		return 0, false
	}
	off := u32(names + 24*p.count + 4*i)
	if off&(1<<31) == 0 {
		return int64(off), true
	}
	large := names + 28*p.count + 8*(off&^(1<<31))
	if large+8 > len(p.index) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(p.index[large:]) &^ (1 << 63)), true //nolint:gosec // without its sign
}

// object reads the object at an offset.
func (p *pack) object(at int64, limit, depth int) (kind, []byte, error) {
	broken := fmt.Errorf("%w: pack", ErrFormat)
	if depth == 0 || at < 12 || at >= p.size {
		return 0, nil, broken
	}
	r := bufio.NewReader(io.NewSectionReader(p.data, at, p.size-at))
	c, err := r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	k, size := kind(c>>4&7), uint64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = r.ReadByte(); err != nil || shift > 56 {
			return 0, nil, broken
		}
		size |= uint64(c&0x7f) << shift
	}
	if size > uint64(limit)+1024 {
		return 0, nil, fmt.Errorf("%w: an object is too large", ErrFormat)
	}
	var base []byte
	was := k
	switch k {
	case offsetDelta:
		head, _ := r.Peek(10)
		back, n := varint(head)
		if n == 0 || back == 0 || back > uint64(at) {
			return 0, nil, broken
		}
		_, _ = r.Discard(n)
		was, base, err = p.object(at-int64(back), limit, depth-1)
	case idDelta:
		var id ID
		if _, err = io.ReadFull(r, id[:]); err == nil {
			from, ok := p.find(id)
			if !ok {
				return 0, nil, broken
			}
			was, base, err = p.object(from, limit, depth-1)
		}
	}
	if err != nil {
		return 0, nil, err
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return 0, nil, err
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(z, content); err != nil {
		return 0, nil, err
	}
	if was != k {
		content, err = patched(base, content, limit)
	}
	return was, content, err
}

// patched applies a delta: it copies from base and inserts.
func patched(base, delta []byte, limit int) ([]byte, error) {
	broken := fmt.Errorf("%w: delta", ErrFormat)
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, broken
	}
	to, m := binary.Uvarint(delta[n:])
	if m <= 0 || to > uint64(limit) {
		return nil, broken
	}
	out, rest := make([]byte, 0, to), delta[n+m:]
	for len(rest) > 0 {
		c := rest[0]
		rest = rest[1:]
		switch {
		case c&0x80 != 0:
			var part [7]byte // four bytes of an offset, three of a size
			for i := range part {
				if c>>i&1 != 0 {
					if len(rest) == 0 {
						return nil, broken
					}
					part[i], rest = rest[0], rest[1:]
				}
			}
			off := int(binary.LittleEndian.Uint32(part[:]))
			size := int(part[4]) | int(part[5])<<8 | int(part[6])<<16
			if size == 0 {
				size = 0x10000
			}
			if off > len(base) || size > len(base)-off || size > int(to)-len(out) {
				return nil, broken
			}
			out = append(out, base[off:off+size]...)
		case c == 0 || int(c) > len(rest) || int(c) > int(to)-len(out):
			return nil, broken
		default:
			out, rest = append(out, rest[:c]...), rest[c:]
		}
	}
	if len(out) != int(to) {
		return nil, broken
	}
	return out, nil
}
