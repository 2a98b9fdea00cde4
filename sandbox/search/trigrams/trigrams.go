// Package trigrams says which of many texts may have a literal: an inverted index from trigrams,
// three bytes in a row in one line, to texts. It is made in segments that never change.
package trigrams

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// Segment says of up to Texts texts, which are files or parts of large ones, which trigrams they
// have, upper and lower case of ASCII being the same. Several trigrams share a bucket, so that a
// text may be named that does not have one, but none that has it is left out. It may be used
// concurrently.
type Segment struct {
	texts int // how many there are
	// The buckets are in groups of 1<<shift, so that a group has some perGroup lists; starts is
	// where each begins in data, and where the last ends.
	shift  uint
	starts []uint32
	// data has the lists of a group one after the other, in ascending order of their buckets: how
	// far the bucket is from the one before it, and in the two lower bits of that number what
	// follows.
	data []byte
}

// What a list of texts is, which follows its bucket.
const (
	oneText  = iota // the text
	someText        // how many bytes, and in them how far each text is from the one before it
	manyText        // marks
)

// Texts is how many a segment has at most.
const Texts = 1 << 13

const (
	bucketBits = 20
	// dense is from how many texts on a list is a bitmap.
	dense = Texts / 8
	// mostPairs is about how many trigrams of texts a segment is made of: each takes six bytes
	// until then.
	mostPairs = 8 << 20
	perGroup  = 16
)

// Marks are some texts of a segment, by their numbers.
type Marks [Texts / 64]uint64

func (m *Marks) set(text int) { m[text/64] |= 1 << (text % 64) }

// All are the texts that are marked, in ascending order.
func (m *Marks) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range m {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// Texts is how many texts the segment has; their numbers are 0 and up.
func (s *Segment) Texts() int { return s.texts }

// Bytes is how much memory it takes.
func (s *Segment) Bytes() int { return 4*len(s.starts) + len(s.data) }

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

// Builder makes segments, one after the other. It is for one goroutine.
type Builder struct {
	seen  []uint64 // by bucket, of the present text
	own   []uint32 // the buckets of the present text
	last  uint32   // the last three bytes of the present text
	size  int      // of the present text
	first int      // the first text of the present file
	part  int      // see partSize
	pairs []uint32 // the buckets of all texts, one text after the other
	ends  []int    // of each text in pairs
}

// NewBuilder makes one, which takes up to some 80 MiB while it makes a large segment.
func NewBuilder() *Builder { return &Builder{seen: make([]uint64, 1<<bucketBits/64)} }

// read adds a piece of the present text.
func (b *Builder) read(text []byte) {
	trigram := b.last
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
	b.last, b.size = trigram, b.size+len(text)
}

// end ends the present text, whose number is how many ended before.
func (b *Builder) end() {
	for _, n := range b.own {
		b.seen[n/64] = 0
	}
	b.pairs = append(b.pairs, b.own...)
	b.ends = append(b.ends, len(b.pairs))
	b.own, b.last, b.size = b.own[:0], 0, 0
}

const (
	// partSize is from how many bytes on a part of a file ends with the line that it is in: a large
	// file has most trigrams, its parts have not. Of a file that is larger than manyParts the parts
	// are largePart, which takes less memory.
	partSize  = 64 << 10
	largePart = 256 << 10
	manyParts = 8 << 20
	// MaxFile is the size of the largest file that a segment has room for.
	MaxFile = 512 << 20
)

func partOf(size int64) int {
	if size > manyParts {
		return largePart
	}
	return partSize
}

// Begin begins a file of a size, of MaxFile at most. It consists of what is given to Write until
// End.
func (b *Builder) Begin(size int64) { b.first, b.part = len(b.ends), partOf(size) }

// Write adds a piece of the file. A part ends with a line, however long that is, and only the
// trigrams of the part are kept: no trigram and no line is cut in two. ok is false if the file has
// so many trigrams that an index of it takes too much memory, or is larger than was said: Discard
// it then.
func (b *Builder) Write(text []byte) (ok bool) {
	for len(text) > 0 {
		n, ends := len(text), false
		if from := max(b.part-b.size, 0); from < len(text) {
			if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
				n, ends = from+i+1, true
			}
		}
		if b.read(text[:n]); ends {
			b.end()
		}
		text = text[n:]
	}
	return len(b.ends) < Texts && len(b.pairs) <= 2*mostPairs
}

// End ends the file: it has texts of whole lines, at least one, whose numbers are first and the
// parts-1 after it.
func (b *Builder) End() (first, parts int) {
	b.end()
	return b.first, len(b.ends) - b.first
}

