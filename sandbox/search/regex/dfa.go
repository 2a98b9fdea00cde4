package regex

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// maxMemory is how many bytes of states are kept, roughly; when there are more, all are forgotten.
const maxMemory = 8 << 20

// dfa looks for the end of the match that ends first, with states that are made when they are needed first. A state is
// a set of instructions and, where the program looks around, the kind of the character before. It has transitions for
// every class; a match is noticed at the character after it, since only then all looks are known.
type dfa struct {
	p      *program
	stride int // classes, and one more for bytes that begin no ASCII character
	column [256]uint16
	// next has the transitions: the number of a state times stride, and flags. 0 is not known yet.
	next   []uint32
	states []state
	ids    map[string]int
	memory int
	// skip finds where a match may begin; nil where each character has to be looked at. begun has the states at such a place by what is
	// before it, 0 where they are not known.
	skip  *window
	begun [1 << 8]uint32
	// gained is how many bytes the last skips were spared. Where that is too little, plain, which has no skip, looks at so many bytes as rest.
	skips, gained, rest int
	plain               *dfa

	// work counts the instructions that were looked at; stop is asked now and then whether to go on.
	work int
	stop func() bool

	on    []bool // by instruction
	stack []int32
	list  []int32
	key   []byte
}

type state struct {
	code   []int32
	before kind
}

// The flags of a transition.
const (
	matched uint32 = 1 << 31
	// idle says that nothing of what was read until then belongs to a match that goes on. It is set where skip is.
	idle   uint32 = 1 << 30
	number        = idle - 1
)

func newDFA(p *program, skip *window) *dfa {
	d := &dfa{p: p, skip: skip, stride: len(p.members) + 1, on: make([]bool, len(p.code))}
	for b := range d.column {
		if b < utf8.RuneSelf {
			d.column[b] = p.ascii[b]
		} else {
			d.column[b] = uint16(len(p.members)) // always 0
		}
	}
	d.forget()
	return d
}

func (d *dfa) forget() {
	d.next, d.states, d.ids, d.memory = make([]uint32, d.stride, 16*d.stride), make([]state, 1, 16), map[string]int{}, 0
	clear(d.begun[:])
}

// state gives the number of a state, times stride.
func (d *dfa) state(code []int32, before kind) uint32 {
	slices.Sort(code)
	if !d.p.looks {
		before = 0
	}
	d.key = append(d.key[:0], byte(before))
	for _, pc := range code {
		d.key = binary.LittleEndian.AppendUint32(d.key, uint32(pc))
	}
	id, ok := d.ids[string(d.key)]
	if !ok {
		id = len(d.states)
		d.ids[string(d.key)] = id
		d.states = append(d.states, state{slices.Clone(code), before})
		d.next = append(d.next, make([]uint32, d.stride)...)
		d.memory += 64 + 4*d.stride + 8*len(code)
	}
	return uint32(id * d.stride)
}

// add adds an instruction and what it leads to without a character. Where it looks, it stays.
func (d *dfa) add(list []int32, pc int32) []int32 {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.on[pc] {
			continue
		}
		d.on[pc] = true
		d.work++
		if i := d.p.code[pc]; i.op == iSplit {
			d.stack = append(d.stack, i.arg, i.next)
		} else {
			list = append(list, pc)
		}
	}
	return list
}

// begin is the state before position i of a text.
func (d *dfa) begin(text []byte, i int) uint32 {
	if d.memory > maxMemory {
		d.forget()
	}
	before := kind(0)
	if d.p.looks {
		before = d.p.before(text, i)
	}
	if d.begun[before] == 0 {
		d.list = d.add(d.list[:0], d.p.start)
		clear(d.on)
		d.begun[before] = d.state(d.list, before)
	}
	return d.begun[before]
}

