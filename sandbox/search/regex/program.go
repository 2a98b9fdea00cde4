package regex

import (
	"slices"
	"sort"
	"unicode/utf8"
)

// maxSteps is how many characters and sets a pattern may stand for once its repetitions are written out.
const maxSteps = 20_000

// instruction is one state of the automaton.
type instruction struct {
	op   byte
	look look
	// arg is the number of the set of an iSet, or the second choice of an iSplit.
	arg, next int32
}

// The kinds of instructions.
const (
	iSet byte = iota
	iSplit
	iLook
	iMatch
)

// program is a pattern as an automaton over the classes of characters that it tells apart. It is immutable.
type program struct {
	code  []instruction
	start int32
	// through are instructions by each of which every match comes, from the last to the first.
	through []int32
	looks   bool // it has an iLook
	words   bool // which asks for words of all languages

	// starts and classes are the ranges of equal characters: from starts[i] on they are of classes[i].
	starts  []rune
	classes []uint16
	ascii   [utf8.RuneSelf]uint16
	// members says for each class which sets it is in, kinds what an iLook can see of it.
	members [][]uint64
	kinds   []kind
	// first says of each set which bytes its characters begin with, more whether some of them have more than one.
	first []byteSet
	more  []bool
	// invalid is the class of bytes that are no character, stray that of those of them that only go on with one, end that of the end of a
	// text.
	invalid, stray, end uint16
}

// kind is what an iLook can see of a character, or of the beginning or the end of a text.
type kind uint8

const (
	isWord kind = 1 << iota
	isASCIIWord
	isNewline
	isInvalid
	isEdge // the beginning or the end
	// oneFurther is how many stray bytes after a character are passed over by who asks whether a word is before them, times itself: with
	// them it has four bytes at most. This is how Rust's regex crate looks back.
	oneFurther
	further = 3 * oneFurther
	// isReturn is \r.
	isReturn = 1 << 7
)

// compiler makes a program of a tree.
type compiler struct {
	p    *program
	sets []set
	err  error
}

// link makes a program of n.
func link(n *node) (*program, error) {
	c := &compiler{p: &program{}}
	match := c.emit(instruction{op: iMatch})
	c.p.start = c.always(n, match)
	if c.err != nil {
		return nil, c.err
	}
	c.partition()
	return c.p, nil
}

func (c *compiler) emit(i instruction) int32 {
	if len(c.p.code) > maxSteps && c.err == nil {
		c.err = &SyntaxError{TooLarge, "pattern stands for too many characters or classes"}
	}
	if c.err != nil {
		return 0
	}
	c.p.code = append(c.p.code, i)
	return int32(len(c.p.code) - 1)
}

// mostThrough is how many instructions are kept that every match comes by.
const mostThrough = 128

// always is node for what is part of every match.
func (c *compiler) always(n *node, next int32) int32 {
	if n.op == opConcat {
		for _, sub := range slices.Backward(n.subs) {
			next = c.always(sub, next)
		}
		return next
	}
	if n.op == opRepeat && n.min > 0 && n.max < 0 && n.subs[0].op == opSet {
		c.keep(c.node(n.subs[0], next)) // nothing leads there, but the last character of the repetition is like it
	}
	next = c.node(n, next)
	c.keep(next)
	return next
}

// keep adds an instruction to those that every match comes by.
func (c *compiler) keep(at int32) {
	if len(c.p.through) < mostThrough {
		c.p.through = append(c.p.through, at)
	}
}

// node emits n, after which the program goes on at next, and answers where n begins.
func (c *compiler) node(n *node, next int32) int32 {
	if c.err != nil {
		return next
	}
	switch n.op {
	case opSet:
		return c.emit(instruction{op: iSet, arg: c.set(n.set), next: next})
	case opLook:
		c.p.looks = true
		c.p.words = c.p.words || n.look >= lookWord && n.look&lookASCII == 0
		return c.emit(instruction{op: iLook, look: n.look, next: next})
	case opConcat:
		for _, sub := range slices.Backward(n.subs) {
			next = c.node(sub, next)
		}
	case opAlt:
		at := c.node(n.subs[len(n.subs)-1], next)
		for _, sub := range slices.Backward(n.subs[:len(n.subs)-1]) {
			at = c.split(c.node(sub, next), at, false)
		}
		return at
	case opRepeat:
		return c.repeat(n, next)
	}
	return next
}

