package regex

import (
	"slices"
	"unicode/utf8"
)

// width is how many bytes a window has.
const width = 3

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b/64] |= 1 << (b % 64) }
func (s *byteSet) has(b byte) bool { return s[b/64]>>(b%64)&1 != 0 }

func (s byteSet) union(o byteSet) byteSet {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

// everyByte and noASCII are what may stand where nothing is known, and where a character may go on.
func everyByte() byteSet { return byteSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)} }
func noASCII() byteSet   { return byteSet{2: ^uint64(0), 3: ^uint64(0)} }

// first are the bytes that the characters of a set begin with; more says that some of them have more than one.
func (s set) first() (bytes byteSet, more bool) {
	lead := func(r rune) byte { return utf8.AppendRune(nil, r)[0] }
	for _, p := range s {
		for r := p.lo; r <= min(p.hi, utf8.RuneSelf-1); r++ {
			bytes.add(byte(r))
		}
		if more = more || p.hi >= utf8.RuneSelf; p.hi >= utf8.RuneSelf {
			for b := int(lead(max(p.lo, utf8.RuneSelf))); b <= int(lead(p.hi)); b++ {
				bytes.add(byte(b))
			}
		}
	}
	return bytes, more
}

// way says of so many bytes in a row which ones they may be.
type way [width]byteSet

// often is how often a place of a text is allowed, roughly.
func (w *way) often() float64 {
	out := 1.0
	for i := range w {
		some := 0.0
		for b := range 256 {
			if w[i].has(byte(b)) {
				some += share(byte(b))
			}
		}
		out *= min(some, 1)
	}
	return out
}

// window is a prefilter: it finds places in texts where one of up to eight ways allows the bytes. What a text does not have any more is
// allowed.
//
// It stays, with its vectors, because searches take more than 10 % longer without: beside ripgrep in the same loop, the geometric mean of 42
// searches of Go's source falls to 0.86 of its speed without windows, and to 0.58 with windows but no vectors (BenchmarkBesideRipgrep, two
// rounds in turn on two busy processors).
type window struct {
	// bytes has the ways that allow a byte, one bit for each, by its place in the window. halves has them by the low and the high half of the
	// byte: together these allow the same bytes or more.
	bytes  [width][256]byte
	halves [width][2][16]byte
	fast   bool
	often  float64
}

// ways is how many a window tells apart.
const ways = 8

// dense is from how many places of a text on, in parts of it, a window is of no use.
const dense = 1.0 / 24

func newWindow(list []way) *window {
	w := &window{fast: vectors(), often: often(list)}
	for n, way := range list {
		bit := byte(1) << (n % ways)
		for i := range width {
			for b := range 256 {
				if way[i].has(byte(b)) {
					w.bytes[i][b] |= bit
					w.halves[i][0][b&15] |= bit
					w.halves[i][1][b>>4] |= bit
				}
			}
		}
	}
	return w
}

// allowed are the ways that allow what is at a place.
func (w *window) allowed(text []byte, at int) byte {
	if at+width <= len(text) {
		t := text[at : at+width]
		return w.bytes[0][t[0]] & w.bytes[1][t[1]] & w.bytes[2][t[2]]
	}
	all := ^byte(0)
	for i, b := range text[at:] {
		all &= w.bytes[i][b]
	}
	return all
}

// find gives the first place from at on, and the ways there. Where there is none it is the length of the text.
func (w *window) find(text []byte, at int) (int, byte) {
	for w.fast && at+32+width-1 <= len(text) {
		n, found := scan(&w.halves, &text[at], len(text)-at)
		if at += n; !found {
			break
		}
		if all := w.allowed(text, at); all != 0 {
			return at, all
		}
		at++
	}
	for ; at < len(text); at++ {
		if all := w.allowed(text, at); all != 0 {
			return at, all
		}
	}
	return len(text), 0
}

// Limits of what is looked at of a program for a window.
const (
	mostWays = 64
	mostNow  = 256
)

// beginning is a window for the first characters of a match, nil where a match may be empty or where nearly anything may begin one.
func (p *program) beginning() *window {
	list := p.ways(p.start, mostWays)
	if list == nil || often(list) >= dense {
		return nil
	}
	return newWindow(list)
}

// inner is a window for three bytes that are in a row in each match: of all places that each comes by, the one that is the rarest. It is
// nil where none is rarer than most.
func (p *program) inner(most float64) *window {
	var best []way
	for _, pc := range p.through {
		if list := p.ways(pc, 2*ways); list != nil {
			if o := often(list); o < most {
				best, most = list, o
			}
		}
	}
	if best == nil {
		return nil
	}
	return newWindow(best)
}

// ways are those of what may follow an instruction, nil where that is nothing or where there are more than most.
func (p *program) ways(pc int32, most int) (list []way) {
	starts := p.closure(nil, []int32{pc})
	if len(starts) > most {
		return nil
	}
	for _, pc := range starts {
		if pc == lineEnd || p.code[pc].op == iMatch {
			return nil
		}
		list = append(list, p.way(pc))
	}
	return list
}

// often is how often a place of a text is allowed in one of several ways, roughly.
func often(list []way) (sum float64) {
	for _, w := range list {
		sum += w.often()
	}
	return sum
}

// lineEnd stands for an instruction that leads on at the end of a line alone.
const lineEnd int32 = -1

// closure adds to list what instructions lead to without a character, whatever the looks on the way would say but that for the end of a
// line.
func (p *program) closure(list, from []int32) []int32 {
	seen := map[int32]bool{}
	for stack := slices.Clone(from); len(stack) > 0; {
		pc := stack[len(stack)-1]
		if stack = stack[:len(stack)-1]; seen[pc] {
			continue
		}
		seen[pc] = true
		switch i := p.code[pc]; i.op {
		case iSplit:
			stack = append(stack, i.arg, i.next)
		case iLook:
			if i.look == lookLineEnd || i.look == lookCRLFEnd {
				list = append(list, lineEnd)
				continue
			}
			stack = append(stack, i.next)
		default:
			list = append(list, pc)
		}
	}
	return list
}

// way is what the first bytes may be of what begins at an instruction. From the first character on that may have more than one byte, a byte
// may belong to each of those from there on, or go on with one.
func (p *program) way(pc int32) (w way) {
	now, wide := []int32{pc}, false
	for i := range w {
		more := wide
		if wide {
			w[i] = w[i].union(w[i-1]).union(noASCII())
		}
		var next []int32
		for _, pc := range now {
			if pc == lineEnd { // what follows is of another line
				w[i].add('\n')
				w[i].add('\r')
				for k := i + 1; k < width; k++ {
					w[k] = everyByte()
				}
				continue
			}
			in := p.code[pc]
			if in.op == iMatch || len(now) > mostNow { // it may end here
				for ; i < width; i++ {
					w[i] = everyByte()
				}
				return w
			}
			w[i] = w[i].union(p.first[in.arg])
			more = more || p.more[in.arg]
			next = append(next, in.next)
		}
		now, wide = p.closure(nil, next), more
	}
	return w
}