// follow makes the transition of a state by a class.
func (d *dfa) follow(from uint32, class uint16) uint32 {
	s := d.states[from/uint32(d.stride)]
	to := d.p.kinds[class]
	list, flag := d.list[:0], uint32(0)
	now := s.code
	if d.p.looks {
		now = d.resolve(s, to)
	}
	for _, pc := range now {
		switch i := d.p.code[pc]; {
		case i.op == iMatch:
			flag = matched
		case i.op == iSet && d.p.in(class, i.arg):
			list = d.add(list, i.next)
		}
	}
	if len(list) == 0 && d.skip != nil {
		flag |= idle
	}
	list = d.add(list, d.p.start)
	clear(d.on)
	d.work += len(d.on) / 16
	d.list = list
	n := d.state(list, d.p.after(s.before, class)) | flag
	d.next[int(from)+int(class)] = n
	return n
}

// resolve is the instructions of a state with those behind the looks that hold before a character of a kind.
func (d *dfa) resolve(s state, to kind) []int32 {
	out := slices.Clone(s.code)
	clear(d.on)
	for _, pc := range out {
		d.on[pc] = true
	}
	for n := 0; n < len(out); n++ {
		if i := d.p.code[out[n]]; i.op == iLook && i.look.holds(s.before, to) {
			out = d.add(out, i.next)
		}
	}
	clear(d.on)
	return out
}

// find looks for a match in text[i:end] and answers a place in its line: where the match that ends first ends. -1 is none.
// Behind end the text goes on unless that is its length, and what is before i was before it.
func (d *dfa) find(text []byte, i, end int) int {
	s, still := d.begin(text, i), d.skip != nil
	for i < end {
		if still {
			if d.rest > 0 {
				return d.slowly(text, i, end)
			}
			if i = d.jump(text[:end], i); i == end {
				return -1
			}
			s, still = d.begin(text, i), false
		}
		next, n := d.next, uint32(0)
		for _, b := range text[i:end] {
			n = next[s+uint32(d.column[b])]
			if n-1 >= number { // 0, or one with a flag
				break
			}
			s = n
			i++
		}
		if i >= end {
			break
		}
		width := 1
		if n == 0 {
			var class uint16
			if class, width = d.p.symbol(text, i); next[int(s)+int(class)] != 0 {
				n = next[int(s)+int(class)]
			} else {
				s = d.keep(s)
				n = d.follow(s, class)
				if d.work > 1<<20 {
					if d.work = 0; d.stop != nil && d.stop() {
						return -1
					}
				}
			}
		}
		if n&matched != 0 {
			return i
		}
		still = n&idle != 0
		s = n &^ idle
		i += width
	}
	class := d.p.end
	if end < len(text) {
		class, _ = d.p.symbol(text, end)
	}
	n := d.next[int(s)+int(class)]
	if n == 0 {
		n = d.follow(s, class)
	}
	if n&matched != 0 {
		return end
	}
	return -1
}

// jump is the next place where a match may begin. It learns whether that is worth it.
func (d *dfa) jump(text []byte, i int) int {
	to, _ := d.skip.find(text, i)
	d.skips++
	d.gained += to - i
	if d.skips == 64 {
		if d.gained < 64*leastGain {
			d.rest = 64 << 10
		}
		d.skips, d.gained = 0, 0
	}
	return to
}

// leastGain is how many bytes a skip has to spare to be worth it.
const leastGain = 8

// slowly looks at each character.
func (d *dfa) slowly(text []byte, i, end int) int {
	if d.plain == nil {
		d.plain = newDFA(d.p, nil)
		d.plain.stop = d.stop
	}
	at := d.plain.find(text, i, end)
	if at < 0 {
		d.rest -= end - i
	} else {
		d.rest -= at - i
	}
	return at
}

// keep forgets all states but s where there are too many, and answers its number.
func (d *dfa) keep(s uint32) uint32 {
	if d.memory <= maxMemory {
		return s
	}
	old := d.states[s/uint32(d.stride)]
	d.forget()
	return d.state(old.code, old.before)
}