func (c *compiler) repeat(n *node, next int32) int32 {
	sub := n.subs[0]
	if sub.op == opEmpty || sub.op == opConcat && len(sub.subs) == 0 {
		return next
	}
	switch {
	case n.max < 0 && n.min == 0:
		loop := c.split(0, next, n.lazy)
		at := c.node(sub, loop)
		c.aim(loop, at, n.lazy)
		return loop
	case n.max < 0:
		loop := c.split(0, next, n.lazy)
		at := c.node(sub, loop)
		c.aim(loop, at, n.lazy)
		next = at
		for range n.min - 1 {
			if next = c.node(sub, next); c.err != nil {
				return next
			}
		}
		return next
	}
	end := next
	for range n.max - n.min {
		if next = c.split(c.node(sub, next), end, n.lazy); c.err != nil {
			return next
		}
	}
	for range n.min {
		if next = c.node(sub, next); c.err != nil {
			return next
		}
	}
	return next
}

// split tries first before second, or the other way round.
func (c *compiler) split(first, second int32, swapped bool) int32 {
	if swapped {
		first, second = second, first
	}
	return c.emit(instruction{op: iSplit, next: first, arg: second})
}

// aim sets what a split tries first.
func (c *compiler) aim(split, first int32, swapped bool) {
	if c.err != nil {
		return
	}
	if swapped {
		c.p.code[split].arg = first
	} else {
		c.p.code[split].next = first
	}
}

func (c *compiler) set(s set) int32 {
	for i, have := range c.sets {
		if slices.Equal(have, s) {
			return int32(i)
		}
	}
	c.sets = append(c.sets, s)
	return int32(len(c.sets) - 1)
}

