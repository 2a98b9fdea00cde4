package regex

// thread is a way through the program that began at a position.
type thread struct {
	pc    int32
	begun int
}

// spans finds where a match begins and ends, by trying all ways at once in the order of their preference.
type spans struct {
	p        *program
	now, nxt []thread
	on       []bool
	stop     func() bool
}

// find gives the first match in a text from position from on: of those that begin first the one that is preferred.
func (v *spans) find(text []byte, from int) (start, end int, ok bool) {
	v.now, v.nxt = v.now[:0], v.nxt[:0]
	v.on = make([]bool, len(v.p.code))
	before := v.p.before(text, from)
	work := 0
	for i := from; ; {
		class, width := v.p.end, 0
		if i < len(text) {
			class, width = v.p.symbol(text, i)
		}
		to := v.p.kinds[class]
		// The threads wait behind their character: what they lead to without one is known only now.
		clear(v.on)
		threads := v.nxt[:0]
		for _, t := range v.now {
			threads = v.add(threads, t, before, to)
		}
		if !ok {
			threads = v.add(threads, thread{v.p.start, i}, before, to)
		}
		if work += 1 + len(threads) + len(v.on)/16; work > 1<<20 {
			if work = 0; v.stop != nil && v.stop() {
				return 0, 0, false
			}
		}
		v.now, v.nxt = v.now[:0], threads
		for _, t := range threads {
			in := v.p.code[t.pc]
			if in.op == iMatch {
				start, end, ok = t.begun, i, true
				break // those after it are not preferred
			}
			if v.p.in(class, in.arg) {
				v.now = append(v.now, thread{in.next, t.begun})
			}
		}
		if i == len(text) || ok && len(v.now) == 0 {
			return start, end, ok
		}
		before = v.p.after(before, class)
		i += width
	}
}

func (v *spans) add(list []thread, t thread, before, to kind) []thread {
	for {
		if v.on[t.pc] {
			return list
		}
		v.on[t.pc] = true
		switch i := v.p.code[t.pc]; i.op {
		case iSplit:
			list = v.add(list, thread{i.next, t.begun}, before, to)
			t.pc = i.arg
		case iLook:
			if !i.look.holds(before, to) {
				return list
			}
			t.pc = i.next
		default:
			return append(list, t)
		}
	}
}
