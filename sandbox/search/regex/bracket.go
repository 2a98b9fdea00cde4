package regex

import "strings"

// bracket reads a class from behind its [ up to and with its ].
func (p *parser) bracket() (set, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(TooLarge, "classes are nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	not := p.take("^")
	p.skip()
	var have set
	for p.take("-") {
		have = append(have, span{'-', '-'})
		p.skip()
	}
	if len(have) == 0 && p.take("]") {
		have = append(have, span{']', ']'})
	}
	out, err := p.operands(have)
	if err != nil {
		return nil, err
	}
	if p.flags.fold {
		out = out.folded()
	}
	if not {
		out = out.not()
	}
	return out, nil
}

// operands reads the items of a class and its operators &&, -- and ~~, which are taken from the left to the right.
func (p *parser) operands(have set) (set, error) {
	var left set
	apply := func(_, right set) set { return right }
	for {
		items, end, err := p.items(have)
		if err != nil {
			return nil, err
		}
		if p.flags.fold {
			items = items.folded()
		}
		left, have = apply(left, items), nil
		switch end {
		case "]":
			return left, nil
		case "&&":
			apply = set.and
		case "--":
			apply = set.minus
		case "~~":
			apply = func(a, b set) set { return a.union(b).minus(a.and(b)) }
		}
	}
}

// items reads up to an operator or the ].
func (p *parser) items(have set) (items set, end string, err error) {
	for {
		p.skip()
		for _, end := range []string{"]", "&&", "~~"} {
			if p.take(end) {
				return of(have...), end, nil
			}
		}
		if strings.HasPrefix(p.in[p.at:], "--") && !strings.HasPrefix(p.in[p.at:], "--]") {
			p.at += 2
			return of(have...), "--", nil
		}
		if !p.more() {
			return nil, "", p.fail(Unbalanced, "missing closing ]")
		}
		if p.peek() == '[' {
			s, posix := p.named()
			if !posix {
				p.next()
				var err error
				if s, err = p.bracket(); err != nil {
					return nil, "", err
				}
			}
			have = append(have, s...)
			continue
		}
		s, err := p.item()
		if err != nil {
			return nil, "", err
		}
		have = append(have, s...)
	}
}

// named reads [:name:]; ok is false, and nothing is read, where there is no such.
func (p *parser) named() (s set, ok bool) {
	rest, is := strings.CutPrefix(p.in[p.at:], "[:")
	end := strings.Index(rest, ":]")
	if !is || end < 0 {
		return nil, false
	}
	name, not := strings.CutPrefix(rest[:end], "^")
	if s, ok = posix(name); !ok {
		return nil, false
	}
	p.at += len("[:") + end + len(":]")
	if p.flags.fold {
		s = s.folded()
	}
	if not {
		s = s.not()
	}
	return s, true
}

// item reads one character, a range of them, or an escape.
func (p *parser) item() (set, error) {
	s, low, err := p.member()
	if err != nil {
		return nil, err
	}
	p.skip()
	rest := p.in[p.at:]
	if !strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "-]") || strings.HasPrefix(rest, "--") {
		if s == nil {
			s = one(low)
		}
		return s, nil
	}
	if s != nil {
		return nil, p.fail(Invalid, "invalid range boundary, must be a literal")
	}
	p.next()
	p.skip()
	if !p.more() {
		return nil, p.fail(Unbalanced, "missing closing ]")
	}
	s, high, err := p.member()
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return nil, p.fail(Invalid, "invalid range boundary, must be a literal")
	case high < low:
		return nil, p.fail(Invalid, "invalid character class range: %q comes after %q", low, high)
	}
	return of(span{low, high}).without(span{surrogates, lastSurrogate}), nil
}

// member reads one character or an escape.
func (p *parser) member() (set, rune, error) {
	if p.take(`\`) {
		return p.escaped()
	}
	return nil, p.next(), nil
}