// partition finds the classes of characters that no set and no look tells apart.
func (c *compiler) partition() {
	p := c.p
	for _, s := range c.sets {
		first, more := s.first()
		p.first, p.more = append(p.first, first), append(p.more, more)
	}
	sets := append(slices.Clone(c.sets), one('\n'))
	if p.looks {
		sets = append(sets, words(), asciiWords(), one('\r'))
	}
	cuts := []rune{0}
	for _, s := range sets {
		for _, r := range s {
			cuts = append(cuts, r.lo, r.hi+1)
		}
	}
	if p.words {
		cuts = append(cuts, 1<<7, 1<<11, 1<<16) // where characters have one byte more
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	known := map[string]uint16{}
	width := (len(sets) + 63) / 64
	at := make([]int, len(sets)) // the span of each set that ends at the cut or after it
	for _, r := range cuts {
		if r > utf8.MaxRune {
			break
		}
		bits := make([]uint64, width)
		for i, s := range sets {
			for at[i] < len(s) && s[at[i]].hi < r {
				at[i]++
			}
			if at[i] < len(s) && s[at[i]].lo <= r {
				bits[i/64] |= 1 << (i % 64)
			}
		}
		k := c.kind(bits)
		if length := utf8.RuneLen(r); p.words && length > 0 {
			k |= kind(utf8.UTFMax-length) * oneFurther
		}
		key := append(make([]byte, 0, 8*width+1), byte(k))
		for _, b := range bits {
			for range 8 {
				key = append(key, byte(b))
				b >>= 8
			}
		}
		id, ok := known[string(key)]
		if !ok {
			id = uint16(len(p.members))
			known[string(key)] = id
			p.members = append(p.members, bits)
			p.kinds = append(p.kinds, k)
		}
		p.starts, p.classes = append(p.starts, r), append(p.classes, id)
	}
	p.invalid = uint16(len(p.members))
	p.stray, p.end = p.invalid+1, p.invalid+2
	none := make([]uint64, width)
	p.members = append(p.members, none, none, none)
	p.kinds = append(p.kinds, isInvalid, isInvalid, isEdge)
	for r := range rune(utf8.RuneSelf) {
		p.ascii[r] = p.class(r)
	}
}

// kind is what the bits of a class say beyond those of the sets of the pattern.
func (c *compiler) kind(bits []uint64) (k kind) {
	for i, flag := range []kind{isNewline, isWord, isASCIIWord, isReturn} {
		if at := len(c.sets) + i; at/64 < len(bits) && bits[at/64]>>(at%64)&1 != 0 {
			k |= flag
		}
	}
	return k
}

func (p *program) class(r rune) uint16 {
	i := sort.Search(len(p.starts), func(i int) bool { return p.starts[i] > r })
	return p.classes[i-1]
}

// crosses says that the program reads ends of lines, or looks at where lines and the text begin and end.
func (p *program) crosses() bool {
	newline := p.class('\n')
	return slices.ContainsFunc(p.code, func(i instruction) bool {
		switch i.op {
		case iSet:
			return p.in(newline, i.arg)
		case iLook:
			return i.look <= lookCRLFEnd
		}
		return false
	})
}

// symbol reads the character at i, which must be inside of text.
func (p *program) symbol(text []byte, i int) (class uint16, n int) {
	if b := text[i]; b < utf8.RuneSelf {
		return p.ascii[b], 1
	}
	r, n := utf8.DecodeRune(text[i:])
	if r == utf8.RuneError && n == 1 {
		if !utf8.RuneStart(text[i]) {
			return p.stray, 1
		}
		return p.invalid, 1
	}
	return p.class(r), n
}

func (p *program) in(class uint16, set int32) bool {
	return p.members[class][set/64]>>(set%64)&1 != 0
}

// before is what stands before position i of a text.
func (p *program) before(text []byte, i int) kind {
	if i == 0 {
		return isEdge
	}
	if b := text[i-1]; b < utf8.RuneSelf {
		return p.kinds[p.ascii[b]]
	}
	from := i - 1
	for from > max(0, i-utf8.UTFMax) && !utf8.RuneStart(text[from]) {
		from--
	}
	r, n := utf8.DecodeRune(text[from:i])
	if r == utf8.RuneError && n == 1 {
		return isInvalid
	}
	k := p.kinds[p.class(r)]
	for range i - from - n {
		k = k.behind()
	}
	return k
}

// alone has each line looked at by itself: stray bytes at its beginning have nothing before them. Ripgrep does so where it looks for a literal
// first. It is called before the program is used.
func (p *program) alone() {
	p.kinds[p.class('\n')] &^= further
}

// after is what stands before the next character, behind one of a class that had something before it.
func (p *program) after(before kind, class uint16) kind {
	if class == p.stray {
		return before.behind()
	}
	return p.kinds[class]
}

// behind is what stands before a place with a stray byte between.
func (k kind) behind() kind {
	if k&further == 0 {
		return isInvalid
	}
	return k&(isWord|further) - oneFurther
}

// holds says that a place between a and b is of the kind.
func (l look) holds(a, b kind) bool {
	word := isWord
	if l&lookASCII != 0 {
		word = isASCIIWord
	}
	was, is := a&word != 0, b&word != 0
	switch l &^ lookASCII {
	case lookLineStart:
		return a&(isEdge|isNewline) != 0
	case lookLineEnd:
		return b&(isEdge|isNewline) != 0
	case lookCRLFStart:
		return a&(isEdge|isNewline) != 0 || a&isReturn != 0 && b&isNewline == 0
	case lookCRLFEnd:
		return b&(isEdge|isReturn) != 0 || b&isNewline != 0 && a&isReturn == 0
	case lookTextStart:
		return a&isEdge != 0
	case lookTextEnd:
		return b&isEdge != 0
	case lookWord:
		return was != is
	case lookNotWord:
		return was == is && (a|b)&isInvalid == 0
	case lookWordStart:
		return !was && is
	case lookWordEnd:
		return was && !is
	case lookHalfStart:
		return !was && a&isInvalid == 0
	default: // lookHalfEnd
		return !is && b&isInvalid == 0
	}
}
