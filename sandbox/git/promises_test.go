package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// staged is an entry of an index that a test writes. cut is how much of the name before is left out, in version 4.
type staged struct {
	name        string
	mode        uint32
	flags, more uint16
	cut         byte
}

// indexOf writes an index of a version, without its sum, with extensions.
func indexOf(version uint32, size int, extensions []byte, files ...staged) []byte {
	out := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(files)))
	last := 0
	for _, f := range files {
		begin, length := len(out), len(f.name)
		if version == 4 {
			length += max(last-int(f.cut), 0)
		}
		last = length
		for i := range uint32(metadata / 4) {
			word := i + 1
			if i == 6 {
				word = f.mode
			}
			out = binary.BigEndian.AppendUint32(out, word)
		}
		out = append(out, bytes.Repeat([]byte{7}, size)...)
		out = binary.BigEndian.AppendUint16(out, f.flags|uint16(min(length, longName)))
		if f.flags&extended != 0 {
			out = binary.BigEndian.AppendUint16(out, f.more)
		}
		if version == 4 {
			out = append(append(out, f.cut), f.name...)
			out = append(out, 0)
			continue
		}
		out = append(out, f.name...)
		out = append(out, make([]byte, 8-(len(out)-begin)%8)...)
	}
	return append(out, extensions...)
}

func extension(name, content string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte(name), uint32(len(content))), content...)
}

