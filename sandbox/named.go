package sandbox

import "slices"

// EntryClass is the class that an entry of a folder has by its own name, or by that of the folder
// and its own. What lies above does not count, nor does what holds in the home folder alone.
func EntryClass(folder, name string) Class { return classOf([]string{folder, name}, nowhere, 1) }

// WriteRoots are the canonical roots that may be written, without those that lie in another one.
func (p *Paths) WriteRoots() []string {
	p.prepare()
	return slices.DeleteFunc(slices.Clone(p.write), func(root string) bool {
		return slices.ContainsFunc(p.write, func(other string) bool { return within(other, root) })
	})
}

// Internal says that a canonical path is Tandem's own: its configuration, its state and its log.
func (p *Paths) Internal(canonical string) bool {
	p.prepare()
	return p.Roots.classOfPath(canonical, 0).Is(Internal)
}
