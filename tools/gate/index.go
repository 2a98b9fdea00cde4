package gate

import (
	"slices"
	"sort"
	"strings"

	"tandem/tools"
	"tandem/tools/rule"
)

// ruleSet are the rules of one effect, indexed so that a call is compared with those alone that may cover it.
type ruleSet struct {
	tools map[string]*toolRules  // by name
	wild  map[toolKey]*toolRules // about tools by a pattern or a class
	found needles[*toolRules]    // of wild, by the name of a tool
}

type toolKey struct{ pattern, class string }

// toolRules are the rules about a tool: those without parameters, and groups of all others.
type toolRules struct {
	first  *compiled // which says what tools they are about
	plain  []*compiled
	groups []*group
}

// group are rules that one parameter can tell apart, with one base of relative paths.
type group struct {
	param string
	rules []*compiled
	// The rules by a part of their pattern, as it is compared with words of a command, a path, or a text.
	words, paths, texts needles[*compiled]
}

// none says that the set has no rules.
func (s *ruleSet) none() bool { return s.tools == nil }

// add adds a rule. ready has to be called after the last one.
func (s *ruleSet) add(r *compiled) {
	of := s.of(r)
	if len(r.params) == 0 {
		of.plain = append(of.plain, r)
		return
	}
	p := &r.params[0]
	for i := range r.params {
		if r.params[i].name == rule.CommandParam {
			p = &r.params[i]
		}
	}
	i := slices.IndexFunc(of.groups, func(g *group) bool { return g.param == p.name && g.rules[0].base == r.base })
	if i < 0 {
		i = len(of.groups)
		of.groups = append(of.groups, &group{param: p.name})
	}
	g := of.groups[i]
	g.rules = append(g.rules, r)
	g.words.add(r, wordPieces(r.words))
	g.paths.add(r, p.path.pieces())
	g.texts.add(r, p.text.pieces())
}

// of is what the set knows of the tools that a rule is about.
func (s *ruleSet) of(r *compiled) *toolRules {
	if s.tools == nil {
		s.tools, s.wild = map[string]*toolRules{}, map[toolKey]*toolRules{}
	}
	if r.tool.literal() && r.Class == "" {
		of := s.tools[r.tool.pattern]
		if of == nil {
			of = &toolRules{first: r}
			s.tools[r.tool.pattern] = of
		}
		return of
	}
	key := toolKey{r.tool.pattern, string(r.Class)}
	of := s.wild[key]
	if of == nil {
		of = &toolRules{first: r}
		s.wild[key] = of
		s.found.add(of, r.tool.pieces())
	}
	return of
}

// ready makes the indices.
func (s *ruleSet) ready() {
	s.found.ready()
	for _, of := range s.tools {
		of.ready()
	}
	for _, of := range s.wild {
		of.ready()
	}
}

func (of *toolRules) ready() {
	for _, g := range of.groups {
		g.words.ready()
		g.paths.ready()
		g.texts.ready()
	}
}

// each calls f with the rules that may cover a part of a need until f returns false.
func (s *ruleSet) each(c *subject, n tools.Need, p part, f func(*compiled) bool) {
	if s.none() {
		return
	}
	for _, name := range c.called() {
		if of := s.tools[name]; of != nil && !of.each(c, n, p, f) {
			return
		}
	}
	spec := c.Tool.Spec()
	open := spec
	if len(n.Ports) > 0 {
		open.Class = tools.ClassNetwork
	}
	s.found.in(strings.Join(c.called(), "\x00"), func(of *toolRules) bool {
		about := of.first.about(spec) || !of.first.allows && of.first.about(open)
		return !about || of.each(c, n, p, f)
	})
}

// whole is a rule without parameters that is about a tool, nil where there is none.
func (s *ruleSet) whole(spec tools.Spec) (found *compiled) {
	of := func(of *toolRules) bool {
		if found == nil && of != nil && len(of.plain) > 0 && of.first.about(spec) {
			found = of.plain[0]
		}
		return found == nil
	}
	if s.none() {
		return nil
	}
	names := namesOf(spec)
	for _, name := range names {
		of(s.tools[name])
	}
	s.found.in(strings.Join(names, "\x00"), of)
	return found
}