// TestEntries: an index is understood as a whole or not at all.
func TestEntries(t *testing.T) {
	a, b := staged{name: "a", mode: 0o100644}, staged{name: "b/c", mode: 0o100755}
	zero, hash := strings.Repeat("\x00", 20), strings.Repeat("\x00", 19)+"\x01"
	long := strings.Repeat("n", longName)
	for name, c := range map[string]struct {
		data []byte
		want string // the names, those that are not plain in brackets, and what else there is; "" is refused
	}{
		"version 2":                 {indexOf(2, 20, nil, a, b), "a b/c"},
		"version 3":                 {indexOf(3, 20, nil, a, b), "a b/c"},
		"version 4":                 {indexOf(4, 20, nil, staged{name: "b/cd"}, staged{name: "x", cut: 1}), "b/cd b/cx"},
		"nothing is left out":       {indexOf(4, 20, nil, staged{name: "b"}, staged{name: "b"}), "b bb"},
		"more is left out than is":  {indexOf(4, 20, nil, staged{name: "b"}, staged{name: "b", cut: 2}), ""},
		"all is left out":           {indexOf(4, 20, nil, staged{name: "b"}, staged{name: "c", cut: 1}), "b c"},
		"a length of what is left":  {indexOf(4, 20, nil, staged{name: "bc"}, staged{name: "d", cut: 1, flags: 3}), ""},
		"no number":                 {append(indexOf(4, 20, nil, staged{name: "b"})[:12+62], 0x80), ""},
		"version 1":                 {indexOf(1, 20, nil, a), ""},
		"version 5":                 {indexOf(5, 20, nil, a), ""},
		"none":                      {indexOf(2, 20, nil), " "},
		"another beginning":         {append([]byte("DIRX"), indexOf(2, 20, nil, a)[4:]...), ""},
		"no header":                 {[]byte("DIRC"), ""},
		"more entries than fit":     {append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x03"), indexOf(2, 20, nil, a, b)[12:]...), ""},
		"a great number":            {append([]byte("DIRC\x00\x00\x00\x02\xff\xff\xff\xff"), indexOf(2, 20, nil, a, b)[12:]...), ""},
		"more flags in version 2":   {indexOf(2, 20, nil, staged{name: "a", flags: extended}), ""},
		"more flags":                {indexOf(3, 20, nil, staged{name: "a", flags: extended}, b), "a b/c"},
		"announced":                 {indexOf(3, 20, nil, staged{name: "a", flags: extended, more: announced}, b), "[a] b/c"},
		"not in the work tree":      {indexOf(3, 20, nil, a, staged{name: "b", flags: extended, more: skipped}), "a [b]"},
		"an unfinished merge":       {indexOf(2, 20, nil, staged{name: "a", flags: 0x1000}, staged{name: "a", flags: 0x2000}), "[a] [a]"},
		"a long name":               {indexOf(2, 20, nil, staged{name: long}), long},
		"a longer name":             {indexOf(2, 20, nil, staged{name: long + "n"}), long + "n"},
		"another length than said":  {indexOf(2, 20, nil, staged{name: "a", flags: 2}), ""},
		"a name that does not end":  {append(indexOf(2, 20, nil)[:12:12], bytes.Repeat([]byte{1}, 70)...), ""},
		"no name":                   {indexOf(2, 20, nil, staged{}), ""},
		"no name, split":            {indexOf(2, 20, extension("link", hash), staged{}), " base " + fmt.Sprintf("%x", hash)},
		"split from nothing":        {indexOf(2, 20, extension("link", zero), a), "a"},
		"no name, from nothing":     {indexOf(2, 20, extension("link", zero), staged{}), ""},
		"split, with more":          {indexOf(2, 20, extension("link", hash+"bitmaps"), a), "a base " + fmt.Sprintf("%x", hash)},
		"split, too short":          {indexOf(2, 20, extension("link", hash[1:]), a), ""},
		"a sparse folder":           {indexOf(2, 20, extension("sdir", ""), staged{name: "a/", mode: sparse}), "a/ sparse"},
		"a sparse folder alone":     {indexOf(2, 20, nil, staged{name: "a/", mode: sparse}), "a/ sparse"},
		"sparse without a folder":   {indexOf(2, 20, extension("sdir", ""), a), "a sparse"},
		"a cache":                   {indexOf(2, 20, append(extension("TREE", "xy"), extension("A...", "")...), a), "a"},
		"a cache with a late name":  {indexOf(2, 20, extension("ZZZZ", "x"), a), "a"},
		"an unknown change":         {indexOf(2, 20, extension("what", "xy"), a), ""},
		"a name before letters":     {indexOf(2, 20, extension("@REE", "xy"), a), ""},
		"a name behind letters":     {indexOf(2, 20, extension("[REE", "xy"), a), ""},
		"a cache that is too long":  {indexOf(2, 20, extension("TREE", "xy")[:9], a), ""},
		"a cache without a length":  {indexOf(2, 20, []byte("TREE\x00\x00\x00"), a), ""},
		"a split that is cut short": {indexOf(2, 20, extension("link", hash)[:20], a), ""},
	} {
		x, ok := entries(c.data, 20)
		var words []string
		for _, f := range x.files {
			if words = append(words, f.name); !f.plain {
				words[len(words)-1] = "[" + f.name + "]"
			}
		}
		if x.base != "" {
			words = append(words, "base", x.base)
		}
		if x.sparse {
			words = append(words, "sparse")
		}
		got := strings.Join(words, " ")
		if len(x.files) == 0 {
			got += " "
		}
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s: %.80q, want %.80q", name, got, c.want)
		}
	}
	x, _ := entries(indexOf(2, 20, nil, a), 20)
	if want := (Entry{
		ID: ID(bytes.Repeat([]byte{7}, 20)), ChangeSeconds: 1, ChangeNanos: 2, Seconds: 3, Nanos: 4, Inode: 6, Mode: 0o100644, Size: 10,
	}); len(x.files) != 1 || x.files[0].Entry != want {
		t.Errorf("%+v", x.files)
	}
	if x, ok := entries(indexOf(2, 32, nil, a, b), 32); !ok || x.size != 32 || len(x.files) != 2 {
		t.Errorf("SHA-256: %+v, %v", x, ok)
	}
	for data := indexOf(3, 20, extension("TREE", "xy"), a, staged{name: "b", flags: extended, more: skipped}); len(data) > 0; {
		data = data[:len(data)-1]
		if x, ok := entries(data, 20); ok && (len(x.files) != 2 || len(data) > len(indexOf(3, 20, nil, a, staged{name: "b", flags: extended}))) {
			t.Errorf("%d bytes give %+v", len(data), x)
		}
	}
}