// Discard ends the file and forgets it.
func (b *Builder) Discard() {
	b.end()
	b.ends = b.ends[:b.first]
	n := 0
	if b.first > 0 {
		n = b.ends[b.first-1]
	}
	b.pairs = b.pairs[:n]
}

// Add adds a whole file, of which nothing is kept.
func (b *Builder) Add(text []byte) (first, parts int) {
	b.Begin(int64(len(text)))
	b.Write(text)
	return b.End()
}

// Full says that there may be no room for a file of a size, of MaxFile at most, or that the segment
// takes enough memory until it is finished.
func (b *Builder) Full(size int64) bool {
	return len(b.ends)+int(size/int64(partOf(size)))+1 > Texts || len(b.pairs) > mostPairs
}

// Finish gives the segment, after which the builder is empty.
func (b *Builder) Finish() *Segment {
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
	s := &Segment{texts: len(b.ends), shift: bucketBits}
	lists := 0
	for n := range len(starts) - 1 {
		if starts[n] < starts[n+1] {
			lists++
		}
	}
	for ; lists > perGroup && s.shift > 0; lists /= 2 {
		s.shift--
	}
	var data []byte
	last := uint32(0)
	for n := range uint32(1 << bucketBits) {
		if n&(1<<s.shift-1) == 0 {
			s.starts, last = append(s.starts, uint32(len(data))), n
		}
		if list := texts[starts[n]:starts[n+1]]; len(list) > 0 {
			data = appendList(data, n-last, list)
			last = n
		}
	}
	s.starts = slices.Clip(append(s.starts, uint32(len(data))))
	s.data = slices.Clone(data)
	b.pairs, b.ends = b.pairs[:0], b.ends[:0]
	return s
}

// appendList adds the texts of a bucket that is so far from the one before it.
func appendList(data []byte, far uint32, texts []uint16) []byte {
	switch far <<= 2; {
	case len(texts) == 1: // far | oneText is far
		return binary.AppendUvarint(binary.AppendUvarint(data, uint64(far)), uint64(texts[0]))
	case len(texts) >= dense:
		var m Marks
		for _, t := range texts {
			m.set(int(t))
		}
		data = binary.AppendUvarint(data, uint64(far|manyText))
		for _, w := range m {
			data = binary.LittleEndian.AppendUint64(data, w)
		}
		return data
	}
	size, last := 0, uint16(0)
	for _, t := range texts {
		size += (bits.Len16(t-last|1) + 6) / 7
		last = t
	}
	data = binary.AppendUvarint(binary.AppendUvarint(data, uint64(far|someText)), uint64(size))
	last = 0
	for _, t := range texts {
		data = binary.AppendUvarint(data, uint64(t-last))
		last = t
	}
	return data
}

// list marks the texts of a bucket.
func (s *Segment) list(n uint32, m *Marks) {
	data := s.data[s.starts[n>>s.shift]:s.starts[n>>s.shift+1]]
	number := func() uint64 {
		n, width := binary.Uvarint(data)
		data = data[width:]
		return n
	}
	for at := n >> s.shift << s.shift; len(data) > 0; {
		head := number()
		at += uint32(head >> 2)
		switch head & 3 {
		case oneText:
			if text := number(); at == n {
				m.set(int(text))
			}
		case someText:
			size := number()
			if at == n {
				text := 0
				for list := data[:size]; len(list) > 0; list = list[1:] {
					far := int(list[0])
					if far >= 0x80 { // it has 14 bits at most
						list = list[1:]
						far = far&0x7F | int(list[0])<<7
					}
					text += far
					m.set(text)
				}
				return
			}
			data = data[size:]
		case manyText:
			if at == n {
				for i := range m {
					m[i] |= binary.LittleEndian.Uint64(data[8*i:])
				}
			}
			data = data[8*len(m):]
		}
		if at >= n {
			return
		}
	}
}

// literal marks the texts that may have a literal, and says whether that rules any out.
func (s *Segment) literal(text string, m *Marks) bool {
	rules := false
	for i := range m {
		m[i] = ^uint64(0)
	}
	for i := 0; i+3 <= len(text); i++ {
		a, b, c := fold(text[i]), fold(text[i+1]), fold(text[i+2])
		if a == 0 || b == 0 || c == 0 {
			continue
		}
		var one Marks
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

// Match marks the texts that may have one literal of each list, whatever the case of ASCII letters.
func (s *Segment) Match(need [][]string) *Marks {
	var out Marks
	for i := range out {
		out[i] = ^uint64(0)
	}
	for _, choice := range need {
		var some Marks
		all := false
		for _, text := range choice {
			var m Marks
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