func (of *toolRules) each(c *subject, n tools.Need, p part, f func(*compiled) bool) bool {
	return all(of.plain, f) && all(of.groups, func(g *group) bool { return g.each(c, n, p, f) })
}

// each leaves out rules whose parameter cannot fit, by what rule.fits compares it with.
func (g *group) each(c *subject, n tools.Need, p part, f func(*compiled) bool) bool {
	r := g.rules[0]
	name, with := c.compared(r, n, g.param)
	switch with {
	case never:
		return true
	case byCommand:
		if len(p.argv) > 0 && !p.open {
			return g.words.in(p.words, f)
		}
	case byTouched, byPath:
		if with == byPath || !n.Tree {
			t := c.targets(r, n).all
			return g.paths.in(t.abs+t.rel, f)
		}
	case byText:
		text, there := c.written(n, name)
		if !there {
			return true
		}
		if t := c.targets(r, n).all; name == tools.PathArg && !r.allows && !g.paths.in(t.abs+t.rel, f) {
			return false
		}
		return g.texts.in(r.folded(text), f)
	}
	return all(g.rules, f)
}

func all[T any](list []T, f func(T) bool) bool {
	for _, x := range list {
		if !f(x) {
			return false
		}
	}
	return true
}

// wordPieces are texts that part.words has of each command that a pattern may cover.
func wordPieces(words []word) (out []string) {
	for _, w := range words {
		for i, piece := range w.pieces {
			if i == 0 {
				piece = "\x00" + piece
			}
			if i == len(w.pieces)-1 {
				piece += "\x00"
			}
			if strings.Trim(piece, "\x00") != "" {
				out = append(out, piece)
			}
		}
	}
	return out
}

// needles finds, of many values, those of which a text may have all pieces: a sorted dictionary of one piece of each, the rarest one. A
// look at each place of a text is a binary search, whose cost does not depend on how many values have nothing in it.
type needles[T any] struct {
	always []T // that have no piece
	values []sought[T]

	keys   []string
	of     [][]T     // by key
	prefix []int32   // by key: the longest other key that it begins with, -1 for none
	first  [256]bool // the first bytes of keys
}

type sought[T any] struct {
	value  T
	pieces []string
}

// add adds a value that every text without one of its pieces is nothing for. It is always found where it has none.
func (x *needles[T]) add(value T, pieces []string) {
	if len(pieces) == 0 {
		x.always = append(x.always, value)
		return
	}
	x.values = append(x.values, sought[T]{value, pieces})
}

// ready makes the dictionary.
func (x *needles[T]) ready() {
	often := map[string]int{}
	for _, v := range x.values {
		for _, piece := range v.pieces {
			often[piece]++
		}
	}
	by := map[string][]T{}
	for _, v := range x.values {
		rarest := slices.MinFunc(v.pieces, func(a, b string) int {
			if often[a] != often[b] {
				return often[a] - often[b]
			}
			return len(b) - len(a)
		})
		if by[rarest] == nil {
			x.keys = append(x.keys, rarest)
			x.first[rarest[0]] = true
		}
		by[rarest] = append(by[rarest], v.value)
	}
	x.values = nil
	slices.Sort(x.keys)
	for i, key := range x.keys {
		x.of = append(x.of, by[key])
		before := int32(i - 1)
		for before >= 0 && !strings.HasPrefix(key, x.keys[before]) {
			before = x.prefix[before]
		}
		x.prefix = append(x.prefix, before)
	}
}

// in calls f with each value that may be found in a text, once, until f returns false. A key at a place of the text is the last key that is
// not behind the rest of the text in the order of the dictionary, or one that this begins with.
func (x *needles[T]) in(text string, f func(T) bool) bool {
	if !all(x.always, f) {
		return false
	}
	var seen []int32
	for i := range len(text) {
		if !x.first[text[i]] {
			continue
		}
		rest := text[i:]
		k := int32(sort.Search(len(x.keys), func(k int) bool { return x.keys[k] > rest }) - 1)
		for ; k >= 0; k = x.prefix[k] {
			if !strings.HasPrefix(rest, x.keys[k]) || slices.Contains(seen, k) {
				continue
			}
			seen = append(seen, k)
			if !all(x.of[k], f) {
				return false
			}
		}
	}
	return true
}
