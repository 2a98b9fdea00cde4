package gate

// Compared counts the rules that a call is compared with, and gives those that may cover a part of it and were not found.
func Compared(o Options, c Call) (n int, missed []Rule) {
	p, about, spec := New(o), &subject{Call: c}, c.Tool.Spec()
	for _, need := range c.Needs {
		need = honest(c.Tool, need)
		about.at, about.parts = nil, partsOf(need)
		for _, part := range about.parts {
			found := map[string]bool{}
			for _, set := range p.rules {
				set.each(about, need, part, func(r *compiled) bool {
					n++
					found[r.id] = true
					return true
				})
			}
			for _, r := range o.Rules {
				if one := compile(r, o.Cwd); one.about(spec) && one.covers(about, need, part) != no && !found[one.id] {
					missed = append(missed, r)
				}
			}
		}
	}
	return n, missed
}
