package tree

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
)

// A segment says of up to segmentFiles texts, which are files or parts of large ones, which trigrams they have: three bytes in a row in one
// line, upper and lower case of ASCII being the same. Several trigrams share a bucket, so that a text may be named that does not have one, but none that has it is left
// out. It is immutable.
type segment struct {
	texts   int      // how many there are
	buckets []uint32 // in ascending order
	offsets []uint32 // where the list of each begins in data
	data    []byte
}

const (
	segmentFiles = 1 << 13
	bucketBits   = 20
	// dense is from how many texts on a list is a bitmap.
	dense = segmentFiles / 8
	// mostPairs is about how many trigrams of texts a segment is made of: each takes six bytes until then.
	mostPairs = 8 << 20
)

// marks are some texts of a segment.
type marks [segmentFiles / 64]uint64

func (m *marks) set(i int) { m[i/64] |= 1 << (i % 64) }

// bytes is how much memory a segment takes.
func (s *segment) bytes() int { return 4*len(s.buckets) + 4*len(s.offsets) + len(s.data) }

// fold is a byte as trigrams have it, 0 for those that end a line.
func fold(b byte) uint32 {
	switch {
	case b >= 'A' && b <= 'Z':
		return uint32(b | 0x20)
	case b == '\n' || b == '\r':
		return 0
	}
	return uint32(b)
}

func bucket(trigram uint32) uint32 { return trigram * 0x9E3779B1 >> (32 - bucketBits) }

// builder makes a segment.
type builder struct {
	seen  []uint64 // by bucket, of the present text
	own   []uint32 // the buckets of the present text
	pairs []uint32 // the buckets of all texts, one text after the other
	ends  []int    // of each text in pairs
}

func newBuilder() *builder { return &builder{seen: make([]uint64, 1<<bucketBits/64)} }

// add adds a text, whose number is how many were added before.
func (b *builder) add(text []byte) {
	trigram := uint32(0)
	for _, c := range text {
		f := fold(c)
		trigram = (trigram<<8 | f) & 0xFFFFFF
		if f == 0 || trigram&0xFF00 == 0 || trigram&0xFF0000 == 0 {
			continue
		}
		n := bucket(trigram)
		if b.seen[n/64]>>(n%64)&1 == 0 {
			b.seen[n/64] |= 1 << (n % 64)
			b.own = append(b.own, n)
		}
	}
	for _, n := range b.own {
		b.seen[n/64] = 0
	}
	b.pairs = append(b.pairs, b.own...)
	b.ends = append(b.ends, len(b.pairs))
	b.own = b.own[:0]
}

// partSize is from how many bytes on a part of a file ends with the line that it is in: a large file has most trigrams, its parts have not.
const partSize = 64 << 10

// parts adds a file as texts of whole lines, at least one.
func (b *builder) parts(text []byte) {
	for len(text) > partSize {
		n := bytes.IndexByte(text[partSize:], '\n')
		if n < 0 {
			break
		}
		b.add(text[:partSize+n+1])
		text = text[partSize+n+1:]
	}
	b.add(text)
}

// full says that there may be no room for one more file, or that the segment takes enough memory until it is finished.
func (b *builder) full() bool {
	return len(b.ends)+Head/partSize+1 > segmentFiles || len(b.pairs) > mostPairs
}

// finish gives the segment, after which the builder is empty.
func (b *builder) finish() *segment {
	starts := make([]uint32, 1<<bucketBits+1)
	for _, n := range b.pairs {
		starts[n+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	texts := make([]uint16, len(b.pairs))
	next := slices.Clone(starts[:1<<bucketBits])
	from := 0
	for text, end := range b.ends {
		for _, n := range b.pairs[from:end] {
			texts[next[n]] = uint16(text)
			next[n]++
		}
		from = end
	}
	s := &segment{texts: len(b.ends)}
	for n := range uint32(1 << bucketBits) {
		list := texts[starts[n]:starts[n+1]]
		if len(list) == 0 {
			continue
		}
		s.buckets, s.offsets = append(s.buckets, n), append(s.offsets, uint32(len(s.data)))
		s.data = appendList(s.data, list)
	}
	s.buckets, s.offsets, s.data = slices.Clip(s.buckets), slices.Clip(s.offsets), slices.Clone(s.data)
	b.pairs, b.ends = b.pairs[:0], b.ends[:0]
	return s
}

// appendList adds the number of texts, and the distances between them or a bitmap.
func appendList(data []byte, texts []uint16) []byte {
	data = binary.AppendUvarint(data, uint64(len(texts)))
	if len(texts) >= dense {
		var m marks
		for _, t := range texts {
			m.set(int(t))
		}
		for _, w := range m {
			data = binary.LittleEndian.AppendUint64(data, w)
		}
		return data
	}
	last := uint16(0)
	for _, t := range texts {
		data = binary.AppendUvarint(data, uint64(t-last))
		last = t
	}
	return data
}

// list marks the texts of a bucket, and says how many there are.
func (s *segment) list(n uint32, m *marks) int {
	i := sort.Search(len(s.buckets), func(i int) bool { return s.buckets[i] >= n })
	if i == len(s.buckets) || s.buckets[i] != n {
		return 0
	}
	data := s.data[s.offsets[i]:]
	count, width := binary.Uvarint(data)
	if data = data[width:]; count >= dense {
		for i := range m {
			m[i] |= binary.LittleEndian.Uint64(data[8*i:])
		}
		return int(count)
	}
	at := uint64(0)
	for range count {
		d, width := binary.Uvarint(data)
		data, at = data[width:], at+d
		m.set(int(at))
	}
	return int(count)
}

// literal marks the texts that may have a literal, and says whether that rules any out.
func (s *segment) literal(text string, m *marks) bool {
	rules := false
	for i := range m {
		m[i] = ^uint64(0)
	}
	for i := 0; i+3 <= len(text); i++ {
		a, b, c := fold(text[i]), fold(text[i+1]), fold(text[i+2])
		if a == 0 || b == 0 || c == 0 {
			continue
		}
		var one marks
		s.list(bucket(a<<16|b<<8|c), &one)
		any := uint64(0)
		for i := range m {
			m[i] &= one[i]
			any |= m[i]
		}
		if rules = true; any == 0 {
			break
		}
	}
	return rules
}

// match marks the texts that may have one literal of each list.
func (s *segment) match(need [][]string) *marks {
	var out marks
	for i := range out {
		out[i] = ^uint64(0)
	}
	for _, choice := range need {
		var some marks
		all := false
		for _, text := range choice {
			var m marks
			if !s.literal(text, &m) {
				all = true
				break
			}
			for i := range some {
				some[i] |= m[i]
			}
		}
		if all {
			continue
		}
		for i := range out {
			out[i] &= some[i]
		}
	}
	return &out
}