// sealed is an index file with its sum, or with zeros in its place.
func sealed(t *testing.T, data []byte, sum bool) []byte {
	t.Helper()
	if !sum {
		return append(slices.Clip(data), make([]byte, sha1.Size)...)
	}
	h := sha1.Sum(data)
	return append(slices.Clip(data), h[:]...)
}

// TestParse: an index is read if its sum is that of its bytes, or zeros as with index.skipHash.
func TestParse(t *testing.T) {
	data := indexOf(2, 20, nil, staged{name: "a", mode: 0o100644})
	for name, c := range map[string]struct {
		raw []byte
		ok  bool
	}{
		"its sum":     {sealed(t, data, true), true},
		"no sum":      {sealed(t, data, false), true},
		"another sum": {append(slices.Clip(data), bytes.Repeat([]byte{1}, 20)...), false},
		"nothing":     {nil, false},
		"zeros":       {make([]byte, 32), false},
		"more zeros":  {make([]byte, 33), false},
	} {
		x, err := parse(c.raw)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrFormat) || c.ok && len(x.files) != 1 {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
	}
}

// repositoryOf is a repository with an index that a test wrote.
func repositoryOf(t *testing.T, index []byte) *Repository {
	t.Helper()
	top := t.TempDir()
	for _, dir := range []string{"objects/pack", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(top, ".git", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(top+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644), os.WriteFile(top+"/.git/index", index, 0o644)); err != nil {
		t.Fatal(err)
	}
	r, err := Open(top)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTracked: what git tracks is what the index names, what the shared one names, and all below a sparse folder.
func TestTracked(t *testing.T) {
	base := strings.Repeat("\xab", 20)
	data := indexOf(2, 20, extension("link", base), staged{name: "new/file", mode: 0o100644}, staged{name: "far/off/", mode: sparse}, staged{name: "module", mode: submodule})
	r := repositoryOf(t, sealed(t, data, true))
	shared := filepath.Join(r.dir, "sharedindex."+strings.Repeat("ab", 20))
	if _, err := r.Tracked(); !errors.Is(err, ErrFormat) {
		t.Errorf("without the shared index: %v", err)
	}
	if err := os.WriteFile(shared, sealed(t, indexOf(2, 20, nil, staged{name: "old/deep/file", mode: 0o100644}), true), 0o644); err != nil {
		t.Fatal(err)
	}
	tracked, err := r.Tracked()
	if err != nil {
		t.Fatal(err)
	}
	for rel, want := range map[string]bool{
		"new/file": true, "new": true, "old/deep/file": true, "old/deep": true, "old": true, "module": true, "far": true, "far/off": true, "far/off/x/y": true,
		"ne": false, "new/file/x": false, "old/x": false, "far/of": false, "far/x": false, ".": false, "fa": false,
	} {
		if tracked.Has(rel) != want {
			t.Errorf("%s: %v", rel, !want)
		}
	}
	if _, err := r.Names(); !errors.Is(err, ErrFormat) {
		t.Errorf("names of a split index: %v", err)
	}
	whole := repositoryOf(t, sealed(t, indexOf(3, 20, nil, staged{name: "a", mode: 0o100644}, staged{name: "b", flags: extended, more: skipped, mode: 0o100644},
		staged{name: "m", mode: submodule}, staged{name: "n", mode: 0o120000}), true))
	if names, err := whole.Names(); err != nil || !slices.Equal(names, []string{"a", "b", "n"}) {
		t.Errorf("%q, %v", names, err)
	}
	if index, err := whole.Index(); err != nil || len(index) != 3 || index["a"].Mode != 0o100644 || index["b"].Mode != 0 {
		t.Errorf("%+v, %v", index, err)
	}
	for name, x := range map[string][]byte{
		"split":  sealed(t, indexOf(2, 20, extension("link", base), staged{name: "a"}), true),
		"sparse": sealed(t, indexOf(2, 20, extension("sdir", ""), staged{name: "a"}), true),
	} {
		if index, err := repositoryOf(t, x).Index(); !errors.Is(err, ErrFormat) || index != nil {
			t.Errorf("%s: %+v, %v", name, index, err)
		}
	}
}

// TestVarint: numbers of offsets in packs, each in one form.
func TestVarint(t *testing.T) {
	for text, want := range map[string]string{
		"\x00": "0 1", "\x7f": "127 1", "\x80\x00": "128 2", "\xff\x7f": "16511 2", "\x80\x80\x00": "16512 3", "\x05\xff": "5 1", "": "0 0", "\x80": "0 0",
		strings.Repeat("\x80", 8) + "\x00": "72624976668147840 9", strings.Repeat("\x80", 9) + "\x00": "0 0",
	} {
		if n, size := varint([]byte(text)); fmt.Sprint(n, size) != want {
			t.Errorf("%q: %d, %d, want %s", text, n, size, want)
		}
	}
}

// TestDelta: what a delta makes of its base, and that it makes nothing where it does not fit.
func TestDelta(t *testing.T) {
	base := strings.Repeat("0123456789abcdef", 5000) // 80,000 bytes
	head := func(from, to uint64) string {
		return string(binary.AppendUvarint(binary.AppendUvarint(nil, from), to))
	}
	all := uint64(len(base))
	for name, c := range map[string]struct {
		delta, want string
		limit       int
		ok          bool
	}{
		"a copy":                     {head(all, 4) + "\x91\x02\x04", "2345", 4, true},
		"a copy from the beginning":  {head(all, 4) + "\x90\x04", "0123", 9, true},
		"a copy from far":            {head(all, 2) + "\x97\x00\x00\x01\x02", base[0x10000:0x10002], 9, true},
		"a copy of two bytes' size":  {head(all, 0x102) + "\xb0\x02\x01", base[:0x102], 1 << 20, true},
		"a copy of three":            {head(all, 0x10001) + "\xf0\x01\x00\x01", base[:0x10001], 1 << 20, true},
		"no size is 64 KiB":          {head(all, 0x10000) + "\x80", base[:0x10000], 1 << 20, true},
		"an insertion":               {head(all, 3) + "\x03abc", "abc", 3, true},
		"both":                       {head(all, 5) + "\x03abc\x91\x0e\x02", "abcef", 9, true},
		"to the end of the base":     {head(all, 2) + "\x97\x7e\x38\x01\x02", "ef", 9, true},
		"nothing":                    {head(all, 0), "", 0, true},
		"over the limit":             {head(all, 4) + "\x90\x04", "", 3, false},
		"another base":               {head(all+1, 4) + "\x90\x04", "", 9, false},
		"past the base":              {head(all, 4) + "\x9f\xff\xff\xff\x7f\x04", "", 9, false},
		"past the end of the base":   {head(all, 3) + "\x97\x7e\x38\x01\x03", "", 9, false},
		"more than it says":          {head(all, 3) + "\x90\x04", "", 9, false},
		"less than it says":          {head(all, 5) + "\x90\x04", "", 9, false},
		"more is inserted than said": {head(all, 2) + "\x03abc", "", 9, false},
		"less is there than said":    {head(all, 4) + "\x04abc", "", 9, false},
		"a copy that is cut short":   {head(all, 4) + "\x91\x02", "", 9, false},
		"an instruction of none":     {head(all, 1) + "\x00a", "", 9, false},
		"no sizes":                   {"", "", 9, false},
		"one size":                   {string(binary.AppendUvarint(nil, all)), "", 9, false},
		"a size without an end":      {strings.Repeat("\x80", 11), "", 9, false},
	} {
		out, err := patched([]byte(base), []byte(c.delta), c.limit)
		if (err == nil) != c.ok || string(out) != c.want {
			t.Errorf("%s: %.40q, %v", name, out, err)
		}
	}
}

func deflated(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLoose: an object by itself is given if it is a file, whole, and no longer than the limit.
func TestLoose(t *testing.T) {
	r := repositoryOf(t, nil)
	id := BlobID([]byte("content"))
	at := filepath.Join(r.common, "objects", id.String()[:2], id.String()[2:])
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text  string
		limit int
		ok    bool
	}{
		"whole":                  {"blob 7\x00content", 7, true},
		"a greater limit":        {"blob 7\x00content", 1 << 20, true},
		"over the limit":         {"blob 7\x00content", 6, false},
		"less than it says":      {"blob 8\x00content", 100, false},
		"another kind":           {"tree 7\x00content", 100, false},
		"no size":                {"blob x\x00content", 100, false},
		"less than nothing":      {"blob -7\x00content", 100, false},
		"no end of its head":     {"blob 7content", 100, false},
		"another content":        {"blob 7\x00Content", 100, false},
		"a part of it":           {"blob 6\x00content", 100, false},
		"a head without an end":  {strings.Repeat("b", 200) + "\x00content", 100, false},
		"nothing within nothing": {"", 100, false},
	} {
		if err := os.WriteFile(at, deflated(t, c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		content, err := r.Objects().Blob(id, c.limit)
		if (err == nil) != c.ok || c.ok && string(content) != "content" || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	if err := os.WriteFile(at, []byte("no zlib"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Objects().Blob(id, 100); err == nil {
		t.Error("what is not compressed")
	}
}

// packedAs is an object of a pack: its kind, what stands between its head and its content, and its content.
type packedAs struct {
	id      ID
	kind    kind
	between string
	content string
	size    int // said to be, if it is not 0
}

// packOfObjects writes a pack and its index, in which the objects have large offsets if far.
func packOfObjects(t *testing.T, r *Repository, far bool, objects ...packedAs) {
	t.Helper()
	pack, at := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), map[ID]int{}
	for _, o := range objects {
		at[o.id] = len(pack)
		size := len(o.content)
		if o.size != 0 {
			size = o.size
		}
		c := byte(o.kind)<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			pack = append(pack, c|0x80)
			c = byte(size & 0x7f)
		}
		pack = append(append(append(pack, c), o.between...), deflated(t, o.content)...)
	}
	slices.SortFunc(objects, func(a, b packedAs) int { return bytes.Compare(a.id[:], b.id[:]) })
	index := []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}
	for first := range 256 {
		n := 0
		for _, o := range objects {
			if int(o.id[0]) <= first {
				n++
			}
		}
		index = binary.BigEndian.AppendUint32(index, uint32(n))
	}
	for _, o := range objects {
		index = append(index, o.id[:]...)
	}
	index = append(index, make([]byte, 4*len(objects))...)
	var large []byte
	for i, o := range objects {
		if !far {
			index = binary.BigEndian.AppendUint32(index, uint32(at[o.id]))
			continue
		}
		index = binary.BigEndian.AppendUint32(index, 1<<31|uint32(i))
		large = binary.BigEndian.AppendUint64(large, uint64(at[o.id]))
	}
	name := filepath.Join(r.common, "objects/pack/pack-1")
	if err := errors.Join(os.WriteFile(name+".pack", pack, 0o644), os.WriteFile(name+".idx", append(index, large...), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestPacks: an object of a pack is given, whichever way it is kept; one that is built on itself, too large or of another kind is refused.
func TestPacks(t *testing.T) {
	const text, other = "0123456789abcdef0123456789", "012345"
	whole, built := BlobID([]byte(text)), BlobID([]byte(other))
	delta := string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(text))), uint64(len(other)))) + "\x90\x06"
	base := packedAs{id: whole, kind: blob, content: text}
	back := string([]byte{byte(2 + len(deflated(t, text)))}) // two bytes are its head
	for name, c := range map[string]struct {
		objects []packedAs
		id      ID
		limit   int
		want    string // "" is an error
	}{
		"whole":                    {[]packedAs{base}, whole, len(text), text},
		"beside others":            {[]packedAs{base, {id: ID{whole[0], 0xff}, kind: blob, content: "x"}, {id: ID{whole[0]}, kind: blob, content: "y"}}, whole, 99, text},
		"built on one before":      {[]packedAs{base, {id: built, kind: offsetDelta, between: back, content: delta}}, built, 99, other},
		"built on one by its name": {[]packedAs{{id: built, kind: idDelta, between: string(whole[:]), content: delta}, base}, built, 99, other},
		"over the limit":           {[]packedAs{base, {id: built, kind: idDelta, between: string(whole[:]), content: delta}}, built, len(other) - 1, ""},
		"built on what is not":     {[]packedAs{{id: built, kind: idDelta, between: string(whole[:]), content: delta}}, built, 99, ""},
		"built on itself":          {[]packedAs{{id: built, kind: idDelta, between: string(built[:]), content: delta}}, built, 99, ""},
		"built on its own place":   {[]packedAs{base, {id: built, kind: offsetDelta, between: "\x00", content: delta}}, built, 99, ""},
		"built before the pack":    {[]packedAs{base, {id: built, kind: offsetDelta, between: "\x7f", content: delta}}, built, 99, ""},
		"built on no number":       {[]packedAs{base, {id: built, kind: offsetDelta, between: strings.Repeat("\x80", 10), content: delta}}, built, 99, ""},
		"a tree":                   {[]packedAs{{id: whole, kind: 2, content: text}}, whole, 99, ""},
		"built on a tree":          {[]packedAs{{id: whole, kind: 2, content: text}, {id: built, kind: idDelta, between: string(whole[:]), content: delta}}, built, 99, ""},
		"larger than it says":      {[]packedAs{{id: whole, kind: blob, content: text, size: 3}}, whole, 99, ""},
		"smaller than it says":     {[]packedAs{{id: whole, kind: blob, content: text, size: 999}}, whole, 9999, ""},
		"far over the limit":       {[]packedAs{{id: whole, kind: blob, content: text, size: 1 << 40}}, whole, 99, ""},
		"another content":          {[]packedAs{{id: whole, kind: blob, content: other}}, whole, 99, ""},
		"a size without an end":    {[]packedAs{{id: whole, kind: blob, content: text, size: 1 << 62}}, whole, 99, ""},
	} {
		for _, far := range []bool{false, true} {
			r := repositoryOf(t, nil)
			packOfObjects(t, r, far, slices.Clone(c.objects)...)
			objects := r.Objects()
			content, err := objects.Blob(c.id, c.limit)
			if string(content) != c.want || (err == nil) != (c.want != "") || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, far %v: %q, %v", name, far, content, err)
			}
			for _, none := range []ID{{}, {1}, {0xff, 1}, {whole[0], 1}} {
				if _, err := objects.Blob(none, 99); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: an object that is not there: %v", name, err)
				}
			}
			objects.Close()
		}
	}
}

// TestDamagedPacks: a pack whose index is not of its form is as if it were not there.
func TestDamagedPacks(t *testing.T) {
	id := BlobID([]byte("content"))
	for name, damage := range map[string]func(index []byte) []byte{
		"nothing":         func([]byte) []byte { return nil },
		"no table":        func(index []byte) []byte { return index[:names-1] },
		"another version": func(index []byte) []byte { index[7] = 3; return index },
		"cut short":       func(index []byte) []byte { return index[:len(index)-9] },
		"too many":        func(index []byte) []byte { index[names-4] = 0x7f; return index },
		"no order":        func(index []byte) []byte { index[fanout+4*int(id[0])+3] = 0; return index },
		"no large offset": func(index []byte) []byte { return index[:len(index)-1] },
		"a large offset elsewhere": func(index []byte) []byte {
			index[len(index)-9] = 7
			return index
		},
	} {
		r := repositoryOf(t, nil)
		packOfObjects(t, r, true, packedAs{id: id, kind: blob, content: "content"})
		at := filepath.Join(r.common, "objects/pack/pack-1.idx")
		index, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if content, err := r.Objects().Blob(id, 99); err != nil || string(content) != "content" {
			t.Fatalf("%q, %v", content, err)
		}
		if err := os.WriteFile(at, damage(index), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Objects().Blob(id, 99); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhole: a regular file of at most the limit, and nothing else.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/f", []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := whole(dir+"/f", 5); err != nil || string(text) != "12345" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := whole(dir+"/f", 4); !errors.Is(err, ErrFormat) {
		t.Errorf("over the limit: %q, %v", text, err)
	}
	if _, err := whole(dir, 99); !errors.Is(err, ErrFormat) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := whole(dir+"/none", 99); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}
